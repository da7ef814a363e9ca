import dataclasses
import datetime
import decimal
import enum
import pathlib
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Generic, Literal, Optional, TypeVar, Union

import pytest
import typing_extensions
from pydantic import BaseModel, ConfigDict, Field, PositiveInt, SkipValidation, conint

import rightcall as rc


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Place(BaseModel):
    """Somewhere."""

    name: str
    height: int = Field(default=0, description="In metres.")


@dataclasses.dataclass
class Span:
    start: int
    marks: list[int] = dataclasses.field(default_factory=list)


class Options(typing_extensions.TypedDict, total=False):
    limit: typing_extensions.Required[int]
    order: Literal["up", "down"]


class Tree(BaseModel):
    """A tree."""

    value: int
    children: list["Tree"] = []


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    items: list[T]
    following: Optional["Page[T]"] = None


STRING = {"type": "string"}
INTEGER = {"type": "integer"}
DEFINITIONS = {
    "Color": {"type": "string", "enum": ["red", "blue"]},
    "Level": {"type": "integer", "enum": [1, 2]},
    "Place": {
        "type": "object",
        "description": "Somewhere.",
        "properties": {
            "name": STRING,
            "height": {"type": "integer", "default": 0, "description": "In metres."},
        },
        "required": ["name"],
    },
    "Span": {
        "type": "object",
        "properties": {"start": INTEGER, "marks": {"type": "array", "items": INTEGER}},
        "required": ["start"],
    },
    "Options": {
        "type": "object",
        "properties": {"limit": INTEGER, "order": {"type": "string", "enum": ["up", "down"]}},
        "required": ["limit"],
    },
    "Tree": {
        "type": "object",
        "description": "A tree.",
        "properties": {
            "value": INTEGER,
            "children": {"type": "array", "default": [], "items": {"$ref": "#/$defs/Tree"}},
        },
        "required": ["value"],
    },
    "Cat": {
        "type": "object",
        "properties": {"kind": {"type": "string", "const": "cat"}},
        "required": ["kind"],
    },
    "Dog": {
        "type": "object",
        "properties": {"kind": {"type": "string", "const": "dog"}},
        "required": ["kind"],
    },
}


def ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


def taking(annotation: Any, default: Any = ...) -> Callable[..., None]:
    def example(value): ...

    example.__annotations__["value"] = annotation
    if default is not ...:
        example.__defaults__ = (default,)
    return example


TYPES: dict[str, tuple[Any, dict[str, Any]]] = {
    "str": (str, STRING),
    "float": (float, {"type": "number"}),
    "bool": (bool, {"type": "boolean"}),
    "None": (None, {"type": "null"}),
    "Any": (Any, {}),
    "Literal": (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    "Literal of one": (Literal["a"], {"type": "string", "const": "a"}),
    "Literal mixed": (Literal["a", 1], {"enum": ["a", 1]}),
    "Enum": (Color, ref("Color")),
    "IntEnum": (Level, ref("Level")),
    "Optional": (Optional[str], {"anyOf": [STRING, {"type": "null"}]}),  # noqa: UP045
    "Union": (Union[int, str], {"anyOf": [INTEGER, STRING]}),  # noqa: UP007
    "| union": (
        int | list[str] | None,
        {"anyOf": [INTEGER, {"type": "array", "items": STRING}, {"type": "null"}]},
    ),
    "models": (Cat | Dog, {"anyOf": [ref("Cat"), ref("Dog")]}),
    "tagged models": (
        Annotated[Cat | Dog, Field(discriminator="kind")],
        {
            "oneOf": [ref("Cat"), ref("Dog")],
            "discriminator": {
                "propertyName": "kind",
                "mapping": {"cat": "#/$defs/Cat", "dog": "#/$defs/Dog"},
            },
        },
    ),
    "model": (Place, ref("Place")),
    "list of models": (list[Place], {"type": "array", "items": ref("Place")}),
    "dataclass": (Span, ref("Span")),
    "TypedDict": (Options, ref("Options")),
    "recursive model": (Tree, ref("Tree")),
    "forward reference": ("Tree", ref("Tree")),
    "dict": (dict[str, int], {"type": "object", "additionalProperties": INTEGER}),
    "Mapping": (Mapping[str, int], {"type": "object", "additionalProperties": INTEGER}),
    "Sequence": (Sequence[int], {"type": "array", "items": INTEGER}),
    "set": (set[int], {"type": "array", "items": INTEGER, "uniqueItems": True}),
    "tuple": (
        tuple[int, str],
        {"type": "array", "prefixItems": [INTEGER, STRING], "minItems": 2, "maxItems": 2},
    ),
    "datetime": (datetime.datetime, {"type": "string", "format": "date-time"}),
    "date": (datetime.date, {"type": "string", "format": "date"}),
    "timedelta": (datetime.timedelta, {"type": "string", "format": "duration"}),
    "UUID": (uuid.UUID, {"type": "string", "format": "uuid"}),
    "Path": (pathlib.Path, {"type": "string", "format": "path"}),
    "described": (
        Annotated[int, Field(description="How many.")],
        {**INTEGER, "description": "How many."},
    ),
    "bounded": (Annotated[int, Field(ge=0, lt=10)], {**INTEGER, "minimum": 0, "exclusiveMaximum": 10}),
    "conint": (conint(gt=1), {**INTEGER, "exclusiveMinimum": 1}),
    "PositiveInt": (PositiveInt, {**INTEGER, "exclusiveMinimum": 0}),
    "pattern": (
        Annotated[str, Field(pattern="^a", min_length=1, max_length=3)],
        {**STRING, "pattern": "^a", "minLength": 1, "maxLength": 3},
    ),
    "sized list": (
        Annotated[list[int], Field(min_length=1, max_length=3)],
        {"type": "array", "items": INTEGER, "minItems": 1, "maxItems": 3},
    ),
    "not validated": (SkipValidation[int], INTEGER),
}


@pytest.mark.parametrize(("annotation", "described"), TYPES.values(), ids=TYPES)
def test_a_type_is_described(annotation, described):
    text = str(described)
    used = {name: each for name, each in DEFINITIONS.items() if f"#/$defs/{name}'" in text}
    expected = {
        "type": "object",
        "properties": {"value": described},
        "required": ["value"],
        "additionalProperties": False,
    }
    assert rc.tool(taking(annotation)).parameters == ({**expected, "$defs": used} if used else expected)


DEFAULTS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "plain": (int, 3, {**INTEGER, "default": 3}),
    "None": (int | None, None, {"anyOf": [INTEGER, {"type": "null"}], "default": None}),
    "enum": (Color, Color.RED, {**ref("Color"), "default": "red"}),
    "model": (Place, Place(name="Rome"), {**ref("Place"), "default": {"name": "Rome", "height": 0}}),
    "date": (
        datetime.date,
        datetime.date(2024, 2, 1),
        {"type": "string", "format": "date", "default": "2024-02-01"},
    ),
    "Decimal": (
        decimal.Decimal,
        decimal.Decimal("1.5"),
        {"anyOf": [{"type": "number"}, STRING], "default": "1.5"},
    ),
    "Field": (
        int,
        Field(3, description="How many.", le=9),
        {**INTEGER, "default": 3, "maximum": 9, "description": "How many."},
    ),
    "factory": (list[int], Field(default_factory=list), {"type": "array", "items": INTEGER}),
    "not JSON": (int | None, object(), {"anyOf": [INTEGER, {"type": "null"}]}),
}


