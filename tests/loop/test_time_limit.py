"""The time limits of one run, which share a timer."""

import asyncio

import pytest

from rightcall.loop.time_limits import TimeLimits

pytestmark = pytest.mark.usefixtures("nothing_is_left")


def timers() -> int:
    """How many timers of the event loop are still going to fire."""
    waiting = asyncio.get_running_loop()._scheduled  # type: ignore[attr-defined]
    return sum(not each.cancelled() for each in waiting)


async def test_what_takes_too_long_is_cancelled_and_raises_a_timeout():
    limits, before = TimeLimits(), timers()
    with pytest.raises(TimeoutError), limits.of(0.01) as time:
        await asyncio.sleep(5)
    assert time.expired
    assert timers() == before
    assert asyncio.current_task().cancelling() == 0


async def test_no_limit_and_one_that_is_not_reached_change_nothing():
    limits, before = TimeLimits(), timers()
    for seconds in (None, 5.0, 5.0):
        with limits.of(seconds) as time:
            await asyncio.sleep(0)
        assert not time.expired
    assert timers() == before + 1, "the two that end later have one timer"
    limits.close()
    assert timers() == before


async def test_a_limit_that_ends_earlier_is_held_and_the_later_one_after_it():
    limits = TimeLimits()
    with limits.of(0.05) as later:
        with pytest.raises(TimeoutError), limits.of(0.01):
            await asyncio.sleep(5)
        assert not later.expired
        with pytest.raises(asyncio.CancelledError):
            await asyncio.sleep(5)
        assert later.expired
    limits.close()


async def test_limits_of_several_tasks_end_each_its_own():
    limits = TimeLimits()

    async def sleep(seconds: float, most: float) -> str:
        try:
            with limits.of(most):
                await asyncio.sleep(seconds)
        except TimeoutError:
            return "too long"
        return "done"

    ends = await asyncio.gather(sleep(0.02, 5), sleep(5, 0.01), sleep(5, 0.03), sleep(0, 0.01))
    assert ends == ["done", "too long", "too long", "done"]
    limits.close()


async def test_a_cancellation_from_outside_stays_one():
    limits = TimeLimits()

    async def work() -> None:
        with limits.of(5):
            await asyncio.sleep(5)

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    limits.close()


async def test_a_cancellation_from_outside_at_the_same_time_is_not_taken_for_the_limit():
    limits = TimeLimits()

    async def work() -> None:
        with limits.of(0):
            await asyncio.sleep(5)

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_soon(task.cancel)
    with pytest.raises(asyncio.CancelledError):
        await task
    limits.close()
