"""A watchdog for event loops: how long the loop of a test was not turned.

What the machine does is not the loop's fault: time that the loop's thread stood ready and was given no
processor is taken off where the system tells it, and of three tries the best one counts.
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Self

LONGEST = 0.1
"""Seconds for which a loop may stand still."""
_BEAT = 0.002
_TRIES = 3


class Watchdog:
    """Beats with the event loop while it is entered, and keeps the longest time between two beats."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._last, self._queued = time.monotonic(), _queued()
        self._timer = self._loop.call_later(_BEAT, self._beat)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._timer.cancel()
        self._look()

    def _beat(self) -> None:
        self._look()
        self._timer = self._loop.call_later(_BEAT, self._beat)

    def _look(self) -> None:
        now, queued = time.monotonic(), _queued()
        self.longest = max(self.longest, now - self._last - (queued - self._queued))
        self._last, self._queued = now, queued


def _queued() -> float:
    """Seconds that this thread has waited for a processor so far; 0 where the system does not say."""
    try:
        told = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat").read_text()
        return int(told.split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


async def stall_of(scenario: Callable[[], Awaitable[object]]) -> float:
    """The longest time that the loop stood still while a scenario ran, in the best of three tries."""
    best = float("inf")
    for _ in range(_TRIES):
        async with Watchdog() as watchdog:
            await scenario()
        best = min(best, watchdog.longest)
        if best < LONGEST:
            break
    return best