@pytest.mark.parametrize(("annotation", "default", "described"), DEFAULTS.values(), ids=DEFAULTS)
def test_a_parameter_with_a_default_is_optional(annotation, default, described):
    parameters = rc.tool(taking(annotation, default)).parameters
    assert (parameters["properties"], parameters.get("required")) == ({"value": described}, None)


def test_a_field_without_a_default_is_required():
    tool = rc.tool(taking(int, Field(description="How many.")))
    assert tool.parameters == {
        "type": "object",
        "properties": {"value": {**INTEGER, "description": "How many."}},
        "required": ["value"],
        "additionalProperties": False,
    }


def test_every_way_to_take_a_parameter_is_one_to_the_model():
    @rc.tool
    def example(a: int, /, b: int, *, c: int, **others: str): ...

    assert example.parameters == {
        "type": "object",
        "properties": {"a": INTEGER, "b": INTEGER, "c": INTEGER},
        "required": ["a", "b", "c"],
        "additionalProperties": STRING,
    }


def test_meanings_come_from_the_docstring_and_field_wins():
    @rc.tool
    def example(
        a: int,
        b: Annotated[int, Field(description="From Field.")],
        place: Place,
        c: int = Field(3, description="From Field, too."),
    ):
        """Do it.

        Args:
            a: From the docstring.
            b: Not this.
            c: Nor this.
            place: Where.
            gone: Not a parameter.
        """

    assert example.description == "Do it."
    assert example.parameters["properties"] == {
        "a": {**INTEGER, "description": "From the docstring."},
        "b": {**INTEGER, "description": "From Field."},
        "place": {**ref("Place"), "description": "Where."},
        "c": {**INTEGER, "default": 3, "description": "From Field, too."},
    }


@pytest.mark.parametrize(
    "annotation",
    [
        rc.Context,
        rc.Context[int],
        Annotated[rc.Context[int], "note"],
        rc.Context | None,
        "rc.Context[int]",
    ],
    ids=str,
)
def test_the_context_is_hidden_from_the_model(annotation):
    def example(a: int, context=None): ...

    example.__annotations__["context"] = annotation
    assert list(rc.tool(example).parameters["properties"]) == ["a"]


def test_names_that_pydantic_uses_itself_can_be_parameters():
    @rc.tool
    def example(
        model_config: int, schema: int, json: int, args: int, kwargs: int, take: int, _own: int
    ): ...

    assert list(example.parameters["properties"]) == [
        "model_config",
        "schema",
        "json",
        "args",
        "kwargs",
        "take",
        "_own",
    ]


def test_a_title_is_told_where_it_says_more_than_the_name():
    class Titled(BaseModel):
        model_config = ConfigDict(title="A town or village")

        name: str = Field(title="In full")

    definitions = rc.tool(taking(Titled)).parameters["$defs"]
    assert definitions == {
        "Titled": {
            "type": "object",
            "title": "A town or village",
            "properties": {"name": {**STRING, "title": "In full"}},
            "required": ["name"],
        }
    }


def test_a_model_is_described_by_its_fields():
    assert rc.tool(Place).parameters == {
        "type": "object",
        "properties": DEFINITIONS["Place"]["properties"],
        "required": ["name"],
    }


def test_a_model_that_contains_itself_is_described():
    tool = rc.tool(Tree)
    tree = DEFINITIONS["Tree"]
    assert tool.description == "A tree."
    assert tool.parameters == {
        "type": "object",
        "properties": tree["properties"],
        "required": ["value"],
        "$defs": {"Tree": tree},
    }


def test_a_generic_model_that_contains_itself_is_described():
    tool = rc.tool(Page[int], name="page")
    assert tool.parameters["properties"]["items"] == {"type": "array", "items": INTEGER}
    assert tool.schema.problems({"items": [], "following": {"items": ["1"]}}) != ()
