"""Requests as Cohere wants them."""

import json
from typing import Any

import pytest
from pydantic import TypeAdapter

from rightcall.core.message import Reasoning, Reply, Results, user_text
from rightcall.core.parts import Call, Media, Result, Text
from rightcall.core.request import ANY_OBJECT, Named, Request
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.wire import cohere
from wire.cohere.chat import Message

LOOK = Spec(
    name="look",
    description="Look.",
    parameters={"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
    examples=({"q": "x"},),
)
FIND = Spec(name="find", description="Find.", parameters={"type": "object", "properties": {}})
messages = TypeAdapter(list[Message])


def body(*said_: Any, **how: Any) -> dict[str, Any]:
    request = Request(messages=said_ or (user_text("Hi"),), **how)
    sent = cohere.encode(request, model="m", stream=False)
    assert sent.path == "/v2/chat"
    found: dict[str, Any] = json.loads(sent.body)
    messages.validate_python(found["messages"])
    return found


OPTIONS = {
    "sampling": (
        {"temperature": 0.2, "top_p": 0.5, "seed": 7, "stop": "END"},
        {"temperature": 0.2, "p": 0.5, "seed": 7, "stop_sequences": ["END"]},
    ),
    "a word for thinking": (
        {"reasoning": "low"},
        {"thinking": {"type": "enabled", "token_budget": 2048}},
    ),
    "as much as it likes": ({"reasoning": "max"}, {"thinking": {"type": "enabled"}}),
    "so many tokens": ({"reasoning": 900}, {"thinking": {"type": "enabled", "token_budget": 900}}),
    "no thinking": ({"reasoning": "none"}, {"thinking": {"type": "disabled"}}),
    "what it has none of": ({"user": "u", "cache": True, "parallel": False}, {}),
    "extra": ({"extra": {"safety_mode": "OFF"}}, {"safety_mode": "OFF"}),
}


@pytest.mark.parametrize(("options", "members"), OPTIONS.values(), ids=OPTIONS)
def test_options(options, members):
    hi = [{"role": "user", "content": "Hi"}]
    assert body(options=options) == {"model": "m", "stream": False, "messages": hi, **members}


def test_a_tool_that_is_named_goes_alone_and_is_required():
    sent = body(specs=(LOOK, FIND), choice=Named("look"))
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["look"]
    assert sent["tool_choice"] == "REQUIRED"
    assert "Examples of arguments" in sent["tools"][0]["function"]["description"]
    with pytest.raises(EncodeError, match="there is none"):
        body(specs=(FIND,), choice=Named("look"))


def test_strict_mode_wants_a_parameter_that_is_required():
    assert body(specs=(LOOK,), options={"strict": True})["strict_tools"] is True
    with pytest.raises(EncodeError, match=r"cohere, tool 'find': .* require one"):
        body(specs=(LOOK, FIND), options={"strict": True})


def test_an_output_schema_and_json_mode():
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 1}},
        "required": ["n"],
    }
    sent = body(output=schema)["response_format"]
    assert sent["type"] == "json_object"
    assert sent["json_schema"]["properties"]["n"] == {"type": "integer", "description": "minimum: 1"}
    assert body(output=ANY_OBJECT)["response_format"] == {"type": "json_object"}
    with pytest.raises(EncodeError, match="is not taken beside tools"):
        body(output=schema, specs=(LOOK,))


def test_a_turn_goes_back_as_the_vendor_takes_it():
    plan = Reasoning("I will look.", {"cohere": {"field": "tool_plan"}})
    call, broken = Call(id="a", name="a.b", arguments=""), Call(id="a", name="look", arguments="[1")
    png = Media(b"\x89PNG", "image/png")
    answers = (
        Result(call_id="a", name="a.b", outcome="failed", content=(Text("gone"),)),
        Result(call_id="a", name="look", outcome="returned", content=(Text("see"), png), source="web"),
    )
    reply = Reply((Reasoning("theirs"), plan, call, broken), "calls")
    sent = body(user_text("Hi"), reply, Results(answers), system="Be brief.")["messages"]
    assert [message["role"] for message in sent] == [
        "system", "user", "assistant", "tool", "tool", "user",
    ]  # fmt: skip
    assert sent[2]["tool_plan"] == "I will look."
    assert [(each["id"], each["function"]) for each in sent[2]["tool_calls"]] == [
        ("a", {"name": "a_b", "arguments": "{}"}),
        ("a_2", {"name": "look", "arguments": '{"raw_arguments":"[1"}'}),
    ]
    assert [(each["tool_call_id"], each["content"]) for each in sent[3:5]] == [
        ("a", "Error: gone"),
        ("a_2", "see\n[image/png, 4 bytes: in the message after the results]"),
    ]
    assert sent[5]["content"][1]["text"] == "From look (a_2); outsiders could have made it:"


def test_a_reply_of_nothing_says_something():
    sent = body(user_text("Hi"), Reply((Reasoning("theirs"),)), user_text("And?"))["messages"]
    assert sent[1] == {"role": "assistant", "content": [{"type": "text", "text": "(nothing)"}]}
    with pytest.raises(EncodeError, match="nothing to send"):
        cohere.encode(Request(messages=()), model="m", stream=True)
