"""The watchdog sees a loop that stands still, and no other."""

import asyncio
import time

import pytest

from watchdog import LONGEST, stall_of


async def blocks() -> None:
    time.sleep(0.15)


async def computes() -> None:
    end = time.thread_time() + 0.15
    while time.thread_time() < end:
        pass


@pytest.mark.parametrize("scenario", [blocks, computes])
async def test_a_loop_that_stands_still_is_seen(scenario):
    assert await stall_of(scenario, tries=2) >= LONGEST


async def test_a_loop_that_turns_is_none():
    assert await stall_of(lambda: asyncio.sleep(0.15)) < LONGEST
