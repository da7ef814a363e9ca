"""The story of a durable run: the entries that a journal of the same run would hold."""

import sqlite3
from collections.abc import Sequence
from contextlib import asynccontextmanager, closing
from typing import Any

import pytest
from msgspec.structs import replace

import rightcall as rc
from durable import cast
from rightcall.core.decision import Allow
from rightcall.core.entry import (
    CallChecked,
    CallFinished,
    Entry,
    Nested,
    ReplyReceived,
    RunEnded,
    RunFailed,
    RunPaused,
    RunResumed,
    RunStarted,
)
from rightcall.core.message import user_text
from rightcall.core.request import Named
from rightcall.durable.engine import DurableEngine, Segment
from rightcall.durable.stored_run import _NO_LIMIT, story_of
from rightcall.record.memory import MemoryJournal
from rightcall.testing import ScriptedModel, call, reply


@pytest.fixture
def file(tmp_path):
    return tmp_path / "runs.db"


@asynccontextmanager
async def opened(file, **options):
    async with rc.durable.App(f"sqlite:///{file}", agents=cast.agents(), **options) as app:
        yield app


async def _journalled(agent: str, prompt: str, run: str) -> list[Sequence[Entry]]:
    """The entries of a run in a journal: when it waits, and when it is over."""
    journal = MemoryJournal()
    made = next(each for each in cast.agents() if each.name == agent)
    kept = rc.Agent(made._config.model, tools=made.tools, name=agent, journal=journal)
    result = await kept.run(prompt, run=run)
    stages = []
    while result.pending:
        stages.append(journal.entries(run))
        result = await kept.resume(result, {each.call_id: Allow() for each in result.pending})
    return [*stages, journal.entries(run)]


async def _told(app: rc.durable.App, agent: str, prompt: str, run: str) -> list[Sequence[Entry]]:
    """The story of the same run, at the same times."""
    handle = await app.submit(agent, prompt, run=run)
    result = await handle.result()
    stages = []
    while result.pending:
        stages.append(await _entries(app, run))
        await app.decide(run, {each.call_id: True for each in result.pending})
        result = await handle.result()
    return [*stages, await _entries(app, run)]


async def _entries(app: rc.durable.App, run: str) -> list[Entry]:
    return [entry for _, entry in await app.story(run)]


def _comparable(entries: Sequence[Entry]) -> list[str]:
    """Entries without what differs by chance, and without those that only say that a call was read."""
    found = []
    for entry in entries:
        match entry:
            case CallChecked() | Nested(entry=CallChecked()):
                continue
            case Nested(entry=ReplyReceived() | CallFinished() as inside):
                found.append(repr(replace(entry, entry=replace(inside, seconds=0.0))))
            case Nested(entry=RunStarted() as inside):
                # Of an agent inside only what it was asked is stored.
                found.append(repr(replace(entry, entry=replace(inside, specs=(), agent=""))))
            case ReplyReceived() | CallFinished():
                found.append(repr(replace(entry, seconds=0.0)))
            case _:
                found.append(repr(entry))
    # That a call was handed on is noted in every segment.
    return sorted(set(found))


def _is_end_inside(entry: Entry) -> bool:
    return isinstance(entry, Nested) and isinstance(entry.entry, CallFinished)


@pytest.mark.parametrize(
    ("agent", "prompt"),
    [
        ("worker", "look+add refund+add pay"),
        ("worker", "add add+look nothing"),
        ("worker", "refund refund"),
        ("chief", "look+refund look"),
        ("chief", "pay refund"),
    ],
)
async def test_a_story_is_what_a_journal_holds(file, run, agent, prompt):
    journalled = await _journalled(agent, prompt, run)
    async with opened(file) as app:
        told = await _told(app, agent, prompt, run)
        times = dict.fromkeys(["t1.model"], 0.0)
        for at, entry in await app.story(run):
            times.setdefault(getattr(entry, "key", ""), at)
            if isinstance(entry, ReplyReceived):
                times[entry.key] = at
        created = (await app.show(run)).segments[0].created
    assert len(told) == len(journalled)
    for story, entries in zip(told, journalled, strict=True):
        assert _comparable(story) == _comparable(entries)
        ends = [each.path + each.entry.key for each in story if _is_end_inside(each)]
        assert len(ends) == len(set(ends)), "what is recorded is not added to it again"
    for key, at in times.items():
        # SQLite's clock may count whole seconds.
        assert created - 1.5 <= at <= created + 60, key
    if "t1.1.add" in times:
        assert times["t1.model"] <= times["t1.1.add"] < times["t2.model"] + 0.5


