"""A clock that jumps to whatever is waited for, so that no test waits for time to pass."""

import asyncio
import heapq
import itertools
from collections.abc import Iterator

import pytest

from rightcall.gate import concurrency


class FakeClock:
    """Time stands still while anything can run, then goes to the earliest sleeper's end."""

    def __init__(self) -> None:
        self.time = 0.0
        self.pauses: list[float] = []
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int]] = []

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float, /) -> None:
        self.pauses.append(seconds)
        turn = (self.time + seconds, next(self._order))
        heapq.heappush(self._sleepers, turn)
        try:
            for _ in range(20):
                await asyncio.sleep(0)
            while self._sleepers[0] != turn:
                await asyncio.sleep(0)
            self.time = max(self.time, turn[0])
        finally:
            self._sleepers.remove(turn)
            heapq.heapify(self._sleepers)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def own_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[concurrency.Threads]:
    """Threads of this test's own, so that what it leaves stuck counts for nobody else."""
    mine = concurrency.Threads()
    monkeypatch.setattr(concurrency, "_threads", mine)
    return mine
