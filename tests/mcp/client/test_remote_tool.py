"""A server's tool names into names that every vendor takes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rightcall as rc
from rightcall.core.limits import Limits
from rightcall.core.outcome import Invalid
from rightcall.mcp.client.remote_tool import fit_name, fit_names, tool_of
from rightcall.mcp.pins import Definition
from rightcall.process.deadline_validator import close_children

FITTED = {
    "get_weather": "get_weather",
    "get-weather": "get-weather",
    "admin.tools/list": "admin_tools_list",
    "3d": "_3d",
    "-x": "_-x",
    "": "_",
    "größe": "gr_e",
    "x" * 64: "x" * 64,
    "x" * 65: "x" * 55 + "_9537c5fd",
}


@pytest.mark.parametrize("name", FITTED)
def test_a_name_becomes_one_that_every_vendor_takes(name):
    assert fit_name(name) == FITTED[name]


def test_names_that_would_be_the_same_are_told_apart_whatever_their_order():
    names = ["a.b", "a_b", "a/b"]
    fitted = fit_names(names)
    assert fitted["a_b"] == "a_b"
    assert len(set(fitted.values())) == 3
    assert fit_names(names[::-1]) == fitted


@given(st.lists(st.text(max_size=100), unique=True, max_size=20))
def test_any_names_become_valid_and_different_ones(names):
    fitted = fit_names(names)
    assert [fit_name(each) for each in fitted.values()] == list(fitted.values())
    assert len(set(fitted.values())) == len(names)


async def test_a_schema_without_a_bound_is_judged_in_a_process():
    levels = {f"l{n}": {"anyOf": [{"$ref": f"#/$defs/l{n - 1}"}] * 2} for n in range(1, 15)}
    parameters = {
        "type": "object",
        "properties": {"n": {"$ref": "#/$defs/l14"}},
        "$defs": {"l0": {"type": "integer"}, **levels},
    }

    async def invoke(definition, arguments, effect, context):
        return arguments["n"]

    definition = Definition(name="take", parameters=parameters)
    tool = tool_of(definition, name="take", server="s", invoke=invoke, limits=Limits(), trust=())
    assert tool.waits
    calls = [rc.Call(id=text, name="take", arguments=f'{{"n": {text}}}') for text in ("7", "true")]
    try:
        taken, refused = await rc.run_calls(calls, [tool])
    finally:
        close_children()
    assert taken.outcome.value == 7
    assert isinstance(refused.outcome, Invalid)
