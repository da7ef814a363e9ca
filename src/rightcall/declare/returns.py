"""Makes the output schema of a tool from its return type, and encodes values to fit it."""

import inspect
from collections.abc import Iterable
from pathlib import PurePath
from types import NoneType, SimpleNamespace
from typing import Any, get_args, get_type_hints
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError

from rightcall.core.handler import unwrap
from rightcall.core.jsontext import JsonObject
from rightcall.core.problem import Valid
from rightcall.core.references import definition_at_root
from rightcall.core.schema import Schema
from rightcall.core.tool import Tool
from rightcall.declare.signature import NO_SCHEMA, rebuild_typed_dicts

WRAPPER = "result"
"""The field that holds a value that is not an object."""
_WRAPPED = b'{"%b":%%b}' % WRAPPER.encode()

# Text is returned as text and needs no schema; of the other types nothing is known.
_PLAIN = (str, None, NoneType, Any, object, inspect.Parameter.empty)
_FILES = (bytes, bytearray, memoryview, PurePath)


class ReturnMisfit(ValueError):
    """A value does not fit its tool's return type; the message says why, for the developer."""


class ReturnTooLong(ReturnMisfit):
    """A value fits as far as it was checked, but is longer than allowed."""


class Returns(Struct, frozen=True, eq=False):
    """A tool's output: the schema of an object, and how a value becomes one."""

    schema: JsonObject
    wrapped: bool
    """Whether the value is the field ``result`` of the object, and not the whole object."""
    adapter: TypeAdapter[Any]
    compiled: Schema
    is_plain: bool
    """Whether encoding a value runs no user code."""

    def encode(self, value: object, most: int | None = None) -> JsonObject:
        """The object for a value. Raises ReturnMisfit if it does not fit the schema.

        Raises TooLong if it has more than ``most`` bytes, which is checked before the schema.
        """
        try:
            text = self.adapter.dump_json(value, by_alias=True, warnings="error")
        except PydanticSerializationError as error:
            raise ReturnMisfit(str(error)) from error
        if self.wrapped:
            text = _WRAPPED % text
        if most is not None and len(text) > most:
            raise ReturnTooLong(f"longer than {most:,} bytes")
        found: JsonObject = msgspec.json.decode(text)
        verdict = self.compiled.validate(text.decode(), found)
        if not isinstance(verdict, Valid):
            raise ReturnMisfit("; ".join(map(str, verdict)))
        return found


_WORKED_OUT: WeakKeyDictionary[Tool, Returns | None] = WeakKeyDictionary()
"""Cached by tool: compiling its schema takes longer than many a run."""


def returns_of(tool: Tool) -> Returns | None:
    """A tool's declared output; None if it declares none, or none that is JSON: text, media, files."""
    if tool not in _WORKED_OUT:
        _WORKED_OUT[tool] = _returns_from_hint(return_hint(tool))
    return _WORKED_OUT[tool]


def _returns_from_hint(hint: Any) -> Returns | None:
    if hint in _PLAIN or _holds_file([hint]):
        return None
    try:
        adapter = TypeAdapter(rebuild_typed_dicts(hint))
        schema = adapter.json_schema(mode="serialization", schema_generator=_Plain)
    except NO_SCHEMA:
        return None
    schema = definition_at_root(schema)
    wrapped = schema.get("type") != "object"
    if wrapped:
        definitions = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
        properties = {WRAPPER: schema}
        schema = {"type": "object", "properties": properties, "required": [WRAPPER], **definitions}
    return Returns(schema, wrapped, adapter, Schema(schema), not _runs_code(adapter.core_schema))


def _runs_code(schema: Any) -> bool:
    """Whether a core schema has user-defined serialisers."""
    if isinstance(schema, list | tuple):
        return any(map(_runs_code, schema))
    if not isinstance(schema, dict):
        return False
    if schema.get("computed_fields") or "function" in (schema.get("serialization") or {}):
        return True
    return any(_runs_code(each) for each in schema.values())


def return_hint(tool: Tool) -> Any:
    """The handler's return annotation, as far as its module can resolve the names in it."""
    if tool.handler is None:
        return None
    function = inspect.unwrap(unwrap(getattr(tool.handler, "__func__", tool.handler)))
    annotations = getattr(function, "__annotations__", {})
    alone = SimpleNamespace(__annotations__={"return": annotations.get("return")})
    around = getattr(function, "__globals__", {})
    try:
        return get_type_hints(alone, around, include_extras=True)["return"]
    except (NameError, TypeError, SyntaxError, AttributeError):
        return None


def _holds_file(hints: Iterable[Any]) -> bool:
    """Whether bytes or paths occur anywhere in a type: those are shown by their content."""
    for hint in hints:
        if inspect.isclass(hint) and issubclass(hint, _FILES):
            return True
        if _holds_file(get_args(hint)):
            return True
    return False


class _Plain(GenerateJsonSchema):
    """pydantic's generator without the noise of generated titles."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False
