"""A call that was started while the reply streamed, and whose result is not used, is told as it was."""

import asyncio
import json

import pytest

from loop import virtual
from rightcall import Agent
from rightcall.core.request import Profile
from rightcall.declare.function import tool
from rightcall.testing import ScriptedModel
from rightcall.wire import anthropic, gemini, openai_chat, openai_responses

X, Y = '{"place": "x"}', '{"place": "y"}'
MORE = ', "y": 2}'


def sse(*events: object) -> list[bytes]:
    return [f"data: {json.dumps(event)}\n\n".encode() for event in events]


def chat_delta(stop: str | None = None, **delta: object) -> object:
    return {"id": "r", "choices": [{"index": 0, "delta": delta, "finish_reason": stop}]}


def chat_call(arguments: str, **more: object) -> object:
    return chat_delta(tool_calls=[{"index": 0, "function": {"arguments": arguments, **more}, "id": "c"}])


CHAT = sse(chat_call(X, name="look"))
BLOCK = {"type": "tool_use", "id": "c", "name": "look", "input": {}}
USAGE = {"input_tokens": 1, "output_tokens": 1}


def block_delta(text: str) -> object:
    return {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "input_json_delta", "partial_json": text},
    }


def message_end(stop: str) -> list[object]:
    return [
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": USAGE},
        {"type": "message_stop"},
    ]


MESSAGES = sse(
    {
        "type": "message_start",
        "message": {"id": "m", "role": "assistant", "content": [], "usage": USAGE},
    },
    {"type": "content_block_start", "index": 0, "content_block": BLOCK},
    block_delta(X),
)
AT = {"output_index": 0, "item_id": "fc"}


def item(arguments: str, name: str = "look") -> dict[str, object]:
    return {
        "type": "function_call", "id": "fc", "call_id": "c", "name": name, "arguments": arguments,
    }  # fmt: skip


def response(*output: object, status: str = "completed", **more: object) -> object:
    made = {"id": "r", "status": status, "output": output, "usage": USAGE, **more}
    return {"type": f"response.{status}", "response": made}


def arguments_done(arguments: str) -> list[object]:
    return [
        {"type": "response.function_call_arguments.done", "arguments": arguments, **AT},
        {"type": "response.output_item.done", "output_index": 0, "item": item(arguments)},
    ]


RESPONSES = sse(
    {"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}},
    {"type": "response.output_item.added", "output_index": 0, "item": item("")},
    {"type": "response.function_call_arguments.delta", "delta": X, **AT},
)
SAID = {
    "type": "message", "id": "m", "role": "assistant",
    "content": [{"type": "output_text", "text": "so", "annotations": []}],
}  # fmt: skip


def candidate(*parts: object, stop: str | None = None) -> object:
    ended = {} if stop is None else {"finishReason": stop}
    return {"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, **ended}]}


GEMINI = sse(candidate({"functionCall": {"name": "look", "args": {"place": "x"}, "id": "c"}}))

CUT = "the reply was cut off in the middle of its arguments."
UNFIT = "its arguments do not fit:"
IN_REPLY = [
    pytest.param(openai_chat, CHAT, [], CUT, id="chat, cut"),
    pytest.param(
        openai_chat, CHAT, sse(chat_call(MORE), chat_delta("tool_calls")), UNFIT, id="chat, more after"
    ),
    pytest.param(
        openai_chat, CHAT, sse(chat_call(Y), chat_delta("tool_calls")), UNFIT, id="chat, two objects"
    ),
    pytest.param(openai_chat, CHAT, sse(chat_delta("length")), CUT, id="chat, length"),
    pytest.param(anthropic, MESSAGES, [], CUT, id="messages, cut"),
    pytest.param(
        anthropic,
        MESSAGES,
        sse(block_delta(MORE), *message_end("tool_use")),
        UNFIT,
        id="messages, more after",
    ),
    pytest.param(anthropic, MESSAGES, sse(*message_end("max_tokens")), CUT, id="messages, length"),
    pytest.param(openai_responses, RESPONSES, [], CUT, id="responses, cut"),
    pytest.param(
        openai_responses,
        RESPONSES,
        sse(*arguments_done(X + MORE), response(item(X + MORE))),
        UNFIT,
        id="responses, more after",
    ),
    pytest.param(
        openai_responses,
        RESPONSES,
        sse(response(status="failed", error={"code": "server_error", "message": "x"})),
        CUT,
        id="responses, failed",
    ),
    pytest.param(gemini, GEMINI, [], CUT, id="gemini, cut"),
    pytest.param(gemini, GEMINI, sse(candidate(stop="MAX_TOKENS")), CUT, id="gemini, length"),
    pytest.param(gemini, GEMINI, sse(candidate(stop="SAFETY")), "", id="gemini, filtered"),
]
NOT_IN_REPLY = [
    pytest.param(sse(*arguments_done(Y), response(item(Y))), [("look", Y)], id="done differs"),
    pytest.param(sse(*arguments_done(X), response(item(Y))), [("look", Y)], id="the end differs"),
    pytest.param(
        sse(*arguments_done(X), response(item(X, "stare"))), [("stare", X)], id="the name differs"
    ),
    pytest.param(sse(*arguments_done(X), response(SAID)), [], id="the end lacks it"),
]


def run(dialect, first: list[bytes], rest: list[bytes], takes: float):
    """Send the first chunks, wait for two seconds, and send the rest."""

    class Wire:
        profile = Profile()

        async def stream(self, request):
            if len(request.messages) > 1:
                async for event in ScriptedModel(["Done."]).stream(request):
                    yield event
                return
            decoder = dialect.decoder()
            for chunk in first:
                for event in decoder.feed(chunk):
                    yield event
            await asyncio.sleep(2.0)
            for chunk in rest:
                for event in decoder.feed(chunk):
                    yield event
            for event in decoder.finish():
                yield event

    async def look(place: str = "") -> str:
        """Look."""
        await asyncio.sleep(takes)
        return f"saw {place}"

    tools = [tool(look, effect="read"), tool(look, effect="read", name="stare")]
    return virtual.run(Agent(Wire(), tools).run("Go."))


@pytest.mark.parametrize(("takes", "outcome"), [(1.0, "returned"), (1000.0, "cancelled")])
@pytest.mark.parametrize(("dialect", "first", "rest", "why"), IN_REPLY)
def test_a_call_that_ran_is_not_said_to_have_not_run(dialect, first, rest, why, takes, outcome):
    result = run(dialect, first, rest, takes)
    (dropped,) = result.dropped
    assert (dropped.name, json.loads(dropped.arguments)) == ("look", {"place": "x"})
    assert (dropped.outcome, dropped.attempts) == (outcome, 1)
    (record,) = result.calls
    end = "ran to its end" if outcome == "returned" else "was given up"
    words = f"look was started while the reply still came, {end}, and its result was dropped"
    assert record.result.text.startswith(f"{words}; {why}" if why else f"{words}.")


@pytest.mark.parametrize(("takes", "outcome"), [(1.0, "returned"), (1000.0, "cancelled")])
@pytest.mark.parametrize(("rest", "calls"), NOT_IN_REPLY)
def test_a_call_that_is_not_in_the_reply_as_it_was_started_leaves_a_trace(rest, calls, takes, outcome):
    result = run(openai_responses, RESPONSES, rest, takes)
    assert [(each.name, each.arguments) for each in result.calls] == calls
    assert [(each.name, each.arguments, each.outcome) for each in result.dropped] == [
        ("look", X, outcome)
    ]
