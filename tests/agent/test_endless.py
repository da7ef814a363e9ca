"""Replies without end: the run's time and what may be held of a reply are kept while they come."""

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable

import pytest

from agent.kit import TRUNCATED, Desk, outcomes, told
from loop.sound import assert_sound
from rightcall import Agent, Budget
from rightcall.core.budget import Stop
from rightcall.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
    ModelEvent,
    ReasoningDelta,
    ReplyEnd,
    TextDelta,
)
from rightcall.core.message import Reply
from rightcall.core.parts import Call
from rightcall.core.request import Profile, Request
from rightcall.errors import ProtocolError
from rightcall.loop import ask
from rightcall.models.connect import connect

LONG = "x" * 10_000


class Endless:
    """A model that first says something and then the same again and again, without ever waiting."""

    profile = Profile()

    def __init__(self, *first: ModelEvent, again: Callable[[int], ModelEvent]) -> None:
        self._first = first
        self._again = again
        self.asked = 0
        self.said = 0

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        self.asked += 1
        if self.asked > 1:
            yield ReplyEnd(Reply((), "end"))
            return
        for event in self._first:
            yield event
        while True:
            self.said += 1
            yield self._again(self.said)


BEGUN = CallStart(0, "find", "a")
TIMELY = Budget(seconds=0.3)


@pytest.mark.parametrize(
    "model",
    [
        Endless(again=lambda _: TextDelta("")),
        Endless(TextDelta("So"), again=lambda _: ReasoningDelta("")),
        Endless(BEGUN, again=lambda _: CallDelta(0, "")),
    ],
    ids=["text", "reasoning", "arguments"],
)
async def test_a_runs_time_holds_while_a_stream_that_never_waits_is_read(model):
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0.01)
            beats += 1

    heart = asyncio.create_task(beat())
    # What never gives way cannot be ended from inside: without this the test would never end.
    watch = threading.Timer(5, setattr, (model, "_again", None))
    watch.start()
    try:
        started = time.monotonic()
        result = await Agent(model, [Desk().tool("find")], budget=TIMELY).run("Go.")
    finally:
        watch.cancel()
        heart.cancel()
    assert time.monotonic() - started < 1.5
    assert result.stop == Stop("limit", "seconds")
    assert beats, "others had no turn"


TOO_LONG = {
    "arguments": (Endless(BEGUN, again=lambda _: CallDelta(0, LONG)), 11),
    "arguments of the second call": (
        Endless(
            BEGUN,
            CallEnd(0, Call(id="a", name="find", arguments="{}")),
            CallStart(1, "find", "b"),
            again=lambda _: CallDelta(1, LONG),
        ),
        11,
    ),
    "text after a call": (Endless(BEGUN, again=lambda _: TextDelta(LONG)), 21),
    "reasoning after a call": (Endless(BEGUN, again=lambda _: ReasoningDelta(LONG)), 21),
    "calls": (Endless(again=lambda n: CallStart(n, "find", f"c{n}")), 51),
}


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(ask, "MAX_ARGUMENTS", 100_000)
    monkeypatch.setattr(ask, "MAX_REPLY", 200_000)
    monkeypatch.setattr(ask, "MAX_CALLS", 50)
    monkeypatch.setattr(ask, "_KEPT", 1000)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("model", "said"), TOO_LONG.values(), ids=TOO_LONG)
async def test_a_reply_that_is_too_long_is_broken_off_and_hardly_kept(model, said):
    desk = Desk()
    async with asyncio.timeout(10):
        result = await Agent(model, [desk.tool("find", effect="read")], budget=TIMELY).run("Go.")
    assert_sound(result.transcript)
    broken = result.transcript[1]
    assert (model.said, model.asked, desk.done) == (said, 2, [])
    assert (broken.stop, broken.stop_word.partition(":")[0]) == ("error", "protocol")
    assert {word for _, word in outcomes(result)} == {"truncated"}
    assert "find truncated: " + TRUNCATED.format(name="find") in told(result.transcript)
    assert max(len(str(part)) for part in broken.content) < 1200


@pytest.mark.usefixtures("small")
async def test_a_text_that_is_too_long_ends_the_run_and_says_why():
    result = await Agent(Endless(again=lambda _: TextDelta(LONG))).run("Go.")
    words = "protocol: the reply is longer than 200,000 characters"
    assert (result.stop, result.text) == (Stop("error", detail=words), "x" * 1000)


HUGE = Call(id="a", name="find", arguments=json.dumps({"what": "x" * 200_000}))
AT_ONCE = {
    "only at the end of the call": (BEGUN, CallEnd(0, HUGE)),
    "only at the end of the reply": (TextDelta("So"), ReplyEnd(Reply((HUGE,), "calls"))),
}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("events", AT_ONCE.values(), ids=AT_ONCE)
async def test_arguments_that_come_at_once_are_measured_as_well(events):
    desk = Desk()
    model = Endless(*events, again=lambda _: ReplyEnd(Reply((HUGE,), "calls")))
    result = await Agent(model, [desk.tool("find", effect="read")], budget=TIMELY).run("Go.")
    assert desk.done == []
    assert result.transcript[1].stop == "error"


@pytest.mark.usefixtures("small")
async def test_a_reply_of_nothing_but_too_much_is_raised():
    model = Endless(again=lambda _: ReplyEnd(Reply((HUGE,), "calls")))
    with pytest.raises(ProtocolError, match="arguments are longer than 100,000 characters"):
        await Agent(model, [Desk().tool("find")]).run("Go.")


def event_of(delta: dict) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    return b"data: " + json.dumps({"id": "r", "model": "m", "choices": [choice]}).encode() + b"\n\n"


def call_of(**more) -> bytes:
    return event_of({"tool_calls": [{"index": 0, **more}]})


async def test_endless_arguments_over_http_are_left_at_once_and_hung_up_on(monkeypatch):
    monkeypatch.setattr(ask, "MAX_ARGUMENTS", 1_000_000)
    hung_up, sent = asyncio.Event(), 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        writer.write(call_of(id="c", function={"name": "find", "arguments": '{"what": "'}))
        try:
            while True:
                writer.write(call_of(function={"arguments": LONG}))
                await writer.drain()
                sent += len(LONG)
        except ConnectionError:
            hung_up.set()
        finally:
            writer.transport.abort()

    listening = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    async with listening, connect("openai:m", base_url=url, api_key="k") as model:
        budget = Budget(turns=1, seconds=20)
        result = await Agent(model, [Desk().tool("find")], budget=budget).run("Go.")
        await asyncio.wait_for(hung_up.wait(), 10)
    assert result.stop == Stop("limit", "turns")
    assert outcomes(result) == [("find", "truncated")]
    assert sent < 40_000_000, "what the sockets hold, and no more"
