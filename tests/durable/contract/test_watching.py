"""What every engine promises of those who watch: what happens, as it happens, and at last the truth."""

from statistics import quantiles
from time import time

import pytest

import rightcall as rc
from durable import cast
from durable.conftest import long, until
from rightcall.core.handler import CallProgress
from rightcall.loop.result import RunEnd


@pytest.fixture
def live(address):
    if address.startswith("restate"):
        pytest.skip("Restate carries no live events: a watcher of its runs is told their end")


async def test_a_run_is_watched_from_elsewhere(live, working, asking, run):
    async with working() as app, asking() as other:
        await app.submit("worker", "tick pay", run=run)
        await until(lambda: "tick" in cast.logged())
        seen = [each async for each in other.watch(run)]
        stored = await other.result(run)
    assert {(each.run, each.segment, each.attempt) for each in seen} == {(run, 0, 1)}
    numbers = [each.seq for each in seen]
    assert numbers == sorted(set(numbers))
    words = [type(each.event).__name__ for each in seen]
    assert {"CallProgress", "ResultEnd", "TextDelta", "ReplyEnd"} <= set(words)
    assert seen[-1].event == RunEnd(stored)
    async with asking() as other:
        again = [each async for each in other.watch(run)]
    assert [each.event for each in again] == [RunEnd(stored)]


async def test_a_watcher_of_what_waits_or_failed_is_told(working, asking, run):
    async with working() as app, asking() as other:
        waiting = await (await app.submit("worker", "refund", run=run)).result()
        assert [each.event.result.pending async for each in other.watch(run)] == [waiting.pending]
        await other.cancel(run)
        with pytest.raises(rc.errors.RunStopped, match="cancelled"):
            _ = [each async for each in other.watch(run)]
        with pytest.raises(rc.errors.UsageError, match="there is no run"):
            _ = [each async for each in other.watch("nobody's")]


@long
async def test_events_reach_another_process_soon(live, asking, another_process, run):
    another_process()
    async with asking() as other:
        await until(lambda: any(line.startswith("worker") for line in cast.logged()))
        await other.submit("worker", "tick look tick pay tick", run=run)
        late = [
            time() - each.event.done
            async for each in other.watch(run)
            if isinstance(each.event, CallProgress)
        ]
    assert len(late) == 120, "some were lost"
    p95 = quantiles(late, n=20)[-1]
    assert p95 < 0.15, f"95 of 100 took {p95:.3f} s"
