"""Steps that somebody else takes, and journals that are awaited."""

import asyncio

import pytest
from msgspec.structs import replace

from agent.kit import Desk, outcomes, told
from rightcall import Agent, replay
from rightcall.core.entry import CallFinished, Entry, ReplyReceived, RunResumed
from rightcall.errors import UsageError
from rightcall.record.memory import MemoryJournal
from rightcall.testing import ScriptedModel, call, reply

pytestmark = pytest.mark.usefixtures("nothing_is_left")

SCRIPT = [reply(call("find", what="x"), call("pay", what="y")), "Done."]


class Engine:
    """A durable engine in small: it keeps each step's value, and whether a call was started."""

    def __init__(self) -> None:
        self.done: dict[str, Entry] = {}
        self.notes: dict[str, Entry] = {}

    async def step(self, key, body):
        await asyncio.sleep(0)
        if key not in self.done:
            self.done[key] = await body()
        return self.done[key]

    async def note(self, key, entry):
        await asyncio.sleep(0)
        return self.notes.setdefault(key, entry) is entry

    def was_started(self, key):
        return f"{key}.started" in self.notes and key not in self.done


def agent_of(desk: Desk, script=SCRIPT, **options) -> Agent:
    return Agent(ScriptedModel(script), [desk.tool("find", "read"), desk.tool("pay")], **options)


async def test_a_run_takes_every_effect_through_the_steps_it_is_given():
    engine, desk = Engine(), Desk()
    result = await agent_of(desk).run("Go.", run="r", steps=engine)
    assert list(engine.done) == ["t1.model", "t1.0.find", "t1.1.pay", "t2.model"]
    assert list(engine.notes) == [
        "run.started",
        "t1.model.sent",
        "t1.0.find.checked",
        "t1.1.pay.checked",
        "t1.0.find.started",
        "t1.1.pay.started",
        "t2.model.sent",
        "run.ended",
    ]
    assert (result.text, desk.done) == ("Done.", ["find x", "pay y"])


async def test_what_the_engine_remembers_is_not_done_again():
    engine, desk = Engine(), Desk()
    first = await agent_of(desk).run("Go.", run="r", steps=engine)
    again = await agent_of(desk, []).run("Go.", run="r", steps=engine)
    assert again.transcript == first.transcript
    assert desk.done == ["find x", "pay y"]


async def test_a_write_that_the_engine_saw_start_and_not_end_is_reported_as_interrupted():
    engine, desk = Engine(), Desk()
    await agent_of(desk).run("Go.", run="r", steps=engine)
    del engine.done["t1.1.pay"], engine.done["t2.model"]
    again = await agent_of(desk, ["Done."]).run("Go.", run="r", steps=engine)
    assert outcomes(again) == [("find", "returned"), ("pay", "interrupted")]
    assert desk.done == ["find x", "pay y"]


async def test_a_pause_ends_the_steps_and_resuming_takes_others():
    desk, engine, later = Desk(), Engine(), Engine()
    tools = [desk.tool("pay", approval=True)]
    paused = await Agent(ScriptedModel([reply(call("pay", what="y"))]), tools).run(
        "Go.", run="r", steps=engine
    )
    assert (paused.stop.reason, desk.done) == ("pending", [])
    resumed = await Agent(ScriptedModel(["Done."]), tools).resume(
        paused, {paused.pending[0].call_id: True}, steps=later
    )
    assert (resumed.text, desk.done, list(later.done)) == ("Done.", ["pay y"], ["t1.0.pay", "t2.model"])


async def test_a_run_that_pauses_twice_goes_on_twice_through_the_same_steps():
    desk, engine, seen = Desk(), Engine(), []
    script = [reply(call("pay", what="x")), reply(call("pay", what="y")), "Done."]
    tools = [desk.tool("pay", approval=True)]
    agent = Agent(ScriptedModel(script), tools, observers=[lambda _, happened: seen.append(happened)])
    result = await agent.run("Go.", run="r", steps=engine)
    while result.pending:
        result = await agent.resume(result, {result.pending[0].call_id: True}, steps=engine)
    resumed = [each for each in seen if isinstance(each, RunResumed)]
    assert (desk.done, len(resumed)) == (["pay x", "pay y"], 2)
    assert [entry for entry in engine.notes.values() if isinstance(entry, RunResumed)] == resumed


async def test_what_a_plain_journal_returns_is_not_looked_at():
    class Counting(MemoryJournal):
        def append(self, run, entry):
            super().append(run, entry)
            return len(self.entries(run))

    journal = Counting()
    assert (await agent_of(Desk(), journal=journal).run("Go.", run="r")).text == "Done."


async def test_a_run_is_recorded_by_a_journal_or_by_steps_and_not_by_both():
    with pytest.raises(UsageError, match="not by both"):
        await agent_of(Desk(), journal=MemoryJournal()).run("Go.", steps=Engine())


class Elsewhere:
    """A journal in a database elsewhere: everything is awaited."""

    def __init__(self) -> None:
        self.kept = MemoryJournal()

    async def append(self, run, entry):
        await asyncio.sleep(0)
        self.kept.append(run, entry)

    async def entries(self, run):
        await asyncio.sleep(0)
        return self.kept.entries(run)

    async def runs(self):
        return self.kept.runs()


async def test_a_journal_that_is_awaited_holds_what_any_other_does():
    elsewhere, here = Elsewhere(), MemoryJournal()
    for journal in (elsewhere, here):
        await agent_of(Desk(), journal=journal).run("Go.", run="r")
    # Two calls that run beside each other may be recorded in either order.
    seen = [sorted(_timeless(each.entries("r")), key=repr) for each in (elsewhere.kept, here)]
    assert seen[0] == seen[1]
    assert any(isinstance(entry, ReplyReceived) for entry in seen[0])


async def test_a_run_is_recovered_from_and_replayed_out_of_it():
    elsewhere, desk = Elsewhere(), Desk()
    done = await agent_of(desk, journal=elsewhere).run("Go.", run="r")
    recovered = await agent_of(desk, [], journal=elsewhere).recover("r")
    replayed = await replay(elsewhere, "r")
    assert recovered.transcript == done.transcript == replayed.transcript
    assert (told(done.transcript)[-1], desk.done) == ("model: Done.", ["find x", "pay y"])
    with pytest.raises(UsageError, match="holds a run 'r' already"):
        await agent_of(desk, journal=elsewhere).run("Go.", run="r")


def _timeless(entries):
    """The entries without how long things took."""
    timed = (CallFinished, ReplyReceived)
    return [replace(e, seconds=0) if isinstance(e, timed) else e for e in entries]
