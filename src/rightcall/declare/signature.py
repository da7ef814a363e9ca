"""Makes a JSON Schema and a validator from a signature or a pydantic model, by pydantic."""

import inspect
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, PydanticSchemaGenerationError, PydanticUserError, TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUndefinedAnnotation
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, JsonSchemaWarningKind
from pydantic_core import SchemaError, core_schema

from rightcall.core.handler import Parameters
from rightcall.declare.plain import Description, with_meanings
from rightcall.declare.typed import Typed
from rightcall.errors import DeclarationError

NO_SCHEMA = (
    PydanticSchemaGenerationError,
    PydanticInvalidForJsonSchema,
    PydanticUndefinedAnnotation,
    PydanticUserError,
)
"""What pydantic raises for a type that JSON Schema cannot describe."""
_NO_VALIDATOR = (*NO_SCHEMA, SchemaError, RecursionError)
"""That, and what it raises for a type that it cannot validate: a pattern that does not compile, say."""


def describe_signature(tool: str, parameters: Parameters, meanings: Mapping[str, str]) -> Description:
    """The schema of a function's parameters; ``meanings`` are descriptions from its docstring."""
    try:
        adapter = _adapter(parameters)
        schema = _schema_of(adapter)
    except _NO_VALIDATOR as error:
        raise _blame(tool, parameters, error) from error
    schema = with_meanings(schema, meanings)
    return Description(schema, Typed(adapter, schema.get("properties", {})))


def describe_model(tool: str, model: type[BaseModel]) -> Description:
    """The schema of a pydantic model's fields."""
    try:
        adapter = TypeAdapter(model)
        schema = _schema_of(adapter)
    except _NO_VALIDATOR as error:
        raise DeclarationError(tool, f"the model has no JSON Schema: {_reason(error)}.") from error
    if "$ref" in schema:  # a model that contains itself
        itself = schema["$defs"][schema["$ref"].rpartition("/")[2]]
        schema = {**itself, "$defs": schema["$defs"]}
    schema.pop("title", None)
    schema.pop("description", None)
    if schema.get("type") != "object":
        raise DeclarationError(tool, "the model is not an object.", fix="Give it fields.")
    return Description(schema, Typed(adapter, schema.get("properties", {})))


def _blame(tool: str, parameters: Parameters, error: Exception) -> DeclarationError:
    """The parameter that pydantic cannot describe."""
    for name, parameter in parameters.items():
        try:
            _schema_of(_adapter({name: parameter}))
        except RecursionError:
            return DeclarationError(
                tool, "its type nests too deeply to be described.", where=f"parameter {name!r}"
            )
        except SchemaError as cause:
            return DeclarationError(
                tool,
                f"pydantic cannot check it: {_reason(cause)}.",
                where=f"parameter {name!r}",
                fix="Patterns are Rust's regular expressions, without look-around and back-references.",
            )
        except NO_SCHEMA as cause:
            return DeclarationError(
                tool,
                f"{parameter.annotation!r} cannot be described to a model: {_reason(cause)}.",
                where=f"parameter {name!r}",
                fix="Use a type that pydantic knows, or annotate it rc.Context to inject it.",
            )
    return DeclarationError(tool, f"the parameters cannot be described: {_reason(error)}.")


def _adapter(parameters: Parameters) -> TypeAdapter[Any]:
    """Validates the parameters as pydantic validates a call, and returns them by name."""

    def take(**arguments: Any) -> dict[str, Any]:
        return arguments

    by_name = [
        p if p.kind is p.VAR_KEYWORD else p.replace(kind=p.KEYWORD_ONLY) for p in parameters.values()
    ]
    take.__signature__ = inspect.Signature(by_name)  # type: ignore[attr-defined]
    take.__annotations__ = {p.name: p.annotation for p in by_name}
    return TypeAdapter(take)  # type: ignore[arg-type]


def _schema_of(adapter: TypeAdapter[Any]) -> dict[str, Any]:
    """The JSON Schema of an adapter's type, without generated titles."""
    schema = adapter.json_schema(schema_generator=_ToolSchema)
    for name, definition in schema.get("$defs", {}).items():
        if definition.get("title") == name:
            del definition["title"]
    return schema


def _reason(error: Exception) -> str:
    if isinstance(error, SchemaError):
        # The cause is the last line, below what was being built when it was found.
        lines = [line.strip() for line in str(error).split("\n")]
        at = next((at for at, line in enumerate(lines) if "parse error" in line), len(lines) - 2)
        pattern = f"the pattern {lines[at + 1]!r}: " if "parse error" in lines[at] else ""
        return f"{pattern}{lines[-1].removeprefix('error: ').removeprefix('SchemaError: ')}".rstrip(".")
    return str(error).split("\n", 1)[0].partition(". Set `arbitrary_types_allowed")[0].rstrip(".")


class _ToolSchema(GenerateJsonSchema):
    """pydantic's generator, restricted to what a model can be told and the gate can enforce."""

    ignored_warning_kinds = {"non-serializable-default"}  # noqa: RUF012 - as its parent has it

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False

    def generator_schema(self, schema: core_schema.GeneratorSchema) -> JsonSchemaValue:  # noqa: ARG002
        raise PydanticInvalidForJsonSchema(
            "an iterator is checked only while it is read, which is after the gate; use list[…]"
        )

    def arguments_schema(self, schema: core_schema.ArgumentsSchema) -> JsonSchemaValue:
        if schema.get("var_kwargs_mode") == "unpacked-typed-dict":
            raise PydanticInvalidForJsonSchema(
                "pydantic does not describe an unpacked TypedDict; write the parameters out"
            )
        return super().arguments_schema(schema)

    def is_subclass_schema(self, schema: core_schema.IsSubclassSchema) -> JsonSchemaValue:
        return self.handle_invalid_for_json_schema(schema, "a class")

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        if kind == "skipped-choice":
            raise PydanticInvalidForJsonSchema(detail)
        super().emit_warning(kind, detail)
