"""Tools as typed functions: what the model and the type checker read, and how calls come back."""

import json
from typing import Literal

import pytest
from typing_extensions import TypedDict

from rightcall import Tool, tool
from rightcall.core.jsontext import dump
from rightcall.core.parts import Result, Text
from rightcall.errors import DeclarationError
from rightcall.programs.stubs import Annotations, stubs_of


class Row(TypedDict):
    id: int
    tags: list[str]


@tool
def find(text: str, kind: Literal["a", "b"] = "a", most: int = 10) -> list[Row]:
    """Find rows.

    Args:
        text: What to look for,
            in full.
    """
    return []


def test_a_function_has_the_tools_types_defaults_and_words():
    stubs = stubs_of([find])
    assert stubs.declarations == (
        "class Row(TypedDict):\n    id: int\n    tags: list[str]\n\n"
        "async def find(text: str, kind: Literal['a', 'b'] = 'a', most: int = 10) -> list[Row]:\n"
        '    """Find rows.\n    text: What to look for, in full."""\n'
    )
    assert stubs.source.startswith("from typing import Any, Literal, NotRequired, TypedDict\n")
    compile(stubs.source, "stubs", "exec")


TREE = {
    "type": "object",
    "properties": {"below": {"type": "array", "items": {"$ref": "#"}}},
    "required": ["below"],
}


@pytest.mark.parametrize(
    ("schema", "annotation"),
    [
        (True, "Any"),
        ({}, "Any"),
        ({"type": "number"}, "float"),
        ({"type": ["string", "null"]}, "str | None"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "int | None"),
        ({"oneOf": [{"type": "integer"}, {}]}, "Any"),
        ({"enum": ["a", 1, None]}, "Literal['a', 1, None]"),
        ({"enum": [1.5]}, "Any"),
        ({"const": True}, "Literal[True]"),
        ({"allOf": [{"type": "boolean"}]}, "bool"),
        ({"type": "object"}, "dict[str, Any]"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[str, int]"),
        ({"$ref": "#/$defs/none"}, "Any"),
        (TREE, "Thing"),
    ],
)
def test_a_schema_has_the_annotation_of_what_fits_it(schema, annotation):
    root = schema if isinstance(schema, dict) else {}
    assert Annotations().of(schema, "Thing", root) == annotation


def test_a_schema_that_contains_itself_has_one_class():
    annotations = Annotations()
    annotations.of(TREE, "Tree", TREE)
    assert annotations.classes == {"Tree": "class Tree(TypedDict):\n    below: list[Tree]\n"}


@pytest.mark.parametrize(("name", "own"), [("Any", "Any2"), ("2fa", "_2fa"), ("a-b", "AB"), ("?", "X")])
def test_a_class_hides_nothing_and_has_a_name_that_python_takes(name, own):
    root = {"$defs": {name: TREE}, "$ref": f"#/$defs/{name}"}
    assert Annotations().of(root, "X", root) == own


def test_names_that_python_does_not_take_are_changed_there_and_back():
    schema = {
        "type": "object",
        "properties": {
            "from": {"type": "string"},
            "x-y": {"type": "object", "properties": {"a b": {"type": "integer"}}},
        },
        "required": ["from"],
    }
    stubs = stubs_of([Tool("get-mail", 'Says """hi""" \\ "so"', schema, handler=lambda **_: None)])
    compile(stubs.source, "stubs", "exec")
    function = stubs.functions["get_mail"]
    assert "async def get_mail(from_: str, x_y: GetMailXY = ...) -> Any:" in function.stub
    assert function.arguments(("me",), {"x_y": {"a b": 1}}) == '{"from":"me","x-y":{"a b":1}}'
    assert function.arguments((), {"unknown": 1}) == '{"unknown":1}'
    with pytest.raises(TypeError, match="takes 2 arguments but 3 were given"):
        function.arguments((1, 2, 3), {})
    with pytest.raises(TypeError, match="multiple values for argument 'from_'"):
        function.arguments(("me",), {"from_": "you"})
    with pytest.raises(TypeError, match="is no JSON"):
        function.arguments((object(),), {})


def test_no_parameter_is_lost_and_no_builtin_is_hidden():
    members = {"a-b": {"type": "integer"}, "a_b": {"type": "integer"}}
    schema = {"type": "object", "properties": members, "additionalProperties": {"type": "string"}}
    (function,) = stubs_of([Tool("sum", "x", schema, handler=lambda **_: None)]).functions.values()
    head = "async def sum_(a_b: int = ..., a_b_: int = ..., **more: str) -> Any:"
    assert function.stub.startswith(head)
    assert function.arguments((), {"a_b_": 1, "c": "d"}) == '{"a_b":1,"c":"d"}'


def test_two_tools_of_one_name_in_python_are_refused():
    tools = [Tool(name, "x", handler=lambda: None) for name in ("a-b", "a_b")]
    with pytest.raises(DeclarationError, match=r"it would be a_b\(\), and so would a-b"):
        stubs_of(tools)


@tool
def words() -> str:
    """Some words."""
    return ""


@tool
def whatever():
    """Whatever."""


@pytest.mark.parametrize(
    ("declared", "text", "value"),
    [
        (words, "12", "12"),
        (whatever, "12", 12),
        (whatever, "no JSON", "no JSON"),
        (find, '[{"id":1,"tags":[]}]', [{"id": 1, "tags": []}]),
    ],
)
@pytest.mark.parametrize("source", [None, "web"])
def test_what_a_call_returns_is_the_tools_value_again(declared, text, value, source):
    (function,) = stubs_of([declared]).functions.values()
    shown = text if source is None else dump({"untrusted_source": source, "content": text})
    result = Result(call_id="c", name="x", outcome="returned", content=(Text(shown),), source=source)
    assert function.value(result) == value


def test_the_tools_of_public_servers_are_functions_that_python_reads(shared_data):
    servers = json.loads((shared_data / "mcp-catalogue" / "tools.json").read_text())
    assert sum(len(server["tools"]) for server in servers) > 500
    for server in servers:
        tools = [
            Tool(each["name"], each.get("description", ""), each["inputSchema"])
            for each in server["tools"][::6]
        ]
        stubs = stubs_of(tools)
        assert [each.tool for each in stubs.functions.values()] == [each.name for each in tools]
        compile(stubs.source, server["package"], "exec")


def test_json_that_was_cut_is_an_error_and_no_text():
    (function,) = stubs_of([find]).functions.values()
    cut = Result(call_id="c", name="find", outcome="returned", content=(Text('[{"id":'),))
    with pytest.raises(ValueError, match="what find returned is no whole JSON"):
        function.value(cut)
