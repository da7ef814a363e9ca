"""Models and tools that break or hang: what the caller gets, and when."""

import asyncio
import pickle
import time

import pytest

from agent.kit import TRUNCATED, Desk, outcomes, told
from loop.quiet import assert_nothing_is_left
from loop.sound import assert_sound
from loop.virtual import Stuck
from rightcall import Agent, Budget, Context, Limits
from rightcall.core.budget import Stop
from rightcall.core.entry import RunEnded, RunFailed
from rightcall.core.events import CallDelta, CallEnd, CallStart, ReplyEnd, TextDelta
from rightcall.core.message import Reply, user_text
from rightcall.declare.function import tool
from rightcall.errors import ProtocolError, TransportError, TransportTimeout, UsageError, VendorError
from rightcall.gate import concurrency
from rightcall.record.memory import MemoryJournal
from rightcall.testing import Break, ScriptedModel, Turn, call, reply

pytestmark = pytest.mark.usefixtures("nothing_is_left")

ERRORS = [
    VendorError("overloaded", status=529, retryable=True),
    TransportError("lost"),
    TransportTimeout("too slow"),
    ProtocolError("not JSON"),
]
NO_TIME = Stop("limit", "seconds")


def named(error: Exception) -> str:
    return type(error).__name__


@pytest.mark.parametrize("error", ERRORS, ids=named)
async def test_an_error_before_anything_arrived_is_raised_with_what_the_run_had_come_to(error):
    desk = Desk()
    model = ScriptedModel([reply(call("find", what="x")), Turn(breaks=Break(0, error))])
    with pytest.raises(type(error)) as caught:
        await Agent(model, [desk.tool("find")]).run("Go.")
    assert caught.value is error
    result = error.result
    assert_sound(result.transcript)
    assert told(result.transcript)[-1] == "find returned: find x: done"
    assert (result.stop, outcomes(result)) == (Stop("error", detail=str(error)), [("find", "returned")])
    assert pickle.loads(pickle.dumps(error)).result == result


async def test_a_run_that_an_error_ended_can_be_gone_on_with():
    desk = Desk()
    script = [reply(call("find", what="x")), Turn(breaks=Break(0, TransportError("lost"))), "Found."]
    agent = Agent(ScriptedModel(script), [desk.tool("find")])
    with pytest.raises(TransportError) as caught:
        await agent.run("Go.")
    result = await agent.resume(caught.value.result, {})
    assert_sound(result.transcript)
    assert (result.stop, result.text, desk.done) == (Stop("end"), "Found.", ["find x"])
    assert outcomes(result) == [("find", "returned")]


async def test_an_error_is_recorded_and_the_run_recovered_from_there():
    desk, journal = Desk(), MemoryJournal()
    script = [reply(call("find", what="x")), Turn(breaks=Break(0, TransportError("lost"))), "Found."]
    agent = Agent(ScriptedModel(script), [desk.tool("find")], journal=journal)
    with pytest.raises(TransportError):
        await agent.run("Go.", run="r")
    assert journal.entries("r")[-1] == RunFailed(code="transport", message="lost")
    result = await agent.recover("r")
    assert (result.text, desk.done) == ("Found.", ["find x"])
    assert journal.entries("r")[-1] == RunEnded(stop=Stop("end"))


@pytest.mark.parametrize("error", [None, *ERRORS], ids=named)
async def test_an_error_in_the_middle_of_a_reply_breaks_it_and_the_calls_in_it_are_not_run(error):
    desk = Desk()
    first = reply("So:", call("find", id="a", what="x"), call("find", id="b", what="y"))
    # One event for the text, five for a call; the second call has come as far as its first piece.
    broken = Turn(reply=first, breaks=Break(1 + 5 + 2, error))
    model = ScriptedModel([broken, "I see."])
    result = await Agent(model, [desk.tool("find")]).run("Go.")
    assert_sound(result.transcript)
    assert desk.done == []
    assert told(result.transcript)[1:] == [
        'model: So: find({"what":"x"}) find({"wh)',
        *["find truncated: " + TRUNCATED.format(name="find")] * 2,
        "model: I see.",
    ]
    word = "no end" if error is None else f"{error.code}: {error}"
    assert (result.transcript[1].stop, result.transcript[1].stop_word) == ("error", word)


async def test_a_text_that_broke_off_ends_the_run_and_says_why():
    broken = Turn(reply=reply("It is a long"), breaks=Break(2, TransportError("lost")))
    result = await Agent(ScriptedModel([broken])).run("Go.")
    assert (result.text, result.stop) == ("It is a ", Stop("error", detail="transport: lost"))


async def test_a_text_that_the_end_of_time_broke_off_is_not_asked_for_again():
    agent = Agent(Stuck(TextDelta("Well")), retry_broken=True, budget=Budget(seconds=0.03))
    assert (await agent.run("Go.")).stop == NO_TIME


@pytest.mark.parametrize("error", [None, TransportError("lost")], ids=named)
async def test_what_goes_wrong_after_the_end_of_a_reply_takes_nothing_from_it(error):
    whole = Turn(reply=reply("It is so."), breaks=Break(1000, error))
    result = await Agent(ScriptedModel([whole])).run("Go.")
    assert (result.text, result.stop) == ("It is so.", Stop("end"))


async def test_a_stream_that_ends_without_a_word_breaks_the_reply():
    result = await Agent(ScriptedModel([Turn(reply=reply("Hi"), breaks=Break(0))])).run("Go.")
    assert result.transcript == (user_text("Go."), Reply((), "error", "no end", model="scripted"))
    assert result.stop == Stop("error", detail="no end")


