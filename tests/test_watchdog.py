"""The watchdog sees a loop that stands still, and no other."""

import asyncio
import time

import pytest

from watchdog import BUSIEST, LONGEST, stall_of, work_of


async def blocks() -> None:
    time.sleep(0.15)


async def computes() -> None:
    end = time.thread_time() + 0.15
    while time.thread_time() < end:
        pass


@pytest.mark.parametrize("scenario", [blocks, computes])
async def test_a_loop_that_stands_still_is_seen(scenario):
    assert await stall_of(scenario, tries=2) >= LONGEST


async def test_a_loop_that_works_is_told_from_one_that_waits():
    assert await work_of(computes, tries=2) >= BUSIEST
    assert await work_of(blocks) < BUSIEST


async def test_a_loop_that_turns_is_none():
    assert await stall_of(lambda: asyncio.sleep(0.15)) < LONGEST
