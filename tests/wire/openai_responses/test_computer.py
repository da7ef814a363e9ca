"""A computer's calls have a list of actions, checks to acknowledge, and a picture for an answer."""

import json

import pytest
from pydantic import TypeAdapter

from later import Later
from rightcall.core.message import Results, user_text
from rightcall.core.parts import Call, Media, Result, Text
from rightcall.core.request import Request
from rightcall.core.tool import Spec
from rightcall.wire import openai_responses

RESPONSES = Later("openai.types.responses")

COMPUTER = Spec(
    name="computer",
    description="A screen.",
    parameters={"type": "object", "properties": {"actions": {"type": "array"}}},
    native={"openai_responses": {"type": "computer"}},
)
CHECKS = [{"id": "cu_sc_1", "code": "malicious_instructions", "message": "Look at this."}]
ITEM = {
    "type": "computer_call",
    "id": "cu_1",
    "call_id": "call_1",
    "actions": [{"type": "click", "button": "left", "x": 1, "y": 2}, {"type": "screenshot"}],
    "pending_safety_checks": [],
    "status": "completed",
}
PREVIEW = {
    "type": "computer_call",
    "id": "cu_1",
    "call_id": "call_1",
    "action": {"type": "wait"},
    "pending_safety_checks": CHECKS,
    "status": "completed",
}
PICTURE = Media(b"\x89PNG", "image/png")


def reply_to(item: dict):
    body = {"id": "r", "status": "completed", "output": [item], "usage": {}}
    return openai_responses.decode(json.dumps(body).encode())


def sent_back(item: dict, result: Result) -> list[dict]:
    messages = (user_text("Hi"), reply_to(item), Results((result,)))
    request = Request(messages=messages, specs=(COMPUTER,))
    return json.loads(openai_responses.encode(request, model="m", stream=False).body)["input"][1:]


def returned(*content, outcome="returned") -> Result:
    return Result(call_id="call_1", name="computer", outcome=outcome, content=content)


@pytest.mark.parametrize(
    ("item", "arguments"),
    [
        (ITEM, {"actions": ITEM["actions"]}),
        (PREVIEW, {"actions": [{"type": "wait"}], "pending_safety_checks": CHECKS}),
    ],
    ids=["list", "preview"],
)
def test_a_computers_call_is_a_call(item, arguments):
    RESPONSES.ResponseComputerToolCall.model_validate(item)
    reply = reply_to(item)
    (call,) = reply.calls
    assert (call.id, call.name, json.loads(call.arguments), reply.stop) == (
        "call_1",
        "computer",
        arguments,
        "calls",
    )


@pytest.mark.parametrize("item", [ITEM, PREVIEW], ids=["list", "preview"])
def test_the_call_goes_back_as_it_came_with_a_picture_for_an_answer(item):
    call, answer = sent_back(item, returned(Text("ignored"), PICTURE))
    assert call == item
    TypeAdapter(RESPONSES.response_input_item_param.ComputerCallOutput).validate_python(answer)
    assert answer["output"] == {
        "type": "computer_screenshot",
        "image_url": "data:image/png;base64,iVBORw==",
    }
    assert answer.get("acknowledged_safety_checks", []) == item["pending_safety_checks"]


def test_a_call_that_was_not_run_acknowledges_nothing_and_says_why_in_words():
    _, answer, words = sent_back(PREVIEW, returned(Text("Not allowed."), outcome="denied"))
    TypeAdapter(RESPONSES.response_input_item_param.ComputerCallOutput).validate_python(answer)
    assert "acknowledged_safety_checks" not in answer
    assert answer["output"]["image_url"].startswith("data:image/png;base64,")
    assert words == {"type": "message", "role": "user", "content": "Not allowed."}


def test_without_the_tool_it_goes_back_as_a_functions_call():
    messages = (user_text("Hi"), reply_to(ITEM), Results((returned(PICTURE),)))
    request = Request(messages=messages, specs=())
    _, call, answer = json.loads(openai_responses.encode(request, model="m", stream=False).body)["input"]
    assert (call["type"], call["name"]) == ("function_call", "computer")
    assert answer["type"] == "function_call_output"
    assert isinstance(reply_to(ITEM).calls[0], Call)
