"""When a segment may start, on Restate: a worker's slots by priority, and the limits of a queue.

The server hands workers everything it has, and enforces no limits. So a worker queues what it was given,
the most urgent first. For a queue with limits over all workers, it asks an object of the server before
it starts a segment: one object for each queue, or for each lane of it.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from heapq import heappop, heappush
from itertools import count
from time import monotonic, time

from msgspec import json

from rightcall.durable.engine import Job, Queue
from rightcall.durable.restate_client import RestateClient, quoted
from rightcall.durable.restate_objects import LIMIT

_LOOK = 2.0
"""Seconds between two checks for segments that are counted as running and have ended."""


class Slots:
    """A number of slots; of the waiters, the lowest priority number goes first, then the earliest."""

    def __init__(self, slots: int) -> None:
        self._free = slots
        self._line: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = count()

    @property
    def is_free(self) -> bool:
        """Whether a slot is free."""
        return self._free > 0

    @asynccontextmanager
    async def taken(self, priority: int) -> AsyncIterator[None]:
        """Hold a slot."""
        await self.take(priority)
        try:
            yield
        finally:
            self.give_back()

    async def take(self, priority: int) -> None:
        """Wait for a slot."""
        if self._free:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heappush(self._line, (priority, next(self._numbers), turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                # It was granted at the same moment; pass it on to the next waiter.
                self.give_back()
            raise

    def give_back(self) -> None:
        """Pass the slot to the next waiter."""
        while self._line:
            _, _, turn = heappop(self._line)
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


class Limits:
    """The limits of the queues that a worker serves."""

    def __init__(self, client: RestateClient, queues: Sequence[Queue], workflow: str) -> None:
        self._client, self._workflow = client, workflow
        self._queues = {queue.name: queue for queue in queues}
        self._slots = {queue.name: Slots(queue.concurrency) for queue in queues}
        self._turns: dict[str, Slots] = {}

    def serves(self, queue: str) -> bool:
        """Whether this worker serves that queue."""
        return queue in self._queues

    @asynccontextmanager
    async def kept(self, job: Job) -> AsyncIterator[None]:
        """Wait until a segment may start; within this scope it counts as running."""
        queue, slots = self._queues[job.queue], self._slots[job.queue]
        if queue.rate is None and queue.everywhere is None:
            async with slots.taken(job.priority):
                yield
            return
        name = _name(queue, job)
        # One segment of a lane asks at a time, the most urgent first. It holds no slot while it waits.
        turns = self._turns.setdefault(name, Slots(1))
        try:
            async with turns.taken(job.priority):
                await self._allowed(queue, slots, name, job)
        finally:
            if turns.is_free:
                # There may be as many lanes as customers, so unused ones are removed.
                self._turns.pop(name, None)
        try:
            yield
        finally:
            slots.give_back()

    async def _allowed(self, queue: Queue, slots: Slots, name: str, job: Job) -> None:
        told = {"segment": job.id, "rate": queue.rate, "everywhere": queue.everywhere}
        looked = -_LOOK
        while True:
            await slots.take(job.priority)
            try:
                wait = await self._client.call(LIMIT, name, "take", {**told, "now": time()})
            except BaseException:
                slots.give_back()
                raise
            if not wait:
                return
            slots.give_back()
            if queue.everywhere is not None and monotonic() - looked >= _LOOK:
                looked = monotonic()
                await self._let_go_of_what_is_over(name)
            await asyncio.sleep(wait)

    async def _let_go_of_what_is_over(self, name: str) -> None:
        """Release segments that were cancelled: nothing else reports that they are no longer running."""
        rows = await self._client.query(
            f"select value_utf8 from state where service_name = {quoted(LIMIT)}"  # noqa: S608
            f" and service_key = {quoted(name)} and key = 'going'"
        )
        going = json.decode(rows[0]["value_utf8"], type=list[str]) if rows else []
        if not going:
            return
        rows = await self._client.query(
            f"select target_service_key as name from sys_invocation where status != 'completed'"  # noqa: S608
            f" and target_service_name = {quoted(self._workflow)}"
            f" and target_service_key in ({', '.join(map(quoted, going))})"
        )
        for segment in set(going) - {row["name"] for row in rows}:
            await self._client.call(LIMIT, name, "release", {"segment": segment})

    async def release(self, job: Job) -> None:
        """No longer count a segment that has ended as running."""
        queue = self._queues[job.queue]
        if queue.everywhere is not None:
            await self._client.call(LIMIT, _name(queue, job), "release", {"segment": job.id})


def _name(queue: Queue, job: Job) -> str:
    """The name of the object that counts for a queue, or for a lane of it."""
    return f"{queue.name}/{job.lane}" if queue.lanes else queue.name
