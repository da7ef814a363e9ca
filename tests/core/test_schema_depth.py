"""Schemas that nest too deeply, or contain themselves, are refused with their place."""

from typing import Annotated, Any

import pytest
from pydantic import Field

import rightcall as rc
from rightcall.core.schema import Schema, SchemaError
from rightcall.errors import DeclarationError


def nested(levels: int) -> Any:
    schema: Any = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return {"type": "object", "properties": {"v": schema}}


def looping() -> Any:
    schema: Any = {"type": "object", "properties": {}}
    schema["properties"]["again"] = {"anyOf": [schema]}
    return {"type": "object", "properties": {"v": schema}}


@pytest.mark.parametrize("levels", [300, 3000])
def test_a_deep_schema_is_refused_with_its_place(levels):
    with pytest.raises(DeclarationError, match="deeper than 128 levels") as caught:
        rc.Toolbox([{"name": "f", "description": "", "input_schema": nested(levels)}])
    assert "parameters at $.properties.v.items.items" in str(caught.value)


def test_a_schema_that_contains_itself_is_refused_with_its_place():
    with pytest.raises(DeclarationError) as caught:
        rc.Toolbox([{"name": "f", "description": "", "input_schema": looping()}])
    assert "parameters at $.properties.v.properties.again.anyOf" in str(caught.value)
    assert "it is the same object as $.properties.v" in str(caught.value)


def test_a_schema_that_refers_to_itself_is_none_of_those():
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    assert Schema({"$ref": "#/$defs/node", "$defs": {"node": node}}).problems({"next": {}}) == ()


def test_what_else_is_wrong_is_still_said():
    with pytest.raises(SchemaError, match=r"\$\.type"):
        Schema({"type": "text"})


def test_a_pattern_that_cannot_be_compiled_names_its_parameter():
    def find(what: Annotated[str, Field(pattern="(?<=a)b")], other: int) -> None: ...

    with pytest.raises(DeclarationError) as caught:
        rc.tool(find)
    assert "parameter 'what'" in str(caught.value)
    assert "'(?<=a)b': look-around, including look-ahead and look-behind" in str(caught.value)


def test_a_type_that_nests_too_deeply_names_its_parameter():
    kind: Any = str
    for _ in range(400):
        kind = list[kind]

    def find(what: Any) -> None: ...

    find.__annotations__["what"] = kind
    with pytest.raises(DeclarationError, match="parameter 'what': its type nests too deeply"):
        rc.tool(find)
