"""A structured value into whose words are in it: the system's, outsiders', names that those chose."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import msgspec
from msgspec import Struct

from rightcall.core.facts import Facts
from rightcall.core.jsontext import JsonValue, Place, field_at, leaves
from rightcall.core.parts import Part, Text

Fields: TypeAlias = bool | tuple[str, ...]

_LONGEST_NAME = 255


class Told(Struct, frozen=True):
    """Whose words are in a value."""

    own: tuple[str, ...] = ()
    """The system's."""
    names: tuple[str, ...] = ()
    """Of outsiders, and each of something that the system knows."""
    fields: tuple[str, ...] = ()
    """The field that each of ``own``, and then of ``names``, stands in."""
    is_clean: bool = False
    """Nothing in it is an outsider's."""


NOBODYS = Told()


def has_fields(facts: Facts) -> bool:
    """Whether a tool's facts tell its fields apart."""
    return bool(facts.names) or isinstance(facts.untrusted, tuple)


def told_apart(content: Sequence[Part], facts: Facts, limit: int) -> Told:
    """Whose words a result holds, as far as ``limit`` bytes of them.

    What is not structured is not told apart: it may be anybody's.
    """
    own: dict[tuple[str, str], None] = {}
    names: dict[tuple[str, str], None] = {}
    is_clean = True
    for part in content:
        found = _structured(part)
        if found is None:
            return NOBODYS
        for place, text in leaves(found):
            if _is_in(place, text, facts.names):
                is_clean = False
                names[text, field_at(place, text)] = None
            elif not _steps(place) or _is_in(place, text, facts.untrusted or False):
                # What is in no field is nobody's in particular.
                is_clean = False
            else:
                own[text, field_at(place, text)] = None
    if is_clean:
        return Told(is_clean=True)
    short = [each for each in names if len(each[0]) <= _LONGEST_NAME]
    kept, called = _within(own, limit), _within(short, limit)
    fields = tuple([field for _, field in (*kept, *called)])
    return Told(tuple([text for text, _ in kept]), tuple([text for text, _ in called]), fields)


def _within(texts: Iterable[tuple[str, str]], limit: int) -> list[tuple[str, str]]:
    """As many of the texts as fit, each with its field."""
    kept = []
    for text, field in texts:
        if (size := len(text.encode())) <= limit:
            kept.append((text, field))
            limit -= size
    return kept


def _structured(part: Part) -> JsonValue:
    """An object or a list; None for anything else."""
    if not isinstance(part, Text):
        return None
    try:
        found: JsonValue = msgspec.json.decode(part.text)
    except msgspec.DecodeError:
        return None
    return found if isinstance(found, dict | list) else None


def _is_in(place: Place, text: str, fields: Fields) -> bool:
    """Whether a text is in one of the fields, or below one. The name of a field is the system's word."""
    if isinstance(fields, bool):
        return fields
    names = _steps(place)
    ends = [
        end for end in range(1, len(names) + 1) if any(_ends_in(names[:end], each) for each in fields)
    ]
    return bool(ends) and not (place[-1] == text and ends == [len(names)])


def is_field(place: Place, fields: Fields) -> bool:
    """Whether a place of a structured value is one of the fields, or below one."""
    if isinstance(fields, bool):
        return fields
    names = _steps(place)
    return any(_ends_in(names[:end], each) for end in range(1, len(names) + 1) for each in fields)


def _steps(place: Place) -> tuple[str, ...]:
    return tuple(step for step in place if isinstance(step, str))


def _ends_in(names: tuple[str, ...], field: str) -> bool:
    path = tuple(field.split("."))
    return names[-len(path) :] == path
