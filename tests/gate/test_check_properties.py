"""Nothing a model could write makes the gate raise, and nothing wrong slips through it."""

import copy
import enum
import json
from datetime import date
from typing import Annotated, Literal

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

import rightcall as rc
from effort import often
from gate.instances import instances, json_values
from rightcall.core.outcome import Failed, Invalid, UnknownTool
from rightcall.gate.call_check import check


class Address(BaseModel):
    street: Annotated[str, Field(max_length=20)]
    number: Annotated[int, Field(ge=0)]
    note: str | None = None


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


@rc.tool
def send(
    to: list[Address],
    amount: Annotated[float, Field(gt=0, le=1000)],
    size: Size = Size.SMALL,
    tags: dict[str, int] | None = None,
    urgent: bool = False,
) -> None:
    """Send things."""


@rc.tool
def pick(which: Literal["a", "b", 3], pair: tuple[int, str], either: int | list[str] = 0) -> None:
    """Pick one."""


@rc.tool
def book(day: date, guests: Annotated[list[str], Field(min_length=1, max_length=3)]) -> None:
    """Book a table."""


RAW = rc.Tool(
    "raw",
    "From a raw schema.",
    {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1},
            "count": {"type": "integer", "minimum": 0},
            "place": {"$ref": "#/$defs/place"},
        },
        "required": ["name"],
        "additionalProperties": False,
        "$defs": {"place": {"type": ["string", "null"], "enum": ["here", "there", None]}},
    },
)
TYPED = [send, pick, book]
TOOLS = rc.Toolbox(TYPED, RAW, Address)

any_text = st.one_of(
    st.text(st.characters(exclude_categories=())), st.binary().map(lambda data: data.decode("latin-1"))
)
parameter_names = sorted({name for tool in TOOLS for name in tool.parameters["properties"]})
near_arguments = st.dictionaries(st.sampled_from(parameter_names), json_values, max_size=4).map(
    json.dumps
)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """Arguments with a few characters lost, doubled or changed."""
    text = draw(near_arguments)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.sampled_from(["", '"', "{", "}", "\\", ",", "\ud800", "9" * 30]))
        text += draw(st.sampled_from(["", "}", "null", "\x00"]))
    return text


@given(name=st.sampled_from(TOOLS.names()), arguments=any_text | near_arguments | mutated())
@settings(max_examples=often(200))
def test_no_arguments_whatever_make_the_gate_raise(name, arguments):
    call = rc.Call(id="1", name=name, arguments=arguments)
    verdict = check(call, TOOLS)
    if isinstance(verdict, rc.gate.CheckedCall):
        assert verdict.call is call
        assert dict(verdict.arguments) == json.loads(arguments or "{}")
    else:
        assert isinstance(verdict, Invalid)
        assert verdict.problems
        json.dumps([str(problem) for problem in verdict.problems]).encode()


@given(name=any_text, arguments=any_text)
def test_no_name_whatever_makes_the_gate_raise(name, arguments):
    assume(name not in TOOLS)
    verdict = check(rc.Call(id="1", name=name, arguments=arguments), TOOLS)
    assert isinstance(verdict, UnknownTool)
    assert (verdict.name, verdict.available) == (name, TOOLS.names())


@given(st.integers(1, 6000), st.sampled_from(["\\ud800", "\\u0041", "x"]))
@settings(max_examples=often(30))
def test_no_number_of_digits_makes_the_gate_raise(digits, word):
    text = f'{{"name": "{word}", "count": {"9" * digits}}}'
    verdict = check(rc.Call(id="1", name="raw", arguments=text), TOOLS)
    assert not isinstance(verdict, Failed)


@pytest.mark.parametrize("tool", TYPED, ids=lambda tool: tool.name)
def test_whatever_fits_a_typed_tools_own_schema_passes_its_gate(tool):
    @given(instances(tool.parameters))
    @settings(max_examples=often(60))
    def passes(arguments):
        verdict = rc.gate.check(rc.Call(id="1", name=tool.name, arguments=json.dumps(arguments)), tool)
        assert isinstance(verdict, rc.gate.CheckedCall), verdict

    passes()


