"""Cohere's replies: what it really sent, and what must come of the odd and the broken."""

import json
from pathlib import Path
from typing import Any

import pytest

from rightcall.core.events import CallEnd
from rightcall.core.message import Reasoning, Reply
from rightcall.core.parts import Call, Text, Usage
from rightcall.errors import ProtocolError, TruncatedStream, VendorError
from rightcall.wire import cohere
from wire.recorded import assert_events_tell_the_reply, fed, reply_of, same_at_every_cut


def stream(*events: dict[str, Any]) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def told(kind: str, member: str, value: Any, at: int | None = None) -> dict[str, Any]:
    return {"type": kind, "index": at, "delta": {"message": {member: value}}}


def ended(word: str = "COMPLETE", **more: Any) -> dict[str, Any]:
    return {"type": "message-end", "delta": {"finish_reason": word, **more}}


def started(at: int, name: str = "look") -> dict[str, Any]:
    call = {"id": f"c{at}", "type": "function", "function": {"name": name, "arguments": ""}}
    return told("tool-call-start", "tool_calls", call, at)


def piece(at: int, text: str) -> dict[str, Any]:
    return told("tool-call-delta", "tool_calls", {"function": {"arguments": text}}, at)


PLANNED = stream(
    {"id": "r", "type": "message-start", "delta": {"message": {"role": "assistant"}}},
    told("tool-plan-delta", "tool_plan", "I will "),
    told("tool-plan-delta", "tool_plan", "look."),
    started(0),
    piece(0, '{"q": '),
    piece(0, "1}"),
    {"type": "tool-call-end", "index": 0},
    started(1),
    piece(1, "{}"),
    {"type": "tool-call-end", "index": 1},
    ended("TOOL_CALL", usage={"tokens": {"input_tokens": 9, "output_tokens": 3}, "cached_tokens": 4}),
)


def test_a_plan_is_a_thought_and_calls_stay_apart_at_every_cut():
    events = same_at_every_cut(cohere, PLANNED)
    assert_events_tell_the_reply(events)
    assert reply_of(events) == Reply(
        (
            Reasoning("I will look.", {"cohere": {"field": "tool_plan"}}),
            Call(id="c0", name="look", arguments='{"q": 1}'),
            Call(id="c1", name="look", arguments="{}"),
        ),
        "calls",
        "TOOL_CALL",
        Usage(input_tokens=9, output_tokens=3, cached_tokens=4),
        "",
        {"cohere": {"id": "r"}},
    )


def test_a_call_that_was_cut_off_never_ends():
    data = stream(started(0), piece(0, "{}"), started(1), piece(1, '{"q'), ended("MAX_TOKENS"))
    events = fed(cohere.decoder(), data)
    assert [event.index for event in events if isinstance(event, CallEnd)] == [0]
    assert [call.truncated for call in reply_of(events).calls] == [False, True]


def test_no_arguments_are_said_as_null():
    data = stream(started(0), piece(0, "null"), {"type": "tool-call-end", "index": 0}, ended())
    assert [call.arguments for call in reply_of(fed(cohere.decoder(), data)).calls] == ["{}"]


def test_citations_stay_with_their_text_or_with_the_reply():
    cited = {"start": 0, "end": 2, "text": "Hi"}
    text = told("content-delta", "content", {"text": "Hi"}, 0)
    reply = reply_of(
        fed(
            cohere.decoder(),
            stream(text, told("citation-start", "citations", cited, 0), ended()),
        )
    )
    assert reply.content == (Text("Hi", {"cohere": {"citations": [cited]}}),)
    alone = stream(started(0), told("citation-start", "citations", [cited], 0), ended())
    reply = reply_of(fed(cohere.decoder(), alone))
    assert reply.vendor == {"cohere": {"citations": [cited]}}


def test_a_body_in_place_of_a_stream_is_read():
    body = b' {"message": {"content": "Hi"}, "finish_reason": "COMPLETE"}'
    for cut in range(len(body) + 1):
        assert reply_of(fed(cohere.decoder(), body[:cut], body[cut:])).text == "Hi"


BROKEN = {
    "no JSON": (b"data: {]\n\n", ProtocolError, "cannot be read"),
    "no object": (b"data: [1]\n\n", ProtocolError, "is not an object"),
    "arguments of nobody": (stream(piece(3, "{}")), ProtocolError, "where no call is open"),
    "an error in its place": (b'data: {"message": "no such model"}\n\n', VendorError, "no such model"),
    "no end": (stream(started(0)), TruncatedStream, "before message-end"),
    "half an event": (b'data: {"type": "mess', TruncatedStream, "in the middle of an event"),
    "half a body": (b'{"message": {', TruncatedStream, "is not JSON"),
    "another body": (b'{"x": 1}', ProtocolError, "has no message"),
    "a list": (b"[]", ProtocolError, "is not an object"),
}


@pytest.mark.parametrize(("data", "kind", "words"), BROKEN.values(), ids=BROKEN)
def test_what_breaks_the_form_is_said(data, kind, words):
    with pytest.raises(kind, match=words):
        fed(cohere.decoder(), data)


def test_a_refusal_over_http():
    error = cohere.error(429, {"retry-after": "3"}, b'{"id": "1", "message": "Slow down."}')
    assert (error.message, error.kind, error.retryable, error.retry_after) == (
        "Slow down.",
        "rate_limit",
        True,
        3.0,
    )


def test_what_was_recorded_is_read_and_its_requests_are_written(shared_data: Path):
    folder = shared_data / "wire-bedrock"
    if not folder.is_dir():
        pytest.skip(f"the recorded replies of Cohere are not here: {folder}")
    lines = (folder / "manifest.jsonl").read_text().split("\n")
    rows = [row for line in lines if line and (row := json.loads(line))["api"] == "cohere.chat"]
    assert len(rows) == 4
    for row in rows:
        value = json.loads((folder / row["body"]).read_bytes())
        reply = cohere.decode((folder / row["body"]).read_bytes())
        message, tokens = value["message"], value["usage"]["tokens"]
        assert reply.text == "".join(part["text"] for part in message.get("content", ()))
        calls = [(call.id, call.name, call.arguments) for call in reply.calls]
        assert calls == [
            (call["id"], call["function"]["name"], call["function"]["arguments"])
            for call in message.get("tool_calls", ())
        ]
        assert reply.stop == ("calls" if row["tool_call"] else "end")
        counts = (reply.usage.input_tokens, reply.usage.output_tokens)
        assert counts == (tokens["input_tokens"], tokens["output_tokens"])
