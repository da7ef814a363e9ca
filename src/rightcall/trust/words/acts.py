"""What a dangerous call does to a record, and whether a person asked for that act.

A person who wants an order changed has named the order, but has not asked to cancel it. Only acts that
undo or alter something existing are distinguished; a tool whose name contains none of them is not
checked.
"""

from collections.abc import Iterable
from functools import lru_cache

from rightcall.trust.words.kinds import words_of
from rightcall.trust.words.said import named_words

_ACTS: tuple[tuple[str, ...], ...] = (
    (
        "cancel",
        "delet",
        "remov",
        "eras",
        "discard",
        "drop",
        "clear",
        "terminat",
        "unsubscrib",
        "rid",
        "wipe",
    ),
    ("return", "refund", "reimburs"),
    (
        *(
            "exchang",
            "swap",
            "replac",
            "substitut",
            "chang",
            "modif",
            "updat",
            "switch",
            "edit",
            "alter",
        ),
        *("adjust", "correct", "upgrad", "downgrad", "add", "mov", "push", "set", "fix", "convert"),
        *(
            "resched",
            "postpone",
            "delay",
            "rather",
            "instead",
            "reduc",
            "rais",
            "extend",
            "remov",
            "cancel",
        ),
        "mak",
    ),
)
"""Stems of verbs, grouped by act. A removal is also a change, so some stems are in both."""
_GIVING = (
    *("send", "giv", "issu", "grant", "award", "provid", "offer", "compensat", "reimburs", "refund"),
    *("credit", "creat", "mak", "invoic", "bill", "charg", "donat"),
)
_MONEY = named_words("money payment payments funds cash transfer transfers")


_ENDINGS = named_words("e y ie ing ling ping ting ying ule uling") | {""}
"""Endings of a verb in a form that asks for an act."""
_APART = (_ACTS[0][:6], _ACTS[1], (*_ACTS[2][:8], "upgrad", "downgrad"), ("keep", "book"))
"""Stems that start a new part of a sentence. The other stems have other meanings, too."""
_DONE = named_words("d ed ied led ped ted")
"""Endings of a verb in the form that says that something was done."""
UNDOING = (0, 1)
"""The sorts of acts that undo something."""


def acts_of(tool: str) -> tuple[str, ...]:
    """The stems of the words that ask for the act in a tool's name; () if its name contains none."""
    first, *rest = words_of(tool) or ("",)
    if any(map(first.startswith, _GIVING[:5])):
        # A transfer goes to a target that the user names; giving anything else must have been asked for.
        return _GIVING if _MONEY.isdisjoint(rest) else ()
    return tuple(stem for group in _ACTS if any(map(first.startswith, group[:7])) for stem in group)


def is_asked(acts: tuple[str, ...], said: Iterable[str]) -> bool:
    """Whether one of the words asks for an act. A past form asks for nothing."""
    return any(word.removeprefix(stem) in _ENDINGS for word in said for stem in acts if stem in word)


def is_undoing(acts: tuple[str, ...]) -> bool:
    """Whether an act undoes something, so that the words for its object must be beside the verb."""
    return bool(acts) and acts in _ACTS[:2]


def is_giving(acts: tuple[str, ...]) -> bool:
    """Whether an act gives something away, so that the amount must have been named."""
    return acts == _GIVING


@lru_cache(8192)
def sort_of(word: str) -> int | None:
    """The index of the sort of act that a word asks for, if the word starts a new part of a sentence."""
    return next((at for at, group in enumerate(_APART) if is_asked(group, (word,))), None)


@lru_cache(8192)
def stem_of_done(word: str) -> str:
    """The stem of the verb in a word for what was done: ``cancelled``. Empty for any other word."""
    found = (each for group in _APART for each in group if word.startswith(each))
    return next((each for each in found if word.removeprefix(each) in _DONE), "")
