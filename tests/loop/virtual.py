"""An event loop in which nobody waits for time to pass, and the models to hang in it."""

import asyncio
import selectors
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, TypeVar

from rightcall.core.events import ModelEvent
from rightcall.core.request import Profile, Request
from rightcall.gate import concurrency

T = TypeVar("T")


class _Counted(concurrency.Threads):
    """Threads that know how many of them are at work."""

    def __init__(self) -> None:
        super().__init__()
        self.busy = 0
        self._count = threading.Lock()

    def _start(self, work: Callable[[], None]) -> None:
        def counted() -> None:
            try:
                work()
            finally:
                self._add(-1)

        self._add(1)
        super()._start(counted)

    def _add(self, number: int) -> None:
        with self._count:
            self.busy += number


_own = _Counted()


class _Jump(selectors.DefaultSelector):
    """Goes to the next timer at once, unless a tool works in a thread: that takes real time."""

    ahead = 0.0

    def select(self, timeout: float | None = None) -> Any:
        if timeout == 0:
            return super().select(0)
        while _own.busy:
            if ready := super().select(0.001):
                return ready
        # Looked at after the threads: what the last of them said before it came to rest is there now.
        if ready := super().select(0):
            return ready
        if timeout is None:
            raise AssertionError("everything waits, and nothing will ever happen")
        self.ahead += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """Time stands still while anything can run, then goes to the next timer."""

    def __init__(self) -> None:
        self._jump = _Jump()
        super().__init__(self._jump)

    def time(self) -> float:
        return super().time() + self._jump.ahead


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end without waiting for time to pass."""
    before, concurrency._threads = concurrency._threads, _own
    try:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            return runner.run(main)
    finally:
        concurrency._threads = before
        assert idle(), "a thread is still at work"


def idle() -> bool:
    """Whether every thread for tools comes to rest, given a moment."""
    for _ in range(2000):
        if not _own.busy and not _own.abandoned_count:
            return True
        time.sleep(0.001)
    return False


class Stuck:
    """A model that says so much and then never goes on."""

    profile = Profile()

    def __init__(self, *events: ModelEvent) -> None:
        self._events = events

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        for event in self._events:
            yield event
        await asyncio.Event().wait()
