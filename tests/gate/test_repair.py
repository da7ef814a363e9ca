"""Slips that lose nothing are mended where a tool allows it, and nothing else is touched."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

import rightcall as rc
from effort import often
from gate.instances import instances, json_values
from rightcall.core.outcome import Invalid
from rightcall.core.parts import Repair
from rightcall.core.problem import Problem


def judge(schema: dict, arguments: object, *, repair: bool = True) -> rc.gate.CheckedCall | Invalid:
    tool = rc.Tool("f", "", {"type": "object", "properties": {"x": schema}}, repair=repair)
    verdict = rc.gate.check(rc.Call(id="1", name="f", arguments=json.dumps({"x": arguments})), tool)
    assert isinstance(verdict, rc.gate.CheckedCall | Invalid)
    return verdict


INTEGER = {"type": "integer"}
INTEGERS = {"type": "array", "items": INTEGER}
POINT = {"type": "object", "properties": {"x": INTEGER, "y": INTEGER}, "required": ["x"]}


@pytest.mark.parametrize(
    ("schema", "sent", "used"),
    [
        pytest.param(INTEGER, "2", 2, id="integer"),
        pytest.param(INTEGER, " -7 ", -7, id="integer-with-space-around"),
        pytest.param({"type": "number"}, "2.5", 2.5, id="number"),
        pytest.param({"type": "number"}, "2", 2, id="whole-number"),
        pytest.param({"type": "boolean"}, "true", True, id="boolean"),
        pytest.param({"type": ["integer", "null"]}, "null", None, id="null-where-null-is-meant"),
        pytest.param(INTEGERS, "[1,2]", [1, 2], id="array"),
        pytest.param(POINT, '{"x": 1}', {"x": 1}, id="object"),
        pytest.param({"anyOf": [INTEGER, {"type": "null"}]}, "3", 3, id="any-of"),
        pytest.param({"oneOf": [INTEGERS, INTEGER]}, "[3]", [3], id="one-of"),
        pytest.param({"allOf": [INTEGER, {"type": "number"}]}, "3", 3, id="two-rules-about-one-place"),
    ],
)
def test_a_value_inside_a_string_is_taken_out_where_no_string_is_wanted(schema, sent, used):
    verdict = judge(schema, sent)
    assert isinstance(verdict, rc.gate.CheckedCall), verdict
    assert verdict.arguments == verdict.bound == {"x": used}
    assert type(verdict.bound["x"]) is type(used)
    assert verdict.repairs == (Repair("$.x", sent, used),)
    assert json.loads(verdict.call.arguments) == {"x": sent}


@pytest.mark.parametrize(
    ("schema", "sent", "used", "repairs"),
    [
        pytest.param(
            INTEGERS,
            ["1", 2, "3"],
            [1, 2, 3],
            [Repair("$.x[0]", "1", 1), Repair("$.x[2]", "3", 3)],
            id="items",
        ),
        pytest.param(
            INTEGERS,
            '["1"]',
            [1],
            [Repair("$.x", '["1"]', ["1"]), Repair("$.x[0]", "1", 1)],
            id="a-string-in-a-string",
        ),
        pytest.param(
            POINT,
            {"x": "1", "y": None},
            {"x": 1},
            [Repair("$.x.x", "1", 1), Repair("$.x.y", None, None, removed=True)],
            id="members",
        ),
    ],
)
def test_repairs_go_as_deep_as_the_arguments_and_each_is_recorded(schema, sent, used, repairs):
    verdict = judge(schema, sent)
    assert isinstance(verdict, rc.gate.CheckedCall), verdict
    assert verdict.bound == {"x": used}
    assert sorted(verdict.repairs, key=lambda each: each.path) == repairs


def test_null_for_an_optional_member_that_takes_no_null_leaves_it_out():
    verdict = judge(INTEGER, None)
    assert isinstance(verdict, rc.gate.CheckedCall)
    assert (verdict.bound, verdict.repairs) == ({}, (Repair("$.x", None, None, removed=True),))


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        pytest.param({"type": "string"}, "2", id="string"),
        pytest.param({"type": ["string", "integer"]}, "2", id="string-or-integer"),
        pytest.param({"anyOf": [INTEGER, {"type": "string"}]}, "[1]", id="any-of-with-a-string"),
        pytest.param({}, "2", id="anything"),
        pytest.param({"type": ["integer", "null"]}, None, id="null-that-is-allowed"),
    ],
)
def test_what_the_schema_accepts_is_never_touched(schema, sent):
    verdict = judge(schema, sent)
    assert isinstance(verdict, rc.gate.CheckedCall)
    assert (verdict.bound, verdict.repairs) == ({"x": sent}, ())


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        pytest.param(INTEGER, "two", id="not-json"),
        pytest.param(INTEGER, "2.0", id="a-float-in-a-string-for-an-integer"),
        pytest.param({"type": "number"}, "1e3", id="a-number-that-would-be-written-otherwise"),
        pytest.param(INTEGER, "02", id="leading-zero"),
        pytest.param(INTEGER, '"2"', id="a-quoted-string"),
        pytest.param(INTEGER, "true", id="the-wrong-kind"),
        pytest.param({"type": "boolean"}, 1, id="no-string-at-all"),
        pytest.param({"type": "string"}, 2, id="string-wanted"),
        pytest.param({"type": "string", "minLength": 3}, "[]", id="a-string-with-another-fault"),
        pytest.param(
            {"anyOf": [INTEGER, {"type": "string", "pattern": "^a"}]}, "2", id="any-of-pattern"
        ),
        pytest.param(INTEGERS, [None], id="null-in-an-array"),
        pytest.param(INTEGERS, '[1, {"a": 1, "a": 2}]', id="a-string-that-is-not-sound-json"),
        pytest.param({"type": "integer", "minimum": 5}, "2", id="mended-and-still-wrong"),
    ],
)
def test_a_repair_that_would_lose_something_or_not_suffice_is_not_made(schema, sent):
    verdict = judge(schema, sent)
    assert verdict == judge(schema, sent, repair=False)
    assert isinstance(verdict, Invalid)


def test_the_problems_reported_are_those_of_what_the_model_sent():
    tool = rc.Tool(
        "f",
        "",
        {"type": "object", "properties": {"x": INTEGER, "y": INTEGER}, "required": ["y"]},
        repair=True,
    )
    verdict = rc.gate.check(rc.Call(id="1", name="f", arguments='{"x": "2", "y": null}'), tool)
    assert verdict == Invalid(
        (
            Problem("$.x", 'must be an integer, not a string ("2")'),
            Problem("$.y", "must be an integer, not null"),
        )
    )


def test_arguments_that_are_wrong_as_a_whole_are_past_mending():
    schema = {"type": "object", "anyOf": [{"type": "array"}, {"type": "null"}]}
    verdict = rc.gate.check(rc.Call(id="1", name="f"), rc.Tool("f", "", schema, repair=True))
    assert verdict == Invalid((Problem("$", "must be an array or null, not an empty object"),))


def test_nothing_is_repaired_unless_the_tool_says_so():
    assert judge(INTEGER, "2", repair=False) == Invalid(
        (Problem("$.x", 'must be an integer, not a string ("2")'),)
    )


class Point(BaseModel):
    x: int
    y: int = 0


@rc.tool(repair=True)
def move(to: Point, steps: list[int], speed: int | None = None, name: str = "") -> None:
    """Move."""


@pytest.mark.parametrize(
    ("sent", "bound"),
    [
        pytest.param(
            {"to": '{"x": "1"}', "steps": "[1, 2]"},
            {"to": Point(x=1), "steps": [1, 2], "speed": None, "name": ""},
            id="containers",
        ),
        pytest.param(
            {"to": {"x": 1, "y": None}, "steps": [], "speed": "3", "name": "4"},
            {"to": Point(x=1), "steps": [], "speed": 3, "name": "4"},
            id="members",
        ),
        pytest.param(
            {"to": {"x": 1}, "steps": [], "name": None},
            {"to": Point(x=1), "steps": [], "speed": None, "name": ""},
            id="null-for-a-default",
        ),
    ],
)
def test_a_typed_tool_is_repaired_by_its_own_schema(sent, bound):
    verdict = rc.gate.check(rc.Call(id="1", name="move", arguments=json.dumps(sent)), move)
    assert isinstance(verdict, rc.gate.CheckedCall), verdict
    assert verdict.bound == bound
    assert verdict.repairs


async def test_a_repaired_call_runs_and_its_execution_tells_what_was_changed():
    @rc.tool(repair=True)
    def double(number: int) -> int:
        return number * 2

    (done,) = await rc.run_calls([rc.Call(id="1", name="double", arguments='{"number": "2"}')], double)
    assert (done.result.text, done.repairs) == ("4", (Repair("$.number", "2", 2),))


@given(st.dictionaries(st.sampled_from(["to", "steps", "speed", "name"]), json_values))
@settings(max_examples=often(80))
def test_repair_never_raises_and_keeps_what_was_valid(arguments):
    call = rc.Call(id="1", name="move", arguments=json.dumps(arguments))
    verdict = rc.gate.check(call, move)
    strict = rc.gate.check(call, move.replace(repair=False))
    if isinstance(strict, rc.gate.CheckedCall):
        assert isinstance(verdict, rc.gate.CheckedCall)
        assert (verdict.bound, verdict.repairs) == (strict.bound, ())


@given(instances(POINT).flatmap(lambda point: st.tuples(st.just(point), st.sampled_from(sorted(point)))))
@settings(max_examples=often(40))
def test_any_valid_value_survives_being_quoted(pair):
    point, key = pair
    quoted = {**point, key: json.dumps(point[key])}
    if key in POINT["properties"]:
        verdict = judge(POINT, quoted)
        assert isinstance(verdict, rc.gate.CheckedCall)
        assert verdict.bound == {"x": point}


STRICT = {
    "type": "object",
    "properties": {"a": INTEGER, "b": INTEGER, "p": POINT},
    "required": ["a"],
}


@pytest.mark.parametrize(
    ("sent", "used"),
    [
        ({"a": 1, "b": None}, {"a": 1}),
        ({"a": 1, "p": {"x": 2, "y": None}}, {"a": 1, "p": {"x": 2}}),
        ({"a": 1, "b": None, "p": None}, {"a": 1}),
        ({"a": None, "b": None}, None),
        ({"a": "1", "b": None}, None),
    ],
)
@pytest.mark.parametrize("is_forced", [True, False])
def test_nulls_that_a_strict_mode_forced_are_taken_out_and_nothing_else_is_mended(sent, used, is_forced):
    tool = rc.Tool("f", "", STRICT, repair=False)
    call = rc.Call(id="1", name="f", arguments=json.dumps(sent), nulls=is_forced)
    verdict = rc.gate.check(call, tool)
    if used is None or not is_forced:
        assert isinstance(verdict, Invalid)
    else:
        assert isinstance(verdict, rc.gate.CheckedCall), verdict
        assert verdict.bound == verdict.arguments == used
        assert all(each.removed for each in verdict.repairs)
