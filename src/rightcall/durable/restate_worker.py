"""A worker of a Restate server: serves segments as workflows, and the objects that keep their journals.

The server calls the workers. All workers of a machine listen at one address, and the kernel gives each
new connection to one of them; a connection carries few calls at a time, so that the server opens
several. When a worker dies its connections break, and the server calls again, and so reaches another.

A segment is a workflow of the name ``RUN/N``. It runs as plain code: its steps are recorded in an object
of the same name (``restate_objects.py``), which counts executions and refuses the records of older ones.
"""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from datetime import timedelta
from heapq import heappop, heappush
from itertools import count
from time import monotonic, time
from typing import Any

from msgspec import json, to_builtins

from rightcall.core.optional_libraries import load
from rightcall.durable.engine import JOURNAL_VERSION, MOST_DEATHS, Execute, Queue, SegmentJob
from rightcall.durable.restate_client import RestateAddress, RestateClient, sql_literal
from rightcall.durable.restate_objects import (
    JOURNAL,
    LIMIT,
    blobs,
    journals,
    limits,
    live,
    messages,
    soon_and_for_ever,
)
from rightcall.errors import RightcallError, RunHeld, TransportError, UsageError
from rightcall.log import logger

_LOOK = 2.0
"""Seconds between two checks for segments that are counted as running and have ended."""


class PrioritySlots:
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
    async def hold_slot(self, priority: int) -> AsyncIterator[None]:
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


class QueueLimits:
    """The limits of the queues that a worker serves: they say when a segment may start.

    The server hands workers everything it has, and enforces no limits. So a worker queues what it was
    given, the most urgent first. For a queue with limits over all workers, it asks an object of the
    server before it starts a segment: one object for each queue, or for each lane of it.
    """

    def __init__(self, client: RestateClient, queues: Sequence[Queue], workflow: str) -> None:
        self._client = client
        self._workflow = workflow
        self._queues = {queue.name: queue for queue in queues}
        self._slots = {queue.name: PrioritySlots(queue.concurrency) for queue in queues}
        self._turns: dict[str, PrioritySlots] = {}

    def serves(self, queue: str) -> bool:
        """Whether this worker serves that queue."""
        return queue in self._queues

    @asynccontextmanager
    async def admit(self, job: SegmentJob) -> AsyncIterator[None]:
        """Wait until a segment may start; within this scope it counts as running."""
        queue = self._queues[job.queue]
        slots = self._slots[job.queue]
        if queue.rate is None and queue.everywhere is None:
            async with slots.hold_slot(job.priority):
                yield
            return
        name = _name(queue, job)
        # One segment of a lane asks at a time, the most urgent first. It holds no slot while it waits.
        turns = self._turns.setdefault(name, PrioritySlots(1))
        try:
            async with turns.hold_slot(job.priority):
                await self._wait_for_slot(queue, slots, name, job)
        finally:
            if turns.is_free:
                # There may be as many lanes as customers, so unused ones are removed.
                self._turns.pop(name, None)
        try:
            yield
        finally:
            slots.give_back()

    async def _wait_for_slot(
        self, queue: Queue, slots: PrioritySlots, name: str, job: SegmentJob
    ) -> None:
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
                # Release segments that were cancelled: nothing else reports that they are no longer
                # running.
                for row in await self._client.query(
                    f"select value_utf8 from state where service_name = {sql_literal(LIMIT)}"  # noqa: S608
                    f" and service_key = {sql_literal(name)} and key = 'going'"
                ):
                    going = json.decode(row["value_utf8"], type=list[str])
                    for segment in set(going) - await self._running(going):
                        await self._client.call(LIMIT, name, "release", {"segment": segment})
            await asyncio.sleep(wait)

    async def _running(self, segments: Sequence[str]) -> set[str]:
        """Those of the segments that have not ended."""
        if not segments:
            return set()
        rows = await self._client.query(
            "select target_service_key as name from sys_invocation where status != 'completed'"  # noqa: S608
            f" and target_service_name = {sql_literal(self._workflow)}"
            f" and target_service_key in ({', '.join(map(sql_literal, segments))})"
        )
        return {row["name"] for row in rows}

    async def release(self, job: SegmentJob) -> None:
        """No longer count a segment that has ended as running."""
        queue = self._queues[job.queue]
        if queue.everywhere is not None:
            await self._client.call(LIMIT, _name(queue, job), "release", {"segment": job.id})


