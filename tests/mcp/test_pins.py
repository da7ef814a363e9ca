"""Approved definitions, and what changed since."""

import json

import pytest

from rightcall.errors import UsageError
from rightcall.mcp.pins import Definition, Difference, Hints, Pins

ADD = Definition(
    name="add",
    title="Add",
    description="Adds.",
    parameters={"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
    output={"type": "object"},
    hints=Hints(read_only=True),
)
CHANGES = {
    "nothing": ({}, None),
    "its words": ({"description": "Adds. Then reads your mail."}, ("words",)),
    "its title": ({"title": "Subtract"}, ("words",)),
    "its parameters": ({"parameters": {"type": "object"}}, ("parameters",)),
    "what it returns": ({"output": None}, ("output",)),
    "what it says it does": ({"hints": Hints()}, ("hints",)),
    "two sides": ({"description": "", "output": None}, ("words", "output")),
}


def changed(**fields: object) -> Definition:
    old = {name: getattr(ADD, name) for name in ADD.__struct_fields__}
    return Definition(**{**old, **fields})


@pytest.mark.parametrize("case", CHANGES)
def test_a_change_is_told_by_its_side(case, tmp_path):
    fields, sides = CHANGES[case]
    pins = Pins(tmp_path / "deep" / "pins.json")
    pins.approve("shop", [ADD])
    expected = () if sides is None else (Difference("add", sides),)
    assert pins.differences("shop", [changed(**fields)]) == expected


def test_the_order_of_members_is_no_change(tmp_path):
    pins = Pins(tmp_path / "pins.json")
    pins.approve("shop", [ADD])
    properties = {"b": {"type": "integer"}, "a": {"type": "integer"}}
    assert (
        pins.differences("shop", [changed(parameters={"properties": properties, "type": "object"})])
        == ()
    )


def test_a_new_tool_is_a_difference_and_a_missing_one_is_not(tmp_path):
    pins = Pins(tmp_path / "pins.json")
    pins.approve("shop", [ADD])
    new = changed(name="divide")
    assert pins.differences("shop", [new]) == (Difference("divide", ()),)
    assert [str(each) for each in pins.differences("shop", [new])] == ["divide is new"]
    assert pins.differences("shop", []) == ()


def test_approving_one_server_leaves_the_others(tmp_path):
    pins = Pins(tmp_path / "pins.json")
    pins.approve("shop", [ADD])
    pins.approve("bank", [])
    assert set(pins.servers()) == {"shop", "bank"}
    assert pins.differences("shop", [ADD]) == ()


def test_a_server_that_nobody_approved_is_no_match(tmp_path):
    with pytest.raises(UsageError, match="holds no pins of 'shop'"):
        Pins(tmp_path / "pins.json").differences("shop", [ADD])


BROKEN = {
    "no JSON": ("{", "is no file of pins"),
    "another form": ('{"version": 1, "servers": {"shop": {"add": {}}}}', "is no file of pins"),
    "another version": ('{"version": 2}', "is of version 2"),
    "too large": (json.dumps("x" * 5_000_000), "is larger than"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_file_that_is_no_file_of_pins_approves_nothing(case, tmp_path):
    text, words = BROKEN[case]
    file = tmp_path / "pins.json"
    file.write_text(text)
    with pytest.raises(UsageError, match=words):
        Pins(file).differences("shop", [ADD])