async def test_a_story_begins_with_what_was_submitted(file, run):
    history = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello."}]
    options: dict[str, Any] = {
        "history": history,
        "budget": rc.Budget(turns=7),
        "choice": "required",
        "sticky_choice": True,
        "intents": [],
        "dry_run": True,
    }
    messages = (user_text("Hello."), user_text("look"))
    async with rc.durable.App(f"sqlite:///{file}") as app:
        await app.submit("worker", "look", run=run, **options)
        await app.submit("worker", "look", run=f"{run} b", instructions="Be brief.")
        whole = RunStarted(
            messages=messages,
            budget=rc.Budget(turns=7),
            system="Be kind.",
            choice="required",
            sticky_choice=True,
            intents=(),
            dry_run=True,
            agent="worker",
        )
        assert await _entries(app, run) == [whole]
        bare = RunStarted(messages=messages[1:], budget=_NO_LIMIT, system="Be brief.", agent="worker")
        assert await _entries(app, f"{run} b") == [bare]
    agents = cast.agents()
    async with rc.durable.App(f"sqlite:///{file}", agents=agents, queues=()) as app:
        specs = tuple([tool.spec for tool in agents[0].tools])
        assert await _entries(app, run) == [replace(whole, specs=specs)]
        known = replace(bare, specs=specs, budget=agents[0].budget)
        assert await _entries(app, f"{run} b") == [known]


async def test_how_a_run_ended_is_in_its_story(file, run):
    async with rc.durable.App(f"sqlite:///{file}") as app:
        for name in ("done", "queued", "cancelled", "parked"):
            await app.submit(
                "worker", "look", run=name, queue="nobody's" if name != "done" else "default"
            )
        await app.submit("nobody", "look", run="failed")
        assert await app.cancel("cancelled")
        with closing(sqlite3.connect(file)) as database:
            database.execute(
                "update workflow_status set status = 'MAX_RECOVERY_ATTEMPTS_EXCEEDED',"
                " recovery_attempts = 5 where workflow_uuid = 'parked/0'"
            )
            database.commit()
        async with opened(file) as working:
            await (await working.submit("worker", "refund", run="waits")).result()
            await (await working.submit("worker", "refund", run="quit")).result()
            await working.cancel("quit")
            await working.result("done")
            with pytest.raises(rc.errors.RunStopped):
                await working.result("failed")
        ends = {each.run: (await _entries(app, each.run))[-1] for each in await app.list()}
        cancelled = RunFailed(code="cancelled", message="the run was cancelled")
        assert isinstance(ends.pop("queued"), RunStarted)
        assert ends.pop("done") == RunEnded(stop=rc.record.Stop("end"))
        assert ends.pop("cancelled") == ends.pop("quit") == cancelled
        assert ends.pop("waits") == RunPaused(key="t1.paused", call_ids=("call_1_0",))
        failed = ends.pop("failed")
        assert isinstance(failed, RunFailed)
        assert (failed.code, "has no agent 'nobody'" in failed.message) == ("journal", True)
        parked = ends.pop("parked")
        assert isinstance(parked, RunFailed)
        assert (parked.code, "5 processes died" in parked.message) == ("parked", True)
        assert not ends
        kinds = [type(each) for each in await _entries(app, "quit")]
        assert RunResumed not in kinds, "nobody answered it"
        with pytest.raises(rc.errors.UsageError, match="there is no run 'none'"):
            await app.story("none")


