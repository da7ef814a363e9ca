"""Estimates the cost of validating a value against a schema, before it is done.

A validator holds its thread, and no deadline stops it. Two kilobytes of ``anyOf`` over ``$ref`` double
the work with each level. So a schema's cost is estimated when it is compiled, and that of a large or
deep value before it is validated. The count is how often one place of a value is visited, at each depth,
at most.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias
from urllib.parse import unquote, urljoin

from rightcall.core.jsontext import JsonObject, JsonValue, shorten
from rightcall.core.schema_patterns import Unbounded
from rightcall.core.value_size import size_of

Node: TypeAlias = Mapping[str, Any]

MOST_LOOKS = 10_000
"""How often a schema may visit one place near the top of a value."""
MOST_STEPS = 200_000_000
"""The most visits to all places of a value together: a few seconds of the validator at worst."""
MOST_ERRORS = 30_000
"""The same, for collecting all errors, which costs a thousand times more."""
_NEAR, _FAR = 2, 12
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
"""Only one of these applies to a member or an item."""
_BELOW_ALL = (
    "patternProperties",
    "contains",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
)
_AGAIN = ("unevaluatedProperties", "unevaluatedItems")


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
        self._homes: dict[int, tuple[Node, str]] = {}
        """By the id of each object in a document: the resource that it is in, and its address."""
        self._targets: dict[str, Node] = {}
        for uri, resource in resources.items():
            self._targets[uri] = resource
            self._index(resource, resource, uri)
        self._index(document, document, "")
        self._document: Node = document
        self._order: list[Node] = []
        """Every reachable schema, after the schemas that it applies to the same value."""
        self._arrange()
        self.branches = any(key in node for node in self._order for key in ("anyOf", "oneOf"))
        """Whether it has alternatives, for each of which the validator collects all errors."""
        self._levels = [self._next_level(None)]
        while self._levels[-1][id(document)] and len(self._levels) <= _FAR:
            self._levels.append(self._next_level(self._levels[-1]))
        self.grows = self.looks(_FAR) > self.looks(_FAR // 2) and len(self._levels) > _FAR
        """Whether the cost of one place has no limit: it grows with its depth."""
        self._looks_far = self.looks(_FAR)
        looks = self.looks(_NEAR) if self.grows else self._looks_far
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
        return count * (self.looks(depth) if self.grows else self._looks_far)

    def looks(self, depth: int) -> int:
        """Returns how often one place can be visited, in a value of this depth."""
        root = id(self._document)
        while len(self._levels) <= depth and 0 < self._levels[-1][root] < _CEILING:
            self._levels.append(self._next_level(self._levels[-1]))
        return max(level[root] for level in self._levels[: depth + 1])

    def _next_level(self, above: Mapping[int, int] | None) -> dict[int, int]:
        level: dict[int, int] = {}
        for node in self._order:
            own = self._weight(node) if above is None else self._below(node, above)
            placed = sum(level[id(each)] for each in self._in_place(node))
            again = 2 if any(key in node for key in _AGAIN) else 1
            level[id(node)] = min(own + placed * again, _CEILING)
        return level

    def _weight(self, node: Node) -> int:
        if node is _ELSEWHERE:
            return _UNKNOWN
        required = node.get("required")
        # Each missing name is an error of its own.
        names = len(required) if isinstance(required, list) else 0
        return names + (_BACKTRACKING if node.get("pattern") in self._backtracking else 1)

    def _below(self, node: Node, above: Mapping[int, int]) -> int:
        one = max((above[id(each)] for key in _BELOW_ONE for each in _schemas(node, key)), default=0)
        return one + sum(above[id(each)] for key in _BELOW_ALL for each in _schemas(node, key))

    def _arrange(self) -> None:
        """Sort the schemas. Raises Unbounded if one applies itself to the same value again."""
        waiting: list[Node] = [self._document]
        done: set[int] = set()
        while waiting:
            start = waiting.pop()
            trail: list[tuple[Node, Iterator[Node]]] = []
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
                    waiting += (e for key in (*_BELOW_ONE, *_BELOW_ALL) for e in _schemas(node, key))
                elif id(child) in open_:
                    reference = next((node[key] for key in _REFERENCES if key in node), "")
                    raise Unbounded(f"refers in a circle to {shorten(reference)}")
                elif id(child) not in done:
                    trail.append((child, self._in_place(child)))
                    open_.add(id(child))

    def _in_place(self, node: Node) -> Iterator[Node]:
        """Yields the schemas that one applies to the same value."""
        for key in _REFERENCES:
            if isinstance(node.get(key), str):
                yield self._resolve(node, node[key])
        for key in (*_LISTS, *_SINGLE, *_NAMED):
            yield from _schemas(node, key)

    def _index(self, node: JsonValue, home: Node, base: str) -> None:
        if isinstance(node, list):
            for child in node:
                self._index(child, home, base)
        if not isinstance(node, Mapping):
            return
        if isinstance(own := node.get("$id"), str):
            base, home = urljoin(base, own), node
            self._targets[base.removesuffix("#")] = node
        for key in ("$anchor", "$dynamicAnchor"):
            if isinstance(name := node.get(key), str):
                self._targets[f"{base.partition('#')[0]}#{name}"] = node
        self._homes[id(node)] = home, base
        for child in node.values():
            self._index(child, home, base)

    def _resolve(self, node: Node, reference: str) -> Node:
        if reference.startswith(_META):
            return _ELSEWHERE
        home, base = self._homes[id(node)]
        resource, _, fragment = reference.partition("#")
        base = self._address(base, resource) if resource else base.partition("#")[0]
        if fragment and f"{base}#{fragment}" in self._targets:
            return self._targets[f"{base}#{fragment}"]
        found: Any = self._targets.get(base) if resource else home
        for step in unquote(fragment).split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            else:
                found = found.get(key) if isinstance(found, Mapping) else None
        if isinstance(found, bool):
            return _LEAF
        if not isinstance(found, Mapping) or id(found) not in self._homes:
            raise Unbounded(f"refers to {shorten(reference)}, which could not be followed")
        return found

    def _address(self, base: str, resource: str) -> str:
        """Returns the address of a document that another refers to; not all schemes can be joined."""
        joined = urljoin(base, resource)
        alike = (each for each in self._targets if each.endswith((f"/{resource}", f":{resource}")))
        return joined if joined in self._targets else next(alike, resource)


_LEAF: Node = {}
_ELSEWHERE: Node = {"$comment": "elsewhere"}


def _schemas(node: Node, key: str) -> Iterator[Node]:
    """Yields the schemas in a keyword: itself, the items of a list, or the members of a map."""
    value = node.get(key)
    if isinstance(value, Mapping) and key in _MAPS:
        value = list(value.values())
    if isinstance(value, list):
        yield from (each for each in value if isinstance(each, Mapping))
    elif isinstance(value, Mapping):
        yield value
