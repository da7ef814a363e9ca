"""Expresses conditions as alternatives: ``not``, ``if``, and dependencies between members.

That needs the negation of a schema, which only a few have: listed values, types, present or absent
members, and combinations of these.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rightcall.local.grammar.apart import overlapping
from rightcall.local.grammar.flatten import Condition, Flat, Resolve, as_types, flatten
from rightcall.local.grammar.plain import SubSchema
from rightcall.local.grammar.scalars import TYPES, is_a

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


def alternatives(condition: Condition, types: object, resolve: Resolve) -> list[SubSchema] | None:
    """A condition as alternatives: one of these holds. None if it cannot be expressed.

    ``types`` are the value's possible types, as in the keyword.
    """
    schema, keyword, name = condition.schema, condition.keyword, condition.name
    if keyword == "not":
        opposed = opposite(schema["not"], resolve, types)
        return None if opposed is None else [opposed]
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
    wanted = schema[keyword][name]
    also = wanted if isinstance(wanted, list | tuple) else ()
    there = {"type": "object", "required": [*also, name]}
    return [
        {"properties": {name: False}},
        there if isinstance(wanted, list | tuple) else {"allOf": [there, wanted]},
    ]


def cases(flat: Flat, resolve: Resolve, *, are_left_out: bool = False) -> tuple[list[Flat], list[str]]:
    """A schema's conditions as alternatives: one of these holds. And the paths of those left out."""
    found = [flat.copy(conditions=())]
    found[0].settled |= {id(each.schema) for each in flat.conditions}
    if are_left_out:
        return found, [each.path for each in flat.conditions]
    # Each case repeats all members.
    most = min(_MOST_CASES, _MOST_MEMBERS // max(len(flat.keywords.get("properties", ())), 1))
    unheld: list[str] = []
    for condition in flat.conditions:
        schemas = alternatives(condition, flat.keywords.get("type", TYPES), resolve)
        onward = [
            option
            for case in (found if schemas is not None else ())
            for schema in schemas or ()
            if not is_impossible(
                option := flatten(schema, condition.path, resolve, case.copy(), is_part=True)
            )
        ]
        if schemas is None or len(onward) > most:
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
    flat = flatten(schema, "$", resolve, Flat())
    if flat.is_false:
        return True
    keywords = {
        key: value for key, value in flat.keywords.items() if value is not True or key == "uniqueItems"
    }
    if flat.unheld or set(keywords) - _SAID or depth == 0:
        return None
    if any(each.keyword != "not" for each in flat.conditions):
        return None
    ways: list[SubSchema | None] = [each.schema["not"] for each in flat.conditions]
    ways += _scalar_ways(keywords, as_types(types))
    ways += _member_ways(keywords, resolve, depth)
    for choices in flat.choices:
        parts = [opposite(branch, resolve, types, depth - 1) for branch in choices.branches]
        if choices.exactly_one or None in parts or len(parts) > _MOST_WAYS:
            return None
        ways.append({"allOf": parts})
    known = [way for way in ways if way is not None]
    if len(known) != len(ways) or len(known) > most:
        return None
    return known[0] if len(known) == 1 else {"anyOf": known} if known else False


def _scalar_ways(keywords: Mapping[str, Any], types: Sequence[str]) -> list[SubSchema | None]:
    """The negation: another type, or a value that is not listed."""
    wanted = as_types(keywords.get("type", TYPES))
    if "enum" in keywords:
        values = [each for each in keywords["enum"] if any(is_a(kind, each) for kind in wanted)]
        return [{"not": {"enum": values}}]
    ways: list[SubSchema | None] = [{"enum": keywords["excluded"]}] if "excluded" in keywords else []
    others = [kind for kind in types if kind not in wanted]
    if "number" in others and "integer" in wanted:
        return [None]
    if "number" in wanted:
        others = [kind for kind in others if kind != "integer"]
    return [*ways, {"type": others}] if others else ways


def _member_ways(keywords: Mapping[str, Any], resolve: Resolve, depth: int) -> list[SubSchema | None]:
    """The negation: a required member is missing, or one does not satisfy its schema."""
    members, required = keywords.get("properties", {}), keywords.get("required", ())
    ways: list[SubSchema | None] = [_without(name) for name in required if name not in members]
    if len(members) + len(ways) > 2 * _MOST_WAYS:
        return [None]
    for name, schema in members.items():
        opposed = opposite(schema, resolve, TYPES, depth - 1)
        if opposed is None:
            return [None]
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
    places = {at for pair in pairs for at in pair}
    opposites = {at: opposite(branches[at], resolve, types, most=_MOST_LOOKED_AT) for at in places}
    required = {at: _required(branches[at], resolve) for at in places}
    beside: dict[int, list[SubSchema]] = {}
    together: dict[int, int] = {}
    is_whole = True
    for pair in pairs:
        for one, two in (pair, pair[::-1]):
            opposed = _possible(opposites[two], required[one])
            # Each way to be another thing is an alternative itself.
            ways = len(opposed.get("anyOf", ())) if isinstance(opposed, Mapping) else 0
            ways = together.get(one, 1) * max(ways, 1)
            if opposed is None or ways > _MOST_TOGETHER:
                is_whole = False
            else:
                beside.setdefault(one, []).append(opposed)
                together[one] = ways
    return beside, is_whole


def _required(schema: SubSchema, resolve: Resolve) -> Sequence[str]:
    """The members that must be there, in an object."""
    found: Sequence[str] = flatten(schema, "$", resolve, Flat()).keywords.get("required", ())
    return found


def _possible(opposed: SubSchema | None, required: Sequence[str]) -> SubSchema | None:
    """An opposite without the ways to lack a member that is there anyway; None for too many ways."""
    if not isinstance(opposed, Mapping) or "anyOf" not in opposed:
        return opposed
    lacking = [_without(name) for name in required]
    ways = [way for way in opposed["anyOf"] if way not in lacking]
    if len(ways) > _MOST_WAYS:
        return None
    return ways[0] if len(ways) == 1 else {"anyOf": ways} if ways else False


def _without(name: str) -> SubSchema:
    return {"type": "object", "properties": {name: False}}


def is_impossible(flat: Flat) -> bool:
    """Whether a schema is unsatisfiable, as far as is easily seen."""
    members = flat.keywords.get("properties", {})
    is_lacking = any(members.get(name) is False for name in flat.keywords.get("required", ()))
    return flat.is_false or (is_lacking and as_types(flat.keywords.get("type", ())) == ["object"])
