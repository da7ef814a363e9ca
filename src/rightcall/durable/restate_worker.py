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
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from datetime import timedelta
from time import time
from typing import Any

from msgspec import json, to_builtins

from rightcall.core.extras import load
from rightcall.durable.engine import JOURNAL_VERSION, MOST_DEATHS, Execute, Job, Queue
from rightcall.durable.restate_client import Places, RestateClient, quoted
from rightcall.durable.restate_limits import Limits
from rightcall.durable.restate_objects import (
    JOURNAL,
    blobs,
    journals,
    limits,
    live,
    soon_and_for_ever,
)
from rightcall.errors import RightcallError, RunHeld, TransportError, UsageError
from rightcall.log import logger

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
        self._client, self._name = client, name
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


async def recorded(client: RestateClient, name: str) -> list[dict[str, Any]]:
    """The steps of a segment as they were recorded: key, value and time, in order."""
    rows = await client.query(
        f"select value_utf8 from state where service_name = {quoted(JOURNAL)}"  # noqa: S608
        f" and service_key = {quoted(name)} and key like 's/%' order by key"
    )
    steps = [json.decode(row["value_utf8"]) for row in rows]
    # A key that was recorded again keeps its first position, with its last value.
    return list({step["key"]: step for step in steps}.values())


class Worker:
    """Executes segments for as long as it is open."""

    def __init__(self, client: RestateClient, places: Places, execute: Execute, name: str) -> None:
        self._client, self._places, self._execute, self._name = client, places, execute, name
        self._limits = Limits(client, (), SEGMENT)
        self._running: set[asyncio.Task[Any]] = set()
        self._closing = False
        self._stop = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None
        self._restate = load("restate")

    async def open(self, queues: tuple[Queue, ...]) -> None:
        """Listen, and tell the server where."""
        self._limits = Limits(self._client, queues, SEGMENT)
        config = load("hypercorn.config").Config()
        config.bind = [f"fd://{self._listen()}"]
        config.accesslog, config.errorlog = None, None
        config.h2_max_concurrent_streams = _STREAMS
        config.graceful_timeout = 1.0
        identity = self._places.identity
        services = [self._segments(), journals(), blobs(), live(), limits()]
        keys = None if identity is None else [identity]
        app = watched(self._restate.app(services, protocol="bidi", identity_keys=keys))
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

    def _segments(self) -> Any:
        workflow = self._restate.Workflow(
            SEGMENT,
            inactivity_timeout=_SILENCE,
            abort_timeout=_SILENCE,
            journal_retention=_LONG,
            invocation_retry_policy=soon_and_for_ever(),
        )

        async def run(_: Any, job: dict[str, Any]) -> str:
            return await self._run(json.decode(json.encode(job), type=Job))

        workflow.main(workflow_retention=_LONG)(run)
        return workflow

    async def _run(self, job: Job) -> str:
        retry = load("restate.exceptions").RetryableError
        if not self._limits.serves(job.queue) or self._closing:
            # Another worker serves that queue; a retry reaches it sooner or later.
            raise retry(f"this worker does not serve the queue {job.queue!r}")
        task = asyncio.create_task(self._in_turn(job))
        try:
            return await unless_gone(task)
        except asyncio.CancelledError:
            if self._closing:
                raise retry("this worker is closing") from None
            raise
        except RunHeld as held:
            # Another execution holds it, or it has ended: the retry then finds nothing left to do.
            raise retry(str(held)) from None

    async def _in_turn(self, job: Job) -> str:
        """Execute a segment once it may start. From then on, closing waits for it."""
        async with self._limits.kept(job):
            task = asyncio.current_task()
            assert task is not None
            self._running.add(task)
            try:
                return await self._ended(job)
            finally:
                self._running.discard(task)

    async def _ended(self, job: Job) -> str:
        ended = await self._attempt(job)
        await self._limits.release(job)
        return ended

    async def _attempt(self, job: Job) -> str:
        """Execute a segment once, and store how it ended."""
        begun = await self._client.call(
            JOURNAL, job.id, "begin", {"worker": self._name, "at": time(), "job": to_builtins(job)}
        )
        if begun["over"]:
            return str(begun["over"])
        steps = await recorded(self._client, job.id)
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

    async def _outcome(self, job: Job, journal: RestateJournal) -> dict[str, str]:
        left = None if job.deadline is None else max(job.deadline - time(), 0.0)
        try:
            async with asyncio.timeout(left) as limit:
                return {"status": "ended", "outcome": await self._execute(job, journal)}
        except RunHeld:
            raise
        except TimeoutError as error:
            if limit.expired():
                return {"status": "cancelled", "reason": "its deadline has passed"}
            return _broken(job, error)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is kept and shown
            return _broken(job, error)


def _broken(job: Job, error: Exception) -> dict[str, str]:
    logger.error("segment %s broke: %s", job.id, error, exc_info=error)
    return {"status": "broken", "reason": f"{type(error).__name__}: {error}"}


async def _finish(journal: RestateJournal, end: dict[str, str]) -> str:
    await journal.tell("finish", {"end": end})
    return end["status"]


async def unless_gone(task: asyncio.Task[str]) -> str:
    """The result of a task, if the server stays connected; otherwise the task is cancelled.

    A server that has cancelled a segment, or given it to another worker, disconnects the call.
    """
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


def watched(app: Any) -> Any:
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
