"""Limits the patterns of a schema that no linear-time engine supports to short texts.

Look-around and back-references are matched by backtracking, which on a long text can take minutes.
Schema generators use them all the same (Zod does, for e-mail addresses), so they are not refused.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import jsonschema_rs

from rightcall.core.jsontext import JsonObject, JsonValue, shorten

BACKTRACKS = 100
"""How often such a pattern may backtrack; after that it does not match."""
LONGEST = 1024
"""The most characters of a text that such a pattern is matched with."""

_MAPS = {
    *("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"),
}
_VALUES = {"const", "enum", "default", "examples"}


class Unbounded(ValueError):
    """A schema whose cost has no limit, or is too high."""


def backtracking_patterns(documents: Iterable[JsonObject]) -> frozenset[str]:
    """Returns the patterns in schemas that cannot be matched in linear time."""
    return frozenset(filter(_backtracks, {each for node in documents for each in _patterns(node)}))


def _patterns(node: JsonValue) -> Iterator[str]:
    if isinstance(node, Mapping):
        if isinstance(pattern := node.get("pattern"), str):
            yield pattern
        if isinstance(named := node.get("patternProperties"), Mapping):
            yield from named
        for child in node.values():
            yield from _patterns(child)
    elif isinstance(node, list):
        for child in node:
            yield from _patterns(child)


@lru_cache(maxsize=512)
def _backtracks(pattern: str) -> bool:
    """Whether only the backtracking engine supports a pattern; one that neither supports is invalid."""
    return not _is_taken(pattern, jsonschema_rs.RegexOptions()) and _is_taken(
        pattern, jsonschema_rs.FancyRegexOptions()
    )


def _is_taken(pattern: str, engine: Any) -> bool:
    try:
        jsonschema_rs.validator_for({"pattern": pattern}, pattern_options=engine)
    except (jsonschema_rs.ValidationError, ValueError):
        return False
    return True


def hold_patterns(node: Any, backtracking: frozenset[str]) -> Any:
    """Returns a schema with a limit on the text's length before each of these patterns."""
    if isinstance(node, list):
        return [hold_patterns(child, backtracking) for child in node]
    if not isinstance(node, Mapping):
        return node
    held = {key: _hold_keyword(key, child, backtracking) for key, child in node.items()}
    pattern = held.get("pattern")
    if isinstance(pattern, str) and pattern in backtracking:
        del held["pattern"]
        short = {"maxLength": LONGEST}
        together = held.get("allOf", [])
        held["allOf"] = [*together, {"if": short, "then": {"pattern": pattern}, "else": short}]
    return held


def _hold_keyword(key: str, value: Any, backtracking: frozenset[str]) -> Any:
    if key in _VALUES:
        return value
    if key not in _MAPS or not isinstance(value, Mapping):
        return hold_patterns(value, backtracking)
    if key == "patternProperties" and (wrong := sorted(backtracking & value.keys())):
        raise Unbounded(f"has a pattern for names that no linear-time engine takes: {shorten(wrong[0])}")
    return {name: hold_patterns(child, backtracking) for name, child in value.items()}
