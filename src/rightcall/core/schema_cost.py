"""Estimates the cost of validating a value against a schema, before it is done.

A validator holds its thread, and no deadline stops it. Two kilobytes of ``anyOf`` over ``$ref`` double
the work with each level. So a schema's cost is estimated when it is compiled, and that of a large or
deep value before it is validated. The count is how often one place of a value is visited, at each depth,
at most.

Look-around and back-references are matched by backtracking, which on a long text can take minutes.
Schema generators use them all the same (Zod does, for e-mail addresses), so such patterns are not
refused, but held to short texts.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import jsonschema_rs

from rightcall.core.jsontext import JsonObject, JsonValue, shorten, size_of
from rightcall.core.references import ReferenceResolver, SchemaNode

BACKTRACKS = 100
"""How often such a pattern may backtrack; after that it does not match."""
LONGEST = 1024
"""The most characters of a text that such a pattern is matched with."""

_PATTERN_MAPS = {
    *("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")
}
_VALUES = {"const", "enum", "default", "examples"}


class Unbounded(ValueError):
    """A schema whose cost has no limit, or is too high."""


def backtracking_patterns(documents: Iterable[JsonObject]) -> frozenset[str]:
    """Returns the patterns in schemas that cannot be matched in linear time.

    A schema that contains itself is a RecursionError.
    """
    patterns: set[str] = set()

    def collect(node: JsonValue) -> None:
        if isinstance(node, Mapping):
            if isinstance(pattern := node.get("pattern"), str):
                patterns.add(pattern)
            if isinstance(named := node.get("patternProperties"), Mapping):
                patterns.update(named)
            for child in node.values():
                collect(child)
        elif isinstance(node, list):
            for child in node:
                collect(child)

    for document in documents:
        collect(document)
    return frozenset(filter(_backtracks, patterns))


@lru_cache(maxsize=512)
def _backtracks(pattern: str) -> bool:
    """Whether only the backtracking engine supports a pattern; one that neither supports is invalid."""
    if _is_taken(pattern, jsonschema_rs.RegexOptions()):
        return False
    return _is_taken(pattern, jsonschema_rs.FancyRegexOptions())


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
    held: dict[str, Any] = {}
    for key, value in node.items():
        if key in _VALUES:
            held[key] = value
        elif key in _PATTERN_MAPS and isinstance(value, Mapping):
            if key == "patternProperties" and (wrong := sorted(backtracking & value.keys())):
                raise Unbounded(
                    f"has a pattern for names that no linear-time engine takes: {shorten(wrong[0])}"
                )
            held[key] = {name: hold_patterns(child, backtracking) for name, child in value.items()}
        else:
            held[key] = hold_patterns(value, backtracking)
    pattern = held.get("pattern")
    if isinstance(pattern, str) and pattern in backtracking:
        del held["pattern"]
        short = {"maxLength": LONGEST}
        limited = {"if": short, "then": {"pattern": pattern}, "else": short}
        held["allOf"] = [*held.get("allOf", []), limited]
    return held


MOST_LOOKS = 10_000
"""How often a schema may visit one place near the top of a value."""
MOST_STEPS = 200_000_000
"""The most visits to all places of a value together: a few seconds of the validator at worst."""
MOST_ERRORS = 30_000
"""The same, for collecting all errors, which costs a thousand times more."""
_NEAR = 2
_FAR = 12
"""Depths that every value is assumed to have, and that show whether a schema's cost grows with depth."""
_CEILING = 10**15
_BACKTRACKING = 2_000
_UNKNOWN = 1_000
"""The assumed cost of a reference to a meta-schema."""
_META = ("http://json-schema.org/", "https://json-schema.org/")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLE = ("not", "if", "then", "else")
_NAMED = ("dependentSchemas", "dependencies")
_MAPS = {*_NAMED, "properties", "patternProperties"}
_BELOW_ONE = ("properties", "prefixItems", "items", "additionalProperties", "additionalItems")
_BELOW_ALL = (
    "patternProperties",
    "contains",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
)
_AGAIN = frozenset(("unevaluatedProperties", "unevaluatedItems"))
"""These evaluate what is beside them a second time."""


