"""What may be executed now, on Restate: the slots of a worker by priority, and the limits of a queue.

The server hands workers everything it has, and holds to no limits. So a worker keeps what it was given
in line, the most urgent first, and asks an object of the server before it begins with one whose queue
has limits over all workers: one object for each queue, or for each lane of it.
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
"""Seconds between two looks at what counts as under way and is over."""


class Slots:
    """So many at a time; of those in line, the lowest number first, and then who came first."""

    def __init__(self, slots: int) -> None:
        self._free = slots
        self._line: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = count()

    @property
    def is_free(self) -> bool:
        """Whether nobody would have to wait."""
        return self._free > 0

    @asynccontextmanager
    async def taken(self, priority: int) -> AsyncIterator[None]:
        """Hold one."""
        await self.take(priority)
        try:
            yield
        finally:
            self.give_back()

    async def take(self, priority: int) -> None:
        """Wait in line for one."""
        if self._free:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heappush(self._line, (priority, next(self._numbers), turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                # It was given in the same moment; the next in line has it.
                self.give_back()
            raise

    def give_back(self) -> None:
        """Let the next in line have it."""
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
        """Whether this worker has that queue."""
        return queue in self._queues

    @asynccontextmanager
    async def kept(self, job: Job) -> AsyncIterator[None]:
        """Begin when a segment may begin; in here it counts as under way."""
        queue, slots = self._queues[job.queue], self._slots[job.queue]
        if queue.rate is None and queue.everywhere is None:
            async with slots.taken(job.priority):
                yield
            return
        name = _name(queue, job)
        # One of a lane asks at a time, the most urgent first. It holds no slot while it waits.
        turns = self._turns.setdefault(name, Slots(1))
        try:
            async with turns.taken(job.priority):
                await self._allowed(queue, slots, name, job)
        finally:
            if turns.is_free:
                # There may be as many lanes as customers.
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
        """Find those that were cancelled: nobody else says that they are no longer under way."""
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
        """Let a segment that is over no longer count as under way."""
        queue = self._queues[job.queue]
        if queue.everywhere is not None:
            await self._client.call(LIMIT, _name(queue, job), "release", {"segment": job.id})


def _name(queue: Queue, job: Job) -> str:
    """The object that counts for a queue, or for a lane of it."""
    return f"{queue.name}/{job.lane}" if queue.lanes else queue.name
