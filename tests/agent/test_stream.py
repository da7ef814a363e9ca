"""A run as the events it is made of."""

import asyncio
from contextlib import aclosing
from itertools import pairwise

import pytest

from agent.kit import Desk
from loop.quiet import assert_nothing_is_left
from loop.sound import assert_sound
from rightcall import Agent
from rightcall.core.message import Reasoning
from rightcall.declare.function import tool
from rightcall.errors import TransportError
from rightcall.loop.events import (
    CallDelta,
    CallEnd,
    CallStart,
    ReasoningDelta,
    ReplyEnd,
    ResultEnd,
    RunEnd,
    TextDelta,
    TurnStart,
)
from rightcall.testing import Break, ScriptedModel, Turn, call, reply

pytestmark = pytest.mark.usefixtures("nothing_is_left")

FIND = call("find", what="a long piece of text")


async def events(agent: Agent, prompt: str = "Go.", **options):
    return [event async for event in agent.stream(prompt, **options)]


def kinds(came) -> list[str]:
    """The kinds of the events, each once where it comes several times in a row."""
    names = [type(event).__name__ for event in came]
    return [name for before, name in pairwise(["", *names]) if name != before]


async def test_the_events_of_a_run_come_in_order_and_end_with_its_result():
    model = ScriptedModel([reply("Let me see.", Reasoning("hm"), FIND, FIND), reply("Found it.")])
    came = await events(Agent(model, [Desk().tool("find")]))
    assert kinds(came) == [
        "TurnStart",
        "TextDelta",
        "ReasoningDelta",
        "CallStart",
        "CallDelta",
        "CallEnd",
        "CallStart",
        "CallDelta",
        "CallEnd",
        "ReplyEnd",
        "ResultEnd",
        "TurnStart",
        "TextDelta",
        "ReplyEnd",
        "RunEnd",
    ]
    assert [event.turn for event in came if isinstance(event, TurnStart)] == [1, 2]
    result = came[-1].result
    assert (
        "".join(event.text for event in came if isinstance(event, TextDelta)) == "Let me see.Found it."
    )
    assert "".join(event.text for event in came if isinstance(event, ReasoningDelta)) == "hm"
    assert [event.reply for event in came if isinstance(event, ReplyEnd)] == list(result.replies)
    assert [event.result for event in came if isinstance(event, ResultEnd)] == [
        record.result for record in result.calls
    ]


async def test_a_stream_comes_to_the_same_as_a_run():
    def agent() -> Agent:
        script = [reply("So:", call("find"), call("find", id="x", what="y"), call("nope")), "Done."]
        return Agent(ScriptedModel(script), [Desk().tool("find")])

    streamed, run = (await events(agent()))[-1].result, await agent().run("Go.")
    assert (streamed.transcript, streamed.stop) == (run.transcript, run.stop)


GIVEN_IDS = {
    "good": ["a", "b", "c"],
    "none": ["", "", ""],
    "the same": ["a", "a", "a"],
    "one that will be made up": ["", "call_1_0", "call_1_2"],
    "one made up before": ["call_1_1", "", ""],
}


@pytest.mark.parametrize("given", GIVEN_IDS.values(), ids=GIVEN_IDS)
@pytest.mark.parametrize("cut", [None, 9], ids=["whole", "broken"])
async def test_calls_are_shown_with_the_ids_that_they_have_in_the_transcript(given, cut):
    first = reply(*[call("find", id=one, what=str(at)) for at, one in enumerate(given)])
    turn = Turn(reply=first, breaks=None if cut is None else Break(cut))
    model = ScriptedModel([turn, reply(call("find", id="a")), "Done."])
    came = await events(Agent(model, [Desk().tool("find")]))
    result = came[-1].result
    assert_sound(result.transcript)
    ids = [record.call.id for record in result.calls]
    assert [event.id for event in came if isinstance(event, CallStart)] == ids
    ended = [event.call.id for event in came if isinstance(event, CallEnd)]
    # Of a broken reply one call has ended and one has not.
    assert ended == (ids if cut is None else [ids[0], ids[2]])
    assert {event.result.call_id for event in came if isinstance(event, ResultEnd)} == set(ids)
    replies = [event.reply for event in came if isinstance(event, ReplyEnd)]
    assert replies == [each for each in result.replies if each.stop != "error"]


