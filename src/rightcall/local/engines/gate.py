"""How many completions run at once, and in how much of the model's memory; the rest wait in line."""

import asyncio
import threading
from collections import deque
from concurrent.futures import Future

from msgspec import Struct


class _Waiter(Struct, frozen=True, eq=False):
    room: int
    let_in: "Future[None]"


class Gate:
    """Lets in as many as there are places and room for, from any event loop, in the order they came."""

    def __init__(self, places: int, room: int) -> None:
        self._places = places
        self._room = room
        self._most = room
        self._lock = threading.Lock()
        self._line: deque[_Waiter] = deque()

    async def enter(self, room: int) -> int:
        """Wait for a place and so much room, or all of it; how much was given, to be left again."""
        room = min(room, self._most)
        future: Future[None] = Future()
        with self._lock:
            self._line.append(_Waiter(room, future))
        self._advance()
        try:
            await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            # One that was being let in when it was cancelled gives its place to the next.
            if future.cancel():
                self._advance()
            else:
                self.leave(room)
            raise
        return room

    def leave(self, room: int) -> None:
        """Give a place and its room back, from any thread."""
        with self._lock:
            self._places += 1
            self._room += room
        self._advance()

    def _advance(self) -> None:
        """Let in whoever is first in line, while there is room."""
        entering: list[Future[None]] = []
        with self._lock:
            while self._line:
                waiter = self._line[0]
                if waiter.let_in.cancelled():
                    self._line.popleft()
                elif not self._places or waiter.room > self._room:
                    break
                else:
                    self._line.popleft()
                    if waiter.let_in.set_running_or_notify_cancel():
                        self._places -= 1
                        self._room -= waiter.room
                        entering.append(waiter.let_in)
        for future in entering:
            future.set_result(None)
