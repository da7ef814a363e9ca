"""Repairs arguments that are almost valid, without loss.

Three mistakes that models make, and no others:

- a number, boolean or null inside a string (``"2"``), where the schema takes the value and no string;
- an array or object inside a string (``"[1, 2]"``), under the same condition;
- ``null`` for an optional member whose schema takes no null: the member is left out.

A string that the schema accepts as a string is never touched. Every change is reported.

A vendor's strict mode demands such nulls; ``without_nulls`` removes them and changes nothing else.
"""

from copy import deepcopy
from typing import Any

from jsonschema_rs import ValidationError
from jsonschema_rs import ValidationErrorKind as Kind

from rightcall.core.jsontext import JsonError, JsonObject, JsonValue, dump, parse
from rightcall.core.parts import Repair
from rightcall.core.problem import json_path
from rightcall.core.schema import Schema

_ROUNDS = 4
"""The most rounds of repair: a container that was a string may hold strings to repair in turn."""


def repair(arguments: JsonObject, schema: Schema) -> tuple[JsonObject, tuple[Repair, ...]]:
    """Returns the arguments with every lossless change that the schema's errors call for."""
    document: Any = parse(dump(arguments))
    repairs: list[Repair] = []
    for _ in range(_ROUNDS):
        made: dict[str, Repair] = {}
        for error in list(schema.errors(document)):
            # Several rules may report an error at one place; it is repaired once.
            change = _mend(document, error)
            if change is not None:
                made.setdefault(change.path, change)
        if not made:
            break
        repairs += made.values()
    return document, tuple(repairs)


def without_nulls(arguments: JsonObject, schema: Schema) -> tuple[JsonObject, tuple[Repair, ...]]:
    """Returns the arguments without the members that are null where the schema allows no null."""
    document: Any = parse(dump(arguments))
    repairs: dict[str, Repair] = {}
    for _ in range(_ROUNDS):
        # Errors inside a union show only as deep as its alternatives report them.
        paths = [path for error in schema.errors(document) for path in _forced_nulls(error)]
        if not paths:
            break
        for path in paths:
            parent = document
            for step in path[:-1]:
                parent = parent[step]
            parent.pop(path[-1], None)
            named = json_path(path)
            repairs[named] = Repair(named, None, None, removed=True)
    return document, tuple(repairs.values())


def _forced_nulls(error: ValidationError) -> list[list[Any]]:
    """Returns where the nulls are that cause an error; nothing if they are not all of its cause."""
    path = list(error.instance_path)
    if error.instance is None:
        if path and isinstance(path[-1], str):
            return [path]
        return []
    match error.kind:
        case Kind.AnyOf(branches) | Kind.OneOfNotValid(branches):
            for branch in branches:
                found = [_forced_nulls(inner) for inner in branch]
                if found and all(found):
                    return [each for paths in found for each in paths]
        case _:
            pass
    return []


def _mend(document: Any, error: ValidationError) -> Repair | None:
    """Change the document in place where ``error`` points, if that loses nothing."""
    path = list(error.instance_path)
    types = _types_wanted(error)
    if not path or not types:
        return None
    parent = document
    for step in path[:-1]:
        parent = parent[step]
    key = path[-1]
    before = error.instance
    if isinstance(before, str) and "string" not in types:
        found = _unquote(before)
        if found is None or not _fits(found[0], types):
            return None
        # A deeper repair may change what is in place, but not what is recorded.
        parent[key] = deepcopy(found[0])
        return Repair(json_path(path), before, found[0])
    if before is None and "null" not in types and isinstance(parent, dict):
        parent.pop(key, None)
        return Repair(json_path(path), None, None, removed=True)
    return None


def _types_wanted(error: ValidationError) -> set[str]:
    """Returns the types that the schema allows here; none when more than the type is wrong."""
    match error.kind:
        case Kind.Type(types):
            return set(types)
        case Kind.AnyOf(branches) | Kind.OneOfNotValid(branches):
            wanted: set[str] = set()
            for branch in branches:
                types = []
                for inner in branch:
                    if inner.instance_path == error.instance_path and isinstance(inner.kind, Kind.Type):
                        types += inner.kind.types
                if not types:
                    return set()
                wanted.update(types)
            return wanted
        case _:
            return set()


def _unquote(text: str) -> tuple[JsonValue] | None:
    """Returns the JSON value that a string holds, if encoding it again gives the same string."""
    try:
        value = parse(text.strip())
    except JsonError:
        return None
    if isinstance(value, str):
        return None
    if isinstance(value, dict | list) or dump(value) == text.strip():
        return (value,)
    return None


def _fits(value: JsonValue, types: set[str]) -> bool:
    match value:
        case None:
            return "null" in types
        case bool():
            return "boolean" in types
        case int():
            return bool({"integer", "number"} & types)
        case float():
            return "number" in types
        case dict():
            return "object" in types
        case list():
            return "array" in types
        case _:
            return False
