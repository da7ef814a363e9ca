import dataclasses
import datetime
import decimal
import enum
import json
import uuid
from typing import Annotated, Any, Literal

import pytest
import typing_extensions
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Json,
    field_validator,
    model_validator,
)

import rightcall as rc
from rightcall.core.problem import Valid


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Item(BaseModel):
    count: int
    name: str = ""


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")

    city: str


class Lax(BaseModel):
    model_config = ConfigDict(strict=False)

    count: int


@dataclasses.dataclass
class Span:
    start: int
    marks: list[int] = dataclasses.field(default_factory=list)


class Options(typing_extensions.TypedDict, total=False):
    limit: typing_extensions.Required[int]


class Tree(BaseModel):
    value: int
    children: list["Tree"] = []


class Text(BaseModel):
    kind: Literal["text"]
    text: str
    size: int = 0


class Image(BaseModel):
    kind: Literal["image"]
    image: dict[str, int]


class Cat(BaseModel):
    lives: int


class Dog(BaseModel):
    bark: str


class Even(BaseModel):
    number: int

    @field_validator("number")
    @classmethod
    def _check_number(cls, value: int) -> int:
        if value % 2:
            raise ValueError("must be even, like 2")
        return value

    @model_validator(mode="after")
    def _check_all(self) -> "Even":
        if self.number == 4:
            raise AssertionError("four is taken")
        return self


class Opaque:
    pass


def fail(_: object) -> None:
    raise ValueError


Part = Annotated[Text | Image, Field(discriminator="kind")]
AsOpaque = Annotated[int, BeforeValidator(lambda _: Opaque())]
Halved = Annotated[int, BeforeValidator(lambda value: value / 2)]


def taking(annotation: Any) -> rc.Tool:
    def example(value): ...

    example.__annotations__["value"] = annotation
    return rc.tool(example)


def verdict(tool: rc.Tool, arguments: dict[str, Any]) -> Any:
    found = tool.validate(json.dumps(arguments), arguments)
    return found.bound if isinstance(found, Valid) else [(each.path, each.message) for each in found]


