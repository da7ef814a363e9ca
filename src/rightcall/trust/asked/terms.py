"""Whether a call keeps to the house's own terms: what the tool's author allows, by the record it names.

The user may want what the house does not do. The terms are declared with the tool, and trusted fields of
a record answer them; a record that the run has not looked at answers nothing.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from typing import TypeAlias

from msgspec import Struct

from rightcall.core.jsontext import JsonObject
from rightcall.trust.asked.records import Record

Terms: TypeAlias = Sequence[Mapping[str, str]]
"""Alternatives; in each, by field: a pattern (``open*``) or a bound (``>= 100``, ``< 2026-01-01``)."""

SAME = "="
"""What the record, or something in it, already has in the field of this name."""
COST = "cost"
"""In a bound: what the call costs. It is about whichever record in the call has the field."""
_BOUND = re.compile(r"\s*(<=|>=|<|>)\s*(\S.*?)\s*")


class Change(Struct, frozen=True, kw_only=True):
    """What a call would make of some records."""

    records: Sequence[Record]
    arguments: JsonObject = {}
    """Those that a call would change the records' fields to."""
    free: Collection[str] = ()
    """The parameters of a call that nobody has made yet, which may still be anything."""
    cost: float | None = None
    """What it costs, as far as trusted prices show that."""


def is_allowed(terms: Terms, change: Change) -> bool:
    """Whether every record to which the terms apply keeps to one of them, as the call would leave it."""
    now = _changed(terms, change)
    told = looked_at(terms, change)
    return not terms or (
        bool(told) and all(any(_fits(each, of, now, change) for each in terms) for of in told)
    )


def looked_at(terms: Terms, change: Change) -> list[Record]:
    """The records to which the terms apply, as far as the run has read them."""
    names = {name for each in terms for name in each}
    paying = {name for each in terms for name, pattern in each.items() if _is_about_cost(pattern)}
    own = names.difference(_changed(terms, change), change.free, paying) or names
    return [each for each in change.records if each.is_own and not own.isdisjoint(each.fields)]


def _changed(terms: Terms, change: Change) -> dict[str, str]:
    """The fields in the terms that the call would change, with what it would make of them."""
    names = {name for each in terms for name in each}
    return {name: _text(value) for name, value in change.arguments.items() if name in names}


def _fits(wanted: Mapping[str, str], record: Record, now: Mapping[str, str], change: Change) -> bool:
    fields = {**record.fields, **now}
    for name, pattern in wanted.items():
        is_cost = _is_about_cost(pattern)
        text = _beside(name, change.records) if is_cost else fields.get(name)
        if text is None:
            if name in change.free:
                continue
            return False
        if pattern == SAME:
            if text not in record.held.get(name, ()):
                return False
        elif not _agrees(pattern, text, change.cost):
            return False
    return True


def _is_about_cost(pattern: str) -> bool:
    bound = _BOUND.fullmatch(pattern)
    return bound is not None and bound[2] == COST


def _beside(name: str, records: Iterable[Record]) -> str | None:
    """What the records of a call have in a field that is to cover its cost: the balance of a card."""
    found = list(dict.fromkeys(each.fields[name] for each in records if name in each.fields))
    return found[0] if len(found) == 1 else None


def _agrees(pattern: str, text: str, cost: float | None) -> bool:
    bound = _BOUND.fullmatch(pattern)
    if bound is None:
        return fnmatchcase(text.lower(), pattern.lower())
    left, right = _ordered(text), cost if bound[2] == COST else _ordered(bound[2])
    if left is None or right is None:
        return False
    if left == right:
        return bound[1].endswith("=")
    return (left < right) == bound[1].startswith("<")


def _ordered(text: str) -> float | None:
    """A number or a time as a number; None for anything else."""
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None).timestamp()
    except ValueError:
        return None


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
