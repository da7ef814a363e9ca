"""Two schemas into the one that admits what both admit, where that can be said.

For ``allOf``, for a reference with keywords beside it, and for the members around an ``anyOf``.
"""

from collections.abc import Callable, Mapping
from typing import Any

from rightcall.core.jsontext import JsonObject, dump

ANNOTATIONS = frozenset(
    [
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "$comment",
        "$schema",
        "$id",
        "$anchor",
        "$defs",
        "definitions",
    ]
)
"""Keywords that admit and refuse nothing."""


class Conflict(ValueError):
    """No single schema says what these two say together; the message is the keyword."""


def merge(first: JsonObject, second: JsonObject) -> dict[str, Any]:
    """Both at once; an annotation of the second stands before one of the first."""
    merged: dict[str, Any] = dict(first)
    for keyword, value in second.items():
        if keyword not in merged or keyword in ANNOTATIONS:
            merged[keyword] = value
        elif dump(merged[keyword]) != dump(value):
            if keyword not in _BOTH:
                raise Conflict(keyword)
            merged[keyword] = _BOTH[keyword](merged[keyword], value)
    _close(merged, first, second)
    return merged


def together(target: Any, beside: JsonObject) -> Any:
    """What a reference points at, with the keywords that stood beside the reference."""
    if not isinstance(target, Mapping):
        return beside if target is True and beside else target
    try:
        return merge(target, beside)
    except Conflict:
        return {"allOf": [target], **beside}


def _close(merged: dict[str, Any], first: JsonObject, second: JsonObject) -> None:
    """A closed schema refuses what only the other one lists."""
    for closed, other in ((first, second), (second, first)):
        if closed.get("additionalProperties") is False:
            known = _names(closed)
            if any(name not in known for name in _names(other)):
                raise Conflict("additionalProperties")
            merged["additionalProperties"] = False


def _names(schema: JsonObject) -> list[str]:
    properties = schema.get("properties")
    return list(properties) if isinstance(properties, Mapping) else []


def _merge_schemas(first: Any, second: Any) -> Any:
    if isinstance(first, bool):
        return second if first else False
    if isinstance(second, bool):
        return first if second else False
    if "$ref" in first or "$ref" in second:
        return {"allOf": [first, second]}
    return merge(first, second)


def _merge_members(first: Any, second: Any) -> Any:
    shared = {name: _merge_schemas(first[name], second[name]) for name in first if name in second}
    return {**first, **second, **shared}


def _merge_types(first: Any, second: Any) -> Any:
    one = [first] if isinstance(first, str) else list(first)
    two = [second] if isinstance(second, str) else list(second)
    if "number" in two:
        two.append("integer")
    found = [kind for kind in one if kind in two]
    if "number" in one and "integer" in two and "integer" not in found and "number" not in found:
        found.append("integer")
    if not found:
        raise Conflict("type")
    return found[0] if len(found) == 1 else found


def _merge_enums(first: Any, second: Any) -> Any:
    admitted = {dump(value) for value in second}
    found = [value for value in first if dump(value) in admitted]
    if not found:
        raise Conflict("enum")
    return found


def _merge_required(first: Any, second: Any) -> Any:
    return list(dict.fromkeys([*first, *second]))


def _merge_additional(first: Any, second: Any) -> Any:
    if first is False or second is False:
        return False
    return _merge_schemas(first, second)


_BOTH: dict[str, Callable[[Any, Any], Any]] = {
    "type": _merge_types,
    "enum": _merge_enums,
    "required": _merge_required,
    "properties": _merge_members,
    "items": _merge_schemas,
    "additionalProperties": _merge_additional,
    "unevaluatedProperties": _merge_additional,
    "allOf": lambda first, second: [*first, *second],
    "uniqueItems": lambda first, second: first or second,
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}
