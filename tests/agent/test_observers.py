"""Observers see everything that happens in a run, and change nothing."""

import asyncio
import logging
from functools import partial

import pytest

from agent.kit import Desk, told
from rightcall import Agent, Hooks
from rightcall.core.decision import Deny
from rightcall.core.entry import (
    CallDecided,
    CallFinished,
    CallStarted,
    Entry,
    ReplyReceived,
    RunEnded,
    RunFailed,
    RunPaused,
    RunResumed,
    RunStarted,
)
from rightcall.core.events import CallEnd, ReplyEnd, ResultEnd, TextDelta, TurnStart
from rightcall.errors import TransportError, UsageError
from rightcall.gate import Veto
from rightcall.record.memory import MemoryJournal
from rightcall.testing import Break, ScriptedModel, Turn, call, reply

pytestmark = pytest.mark.usefixtures("nothing_is_left")

SCRIPT = [reply("So:", call("find", what="x")), "Done."]


class Eye:
    """An observer that notes what it is shown."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, object]] = []

    def __call__(self, run, happened):
        self.seen.append((run, happened))

    @property
    def entries(self) -> list[Entry]:
        return [what for _, what in self.seen if isinstance(what, Entry)]

    @property
    def events(self) -> list[object]:
        return [what for _, what in self.seen if not isinstance(what, Entry)]


async def _late(run, happened):
    raise AssertionError("never awaited")


async def _by_and_by(run, happened):
    yield


class _Slow:
    async def __call__(self, run, happened):
        raise AssertionError("never awaited")


@pytest.mark.parametrize(
    "observer",
    [_late, _by_and_by, _Slow(), _Slow().__call__, partial(partial(_late), "r")],
    ids=["function", "generator", "object", "method", "partial"],
)
def test_an_observer_that_would_have_to_be_awaited_is_refused(observer):
    with pytest.raises(UsageError, match=r"the observer \S+ is async, and observers are not awaited"):
        Agent(ScriptedModel([]), observers=[observer])


def test_what_cannot_be_called_is_no_observer():
    with pytest.raises(UsageError, match="an observer is a function, not str"):
        Agent(ScriptedModel([]), observers=["print"])


async def test_an_observer_sees_the_entries_that_a_journal_holds_in_their_order():
    eye, journal = Eye(), MemoryJournal()
    agent = Agent(ScriptedModel(SCRIPT), [Desk().tool("find")], journal=journal, observers=[eye])
    await agent.run("Go.", run="r")
    assert eye.entries == list(journal.entries("r"))
    assert {run for run, _ in eye.seen} == {"r"}


async def test_it_sees_them_where_there_is_no_journal_too_and_the_events_of_the_stream():
    eye = Eye()
    await Agent(ScriptedModel(SCRIPT), [Desk().tool("find")], observers=[eye]).run("Go.")
    kinds = [type(entry) for entry in eye.entries]
    assert (kinds[0], kinds[-1], CallStarted in kinds, CallFinished in kinds) == (
        RunStarted,
        RunEnded,
        True,
        True,
    )
    assert [type(event) for event in eye.events if isinstance(event, TurnStart | ReplyEnd)] == [
        TurnStart,
        ReplyEnd,
    ] * 2
    assert {TextDelta, CallEnd, ResultEnd} <= {type(event) for event in eye.events}


async def test_a_reader_of_the_stream_and_an_observer_see_the_same_events():
    eye = Eye()
    agent = Agent(ScriptedModel(SCRIPT), [Desk().tool("find")], observers=[eye])
    streamed = [event async for event in agent.stream("Go.")]
    assert eye.events == streamed[:-1]


@pytest.mark.parametrize("error", [ValueError("no"), asyncio.CancelledError("no")], ids=repr)
async def test_several_observers_see_the_same_and_one_that_raises_is_logged_and_harms_nobody(
    error, caplog
):
    first, last, desk = Eye(), Eye(), Desk()

    def broken(run, happened):
        raise error

    agent = Agent(ScriptedModel(SCRIPT), [desk.tool("find")], observers=[first, broken, last])
    with caplog.at_level(logging.ERROR, "rightcall"):
        result = await agent.run("Go.", run="r")
    assert (told(result.transcript)[-1], desk.done) == ("model: Done.", ["find x"])
    assert first.seen == last.seen
    assert {record.message for record in caplog.records} == {"an observer of run r failed"}
    assert f"{type(error).__name__}: no" in caplog.text


async def test_what_is_remembered_from_an_earlier_attempt_is_not_shown_again():
    journal, tools = MemoryJournal(), [Desk().tool("pay", approval=True)]
    script = [reply(call("pay", what="x")), "Done."]
    first, second, third = Eye(), Eye(), Eye()
    paused = await Agent(ScriptedModel(script), tools, journal=journal, observers=[first]).run(
        "Go.", run="r"
    )
    again = Agent(ScriptedModel(script[1:]), tools, journal=journal, observers=[second])
    await again.resume(paused, {paused.pending[0].call_id: True})
    assert (type(first.entries[-1]), type(second.entries[0])) == (RunPaused, RunResumed)
    assert [*first.entries, *second.entries] == list(journal.entries("r"))
    await Agent(ScriptedModel([]), tools, journal=journal, observers=[third]).recover("r")
    assert third.entries == []


async def test_a_run_that_breaks_off_is_seen_to_do_so():
    eye = Eye()
    broken = ScriptedModel([Turn(reply=reply("So"), breaks=Break(0, TransportError("lost")))])
    with pytest.raises(TransportError):
        await Agent(broken, observers=[eye]).run("Go.")
    assert eye.entries[-1] == RunFailed(code="transport", message="lost")


async def test_a_hooks_veto_is_recorded_as_its_decision():
    eye = Eye()

    async def no(_):
        return Veto("not now")

    agent = Agent(
        ScriptedModel(SCRIPT), [Desk().tool("find")], hooks=Hooks(before_tool=no), observers=[eye]
    )
    await agent.run("Go.")
    (decided,) = [entry for entry in eye.entries if isinstance(entry, CallDecided)]
    assert (decided.decision, decided.by) == (Deny("not now"), "hook")
    assert not any(isinstance(entry, CallStarted) for entry in eye.entries)
    assert any(isinstance(entry, ReplyReceived) for entry in eye.entries)
