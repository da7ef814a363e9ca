"""The keywords of a JSON Schema: what they apply to, how two schemas merge, and references."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

from rightcall.core.jsontext import JsonObject, at, dump, nodes

SILENT = frozenset(
    ["title", "$comment", "$schema", "$id", "$anchor", "$defs", "definitions", "$vocabulary"]
)
"""Dropped silently where a vendor does not accept them: they tell a model nothing."""

_OWN = {
    "object": "properties required additionalProperties patternProperties unevaluatedProperties "
    "propertyNames minProperties maxProperties dependentRequired dependentSchemas",
    "array": "items prefixItems minItems maxItems uniqueItems contains minContains maxContains "
    "unevaluatedItems additionalItems",
    "string": "minLength maxLength pattern format contentEncoding contentMediaType contentSchema",
    "number": "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf format",
}
_KEYWORDS = {kind: frozenset(words.split()) for kind, words in _OWN.items()}
_KEYWORDS["integer"] = _KEYWORDS["number"]
TYPED = frozenset[str]().union(*_KEYWORDS.values())
"""Keywords that apply to values of one type only."""

HANDLED = frozenset([
    "type", "properties", "required", "additionalProperties", "patternProperties",
    "unevaluatedProperties", "items", "prefixItems", "anyOf", "enum", "const", "format", "description",
    "minItems", "nullable",
])  # fmt: skip
"""Keywords that a rewriter handles individually."""


def applies(keyword: str, kinds: Sequence[str]) -> bool:
    """Whether a keyword constrains values of these types."""
    return any(keyword in _KEYWORDS.get(kind, ()) for kind in kinds)


def kinds_in(node: JsonObject) -> list[str]:
    """The types that a schema accepts: as declared, or as implied by its other keywords."""
    said = node.get("type")
    if isinstance(said, str):
        return [said, "null"] if node.get("nullable") is True and said != "null" else [said]
    if isinstance(said, list | tuple):
        return [str(kind) for kind in said]
    values = node.get("enum")
    listed = [node["const"]] if "const" in node else values if isinstance(values, list | tuple) else []
    if listed:
        return list(dict.fromkeys(kinds_of(value)[0] for value in listed))
    for kind, keywords in _KEYWORDS.items():
        if kind != "integer" and any(keyword in keywords for keyword in node):
            return [kind]
    return []


def kinds_of(value: Any) -> tuple[str, ...]:
    """The JSON Schema types of a value."""
    match value:
        case None:
            return ("null",)
        case bool():
            return ("boolean",)
        case int():
            return ("integer", "number")
        case float():
            return ("number",)
        case str():
            return ("string",)
        case Mapping():
            return ("object",)
        case _:
            return ("array",)


def is_null(node: Any) -> bool:
    """Whether a schema accepts only null."""
    return isinstance(node, Mapping) and kinds_in(node) == ["null"]


def takes_null(node: Any, target: Callable[[str], Any], seen: Sequence[str] = ()) -> bool:
    """Whether a schema accepts null. ``target`` resolves a reference."""
    if not isinstance(node, Mapping):
        return node is not False
    reference, listed = node.get("$ref"), node.get("enum")
    if isinstance(reference, str) and (
        reference in seen or not takes_null(target(reference), target, (*seen, reference))
    ):
        return False
    if "type" in node and "null" not in kinds_in(node):
        return False
    if node.get("const") is not None or (isinstance(listed, list | tuple) and None not in listed):
        return False
    for keyword, enough in (("anyOf", any), ("oneOf", any), ("allOf", all)):
        branches = node.get(keyword)
        if branches and not enough([takes_null(branch, target, seen) for branch in branches]):
            return False
    return True


_EXOTIC = re.compile(r"\\[1-9AbBkpPzZ]|\(\?(?!:)")


def is_plain_pattern(pattern: object) -> bool:
    """Whether a regular expression uses only what vendors compile.

    Vendors refuse a request with lookahead, lookbehind, backreferences or word boundaries.
    """
    return isinstance(pattern, str) and not _EXOTIC.search(pattern)


def are_disjoint(branches: Sequence[Any]) -> bool:
    """Whether no value can match two of these, because of its type or a discriminating member."""
    return all(_differ(one, two) for one, two in combinations(branches, 2))


def _differ(one: JsonObject, two: JsonObject) -> bool:
    first, second = _wide(kinds_in(one)), _wide(kinds_in(two))
    if first and second and not first & second:
        return True
    if _excludes(one, two):
        return True
    members, others = _members(one), _members(two)
    return any(_excludes(members[name], others[name]) for name in members if name in others)


def _wide(kinds: list[str]) -> set[str]:
    return {"number" if kind == "integer" else kind for kind in kinds}


def _excludes(one: JsonObject, two: JsonObject) -> bool:
    first, second = _listed(one), _listed(two)
    return bool(first and second and not first & second)


def _listed(node: JsonObject) -> set[str]:
    values = node.get("enum")
    if "const" in node:
        return {dump(node["const"])}
    return {dump(value) for value in values} if isinstance(values, list | tuple) else set()


def _members(node: JsonObject) -> dict[str, JsonObject]:
    """The members that an object schema requires."""
    properties, required = node.get("properties"), node.get("required")
    if not isinstance(properties, Mapping) or not isinstance(required, list | tuple):
        return {}
    return {
        name: member
        for name, member in properties.items()
        if name in required and isinstance(member, Mapping)
    }


def only(node: JsonObject, *keywords: str) -> dict[str, Any]:
    """The named members of a schema, those that it has."""
    return {key: value for key, value in node.items() if key in keywords}


def without(node: JsonObject, *keywords: str) -> dict[str, Any]:
    """A schema without the named members."""
    return {key: value for key, value in node.items() if key not in keywords}


def say(value: Any) -> str:
    """A keyword's value as text for a description."""
    return value if isinstance(value, str) and value else dump(value)


