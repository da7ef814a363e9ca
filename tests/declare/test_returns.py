"""What return types promise, and values that keep the promise or do not."""

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

import rightcall as rc
from rightcall.declare.returns import ReturnMisfit, returns_of


class Item(BaseModel):
    name: str
    price: Annotated[float, Field(alias="cost", ge=0)] = 0


class Node(BaseModel):
    children: list["Node"] = []


@dataclass
class Point:
    x: int


class Box(TypedDict):
    size: int


class Color(Enum):
    RED = "red"


def promising(hint: Any) -> rc.Tool:
    def make():
        """Make something."""

    make.__annotations__["return"] = hint
    return rc.tool(make)


@pytest.mark.parametrize(
    "hint",
    [
        None,
        Any,
        object,
        str,
        bytes,
        rc.models.Media,
        list[rc.models.Media],
        list[bytes],
        Path,
        "Nowhere",
        type,
    ],
    ids=str,
)
def test_what_is_no_json_or_only_text_promises_nothing(hint):
    assert returns_of(promising(hint)) is None


def test_a_tool_that_says_nothing_promises_nothing():
    assert returns_of(rc.Tool("form", "A form.")) is None
    assert returns_of(rc.Tool("any", "Any.", handler=lambda: 1)) is None


@pytest.mark.parametrize(
    ("hint", "value", "given"),
    [
        (int, 3, {"result": 3}),
        (bool, True, {"result": True}),
        (list[int], [1, 2], {"result": [1, 2]}),
        (int | None, None, {"result": None}),
        (str | None, "a", {"result": "a"}),
        (Literal["a", "b"], "b", {"result": "b"}),
        (Color, Color.RED, {"result": "red"}),
        (Decimal, Decimal("1.50"), {"result": "1.50"}),
        (list[Item], [Item(name="tea", cost=2)], {"result": [{"name": "tea", "cost": 2.0}]}),
        (Item, Item(name="tea", cost=2), {"name": "tea", "cost": 2.0}),
        (Point, Point(1), {"x": 1}),
        (Box, {"size": 2}, {"size": 2}),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (Node, Node(children=[Node()]), {"children": [{"children": []}]}),
    ],
    ids=str,
)
def test_a_value_becomes_an_object_that_fits_the_schema(hint, value, given):
    returns = returns_of(promising(hint))
    assert returns.schema["type"] == "object"
    assert returns.encode(value) == given


@pytest.mark.parametrize(
    ("hint", "value"),
    [(int, "3"), (int, None), (Item, {"name": 1}), (list[int], ["a"]), (float, float("nan")), (Box, {})],
    ids=str,
)
def test_a_value_that_breaks_the_promise_is_a_misfit(hint, value):
    with pytest.raises(ReturnMisfit):
        returns_of(promising(hint)).encode(value)


def test_the_schema_is_that_of_the_type_without_noise():
    assert returns_of(promising(Item)).schema == {
        "properties": {
            "name": {"type": "string"},
            "cost": {"default": 0, "minimum": 0, "type": "number"},
        },
        "required": ["name"],
        "title": "Item",
        "type": "object",
    }
    assert returns_of(promising(int)).schema == {
        "type": "object",
        "properties": {"result": {"type": "integer"}},
        "required": ["result"],
    }


def test_definitions_stay_where_references_find_them():
    assert returns_of(promising(list[Point])).schema == {
        "type": "object",
        "properties": {"result": {"items": {"$ref": "#/$defs/Point"}, "type": "array"}},
        "required": ["result"],
        "$defs": {
            "Point": {
                "properties": {"x": {"type": "integer"}},
                "required": ["x"],
                "title": "Point",
                "type": "object",
            }
        },
    }


class Shop:
    @rc.tool
    async def stock(self) -> list[int]:
        """What is there."""
        return [1]


def test_methods_and_async_functions_promise_what_they_return():
    assert returns_of(Shop().stock).encode([1]) == {"result": [1]}
