"""Describes and validates parameters of JSON's own types, without pydantic.

Loading pydantic and its first schema take longer than everything else until an agent is ready, and most
tools take texts, numbers and choices only. The schema here is the one that pydantic would write. What
this accepts pydantic would accept, as the same values; whatever it does not accept is left to pydantic,
which words the problems.
"""

import inspect
import sys
from collections.abc import Callable, Mapping
from math import isfinite
from types import ModuleType, NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ForwardRef,
    Literal,
    NotRequired,
    TypedDict,
    TypeGuard,
    Union,
    get_args,
    get_origin,
)

import msgspec
from msgspec.structs import replace

from rightcall.core.handler import Parameters, is_context
from rightcall.core.jsontext import JsonObject
from rightcall.core.problem import Description, Problem, Valid, Validator
from rightcall.errors import DeclarationError

if TYPE_CHECKING:
    from pydantic import BaseModel


_SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
_DEEPEST = 8
"""Types that nest deeper are rare; pydantic says which are too deep."""


class Plain:
    """Validates arguments by their types. ``full`` makes the validator of those that do not fit."""

    def __init__(self, parameters: Parameters, full: Callable[[], Validator]) -> None:
        kinds = {}
        self._defaults = {}
        for name, parameter in parameters.items():
            kinds[name] = parameter.annotation
            if parameter.default is not parameter.empty:
                kinds[name] = NotRequired[parameter.annotation]
                self._defaults[name] = parameter.default
        # Python's types cannot be written down for a type checker when they are known only now.
        self._decode = msgspec.json.Decoder(TypedDict("Arguments", kinds)).decode  # type: ignore[operator]
        self._known = parameters.keys()
        self._make_full = full
        self._full: Validator | None = None

    def validate(self, text: str, value: JsonObject) -> Valid | tuple[Problem, ...]:
        """The arguments as Python values, or the problems with them."""
        if value.keys() <= self._known:
            try:
                bound = self._decode(text)
            except msgspec.ValidationError:
                pass
            else:
                if self._defaults:
                    bound = {**self._defaults, **bound}
                return Valid(bound)
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
    required: list[str] = []
    for name, parameter in parameters.items():
        schema = _schema(parameter.annotation)
        if schema is None or parameter.kind is parameter.VAR_KEYWORD:
            return None
        default = parameter.default
        if default is parameter.empty:
            required.append(name)
        elif type(default) in _SCALARS and (type(default) is not float or isfinite(default)):
            # Members are in the order in which pydantic sorts them.
            schema = dict(sorted([*schema.items(), ("default", default)]))
        else:
            return None
        properties[name] = schema
    described = {"additionalProperties": False, "properties": properties}
    if required:
        described["required"] = required
    return {**described, "type": "object"}


def _schema(kind: Any, depth: int = 1) -> dict[str, Any] | None:
    if depth > _DEEPEST:
        return None
    origin = get_origin(kind)
    inside = get_args(kind)
    if origin is None and isinstance(kind, type) and kind in _SCALARS:
        # Only these types themselves: a class of their kind may have rules of its own.
        return {"type": _SCALARS[kind]}
    if not inside:
        # ``typing.List`` has an origin, and does not say of what.
        return None
    if origin is Literal and all(type(option) is str for option in inside):
        if len(inside) == 1:
            return {"const": inside[0], "type": "string"}
        return {"enum": list(inside), "type": "string"}
    # Of unions only a type or None: others have rules about which of them is meant.
    if origin in {Union, UnionType} and inside[1:] == (NoneType,):
        schema = _schema(inside[0], depth + 1)
        if schema is not None:
            return {"anyOf": [schema, {"type": "null"}]}
    if origin is list and (items := _schema(inside[0], depth + 1)) is not None:
        return {"items": items, "type": "array"}
    if origin is dict and inside[0] is str and (values := _schema(inside[1], depth + 1)) is not None:
        return {"additionalProperties": values, "type": "object"}
    return None