def sentence(description: Any, words: Sequence[str]) -> str:
    """A description with these words appended."""
    text = description if isinstance(description, str) else ""
    if not words:
        return text
    return f"{text} ({'; '.join(words)})" if text else "; ".join(words)


ANNOTATIONS = SILENT | {"description", "default", "examples", "deprecated", "readOnly", "writeOnly"}
"""Keywords that do not restrict values."""


class Conflict(ValueError):
    """No single schema can express both; the message is the keyword."""


def merge(first: JsonObject, second: JsonObject) -> dict[str, Any]:
    """A schema that requires both; an annotation of the second overrides one of the first."""
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
    """The target of a reference, merged with the keywords beside the reference."""
    if not isinstance(target, Mapping):
        return beside if target is True and beside else target
    try:
        return merge(target, beside)
    except Conflict:
        return {"allOf": [target], **beside}


def _close(merged: dict[str, Any], first: JsonObject, second: JsonObject) -> None:
    """Close the merged schema if either is closed; raise Conflict if the other lists more members."""
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


class References:
    """The references of one document. References to other documents are never resolved."""

    def __init__(self, document: JsonObject) -> None:
        self._document = document
        self._anchors = {
            f"#{node['$anchor']}": node
            for node in nodes(document)
            if isinstance(node.get("$anchor"), str)
        }
        self._names: dict[str, str] = {}

    def target(self, reference: str) -> Any:
        """The target of a reference; None if there is none in this document."""
        if reference in self._anchors:
            return self._anchors[reference]
        if not reference.startswith("#"):
            own = self._document.get("$id")
            if not (isinstance(own, str) and own and reference.startswith(own + "#")):
                return None
            reference = reference.removeprefix(own)
        return at(self._document, reference)

    def is_recursive(self, reference: str) -> bool:
        """Whether the target contains, directly or not, a reference to itself."""
        seen: set[str] = set()
        waiting = [reference]
        while waiting:
            for found in _references(self.target(waiting.pop())):
                if found == reference or self.target(found) is self.target(reference):
                    return True
                if found not in seen:
                    seen.add(found)
                    waiting.append(found)
        return False

    def name(self, reference: str) -> str:
        """A name for a definition, unique per reference."""
        if reference not in self._names:
            wanted = reference.rpartition("/")[2].strip("#") or "root"
            taken = set(self._names.values())
            name, number = wanted, 2
            while name in taken:
                name, number = f"{wanted}_{number}", number + 1
            self._names[reference] = name
        return self._names[reference]


def _references(node: Any) -> list[str]:
    return [found["$ref"] for found in nodes(node) if isinstance(found.get("$ref"), str)]