async def test_arguments_are_readable_while_they_come():
    # A pause after each piece: the view is a live one, and a reader that lags sees more of it.
    first = Turn(reply=reply(call("find", what="abcdef")), pause=0.001)
    model = ScriptedModel([first, "Done."], fragment=4)
    seen = [
        dict(event.so_far.value or {})
        async for event in Agent(model, [Desk().tool("find")]).stream("Go.")
        if isinstance(event, CallDelta)
    ]
    assert seen == [{}, {}, {"what": "abc"}, {"what": "abcdef"}, {"what": "abcdef"}]


async def test_the_arguments_of_two_calls_do_not_mix():
    model = ScriptedModel(
        [reply(call("find", what="one"), call("find", what="two")), "Done."], fragment=3
    )
    last = {
        event.index: event.so_far
        async for event in Agent(model, [Desk().tool("find")]).stream("Go.")
        if isinstance(event, CallDelta)
    }
    assert {index: view.value for index, view in last.items()} == {
        0: {"what": "one"},
        1: {"what": "two"},
    }
    assert all(view.is_complete for view in last.values())


async def test_a_result_is_shown_as_soon_as_there_is_one():
    slow_may_end = asyncio.Event()

    @tool(effect="read")
    async def wait() -> str:
        """Wait."""
        await slow_may_end.wait()
        return "waited"

    @tool(effect="read")
    async def go() -> str:
        """Go."""
        return "went"

    model = ScriptedModel([reply(call("wait"), call("go")), "Done."])
    came = []
    async with asyncio.timeout(5):
        async for event in Agent(model, [wait, go]).stream("Go."):
            if isinstance(event, ResultEnd):
                came.append(event.result.text)
                slow_may_end.set()
    assert came == ["went", "waited"]


@pytest.mark.parametrize("closing", [True, False], ids=["aclosing", "plain break"])
@pytest.mark.parametrize("until", [TurnStart, TextDelta, CallEnd])
async def test_a_reader_that_leaves_early_ends_the_run(until, closing):
    started, stopped = asyncio.Event(), asyncio.Event()

    @tool(effect="read")
    async def hang() -> str:
        """Hang."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return ""

    async def read(stream) -> None:
        async for event in stream:
            if isinstance(event, until):
                if until is CallEnd:
                    await started.wait()
                break

    agent = Agent(ScriptedModel([reply("So:", call("hang"), "and")]), [hang])
    async with asyncio.timeout(5):
        if closing:
            async with aclosing(agent.stream("Go.")) as stream:
                await read(stream)
        else:
            await read(agent.stream("Go."))
            while len(asyncio.all_tasks()) > 1:
                await asyncio.sleep(0)
    assert_nothing_is_left()
    assert stopped.is_set() == started.is_set()


async def test_a_reader_that_is_cancelled_ends_the_run():
    started = asyncio.Event()

    @tool
    async def hang() -> None:
        """Hang."""
        started.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(events(Agent(ScriptedModel([reply(call("hang"))]), [hang])))
    await asyncio.wait_for(started.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert_nothing_is_left()


async def test_what_a_run_raises_comes_after_its_events():
    model = ScriptedModel([reply(call("find")), Turn(breaks=Break(0, TransportError("lost")))])
    came = []
    with pytest.raises(TransportError, match="lost") as caught:
        await _collect(Agent(model, [Desk().tool("find")]), came)
    assert kinds(came)[-3:] == ["ReplyEnd", "ResultEnd", "TurnStart"]
    assert_sound(caught.value.result.transcript)


async def _collect(agent: Agent, came: list) -> None:
    async for event in agent.stream("Go."):
        came += [event]


async def test_a_slow_reader_misses_nothing():
    model = ScriptedModel([reply("abcdefgh")], fragment=1)
    texts = []
    async for event in Agent(model).stream("Go."):
        await asyncio.sleep(0.002)
        if isinstance(event, TextDelta):
            texts.append(event.text)
    assert (texts, isinstance(event, RunEnd)) == (list("abcdefgh"), True)


async def test_nothing_happens_until_somebody_reads():
    model = ScriptedModel(["Hi."])
    stream = Agent(model).stream("Go.")
    await asyncio.sleep(0)
    assert model.requests == []
    assert isinstance([event async for event in stream][-1], RunEnd)
