"""Expresses conditions as alternatives: ``not``, ``if``, and dependencies between members.

That needs the negation of a schema, which only a few have: listed values, types, present or absent
members, and combinations of these.

Alternatives that share no value are found here, too, so that no value could satisfy two of them.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from rightcall.core.jsontext import dump
from rightcall.local.grammar.flat_schema import (
    FlatSchema,
    Resolve,
    SchemaCondition,
    SubSchema,
    as_types,
    flatten_schema,
)
from rightcall.local.grammar.scalars import TYPES, is_a

_MOST_COMPARED = 24
_MOST_COMPARED_DEPTH = 3
_NUMERIC = frozenset(["integer", "number"])


def overlapping(branches: Sequence[SubSchema], resolve: Resolve) -> list[tuple[int, int]] | None:
    """Which two of these may share a value, by index; None if there are too many to compare."""
    if len(branches) > _MOST_COMPARED:
        return None
    known = [flatten_schema(branch, "$", resolve, FlatSchema()) for branch in branches]
    pairs: list[tuple[int, int]] = []
    for one, two in combinations(range(len(known)), 2):
        if not _are_apart(known[one], known[two], resolve, _MOST_COMPARED_DEPTH):
            pairs.append((one, two))
    return pairs


def _are_apart(one: FlatSchema, two: FlatSchema, resolve: Resolve, depth: int) -> bool:
    if one.is_false or two.is_false:
        return True
    first = one.keywords
    second = two.keywords
    if "type" in first and "type" in second:
        first_types = set(as_types(first["type"]))
        second_types = set(as_types(second["type"]))
        are_numeric = not _NUMERIC.isdisjoint(first_types) and not _NUMERIC.isdisjoint(second_types)
        if first_types.isdisjoint(second_types) and not are_numeric:
            return True
    if "enum" in first and "enum" in second:
        values = [*first["enum"], *second["enum"]]
        # Equal numbers may be written in two ways; they are left to the gate.
        is_plain = all(isinstance(value, str | bool) or value is None for value in values)
        if is_plain and set(map(dump, first["enum"])).isdisjoint(map(dump, second["enum"])):
            return True
    if depth == 0 or as_types(first.get("type", ())) != ["object"]:
        return False
    if as_types(second.get("type", ())) != ["object"]:
        return False
    for name in dict.fromkeys([*first.get("required", ()), *second.get("required", ())]):
        if _differ_in_member(name, first, second, resolve, depth):
            return True
    return False


def _differ_in_member(
    name: str, first: Mapping[str, Any], second: Mapping[str, Any], resolve: Resolve, depth: int
) -> bool:
    """Whether a member that one of them requires cannot satisfy the other."""
    missing = None
    for each in (second, first):
        if name not in each.get("properties", {}):
            missing = each
    if missing is None:
        one = flatten_schema(first["properties"][name], "$", resolve, FlatSchema())
        two = flatten_schema(second["properties"][name], "$", resolve, FlatSchema())
        return _are_apart(one, two, resolve, depth - 1)
    if name in missing.get("required", ()) or "patternProperties" in missing:
        return False
    return missing.get("additionalProperties") is False


_MOST_DEPTH = 3
_MOST_WAYS = 4
"""In how many ways a schema may be broken for its opposite to be worth saying."""
_MOST_LOOKED_AT = 8
"""In how many ways an alternative may be broken, of which another leaves but few."""
_MOST_TOGETHER = 8
"""The most combinations of ways to violate all others at once."""
_MOST_OVERLAPS = 30
_MOST_CASES = 24
_MOST_MEMBERS = 400
"""The most members in all cases that conditions make of one object."""
_SAID = frozenset(["type", "enum", "excluded", "required", "properties"])


def alternatives(condition: SchemaCondition, types: object, resolve: Resolve) -> list[SubSchema] | None:
    """A condition as alternatives: one of these holds. None if it cannot be expressed.

    ``types`` are the value's possible types, as in the keyword.
    """
    schema = condition.schema
    keyword = condition.keyword
    name = condition.name
    if keyword == "not":
        opposed = opposite(schema["not"], resolve, types)
        if opposed is None:
            return None
        return [opposed]
    if keyword == "if" and "then" not in schema and "else" not in schema:
        return [True]
    if keyword == "if":
        opposed = opposite(schema["if"], resolve, types)
        if opposed is None:
            return None
        return [
            {"allOf": [schema["if"], schema.get("then", True)]},
            {"allOf": [opposed, schema.get("else", True)]},
        ]
    # Where the member is there, others are required, or a schema applies.
    absent = {"properties": {name: False}}
    dependent = schema[keyword][name]
    if isinstance(dependent, list | tuple):
        return [absent, {"type": "object", "required": [*dependent, name]}]
    return [absent, {"allOf": [{"type": "object", "required": [name]}, dependent]}]


def cases(
    flat: FlatSchema, resolve: Resolve, *, are_left_out: bool = False
) -> tuple[list[FlatSchema], list[str]]:
    """A schema's conditions as alternatives: one of these holds. And the paths of those left out."""
    first = flat.copy()
    first.conditions = []
    first.settled |= {id(each.schema) for each in flat.conditions}
    found = [first]
    if are_left_out:
        return found, [each.path for each in flat.conditions]
    # Each case repeats all members.
    most = min(_MOST_CASES, _MOST_MEMBERS // max(len(flat.keywords.get("properties", ())), 1))
    unheld: list[str] = []
    for condition in flat.conditions:
        schemas = alternatives(condition, flat.keywords.get("type", TYPES), resolve)
        if schemas is None:
            unheld.append(condition.path)
            continue
        onward = []
        for case in found:
            for schema in schemas:
                option = flatten_schema(schema, condition.path, resolve, case.copy(), is_part=True)
                if not is_impossible(option):
                    onward.append(option)
        if len(onward) > most:
            unheld.append(condition.path)
        else:
            found = onward
    return found, unheld


def opposite(
    schema: SubSchema,
    resolve: Resolve,
    types: object = TYPES,
    depth: int = _MOST_DEPTH,
    *,
    most: int = _MOST_WAYS,
) -> SubSchema | None:
    """What admits just the values of these types that a schema does not; None if that is not known.

    More than so many ways to be another thing are not worth saying.
    """
    flat = flatten_schema(schema, "$", resolve, FlatSchema())
    if flat.is_false:
        return True
    keywords = {}
    for key, value in flat.keywords.items():
        if value is not True or key == "uniqueItems":
            keywords[key] = value
    if flat.unheld or set(keywords) - _SAID or depth == 0:
        return None
    if any(each.keyword != "not" for each in flat.conditions):
        return None
    ways: list[SubSchema] = [each.schema["not"] for each in flat.conditions]
    scalar_ways = _scalar_ways(keywords, as_types(types))
    member_ways = _member_ways(keywords, resolve, depth)
    if scalar_ways is None or member_ways is None:
        return None
    ways += scalar_ways
    ways += member_ways
    for choices in flat.choices:
        parts = [opposite(branch, resolve, types, depth - 1) for branch in choices.branches]
        if choices.exactly_one or None in parts or len(parts) > _MOST_WAYS:
            return None
        ways.append({"allOf": parts})
    if len(ways) > most:
        return None
    return _any_of(ways)


def _any_of(ways: list[SubSchema]) -> SubSchema:
    if not ways:
        return False
    if len(ways) == 1:
        return ways[0]
    return {"anyOf": ways}


def _scalar_ways(keywords: Mapping[str, Any], types: Sequence[str]) -> list[SubSchema] | None:
    """The negation: another type, or a value that is not listed; None if that is not known."""
    allowed = as_types(keywords.get("type", TYPES))
    if "enum" in keywords:
        values = [each for each in keywords["enum"] if any(is_a(kind, each) for kind in allowed)]
        return [{"not": {"enum": values}}]
    ways: list[SubSchema] = []
    if "excluded" in keywords:
        ways.append({"enum": keywords["excluded"]})
    others = [kind for kind in types if kind not in allowed]
    if "number" in others and "integer" in allowed:
        return None
    if "number" in allowed and "integer" in others:
        others.remove("integer")
    if others:
        ways.append({"type": others})
    return ways


def _member_ways(keywords: Mapping[str, Any], resolve: Resolve, depth: int) -> list[SubSchema] | None:
    """The negation: a required member is missing, or one breaks its schema; None if not known."""
    members = keywords.get("properties", {})
    required = keywords.get("required", ())
    ways: list[SubSchema] = [_without(name) for name in required if name not in members]
    if len(members) + len(ways) > 2 * _MOST_WAYS:
        return None
    for name, schema in members.items():
        opposed = opposite(schema, resolve, TYPES, depth - 1)
        if opposed is None:
            return None
        if name in required:
            ways.append({"type": "object", "properties": {name: opposed}})
        elif opposed is not False:
            ways.append({"type": "object", "required": [name], "properties": {name: opposed}})
    return ways


def exclusions(
    branches: Sequence[SubSchema], types: object, resolve: Resolve
) -> tuple[dict[int, list[SubSchema]], bool]:
    """For each alternative, what else must hold so that no other does; and whether that is complete."""
    pairs = overlapping(branches, resolve)
    if pairs is None or len(pairs) > _MOST_OVERLAPS:
        return {}, False
    opposites: dict[int, SubSchema | None] = {}
    required: dict[int, Sequence[str]] = {}
    for at in set().union(*pairs):
        opposites[at] = opposite(branches[at], resolve, types, most=_MOST_LOOKED_AT)
        flat = flatten_schema(branches[at], "$", resolve, FlatSchema())
        required[at] = flat.keywords.get("required", ())
    beside: dict[int, list[SubSchema]] = {}
    together: dict[int, int] = {}
    is_whole = True
    for pair in pairs:
        for one, two in (pair, pair[::-1]):
            opposed = _possible(opposites[two], required[one])
            ways = together.get(one, 1)
            if isinstance(opposed, Mapping) and "anyOf" in opposed:
                # Each way to be another thing is an alternative itself.
                ways *= len(opposed["anyOf"])
            if opposed is None or ways > _MOST_TOGETHER:
                is_whole = False
            else:
                beside.setdefault(one, []).append(opposed)
                together[one] = ways
    return beside, is_whole


def _possible(opposed: SubSchema | None, required: Sequence[str]) -> SubSchema | None:
    """An opposite without the ways to lack a member that is there anyway; None for too many ways."""
    if not isinstance(opposed, Mapping) or "anyOf" not in opposed:
        return opposed
    lacking = [_without(name) for name in required]
    ways = [way for way in opposed["anyOf"] if way not in lacking]
    if len(ways) > _MOST_WAYS:
        return None
    return _any_of(ways)


def _without(name: str) -> SubSchema:
    return {"type": "object", "properties": {name: False}}


def is_impossible(flat: FlatSchema) -> bool:
    """Whether a schema is unsatisfiable, as far as is easily seen."""
    members = flat.keywords.get("properties", {})
    is_lacking = any(members.get(name) is False for name in flat.keywords.get("required", ()))
    return flat.is_false or (is_lacking and as_types(flat.keywords.get("type", ())) == ["object"])
