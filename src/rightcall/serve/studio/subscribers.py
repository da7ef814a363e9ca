"""Those who watch: each has a queue, and is told that something happened, or what streams."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rightcall.serve.studio.shape import Json

_MOST_WAITING = 2000
"""Pieces that may wait for one who reads slowly; more are left out, since the record has the whole."""

MOST_WATCHING = 64
"""Streams at once: each goes through its run by itself, and one that nobody reads costs as much."""

Told = Json | None
"""A piece that streams, or None: look again."""


class Subscribers:
    """Who watches what. Of the event loop's thread alone."""

    def __init__(self) -> None:
        self._queues: dict[str, set[asyncio.Queue[Told]]] = {}
        self._came = asyncio.Event()

    @contextmanager
    def watching(self, name: str) -> Iterator[asyncio.Queue[Told]]:
        """Be told of something, for as long as this is entered: a run, or ``""`` for everything."""
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
        """Whether nobody else can watch now."""
        return sum(map(len, self._queues.values())) >= MOST_WATCHING

    async def pause(self, often: float, seldom: float) -> None:
        """Wait for a moment, or longer where nobody watches; until somebody does, at most."""
        self._came.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(often if self._queues else seldom):
                await self._came.wait()

    def tell(self, name: str, told: Told) -> None:
        """Tell those who watch a run."""
        for queue in self._queues.get(name, ()):
            if not queue.full():
                queue.put_nowait(told)

    def wake_all(self) -> None:
        """Have everybody look again."""
        for queues in self._queues.values():
            for queue in queues:
                if not queue.full():
                    queue.put_nowait(None)
