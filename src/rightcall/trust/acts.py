"""What a call that does harm does to a record, and whether a person has asked for that.

Whoever wants an order changed has named it, and has not asked to cancel it. Only acts that undo or alter
something that is there are told apart; a tool whose name holds none of them is not held to this.
"""

from collections.abc import Iterable

from rightcall.trust.kinds import words_of
from rightcall.trust.said import named_words

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
"""By their stems, those that mean the same; who has something removed has it changed."""
_GIVING = (
    *("send", "giv", "issu", "grant", "award", "provid", "offer", "compensat", "reimburs", "refund"),
    *("credit", "creat", "mak", "invoic", "bill", "charg", "donat"),
)
_MONEY = named_words("money payment payments funds cash transfer transfers")


_ENDINGS = named_words("e y ie ing ling ping ting ying ule uling") | {""}
"""In which an act is asked for."""
_APART = (_ACTS[0][:6], _ACTS[1], (*_ACTS[2][:8], "upgrad", "downgrad"), ("keep", "book"))
"""Those that begin another part of a sentence; the others have other meanings, too."""


def acts_of(tool: str) -> tuple[str, ...]:
    """The stems of the words that ask for what a tool is named after; () where its name says nothing."""
    first, *rest = words_of(tool) or ("",)
    if any(map(first.startswith, _GIVING[:5])):
        # Money goes to whom the user names; what is given away otherwise must have been asked for.
        return _GIVING if _MONEY.isdisjoint(rest) else ()
    return tuple(stem for group in _ACTS if any(map(first.startswith, group[:7])) for stem in group)


def is_asked(acts: tuple[str, ...], said: Iterable[str]) -> bool:
    """Whether one of some words asks for an act. That something was done asks for nothing."""
    return any(word.removeprefix(stem) in _ENDINGS for word in said for stem in acts if stem in word)


def is_undoing(acts: tuple[str, ...]) -> bool:
    """Whether an act undoes something, so that what it is done to stands beside it."""
    return bool(acts) and acts in _ACTS[:2]


def is_giving(acts: tuple[str, ...]) -> bool:
    """Whether an act gives something away, so that how much must have been said."""
    return acts == _GIVING


def sort_of(word: str) -> int | None:
    """Which sort of act a word asks for, where it begins another part of a sentence."""
    return next((at for at, group in enumerate(_APART) if is_asked(group, (word,))), None)
