"""A watchdog for event loops: how long the loop of a test was not turned.

What the machine does is not the loop's fault: time that threads of this process stood ready and were
given no processor is taken off where the system tells it (one of them may have had the interpreter), and
so is what the machine's own host took of it. Of several tries the best one counts: what stalls a loop by
itself does so in each of them. Processor time alone would not do, since a loop that waits for a lock
uses none.
"""

import asyncio
import gc
import os
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

LONGEST = 0.1
"""Seconds for which a loop may stand still."""
BUSIEST = 0.01
"""Seconds of its processor's time that the loop's own thread may take before it turns."""
LONGEST_HELD = 0.02
"""Seconds for which other threads may compute while the loop waits for the interpreter."""
_BEAT = 0.004
_TRIES = 8
_TICK = 1 / os.sysconf("SC_CLK_TCK")


class Watchdog:
    """Beats with the event loop while it is entered, and keeps the longest time between two beats."""

    def __init__(self) -> None:
        self.longest = 0.0
        self.busiest = 0.0
        """The most processor's time that the loop's thread took between two beats; no load adds any."""
        self.held = 0.0
        """The most processor's time that this process took between two beats, while the loop's thread
        did not merely wait for a processor: one call of C, as a search in a long text, may hold the
        interpreter all the while."""

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._own = str(threading.get_native_id())
        self._computed = time.process_time()
        self._worked = time.thread_time()
        self._last, self._queued, self._stolen = time.monotonic(), _queued(), _stolen()
        self._timer = self._loop.call_later(_BEAT, self._beat)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._timer.cancel()
        self._look()

    def _beat(self) -> None:
        self._look()
        self._timer = self._loop.call_later(_BEAT, self._beat)

    def _look(self) -> None:
        computed = time.process_time() - self._computed
        worked = time.thread_time() - self._worked
        self.busiest = max(self.busiest, worked)
        now, queued, stolen = time.monotonic(), _queued(), _stolen()
        waited = sum(max(queued[each] - self._queued.get(each, 0), 0) for each in queued) / 1e9
        # Several threads wait at the same time, so on a busy machine too much is taken off; but what the
        # loop's own thread computed was a stall in any case.
        self.longest = max(self.longest, now - self._last - waited - (stolen - self._stolen), worked)
        own = (queued.get(self._own, 0) - self._queued.get(self._own, 0)) / 1e9
        self.held = max(self.held, min(computed, now - self._last - own), worked)
        # To read all this gives up the interpreter many times, and is no stall of the loop's.
        self._last, self._queued, self._stolen = time.monotonic(), queued, stolen
        self._worked = time.thread_time()
        self._computed = time.process_time()


def _queued() -> dict[str, int]:
    """Nanoseconds that each thread has waited for a processor so far; none where no system says so."""
    found = {}
    for thread in Path("/proc/self/task").glob("*/schedstat"):
        with suppress(OSError, ValueError, IndexError):  # one that has just ended
            found[thread.parent.name] = int(thread.read_text().split()[1])
    return found


def _stolen() -> float:
    """Seconds that the host of this machine has given to others so far, on whatever processor."""
    with suppress(OSError, ValueError, IndexError), Path("/proc/stat").open("rb") as file:
        return int(file.readline().split()[8]) * _TICK
    return 0.0


async def stall_of(scenario: Callable[[], Awaitable[object]], *, tries: int = _TRIES) -> float:
    """The longest time that the loop stood still while a scenario ran, in the best of some tries."""
    return await _best_of(scenario, tries, lambda watchdog: watchdog.longest, LONGEST)


async def work_of(scenario: Callable[[], Awaitable[object]], *, tries: int = _TRIES) -> float:
    """The most work that the loop's own thread did in one go, in the best of some tries."""
    return await _best_of(scenario, tries, lambda watchdog: watchdog.busiest, BUSIEST)


async def hold_of(scenario: Callable[[], Awaitable[object]], *, tries: int = _TRIES) -> float:
    """The longest that other threads kept the interpreter from the loop, in the best of some tries."""
    return await _best_of(scenario, tries, lambda watchdog: watchdog.held, LONGEST_HELD)


async def _best_of(
    scenario: Callable[[], Awaitable[object]],
    tries: int,
    measure: Callable[[Watchdog], float],
    good: float,
) -> float:
    best = float("inf")
    gc.collect()
    # What tests before have loaded is theirs: to look through it takes long. (See conftest.py.)
    gc.freeze()
    for _ in range(tries):
        async with Watchdog() as watchdog:
            await scenario()
        best = min(best, measure(watchdog))
        if best < good:
            break
    return best
