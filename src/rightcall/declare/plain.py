"""Describes and validates parameters of JSON's own types, without pydantic.

Loading pydantic and its first schema take longer than everything else until an agent is ready, and most
tools take texts, numbers and choices only. The schema here is the one that pydantic would write. What
this accepts pydantic would accept, as the same values; whatever it does not accept is left to pydantic,
which words the problems.
"""

import sys
from collections.abc import Callable, Mapping
from math import isfinite
from types import NoneType, UnionType
from typing import Any, Literal, NotRequired, TypedDict, Union, get_args, get_origin

import msgspec
from msgspec import Struct

from rightcall.core.handler import Parameters
from rightcall.core.jsontext import JsonObject
from rightcall.core.problem import Problem, Valid, Validator

_SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
_DEEPEST = 8
"""Types that nest deeper are rare; pydantic says which are too deep."""


class Description(Struct, frozen=True, eq=False):
    """The JSON Schema of the arguments, and their validator."""

    parameters: JsonObject
    validator: Validator


class Plain:
    """Validates arguments by their types. ``full`` makes the validator of those that do not fit."""

    def __init__(self, parameters: Parameters, full: Callable[[], Validator]) -> None:
        kinds = {
            name: each.annotation if each.default is each.empty else NotRequired[each.annotation]
            for name, each in parameters.items()
        }
        # Python's types cannot be written down for a type checker when they are known only now.
        self._decode = msgspec.json.Decoder(TypedDict("Arguments", kinds)).decode  # type: ignore[operator]
        self._known = parameters.keys()
        self._defaults = {n: p.default for n, p in parameters.items() if p.default is not p.empty}
        self._make_full = full
        self._full: Validator | None = None

    def validate(self, text: str, value: JsonObject) -> Valid | tuple[Problem, ...]:
        """The arguments as Python values, or the problems with them."""
        if value.keys() <= self._known:
            try:
                found = self._decode(text)
            except msgspec.ValidationError:
                pass
            else:
                return Valid({**self._defaults, **found} if self._defaults else found)
        if self._full is None:
            self._full = self._make_full()
        return self._full.validate(text, value)

    def loads_for(self, text: str) -> bool:
        """Whether to validate this text would first load pydantic, which takes a tenth of a second."""
        if "pydantic" in sys.modules:
            return False
        try:
            self._decode(text)
            return not (msgspec.json.decode(text).keys() <= self._known)
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            # What is not JSON is refused before it is validated; that it takes a thread does no harm.
            return True


def schema_of(parameters: Parameters) -> dict[str, Any] | None:
    """The JSON Schema of the parameters; None if one of them is not of JSON's own types."""
    properties: dict[str, Any] = {}
    for name, parameter in parameters.items():
        schema = _schema(parameter.annotation)
        if schema is None or parameter.kind is parameter.VAR_KEYWORD:
            return None
        if parameter.default is not parameter.empty:
            if not _is_scalar(parameter.default):
                return None
            # Members are in the order in which pydantic sorts them.
            schema = dict(sorted([*schema.items(), ("default", parameter.default)]))
        properties[name] = schema
    found = {"additionalProperties": False, "properties": properties}
    if required := [name for name, each in parameters.items() if each.default is each.empty]:
        found["required"] = required
    return {**found, "type": "object"}


def _schema(kind: Any, depth: int = 0) -> dict[str, Any] | None:
    origin, inside, depth = get_origin(kind), get_args(kind), depth + 1
    if depth > _DEEPEST:
        return None
    if origin is None:
        # Only these types themselves: a class of their kind may have rules of its own.
        name = _SCALARS.get(kind) if isinstance(kind, type) else None
        return None if name is None else {"type": name}
    if origin is Literal:
        return _choices(inside)
    if origin in {Union, UnionType}:
        return _or_null(inside, depth)
    if origin is list and (items := _schema(inside[0], depth)) is not None:
        return {"items": items, "type": "array"}
    if origin is dict and inside[0] is str and (values := _schema(inside[1], depth)) is not None:
        return {"additionalProperties": values, "type": "object"}
    return None


def _choices(options: tuple[Any, ...]) -> dict[str, Any] | None:
    if not all(type(option) is str for option in options):
        return None
    if len(options) == 1:
        return {"const": options[0], "type": "string"}
    return {"enum": list(options), "type": "string"}


def _or_null(kinds: tuple[Any, ...], depth: int) -> dict[str, Any] | None:
    """The schema of a type or None; other unions have rules about which of them is meant."""
    if len(kinds) != 2 or kinds[1] is not NoneType:  # noqa: PLR2004 - a type and None
        return None
    schema = _schema(kinds[0], depth)
    return None if schema is None else {"anyOf": [schema, {"type": "null"}]}


def _is_scalar(value: object) -> bool:
    return type(value) in _SCALARS and (type(value) is not float or isfinite(value))


def with_meanings(schema: dict[str, Any], meanings: Mapping[str, str]) -> dict[str, Any]:
    """The schema, with the descriptions of parameters that have none of their own."""
    properties = schema.get("properties", {})
    for name, text in meanings.items():
        if name in properties and "description" not in properties[name]:
            properties[name] = {**properties[name], "description": text}
    return schema
