"""Semaphores of one event loop, and of all event loops and threads of the process; and rates.

asyncio's semaphore cannot be acquired without a coroutine, which every tool call would pay for, and it
belongs to one event loop. Nothing here blocks a thread: who waits is woken on its own event loop.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from typing import Protocol


class CallSlot(Protocol):
    """What a call acquires before it starts, and releases.

    Acquiring without waiting, which is nearly always the case, needs no coroutine.
    """

    def acquire_free(self) -> bool:
        """Acquire it if it is free now."""
        ...

    async def acquire(self) -> None:
        """Acquire it, waiting if necessary."""
        ...

    def release(self) -> None:
        """Release it."""
        ...


async def _granted(waiter: "asyncio.Future[None]", release: Callable[[], None]) -> None:
    """Wait for a slot. One that was granted just as the wait was cancelled is released."""
    try:
        await waiter
    except asyncio.CancelledError:
        if waiter.done() and not waiter.cancelled():
            release()
        raise


class Semaphore:
    """A number of slots of one event loop, granted first come, first served."""

    __slots__ = ("free", "waiting")

    def __init__(self, size: int) -> None:
        self.free = size
        self.waiting: deque[asyncio.Future[None]] | None = None
        """Created only when somebody waits: every run has slots, and an empty deque takes 600 bytes."""

    def acquire_free(self) -> bool:
        """Acquire a slot if one is free now."""
        if self.free and not self.waiting:
            self.free -= 1
            return True
        return False

    async def acquire(self) -> None:
        """Acquire a slot, waiting if necessary."""
        if self.acquire_free():
            return
        waiter = asyncio.get_running_loop().create_future()
        if self.waiting is None:
            self.waiting = deque()
        self.waiting.append(waiter)
        await _granted(waiter, self.release)

    def release(self) -> None:
        """Release a slot, to the longest waiter."""
        while self.waiting:
            waiter = self.waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self.free += 1


class ProcessSemaphore:
    """A number of slots for all event loops of the process, granted first come, first served."""

    def __init__(self, size: int) -> None:
        self._lock = threading.Lock()
        self._free = size
        self._waiting: deque[asyncio.Future[None]] = deque()

    def acquire_free(self) -> bool:
        """Acquire a slot if one is free now."""
        with self._lock:
            if self._free and not self._waiting:
                self._free -= 1
                return True
        return False

    async def acquire(self) -> None:
        """Acquire a slot, waiting if necessary."""
        if self.acquire_free():
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._lock:
            self._waiting.append(waiter)
        # A slot may have been released just before this waiter was added.
        self._hand_on()
        await _granted(waiter, self.release)

    def release(self) -> None:
        """Release a slot, to the longest waiter."""
        with self._lock:
            self._free += 1
        self._hand_on()

    def _hand_on(self) -> None:
        while True:
            with self._lock:
                if not self._free or not self._waiting:
                    return
                self._free -= 1
                waiter = self._waiting.popleft()
            try:
                waiter.get_loop().call_soon_threadsafe(self._give, waiter)
            except RuntimeError:
                # The waiter's event loop has closed.
                with self._lock:
                    self._free += 1

    def _give(self, waiter: "asyncio.Future[None]") -> None:
        if waiter.done():
            self.release()
        else:
            waiter.set_result(None)


class Both:
    """Two slots, acquired in this order."""

    __slots__ = ("_first", "_second")

    def __init__(self, first: CallSlot, second: CallSlot) -> None:
        self._first = first
        self._second = second

    def acquire_free(self) -> bool:
        """Acquire both if they are free now."""
        if not self._first.acquire_free():
            return False
        if self._second.acquire_free():
            return True
        self._first.release()
        return False

    async def acquire(self) -> None:
        """Acquire both, waiting if necessary."""
        await self._first.acquire()
        try:
            await self._second.acquire()
        except asyncio.CancelledError:
            self._first.release()
            raise

    def release(self) -> None:
        """Release both."""
        self._second.release()
        self._first.release()


class Pace:
    """At most ``calls`` starts in any ``seconds``, over all threads."""

    def __init__(self, calls: int, seconds: float) -> None:
        self._calls = calls
        self._seconds = seconds
        self._lock = threading.Lock()
        self._starts: deque[float] = deque()

    def start(self, now: float) -> float:
        """Start a call now and return 0, or return the seconds to wait before trying again."""
        with self._lock:
            if len(self._starts) == self._calls:
                wait = self._starts[0] + self._seconds - now
                if wait > 0:
                    return wait
                self._starts.popleft()
            self._starts.append(now)
            return 0.0
