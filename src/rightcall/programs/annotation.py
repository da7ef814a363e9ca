"""A JSON Schema into the Python annotation of its values, with the classes that the annotation needs.

What Python's types cannot express, as a pattern or a bound, is left to the gate, which validates every
call.
"""

import builtins
from collections.abc import Iterator, Mapping, Sequence
from keyword import iskeyword
from typing import Any

_PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_DATES = {"date": "date", "date-time": "datetime"}
_LITERALS = (str, bool, int, type(None))
_TAKEN = frozenset({"Any", "Literal", "NotRequired", "TypedDict", *dir(builtins)})
_LONGEST_TOLD = 200
"""Characters of what is said of a class or a field, at most."""
_DEEPEST = 20
"""Levels of a schema that are annotated; below, anything is allowed: a schema may be recursive."""


class Annotations:
    """Writes annotations, and collects the classes that they name, each once."""

    def __init__(self, *, is_plan: bool = False) -> None:
        self.is_plan = is_plan
        """For a plan: a JSON object becomes a class with fields, and dates are dates."""
        self.classes: dict[str, str] = {}
        """The classes, by name, in the order in which they must be declared."""
        self._known: dict[int, str] = {}
        """The class name of each schema, by the schema's identity: a recursive schema has one class."""

    def of(self, schema: object, name: str, root: Mapping[str, Any], depth: int = 0) -> str:
        """The annotation of a schema's values; ``name`` is for its class, ``root`` holds the refs."""
        if not isinstance(schema, Mapping) or depth > _DEEPEST:
            return "Any"
        if isinstance(ref := schema.get("$ref"), str):
            target = _referred(ref, root)
            return self.of(target, class_name(ref.rpartition("/")[2], name), root, depth + 1)
        if listed := _listed(schema):
            return listed
        for key in ("anyOf", "oneOf"):
            if isinstance(choices := schema.get(key), Sequence):
                return self._union(choices, name, root, depth)
        if isinstance(together := schema.get("allOf"), Sequence) and len(together) == 1:
            return self.of(together[0], name, root, depth + 1)
        kind = schema.get("type")
        if isinstance(kind, list):
            return self._union([{**schema, "type": each} for each in kind], name, root, depth)
        if kind == "array":
            return f"list[{self.of(schema.get('items'), f'{name}Item', root, depth + 1)}]"
        if kind == "object":
            return self._object(schema, name, root, depth)
        if self.is_plan and kind == "string" and schema.get("format") in _DATES:
            return _DATES[str(schema["format"])]
        return _PLAIN.get(str(kind), "Any")

    def _union(self, schemas: Sequence[Any], name: str, root: Mapping[str, Any], depth: int) -> str:
        names = [name, *(f"{name}{number}" for number in range(2, len(schemas) + 1))]
        found = [self.of(each, at, root, depth + 1) for each, at in zip(schemas, names, strict=True)]
        return "Any" if "Any" in found or not found else " | ".join(dict.fromkeys(found))

    def _object(self, schema: Mapping[str, Any], name: str, root: Mapping[str, Any], depth: int) -> str:
        members = schema.get("properties")
        if not isinstance(members, Mapping) or not members:
            values = schema.get("additionalProperties")
            return f"dict[str, {self.of(values, f'{name}Value', root, depth + 1)}]"
        if (known := self._known.get(id(schema))) is not None:
            return known
        title = schema.get("title")
        if self.is_plan and isinstance(title, str) and is_name(title):
            # The name of the type, which other tools may return as well.
            name = title
        own = next(each for each in _numbered(name) if each not in self.classes and each not in _TAKEN)
        self._known[id(schema)] = own
        self.classes[own] = ""
        required = schema.get("required", ())
        lines = {}
        for key, value in members.items():
            hint = self.of(value, own + class_name(key), root, depth + 1)
            lines[key] = hint if key in required else f"NotRequired[{hint}]"
        # Inserted again at the end, so that the classes that it names are declared before it.
        del self.classes[own]
        body = _fields(lines, schema) if self.is_plan else _typed_dict(own, lines)
        if self.is_plan:
            # Each tool that returns a type has a schema of its own for it.
            alike = (each for each in _numbered(name) if each == own or body == self._body(each))
            self._known[id(schema)] = own = next(alike)
            body = f"class {own}:\n{body}"
        self.classes[own] = body
        return own

    def _body(self, name: str) -> str:
        return self.classes.get(name, "").removeprefix(f"class {name}:\n")


def _fields(members: Mapping[str, str], schema: Mapping[str, Any]) -> str:
    """The body of a class with fields, with what its author says of it and of them."""
    told = _told(schema)
    lines = [f"    # {told}\n"] if told else []
    for key, hint in members.items():
        if not is_name(key):
            continue
        inner = hint.removeprefix("NotRequired[")
        kind = hint if inner == hint else f"{inner.removesuffix(']')} | None"
        said = _told(schema["properties"][key])
        lines.append(f"    {key}: {kind}  # {said}\n" if said else f"    {key}: {kind}\n")
    return "".join(lines) if len(lines) > bool(told) else "    pass"


def _told(schema: object) -> str:
    """A schema's description in one line; empty without one."""
    said = schema.get("description") if isinstance(schema, Mapping) else None
    line = " ".join(said.split()) if isinstance(said, str) else ""
    return line if len(line) <= _LONGEST_TOLD else f"{line[: _LONGEST_TOLD - 1]}…"


def _typed_dict(name: str, members: Mapping[str, str]) -> str:
    if all(is_name(key) for key in members):
        body = "".join(f"    {key}: {hint}\n" for key, hint in members.items())
        return f"class {name}(TypedDict):\n{body}"
    body = ", ".join(f"{key!r}: {hint!r}" for key, hint in members.items())
    return f'{name} = TypedDict("{name}", {{{body}}})\n'


def _listed(schema: Mapping[str, Any]) -> str:
    """The values that a schema lists, as a Literal; empty where Python has no literal for them."""
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(values, Sequence) or isinstance(values, str) or not values:
        return ""
    if not all(type(each) in _LITERALS for each in values):
        return "Any"
    return f"Literal[{', '.join(map(repr, values))}]"


def _referred(ref: str, root: Mapping[str, Any]) -> object:
    found: object = root
    for part in ref.removeprefix("#").strip("/").split("/") if ref != "#" else ():
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _words(key: str) -> list[str]:
    return "".join(each if each.isalnum() and each.isascii() else " " for each in key).split()


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}{number}"
        number += 1


def is_name(text: str) -> bool:
    """Whether it is a valid Python name."""
    return text.isidentifier() and not iskeyword(text)


def class_name(key: str, otherwise: str = "Value") -> str:
    """A class name for another name: ``user-id`` is ``UserId``."""
    found = "".join(part[:1].upper() + part[1:] for part in _words(key)) or otherwise
    return f"_{found}" if found[:1].isdigit() else found
