"""Watchers: each has a queue, in which it gets streamed pieces, or None for a change."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rightcall.serve.studio.to_json import Json

_MOST_WAITING = 2000
"""Pieces that may wait for a slow reader; more are dropped, because the record has the whole."""

MOST_WATCHING = 64
"""Streams at once: each reads its run by itself, and one that nobody reads costs as much."""

Told = Json | None
"""A streamed piece, or None: look again."""


class Subscribers:
    """The watchers of each run. For the event loop's thread only."""

    def __init__(self) -> None:
        self._queues: dict[str, set[asyncio.Queue[Told]]] = {}
        self._came = asyncio.Event()

    @contextmanager
    def watching(self, name: str) -> Iterator[asyncio.Queue[Told]]:
        """Watch a run, or ``""`` for everything, within this scope."""
        queue: asyncio.Queue[Told] = asyncio.Queue(_MOST_WAITING)
        self._queues.setdefault(name, set()).add(queue)
        self._came.set()
        try:
            yield queue
        finally:
            left = self._queues[name]
            left.discard(queue)
            if not left:
                del self._queues[name]

    @property
    def is_full(self) -> bool:
        """Whether the limit of watchers is reached."""
        return sum(map(len, self._queues.values())) >= MOST_WATCHING

    async def pause(self, often: float, seldom: float) -> None:
        """Wait ``often`` seconds, or ``seldom`` without watchers; a new watcher ends the wait."""
        self._came.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(often if self._queues else seldom):
                await self._came.wait()

    def tell(self, name: str, told: Told) -> None:
        """Send something to the watchers of a run."""
        for queue in self._queues.get(name, ()):
            if not queue.full():
                queue.put_nowait(told)

    def wake_all(self) -> None:
        """Have all watchers look again."""
        for queues in self._queues.values():
            for queue in queues:
                if not queue.full():
                    queue.put_nowait(None)
