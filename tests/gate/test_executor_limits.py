"""How many calls run at once, how often they start, and on which event loop."""

import asyncio

import pytest

import rightcall as rc
from rightcall.core.outcome import Returned
from rightcall.errors import UsageError

SECONDS = 5


def calls(*names: str) -> list[rc.Call]:
    return [rc.Call(id=f"c{position}", name=name) for position, name in enumerate(names)]


async def run(executor: rc.gate.Executor, asked: list[rc.Call], *tools) -> tuple[rc.gate.Execution, ...]:
    async with asyncio.timeout(SECONDS):
        return await executor.execute(asked, rc.Toolbox(*tools))


class Crowd:
    """Counts how many are inside at once."""

    def __init__(self) -> None:
        self.inside = self.most = 0

    async def visit(self) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        for _ in range(3):
            await asyncio.sleep(0)
        self.inside -= 1


@pytest.mark.parametrize(
    ("everyone", "own", "most"), [(32, 2, 2), (3, 16, 3), (2, 2, 2), (1, 16, 1), (32, 16, 10)]
)
async def test_no_more_calls_run_at_once_than_the_tool_and_the_executor_allow(everyone, own, most):
    crowd = Crowd()
    tool = rc.Tool("visit", "", handler=crowd.visit, limits=rc.Limits(concurrency=own))
    done = await run(rc.gate.Executor(concurrency=everyone), calls(*["visit"] * 10), tool)
    assert [each.outcome for each in done] == [Returned(None)] * 10
    assert crowd.most == most


async def test_limits_hold_across_executions_of_one_executor():
    crowd = Crowd()
    tool = rc.Tool("visit", "", handler=crowd.visit, limits=rc.Limits(concurrency=2))
    executor = rc.gate.Executor()
    await asyncio.gather(*(run(executor, calls("visit", "visit"), tool) for _ in range(5)))
    assert crowd.most == 2


async def test_a_busy_tool_leaves_places_for_others():
    release = asyncio.Event()

    @rc.tool(limits=rc.Limits(concurrency=1))
    async def busy() -> None:
        await release.wait()

    @rc.tool
    async def frees() -> None:
        release.set()

    done = await run(
        rc.gate.Executor(concurrency=2), calls("busy", "busy", "busy", "frees"), busy, frees
    )
    assert [each.outcome for each in done] == [Returned(None)] * 4


@pytest.mark.parametrize(
    ("rate", "takes", "concurrency", "starts"),
    [
        pytest.param((1, 10.0), 0.0, 16, [0, 10, 20, 30, 40], id="one-at-a-time"),
        pytest.param((2, 10.0), 0.0, 16, [0, 0, 10, 10, 20], id="two-at-a-time"),
        pytest.param((2, 10.0), 3.0, 16, [0, 0, 10, 10, 20], id="slow-calls"),
        pytest.param((5, 10.0), 0.0, 16, [0, 0, 0, 0, 0], id="all-at-once"),
        # A call that had to wait for a slot must not make up for it by hurrying.
        pytest.param((1, 10.0), 25.0, 1, [0, 25, 50, 75, 100], id="waiting-for-a-slot"),
        pytest.param((2, 10.0), 4.0, 1, [0, 4, 10, 14, 20], id="both"),
    ],
)
async def test_calls_start_at_the_rate_the_tool_allows(rate, takes, concurrency, starts, clock):
    started = []

    @rc.tool(limits=rc.Limits(rate=rate, concurrency=concurrency))
    async def f() -> None:
        started.append(clock.now())
        if takes:
            await clock.sleep(takes)

    executor = rc.gate.Executor(clock=clock)
    done = await run(executor, calls(*["f"] * 5), f)
    assert [each.outcome for each in done] == [Returned(None)] * 5
    assert started == starts


async def test_places_freed_all_at_once_do_not_break_the_rate(clock):
    started = []

    @rc.tool(limits=rc.Limits(rate=(1, 10.0)))
    async def paced() -> None:
        started.append(clock.now())

    @rc.tool(limits=rc.Limits(concurrency=2))
    async def hogs() -> None:
        await clock.sleep(35.0)

    executor = rc.gate.Executor(concurrency=2, clock=clock)
    await run(executor, calls("hogs", "hogs", *["paced"] * 4), hogs, paced)
    assert started == [35, 45, 55, 65]


async def test_a_call_that_waits_for_its_rate_keeps_no_place_from_others(clock):
    order = []

    @rc.tool(limits=rc.Limits(rate=(1, 10.0)))
    async def paced() -> None:
        order.append("paced")

    @rc.tool
    async def free() -> None:
        order.append("free")

    executor = rc.gate.Executor(concurrency=1, clock=clock)
    done = await run(executor, calls("paced", "paced", "free"), paced, free)
    assert order == ["paced", "free", "paced"]
    # Waiting for the rate is not the call's own time.
    assert [each.seconds for each in done] == [0.0, 0.0, 0.0]


def test_one_executor_serves_several_loops_one_after_another():
    executor = rc.gate.Executor(concurrency=2)

    async def crowded() -> list[object]:
        crowd = Crowd()
        tool = rc.Tool("visit", "", handler=crowd.visit, limits=rc.Limits(concurrency=2))
        done = await run(executor, calls(*["visit"] * 6), tool)
        return [crowd.most, *(each.outcome for each in done)]

    async def broken_off() -> None:
        hang = rc.Tool("visit", "", handler=asyncio.Event().wait)
        left = asyncio.create_task(run(executor, calls(*["visit"] * 6), hang))
        await asyncio.sleep(0)
        assert not left.done()

    for _ in range(3):
        assert asyncio.run(crowded()) == [2, *[Returned(None)] * 6]
        asyncio.run(broken_off())


@pytest.mark.parametrize("slots", [0, -1])
def test_an_executor_that_would_run_no_call_is_refused(slots):
    with pytest.raises(UsageError, match=f"concurrency must be more than 0, not {slots}"):
        rc.gate.Executor(concurrency=slots)
