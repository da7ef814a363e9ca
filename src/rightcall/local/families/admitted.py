"""A parameter's JSON Schema into the types of value that it admits."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from rightcall.core.jsontext import JsonObject

Types: TypeAlias = frozenset[str]

ANY: Types = frozenset(("string", "number", "integer", "boolean", "null", "object", "array"))
STRING: Types = frozenset(("string",))
_MAX_DEPTH = 16
_KINDS: Mapping[type, str] = {
    str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null",
    dict: "object", list: "array", tuple: "array",
}  # fmt: skip


class Shapes:
    """The schemas of one tool's parameters, with what their references point to."""

    def __init__(self, parameters: JsonObject | None = None) -> None:
        self._root: Any = parameters or {}

    def member(self, schema: Any, key: str) -> Any:
        """The schema of an object's member; None when there is none."""
        for found in self._each(schema, 0):
            members = found.get("properties")
            if isinstance(members, Mapping) and key in members:
                return members[key]
        for found in self._each(schema, 0):
            if isinstance(found.get("additionalProperties"), Mapping):
                return found["additionalProperties"]
        return None

    @property
    def root(self) -> Any:
        """The schema of all parameters together."""
        return self._root

    @property
    def keys(self) -> frozenset[str]:
        """The parameters that have a name."""
        members = self._root.get("properties")
        return frozenset(members) if isinstance(members, Mapping) else frozenset()

    def parameter(self, key: str) -> Any:
        """The schema of a parameter; None when there is none."""
        return self.member(self._root, key)

    def item(self, schema: Any) -> Any:
        """The schema of an array's items; None when there is none."""
        return next((s["items"] for s in self._each(schema, 0) if "items" in s), None)

    def types(self, schema: Any, depth: int = 0) -> Types:
        """The types that a schema admits: all of them where it says nothing."""
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
            return ANY
        found = _own_types(schema)
        if "$ref" in schema:
            found &= self.types(self._target(schema["$ref"]), depth + 1)
        for word in ("anyOf", "oneOf"):
            branches = _branches(schema, word)
            if branches:
                found &= frozenset().union(*(self.types(branch, depth + 1) for branch in branches))
        for branch in _branches(schema, "allOf"):
            found &= self.types(branch, depth + 1)
        return found | {"null"} if schema.get("nullable") is True else found

    def _each(self, schema: Any, depth: int) -> Sequence[Mapping[str, Any]]:
        """A schema and those that it is made of."""
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
            return ()
        found = [schema]
        if "$ref" in schema:
            found.extend(self._each(self._target(schema["$ref"]), depth + 1))
        for word in ("anyOf", "oneOf", "allOf"):
            for branch in _branches(schema, word):
                found.extend(self._each(branch, depth + 1))
        return found

    def _target(self, reference: Any) -> Any:
        """What a reference within the same document points to."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        found = self._root
        for step in reference[1:].split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, Mapping) else None
        return found


def _own_types(schema: Mapping[str, Any]) -> Types:
    said = schema.get("type")
    if isinstance(said, str):
        found = frozenset((said,))
    elif isinstance(said, Sequence) and said:
        found = frozenset(name for name in said if isinstance(name, str))
    else:
        found = ANY
    if "number" in found:
        found |= {"integer"}
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(values, list | tuple) and values:
        found &= frozenset(_KINDS.get(type(value), "object") for value in values)
    return found & ANY or ANY


def _branches(schema: Mapping[str, Any], word: str) -> Sequence[Any]:
    branches = schema.get(word)
    return branches if isinstance(branches, list | tuple) else ()
