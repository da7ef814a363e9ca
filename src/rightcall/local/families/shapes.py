"""The types that a parameter's schema allows, and the conversion of text to JSON of one of them.

A value that can only be a string is taken literally, and streams. Any other is parsed when it is
complete: as JSON if it is JSON of an allowed type, as a Python literal if only that fits, else as a
string, so that nothing is lost and the gate can report the problem. Quotes are part of the text.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, TypeAlias

from rightcall.core.jsontext import JsonError, JsonObject, parse
from rightcall.core.references import local_target
from rightcall.core.tool import Spec
from rightcall.local.families.scanner import literal, quote_json

Types: TypeAlias = frozenset[str]

ANY: Types = frozenset(("string", "number", "integer", "boolean", "null", "object", "array"))
STRING: Types = frozenset(("string",))
_MAX_DEPTH = 16
_KINDS: Mapping[type, str] = {
    str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null",
    dict: "object", list: "array", tuple: "array",
}  # fmt: skip
_WORDS = {"true": "true", "false": "false"}
_NOTHING = frozenset(("null", "none", "nil"))
_MAX_LITERAL = 100_000
"""The longest text that is tried as a Python literal."""


class Shapes:
    """The schemas of one tool's parameters, with the targets of their references."""

    def __init__(self, parameters: JsonObject | None = None) -> None:
        self.root: Any = parameters or {}
        """The schema of the whole arguments."""

    def member(self, schema: Any, key: str) -> Any:
        """The schema of an object's member; None if there is none."""
        for found in self._each(schema, 0):
            members = found.get("properties")
            if isinstance(members, Mapping) and key in members:
                return members[key]
        for found in self._each(schema, 0):
            if isinstance(found.get("additionalProperties"), Mapping):
                return found["additionalProperties"]
        return None

    @property
    def keys(self) -> frozenset[str]:
        """The parameters that have a name."""
        members = self.root.get("properties")
        if isinstance(members, Mapping):
            return frozenset(members)
        return frozenset()

    def parameter(self, key: str) -> Any:
        """The schema of a parameter; None if there is none."""
        return self.member(self.root, key)

    def item(self, schema: Any) -> Any:
        """The schema of an array's items; None if there is none."""
        return next((s["items"] for s in self._each(schema, 0) if "items" in s), None)

    def types(self, schema: Any, depth: int = 0) -> Types:
        """The types that a schema allows: all if it names none."""
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
            return ANY
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
        found = found & ANY or ANY
        if "$ref" in schema:
            found &= self.types(local_target(self.root, schema["$ref"]), depth + 1)
        for word in ("anyOf", "oneOf"):
            branches = _branches(schema, word)
            if branches:
                found &= frozenset().union(*(self.types(branch, depth + 1) for branch in branches))
        for branch in _branches(schema, "allOf"):
            found &= self.types(branch, depth + 1)
        if schema.get("nullable") is True:
            return found | {"null"}
        return found

    def _each(self, schema: Any, depth: int) -> Sequence[Mapping[str, Any]]:
        """A schema and its subschemas."""
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
            return ()
        found = [schema]
        if "$ref" in schema:
            found.extend(self._each(local_target(self.root, schema["$ref"]), depth + 1))
        for word in ("anyOf", "oneOf", "allOf"):
            for branch in _branches(schema, word):
                found.extend(self._each(branch, depth + 1))
        return found


class Specs:
    """The names of the offered tools, and the shapes of their parameters."""

    def __init__(self, specs: Iterable[Spec] = (), *, is_closed: bool = False) -> None:
        self._shapes = {spec.name: Shapes(spec.parameters) for spec in specs}
        self.names = frozenset(self._shapes)
        self.is_closed = is_closed
        """Whether no other tool can be called."""

    def name(self, written: str) -> str:
        """The tool that a model means. Some write the name twice: ``add.add``."""
        half, dot, other = written.partition(".")
        if dot and half == other and written not in self.names:
            return half
        return written

    def bare(self, written: str, prefix: str) -> str:
        """The name without the prefix that families add, unless it is part of the name."""
        name = written.removeprefix(prefix) or written
        if written in self.names and name not in self.names:
            return written
        return name

    def shapes(self, name: str) -> Shapes:
        """The schemas of a tool's parameters; of a tool that was not offered, nothing is known."""
        return self._shapes.get(name) or Shapes()


def _branches(schema: Mapping[str, Any], word: str) -> Sequence[Any]:
    branches = schema.get(word)
    if isinstance(branches, list | tuple):
        return branches
    return ()


def to_json(text: str, types: Types) -> str:
    """The value of a text, as JSON text."""
    bare = text.strip()
    if types != STRING and bare:
        found = _as_json(bare, types) or _as_scalar(bare, types) or _as_python(bare, types)
        if found:
            return found
    if not bare and "string" not in types:
        if "object" in types:
            return "{}"
        if "array" in types:
            return "[]"
        return '""'
    return quote_json(text)


def _as_json(text: str, types: Types) -> str:
    if text[0] == '"':
        return ""
    try:
        value = parse(text)
    except JsonError:
        return ""
    match value:
        case bool():
            fits = "boolean" in types
        case None:
            fits = "null" in types
        case int():
            fits = bool({"integer", "number"} & types)
        case float():
            fits = "number" in types or ("integer" in types and value.is_integer())
        case dict():
            fits = "object" in types
        case list():
            fits = "array" in types
        case _:
            fits = False
    return text if fits else ""


def _as_scalar(text: str, types: Types) -> str:
    """Other spellings of numbers, booleans and null, used if no string could be meant."""
    if "string" in types:
        return ""
    lower = text.lower()
    if "boolean" in types and lower in _WORDS:
        return _WORDS[lower]
    if "null" in types and lower in _NOTHING:
        return "null"
    try:
        value = float(text)
        if "integer" in types and text.lstrip("+-").isdecimal():
            return str(int(text))
    except ValueError:
        return ""
    if "number" in types and isfinite(value):
        return repr(value)
    return ""


def _as_python(text: str, types: Types) -> str:
    if text[0] not in "{[(" or len(text) > _MAX_LITERAL or not {"object", "array"} & types:
        return ""
    written = literal(text)
    return written and _as_json(written, types)
