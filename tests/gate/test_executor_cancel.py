"""Cancelling an execution cancels everything it started, gives every slot back, and leaves nothing."""

import asyncio
import threading

import pytest

import rightcall as rc
from rightcall.core.outcome import Returned
from rightcall.gate import concurrency

SECONDS = 5


class Room:
    """A tool body that says when it was entered and left, and stays until told to go."""

    def __init__(self) -> None:
        self.entered = self.left = 0
        self.may_go = asyncio.Event()

    async def stay(self) -> None:
        self.entered += 1
        try:
            await self.may_go.wait()
        finally:
            await asyncio.sleep(0)
            self.left += 1


def calls(*names: str) -> list[rc.Call]:
    return [rc.Call(id=f"c{position}", name=name) for position, name in enumerate(names)]


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def cancelled(task: asyncio.Task) -> bool:
    task.cancel()
    await asyncio.wait([task], timeout=SECONDS)
    return task.cancelled()


async def nothing_left_running() -> None:
    await settle()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def still_works(executor: rc.gate.Executor, tool: rc.Tool, slots: int) -> None:
    """Every slot is free: so many calls of the tool can all be inside at once."""
    meeting = asyncio.Barrier(slots)

    async def meet() -> None:
        await meeting.wait()

    again = tool.replace(handler=meet, serial=False, approval=False)
    async with asyncio.timeout(SECONDS):
        done = await executor.execute(calls(*[tool.name] * slots), rc.Toolbox(again))
    assert [each.outcome for each in done] == [Returned(None)] * slots


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("serial", [False, True])
async def test_calls_that_run_are_cancelled_and_waited_for(number, serial):
    room = Room()
    tool = rc.Tool("stay", "", handler=room.stay, serial=serial, limits=rc.Limits(concurrency=3))
    executor = rc.gate.Executor(concurrency=3)
    running = asyncio.create_task(executor.execute(calls(*["stay"] * number), rc.Toolbox(tool)))
    await settle()
    started = 1 if serial else number
    assert (room.entered, room.left) == (started, 0)
    assert await cancelled(running)
    assert (room.entered, room.left) == (started, started)
    await nothing_left_running()
    await still_works(executor, tool, 3)


@pytest.mark.parametrize(("everyone", "own"), [(2, 16), (16, 2)], ids=["among-all", "of-the-tool"])
async def test_calls_that_wait_for_a_slot_leave_the_queue(everyone, own):
    room = Room()
    tool = rc.Tool("stay", "", handler=room.stay, limits=rc.Limits(concurrency=own))
    executor = rc.gate.Executor(concurrency=everyone)
    first = asyncio.create_task(executor.execute(calls("stay", "stay"), rc.Toolbox(tool)))
    await settle()
    second = asyncio.create_task(executor.execute(calls("stay", "stay", "stay"), rc.Toolbox(tool)))
    await settle()
    assert room.entered == 2
    assert await cancelled(second)
    assert (room.entered, room.left) == (2, 0)
    room.may_go.set()
    assert [each.outcome for each in await first] == [Returned(None)] * 2
    await nothing_left_running()
    await still_works(executor, tool, 2)


async def test_a_call_that_waits_for_its_rate_is_never_started():
    ran = []
    tool = rc.Tool("f", "", handler=lambda: ran.append(1), limits=rc.Limits(rate=(1, 3600)))
    executor = rc.gate.Executor()
    running = asyncio.create_task(executor.execute(calls("f", "f"), rc.Toolbox(tool)))
    async with asyncio.timeout(SECONDS):
        while not ran:
            await asyncio.sleep(0.001)
    assert await cancelled(running)
    assert ran == [1]
    await nothing_left_running()


async def test_a_call_that_waits_to_try_again_is_not_tried_again():
    attempts = []

    @rc.tool(limits=rc.Limits(retries=5, backoff=30.0, concurrency=1))
    async def f() -> None:
        attempts.append(1)
        raise rc.ToolFailure("Busy.", retryable=True)

    executor = rc.gate.Executor()
    running = asyncio.create_task(executor.execute(calls("f"), rc.Toolbox(f)))
    await settle()
    assert await cancelled(running)
    assert attempts == [1]
    await nothing_left_running()
    await still_works(executor, f, 1)


async def test_a_question_that_nobody_answered_is_withdrawn():
    room = Room()

    async def approve(_) -> bool:
        await room.stay()
        return True

    tool = rc.Tool("f", "", approval=True)
    executor = rc.gate.Executor(approve=approve)
    running = asyncio.create_task(executor.execute(calls("f", "f"), rc.Toolbox(tool)))
    await settle()
    assert await cancelled(running)
    assert (room.entered, room.left) == (1, 1)
    await nothing_left_running()


@pytest.mark.parametrize("number", [1, 2])
async def test_blocking_calls_are_left_to_their_threads_at_once(number, own_threads):
    release = threading.Event()
    inside = []

    @rc.tool
    def blocks() -> None:
        inside.append(1)
        release.wait(SECONDS)

    executor = rc.gate.Executor()
    running = asyncio.create_task(executor.execute(calls(*["blocks"] * number), rc.Toolbox(blocks)))
    async with asyncio.timeout(SECONDS):
        while len(inside) < number:
            await asyncio.sleep(0.001)
    assert await cancelled(running)
    assert concurrency.tool_threads().abandoned_count == number
    release.set()
    async with asyncio.timeout(SECONDS):
        while concurrency.tool_threads().abandoned_count:
            await asyncio.sleep(0.001)
    await nothing_left_running()


async def swallows(room: Room) -> str:
    try:
        await room.stay()
    except asyncio.CancelledError:
        return "what there is"
    return "all"


async def fails_to_clean_up(room: Room) -> None:
    try:
        await room.stay()
    finally:
        raise KeyError("x")


@pytest.mark.parametrize("body", [swallows, fails_to_clean_up], ids=lambda body: body.__name__)
@pytest.mark.parametrize("number", [1, 2])
async def test_no_tool_can_swallow_its_callers_cancellation(body, number):
    room = Room()
    tool = rc.Tool("f", "", handler=lambda: body(room))
    running = asyncio.create_task(rc.gate.Executor().execute(calls(*["f"] * number), rc.Toolbox(tool)))
    async with asyncio.timeout(SECONDS):
        while room.entered < number:
            await asyncio.sleep(0.001)
    assert await cancelled(running)
    await nothing_left_running()


async def test_a_caller_with_a_timeout_of_its_own_gets_it():
    room = Room()
    tool = rc.Tool("stay", "", handler=room.stay)
    for number in (1, 2):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await rc.gate.Executor().execute(calls(*["stay"] * number), rc.Toolbox(tool))
    assert (room.entered, room.left) == (3, 3)
    await nothing_left_running()


async def test_a_tool_with_a_failing_task_group_leaves_its_caller_as_it_was():
    async def raises() -> None:
        raise KeyError("x")

    @rc.tool
    async def splits() -> str:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(raises())
        except* KeyError:
            pass
        return "recovered"

    (done,) = await rc.gate.Executor().execute(calls("splits"), rc.Toolbox(splits))
    assert done.outcome == Returned("recovered")
    # A cancellation left standing here would turn the caller's own timeouts into cancellations.
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await asyncio.sleep(SECONDS)
