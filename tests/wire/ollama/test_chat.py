"""Ollama's own Chat: requests held against its client's types, and the odd and the broken."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

import rightcall as rc
from conformance.scenarios import BASE
from conformance.scenarios_ollama import WIRES, line, stream
from request.server import serving, streamed, whole
from rightcall.core.message import Reply, Results, User
from rightcall.core.parts import Call, Media, Result, Text
from rightcall.core.request import Request
from rightcall.errors import EncodeError, ProtocolError, TruncatedStream, VendorError
from rightcall.wire import ollama
from rightcall.wire.ollama.messages import RAW_ARGUMENTS
from wire.ollama.chat import ChatRequest
from wire.recorded import fed, reply_of


def sent(request: Request) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(ollama.encode(request, model="qwen3", stream=True).body)
    ChatRequest.model_validate(body)
    return body


def test_what_it_gives_more_than_its_imitation_can_be_asked_for():
    options = {
        "temperature": 0.5, "top_p": 0.9, "seed": 7, "stop": ["END"], "reasoning": "max", "logprobs": 3,
        "extra": {"options": {"num_ctx": 32768}, "keep_alive": "30m"},
    }  # fmt: skip
    body = sent(replace(BASE, options=options, output={"type": "object", "title": "x"}))
    assert body["options"] == {
        "num_predict": 100, "temperature": 0.5, "top_p": 0.9, "seed": 7, "stop": ["END"],
        "num_ctx": 32768,
    }  # fmt: skip
    assert (body["think"], body["keep_alive"], body["top_logprobs"]) == ("high", "30m", 3)
    assert body["format"] == {"type": "object", "title": "x"}
    assert sent(replace(BASE, options={"reasoning": "none"}))["think"] is False


def test_a_conversation_is_its_messages():
    png = Media(b"x", "image/png")
    calls = [Call(id="a", name="look", arguments='{"n": 1.0}'), Call(id="", name="look", arguments="{")]
    results = [
        Result(call_id="a", name="look", outcome="returned", content=(Text("one"), png)),
        Result(call_id="", name="look", outcome="failed", content=(Text("no"),)),
    ]
    messages = (
        User((Text("See"), png)),
        Reply((Text("I look."), *calls)),
        Results(tuple(results)),
        User((Text("Shout."),), "developer"),
    )
    assert sent(Request(messages=messages, system="Be brief."))["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "See", "images": ["eA=="]},
        {
            "role": "assistant", "content": "I look.",
            "tool_calls": [
                {"id": "a", "function": {"name": "look", "arguments": {"n": 1.0}}},
                {"function": {"name": "look", "arguments": {RAW_ARGUMENTS: "{"}}},
            ],
        },
        {
            "role": "tool", "tool_name": "look", "tool_call_id": "a", "content": "one",
            "images": ["eA=="],
        },
        {"role": "tool", "tool_name": "look", "content": "Error: no"},
        {"role": "system", "content": "Shout."},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("request_", "where"),
    [
        (Request(messages=()), "messages"),
        (replace(BASE, options={"reasoning": 100}), "option 'reasoning'"),
        (replace(BASE, choice="required"), "choice"),
    ],
)
def test_what_cannot_be_said_is_refused_with_its_place(request_, where):
    with pytest.raises(EncodeError) as caught:
        ollama.encode(request_, model="m", stream=False)
    assert caught.value.where == where


def test_durations_and_likelihoods_are_kept():
    likely = [{"token": "Hi", "logprob": -0.5, "top_logprobs": [{"token": "Ho", "logprob": -1}]}]
    body = stream(line({"content": "Hi"}, logprobs=likely), line({}, done=True, load_duration=7))
    reply = reply_of(fed(ollama.decoder(), body))
    assert reply.vendor["ollama"] == {"load_duration": 7}
    assert (reply.logprobs[0].logprob, reply.logprobs[0].top) == (-0.5, (("Ho", -1.0),))
    assert reply.model == "qwen3"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"[]", ProtocolError),
        (b'{"message": {}, "done": false}', ProtocolError),
        (b'{"message": {"content', TruncatedStream),
        (b'{"error": "model not found"}', VendorError),
    ],
)
def test_what_is_no_reply_is_an_error(body, kind):
    with pytest.raises(kind):
        ollama.decode(body)


def test_a_last_line_needs_no_end_and_blank_lines_and_what_follows_say_nothing():
    body = b"\r\n" + WIRES["single-call"][0] + b'{"error": "later"}\n'
    assert reply_of(fed(ollama.decoder(), body)).calls
    assert reply_of(fed(ollama.decoder(), WIRES["single-call"][0].rstrip())).calls


async def test_a_run_over_http_and_a_model_that_is_not_there():
    @rc.tool
    def look(q: str) -> str:
        """Look."""
        return q

    gone = whole(b'{"error": "model \'qwen3\' not found"}', 404)
    replies = streamed(WIRES["reasoning"][0]), streamed(WIRES["stop-sequence"][0]), gone
    async with serving(*replies) as server:
        agent = rc.Agent(rc.connect("ollama-native:qwen3", base_url=server.url), [look])
        assert (await agent.run("Hi")).text == "One, two"
        target, headers, body = server.requests[1]
        assert (target, "authorization" in headers) == ("/api/chat", False)
        assert json.loads(body)["messages"][1]["thinking"] == "I must look."
        with pytest.raises(VendorError, match="not found"):
            await agent.run("Hi")
