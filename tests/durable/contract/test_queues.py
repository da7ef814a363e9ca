"""What every engine promises of queues: their limits over all workers, and what goes first."""

import asyncio
from contextlib import asynccontextmanager
from time import monotonic

from durable.conftest import until
from rightcall.durable.engine import Queue, SegmentJob, engine_at


@asynccontextmanager
async def opened(address, execute=None, queue=None):
    engine = engine_at(address)
    await engine.open(execute, [queue or Queue()])
    try:
        yield engine
    finally:
        await engine.close()


def job(run, **fields):
    return SegmentJob(run=run, segment=0, agent="a", input="x", **fields)


async def test_what_matters_most_goes_first(address, run):
    order, free = [], asyncio.Event()

    async def execute(job, journal):
        order.append(job.run.removeprefix(run))
        await free.wait()
        return "x"

    async with opened(address, execute, Queue(concurrency=1)) as engine:
        await engine.submit(job(run))
        await until(lambda: order == [""])
        for name, priority in (("last", 9), ("second", 1), ("first", 0)):
            await engine.submit(job(f"{run}{name}", priority=priority))
        # All are in line before the one under way ends, wherever the line is.
        await asyncio.sleep(1)
        free.set()
        for name in ("first", "second", "last"):
            await engine.wait(f"{run}{name}", 0)
    assert order == ["", "first", "second", "last"]


async def test_a_rate_is_counted_for_each_lane(address, run):
    began: dict[str, list[float]] = {"a": [], "b": []}

    async def execute(job, journal):
        began[job.lane].append(monotonic())
        return "x"

    limits = Queue(name=f"metered {run}", rate=(1, 6.0), lanes=True)
    async with opened(address, execute, limits) as engine:
        names = [(f"{run}{lane}{n}", lane) for lane in "ab" for n in range(2)]
        for name, lane in names:
            await engine.submit(job(name, lane=lane, queue=limits.name))
        await asyncio.gather(*[engine.wait(name, 0) for name, _ in names])
    assert all(len(times) == 2 for times in began.values())
    # SQLite's clock counts whole seconds.
    assert min(times[1] - times[0] for times in began.values()) > 4.9
    assert abs(began["a"][0] - began["b"][0]) < 4.9, "one lane does not wait for another"


async def test_no_more_go_on_everywhere_than_a_queue_allows(address, run):
    now = most = 0
    two = asyncio.Event()

    async def execute(job, journal):
        nonlocal now, most
        now += 1
        most = max(most, now)
        if now == 2:
            two.set()
        await asyncio.wait_for(two.wait(), 30)
        await asyncio.sleep(0.3)
        now -= 1
        return ""

    limits = Queue(name=f"few {run}", everywhere=2)
    async with opened(address, execute, limits) as engine:
        names = [f"{run}-{number}" for number in range(6)]
        for name in names:
            await engine.submit(job(name, queue=limits.name))
        await asyncio.gather(*[engine.wait(name, 0) for name in names])
    assert most == 2


async def test_a_cancelled_segment_leaves_its_place_to_another(address, run):
    begun = []

    async def execute(job, journal):
        begun.append(job.run)
        if job.run == run:
            await asyncio.sleep(60)
        return "x"

    limits = Queue(name=f"one {run}", everywhere=1)
    async with opened(address, execute, limits) as engine:
        await engine.submit(job(run, queue=limits.name))
        await until(lambda: run in begun)
        await engine.submit(job(f"{run} b", queue=limits.name))
        await asyncio.sleep(0.5)
        assert begun == [run]
        await engine.cancel(run)
        ended = await asyncio.wait_for(engine.wait(f"{run} b", 0), 20)
    assert ended.status == "ended"


async def test_one_that_is_cancelled_in_line_counts_for_no_rate(address, run):
    began = {}

    async def execute(job, journal):
        began[job.run.removeprefix(run)] = monotonic()
        return "x"

    limits = Queue(name=f"slow {run}", rate=(1, 6.0))
    async with opened(address, execute, limits) as engine:
        await engine.submit(job(f"{run}a", queue=limits.name))
        await engine.wait(f"{run}a", 0)
        await engine.submit(job(f"{run}b", queue=limits.name))
        await asyncio.sleep(1)
        assert await engine.cancel(f"{run}b")
        await engine.submit(job(f"{run}c", queue=limits.name))
        await engine.wait(f"{run}c", 0)
    assert list(began) == ["a", "c"]
    assert 4.9 < began["c"] - began["a"] < 11.5
