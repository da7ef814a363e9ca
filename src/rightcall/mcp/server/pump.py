"""A tool's words on how far it is into notifications, as fast as the client takes them and no faster."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from rightcall.core.progress import CallProgress

Send = Callable[[float, float | None, str], Awaitable[None]]


class Pump:
    """Sends the newest word, one at a time. What is said while one is under way replaces what waited.

    The protocol wants the number to grow with every notification; one that does not is left out.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._next: CallProgress | None = None
        self._sent = float("-inf")
        self._task: asyncio.Task[None] | None = None

    def tell(self, progress: CallProgress) -> None:
        """Take a word. Belongs to the event loop."""
        if not progress.done > self._sent:
            return
        self._next = progress
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def finish(self) -> None:
        """Wait until the last word is sent: nothing may follow the result."""
        if self._task is not None:
            await asyncio.wait({self._task})

    async def stop(self) -> None:
        """Send nothing more."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while (word := self._next) is not None:
            self._next, self._sent = None, word.done
            await self._send(word.done, word.total, word.text)
