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


_ENDINGS = named_words("e y ie ing ling ping ting ying ule uling") | {""}
"""In which an act is asked for."""


def acts_of(tool: str) -> tuple[str, ...]:
    """The stems of the words that ask for what a tool is named after; () where its name says nothing."""
    first = words_of(tool)[:1]
    return (
        tuple(stem for group in _ACTS if any(map(first[0].startswith, group[:7])) for stem in group)
        if first
        else ()
    )


def is_asked(acts: tuple[str, ...], said: Iterable[str]) -> bool:
    """Whether one of some words asks for an act. That something was done asks for nothing."""
    return any(word.removeprefix(stem) in _ENDINGS for word in said for stem in acts if stem in word)


def is_undoing(acts: tuple[str, ...]) -> bool:
    """Whether an act undoes something, so that what it is done to stands beside it."""
    return bool(acts) and acts in _ACTS[:2]
