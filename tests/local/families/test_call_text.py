"""What is written can be read back, at every cut, or is refused in words."""

# ruff: noqa: E501, RUF001 - replies stand here as models write them

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import often
from local.families.replies import SPECS, markers_of, read
from rightcall.core.parts import Call
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.local.families.call_text import write
from rightcall.local.families.family import Family
from rightcall.local.families.family_list import FAMILIES, find_family
from rightcall.local.families.reader import answering

KINDS = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
AWKWARD = [
    '"',
    "'",
    "\\",
    "\n",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "<",
    ">",
    ",",
    "```",
    "</parameter>",
    " ",
    "\u2028",
    "🙂",
]


def schema(value: Any) -> dict[str, Any]:
    """A schema that says of which type each value is."""
    if isinstance(value, dict):
        return {"type": "object", "properties": {key: schema(member) for key, member in value.items()}}
    if isinstance(value, list):
        items = [schema(item) for item in value]
        is_uniform = bool(items) and all(item == items[0] for item in items)
        return {"type": "array", "items": items[0]} if is_uniform else {"type": "array"}
    return {"type": KINDS[type(value)]}


def arguments(family: Family) -> st.SearchStrategy[dict[str, Any]]:
    """Any JSON object, with the family's own markers inside of its strings."""
    letters = st.one_of(st.text(max_size=6), st.sampled_from(AWKWARD + markers_of(family)))
    strings = st.lists(letters, max_size=5).map("".join)
    numbers = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False))
    scalars = st.one_of(strings, numbers, st.booleans(), st.none())
    keys = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,9}", fullmatch=True)
    values = st.recursive(
        scalars,
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
        max_leaves=5,
    )
    return st.dictionaries(keys, values, max_size=4)


INCOMPLETE = {"qwen3_coder", "seed_oss", "minimax_m2", "minimax_m3", "dots", "step3", "glm", "hy_v3",
              "hy_v3_opensource", "muse_glimmer", "minicpm5", "deepseek_v32", "deepseek_v4", "kimi_k3", "gemma4",
              "functiongemma"}  # fmt: skip
"""Formats without an escape: a string with their own closing marker inside cannot be written."""


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_what_is_written_is_read_back_at_any_cut(family: Family):
    @settings(max_examples=often(15))
    @given(st.lists(arguments(family), min_size=1, max_size=3), st.data())
    def check(given: list[dict[str, Any]], data: st.DataObject) -> None:
        wanted = [(f"tool_{index}", one) for index, one in enumerate(given)]
        specs = tuple(Spec(name=name, description="", parameters=schema(one)) for name, one in wanted)
        calls = [Call(id="", name=name, arguments=json.dumps(one)) for name, one in wanted]
        try:
            text = write(family, calls, specs)
        except EncodeError:
            assert family.name in INCOMPLETE
            return
        at = data.draw(st.integers(0, len(text)))
        whole = read(family, [text], specs, tail=answering(family))
        assert whole == read(family, [text[:at], text[at:]], specs, tail=answering(family))
        assert whole == read(family, text, specs, tail=answering(family))
        assert all(isinstance(part, Call) and not part.truncated for part in whole), whole
        assert [
            (part.name, json.loads(part.arguments)) for part in whole if isinstance(part, Call)
        ] == wanted

    check()


WRITTEN = {
    "hermes": '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>',
    "llama3": '{"name": "add", "parameters": {"a": 1}}',
    "mistral": '[TOOL_CALLS]add[CALL_ID]123456789[ARGS]{"a": 1}',
    "mistral_json": '[TOOL_CALLS][{"name": "add", "arguments": {"a": 1}, "id": "123456789"}]',
    "command_r7b": '<|START_ACTION|>\n[{"tool_call_id": "123456789", "tool_name": "add", "parameters": {"a": 1}}]\n<|END_ACTION|>',
    "command_r": 'Action:\n```json\n[{"tool_name": "add", "parameters": {"a": 1}}]\n```',
    "apertus": '<|tools_prefix|>[{"add": {"a": 1}}]<|tools_suffix|>',
    "deepseek_v3": '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n```json\n{"a": 1}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "deepseek_v4": '\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name="add">\n<｜DSML｜parameter name="a" string="false">1</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>',
    "harmony": '<|channel|>commentary to=functions.add <|constrain|>json<|message|>{"a": 1}<|call|>',
    "qwen3_coder": "<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
    "glm": "<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>",
    "kimi_k3": '<|open|>tools<|sep|><|open|>call tool="add" index="1"<|sep|><|open|>argument key="a" type="number"<|sep|>1<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>',
    "lfm2": "<|tool_call_start|>[add(a=1)]<|tool_call_end|>",
    "olmo3": "<function_calls>add(a=1)</function_calls>",
    "gemma4": "<|tool_call>call:add{a:1}<tool_call|>",
}  # fmt: skip


@pytest.mark.parametrize(("name", "text"), WRITTEN.items(), ids=WRITTEN)
def test_a_call_is_written_as_the_family_does(name: str, text: str):
    assert (
        write(find_family(name), [Call(id="123456789", name="add", arguments='{"a": 1}')], SPECS) == text
    )


def test_an_id_of_its_own_is_kept_where_the_name_is_part_of_it():
    call = Call(id="functions.add:7", name="add", arguments="{}")
    assert "functions.add:7<|tool_call_argument_begin|>" in write(find_family("kimi_k2"), [call])
    assert "functions.add:0<|tool_call_argument_begin|>" in write(
        find_family("kimi_k2"), [Call(id="", name="add")]
    )


def test_no_calls_are_no_text():
    assert write(find_family("hermes"), []) == ""


REFUSED = {
    "a closing tag in a string": (
        "qwen3_coder",
        '{"note": "a\\n</parameter>"}',
        "would not be read back",
    ),
    "a number that is a string, for all one knows": (
        "qwen3_coder",
        '{"unknown": "1"}',
        "would not be read back",
    ),
    "a quote in a string": ("gemma4", '{"note": "<|\\"|>"}', "would not be read back"),
    "a key that is no name": ("lfm2", '{"a b": 1}', "would not be read back"),
    "no json": ("hermes", '{"a": ', "arguments that are not JSON"),
    "no object": ("hermes", "[1]", "arguments that are not an object"),
}


@pytest.mark.parametrize(("family", "arguments", "why"), REFUSED.values(), ids=REFUSED)
def test_what_a_format_cannot_express_is_refused(family: str, arguments: str, why: str):
    with pytest.raises(EncodeError, match=f"{family}, add: .*{why}"):
        write(find_family(family), [Call(id="", name="add", arguments=arguments)], SPECS)