async def test_a_model_that_is_asked_more_than_it_was_scripted_for_ends_the_run():
    with pytest.raises(UsageError, match="the script has only 1 replies") as caught:
        await Agent(ScriptedModel([reply(call("nope"))])).run("Go.")
    assert len(caught.value.result.transcript) == 3


FIND = call("find", id="a", what="x")


@pytest.mark.parametrize(
    ("came", "text"),
    [
        pytest.param([], "", id="before the first word"),
        pytest.param([TextDelta("Well")], "Well", id="between words"),
    ],
)
async def test_a_model_that_hangs_is_ended_by_the_budget(came, text):
    started = time.monotonic()
    result = await Agent(Stuck(*came), budget=Budget(seconds=0.06)).run("Go.")
    assert 0.05 < time.monotonic() - started < 2
    assert (result.stop, result.text) == (NO_TIME, text)
    assert (result.transcript[1].stop, result.transcript[1].stop_word) == ("error", "deadline")


@pytest.mark.parametrize(
    "came",
    [
        pytest.param([CallStart(0, "find", "a")], id="begun"),
        pytest.param([CallStart(0, "find", "a"), CallDelta(0, '{"what":"x"}')], id="all but ended"),
        pytest.param([CallStart(0, "find", "a"), CallEnd(0, FIND)], id="ended"),
        pytest.param([CallStart(0, "find", "a"), CallEnd(0, FIND), TextDelta("so")], id="long ended"),
    ],
)
async def test_the_calls_of_a_reply_that_hangs_are_not_run(came):
    desk = Desk()
    result = await Agent(Stuck(*came), [desk.tool("find")], budget=Budget(seconds=0.03)).run("Go.")
    assert_sound(result.transcript)
    assert (result.stop, desk.done, outcomes(result)) == (NO_TIME, [], [("find", "truncated")])


async def test_a_reply_that_is_whole_counts_though_its_stream_never_ends():
    whole = reply("It is so.")
    result = await Agent(Stuck(ReplyEnd(whole)), budget=Budget(seconds=0.03)).run("Go.")
    assert (result.text, result.stop) == ("It is so.", Stop("end"))


@tool
async def hang() -> None:
    """Hang."""
    await asyncio.Event().wait()


@tool(effect="read")
async def hang_reading() -> None:
    """Hang, looking."""
    await asyncio.Event().wait()


@tool
def hang_in_a_thread(context: Context[None]) -> None:
    """Hang until nobody waits any more."""
    while not context.is_cancelled():
        time.sleep(0.002)


@pytest.mark.parametrize("several", [1, 3])
@pytest.mark.parametrize("hanging", [hang, hang_reading, hang_in_a_thread], ids=lambda each: each.name)
async def test_a_tool_that_hangs_is_ended_by_the_budget(hanging, several):
    model = ScriptedModel([reply(*[call(hanging.name, id=str(n)) for n in range(several)], "so")])
    started = time.monotonic()
    result = await Agent(model, [hanging], budget=Budget(seconds=0.2)).run("Go.")
    assert 0.1 < time.monotonic() - started < 2
    assert_sound(result.transcript)
    assert (result.stop, outcomes(result)) == (NO_TIME, [(hanging.name, "timed_out")] * several)
    assert {call.attempts for call in result.calls} == {1}
    await _threads_end()


async def _threads_end() -> None:
    """Wait for tools in threads to have noticed that nobody waits."""
    async with asyncio.timeout(5):
        while concurrency.tool_threads().abandoned_count:
            await asyncio.sleep(0.002)


async def test_calls_that_wait_for_each_other_share_the_time_that_is_left():
    ran = []

    @tool(serial=True)
    async def rest(number: int) -> None:
        """Rest a while."""
        ran.append(number)
        await asyncio.sleep(0.08)

    model = ScriptedModel([reply(*[call("rest", number=n) for n in range(5)])])
    result = await Agent(model, [rest], budget=Budget(seconds=0.2)).run("Go.")
    assert_sound(result.transcript)
    assert result.stop == NO_TIME
    kinds = [kind for _, kind in outcomes(result)]
    assert kinds[3:] == ["cancelled", "cancelled"]
    assert len(ran) == 5 - kinds.count("cancelled")


async def test_time_is_counted_over_all_turns_and_calls():
    @tool
    async def rest() -> None:
        """Rest a while."""
        await asyncio.sleep(0.05)

    model = ScriptedModel(
        lambda request: Turn(reply=reply(call("rest", f"{{}}{' ' * len(request.messages)}")), delay=0.05)
    )
    result = await Agent(model, [rest], budget=Budget(seconds=0.25, repeats=None)).run("Go.")
    assert (result.stop, len(result.turns) <= 3) == (NO_TIME, True)


async def test_a_tool_that_times_out_by_itself_leaves_the_run_its_time():
    model = ScriptedModel([reply(call("hang")), "I see."])
    result = await Agent(model, [hang.replace(limits=Limits(timeout=0.02))]).run("Go.")
    assert (result.stop, outcomes(result)) == (Stop("end"), [("hang", "timed_out")])


@pytest.mark.parametrize("hanging", ["model", "tool", "parallel tools"])
async def test_a_run_that_is_cancelled_leaves_nothing_behind(hanging):
    script = {
        "model": [Turn(delay=1000)],
        "tool": [reply(call("hang"))],
        "parallel tools": [reply(call("hang_reading"), call("hang"), call("hang_reading"), "so")],
    }[hanging]
    task = asyncio.create_task(Agent(ScriptedModel(script), [hang, hang_reading]).run("Go."))
    for _ in range(30):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 5)
    assert_nothing_is_left()