def _name(queue: Queue, job: SegmentJob) -> str:
    """The name of the object that counts for a queue, or for a lane of it."""
    if queue.lanes:
        return f"{queue.name}/{job.lane}"
    return queue.name


SEGMENT = f"rightcall{JOURNAL_VERSION}_segment"
_LONG = timedelta(days=3650)
"""How long the server keeps a workflow that has ended: until somebody deletes it."""
_SILENCE = timedelta(days=1)
"""How long a segment may be silent towards the server: a model or a tool may take long."""
_LEAVING = 3.0
"""Seconds for which a worker that leaves a segment tries to report that."""
_STREAMS = 8
"""Calls that one connection carries; for more, the server opens another, to any worker."""
_gone: ContextVar[asyncio.Event | None] = ContextVar("gone", default=None)


class RestateJournal:
    """The journal of one segment, for one execution of it."""

    def __init__(self, client: RestateClient, name: str, attempt: int, known: Mapping[str, str]) -> None:
        self._client = client
        self._name = name
        self.attempt = attempt
        self.known = known

    async def record(self, key: str, value: str) -> None:
        """Store a value under a key."""
        await self.tell("record", {"key": key, "value": value})

    async def tell(self, handler: str, body: Mapping[str, Any]) -> None:
        """Call the journal for this execution. Raises RunHeld if it no longer holds the segment."""
        told = {"attempt": self.attempt, "at": time(), **body}
        held = await self._client.call(JOURNAL, self._name, handler, told)
        if held:
            raise RunHeld(self._name.rpartition("/")[0], held)


async def recorded_steps(client: RestateClient, name: str) -> list[dict[str, Any]]:
    """The steps of a segment as they were recorded: key, value and time, in order."""
    rows = await client.query(
        f"select value_utf8 from state where service_name = {sql_literal(JOURNAL)}"  # noqa: S608
        f" and service_key = {sql_literal(name)} and key like 's/%' order by key"
    )
    steps = [json.decode(row["value_utf8"]) for row in rows]
    # A key that was recorded again keeps its first position, with its last value.
    return list({step["key"]: step for step in steps}.values())


