"""What somebody who may order something said, read once: the keys, roles and amounts of each clause.

A conversation is gone through again at every run of it. Reading a text takes nearly all of the time of
that and depends on nothing but the text, so what was read of short ones is kept.
"""

from collections.abc import Callable, Collection
from functools import lru_cache, wraps
from typing import TypeVar

from msgspec import Struct

from rightcall.trust.keys import as_name, keys_in, reference, single
from rightcall.trust.said import Role, amounts, bounding, names, references, roles
from rightcall.trust.spelling import apart, plain, unmarked, unnumbered

_MOST = 2048
"""Texts that are kept, of this process: some ten kilobytes each."""
_LONGEST = 2000
"""Characters of a text that is kept."""
R = TypeVar("R")


def kept(read: Callable[[str], R]) -> Callable[[str], R]:
    """Have a function of nothing but a text read each short text once."""
    again = lru_cache(maxsize=_MOST)(read)

    @wraps(read)
    def reading(text: str) -> R:
        return again(text) if len(text) <= _LONGEST else read(text)

    return reading


class Clause(Struct, frozen=True):
    """A part of a text that either orders or forbids."""

    is_forbidding: bool
    keys: frozenset[int]
    named: tuple[int, ...] = ()
    """The keys of what counts only because of how it was named."""
    roles: tuple[tuple[int, Role], ...] = ()
    amounts: tuple[float, ...] = ()
    most: float | None = None
    """The largest amount that it allows."""


@kept
def clauses_of(text: str) -> tuple[Clause, ...]:
    """The clauses of a text, in order."""
    from rightcall.trust.polarity import clauses  # noqa: PLC0415 - light until used

    found = []
    for part in clauses(unnumbered(unmarked(plain(text)))):
        keys = frozenset(both(part.text))
        if part.forbidden:
            found.append(Clause(is_forbidding=True, keys=keys))
            continue
        clause = Clause(
            is_forbidding=False,
            keys=keys,
            named=tuple(as_named(part.text)),
            roles=tuple([(single(token), role) for token, role in roles(part.text)]),
            amounts=tuple(amounts(part.text)),
            most=bounding(part.text),
        )
        found.append(clause)
    return tuple(found)


def as_named(text: str, but: Collection[int] = ()) -> list[int]:
    """The keys of what counts in a text only because of how it was named."""
    found = [reference(noun, token) for noun, token in references(text) if single(token) not in but]
    return [*found, *map(as_name, names(text))]


def both(text: str) -> set[int]:
    """The keys of a text as it stands, and with its sentences apart."""
    found, spaced = set(keys_in(text)), apart(text)
    if spaced != text:
        found.update(keys_in(spaced))
    return found
