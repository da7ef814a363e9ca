"""Standard input and output into the streams of an MCP connection.

While it is served, descriptor 1 is standard error and descriptor 0 is empty: what tools and their child
processes print cannot get between the messages, and what they read is not ours to lose.

Each descriptor has a daemon thread: whatever it is (a pipe, a file, a terminal that others share),
nothing about it is changed, the event loop never waits for it, and a read that never returns does not
hold up the end of the process.
"""

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from queue import SimpleQueue
from typing import Any, TypeAlias, TypeVar

import anyio
from mcp.server.lowlevel.server import Server
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

from rightcall.mcp.framing import Line, Lines, MessageStream, TooLong, decode, encode
from rightcall.mcp.server.serve_options import Bounds

T = TypeVar("T")

_CHUNK = 64 * 1024
_MOST_WAITING = 64
"""Writes that may wait before no more is read: a client that does not read gets no more answers."""

_Job: TypeAlias = "tuple[Callable[[], Any], asyncio.Future[Any]] | None"


async def serve_stdio(sdk: Server[object], bounds: Bounds) -> None:
    """Serve the client at the other end of standard input and output, until it closes the first."""
    with _own_streams() as (incoming, outgoing):
        await serve_descriptors(sdk, bounds, incoming, outgoing)


async def serve_descriptors(sdk: Server[object], bounds: Bounds, incoming: int, outgoing: int) -> None:
    """Serve the client at the other end of two descriptors, until there is nothing more to read."""
    reading, writing = _Worker("stdin"), _Worker("stdout")
    writer = _Outgoing(writing, outgoing)
    reader = _Incoming(reading, incoming, writer, bounds.message_bytes)
    try:
        await sdk.run(reader, writer, sdk.create_initialization_options())
    finally:
        reading.end()
        with anyio.move_on_after(bounds.grace, shield=True):
            await writing.calm(0)
        writing.end()


@contextmanager
def _own_streams() -> Iterator[tuple[int, int]]:
    """Standard input and output for the caller alone; everybody else gets none and standard error."""
    sys.stdout.flush()
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        os.dup2(nothing, 0)
        os.dup2(_error_stream(nothing), 1)
        with redirect_stdout(sys.stderr):
            yield incoming, outgoing
    finally:
        sys.stdout.flush()
        os.dup2(incoming, 0)
        os.dup2(outgoing, 1)
        # A thread may still be reading or writing, so these two are not closed.
        os.close(nothing)


def _error_stream(otherwise: int) -> int:
    try:
        os.fstat(2)
    except OSError:
        return otherwise
    return 2


class _Worker:
    """Does blocking work, one piece after the other, in a daemon thread."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._waiting = 0
        self._calmer = asyncio.Event()
        threading.Thread(target=self._work, name=f"rightcall: {name}", daemon=True).start()

    async def run(self, work: Callable[[], T]) -> T:
        """Wait for a piece of work. Giving up the wait does not undo it. Raises its OSError."""
        done: asyncio.Future[T] = self._loop.create_future()
        self._waiting += 1
        self._jobs.put((work, done))
        return await done

    async def calm(self, most: int) -> None:
        """Wait until no more than so many pieces of work are waiting."""
        while self._waiting > most:
            self._calmer.clear()
            await self._calmer.wait()

    def end(self) -> None:
        """Do what is waiting, and no more."""
        self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            work, done = job
            value, error = None, None
            try:
                value = work()
            except OSError as found:
                error = found
            # Nobody listens once the loop is closed.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._settle, done, value, error)

    def _settle(self, done: "asyncio.Future[Any]", value: object, error: OSError | None) -> None:
        self._waiting -= 1
        self._calmer.set()
        if done.done():
            return
        if error is None:
            done.set_result(value)
        else:
            done.set_exception(error)


class _Outgoing(MessageStream):
    """The SDK's stream of messages to the client. The descriptor is not the stream's to close."""

    def __init__(self, worker: _Worker, descriptor: int) -> None:
        self._worker = worker
        self._descriptor = descriptor
        self.is_broken = False
        """Nobody reads what is sent."""

    async def send(self, item: SessionMessage, /) -> None:
        """Send one message, as one line."""
        data = encode(item)
        if self.is_broken:
            raise anyio.BrokenResourceError
        try:
            await self._worker.run(lambda: _write(self._descriptor, data))
        except OSError:
            self.is_broken = True
            raise anyio.BrokenResourceError from None

    async def calm(self) -> None:
        """Wait until the client has read most of what it was sent."""
        await self._worker.calm(_MOST_WAITING)

    async def refuse(self, code: int, words: str) -> None:
        """Answer something that has no id to be answered under."""
        error = JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=words))
        await self.send(SessionMessage(error))


class _Incoming(MessageStream):
    """The SDK's stream of messages from the client. What is no message is answered here."""

    def __init__(self, worker: _Worker, descriptor: int, writer: _Outgoing, limit: int) -> None:
        self._worker = worker
        self._descriptor = descriptor
        self._writer = writer
        self._limit = limit
        self._lines = Lines(limit)
        self._ready: list[Line] = []
        self._is_over = False

    async def receive(self) -> SessionMessage:
        """The next message; EndOfStream when there are no more."""
        while True:
            await self._writer.calm()
            line = await self._next()
            if line is None or self._writer.is_broken:
                # Whoever does not listen any more has nothing more to say.
                raise anyio.EndOfStream
            try:
                message = await self._parse(line)
            except anyio.BrokenResourceError:
                raise anyio.EndOfStream from None
            if message is not None:
                return message

    async def _parse(self, line: Line) -> SessionMessage | None:
        if isinstance(line, TooLong):
            await self._writer.refuse(INVALID_REQUEST, f"a message of more than {self._limit:,} bytes")
            return None
        try:
            return decode(line)
        except ValidationError as error:
            is_json = error.errors(include_url=False)[0]["type"] != "json_invalid"
        if is_json:
            await self._writer.refuse(INVALID_REQUEST, "this is not a JSON-RPC message")
        else:
            await self._writer.refuse(PARSE_ERROR, "this is not JSON")
        return None

    async def _next(self) -> Line | None:
        while not self._ready:
            if self._is_over:
                return None
            data = await self._worker.run(lambda: _read(self._descriptor))
            self._is_over = not data
            self._ready = self._lines.feed(data) if data else self._lines.finish()
            self._ready.reverse()
        # Others must have their turn, too: a flood of lines is never waited for.
        await asyncio.sleep(0)
        return self._ready.pop()


def _read(descriptor: int) -> bytes:
    """What can be read; nothing at the end."""
    try:
        return os.read(descriptor, _CHUNK)
    except OSError:
        return b""


def _write(descriptor: int, data: bytes) -> None:
    """Write all of it. Raises OSError when nobody is there to read."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
