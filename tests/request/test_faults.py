"""A vendor that drops, stalls, splits, refuses and lies, over real HTTP on loopback."""

import asyncio
import json
import logging

import pytest

import rightcall as rc
from request.server import Answer, Server, dropped, endless, serving, silent, streamed, whole
from rightcall.core.events import ModelEvent, ReplyEnd, TextDelta
from rightcall.core.message import Reply, user_text
from rightcall.core.request import Request
from rightcall.core.transport import Timeouts
from rightcall.errors import (
    ProtocolError,
    RightcallError,
    TransportError,
    TransportTimeout,
    TruncatedStream,
    VendorError,
)
from rightcall.models.connect import connect
from rightcall.request.retry import Retry
from rightcall.request.wire_model import WireModel
from rightcall.transport.http import HttpTransport

KEY = "sk-test-0123456789abcdef"
SOON = Timeouts(connect=5.0, first_byte=0.8, between_chunks=0.8)
AT_ONCE = Retry(attempts=3, base=0.001)


def chunk(delta: dict, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + json.dumps({"id": "r", "model": "m", "choices": [choice]}).encode() + b"\n\n"


HELLO = (chunk({"role": "assistant", "content": "Hel"}), chunk({"content": "lo."}), chunk({}, "stop"))
DONE = b"data: [DONE]\n\n"
GOOD = streamed(*HELLO, DONE)
BODY = json.dumps(
    {
        "id": "r",
        "model": "m",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}
        ],
    }
).encode()


def refusal(status: int, **headers: str) -> Answer:
    error = {"error": {"message": f"no, {KEY}", "type": "t", "code": "c"}}
    return whole(json.dumps(error).encode(), status, **headers)


@pytest.fixture
async def transport():
    carrier = HttpTransport()
    yield carrier
    await carrier.close()


def model_at(server: Server, transport: HttpTransport, **options: object) -> WireModel:
    settings = {"retry": AT_ONCE, "timeouts": SOON, **options}
    return connect("openai:m", base_url=server.url, api_key=KEY, transport=transport, **settings)


async def events_of(model: WireModel) -> list[ModelEvent]:
    return [event async for event in model.stream(Request(messages=(user_text("Hi"),)))]


async def reply_of(model: WireModel) -> Reply:
    async with asyncio.timeout(20):
        last = (await events_of(model))[-1]
    assert isinstance(last, ReplyEnd)
    return last.reply


GOOD_ENDS = {
    "streamed": (GOOD,),
    "in one piece": (streamed(b"".join(HELLO) + DONE),),
    "byte by byte": (streamed(*[bytes([b]) for b in b"".join(HELLO) + DONE]),),
    "without the end mark": (streamed(*HELLO),),
    "a whole reply where a stream was asked for": (whole(BODY),),
    "429 with retry-after, then well": (refusal(429, retry_after="0"), GOOD),
    "429 with retry-after that is no number, then well": (refusal(429, retry_after="nan"), GOOD),
    "529, then well": (refusal(529), GOOD),
    "500 twice, then well": (refusal(500), refusal(500), GOOD),
    "dropped before anything, then well": (dropped, GOOD),
    "silent, then well": (silent, GOOD),
    "cut before anything, then well": (streamed(end=False), GOOD),
}


@pytest.mark.parametrize("answers", GOOD_ENDS.values(), ids=GOOD_ENDS)
async def test_an_exchange_that_can_succeed_does(answers, transport):
    async with serving(*answers) as server:
        assert (await reply_of(model_at(server, transport))).text == "Hello."


BAD_ENDS = {
    "401": ((refusal(401),), VendorError, 1),
    "400": ((refusal(400),), VendorError, 1),
    "429 for ever": ((refusal(429),), VendorError, 3),
    "429 for an hour": ((refusal(429, retry_after="3600"),), VendorError, 1),
    "500 for ever": ((refusal(500),), VendorError, 3),
    "an error body with status 200": ((refusal(200),), VendorError, 1),
    "html where json was due": ((whole(b"<html>Bad gateway</html>", 502, "text/html"),), VendorError, 3),
    "garbage": ((streamed(b"data: {nonsense\n\n"),), ProtocolError, 1),
    "half a json": ((whole(BODY[:40]),), ProtocolError, 1),
    "an empty stream": ((streamed(),), TruncatedStream, 1),
    "silence for ever": ((silent,), TransportTimeout, 3),
    "hangs up for ever": ((dropped,), TransportError, 3),
    "cut in the middle": ((streamed(*HELLO[:1], end=False),), TransportError, 1),
    "ends without its end": ((streamed(*HELLO[:2]),), TruncatedStream, 1),
    "stalls in the middle": ((streamed(*HELLO[:2], pause=5),), TransportTimeout, 1),
    "an error in the stream": (
        (streamed(HELLO[0], b'data: {"error": {"message": "overloaded"}}\n\n'),),
        VendorError,
        1,
    ),
}


