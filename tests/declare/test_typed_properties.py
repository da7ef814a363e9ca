import functools
import json
import operator
import time
from typing import Annotated, Any, Literal

import pytest
import typing_extensions
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, create_model

import rightcall as rc
from rightcall.core.jsontext import dump
from rightcall.core.problem import MAX_PROBLEMS, Problem, Valid


class Options(typing_extensions.TypedDict, total=False):
    limit: typing_extensions.Required[int]
    order: Literal["up", "down"]


class Circle(BaseModel):
    kind: Literal["circle"]
    circle: int


class Square(BaseModel):
    kind: Literal["square"]
    side: Annotated[int, Field(ge=0)]
    square: list["Shape"] = []


Shape = Annotated[Circle | Square, Field(discriminator="kind")]
Square.model_rebuild()


@rc.tool
def draw(
    shapes: list[Shape],
    title: str,
    scale: int | Literal["fit"] = 1,
    marks: dict[str, int | list[int | None]] | None = None,
    options: Options | None = None,
    grid: tuple[int, int] = (0, 0),
    *,
    closed: bool = False,
    width: float = 1.0,
): ...


def judge(arguments: Any) -> Any:
    return draw.validate(dump(arguments), arguments)


def accepted(arguments: Any) -> bool:
    return isinstance(judge(arguments), Valid)


integers = st.integers() | st.integers(-1000, 1000).map(float)
texts = st.text(max_size=5)
circles = st.fixed_dictionaries({"kind": st.just("circle"), "circle": integers})
squares = st.fixed_dictionaries(
    {"kind": st.just("square"), "side": st.integers(0) | st.integers(0, 1000).map(float)},
    optional={"square": st.lists(st.deferred(lambda: shapes), max_size=2), "other": texts},
)
shapes = circles | squares
valid = st.fixed_dictionaries(
    {"shapes": st.lists(shapes, max_size=3), "title": texts},
    optional={
        "scale": integers | st.just("fit"),
        "marks": st.none()
        | st.dictionaries(texts, integers | st.lists(st.none() | integers, max_size=3), max_size=3),
        "options": st.none()
        | st.fixed_dictionaries(
            {"limit": integers}, optional={"order": st.sampled_from(["up", "down"])}
        ),
        "grid": st.lists(integers, min_size=2, max_size=2),
        "closed": st.booleans(),
        "width": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53),
    },
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from([0.5, 2.0, "circle", "fit", "3"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)


@st.composite
def almost_valid(draw_from: st.DrawFn) -> Any:
    """Arguments that fit, with one value in them removed or replaced by any other."""
    arguments = json.loads(json.dumps(draw_from(valid)))
    places = [(arguments, key) for key in arguments]
    for parent, key in places:
        if isinstance(inner := parent[key], dict | list):
            places += [(inner, k) for k in (inner if isinstance(inner, dict) else range(len(inner)))]
    parent, key = draw_from(st.sampled_from(places))
    if draw_from(st.booleans()):
        del parent[key]
    else:
        parent[key] = draw_from(anything)
    return arguments


@given(valid)
def test_whatever_fits_the_schema_told_to_the_model_is_accepted(arguments):
    assert draw.schema.problems(arguments) == ()
    assert accepted(arguments)


@given(almost_valid() | st.dictionaries(texts, anything))
def test_types_accept_and_refuse_exactly_what_the_schema_does(arguments):
    before = dump(arguments)
    assert accepted(arguments) is (draw.schema.problems(arguments) == ())
    assert dump(arguments) == before


@given(almost_valid())
def test_problems_are_on_the_way_to_those_that_the_schema_finds(arguments):
    verdict = judge(arguments)
    assume(not isinstance(verdict, Valid))
    theirs = [problem.path for problem in draw.schema.problems(arguments)]
    for problem in verdict:
        assert any(problem.path.startswith(path) or path.startswith(problem.path) for path in theirs)


def test_all_problems_of_a_call_come_at_once():
    arguments = {
        "shapes": [{"kind": "circle", "circle": "3"}, {"kind": "square", "side": -1}],
        "titel": "x",
        "scale": "big",
        "marks": {"a": ["1"]},
        "options": {"order": "left"},
        "width": "wide",
    }
    assert set(judge(arguments)) == {
        Problem("$.shapes[0].circle", 'must be an integer, not a string ("3")'),
        Problem("$.shapes[1].side", "should be greater than or equal to 0; got -1"),
        Problem("$.title", "is required and missing"),
        Problem("$.titel", 'is not a parameter; did you mean "title"?'),
        Problem("$.scale", "should be 'fit'; got \"big\""),
        Problem("$.marks.a[0]", 'must be an integer, not a string ("1")'),
        Problem("$.options.limit", "is required and missing"),
        Problem("$.options.order", "should be 'up' or 'down'; got \"left\""),
        Problem("$.width", 'must be a number, not a string ("wide")'),
    }


def test_an_unexpected_argument_far_from_any_is_told_what_there_is():
    @rc.tool
    def move(x: int, y: int): ...

    assert move.validate('{"x": 1, "y": 2, "speed": 3}', {"x": 1, "y": 2, "speed": 3}) == (
        Problem("$.speed", 'is not a parameter; there is "x", "y"'),
    )


@rc.tool
def collect(numbers: list[int], names: Annotated[list[str], Field(max_length=1)] = []): ...  # noqa: B006


def test_no_more_problems_are_listed_than_a_model_can_use():
    arguments = {"numbers": ["x"] * 5000}
    assert collect.validate(dump(arguments), arguments) == tuple(
        Problem(f"$.numbers[{index}]", 'must be an integer, not a string ("x")')
        for index in range(MAX_PROBLEMS)
    )


def test_many_whole_numbers_take_time_in_proportion():
    arguments = {"numbers": [2.0] * 100_000}
    started = time.perf_counter()
    verdict = collect.validate(dump(arguments), arguments)
    assert time.perf_counter() - started < 10
    assert isinstance(verdict, Valid)
    assert verdict.bound == {"numbers": [2] * 100_000, "names": []}


def test_a_long_list_of_alternatives_is_cut():
    def example(value): ...

    models = [create_model(letter, **{f"{letter}{n}": int for n in range(5)}) for letter in "abcdef"]
    example.__annotations__["value"] = functools.reduce(operator.or_, models)
    alternatives = [
        "; ".join(f"$.value.{letter}{n} is required and missing" for n in range(3)) for letter in "abcd"
    ]
    assert rc.tool(example).validate('{"value": {}}', {"value": {}}) == (
        Problem("$.value", f"fits none of the alternatives: {' / or: '.join(alternatives)}"),
    )


HUGE = "x" * 1_000_000


@pytest.mark.parametrize(
    "arguments",
    [
        {"numbers": HUGE},
        {"numbers": [HUGE]},
        {"numbers": [], "names": [HUGE, HUGE]},
        {"numbers": [], HUGE: 1},
        {"numbers": {HUGE: HUGE}},
    ],
    ids=["type", "item", "constraint", "name", "key"],
)
def test_a_problem_stays_short_whatever_the_value(arguments):
    (problem,) = collect.validate(dump(arguments), arguments)
    assert len(str(problem)) < 500