names = st.sampled_from(["a", "b", "c", "a b"])
small = st.integers(0, 3)
leaf_schemas = st.one_of(
    st.just({"type": "boolean"}),
    st.just({"type": "null"}),
    st.builds(lambda low: {"type": "integer", "minimum": low}, st.integers(-5, 5)),
    st.builds(lambda high: {"type": "number", "exclusiveMaximum": high}, st.integers(-5, 5)),
    st.builds(lambda factor: {"type": "integer", "multipleOf": factor}, st.integers(1, 5)),
    st.builds(lambda least: {"type": "string", "minLength": least, "maxLength": 6}, small),
    st.just({"type": "string", "pattern": "^[a-z]+$"}),
    st.just({"type": ["string", "integer"]}),
    st.builds(lambda options: {"enum": options}, st.lists(json_values, min_size=1, max_size=3)),
    st.builds(lambda value: {"const": value}, st.text() | st.integers()),
)


def object_schemas(inner: st.SearchStrategy[dict]) -> st.SearchStrategy[dict]:
    return st.builds(
        lambda properties, required, closed: {
            "type": "object",
            "properties": properties,
            "required": sorted(name for name in properties if name in required),
            "additionalProperties": not closed,
        },
        st.dictionaries(names, inner, max_size=3),
        st.sets(names),
        st.booleans(),
    )


inner_schemas = st.recursive(
    leaf_schemas,
    lambda inner: st.one_of(
        object_schemas(inner),
        st.builds(lambda items: {"type": "array", "items": items, "maxItems": 3}, inner),
        st.builds(lambda branches: {"anyOf": branches}, st.lists(inner, min_size=1, max_size=2)),
    ),
    max_leaves=4,
)


@st.composite
def schemas_with_instances(draw: st.DrawFn) -> tuple[dict, dict]:
    schema = draw(object_schemas(inner_schemas))
    return schema, draw(instances(schema))


def verdict_of(schema: dict, arguments: dict) -> object:
    tool = rc.Tool("raw", "", schema)
    return rc.gate.check(rc.Call(id="1", name="raw", arguments=json.dumps(arguments)), tool)


@given(schemas_with_instances())
@settings(max_examples=often(120))
def test_whatever_fits_a_raw_schema_passes_its_gate_unchanged(pair):
    schema, arguments = pair
    verdict = verdict_of(schema, arguments)
    assert isinstance(verdict, rc.gate.CheckedCall), verdict
    assert verdict.bound == arguments


@st.composite
def spoiled(draw: st.DrawFn) -> tuple[dict, dict]:
    """A schema, and an instance of it with one thing changed, added or removed."""
    schema, arguments = draw(schemas_with_instances())
    arguments = copy.deepcopy(arguments)
    place: dict | list = arguments
    while inner := [child for child in _children(place) if isinstance(child, dict | list) and child]:
        if draw(st.booleans()):
            break
        place = draw(st.sampled_from(inner))
    keys = sorted(place) if isinstance(place, dict) else list(range(len(place)))
    if keys and draw(st.booleans()):
        del place[draw(st.sampled_from(keys))]
    elif isinstance(place, dict):
        place[draw(names | st.sampled_from(keys) if keys else names)] = draw(json_values)
    else:
        place.append(draw(json_values))
    return schema, arguments


def _children(place: dict | list) -> list:
    return list(place.values()) if isinstance(place, dict) else place


@given(spoiled())
@settings(max_examples=often(150))
def test_the_gate_and_an_independent_referee_agree_on_spoiled_arguments(pair):
    schema, arguments = pair
    referee = Draft202012Validator(schema)
    verdict = verdict_of(schema, arguments)
    if referee.is_valid(arguments):
        assert isinstance(verdict, rc.gate.CheckedCall), verdict
    else:
        assert isinstance(verdict, Invalid), verdict
        assert verdict.problems