V = "$.value"
MISSING = "is required and missing"
NOT_INTEGER = 'must be an integer, not a string ("3")'
NO_DATE = "should be a valid date in the format YYYY-MM-DD"
NONE_FITS = "fits none of the alternatives:"
NO_TAG = "does not match any of the expected tags: 'text', 'image'"
REFUSED: dict[str, tuple[Any, Any, list[tuple[str, str]]]] = {
    "string for integer": (int, "3", [(V, NOT_INTEGER)]),
    "boolean for integer": (int, True, [(V, "must be an integer, not a boolean (true)")]),
    "fraction for integer": (int, 2.5, [(V, "must be an integer, not a number (2.5)")]),
    "null for integer": (int, None, [(V, "must be an integer, not null")]),
    "string for number": (float, "3", [(V, 'must be a number, not a string ("3")')]),
    "integer for string": (str, 3, [(V, "must be a string, not an integer (3)")]),
    "integer for boolean": (bool, 1, [(V, "must be a boolean, not an integer (1)")]),
    "object for array": (list[int], {}, [(V, "must be an array, not an empty object")]),
    "array for object": (dict[str, int], [], [(V, "must be an object, not an empty array")]),
    "array for model": (Item, [1], [(V, "must be an object, not an array ([1])")]),
    "string for set": (set[str], "a", [(V, 'must be an array, not a string ("a")')]),
    "in an array": (
        list[int],
        [1, "3", "3"],
        [("$.value[1]", NOT_INTEGER), ("$.value[2]", NOT_INTEGER)],
    ),
    "in a set": (set[int], ["3"], [("$.value[0]", NOT_INTEGER)]),
    "in an object": (dict[str, int], {"a b": "3"}, [("$.value['a b']", NOT_INTEGER)]),
    "in a model": (Item, {"count": "3"}, [("$.value.count", NOT_INTEGER)]),
    "in a lax model": (Lax, {"count": "3"}, [("$.value.count", NOT_INTEGER)]),
    "in a lax field": (Annotated[int, Field(strict=False)], "3", [(V, NOT_INTEGER)]),
    "in a dataclass": (Span, {"start": 1, "marks": ["3"]}, [("$.value.marks[0]", NOT_INTEGER)]),
    "in a TypedDict": (Options, {"limit": "3"}, [("$.value.limit", NOT_INTEGER)]),
    "in a tuple": (tuple[str, int], ["a", "3"], [("$.value[1]", NOT_INTEGER)]),
    "in an optional model": (Item | None, {"count": "3"}, [("$.value.count", NOT_INTEGER)]),
    "in a recursive model": (
        Tree,
        {"value": 1, "children": [{"value": 1, "children": [{"value": "3"}]}]},
        [("$.value.children[0].children[0].value", NOT_INTEGER)],
    ),
    "missing in a model": (Item, {}, [("$.value.count", MISSING)]),
    "missing in a dataclass": (list[Span], [{}], [("$.value[0].start", MISSING)]),
    "missing in a TypedDict": (Options, {}, [("$.value.limit", MISSING)]),
    "missing in a tuple": (tuple[str, int], ["a"], [("$.value[1]", MISSING)]),
    "unexpected in a model": (
        Closed,
        {"city": "Rome", "citi": 1},
        [("$.value.citi", "is not a parameter; leave it out")],
    ),
    "enum": (Color, "green", [(V, "should be 'red' or 'blue'; got \"green\"")]),
    "literal": (Literal["a", 1], "b", [(V, "should be 'a' or 1; got \"b\"")]),
    "minimum": (Annotated[int, Field(ge=1)], 0, [(V, "should be greater than or equal to 1; got 0")]),
    "maximum": (Annotated[float, Field(lt=1)], 1, [(V, "should be less than 1; got 1")]),
    "multiple": (Annotated[int, Field(multiple_of=3)], 4, [(V, "should be a multiple of 3; got 4")]),
    "too short": (
        Annotated[str, Field(min_length=2)],
        "a",
        [(V, 'should have at least 2 characters; got "a"')],
    ),
    "pattern": (Annotated[str, Field(pattern="^a")], "b", [(V, "should match pattern '^a'; got \"b\"")]),
    "too few": (
        Annotated[list[int], Field(min_length=1)],
        [],
        [(V, "should have at least 1 item after validation, not 0; got []")],
    ),
    "too many": (
        tuple[int, int],
        [1, 2, 3],
        [(V, "should have at most 2 items after validation, not 3; got [1,2,3]")],
    ),
    "date": (
        datetime.date,
        "2024-13-01",
        [(V, f'{NO_DATE}, month value is outside expected range of 1-12; got "2024-13-01"')],
    ),
    "number for a datetime": (datetime.datetime, 5, [(V, "must be a string, not an integer (5)")]),
    "number for a date": (datetime.date, 5, [(V, "must be a string, not an integer (5)")]),
    "number for a UUID": (uuid.UUID, 5, [(V, "must be a string, not an integer (5)")]),
    "no timezone": (
        AwareDatetime,
        "2024-01-01T00:00:00",
        [(V, 'should have timezone info; got "2024-01-01T00:00:00"')],
    ),
    "key": (
        dict[int, str],
        {"q": "a"},
        [(V, 'has a key that should be a valid integer, unable to parse string as an integer; got "q"')],
    ),
    "key of choices": (
        dict[Color, int],
        {"green": 1},
        [(V, "has a key that should be 'red' or 'blue'; got \"green\"")],
    ),
    "value of a key": (dict[int, int], {"1": "3"}, [("$.value['1']", NOT_INTEGER)]),
    "a key called [key]": (dict[str, int], {"[key]": "3"}, [("$.value['[key]']", NOT_INTEGER)]),
    "union of types": (int | str, None, [(V, "must be an integer or a string, not null")]),
    "union of models": (Cat | Dog, 5, [(V, "must be an object, not an integer (5)")]),
    "union, the closer": (int | list[int], ["3"], [("$.value[0]", NOT_INTEGER)]),
    "union in a union": (
        int | list[int | bool],
        ["3"],
        [("$.value[0]", 'must be an integer or a boolean, not a string ("3")')],
    ),
    "union, several": (
        Cat | Dog,
        {"lives": "3"},
        [
            (
                V,
                f"{NONE_FITS} $.value.lives {NOT_INTEGER} / or: $.value.bark {MISSING}",
            )
        ],
    ),
    "union beside a key of its name": (
        int | dict[str, int],
        {"int": "3"},
        [("$.value.int", NOT_INTEGER)],
    ),
    "tagged": (Part, {"kind": "image"}, [("$.value.image", MISSING)]),
    "tag beside a key of its name": (
        Part,
        {"kind": "text", "text": "3", "size": "3"},
        [("$.value.size", NOT_INTEGER)],
    ),
    "tag in a key of its name": (
        Part,
        {"kind": "image", "image": {"image": "3"}},
        [("$.value.image.image", NOT_INTEGER)],
    ),
    "no tag": (Part, {}, [(V, "must have 'kind', which says what it is")]),
    "unknown tag": (
        Part,
        {"kind": "x"},
        [
            (
                V,
                f"tag 'x' found using 'kind' {NO_TAG}; got {{\"kind\":\"x\"}}",
            )
        ],
    ),
    "validator": (Even, {"number": 3}, [("$.value.number", "must be even, like 2; got 3")]),
    "model validator": (
        list[Even],
        [{"number": 4}],
        [("$.value[0]", 'four is taken; got {"number":4}')],
    ),
    "validator without words": (
        Annotated[int, AfterValidator(fail)],
        3,
        [(V, "is not accepted; got 3")],
    ),
    "validator in a union": (
        Even | None,
        {"number": 3},
        [("$.value.number", "must be even, like 2; got 3")],
    ),
    "validator of its own kind": (
        AsOpaque,
        3,
        [(V, 'must be an integer, not a value that is not JSON ("Opaque")')],
    ),
    "validator that makes a whole number": (Halved, 4, [(V, "must be an integer, not a number (2.0)")]),
    "JSON in a string": (Json[int], "2.0", [(V, "must be an integer, not a number (2.0)")]),
}


