"""Finds the one record that a user singles out by rank: the largest file.

A user who asks to delete the largest file has named one, although not by its identifier. Only trusted
fields decide which it is: untrusted text has no rank.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.jsontext import JsonValue
from rightcall.core.parts import Result
from rightcall.trust.facts import ResolvedFacts
from rightcall.trust.pieces import open_envelope
from rightcall.trust.words.heard import kept
from rightcall.trust.words.hinted import Hinted
from rightcall.trust.words.kinds import words_of
from rightcall.trust.words.said import named_words


class Rank(Struct, frozen=True):
    """The highest or lowest value of some fields, which are recognised by words in their names."""

    fields: frozenset[str]
    is_most: bool
    nouns: frozenset[str] = frozenset()
    """The words that follow, which say what is singled out: ``the newest unread mail``."""

    def is_opposite(self, other: "Rank") -> bool:
        """Whether the other rank is the opposite end of the same order."""
        return self.fields == other.fields and self.is_most != other.is_most


_SIZES = named_words("size bytes length")
_DATES = named_words("date time timestamp created modified updated received sent")
_PRICES = named_words("price amount cost fee total")
_WHOSE = "(?:the|their|its|your|my)"
_HINTS = "est|recent|last|first|expensive"
_RANKS: tuple[tuple[Hinted, Rank], ...] = tuple(
    (Hinted(rf"\b{_WHOSE}\s+(?:{words})((?:\s+[a-z]+){{1,3}})", _HINTS), Rank(fields, most))
    for words, fields, most in (
        ("largest|biggest|heaviest", _SIZES, True),
        ("smallest|lightest", _SIZES, False),
        ("newest|latest|(?:most )?recent|last", _DATES, True),
        ("oldest|earliest|first", _DATES, False),
        ("cheapest|least expensive|lowest[- ]priced", _PRICES, False),
        ("dearest|most expensive|priciest|highest[- ]priced", _PRICES, True),
    )
)


@kept
def ranks_in(text: str) -> frozenset[Rank]:
    """The ranks by which a text singles something out."""
    from rightcall.trust.words.polarity import clauses  # noqa: PLC0415 - light until used

    said = [part.text for part in clauses(text) if not part.forbidden]
    return frozenset(
        replace(rank, nouns=named_words(found[1].lower()))
        for words, rank in _RANKS
        for part in said
        for found in words.finditer(part)
    )


def singled_out(
    result: Result, facts: ResolvedFacts, ranks: frozenset[Rank]
) -> Iterator[tuple[Rank, str]]:
    """The identifiers of the records that alone have a rank in their list, each with the rank."""
    try:
        value = msgspec.json.decode(open_envelope(result.text))
    except (msgspec.DecodeError, RecursionError):
        return
    for records in _lists(value):
        for rank, alike in ((rank, alike) for rank in ranks for alike in _alike(records)):
            chosen = _first(alike, facts, rank)
            for name, text in () if chosen is None else chosen.items():
                is_own = not (facts.is_outsiders(name) or facts.is_identity(name))
                if facts.kind_in(name) == "record" and is_own and isinstance(text, str | int):
                    yield rank, str(text)


def _lists(value: JsonValue) -> Iterator[Sequence[Mapping[str, JsonValue]]]:
    """Every list of records in a value."""
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            todo.extend(item.values())
            records = [each for each in item.values() if isinstance(each, dict)]
            if len(records) > 1 and len(records) == len(item):
                yield records
        elif isinstance(item, list):
            todo.extend(item)
            if item and all(isinstance(each, dict) for each in item):
                yield item


def _alike(records: Sequence[Mapping[str, JsonValue]]) -> Iterable[Sequence[Mapping[str, JsonValue]]]:
    """The records, grouped by their flags: the cheapest available one may not be the cheapest of all."""
    found = dict[frozenset[tuple[str, bool]], list[Mapping[str, JsonValue]]]()
    for each in records:
        flags = frozenset((name, flag) for name, flag in each.items() if isinstance(flag, bool))
        found.setdefault(flags, []).append(each)
    return found.values()


def _first(
    records: Sequence[Mapping[str, JsonValue]], facts: ResolvedFacts, rank: Rank
) -> Mapping[str, JsonValue] | None:
    """The record with the rank; None if several have it, or if the fields do not show it."""
    names = [name for name in records[0] if not rank.fields.isdisjoint(words_of(name))]
    for name in names:
        values = [_ranked(each.get(name)) for each in records]
        known = [each for each in values if each is not None]
        if len(known) < len(records) or facts.is_outsiders(name):
            continue
        wanted = max(known) if rank.is_most else min(known)
        return records[values.index(wanted)] if values.count(wanted) == 1 else None
    return None


def _ranked(value: JsonValue) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, str):
        return None
    try:
        return datetime.fromisoformat(value).replace(tzinfo=None).timestamp()
    except ValueError:
        return None
