"""Recorded replies through the server halves: the vendor's SDK then reads what it reads directly.

Every recording is written for every dialect; the SDKs read one in twelve, and all of them where
RIGHTCALL_EVERY_RECORDING is set (``make test WHAT=recordings``).
"""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from rightcall.core.events import CallStart, ModelEvent, ReplyEnd, TextDelta, reply_events
from rightcall.core.message import Reply, user_text
from rightcall.core.parts import Call
from rightcall.core.request import ClientRequest, ReplyHeader, Request
from rightcall.errors import RightcallError
from rightcall.wire.client_response import REFUSED, refusal_in
from rightcall.wire.dialects import SERVED, load, load_server
from rightcall.wire.payload import mapping
from wire.recorded import fed, rows
from wire.server.sdks import SDKS, STOPS, Heard, expected

APIS = {
    "openai_chat": "openai.chat",
    "openai_responses": "openai.responses",
    "anthropic": "anthropic.messages",
    "gemini": "gemini.generateContent",
}
ANSWER = ReplyHeader(id="abc123", model="m", created=5)
ASKED = ClientRequest(request=Request(messages=(user_text("Hi"),)), model="m", stream=True)
EVERY = 1 if os.environ.get("RIGHTCALL_EVERY_RECORDING") else 12
READ_OTHERWISE = (b'"iterations"', b"partialArgs", b'"grok-')
"""What we add up and the SDK does not: what several steps took, arguments as leaves, and thoughts that
xAI counts beside the answer."""
every_dialect = pytest.mark.parametrize("name", SERVED)


def recordings(shared_data: Any, name: str) -> Iterator[tuple[Any, list[ModelEvent], Reply]]:
    """The recordings that hold a reply: which one, its events and the reply."""
    for stream in (True, False):
        for row in rows(shared_data, APIS[name], stream=stream):
            body = row["path"].read_bytes()
            try:
                if stream:
                    events = fed(load(name).decoder(), body)
                else:
                    events = list(reply_events(load(name).decode(body)))
            except RightcallError:
                continue
            last = events[-1]
            assert isinstance(last, ReplyEnd)
            begun = sum([isinstance(event, CallStart) for event in events])
            streamed = "".join([event.text for event in events if isinstance(event, TextDelta)])
            # Some hold several replies, of which the last counts, or were shortened by hand.
            is_one = begun == len(last.reply.calls) and streamed == last.reply.text
            is_one = is_one and body.count(b'"message_start"') < 2 and bool(last.reply.usage.tokens)
            if last.reply.stop != "error" and is_one and all(map(is_plain, last.reply.calls)):
                yield row, events, last.reply


def is_plain(call: Call) -> bool:
    """Whether any client could have offered the tool: not one that only the vendor has."""
    kind = mapping(call.vendor.get("openai_responses")).get("type", "function_call")
    return call.form == "json" and kind == "function_call"


def written(name: str, events: list[ModelEvent]) -> list[bytes]:
    """What a client of that dialect is sent."""
    writer = load_server(name).writer(ASKED, ANSWER)
    return [piece for event in events if (piece := writer.write(event))]


@every_dialect
def test_every_recording_reads_the_same_in_every_dialect(shared_data, name):
    count = 0
    for row, events, reply in recordings(shared_data, name):
        count += 1
        for other in SERVED:
            last = fed(load(other).decoder(), *written(other, events))[-1]
            whole = load(other).decode(load_server(other).encode_reply(reply, ASKED, ANSWER))
            assert isinstance(last, ReplyEnd)
            for read in (last.reply, whole):
                assert heard(read, other) == wanted(reply, other), (row["id"], other)
    assert count > 15


def heard(reply: Reply, name: str) -> Heard:
    """A reply as it was read again, in the words of its dialect."""
    return expected(reply, name)


def wanted(reply: Reply, name: str) -> Heard:
    """A reply as a client of that dialect is to read it."""
    words = refusal_in(reply)
    seen = expected(reply, name, refusal=words)
    stop = {"anthropic": {"filtered": "refusal"}, "gemini": {"refusal": "SAFETY"}}.get(name, {})
    return seen._replace(stop=stop.get(reply.stop, seen.stop))


@every_dialect
def test_the_vendors_sdk_reads_what_it_reads_directly(shared_data, name):
    compared = 0
    for at, (row, events, reply) in enumerate(recordings(shared_data, name)):
        body = row["path"].read_bytes()
        if at % EVERY or any(word in body for word in READ_OTHERWISE):
            continue
        try:
            direct = SDKS[name]([body], stream=row["stream"])
        except Exception:
            # Hosts imitate the vendor, and its SDK does not read all of them.
            continue
        compared += 1
        if row["stream"]:
            ours = SDKS[name](written(name, events), stream=True)
        else:
            ours = SDKS[name]([load_server(name).encode_reply(reply, ASKED, ANSWER)], stream=False)
        assert (ours.text, ours.calls) == (direct.text, direct.calls), row["id"]
        assert ours.stop == STOPS[name][reply.stop], row["id"]
        # Some hosts count where the SDK does not look.
        counts = zip(ours.usage, direct.usage, strict=True)
        assert all(own == there or not there for own, there in counts), row["id"]
    assert compared


@every_dialect
def test_the_vendors_sdk_reads_the_replies_of_other_vendors(shared_data, name):
    for vendor in SERVED:
        for at, (row, events, reply) in enumerate(recordings(shared_data, vendor)):
            if vendor == name or at % (2 * EVERY):
                continue
            ours = SDKS[name](written(name, events), stream=True)
            assert ours._replace(ids=()) == wanted(reply, name), (row["id"], REFUSED)
