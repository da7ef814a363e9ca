"""Finds alternatives that share no value, so that no value could satisfy two of them."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from rightcall.core.jsontext import dump
from rightcall.local.grammar.flatten import Flat, Resolve, as_types, flatten
from rightcall.local.grammar.plain import SubSchema

_MOST_COMPARED = 24
_MOST_DEPTH = 3


def overlapping(branches: Sequence[SubSchema], resolve: Resolve) -> list[tuple[int, int]] | None:
    """Which two of these may share a value, by index; None if there are too many to compare."""
    if len(branches) > _MOST_COMPARED:
        return None
    known = [flatten(branch, "$", resolve, Flat()) for branch in branches]
    return [
        (one, two)
        for one, two in combinations(range(len(known)), 2)
        if not _apart(known[one], known[two], resolve, _MOST_DEPTH)
    ]


def _apart(one: Flat, two: Flat, resolve: Resolve, depth: int) -> bool:
    if one.is_false or two.is_false:
        return True
    first, second = one.keywords, two.keywords
    if _have_no_type_in_common(first, second) or _have_no_value_in_common(first, second):
        return True
    if depth == 0 or not _are_objects(first, second):
        return False
    return any(
        _told_by(name, first, second, resolve, depth)
        for name in dict.fromkeys([*first.get("required", ()), *second.get("required", ())])
    )


def _have_no_type_in_common(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    if "type" not in first or "type" not in second:
        return False
    one, two = ({*as_types(each["type"])} for each in (first, second))
    numeric = {"integer", "number"}
    return not (one & two) and not (one & numeric and two & numeric)


def _have_no_value_in_common(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    if "enum" not in first or "enum" not in second:
        return False
    # Equal numbers may be written in two ways; they are left to the gate.
    values = [*first["enum"], *second["enum"]]
    if not all(isinstance(value, str | bool) or value is None for value in values):
        return False
    return not {dump(value) for value in first["enum"]} & {dump(value) for value in second["enum"]}


def _are_objects(*schemas: Mapping[str, Any]) -> bool:
    return all(as_types(each.get("type", ())) == ["object"] for each in schemas)


def _told_by(
    name: str, first: Mapping[str, Any], second: Mapping[str, Any], resolve: Resolve, depth: int
) -> bool:
    """Whether a member that one of them requires cannot satisfy the other."""
    members = [each.get("properties", {}) for each in (first, second)]
    if all(name in each for each in members):
        one, two = (flatten(each[name], "$", resolve, Flat()) for each in members)
        return _apart(one, two, resolve, depth - 1)
    missing = first if name not in members[0] else second
    if name in missing.get("required", ()) or "patternProperties" in missing:
        return False
    return missing.get("additionalProperties") is False
