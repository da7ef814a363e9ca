"""Calls that go wrong after they have begun: they end as far as they came, and the rest is not lost."""

# ruff: noqa: E501 - replies stand here as models write them

from typing import Any

import pytest

from local.families.replies import at_every_cut
from rightcall.core.parts import Call, Text
from rightcall.local.families.family_list import find_family
from rightcall.local.families.reader import answering


def call(name: str, arguments: str, *, truncated: bool = False, identity: str = "") -> Call:
    return Call(id=identity, name=name, arguments=arguments, truncated=truncated)


M3 = "]<]minimax[>["
LONG = "a" * 600

DAMAGED: dict[str, tuple[str, str, tuple[Any, ...]]] = {
    "arguments that are a number": ("hermes", '<tool_call>{"name": "add", "arguments": 5}</tool_call>', (call("add", "5"),)),
    "arguments that are null": ("hermes", '<tool_call>{"name": "add", "arguments": null}</tool_call>', (call("add", "{}"),)),
    "arguments given twice": (
        "hermes", '<tool_call>{"name": "add", "arguments": {"a": 1}, "arguments": {}}</tool_call>', (call("add", '{"a": 1}'),),
    ),
    "a key without a value": (
        "hermes", '<tool_call>{"name": "add", "x"}</tool_call>', (call("add", ""), Text('"x"}</tool_call>')),
    ),
    "a key that never ends": (
        "hermes", '<tool_call>{"name": "add", "' + LONG, (call("add", ""), Text('"' + LONG)),
    ),
    "a reply cut off before the arguments": (
        "hermes", '<tool_call>{"name": "add", "why": "so"', (call("add", '{"why": "so"', truncated=True),),
    ),
    "a number as an id": (
        "mistral_json", '[TOOL_CALLS][{"id": 7, "name": "add", "arguments": {}}]', (call("add", "{}", identity="7"),),
    ),
    "a string that is no json": (
        "hermes", '<tool_call>{"name": "a\\xdd", "arguments": {}}</tool_call>', (call("a\\xdd", "{}"),),
    ),
    "no arguments at all": (
        "kimi_k2", "<|tool_call_begin|>functions.add:0<|tool_call_end|>", (call("add", "{}", identity="functions.add:0"),),
    ),
    "text for arguments": (
        "kimi_k2", "<|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>now<|tool_call_end|>",
        (call("add", "now", identity="functions.add:0"),),
    ),
    "text for arguments, and the end": ("harmony", "<|channel|>commentary to=add<|message|>now", (call("add", "now"),)),
    "text for arguments, and no end in sight": (
        "mistral", "[TOOL_CALLS]subtract[ARGS] now", (Text("[TOOL_CALLS]subtract[ARGS] now"),),
    ),
    "a name and the end": ("mistral", "[TOOL_CALLS]add[ARGS]", (call("add", "", truncated=True),)),
    "an id with spaces": ("mistral", "[TOOL_CALLS]add[CALL_ID]a b[ARGS]{}", (Text("[TOOL_CALLS]add[CALL_ID]a b[ARGS]{}"),)),
    "text between tags": (
        "qwen3_coder", "<function=add>\nso: <parameter=a>\n1\n</parameter> and\n</function>",
        (call("add", '{"a": 1}'), Text("so: and\n")),
    ),
    "text between tags, and the end": (
        "seed_oss", "<function=add>\nso", (call("add", "", truncated=True), Text("so")),
    ),
    "a key that is a page": (
        "qwen3_coder", f"<function=add><parameter={LONG}></function>",
        (call("add", "{}"), Text(f"<parameter={LONG}>")),
    ),
    "a key with no value of its own": (
        "glm", "<tool_call>add<arg_key>a</arg_key></tool_call>", (call("add", "{}"), Text("<arg_key>a</arg_key>")),
    ),
    "another call before the end": (
        "minimax_m2", '<invoke name="add"><parameter name="a">1</parameter><invoke name="add"></invoke>',
        (call("add", '{"a": 1}'), call("add", "{}")),
    ),
    "a cut in cdata": (
        "minicpm5", '<function name="get_time"><param name="city"><![CDATA[Par]]', (call("get_time", '{"city": "Par]]', truncated=True),),
    ),
    "a tag of another name": (
        "minimax_m3", f'{M3}<invoke name="add">{M3}<a>1{M3}</a>{M3}</b>',
        (call("add", '{"a": 1'), Text(f"{M3}</b>")),
    ),
    "text where a tag must stand": (
        "minimax_m3", f'{M3}<invoke name="add">so{M3}</invoke>', (call("add", "{"), Text(f"so{M3}</invoke>")),
    ),
    "a tag that never ends": (
        "minimax_m3", f'{M3}<invoke name="add">{M3}<a', (call("add", "{<a", truncated=True),),
    ),
    "a tag that is a page": (
        "minimax_m3", f'{M3}<invoke name="add">{M3}<{LONG}>', (call("add", "{"), Text(f"{M3}<{LONG}>")),
    ),
    "python that is none": (
        "lfm2", "<|tool_call_start|>[add(a=1 2)]<|tool_call_end|>", (call("add", '{"a": 1 2}'),),
    ),
    "python with a position": (
        "lfm2", "<|tool_call_start|>[add(1)]<|tool_call_end|>", (Text("<|tool_call_start|>[add(1)]"),),
    ),
    "python with a position later": (
        "lfm2", "<|tool_call_start|>[add(a=1, 2)]<|tool_call_end|>", (call("add", '{"a": 1, 2}'),),
    ),
    "python without a value": (
        "lfm2", "<|tool_call_start|>[add(a=)]<|tool_call_end|>", (call("add", '{"a": }'),),
    ),
    "python that ends in time": ("olmo3", "<function_calls>get_time(city='x')", (call("get_time", '{"city": "x"}'),)),
    "gemma with json's quotes": (
        "gemma4", '<|tool_call>call:get_time{"city":"Par\\"is"}<tool_call|>', (call("get_time", '{"city": "Par\\"is"}'),),
    ),
    "gemma with the wrong bracket": (
        "gemma4", "<|tool_call>call:add{a:1]<tool_call|>", (call("add", '{"a": 1'), Text("]")),
    ),
    "gemma with a word too many": (
        "gemma4", '<|tool_call>call:get_time{city:<|"|>x<|"|>y}<tool_call|>', (call("get_time", '{"city": "x"'), Text("y}")),
    ),
    "gemma with a word": ("gemma4", "<|tool_call>call:get_time{city: Paris}<tool_call|>", (call("get_time", '{"city": "Paris"}'),)),
    "gemma with numbers in a list": (
        "gemma4", "<|tool_call>call:add{tags:[1, x]}<tool_call|>", (call("add", '{"tags": [1, "x"]}'),),
    ),
    "gemma with a name that is a page": ("gemma4", f"<|tool_call>call:{LONG}{{}}", (Text(f"<|tool_call>call:{LONG}{{}}"),)),
    "gemma with a key that is a page": (
        "gemma4", f"<|tool_call>call:add{{{LONG}:1}}", (call("add", "{"), Text(f"{LONG}:1}}")),
    ),
    "a head that never ends": ("harmony", f"<|channel|>{LONG}<|message|>x", (Text(f"<|channel|>{LONG}<|message|>x"),)),
    "a second section": (
        "hermes", '<tool_call>{"name": "add"}</tool_call><tool_call>oh</tool_call>',
        (call("add", "{}"), Text("<tool_call>oh</tool_call>")),
    ),
    "a comma after the last call": ("llama3", '{"name": "add", "parameters": {}}, and so on', (call("add", "{}"), Text(", and so on"))),
    "a comma at the end": ("llama3", '{"name": "add", "parameters": {}},', (call("add", "{}"),)),
    "nothing in a list": ("generic", "[]", (Text("[]"),)),
    "much that was no call": (
        "hermes", '<tool_call>{"x": "' + "y " * 3000 + '";<tool_call>', (Text('<tool_call>{"x": "' + "y " * 3000 + '";<tool_call>'),),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("family", "reply", "parts"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_call_ends_as_far_as_it_came(family: str, reply: str, parts: tuple[Any, ...]):
    tail = "" if family == "harmony" else answering(find_family(family))
    assert at_every_cut(find_family(family), reply, tail=tail) == parts
