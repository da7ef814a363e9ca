"""Sorts the texts of a structured value by who wrote them: the system, or others (untrusted text)."""

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import msgspec
from msgspec import Struct

from rightcall.core.facts import Facts
from rightcall.core.jsontext import JsonValue, Place, field_at, is_key, leaves
from rightcall.core.parts import Part, Text

Fields: TypeAlias = bool | tuple[str, ...]

_LONGEST_NAME = 255
_FIELD = re.compile(r"[A-Za-z_]{1,40}")


class TextOrigins(Struct, frozen=True):
    """Which texts in a value are the system's, and which are untrusted."""

    own: tuple[str, ...] = ()
    """Texts that the system wrote."""
    names: tuple[str, ...] = ()
    """Untrusted texts that are each the name of something that the system knows."""
    fields: tuple[str, ...] = ()
    """The field of each text in ``own``, then of each in ``names``."""
    is_clean: bool = False
    """The value holds no untrusted text."""


NOBODYS = TextOrigins()


def has_fields(facts: Facts) -> bool:
    """Whether a tool's facts say for single fields whether they are trusted."""
    return bool(facts.names) or isinstance(facts.untrusted, tuple)


def sort_texts(content: Sequence[Part], facts: Facts, limit: int) -> TextOrigins:
    """Sorts the texts of a result by who wrote them, up to ``limit`` bytes of each kind.

    Content that is not structured is not sorted: anybody may have written it.
    """
    own: dict[tuple[str, str], None] = {}
    names: dict[tuple[str, str], None] = {}
    is_clean = True
    for part in content:
        found = _parse_structure(part)
        if found is None:
            return NOBODYS
        for place, text in leaves(found):
            if _is_in(place, facts.names):
                is_clean = False
                names[text, field_at(place)] = None
            elif not _steps(place) or _is_in(place, facts.untrusted or False):
                # Text outside any field cannot be attributed to anyone.
                is_clean = False
            elif is_key(place):
                # A key is no evidence, and one that is no plain field name may be untrusted text.
                is_clean = is_clean and _FIELD.fullmatch(text) is not None
            else:
                own[text, field_at(place)] = None
    if is_clean:
        return TextOrigins(is_clean=True)
    short = []
    for each in names:
        if len(each[0]) <= _LONGEST_NAME:
            short.append(each)
    kept = _within(own, limit)
    called = _within(short, limit)
    fields = tuple([field for _, field in (*kept, *called)])
    return TextOrigins(tuple([text for text, _ in kept]), tuple([text for text, _ in called]), fields)


def _within(texts: Iterable[tuple[str, str]], limit: int) -> list[tuple[str, str]]:
    """Returns as many of the texts as fit into ``limit`` bytes, each with its field."""
    kept = []
    for text, field in texts:
        if (size := len(text.encode())) <= limit:
            kept.append((text, field))
            limit -= size
    return kept


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
