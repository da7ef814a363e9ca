"""Who is let in, and when."""

import asyncio

import pytest

from rightcall.local.engines.in_process import WeightedSemaphore


async def settle():
    for _ in range(10):
        await asyncio.sleep(0)


def entering(gate, *rooms):
    return [asyncio.ensure_future(gate.acquire(room)) for room in rooms]


def inside(tasks):
    return [task.done() for task in tasks]


@pytest.mark.parametrize(
    ("places", "room", "asked", "expected"),
    [
        (2, 100, (1, 1, 1), [True, True, False]),
        (9, 100, (60, 40, 1), [True, True, False]),
        (9, 100, (60, 60, 1), [True, False, False]),
        (9, 100, (500, 1), [True, False]),
    ],
    ids=["places", "room", "in order", "more than there is"],
)
async def test_as_many_are_let_in_as_there_are_places_and_room_for(places, room, asked, expected):
    tasks = entering(WeightedSemaphore(places, room), *asked)
    await settle()
    assert inside(tasks) == expected
    for task in tasks:
        task.cancel()


async def test_whoever_leaves_makes_room_for_the_next():
    gate = WeightedSemaphore(1, 10)
    first, second = entering(gate, 3, 20)
    await settle()
    gate.release(await first)
    assert await second == 10


async def test_one_who_stops_waiting_does_not_hold_up_the_line():
    gate = WeightedSemaphore(9, 10)
    first, second, third = entering(gate, 8, 9, 2)
    await settle()
    assert inside([first, second, third]) == [True, False, False]
    second.cancel()
    await settle()
    assert third.done()


async def test_one_who_is_cancelled_while_let_in_gives_the_place_away():
    gate = WeightedSemaphore(1, 10)
    first, second, third = entering(gate, 1, 1, 1)
    await settle()
    gate.release(1)
    # Let in, but not yet awake.
    second.cancel()
    await settle()
    assert second.cancelled()
    assert third.done()
    assert first.done()


def test_event_loops_share_one_gate():
    gate = WeightedSemaphore(1, 10)

    async def enter():
        return await gate.acquire(4)

    room = asyncio.run(enter())
    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(enter(), 0.01))
    gate.release(room)
    assert asyncio.run(enter()) == 4
