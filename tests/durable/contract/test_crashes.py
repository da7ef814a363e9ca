"""What every engine promises when a process dies: others go on, and what was done is not done again."""

import asyncio
from time import monotonic

import pytest

import rightcall as rc
from durable import cast
from durable.conftest import long, until


async def test_a_second_process_takes_nothing_from_a_living_one_and_all_from_a_dead_one(
    working, asking, another_process, run
):
    child = await _begun(another_process)
    async with asking() as other:
        await other.submit("worker", "add+pay rest pay_and_die look", run=run)
        await until(lambda: "rest" in cast.logged())
    async with working() as app:
        # The other process lives, and is at the run: nothing of it happens here.
        await until(lambda: child.poll() is not None, 300)
        died = monotonic()
        result = await app.result(run)
        taken = monotonic() - died
        info = (await app.show(run)).info
    log = [line for line in cast.logged() if not line.startswith("worker")]
    assert log.count("rest") == 1, "a run that was under way was begun in a second process"
    assert [log.count(name) for name in ("pay", "pay_and_die", "look")] == [1, 1, 1]
    outcomes = [each.outcome for each in result.calls]
    assert outcomes == ["returned", "returned", "returned", "interrupted", "returned"]
    assert result.text == "done after 4 turns"
    assert info.attempts == 2
    assert taken < 30, f"it took {taken:.1f} s"


@long
@pytest.mark.parametrize(
    ("tool", "outcome", "times"),
    [("look_and_die", "returned", 2), ("put_and_die", "returned", 2), ("pay_or_ask", "returned", 1)],
)
async def test_what_becomes_of_a_call_that_was_cut_off(
    working, asking, another_process, run, tool, outcome, times
):
    child = await _begun(another_process)
    async with asking() as other:
        await other.submit("worker", f"pay {tool}", run=run)
        await until(lambda: child.poll() is not None, 300)
    async with working() as app:
        result = await app.result(run)
    assert (result.calls[-1].name, result.calls[-1].outcome) == (tool, outcome)
    log = [line for line in cast.logged() if line.startswith(tool)]
    assert len(log) == times
    assert len(set(log)) == 1, "an idempotent call has the same key on every attempt"
    assert cast.logged().count("pay") == 1
    if tool == "pay_or_ask":
        assert result.calls[-1].result.text == "paid after all"
        assert cast.logged()[-1] == f"asked about {run}.t2.0.pay_or_ask"


@long
async def test_a_run_that_kills_five_processes_is_parked(asking, another_process, run):
    child = await _begun(another_process)
    async with asking() as other:
        handle = await other.submit("worker", "always_die", run=run)
        for count in range(1, 6):
            await asyncio.to_thread(child.wait, 300)
            assert cast.logged().count("always_die") == count
            child = another_process()
        with pytest.raises(rc.errors.RunStopped) as stopped:
            await handle.result()
        assert (stopped.value.status, "5 processes died" in stopped.value.reason) == ("parked", True)
        assert cast.logged().count("always_die") == 5


async def _begun(another_process):
    """A worker in another process, known to a server that would call it."""
    child = another_process()
    await until(lambda: any(line.startswith("worker") for line in cast.logged()), 300)
    return child