async def test_the_story_of_a_fork_says_of_which_run_it_is(file, run):
    async with opened(file) as app:
        await (await app.submit("worker", "look pay", run=run)).result()
        await (await app.fork(run, at="t2.model", new="fork")).result()
        start = (await _entries(app, "fork"))[0]
        assert isinstance(start, RunStarted)
        assert start.parent == run
        assert (await _entries(app, run))[0].parent is None
    assert cast.logged() == ["look", "pay", "pay"]


async def test_what_a_worker_knew_is_in_the_story_for_those_who_have_no_agent(file, run):
    agent = rc.Agent(ScriptedModel(["Hi."]), name="clerk", instructions="Be brief.")
    async with rc.durable.App(f"sqlite:///{file}", agents=[agent]) as app:
        result = await (await app.submit("clerk", "Hello.", run=run)).result()
    async with rc.durable.App(f"sqlite:///{file}") as other:
        start = (await _entries(other, run))[0]
    assert start == RunStarted(
        messages=(user_text("Hello."),),
        budget=agent.budget,
        system="Be brief.",
        retry_broken=result.state.retry_broken,
        agent="clerk",
    )


async def test_a_call_that_was_not_recorded_has_its_time_and_attempts_in_the_story(file, run):
    tries = []

    @rc.tool(effect="pure", retries=1, retry_on=OSError, backoff=0.05)
    def add() -> int:
        """Add numbers, the second time."""
        tries.append(1)
        if len(tries) == 1:
            raise OSError
        return 4

    agent = rc.Agent(ScriptedModel([reply(call("add")), "Done."]), tools=[add], name="clerk")
    async with rc.durable.App(f"sqlite:///{file}", agents=[agent]) as app:
        result = await (await app.submit("clerk", "Go.", run=run)).result()
        story = await app.story(run)
    (known,) = result.calls
    ((at, end),) = [(at, each) for at, each in story if isinstance(each, CallFinished)]
    assert isinstance(end, CallFinished)
    assert (end.key, end.seconds, end.attempts) == ("t1.0.add", known.seconds, 2)
    assert end.seconds > 0
    replied = next(at for at, each in story if getattr(each, "key", "") == "t1.model")
    assert at == replied + end.seconds


class _Behind:
    """An engine whose segments tell earlier times than their steps, as whole seconds may."""

    def __init__(self, engine: DurableEngine) -> None:
        self._engine = engine
        self.blobs = engine.blobs
        self.history = engine.history

    async def segments(self, run: str) -> list[Segment]:
        found = []
        for each in await self._engine.segments(run):
            found.append(replace(each, created=each.created - 60, updated=each.created - 60))
        return found


async def test_no_entry_of_a_story_is_earlier_than_the_one_before_it(file, run):
    async with opened(file) as app:
        handle = await app.submit("worker", "look refund look", run=run)
        waiting = await handle.result()
        await app.decide(run, {each.call_id: True for each in waiting.pending})
        await handle.result()
        story = await story_of(_Behind(app._engine), run, {})
    recorded = []
    for at, entry in story:
        if not isinstance(entry, RunStarted | RunPaused | RunResumed | RunEnded):
            recorded.append((at, entry))
    assert [at for at, _ in recorded] == sorted(at for at, _ in recorded)
    kinds = [type(entry) for _, entry in story]
    paused = kinds.index(RunPaused)
    assert kinds.index(RunResumed) == paused + 1
    before = story[paused - 1][0]
    assert [at for at, _ in story[paused : paused + 2]] == [before, before]
    assert story[-1] == (story[-2][0], RunEnded(stop=rc.record.Stop("end")))


async def test_which_output_a_run_wanted_is_in_its_story(file, run):
    agent = rc.Agent(ScriptedModel([reply(call("final_answer", answer=7))]), name="clerk", output=int)
    async with rc.durable.App(f"sqlite:///{file}", agents=[agent]) as app:
        result = await (await app.submit("clerk", "How many?", run=run)).result()
    async with rc.durable.App(f"sqlite:///{file}") as other:
        start = (await _entries(other, run))[0]
    assert isinstance(start, RunStarted)
    assert result.state.wanted is not None
    assert (start.wanted, start.choice) == (result.state.wanted, result.state.choice)
    assert start.choice == Named("final_answer")
