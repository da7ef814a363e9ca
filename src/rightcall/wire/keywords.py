"""What the keywords of a JSON Schema are about, and how they are put in words."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from rightcall.core.jsontext import JsonObject, dump

SILENT = frozenset(
    ["title", "$comment", "$schema", "$id", "$anchor", "$defs", "definitions", "$vocabulary"]
)
"""Left out without a word where a vendor does not take them: they tell a model nothing."""

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
"""Keywords that are about values of one type only."""

HANDLED = frozenset(
    [
        "type",
        "properties",
        "required",
        "additionalProperties",
        "patternProperties",
        "unevaluatedProperties",
        "items",
        "prefixItems",
        "anyOf",
        "enum",
        "const",
        "format",
        "description",
        "minItems",
        "nullable",
    ]
)
"""Keywords that a rewriter reads one by one."""


def applies(keyword: str, kinds: Sequence[str]) -> bool:
    """Whether a keyword says anything of values of these types."""
    return any(keyword in _KEYWORDS.get(kind, ()) for kind in kinds)


def kinds_in(node: JsonObject) -> list[str]:
    """The types that a schema takes: as it says, or as its other keywords betray."""
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
    """The types that a value is of."""
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
    """Whether a schema takes null and nothing else."""
    return isinstance(node, Mapping) and kinds_in(node) == ["null"]


def are_disjoint(branches: Sequence[Any]) -> bool:
    """Whether no value can fit two of these, by type or by a member that tells them apart."""
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
    """The members that every value of an object schema has."""
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
    """A schema less the named members."""
    return {key: value for key, value in node.items() if key not in keywords}


def say(value: Any) -> str:
    """A keyword's value in a description."""
    return value if isinstance(value, str) and value else dump(value)


def sentence(description: Any, words: Sequence[str]) -> str:
    """A description with what could not be said otherwise at its end."""
    text = description if isinstance(description, str) else ""
    if not words:
        return text
    return f"{text} ({'; '.join(words)})" if text else "; ".join(words)
