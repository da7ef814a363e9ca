"""Limits how many calls run at once, and how often: what a call waits for before it starts.

Three limits protect three things. A run's calls share the run's slots, so that a reply with a hundred
calls does not start them all; other runs do not wait for them. A tool's ``concurrency`` or ``rate``
protects something outside that all runs share, so it applies to all runs of an agent together. Blocking
functions take threads, of which a process has a fixed number (``threads``).
"""

import asyncio
from collections import deque
from typing import Any, Protocol
from weakref import ReferenceType, WeakKeyDictionary, ref

from rightcall.core.tool import Tool
from rightcall.gate.threads import current, granted, in_a_tool

RUN_CONCURRENCY = 16
"""How many calls of a run may run at once by default."""


class CallSlot(Protocol):
    """What a call acquires before it starts, and releases. Belongs to one event loop.

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


class Semaphore:
    """A number of slots, granted first come, first served.

    asyncio's semaphore cannot be acquired without a coroutine, which every tool call would pay for.
    """

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
        await granted(waiter, self.release)

    def release(self) -> None:
        """Release a slot, to the longest waiter."""
        while self.waiting:
            waiter = self.waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self.free += 1


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
    """At most ``calls`` starts in any ``seconds``."""

    def __init__(self, calls: int, seconds: float) -> None:
        self._calls = calls
        self._seconds = seconds
        self._starts: deque[float] = deque()

    def start(self, now: float) -> float:
        """Start a call now and return 0, or return the seconds to wait before trying again."""
        if len(self._starts) == self._calls:
            wait = self._starts[0] + self._seconds - now
            if wait > 0:
                return wait
            self._starts.popleft()
        self._starts.append(now)
        return 0.0


class _Outside:
    """The tools' own ``concurrency`` and ``rate``, shared by all runs.

    Each event loop has its own semaphores; rates are plain arithmetic and apply across event loops.
    """

    def __init__(self) -> None:
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Semaphore]] = (
            WeakKeyDictionary()
        )
        self._paces: dict[str, Pace] = {}

    def semaphore(self, tool: Tool, size: int) -> Semaphore:
        by_tool = self._loops.setdefault(asyncio.get_running_loop(), {})
        semaphore = by_tool.get(tool.name)
        if semaphore is None:
            semaphore = by_tool[tool.name] = Semaphore(size)
        return semaphore

    def pace(self, tool: Tool, rate: tuple[int, float]) -> Pace:
        pace = self._paces.get(tool.name)
        if pace is None:
            pace = self._paces[tool.name] = Pace(*rate)
        return pace


class Slots:
    """The slots of one run, or of an executor that is kept: the same number on each event loop."""

    __slots__ = ("_concurrency", "_is_nested", "_last", "_loops", "_outside")

    def __init__(self, concurrency: int, outside: _Outside | None = None) -> None:
        self._concurrency = concurrency
        self._outside = outside or _Outside()
        # A blocking function that runs an agent holds its thread until the agent's calls have ended. If
        # those calls waited for threads too, there could be a deadlock.
        self._is_nested = in_a_tool()
        self._last: tuple[ReferenceType[Any], _Inside] | None = None
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _Inside] | None = None
        """All event loops, if there was more than one, which is rare: it takes most of a kilobyte."""

    def for_run(self) -> "Slots":
        """Returns as many slots for another run; the tools' own limits stay shared."""
        return Slots(self._concurrency, self._outside)

    def of(self, tool: Tool) -> CallSlot:
        """Returns what a call of this tool must acquire on this event loop."""
        loop, last = asyncio.get_running_loop(), self._last
        if last is None or last[0]() is not loop:
            last = self._last = ref(loop), self._inside(loop, last)
        inside = last[1]
        slot = inside.by_tool.get(tool.name)
        if slot is None:
            slot = inside.by_tool[tool.name] = self._made(tool, inside)
        return slot

    def _inside(
        self, loop: asyncio.AbstractEventLoop, last: "tuple[ReferenceType[Any], _Inside] | None"
    ) -> "_Inside":
        if last is None:
            return _Inside(self._concurrency)
        if self._loops is None:
            self._loops = WeakKeyDictionary()
            if (before := last[0]()) is not None:
                self._loops[before] = last[1]
        return self._loops.setdefault(loop, _Inside(self._concurrency))

    def _made(self, tool: Tool, inside: "_Inside") -> CallSlot:
        handler, slot = tool.invocation, inside.shared
        if tool.delegates:
            # Such a call waits for calls of its own, which need the shared slots.
            slot = Semaphore(self._concurrency)
        elif handler is not None and not handler.is_async and not self._is_nested:
            slot = Both(slot, current().slots)
        size = tool.limits.concurrency
        return slot if size is None else Both(self._outside.semaphore(tool, size), slot)

    def wait_for(self, tool: Tool, now: float) -> float:
        """Start a call if the tool's rate allows: 0, or the seconds to wait before trying again."""
        rate = tool.limits.rate
        return 0.0 if rate is None else self._outside.pace(tool, rate).start(now)


class _Inside:
    __slots__ = ("by_tool", "shared")

    def __init__(self, concurrency: int) -> None:
        self.shared: CallSlot = Semaphore(concurrency)
        self.by_tool: dict[str, CallSlot] = {}