@pytest.mark.parametrize(("answers", "error", "requests"), BAD_ENDS.values(), ids=BAD_ENDS)
async def test_an_exchange_that_cannot_succeed_ends_in_its_error_after_so_many_requests(
    answers, error, requests, transport, caplog
):
    caplog.set_level(logging.DEBUG)
    async with serving(*answers) as server:
        model = model_at(server, transport)
        with pytest.raises(RightcallError) as caught:
            await reply_of(model)
        assert len(server.requests) == requests
    assert type(caught.value) is error
    assert KEY not in f"{caught.value!r} {caught.value} {model!r} {caplog.text}"


async def test_a_key_in_a_header_of_the_providers_own_is_hidden_as_well(transport):
    async with serving(refusal(401)) as server:
        model = connect("azure:m", base_url=server.url, api_key=KEY, transport=transport)
        with pytest.raises(VendorError) as caught:
            await reply_of(model)
    assert server.requests[0][1]["api-key"] == KEY
    assert KEY not in f"{caught.value!r} {caught.value} {model!r}"


async def test_nothing_is_repeated_once_something_was_given_out(transport):
    async with serving(streamed(*HELLO[:2], end=False), GOOD) as server:
        stream = model_at(server, transport).stream(Request(messages=(user_text("Hi"),)))
        assert [await anext(stream), await anext(stream)] == [TextDelta("Hel"), TextDelta("lo.")]
        with pytest.raises(TransportError):
            await anext(stream)
        assert len(server.requests) == 1


async def test_an_endless_stream_can_be_left_at_any_time(transport):
    async with serving(endless(HELLO[0])) as server:
        stream = model_at(server, transport).stream(Request(messages=(user_text("Hi"),)))
        for _ in range(1000):
            assert await anext(stream) == TextDelta("Hel")
        await stream.aclose()


async def test_an_endless_stream_is_ended_by_the_time_for_the_whole(transport):
    times = Timeouts(first_byte=1.0, between_chunks=1.0, whole=0.3)
    async with serving(endless(b": keep-alive\n\n")) as server:
        with pytest.raises(TransportTimeout):
            await reply_of(model_at(server, transport, timeouts=times, retry=Retry(attempts=1)))


async def test_an_endless_line_is_refused_and_not_held(transport, monkeypatch):
    monkeypatch.setattr("rightcall.core.sse.MAX_EVENT_BYTES", 1_000_000)
    async with serving(endless(b"x" * 10_000)) as server:
        with pytest.raises(ProtocolError):
            await reply_of(model_at(server, transport))


BITS = {
    "text": HELLO[0],
    "arguments": chunk({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f"}}]}),
    "nothing": b": keep-alive\n\n",
}


@pytest.mark.parametrize("bit", BITS.values(), ids=BITS)
async def test_a_stream_without_end_is_refused_although_each_event_is_short(bit, transport, monkeypatch):
    monkeypatch.setattr("rightcall.request.wire_model.MAX_REPLY_BYTES", 1_000_000)
    async with serving(endless(bit * 100)) as server:
        with pytest.raises(ProtocolError, match="the reply is longer than 1,000,000 bytes"):
            await reply_of(model_at(server, transport, timeouts=Timeouts()))
        assert len(server.requests) == 1


async def test_connections_are_used_again(transport):
    ports = set()

    async def noting(writer: asyncio.StreamWriter) -> None:
        ports.add(writer.get_extra_info("peername"))
        await GOOD(writer)

    async with serving(noting) as server:
        for _ in range(5):
            await reply_of(model_at(server, transport))
    assert len(ports) == 1


async def test_a_whole_reply_gives_the_same_events_as_a_streamed_one_in_one_piece(transport):
    async with serving(whole(BODY)) as server:
        whole_events = await events_of(model_at(server, transport, streaming=False))
        assert json.loads(server.requests[0][2]).get("stream") in {None, False}
    assert [type(event) for event in whole_events] == [TextDelta, ReplyEnd]


async def test_an_agent_runs_over_http_and_its_broken_calls_are_told_to_the_model(transport):
    @rc.tool
    def look(place: str) -> str:
        raise AssertionError("a call in a broken stream was run")

    begun = {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "look", "arguments": '{"pl'}}]}
    async with serving(streamed(chunk(begun), end=False), GOOD) as server:
        result = await rc.Agent(model_at(server, transport), [look]).run("Look.")
        sent = json.loads(server.requests[1][2])
    assert (result.text, [each.outcome for each in result.calls]) == ("Hello.", ["truncated"])
    assert [message["role"] for message in sent["messages"]] == ["user", "assistant", "tool"]