def with_meanings(schema: Mapping[str, Any], meanings: Mapping[str, str]) -> JsonObject:
    """The schema, with the descriptions of parameters that have none of their own."""
    if "properties" not in schema:
        return schema
    properties = dict(schema["properties"])
    for name, text in meanings.items():
        if name in properties and "description" not in properties[name]:
            properties[name] = {**properties[name], "description": text}
    return {**schema, "properties": properties}


def is_model(kind: object) -> "TypeGuard[type[BaseModel]]":
    """Whether this is a pydantic model's class. While pydantic is not loaded, nothing is."""
    main = sys.modules.get("pydantic.main")
    return main is not None and inspect.isclass(kind) and issubclass(kind, main.BaseModel)


def describe_parameters(tool: str, parameters: Parameters, meanings: Mapping[str, str]) -> Description:
    """The schema of a function's parameters; ``meanings`` are descriptions from its docstring."""
    for parameter in parameters.values():
        _refuse_undescribable(tool, parameter)

    def describe_with_pydantic() -> Description:
        described: Description = _signature().describe_signature(tool, parameters)
        return replace(described, parameters=with_meanings(described.parameters, meanings))

    schema = schema_of(parameters)
    if schema is None:
        return describe_with_pydantic()
    full = Plain(parameters, lambda: describe_with_pydantic().validator)
    return Description(with_meanings(schema, meanings), full)


def describe_model(tool: str, model: "type[BaseModel]") -> Description:
    """The schema of a pydantic model's fields."""
    described: Description = _signature().describe_model(tool, model)
    return described


def _signature() -> ModuleType:
    """The module that asks pydantic."""
    from rightcall.declare import signature  # noqa: PLC0415 - light until used

    return signature


def _refuse_undescribable(tool: str, parameter: inspect.Parameter) -> None:
    where = f"parameter {parameter.name!r}"
    if parameter.kind is parameter.VAR_POSITIONAL:
        raise DeclarationError(
            tool,
            "a model passes arguments by name, so *args cannot be filled.",
            where=where,
            fix=f"Take a list: {parameter.name}: list[…].",
        )
    if parameter.annotation is parameter.empty:
        raise DeclarationError(
            tool, "it has no annotation.", where=where, fix=f"Write {parameter.name}: <type>."
        )
    annotation = parameter.annotation
    if isinstance(annotation, _VALUES) or inspect.isroutine(annotation) or _is_prose(annotation):
        raise DeclarationError(
            tool,
            f"the annotation {annotation!r} is not a type.",
            where=where,
            fix=f"Write {parameter.name}: <type>, as str, int, list[str] or typing.Any; words about it "
            'go into the docstring, or into Annotated[str, Field(description="…")].',
        )
    if _holds_name(annotation):
        raise DeclarationError(
            tool,
            f"the annotation {annotation!r} names something that cannot be found.",
            where=where,
            fix="Import or define it before the tool, not under TYPE_CHECKING.",
        )
    if is_context(annotation):
        raise DeclarationError(
            tool, "it is a second rc.Context, and a call has one.", where=where, fix="Leave one out."
        )


_VALUES = (bool, int, float, complex, bytes, list, tuple, dict, set)


def _is_prose(annotation: object) -> bool:
    """Whether an annotation that is still text is not even Python."""
    if not isinstance(annotation, str):
        return False
    try:
        compile(annotation, "annotation", "eval")
    except (SyntaxError, ValueError):
        return True
    return False


def _holds_name(annotation: object) -> bool:
    """Whether a type still has a name in it that was not found."""
    if isinstance(annotation, str | ForwardRef):
        return True
    origin = get_origin(annotation)
    inside = get_args(annotation)
    if origin is Literal:
        return False
    if origin is Annotated:
        inside = inside[:1]
    return any(map(_holds_name, inside))
