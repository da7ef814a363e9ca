"""The line that a worker of Restate keeps: who is let in, and when."""

import asyncio

from rightcall.durable.restate_worker import PrioritySlots


async def test_the_most_urgent_goes_first_and_those_who_left_are_passed_over():
    slots, order = PrioritySlots(1), []

    async def one(name: str, priority: int) -> None:
        async with slots.hold_slot(priority):
            order.append(name)

    await slots.take(0)
    tasks = [
        asyncio.create_task(one(name, priority))
        for name, priority in (("low", 9), ("gone", 0), ("high", 1), ("high too", 1))
    ]
    await asyncio.sleep(0)
    tasks[1].cancel()
    await asyncio.sleep(0)
    assert not slots.is_free
    slots.give_back()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == ["high", "high too", "low"]
    assert slots.is_free


async def test_a_place_that_came_with_the_cancellation_goes_to_the_next():
    slots = PrioritySlots(1)
    await slots.take(0)
    first, second = (asyncio.create_task(slots.take(0)) for _ in range(2))
    await asyncio.sleep(0)
    slots.give_back()
    first.cancel()
    await asyncio.wait_for(second, 5)
    assert first.cancelled()
