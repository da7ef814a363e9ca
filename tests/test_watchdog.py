"""The watchdog sees a loop that stands still, and no other."""

import asyncio
import re
import time

import pytest

from watchdog import BUSIEST, LONGEST, LONGEST_HELD, hold_of, stall_of, work_of


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


async def test_a_thread_that_holds_the_interpreter_is_told_from_one_that_shares_it():
    def search() -> None:
        # One call of C, which lets nobody else in until it is over.
        re.search("(?:x+x+)+y", "x" * 24)

    def count() -> None:
        end = time.thread_time() + 0.15
        while time.thread_time() < end:
            pass

    assert await hold_of(lambda: asyncio.to_thread(search), tries=2) >= LONGEST_HELD
    assert await hold_of(lambda: asyncio.to_thread(count)) < LONGEST_HELD
    assert await hold_of(computes, tries=2) >= LONGEST_HELD
    assert await hold_of(lambda: asyncio.sleep(0.15)) < LONGEST_HELD
