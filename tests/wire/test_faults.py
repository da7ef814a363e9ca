"""Replies that the vendor could not take as its model wrote them: the model is told, and goes on."""

import json

import pytest

import rightcall as rc
from rightcall.core.message import Reply
from rightcall.testing import ScriptedModel, reply
from rightcall.wire import gemini, openai_chat
from wire.recorded import reply_of, same_at_every_cut

WORDS = {
    "MALFORMED_FUNCTION_CALL": "could not be read",
    "UNEXPECTED_TOOL_CALL": "a tool that does not exist",
    "TOO_MANY_TOOL_CALLS": "too many tool calls",
    "MALFORMED_RESPONSE": "could not be read",
}


def stopped(word: str, *parts: dict, message: str = "look() is not declared.") -> bytes:
    candidate = {"finishReason": word, "finishMessage": message, "content": {"parts": list(parts)}}
    return f"data: {json.dumps({'candidates': [candidate]})}\n\n".encode()


@pytest.mark.parametrize(("word", "words"), WORDS.items(), ids=WORDS)
def test_the_model_reads_what_was_wrong_at_every_cut(word, words):
    said = reply_of(same_at_every_cut(gemini, stopped(word)))
    assert (said.stop, said.stop_word) == ("error", word)
    assert words in said.fault
    assert "look() is not declared" in said.fault


def test_what_the_request_lacks_is_no_fault_of_the_models():
    assert gemini.decode(stopped("MISSING_THOUGHT_SIGNATURE")[6:]).fault == ""


def test_long_words_of_the_vendors_are_cut():
    said = gemini.decode(stopped("MALFORMED_FUNCTION_CALL", message="x" * 9_000)[6:])
    assert len(said.fault) < 800


async def test_a_call_of_no_tool_is_answered_by_the_gate():
    part = {"functionCall": {"name": "list_files", "args": {}}}
    said = reply_of(same_at_every_cut(gemini, stopped("UNEXPECTED_TOOL_CALL", part)))
    assert (said.stop, said.fault) == ("calls", "")

    @rc.tool
    def read_files() -> str:
        """Read."""
        return ""

    result = await rc.Agent(ScriptedModel([said, "Sorry."]), [read_files]).run("Go.")
    assert [(call.outcome, "read_files" in call.result.text) for call in result.calls] == [
        ("unknown", True)
    ]
    assert result.text == "Sorry."


@pytest.mark.parametrize(
    "calls", [(), (rc.Call(id="c", name="look", arguments="{}"),)], ids=["none", "one"]
)
async def test_a_run_goes_on_after_a_fault_and_gives_up_after_three(calls):
    broken = Reply(calls, stop="error", stop_word="MALFORMED_FUNCTION_CALL", fault="That was wrong.")
    model = ScriptedModel([broken, reply("Better.")])
    result = await rc.Agent(model).run("Go.")
    assert (result.text, result.stop.reason) == ("Better.", "end")
    assert model.requests[1].messages[-1].text == "That was wrong."
    model = ScriptedModel([broken] * 3)
    result = await rc.Agent(model).run("Go.")
    assert (result.stop.reason, len(model.requests)) == ("error", 3)


def test_geminis_chat_endpoint_says_it_too():
    body = {"choices": [{"message": {"role": "assistant"}, "finish_reason": "malformed_function_call"}]}
    said = openai_chat.decode(json.dumps(body).encode())
    assert (said.stop, "could not be read" in said.fault) == ("error", True)
