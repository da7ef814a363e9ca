"""Finds which fields of a tool's result could hold untrusted text, from the schema of the result."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from rightcall.core.facts import Kind
from rightcall.core.jsontext import JsonObject
from rightcall.trust.facts import listed
from rightcall.trust.words.kinds import is_identity, kind_of

_SYSTEMS: frozenset[Kind] = frozenset({"record", "date", "amount"})
"""Kinds of values that a system generates, and nobody types."""
NAMED: frozenset[Kind] = frozenset({"path", "channel"})
"""Kinds of things that a person named, and that the system knows to exist."""
_MOST_DEPTH = 12


class Fields(Struct, frozen=True):
    """The fields of a result, by who could have written them."""

    words: tuple[str, ...] = ()
    """Fields that a person may have typed into."""
    names: tuple[str, ...] = ()
    """Fields with names of things that the system knows."""


def fields_in(schema: JsonObject) -> Fields | None:
    """The fields by who could have written them; None if some text is outside the declared fields.

    Fields that say who got in touch are left out: the trust rules know them by their names.
    """
    words: dict[str, None] = {}
    names: dict[str, None] = {}
    for name, kind in _leaves(schema, schema, "", 0):
        if not name:
            return None
        if kind in _SYSTEMS or is_identity(name):
            continue
        (names if kind in NAMED else words)[name] = None
    return Fields(tuple(words), tuple(names))


def is_list_of_texts(schema: JsonObject) -> bool:
    """Whether a result is only a list of texts."""
    properties = schema.get("properties")
    inner = (
        properties.get("result") if isinstance(properties, Mapping) and len(properties) == 1 else None
    )
    items = inner.get("items") if isinstance(inner, Mapping) else None
    return isinstance(items, Mapping) and items.get("type") == "string"


def _leaves(whole: Any, schema: Any, name: str, depth: int) -> Iterator[tuple[str, Kind | None]]:
    """Every field that could hold text, with its kind; the name is empty for text outside any field."""
    schema = resolved(whole, schema)
    if not isinstance(schema, Mapping) or depth > _MOST_DEPTH:
        yield name, None
        return
    choices = [*(schema.get("anyOf") or ()), *(schema.get("oneOf") or ()), *(schema.get("allOf") or ())]
    if choices:
        for each in choices:
            yield from _leaves(whole, each, name, depth + 1)
        return
    match schema.get("type"):
        case "object":
            properties = schema.get("properties")
            if not isinstance(properties, Mapping) or schema.get("additionalProperties"):
                # Its keys may be untrusted text.
                yield name, None
                return
            for key, each in properties.items():
                # A result that is no object is wrapped in a member ``result``, which names no field.
                inner = name if depth == 0 and key == "result" and len(properties) == 1 else key
                yield from _leaves(whole, each, inner, depth + 1)
        case "array":
            yield from _leaves(whole, schema.get("items"), name, depth + 1)
        case "number" | "integer" | "boolean" | "null":
            return
        case _ if listed(schema):
            return
        case _:
            yield name, kind_of(name, schema) if name else None


def resolved(whole: Any, schema: Any) -> Any:
    """A schema, or the one in ``whole`` that its ``$ref`` refers to."""
    reference = schema.get("$ref") if isinstance(schema, Mapping) else None
    if not isinstance(reference, str):
        return schema
    found = whole
    for step in reference.removeprefix("#/").split("/"):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found
