"""How many calls run at once, and how often."""

import asyncio
from collections import deque
from typing import Any
from weakref import ReferenceType, WeakKeyDictionary, ref

from toolwright.core.tool import Tool


class Places:
    """So many places, given out in the order they were asked for. Belongs to one event loop.

    A semaphore with a way in that costs no coroutine while places are free.
    """

    __slots__ = ("_free", "_waiting")

    def __init__(self, size: int) -> None:
        self._free = size
        self._waiting: deque[asyncio.Future[None]] = deque()

    def take_free(self) -> bool:
        """Take a place if one is free now."""
        if self._free and not self._waiting:
            self._free -= 1
            return True
        return False

    async def take(self) -> None:
        """Take a place, waiting for it."""
        if self.take_free():
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give()
            raise

    def give(self) -> None:
        """Give a place back, to whoever has waited longest."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


class Pace:
    """At most ``calls`` starts in any ``seconds``."""

    def __init__(self, calls: int, seconds: float) -> None:
        self._calls = calls
        self._seconds = seconds
        self._starts: deque[float] = deque()

    def reserve(self, now: float) -> float:
        """Take the next start, and say how long to wait for it."""
        start = now
        if len(self._starts) == self._calls:
            start = max(now, self._starts.popleft() + self._seconds)
        self._starts.append(start)
        return start - now


class Slots:
    """The places in which calls may run: so many in all, and so many for each tool.

    Each event loop has its own places; paces are plain arithmetic and hold across loops.
    """

    def __init__(self, concurrency: int) -> None:
        self._concurrency = concurrency
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Places]] = (
            WeakKeyDictionary()
        )
        self._last: tuple[ReferenceType[Any] | None, dict[str, Places]] = (None, {})
        self._paces: dict[str, Pace] = {}

    def of(self, tool: Tool) -> tuple[Places, Places]:
        """The places for the tool, and those for all tools together."""
        loop = asyncio.get_running_loop()
        last, found = self._last
        if last is None or last() is not loop:
            found = self._loops.setdefault(loop, {"": Places(self._concurrency)})
            self._last = ref(loop), found
        places = found.get(tool.name)
        if places is None:
            places = found[tool.name] = Places(tool.limits.concurrency)
        return places, found[""]

    def wait_for(self, tool: Tool, now: float) -> float:
        """Seconds until the tool's rate lets this call start."""
        if tool.limits.rate is None:
            return 0.0
        pace = self._paces.get(tool.name)
        if pace is None:
            pace = self._paces[tool.name] = Pace(*tool.limits.rate)
        return pace.reserve(now)
