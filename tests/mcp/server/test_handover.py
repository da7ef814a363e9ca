"""A coroutine runs in its caller's task, and goes on in one of its own when that is cancelled."""

import asyncio

import pytest

from rightcall.mcp.server.served_calls import Handover


async def test_it_runs_in_the_callers_task_and_returns_its_value():
    async def work():
        await asyncio.sleep(0)
        return asyncio.current_task()

    handover = Handover(work())
    assert await handover.run() is asyncio.current_task()
    assert handover.task is None


async def test_what_it_waits_for_may_fail_or_be_cancelled():
    failing, lost = asyncio.get_running_loop().create_future(), asyncio.Future()

    async def work():
        told = []
        for each in (failing, lost):
            try:
                await each
            except (ValueError, asyncio.CancelledError) as error:
                told.append(type(error).__name__)
        return told

    asyncio.get_running_loop().call_soon(failing.set_exception, ValueError())
    asyncio.get_running_loop().call_later(0.01, lost.cancel)
    handover = Handover(work())
    assert await handover.run() == ["ValueError", "CancelledError"]
    assert handover.task is None


async def test_a_cancelled_call_is_cancelled_once_however_often_its_caller_is():
    cancelled, cleaned = [], asyncio.Event()

    async def work():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(asyncio.current_task())
            for _ in range(5):
                await asyncio.sleep(0)
            cleaned.set()
            return "cleaned up"

    handover = Handover(work())

    async def call():
        try:
            await handover.run()
        finally:
            while not cleaned.is_set():
                try:
                    await cleaned.wait()
                except asyncio.CancelledError:
                    continue

    caller = asyncio.create_task(call())
    await asyncio.sleep(0)
    while not cleaned.is_set():
        caller.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert handover.task is not None
    assert (await handover.task, cancelled) == ("cleaned up", [handover.task])
