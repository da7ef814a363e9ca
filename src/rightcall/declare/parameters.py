"""Makes a JSON Schema and a validator from a signature or a pydantic model.

Pydantic is loaded for the first that needs it.
"""

import inspect
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeGuard

from rightcall.core.handler import Parameters
from rightcall.core.problem import Validator
from rightcall.declare.plain import Description, Plain, schema_of, with_meanings
from rightcall.errors import DeclarationError

if TYPE_CHECKING:
    from pydantic import BaseModel


def is_model(kind: object) -> "TypeGuard[type[BaseModel]]":
    """Whether this is a pydantic model's class. While pydantic is not loaded, nothing is."""
    main = sys.modules.get("pydantic.main")
    return main is not None and inspect.isclass(kind) and issubclass(kind, main.BaseModel)


def describe_parameters(tool: str, parameters: Parameters, meanings: Mapping[str, str]) -> Description:
    """The schema of a function's parameters; ``meanings`` are descriptions from its docstring."""
    for parameter in parameters.values():
        _refuse_undescribable(tool, parameter)

    def described() -> Description:
        from rightcall.declare.signature import describe_signature  # noqa: PLC0415 - light until used

        return describe_signature(tool, parameters, meanings)

    def validator() -> Validator:
        return described().validator

    plain = schema_of(parameters)
    if plain is None:
        return described()
    return Description(with_meanings(plain, meanings), Plain(parameters, validator))


def describe_model(tool: str, model: "type[BaseModel]") -> Description:
    """The schema of a pydantic model's fields."""
    from rightcall.declare import signature  # noqa: PLC0415 - light until used

    return signature.describe_model(tool, model)


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
    if isinstance(parameter.annotation, str):
        raise DeclarationError(
            tool,
            f"the annotation {parameter.annotation!r} names something that cannot be found.",
            where=where,
            fix="Import or define it before the tool, not under TYPE_CHECKING.",
        )
