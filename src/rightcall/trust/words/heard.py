"""What the user or the developer said, parsed once: the keys, roles and amounts of each clause.

Every run reads its whole conversation again. Parsing takes nearly all of that time and depends on
nothing but the text, so the parse of a short text is cached.
"""

from collections.abc import Callable, Collection
from functools import lru_cache, wraps
from typing import TypeVar

from msgspec import Struct

from rightcall.trust.words.amounts import amounts, bounding, is_computed
from rightcall.trust.words.keys import as_access, as_currency, as_name, keys_in, reference, single
from rightcall.trust.words.kinds import is_access
from rightcall.trust.words.plain import plain
from rightcall.trust.words.said import Role, names, people_in, references, roles
from rightcall.trust.words.spelling import apart, tokens, unmarked, unnumbered
from rightcall.trust.words.units import currencies_in

_MOST = 2048
"""Texts in the cache of this process, at most: some ten kilobytes each."""
_LONGEST = 2000
"""Limit of a text that is cached, in characters."""
R = TypeVar("R")


def kept(read: Callable[[str], R]) -> Callable[[str], R]:
    """Cache a function of a text, for short texts."""
    again = lru_cache(maxsize=_MOST)(read)

    @wraps(read)
    def reading(text: str) -> R:
        return again(text) if len(text) <= _LONGEST else read(text)

    return reading


class Clause(Struct, frozen=True):
    """A part of a text that either asks for something or forbids it."""

    is_forbidding: bool
    keys: frozenset[int]
    mentioned: frozenset[int] = frozenset()
    """Those of the keys that name nobody to whom something is to go."""
    titled: frozenset[int] = frozenset()
    """Those of the keys that are only the name of a thing."""
    named: tuple[int, ...] = ()
    """The keys that count only because of how they are named: short numbers, words used as names."""
    roles: tuple[tuple[int, Role], ...] = ()
    amounts: tuple[float, ...] = ()
    most: float | None = None
    """The largest amount that it permits."""
    is_computed: bool = False
    """Whether the amount that it wants follows from others, so that those it names are no limit."""
    people: frozenset[frozenset[str]] = frozenset()
    """If it forbids: the names in it, each as the words that it is made of."""


@kept
def clauses_of(text: str) -> tuple[Clause, ...]:
    """The clauses of a text, in order."""
    from rightcall.trust.words.excepting import excepted_last  # noqa: PLC0415 - light until used
    from rightcall.trust.words.mentions import (  # noqa: PLC0415 - light until used
        answered_at,
        without_mentioned,
        without_titles,
    )
    from rightcall.trust.words.places import codes_for  # noqa: PLC0415 - light until used
    from rightcall.trust.words.polarity import clauses  # noqa: PLC0415 - light until used
    from rightcall.trust.words.statements import without_statements  # noqa: PLC0415 - light until used

    found = []
    parts = clauses(excepted_last(unnumbered(unmarked(plain(text)))))
    said = [-1 if each.forbidden else answered_at(each.text) for each in parts[1:]]
    answered = max((at for at, where in enumerate(said, 1) if where >= 0), default=0)
    paid = without_statements(["" if each.forbidden else each.text for each in parts])
    for at, part in enumerate(parts):
        keys = frozenset(both(part.text))
        if part.forbidden:
            found.append(Clause(is_forbidding=True, keys=keys, people=people_in(part.text)))
            continue
        named_amounts = tuple(amounts(paid[at]))
        rest = without_mentioned(part.text, is_answered=at < answered)
        untitled = without_titles(part.text)
        clause = Clause(
            is_forbidding=False,
            keys=keys.union(map(single, codes_for(tokens(part.text)))),
            mentioned=keys - both(rest) if rest != part.text else frozenset(),
            titled=keys - both(untitled) if untitled != part.text else frozenset(),
            named=(
                *as_named(untitled),
                *_accesses(part.text),
                *map(as_currency, currencies_in(part.text)),
            ),
            roles=tuple([(single(token), role) for token, role in roles(part.text)]),
            amounts=named_amounts,
            most=bounding(named_amounts),
            is_computed=is_computed(part.text),
        )
        found.append(clause)
    return tuple(found)


def _accesses(text: str) -> list[int]:
    """The keys of the words for access in a text."""
    from rightcall.trust.words.mentions import words_for_access  # noqa: PLC0415 - light until used

    return [as_access(word) for word in words_for_access(text) if is_access(word)]


def as_named(text: str, but: Collection[int] = ()) -> list[int]:
    """The keys that count only because of how a text names them: short numbers, words used as names."""
    found = [reference(noun, token) for noun, token in references(text) if single(token) not in but]
    return [*found, *map(as_name, names(text))]


def both(text: str) -> set[int]:
    """The keys of a text as it is, and with spaces added between its sentences."""
    found, spaced = set(keys_in(text)), apart(text)
    if spaced != text:
        found.update(keys_in(spaced))
    return found
