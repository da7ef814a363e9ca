"""Normalises schemas: keeps only what constrains values, in the keywords of the newest draft.

Two schemas with the same structure have the same grammar.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from rightcall.errors import UsageError

SubSchema: TypeAlias = Mapping[str, Any] | bool

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
        "items", "additionalItems", "additionalProperties", "propertyNames", "contains", "not", "if",
        "then", "else", "unevaluatedProperties", "unevaluatedItems",
    ]
)  # fmt: skip
KEYWORDS = _NAMED | _LISTS | _SINGLE
"""Keywords that hold schemas."""
MEANT = (KEYWORDS - _LISTS - {"$defs", "definitions"}) | {
    "prefixItems", "type", "enum", "const", "required", "pattern", "format", "multipleOf", "uniqueItems",
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems",
    "maxItems", "minProperties", "maxProperties", "minContains", "maxContains", "dependencies",
    "dependentRequired", "$dynamicRef", "$recursiveRef",
}  # fmt: skip
"""Keywords that say something of a value by themselves. Whatever else a schema has says nothing."""
_COUNTS = frozenset(["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"])
_OLD = ("draft-03", "draft-04", "draft-06", "draft-07")
MOST_DEEP = 200
"""The deepest nesting of schemas."""


def structure(schema: Any) -> Any:
    """The schema without keywords that constrain nothing. A property may be called ``title``."""
    draft = schema.get("$schema") if isinstance(schema, Mapping) else None
    return _structure(schema, 0, is_old=isinstance(draft, str) and any(each in draft for each in _OLD))


def _structure(schema: Any, depth: int, *, is_old: bool) -> Any:
    if not isinstance(schema, Mapping):
        return schema
    if is_old and isinstance(schema.get("$ref"), str):
        # Up to draft 7, keywords beside a reference are ignored; but others may refer to them.
        schema = {key: schema[key] for key in ("$ref", "$defs", "definitions") if key in schema}
    if depth > MOST_DEEP:
        raise UsageError(f"a schema nests more than {MOST_DEEP} levels deep, too deep for a grammar")
    found: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in _NOTES:
            continue
        if keyword in _NAMED and isinstance(value, Mapping):
            found[keyword] = {
                name: _structure(each, depth + 1, is_old=is_old) for name, each in value.items()
            }
        elif isinstance(value, list | tuple) and (keyword in _LISTS or keyword == "items"):
            found[keyword] = [_structure(each, depth + 1, is_old=is_old) for each in value]
        elif keyword in _SINGLE:
            found[keyword] = _structure(value, depth + 1, is_old=is_old)
        else:
            found[keyword] = int(value) if keyword in _COUNTS and isinstance(value, float) else value
    _renew(found)
    return found


def _renew(schema: dict[str, Any]) -> None:
    """Translate older drafts' keywords to those of 2020-12."""
    if isinstance(schema.get("items"), list):
        schema["prefixItems"] = schema.pop("items")
        if "additionalItems" in schema:
            schema["items"] = schema["additionalItems"]
    schema.pop("additionalItems", None)
    for bound, beyond in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(is_beyond := schema.get(beyond), bool):
            del schema[beyond]
            if is_beyond and bound in schema:
                schema[beyond] = schema.pop(bound)
    if isinstance(schema.get("required"), bool):
        del schema["required"]


def loosened(schema: Any, most: int) -> Any:
    """The schema without counts larger than that."""
    if isinstance(schema, list | tuple):
        return [loosened(each, most) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        keyword: loosened(value, most)
        for keyword, value in schema.items()
        if not (keyword in _COUNTS and isinstance(value, int) and value > most)
    }
