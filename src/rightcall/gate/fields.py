"""Sorts the texts of a structured value by who wrote them: the system, or others (untrusted text)."""

import re
from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from rightcall.core.facts import Facts
from rightcall.core.jsontext import JsonValue, Place, is_key, leaves
from rightcall.core.parts import Part, Text

Fields: TypeAlias = bool | tuple[str, ...]

_FIELD = re.compile(r"[A-Za-z_]{1,40}")


def has_fields(facts: Facts) -> bool:
    """Whether a tool's facts say for single fields whether they are trusted."""
    return isinstance(facts.untrusted, tuple)


def is_systems_own(content: Sequence[Part], facts: Facts) -> bool:
    """Whether the system wrote every text of a result, and nobody from outside.

    Content that is not structured cannot be attributed: anybody may have written it.
    """
    fields = facts.untrusted or False
    for part in content:
        found = _parse_structure(part)
        if found is None:
            return False
        for place, text in leaves(found):
            if not _steps(place) or _is_in(place, fields):
                # Text outside any field cannot be attributed to anyone.
                return False
            if is_key(place) and _FIELD.fullmatch(text) is None:
                # A key that is no plain field name may be untrusted text.
                return False
    return True


def _parse_structure(part: Part) -> JsonValue:
    """Returns the object or list that a part holds; None for anything else."""
    if not isinstance(part, Text):
        return None
    try:
        found: JsonValue = msgspec.json.decode(part.text)
    except (msgspec.DecodeError, RecursionError):
        return None
    if isinstance(found, dict | list):
        return found
    return None


def _is_in(place: Place, fields: Fields) -> bool:
    """Whether a text is in one of the fields, or below one. A field's own name is the system's."""
    if isinstance(fields, bool):
        return fields
    names = _steps(place)
    ends = []
    for end in range(1, len(names) + 1):
        if any(_ends_in(names[:end], each) for each in fields):
            ends.append(end)
    return bool(ends) and not (is_key(place) and ends == [len(names)])


def is_field(place: Place, fields: Fields) -> bool:
    """Whether a place in a structured value is one of the fields, or below one."""
    if isinstance(fields, bool):
        return fields
    names = _steps(place)
    return any(_ends_in(names[:end], each) for end in range(1, len(names) + 1) for each in fields)


def _steps(place: Place) -> tuple[str, ...]:
    return tuple(step for step in place if isinstance(step, str))


def _ends_in(names: tuple[str, ...], field: str) -> bool:
    path = tuple(field.split("."))
    return names[-len(path) :] == path