class SchemaCost:
    """How often each place of a value is visited, by its depth."""

    def __init__(
        self,
        document: JsonObject,
        resources: Mapping[str, JsonObject],
        backtracking: frozenset[str] = frozenset(),
    ) -> None:
        self._backtracking = backtracking
        """The patterns that do not match in linear time."""
        self._references = ReferenceResolver(document, resources)
        self._document: SchemaNode = document
        self._order: list[SchemaNode] = []
        """Every reachable schema, after the schemas that it applies to the same value."""
        self._arrange()
        self.branches = any("anyOf" in node or "oneOf" in node for node in self._order)
        """Whether it has alternatives, for each of which the validator collects all errors."""
        self._levels = [self._next_level(None)]
        while self._levels[-1][id(document)] and len(self._levels) <= _FAR:
            self._levels.append(self._next_level(self._levels[-1]))
        self.grows = self.looks(_FAR) > self.looks(_FAR // 2) and len(self._levels) > _FAR
        """Whether the cost of one place has no limit: it grows with its depth."""
        self._looks_far = self.looks(_FAR)
        looks = self._looks_far
        if self.grows:
            looks = self.looks(_NEAR)
        if looks > MOST_LOOKS:
            raise Unbounded(f"looks {looks:,} times at one value, where {MOST_LOOKS:,} is the most")

    def steps(self, value: JsonValue, most: int, text: str | None = None) -> int:
        """Returns about how many visits a value takes at most. Exact only up to ``most``."""
        if text is not None and not self.grows:
            # A value and its comma take at least two characters.
            quick = (len(text) // 2 + 1) * self._looks_far
            if quick <= most:
                return quick
        count, depth = size_of(value, most)
        if self.grows:
            return count * self.looks(depth)
        return count * self._looks_far

    def looks(self, depth: int) -> int:
        """Returns how often one place can be visited, in a value of this depth."""
        root = id(self._document)
        while len(self._levels) <= depth and 0 < self._levels[-1][root] < _CEILING:
            self._levels.append(self._next_level(self._levels[-1]))
        return max(level[root] for level in self._levels[: depth + 1])

    def _next_level(self, above: Mapping[int, int] | None) -> dict[int, int]:
        """Returns how often each schema's places are visited; ``above`` is the level above, if any."""
        level: dict[int, int] = {}
        for node in self._order:
            if above is None:
                visits = self._weight(node)
            else:
                # Only one of the first kind applies to a member or an item, but all of the second.
                visits = max((above[id(each)] for each in _schemas(node, *_BELOW_ONE)), default=0)
                visits += sum(above[id(each)] for each in _schemas(node, *_BELOW_ALL))
            in_place = sum(level[id(each)] for each in self._in_place(node))
            if not _AGAIN.isdisjoint(node):
                in_place *= 2
            level[id(node)] = min(visits + in_place, _CEILING)
        return level

    def _weight(self, node: SchemaNode) -> int:
        if node is _ELSEWHERE:
            return _UNKNOWN
        weight = 1
        if node.get("pattern") in self._backtracking:
            weight = _BACKTRACKING
        required = node.get("required")
        if isinstance(required, list):
            # Each missing name is an error of its own.
            weight += len(required)
        return weight

    def _arrange(self) -> None:
        """Sort the schemas. Raises Unbounded if one applies itself to the same value again."""
        waiting: list[SchemaNode] = [self._document]
        done: set[int] = set()
        while waiting:
            start = waiting.pop()
            trail: list[tuple[SchemaNode, Iterator[SchemaNode]]] = []
            open_: set[int] = set()
            if id(start) not in done:
                trail.append((start, self._in_place(start)))
                open_.add(id(start))
            while trail:
                node, inside = trail[-1]
                child = next(inside, None)
                if child is None:
                    trail.pop()
                    open_.discard(id(node))
                    done.add(id(node))
                    self._order.append(node)
                    waiting += _schemas(node, *_BELOW_ONE, *_BELOW_ALL)
                elif id(child) in open_:
                    reference = next((node[key] for key in _REFERENCES if key in node), "")
                    raise Unbounded(f"refers in a circle to {shorten(reference)}")
                elif id(child) not in done:
                    trail.append((child, self._in_place(child)))
                    open_.add(id(child))

    def _in_place(self, node: SchemaNode) -> Iterator[SchemaNode]:
        """Yields the schemas that one applies to the same value."""
        for key in _REFERENCES:
            reference = node.get(key)
            if not isinstance(reference, str):
                continue
            if reference.startswith(_META):
                yield _ELSEWHERE
                continue
            target = self._references.target(node, reference)
            if isinstance(target, bool):
                yield _LEAF
            elif isinstance(target, Mapping):
                yield target
            else:
                raise Unbounded(f"refers to {shorten(reference)}, which could not be followed")
        yield from _schemas(node, *_LISTS, *_SINGLE, *_NAMED)


_LEAF: SchemaNode = {}
_ELSEWHERE: SchemaNode = {"$comment": "elsewhere"}


def _schemas(node: SchemaNode, *keys: str) -> Iterator[SchemaNode]:
    """Yields the schemas in some keywords: itself, the items of a list, or the members of a map."""
    for key in keys:
        value = node.get(key)
        if isinstance(value, Mapping):
            if key not in _MAPS:
                yield value
                continue
            value = list(value.values())
        if isinstance(value, list):
            for each in value:
                if isinstance(each, Mapping):
                    yield each
