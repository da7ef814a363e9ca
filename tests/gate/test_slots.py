"""Semaphores, slots and paces: how many calls run at once, and how often."""

import asyncio
import gc
from contextvars import copy_context

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rightcall as rc
from rightcall.gate.concurrency import (
    Both,
    CallPace,
    CallSlots,
    ProcessSemaphore,
    Semaphore,
    wait_for_rate,
)


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_slots_are_given_out_in_the_order_they_were_asked_for():
    semaphore = Semaphore(1)
    order = []

    async def visit(name: str) -> None:
        await semaphore.acquire()
        order.append(name)

    await semaphore.acquire()
    tasks = [asyncio.create_task(visit(name)) for name in "abc"]
    await settle()
    assert order == []
    for _ in tasks:
        semaphore.release()
        await settle()
    assert order == ["a", "b", "c"]
    semaphore.release()
    assert (semaphore.free, list(semaphore.waiting)) == (1, [])


async def test_a_slot_given_to_someone_who_has_left_goes_to_the_next():
    semaphore = Semaphore(1)
    await semaphore.acquire()
    first, second = (asyncio.create_task(semaphore.acquire()) for _ in range(2))
    await settle()
    first.cancel()
    await settle()
    semaphore.release()
    await asyncio.wait_for(second, 1)
    assert semaphore.free == 0


async def test_a_slot_is_not_lost_on_someone_cancelled_while_getting_it():
    semaphore = Semaphore(1)
    await semaphore.acquire()
    waiter = asyncio.create_task(semaphore.acquire())
    await settle()
    semaphore.release()
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    assert semaphore.free == 1


async def test_a_newcomer_does_not_overtake_those_who_wait():
    own, everyone = Semaphore(1), Semaphore(5)
    slot = Both(own, everyone)
    assert slot.acquire_free()
    waiter = asyncio.create_task(slot.acquire())
    await settle()
    slot.release()
    assert not slot.acquire_free()
    await asyncio.wait_for(waiter, 1)
    slot.release()
    assert (own.free, everyone.free) == (1, 5)


async def test_a_slot_that_waits_for_one_of_those_that_all_share_gives_its_own_back_when_cancelled():
    own, everyone = Semaphore(2), Semaphore(1)
    slot = Both(own, everyone)
    assert slot.acquire_free()
    waiter = asyncio.create_task(slot.acquire())
    await settle()
    assert own.free == 0
    waiter.cancel()
    await settle()
    assert own.free == 1
    slot.release()
    assert (own.free, everyone.free) == (2, 1)


async def test_a_tool_has_its_own_slots_and_all_share_the_rest():
    slots = CallSlots(3)
    busy = slots.of(rc.Tool("busy", "", limits=rc.Limits(concurrency=2)))
    other = slots.of(rc.Tool("other", ""))
    assert [busy.acquire_free(), busy.acquire_free(), busy.acquire_free()] == [True, True, False]
    assert [other.acquire_free(), other.acquire_free()] == [True, False]
    busy.release()
    assert other.acquire_free()


def test_each_event_loop_has_its_own_slots_and_a_dead_one_is_forgotten():
    slots = CallSlots(1)
    tool = rc.Tool("f", "")

    async def take() -> bool:
        return slots.of(tool).acquire_free()

    assert [asyncio.run(take()) for _ in range(3)] == [True, True, True]
    gc.collect()
    assert len(slots._loops) == 0


def test_slots_are_still_taken_on_an_event_loop_that_goes_on_after_another():
    slots, tool = CallSlots(1), rc.Tool("f", "")
    first, second = asyncio.new_event_loop(), asyncio.new_event_loop()

    async def take() -> bool:
        return slots.of(tool).acquire_free()

    taken = [loop.run_until_complete(take()) for loop in (first, second, first, second)]
    first.close()
    second.close()
    assert taken == [True, True, False, False]


@pytest.mark.parametrize(
    ("calls", "seconds", "asked", "answers"),
    [
        pytest.param(1, 10, [0, 0, 4, 10, 10], [0, 10, 6, 0, 10], id="one-in-ten"),
        pytest.param(2, 10, [0, 3, 5, 9, 10, 11, 13], [0, 0, 5, 1, 0, 2, 0], id="two-in-ten"),
        pytest.param(2, 10, [0, 100, 100, 100], [0, 0, 0, 10], id="after-a-long-silence"),
    ],
)
def test_a_pace_says_yes_or_how_long_to_wait(calls, seconds, asked, answers):
    pace = CallPace(calls, seconds)
    assert [pace.start(now) for now in asked] == answers


@given(
    calls=st.integers(1, 4),
    steps=st.lists(st.floats(0, 10, allow_nan=False), min_size=5, max_size=40),
)
def test_no_window_of_time_ever_sees_more_starts_than_the_rate(calls, steps):
    pace = CallPace(calls, 10.0)
    now, started = 0.0, []
    for step in steps:
        now += step
        if pace.start(now) == 0:
            started.append(now)
    for index in range(calls, len(started)):
        assert started[index] - started[index - calls] >= 10.0 - 1e-6


def test_a_tool_without_a_rate_never_waits():
    tool = rc.Tool("f", "")
    assert [wait_for_rate(tool, 0.0) for _ in range(100)] == [0.0] * 100


def test_each_tool_has_a_pace_of_its_own():
    first, second = (rc.Tool(name, "", limits=rc.Limits(rate=(1, 10))) for name in ("a", "b"))
    assert [wait_for_rate(tool, 0.0) for tool in (first, second, first)] == [0.0, 0.0, 10.0]


async def test_runs_do_not_wait_for_each_other_but_where_a_tool_says_so():
    plain, scarce = rc.Tool("plain", ""), rc.Tool("scarce", "", limits=rc.Limits(concurrency=1))
    agents = CallSlots(2)
    first, second = agents.for_run(), agents.for_run()
    assert [first.of(plain).acquire_free() for _ in range(3)] == [True, True, False]
    assert second.of(plain).acquire_free()
    assert copy_context().run(second.of(scarce).acquire_free)
    assert not agents.for_run().of(scarce).acquire_free()


async def test_threads_are_handed_out_in_order_over_all_event_loops():
    slots = ProcessSemaphore(1)
    assert slots.acquire_free()
    order: list[str] = []

    def elsewhere() -> None:
        async def wait() -> None:
            await slots.acquire()
            order.append("other loop")
            slots.release()

        asyncio.run(wait())

    async def here(name: str) -> None:
        await slots.acquire()
        order.append(name)
        slots.release()

    first = asyncio.create_task(here("first"))
    await settle()
    thread = asyncio.create_task(asyncio.to_thread(elsewhere))
    while len(slots._waiting) < 2:
        await asyncio.sleep(0.001)
    given_up = asyncio.create_task(here("given up"))
    last = asyncio.create_task(here("last"))
    await settle()
    given_up.cancel()
    slots.release()
    await asyncio.gather(first, thread, last)
    assert order == ["first", "other loop", "last"]
    assert slots.acquire_free()


async def test_a_thread_that_was_given_to_somebody_who_left_goes_to_the_next():
    slots = ProcessSemaphore(1)
    assert slots.acquire_free()
    waiter = asyncio.create_task(slots.acquire())
    await settle()
    slots.release()
    # Given, and not told yet.
    waiter.cancel()
    await settle()
    assert slots.acquire_free()
