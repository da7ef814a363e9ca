"""What a call that does harm does to a record, and whether a person has asked for that.

Whoever wants an order changed has named it, and has not asked to cancel it. Only acts that undo or alter
something that is there are told apart; a tool whose name holds none of them is not held to this.
"""

from collections.abc import Iterable

from rightcall.trust.kinds import words_of

_ACTS: tuple[tuple[str, ...], ...] = (
    ("cancel", "delet", "remov", "eras", "discard", "drop", "clear", "terminat", "unsubscrib", "rid", "wipe"),
    ("return", "refund", "reimburs"),
    (
        *("exchang", "swap", "replac", "substitut", "chang", "modif", "updat", "switch", "edit", "alter"),
        *("adjust", "correct", "upgrad", "downgrad", "add", "mov", "push", "set", "fix", "convert"),
        *("resched", "postpone", "delay", "rather", "instead", "reduc", "rais", "extend", "remov", "cancel"),
        "mak",
    ),
)
"""By their stems, those that mean the same; who has something removed has it changed."""


def is_asked(tool: str, said: Iterable[str]) -> bool:
    """Whether one of some words asks for what a tool is named after."""
    names = words_of(tool)
    wanted = [group for group in _ACTS if any(_is_one(word, group[:7]) for word in names[:1])]
    return not wanted or any(_is_one(word, group) for word in said for group in wanted)


def _is_one(word: str, group: tuple[str, ...]) -> bool:
    return word.startswith(group)
