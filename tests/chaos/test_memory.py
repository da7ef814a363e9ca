"""A process does not grow with its runs, apart from what it is asked to remember."""

import gc
import sys
from contextlib import AsyncExitStack

import pytest

from chaos.memory import WAYS

RUNS = 60
REMEMBERED = {"jsonl": 8, "memory_journal": 100}
"""Blocks of memory that a run may leave behind; a journal of lines kept 34 before places were packed."""
NOISE = 500
"""Blocks: asyncio keeps up to a hundred timers that were cancelled, each of some blocks."""


@pytest.mark.parametrize("way", WAYS)
async def test_memory_after_so_many_runs_is_what_it_was(way):
    async with AsyncExitStack() as stack:
        one = await WAYS[way](stack)
        for number in range(40):
            await one(number)
        gc.collect()
        before = sys.getallocatedblocks()
        for number in range(RUNS):
            await one(number)
        gc.collect()
        grown = sys.getallocatedblocks() - before
    assert grown < NOISE + RUNS * REMEMBERED.get(way, 0)
