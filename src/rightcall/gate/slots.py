"""How many calls run at once, and how often."""

import asyncio
from collections import deque
from typing import Any
from weakref import ReferenceType, WeakKeyDictionary, ref

from rightcall.core.tool import Tool


class Semaphore:
    """So many slots, given out in the order they were asked for. Belongs to one event loop.

    asyncio's has no way to acquire without a coroutine, which every call of a tool would pay for.
    """

    __slots__ = ("free", "waiting")

    def __init__(self, size: int) -> None:
        self.free = size
        self.waiting: deque[asyncio.Future[None]] = deque()

    async def acquire(self) -> None:
        """Take a slot, waiting for it."""
        if self.free and not self.waiting:
            self.free -= 1
            return
        waiter = asyncio.get_running_loop().create_future()
        self.waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.release()
            raise

    def release(self) -> None:
        """Give a slot back, to whoever has waited longest."""
        while self.waiting:
            waiter = self.waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self.free += 1


class CallSlot:
    """What a call needs to run: a slot of its tool's, and one of those that all tools share.

    To acquire and release it costs no coroutine while nobody waits, which is nearly always.
    """

    __slots__ = ("_all", "_own")

    def __init__(self, own: Semaphore, everyone: Semaphore) -> None:
        self._own = own
        self._all = everyone

    def acquire_free(self) -> bool:
        """Take both if they are free now."""
        own, everyone = self._own, self._all
        if own.free and everyone.free and not own.waiting and not everyone.waiting:
            own.free -= 1
            everyone.free -= 1
            return True
        return False

    async def acquire(self) -> None:
        """Take both, waiting for them."""
        await self._own.acquire()
        try:
            await self._all.acquire()
        except asyncio.CancelledError:
            self._own.release()
            raise

    def release(self) -> None:
        """Give both back."""
        own, everyone = self._own, self._all
        if own.waiting or everyone.waiting:
            everyone.release()
            own.release()
        else:
            own.free += 1
            everyone.free += 1


class Pace:
    """At most ``calls`` starts in any ``seconds``."""

    def __init__(self, calls: int, seconds: float) -> None:
        self._calls = calls
        self._seconds = seconds
        self._starts: deque[float] = deque()

    def start(self, now: float) -> float:
        """Start a call now and say 0, or say how long to wait before asking again."""
        if len(self._starts) == self._calls:
            wait = self._starts[0] + self._seconds - now
            if wait > 0:
                return wait
            self._starts.popleft()
        self._starts.append(now)
        return 0.0


class Slots:
    """The slots of an executor: so many in all, and so many for each tool.

    Each event loop has its own; paces are plain arithmetic and hold across loops.
    """

    def __init__(self, concurrency: int) -> None:
        self._concurrency = concurrency
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _LoopSlots] = WeakKeyDictionary()
        self._last: tuple[ReferenceType[Any] | None, _LoopSlots] = (None, _LoopSlots(0))
        self._paces: dict[str, Pace] = {}

    def of(self, tool: Tool) -> CallSlot:
        """The slot for a tool, on this event loop."""
        loop = asyncio.get_running_loop()
        last, slots = self._last
        if last is None or last() is not loop:
            slots = self._loops.setdefault(loop, _LoopSlots(self._concurrency))
            self._last = ref(loop), slots
        slot = slots.by_tool.get(tool.name)
        if slot is None:
            slot = slots.by_tool[tool.name] = CallSlot(
                Semaphore(tool.limits.concurrency), slots.everyone
            )
        return slot

    def wait_for(self, tool: Tool, now: float) -> float:
        """Start a call as far as the tool's rate goes: 0, or seconds to wait before asking again."""
        if tool.limits.rate is None:
            return 0.0
        pace = self._paces.get(tool.name)
        if pace is None:
            pace = self._paces[tool.name] = Pace(*tool.limits.rate)
        return pace.start(now)


class _LoopSlots:
    def __init__(self, concurrency: int) -> None:
        self.everyone = Semaphore(concurrency)
        self.by_tool: dict[str, CallSlot] = {}