@pytest.mark.parametrize(("annotation", "value", "problems"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused_with_words(annotation, value, problems):
    assert verdict(taking(annotation), {"value": value}) == problems


ACCEPTED: dict[str, tuple[Any, Any, Any]] = {
    "whole number": (int, 2.0, 2),
    "large whole number": (int, 1e20, 10**20),
    "in an array": (list[int], [1, 2.0, -0.0], [1, 2, 0]),
    "in a model": (Item, {"count": 2.0}, Item(count=2)),
    "in an optional model": (Item | None, {"count": 2.0}, Item(count=2)),
    "in a dataclass": (Span, {"start": 2.0, "marks": [3.0]}, Span(2, [3])),
    "in a TypedDict": (Options, {"limit": 2.0}, {"limit": 2}),
    "in a recursive model": (
        Tree,
        {"value": 1.0, "children": [{"value": 2.0}]},
        Tree(value=1, children=[Tree(value=2)]),
    ),
    "in a union": (int | str, 2.0, 2),
    "in a union of arrays": (list[int] | list[str], [2.0, 3.0], [2, 3]),
    "in a tagged union": (
        Part,
        {"kind": "text", "text": "3", "size": 2.0},
        Text(kind="text", text="3", size=2),
    ),
    "in two branches": (Item | Span, {"count": 2.0}, Item(count=2)),
    "in a key of its branch's name": (int | dict[str, int], {"int": 2.0}, {"int": 2}),
    "in an object": (dict[str, int], {"[key]": 2.0}, {"[key]": 2}),
    "as a choice": (Literal[1, 2], 2.0, 2),
    "bounded": (Annotated[int, Field(ge=2)], 2.0, 2),
    "integer for number": (float, 2, 2.0),
    "a number stays one": (int | float, 2.0, 2.0),
    "datetime": (
        datetime.datetime,
        "2024-01-02T03:04:05Z",
        datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.UTC),
    ),
    "date": (datetime.date, "2024-01-02", datetime.date(2024, 1, 2)),
    "time": (datetime.time, "03:04", datetime.time(3, 4)),
    "timedelta": (datetime.timedelta, "PT5S", datetime.timedelta(seconds=5)),
    "UUID": (uuid.UUID, str(uuid.UUID(int=5)), uuid.UUID(int=5)),
    "Decimal": (decimal.Decimal, "1.50", decimal.Decimal("1.50")),
    "bytes": (bytes, "é", "é".encode()),
    "enum": (Color, "red", Color.RED),
    "enum keys": (dict[Color, int], {"red": 1}, {Color.RED: 1}),
    "integer keys": (dict[int, str], {"1": "a"}, {1: "a"}),
    "set": (set[int], [1, 2.0], {1, 2}),
    "tuple": (tuple[int, str], [1, "a"], (1, "a")),
}


@pytest.mark.parametrize(("annotation", "value", "bound"), ACCEPTED.values(), ids=ACCEPTED)
def test_what_json_can_say_becomes_the_python_value(annotation, value, bound):
    given_before = json.dumps(value)
    found = verdict(taking(annotation), {"value": value})
    assert found == {"value": bound}
    assert type(found["value"]) is type(bound)
    assert json.dumps(value) == given_before