class RestateWorker:
    """Executes segments for as long as it is open."""

    def __init__(
        self, client: RestateClient, places: RestateAddress, execute: Execute, name: str
    ) -> None:
        self._client = client
        self._places = places
        self._execute = execute
        self._name = name
        self._limits = QueueLimits(client, (), SEGMENT)
        self._running: set[asyncio.Task[Any]] = set()
        self._closing = False
        self._stop = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None
        self._restate = load("restate")

    async def open(self, queues: tuple[Queue, ...]) -> None:
        """Listen, and tell the server where."""
        self._limits = QueueLimits(self._client, queues, SEGMENT)
        config = load("hypercorn.config").Config()
        config.bind = [f"fd://{self._listen()}"]
        config.accesslog = None
        config.errorlog = None
        config.h2_max_concurrent_streams = _STREAMS
        config.graceful_timeout = 1.0
        identity = self._places.identity
        workflow = self._restate.Workflow(
            SEGMENT,
            inactivity_timeout=_SILENCE,
            abort_timeout=_SILENCE,
            journal_retention=_LONG,
            invocation_retry_policy=soon_and_for_ever(),
        )

        async def run(_: Any, job: dict[str, Any]) -> str:
            return await self._run(json.decode(json.encode(job), type=SegmentJob))

        workflow.main(workflow_retention=_LONG)(run)
        services = [workflow, journals(), blobs(), live(), limits(), messages()]
        keys = None if identity is None else [identity]
        app = watch_disconnects(self._restate.app(services, protocol="bidi", identity_keys=keys))
        serve = load("hypercorn.asyncio").serve
        self._serving = asyncio.create_task(serve(app, config, shutdown_trigger=self._stop.wait))
        await self._client.register(service.name for service in services)

    async def close(self, patience: float) -> None:
        """Take no more work, wait for what is running, and leave the rest to other workers."""
        self._closing = True
        if self._running and patience > 0:
            await asyncio.wait(self._running, timeout=patience)
        for task in list(self._running):
            task.cancel()
        if self._running:
            await asyncio.wait(self._running)
        self._stop.set()
        if self._serving is not None:
            await self._serving

    def _listen(self) -> int:
        where = socket.getaddrinfo(self._places.host, self._places.port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(where[0], socket.SOCK_STREAM)
        if sys.platform != "win32":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(where[4])
        except OSError as error:
            listener.close()
            place = f"{self._places.host}:{self._places.port}"
            raise UsageError(
                f"this worker cannot listen at {place}: {error.strerror}; name another place with serve="
            ) from error
        listener.listen(512)
        return listener.detach()

    async def _run(self, job: SegmentJob) -> str:
        retry = load("restate.exceptions").RetryableError
        if not self._limits.serves(job.queue) or self._closing:
            # Another worker serves that queue; a retry reaches it sooner or later.
            raise retry(f"this worker does not serve the queue {job.queue!r}")
        task = asyncio.create_task(self._in_turn(job))
        try:
            # The result of a task, if the server stays connected; otherwise the task is cancelled.
            gone = _gone.get()
            assert gone is not None
            watching = asyncio.create_task(gone.wait())
            try:
                await asyncio.wait({task, watching}, return_when=asyncio.FIRST_COMPLETED)
                if not task.done():
                    task.cancel()
                    await asyncio.wait({task})
                    raise load("restate.server_context").DisconnectedException
                return task.result()
            except asyncio.CancelledError:
                task.cancel()
                raise
            finally:
                watching.cancel()
        except asyncio.CancelledError:
            if self._closing:
                raise retry("this worker is closing") from None
            raise
        except RunHeld as held:
            # Another execution holds it, or it has ended: the retry then finds nothing left to do.
            raise retry(str(held)) from None

    async def _in_turn(self, job: SegmentJob) -> str:
        """Execute a segment once it may start. From then on, closing waits for it."""
        async with self._limits.admit(job):
            task = asyncio.current_task()
            assert task is not None
            self._running.add(task)
            try:
                ended = await self._attempt(job)
                await self._limits.release(job)
                return ended
            finally:
                self._running.discard(task)

    async def _attempt(self, job: SegmentJob) -> str:
        """Execute a segment once, and store how it ended."""
        about = {"worker": self._name, "at": time(), "job": to_builtins(job)}
        begun = await self._client.call(JOURNAL, job.id, "begin", about)
        if begun["over"]:
            return str(begun["over"])
        steps = await recorded_steps(self._client, job.id)
        known = {step["key"]: step["value"] for step in steps}
        journal = RestateJournal(self._client, job.id, begun["attempt"], known)
        if begun["deaths"] >= MOST_DEATHS:
            reason = f"{begun['deaths']} processes died while they executed it"
            return await _finish(journal, {"status": "parked", "reason": reason})
        try:
            end = await self._outcome(job, journal)
            return await _finish(journal, end)
        except (asyncio.CancelledError, RunHeld, TransportError):
            # Another holds it, the server is away, or this worker closes: none of these is a death.
            with suppress(RightcallError, TimeoutError):
                async with asyncio.timeout(_LEAVING):
                    await journal.tell("leave", {})
            raise

    async def _outcome(self, job: SegmentJob, journal: RestateJournal) -> dict[str, str]:
        left = None
        if job.deadline is not None:
            left = max(job.deadline - time(), 0.0)
        try:
            async with asyncio.timeout(left) as limit:
                return {"status": "ended", "outcome": await self._execute(job, journal)}
        except RunHeld:
            raise
        except Exception as error:
            # Whatever it is, it is kept and shown.
            if isinstance(error, TimeoutError) and limit.expired():
                return {"status": "cancelled", "reason": "its deadline has passed"}
            logger.exception("segment %s broke: %s", job.id, error)  # noqa: TRY401 - for logs of one line
            return {"status": "broken", "reason": f"{type(error).__name__}: {error}"}


async def _finish(journal: RestateJournal, end: dict[str, str]) -> str:
    await journal.tell("finish", {"end": end})
    return end["status"]


def watch_disconnects(app: Any) -> Any:
    """An ASGI app whose handlers can tell when their caller has disconnected."""

    async def with_watch(scope: Any, receive: Callable[[], Awaitable[Any]], send: Any) -> None:
        gone = asyncio.Event()
        _gone.set(gone)

        async def watching() -> Any:
            event = await receive()
            if event["type"] == "http.disconnect":
                gone.set()
            return event

        await app(scope, watching, send)

    return with_watch
