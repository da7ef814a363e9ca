"""What a process holds, and that nothing of it is left when something hostile has passed through."""

import asyncio
import gc
import os
import threading
import time
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from rightcall.gate import concurrency

WAITING = ("rightcall: tool", "rightcall: closing", "asyncio_")
"""Threads that wait for the next tool or hold, and those of asyncio for the next name, are not left
over: the first go home after a while, the others with their event loop."""
PATIENCE = 10.0
"""Seconds that threads and children have to end in, once they may."""


class Holding(Struct, frozen=True):
    """What a process holds at one time. Threads that wait for the next tool to run are not counted."""

    descriptors: int
    threads: int
    children: int
    tasks: int

    def over(self, before: "Holding") -> dict[str, int]:
        """What is held beyond what was held before."""
        differences = {
            name: getattr(self, name) - getattr(before, name) for name in self.__struct_fields__
        }
        return {name: more for name, more in differences.items() if more > 0}


def children() -> list[int]:
    """The processes that this one has started, those that nobody has waited for included."""
    found: list[int] = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            found += map(int, (task / "children").read_text().split())
    return found


def holding() -> Holding:
    """What this process holds now."""
    try:
        tasks = len(asyncio.all_tasks())
    except RuntimeError:
        tasks = 0
    others = [each for each in threading.enumerate() if not each.name.startswith(WAITING)]
    return Holding(
        descriptors=len(os.listdir("/proc/self/fd")) - 1,  # noqa: PTH208 - the listing is one of them
        threads=len(others) + concurrency.tool_threads().abandoned_count,
        children=len(children()),
        tasks=tasks,
    )


async def assert_nothing_left(before: Holding) -> None:
    """Fail with what is held beyond what was held before, after so long."""
    end = time.monotonic() + PATIENCE
    while (left := holding().over(before)) and time.monotonic() < end:
        gc.collect()
        await asyncio.sleep(0.01)
    assert left == {}, f"left over: {left}"
