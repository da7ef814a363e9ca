"""Standard input and output into the streams of an MCP connection.

While serving, descriptor 1 is standard error and descriptor 0 is empty: output of tools and their child
processes cannot get between the messages, and what they read takes nothing from our input. Each
descriptor has a daemon thread: whatever it is (a pipe, a file, a terminal that others share), its
settings are not changed, the event loop never waits for it, and a read that never returns does not delay
the end of the process.
"""

import asyncio
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from queue import SimpleQueue
from typing import TypeAlias

import anyio
from mcp.server.lowlevel.server import Server
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

from rightcall.mcp.jsonrpc_lines import (
    Line,
    Lines,
    MessageStream,
    OverlongLine,
    decode_message,
    encode_message,
)
from rightcall.mcp.server.serve_options import Bounds

_CHUNK = 64 * 1024
_AHEAD = 4
"""Chunks that are read ahead: waking the thread for each would cost more."""
_MOST_WAITING = 64
"""Queued writes above which no more is read: a client that does not read gets no more answers."""

_Job: TypeAlias = "tuple[bytes, asyncio.Future[None]] | None"


async def serve_stdio(sdk: Server[object], bounds: Bounds) -> None:
    """Serve the client at the other end of standard input and output, until it closes the input."""
    with _own_streams() as (incoming, outgoing):
        await serve_descriptors(sdk, bounds, incoming, outgoing)


async def serve_descriptors(sdk: Server[object], bounds: Bounds, incoming: int, outgoing: int) -> None:
    """Serve the client at the other end of two descriptors, until the input ends."""
    writer = _Outgoing(outgoing)
    reader = _Incoming(incoming, writer, bounds.message_bytes)
    try:
        await sdk.run(reader, writer, sdk.create_initialization_options())
    finally:
        with anyio.move_on_after(bounds.grace, shield=True):
            await writer.calm(0)
        writer.end()


@contextmanager
def _own_streams() -> Iterator[tuple[int, int]]:
    """Standard input and output for the caller alone; other code gets no input, and standard error."""
    sys.stdout.flush()
    incoming = os.dup(0)
    outgoing = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        os.dup2(nothing, 0)
        error_stream = 2
        try:
            os.fstat(error_stream)
        except OSError:
            error_stream = nothing
        os.dup2(error_stream, 1)
        with redirect_stdout(sys.stderr):
            yield incoming, outgoing
    finally:
        sys.stdout.flush()
        os.dup2(incoming, 0)
        os.dup2(outgoing, 1)
        # A thread may still be reading or writing, so these two are not closed.
        os.close(nothing)


class _Outgoing(MessageStream):
    """The SDK's stream of messages to the client, written by a thread. The descriptor stays open."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._waiting = 0
        self._calmer = asyncio.Event()
        self.is_broken = False
        """Whether the client has stopped reading."""
        threading.Thread(target=self._write, name="rightcall: stdout", daemon=True).start()

    async def send(self, item: SessionMessage, /) -> None:
        """Send one message, as one line. Cancelling the wait does not undo it."""
        data = encode_message(item)
        if self.is_broken:
            raise anyio.BrokenResourceError
        written: asyncio.Future[None] = self._loop.create_future()
        self._waiting += 1
        self._jobs.put((data, written))
        try:
            await written
        except OSError:
            self.is_broken = True
            raise anyio.BrokenResourceError from None

    async def refuse(self, code: int, words: str) -> None:
        """Send an error for input that has no id to answer to."""
        error = JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=words))
        await self.send(SessionMessage(error))

    async def calm(self, most: int) -> None:
        """Wait until at most so many writes are queued."""
        while self._waiting > most:
            self._calmer.clear()
            await self._calmer.wait()

    def end(self) -> None:
        """Write what is queued, and no more."""
        self._jobs.put(None)

    def _write(self) -> None:
        """In the thread: write one message after the other."""
        while (job := self._jobs.get()) is not None:
            data, written = job
            error = None
            rest = memoryview(data)
            try:
                while rest:
                    rest = rest[os.write(self._descriptor, rest) :]
            except OSError as found:
                error = found
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._settle, written, error)

    def _settle(self, written: "asyncio.Future[None]", error: OSError | None) -> None:
        self._waiting -= 1
        self._calmer.set()
        if written.done():
            return
        if error is None:
            written.set_result(None)
        else:
            written.set_exception(error)


class _Incoming(MessageStream):
    """The SDK's stream of messages from the client, read by a thread. Invalid ones are answered here."""

    def __init__(self, descriptor: int, writer: _Outgoing, limit: int) -> None:
        self._descriptor = descriptor
        self._writer = writer
        self._limit = limit
        self._lines = Lines(limit)
        self._ready: list[Line] = []
        self._is_over = False
        self._loop = asyncio.get_running_loop()
        self._slots = threading.Semaphore(_AHEAD)
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue()
        threading.Thread(target=self._read, name="rightcall: stdin", daemon=True).start()

    def _read(self) -> None:
        """In the thread: read a few chunks ahead, the last of which is empty."""
        chunk = b"more"
        while chunk:
            self._slots.acquire()
            try:
                chunk = os.read(self._descriptor, _CHUNK)
            except OSError:
                chunk = b""
            # The loop may be closed already; then there is no reader.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._chunks.put_nowait, chunk)

    async def receive(self) -> SessionMessage:
        """The next message; EndOfStream when there are no more."""
        while True:
            # Until the client has read most of what it was sent.
            await self._writer.calm(_MOST_WAITING)
            line = await self._next()
            if line is None or self._writer.is_broken:
                # A client that does not read any more is treated as gone.
                raise anyio.EndOfStream
            try:
                message = await self._parse(line)
            except anyio.BrokenResourceError:
                raise anyio.EndOfStream from None
            if message is not None:
                return message

    async def _parse(self, line: Line) -> SessionMessage | None:
        if isinstance(line, OverlongLine):
            await self._writer.refuse(INVALID_REQUEST, f"a message of more than {self._limit:,} bytes")
            return None
        try:
            return decode_message(line)
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
            data = await self._chunks.get()
            self._slots.release()
            self._is_over = not data
            self._ready = self._lines.feed(data) if data else self._lines.finish()
            self._ready.reverse()
        # Let other tasks run: reading a flood of lines would never yield otherwise.
        await asyncio.sleep(0)
        return self._ready.pop()
