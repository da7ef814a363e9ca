"""A schema into what of it matters: without descriptions and the like, and with its references found.

Two schemas with the same structure have the same grammar.
"""

from collections.abc import Mapping
from typing import Any

from rightcall.core.pointer import at, nodes
from rightcall.errors import UsageError
from rightcall.local.grammar.flatten import SubSchema

_NOTES = frozenset(
    [
        "title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly",
        "$comment", "$schema",
    ]
)  # fmt: skip
_NAMED = frozenset(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"])
_LISTS = frozenset(["allOf", "anyOf", "oneOf", "prefixItems"])
_SINGLE = frozenset(
    [
        "items", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else",
        "unevaluatedProperties", "unevaluatedItems",
    ]
)  # fmt: skip
_COUNTS = frozenset(["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"])
MOST_DEEP = 200
"""How deep schemas may stand in schemas."""


def structure(schema: Any, depth: int = 0) -> Any:
    """The schema without what admits and refuses nothing. A property may well be called ``title``."""
    if not isinstance(schema, Mapping):
        return schema
    if depth > MOST_DEEP:
        raise UsageError(f"a schema nests more than {MOST_DEEP} levels deep, too deep for a grammar")
    found: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in _NOTES:
            continue
        if keyword in _NAMED and isinstance(value, Mapping):
            found[keyword] = {name: structure(each, depth + 1) for name, each in value.items()}
        elif keyword in _LISTS and isinstance(value, list | tuple):
            found[keyword] = [structure(each, depth + 1) for each in value]
        elif keyword in _SINGLE:
            found[keyword] = structure(value, depth + 1)
        else:
            found[keyword] = int(value) if keyword in _COUNTS and isinstance(value, float) else value
    return found


def loosened(schema: Any, most: int) -> Any:
    """The schema without counts of more than so many."""
    if isinstance(schema, list | tuple):
        return [loosened(each, most) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        keyword: loosened(value, most)
        for keyword, value in schema.items()
        if not (keyword in _COUNTS and isinstance(value, int) and value > most)
    }


class References:
    """The references within one document."""

    def __init__(self, document: SubSchema) -> None:
        self._document = document
        self._own = document.get("$id") if isinstance(document, Mapping) else None
        every = list(nodes(document))
        # Inside of a resource with a name of its own, a reference means another thing.
        self._is_plain = not any("$id" in node for node in every[1:])
        self._anchors = {f"#{node['$anchor']}": node for node in every if "$anchor" in node}

    def follow(self, schema: SubSchema) -> SubSchema:
        """What a schema that is only a reference stands for; False for one that leads to itself."""
        seen: set[str] = set()
        while isinstance(schema, Mapping) and set(schema) == {"$ref"}:
            reference = schema["$ref"]
            if reference in seen:
                return False
            seen.add(reference)
            target = self.target(reference)
            if target is None:
                return schema
            schema = target
        return schema

    def target(self, reference: str) -> SubSchema | None:
        """What a reference points at; None for what is not in this document."""
        if not self._is_plain:
            return None
        if isinstance(self._own, str) and self._own:
            reference = reference.removeprefix(self._own.rstrip("#")) or "#"
        if reference in self._anchors:
            return self._anchors[reference]
        if reference != "#" and not reference.startswith("#/"):
            return None
        node = at(self._document, reference)
        return node if isinstance(node, Mapping | bool) else None
