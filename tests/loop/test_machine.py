"""Whatever models and tools do: N calls, N results, an end, nothing left over, and nothing done twice.

Time is virtual (see ``loop.virtual``), so that models and tools may hang without anyone waiting.
"""

import asyncio

from hypothesis import given, note, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from effort import often
from loop import virtual
from loop.machine import RUN, End, Plan, World, ended, plans, streamed
from loop.quiet import assert_nothing_is_left
from loop.sound import assert_sound
from rightcall.core.entry import CallFinished, CallStarted, Entry, RunStarted
from rightcall.core.message import Reply, Results
from rightcall.core.parts import Result
from rightcall.record.memory import MemoryJournal


def assert_holds(end: End, plan: Plan, world: World) -> None:
    """What must hold of every end of every run."""
    assert_sound(end.transcript)
    replies = [message for message in end.transcript if isinstance(message, Reply)]
    assert len(replies) <= plan.budget.turns
    made = sum(len(each.calls) for each in replies)
    assert sum(world.runs.values()) <= made
    assert all(count == 1 for count in world.runs.values()), world.runs
    if plan.budget.calls is not None:
        assert sum(world.runs.values()) <= plan.budget.calls
    assert_nothing_is_left()


@settings(max_examples=often(100))
@given(plans, st.booleans())
def test_a_run_ends_with_a_result_for_every_call_and_leaves_nothing(plan, as_stream):
    world = World(plan)

    async def main() -> End:
        agent = world.agent()
        end = await ended(streamed(agent) if as_stream else agent.run("Go.", run=RUN))
        assert_holds(end, plan, world)
        return end

    virtual.run(main())
    assert virtual.idle()


@settings(max_examples=often(50))
@given(plans)
def test_a_run_is_the_same_run_each_time(plan):
    async def main() -> list[End]:
        agents = [World(plan).agent(journal) for journal in (None, MemoryJournal(), MemoryJournal())]
        return [
            await ended(agents[0].run("Go.", run=RUN)),
            await ended(agents[1].run("Go.", run=RUN)),
            await ended(streamed(agents[2])),
        ]

    first, second, third = virtual.run(main())
    assert first == second == third


@settings(max_examples=often(30))
@given(plans)
def test_a_run_recovered_from_any_beginning_of_its_journal_comes_to_the_same_end(plan):
    async def main() -> None:
        journal = MemoryJournal()
        whole = await ended(World(plan).agent(journal).run("Go.", run=RUN))
        entries = journal.entries(RUN)
        for length in range(1, len(entries) + 1):
            await recover(plan, entries[:length], whole)

    virtual.run(main())


@settings(max_examples=often(80))
@given(plans, st.integers(0, 120))
def test_a_run_that_is_cancelled_anywhere_leaves_nothing_and_is_recovered(plan, moments):
    async def main() -> None:
        whole = await ended(World(plan).agent().run("Go.", run=RUN))
        journal, world = MemoryJournal(), World(plan)

        async def run() -> End:
            return await ended(world.agent(journal).run("Go.", run=RUN))

        task = asyncio.create_task(run())
        for _ in range(moments):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert virtual.idle()
        assert_nothing_is_left()
        if not task.cancelled():
            assert task.result() == whole
        entries = journal.entries(RUN)
        if entries:
            await recover(plan, entries, whole)

    virtual.run(main())


async def recover(plan: Plan, entries: tuple[Entry, ...], whole: End) -> None:
    """Recover a run from what its journal held, and compare its end with that of the whole run."""
    note(f"recovering from {entries[-1]}")
    assert isinstance(entries[0], RunStarted)
    journal, world = MemoryJournal(), World(plan)
    for entry in entries:
        journal.append(RUN, entry)
    end = await ended(world.agent(journal).recover(RUN))
    assert_holds(end, plan, world)
    done = {entry.key for entry in entries if isinstance(entry, CallFinished)}
    assert not any(world.runs[f"{RUN}.{key}"] for key in done), "a call that was done was done again"
    effects = {tool.name: tool.effect for tool in world.tools}
    in_doubt = {
        entry.call_id
        for entry in entries
        if isinstance(entry, CallStarted)
        and entry.key not in done
        and effects[entry.key.split(".", 2)[2]] == "write"
    }
    if in_doubt and plan.budget.calls is not None:
        # One that was not run again leaves room for another: the end may be a later one.
        assert in_doubt <= {r.call_id for r in results(end) if r.outcome == "interrupted"}
    else:
        assert end == with_doubts(whole, in_doubt)
    await assert_recovered_once(journal, plan, end)


async def assert_recovered_once(journal: MemoryJournal, plan: Plan, end: End) -> None:
    """A run that has ended is only told again."""
    entries, world = journal.entries(RUN), World(plan)
    agent = world.agent(journal)
    if entries[-1].__struct_config__.tag == "run_ended":
        assert await ended(agent.recover(RUN)) == end
        assert (sum(world.runs.values()), journal.entries(RUN)) == (0, entries)


def results(end: End) -> list[Result]:
    return [result for m in end.transcript if isinstance(m, Results) for result in m.results]


def with_doubts(end: End, in_doubt: set[str]) -> End:
    """The end as it is when nobody knows what became of these calls."""
    words = "{name} was interrupted and may have run. Find out before calling it again."

    def doubted(result: Result) -> Result:
        if result.call_id not in in_doubt:
            return result
        text = replace(result.content[0], text=words.format(name=result.name))
        return replace(result, outcome="interrupted", content=(text,), own=False)

    messages = [
        Results(tuple(map(doubted, message.results))) if isinstance(message, Results) else message
        for message in end.transcript
    ]
    return End(tuple(messages), end.stop)
