"""What a thread makes into what an event loop reads: in order, bounded, and stopped from either end."""

import asyncio
import threading
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")

LIMIT = 256
"""Items that may wait to be read. A thread that is further ahead waits."""


class Channel(Generic[T]):
    """One thread puts, one task takes."""

    def __init__(self, loop: asyncio.AbstractEventLoop, limit: int = LIMIT) -> None:
        self._loop = loop
        self._limit = limit
        self._changed = asyncio.Event()
        self._state = threading.Condition()
        self._items: deque[T] = deque()
        self._ended = False
        self._error: BaseException | None = None
        self._left = False

    def put(self, item: T) -> bool:
        """Hand an item over, from the thread. False says that nobody reads any more: stop."""
        with self._state:
            while len(self._items) >= self._limit and not self._left:
                self._state.wait()
            if self._left:
                return False
            self._items.append(item)
        return self._wake()

    def end(self, error: BaseException | None = None) -> None:
        """Say, from either side, that nothing more comes, or why. Only the first word counts."""
        with self._state:
            if self._ended:
                return
            self._ended, self._error = True, error
        self._wake()

    def leave(self) -> None:
        """Stop reading. What is put from here on is thrown away."""
        with self._state:
            self._left = True
            self._items.clear()
            self._state.notify_all()

    def is_left(self) -> bool:
        """Whether nobody reads any more."""
        return self._left

    async def take(self) -> list[T] | None:
        """Everything that has come, at least one item; None at the end. Raises what the thread did."""
        while True:
            self._changed.clear()
            with self._state:
                if self._items:
                    items = list(self._items)
                    self._items.clear()
                    self._state.notify_all()
                    return items
                if self._ended:
                    break
            await self._changed.wait()
        if self._error is not None:
            raise self._error
        return None

    def _wake(self) -> bool:
        try:
            self._loop.call_soon_threadsafe(self._changed.set)
        except RuntimeError:
            # The loop has closed: whoever read is gone.
            self.leave()
            return False
        return True
