"""Parameters of JSON's own types are described and validated as pydantic would."""

import inspect
import json
import typing
from typing import Annotated, Any, Literal, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from pydantic import BaseModel

import rightcall as rc
from rightcall.core.jsontext import dump, parse
from rightcall.core.problem import Problem, Valid
from rightcall.declare.plain import Plain, describe_parameters, schema_of, with_meanings
from rightcall.declare.signature import describe_signature

SCALARS = st.sampled_from([str, int, float, bool, type(None)])
CHOICES = st.lists(st.sampled_from(["a", "b", "C", "", "é"]), min_size=1, max_size=3, unique=True).map(
    lambda words: Literal[tuple(words)]
)
KINDS = st.recursive(
    SCALARS | CHOICES,
    lambda inner: (
        inner.map(lambda kind: list[kind])
        | inner.map(lambda kind: dict[str, kind])
        | inner.map(lambda kind: Optional[kind])  # noqa: UP045 - of a Literal, too
    ),
    max_leaves=3,
)
DEFAULTS = st.sampled_from([inspect.Parameter.empty, None, "a", 0, -1, 2.5, True])
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([2.0, 1e300, 10**30, "a", "b", "", "é", "\u2028"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "k"]), inner),
    max_leaves=4,
)


@st.composite
def signatures(draw: st.DrawFn) -> dict[str, inspect.Parameter]:
    names = draw(st.lists(st.sampled_from(["a", "b", "city", "_x", "self"]), max_size=3, unique=True))
    return {
        name: inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=draw(KINDS),
            default=draw(DEFAULTS),
        )
        for name in names
    }


def by_pydantic(parameters: dict[str, inspect.Parameter]) -> Any:
    described = describe_signature("tool", parameters)
    return replace(described, parameters=with_meanings(described.parameters, {"city": "Where."}))


@given(signatures())
def test_the_schema_is_the_one_that_pydantic_writes(parameters: dict[str, inspect.Parameter]) -> None:
    described = describe_parameters("tool", parameters, {"city": "Where."})
    assert isinstance(described.validator, Plain)
    wanted = by_pydantic(parameters).parameters
    assert json.dumps(described.parameters) == json.dumps(wanted)


def verdict(validator: Any, text: str) -> tuple[str, object]:
    found = validator.validate(text, parse(text))
    return ("fits", repr(sorted(found.bound.items()))) if isinstance(found, Valid) else ("not", found)


@given(signatures(), st.data())
def test_the_verdict_is_pydantics(parameters: dict[str, inspect.Parameter], data: st.DataObject) -> None:
    plain, full = (
        describe_parameters("tool", parameters, {}).validator,
        by_pydantic(parameters).validator,
    )
    names = st.sampled_from([*parameters, "other"])
    for value in data.draw(st.lists(st.dictionaries(names, VALUES, max_size=4), max_size=5)):
        text = dump(value)
        assert verdict(plain, text) == verdict(full, text)


class Text(str):
    __slots__ = ()


class Model(BaseModel):
    x: int


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        (Text, inspect.Parameter.empty),
        (Model, inspect.Parameter.empty),
        (Any, inspect.Parameter.empty),
        (list, inspect.Parameter.empty),
        (tuple[int, int], inspect.Parameter.empty),
        (set[int], inspect.Parameter.empty),
        (Literal[1, 2], inspect.Parameter.empty),
        (int | str, inspect.Parameter.empty),
        (None | str, inspect.Parameter.empty),
        (Annotated[int, "more"], inspect.Parameter.empty),
        (dict[int, str], inspect.Parameter.empty),
        (list[Model], inspect.Parameter.empty),
        (str, Text("a")),
        (float, float("nan")),
        (list[str], []),
    ],
)
def test_every_other_type_and_default_is_left_to_pydantic(kind: Any, default: Any) -> None:
    one = inspect.Parameter("x", inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
    assert schema_of({"x": one}) is None


def test_a_default_is_filled_in_and_a_whole_number_is_an_integer() -> None:
    def wait(seconds: int, unit: Literal["s", "m"] = "s", note: str | None = None) -> None: ...

    validate = rc.tool(wait).validate
    assert validate('{"seconds": 2.0}', {"seconds": 2.0}).bound == {  # type: ignore[union-attr]
        "seconds": 2,
        "unit": "s",
        "note": None,
    }
    assert validate('{"unit": "h"}', {"unit": "h"}) == (
        Problem("$.seconds", "is required and missing"),
        Problem("$.unit", "should be 's' or 'm'; got \"h\""),
    )


@pytest.mark.parametrize("hint", [typing.List, typing.Dict])  # noqa: UP006 - as old code has them
def test_a_bare_generic_of_typing_is_described_by_pydantic(hint: Any) -> None:
    def search(values) -> str:
        """Search."""
        return ""

    search.__annotations__["values"] = hint
    kind = {"list": "array", "dict": "object"}[typing.get_origin(hint).__name__]
    assert rc.tool(search).parameters["properties"]["values"]["type"] == kind
