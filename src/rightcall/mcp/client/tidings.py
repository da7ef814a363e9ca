"""What a connection's owner waits for: that it is over, or that there is something to look at."""

import asyncio
from contextlib import suppress
from typing import Literal


class Tidings:
    """News for one waiting task, from whoever has some. All in one event loop."""

    def __init__(self) -> None:
        self.closing = False
        self.forgotten = False
        """The server does not know our session any more."""
        self._lost = False
        self._changed = False
        self._looking = False
        """Somebody looks at a change, and has not told of it yet."""
        self._wanted = False
        self._bell = asyncio.Event()
        self._waiting: list[asyncio.Event] = []

    def begin(self) -> None:
        """A new client: what was said of the last one is old."""
        self.forgotten = self._lost = self._changed = self._wanted = False
        self.tell()

    def close(self) -> None:
        """It is over, for good."""
        self.closing = True
        self._bell.set()
        self.tell()

    def lose(self) -> None:
        """The client is of no use any more."""
        self._lost = True
        self._bell.set()

    def change(self) -> None:
        """The tools may not be what they were."""
        self._changed = True
        self._bell.set()

    def want(self) -> None:
        """Somebody needs the server again."""
        self._wanted = True
        self._bell.set()

    async def next(self) -> Literal["changed", "over"]:
        """Wait for news of this client."""
        while True:
            self._bell.clear()
            if self.closing or self._lost:
                return "over"
            if self._changed:
                self._changed, self._looking = False, True
                return "changed"
            await self._bell.wait()

    async def pause(self, seconds: float) -> None:
        """Wait so long, or until it is over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self.closing:
                    self._bell.clear()
                    await self._bell.wait()

    async def until_wanted(self) -> None:
        """Wait until somebody needs the server, or it is over."""
        while not self.closing and not self._wanted:
            self._bell.clear()
            await self._bell.wait()

    def tell(self) -> None:
        """Let those go on who wait for a change to be seen."""
        self._looking = False
        while self._waiting:
            self._waiting.pop().set()

    async def settled(self, seconds: float) -> None:
        """Wait until a change that was announced has been looked at; not longer than so many seconds."""
        if self.closing or not (self._changed or self._looking):
            return
        seen = asyncio.Event()
        self._waiting.append(seen)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await seen.wait()
