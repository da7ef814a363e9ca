"""Whether a call keeps to the house's own terms: what the tool's author allows, by the record it names.

The user may want what the house does not do. The terms are declared with the tool, and trusted fields of
a record answer them; a record that the run has not looked at answers nothing.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from typing import TypeAlias

from rightcall.core.jsontext import JsonObject
from rightcall.trust.records import Record

Terms: TypeAlias = Sequence[Mapping[str, str]]
"""Alternatives; in each, by field: a pattern (``open*``) or a bound (``>= 100``, ``< 2026-01-01``)."""

SAME = "="
"""What the record, or something in it, already has in the field of this name."""
_BOUND = re.compile(r"\s*(<=|>=|<|>)\s*(\S.*?)\s*")


def is_allowed(
    terms: Terms,
    records: Iterable[Record],
    arguments: JsonObject | None = None,
    *,
    free: Collection[str] = (),
) -> bool:
    """Whether every record to which the terms apply keeps to one of them, as the call would leave it.

    ``arguments`` are those that a call would change the record's fields to; ``free`` are the parameters
    of a call that nobody has made yet, which may still be anything.
    """
    names = {name for each in terms for name in each}
    now = {name: _text(value) for name, value in (arguments or {}).items() if name in names}
    own = names.difference(now, free) or names
    told = [each for each in records if not own.isdisjoint(each.fields)]
    return not terms or (
        bool(told) and all(any(_fits(each, of, now, free) for each in terms) for of in told)
    )


def _fits(
    wanted: Mapping[str, str], record: Record, now: Mapping[str, str], free: Collection[str]
) -> bool:
    fields = {**record.fields, **now}
    for name, pattern in wanted.items():
        if name not in fields:
            if name in free:
                continue
            return False
        if pattern == SAME:
            if fields[name] not in record.held.get(name, ()):
                return False
        elif not _agrees(pattern, fields[name]):
            return False
    return True


def _agrees(pattern: str, text: str) -> bool:
    bound = _BOUND.fullmatch(pattern)
    if bound is None:
        return fnmatchcase(text.lower(), pattern.lower())
    left, right = _ordered(text), _ordered(bound[2])
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
