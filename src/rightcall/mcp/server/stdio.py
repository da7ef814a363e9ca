"""Standard input and output into the streams of an MCP connection.

While it is served, descriptor 1 is standard error and descriptor 0 is empty: what tools and their child
processes print cannot get between the messages, and what they read is not ours to lose.
"""

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from types import TracebackType
from typing import Self

import anyio
from mcp.server.lowlevel.server import Server
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

from rightcall.mcp.server.bounds import Bounds
from rightcall.mcp.server.lines import Line, Lines, TooLong
from rightcall.mcp.server.wires import Sink, Source

_MOST_WAITING = 64
"""Writes that may wait before no more is read: a client that does not read gets no more answers."""


async def serve_stdio(sdk: Server[object], bounds: Bounds) -> None:
    """Serve the client at the other end of standard input and output, until it closes the first."""
    with _own_streams() as (incoming, outgoing):
        await serve_descriptors(sdk, bounds, incoming, outgoing)


async def serve_descriptors(sdk: Server[object], bounds: Bounds, incoming: int, outgoing: int) -> None:
    """Serve the client at the other end of two descriptors, until there is nothing more to read."""
    sink = Sink(outgoing)
    writer = _Writer(sink)
    reader = _Reader(Source(incoming), writer, bounds.message_bytes)
    try:
        await sdk.run(reader, writer, sdk.create_initialization_options())
    finally:
        with anyio.move_on_after(bounds.grace, shield=True):
            await sink.close()


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


class _Writer:
    """The SDK's stream of messages to the client."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.is_broken = False
        """Nobody reads what is sent."""

    async def send(self, item: SessionMessage, /) -> None:
        """Send one message, as one line."""
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        if self.is_broken:
            raise anyio.BrokenResourceError
        try:
            await self._sink.write(text.encode() + b"\n")
        except OSError:
            self.is_broken = True
            raise anyio.BrokenResourceError from None

    async def calm(self) -> None:
        """Wait until the client has read most of what it was sent."""
        await self._sink.calm(_MOST_WAITING)

    async def refuse(self, code: int, words: str) -> None:
        """Answer something that has no id to be answered under."""
        error = JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=words))
        await self.send(SessionMessage(error))

    async def aclose(self) -> None:
        """Nothing: the descriptor is not the stream's."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        await self.aclose()


class _Reader:
    """The SDK's stream of messages from the client. What is no message is answered here."""

    def __init__(self, source: Source, writer: _Writer, limit: int) -> None:
        self._source = source
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
            return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
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
            data = await self._source.read()
            self._is_over = not data
            self._ready = self._lines.feed(data) if data else self._lines.finish()
            self._ready.reverse()
        # Others must have their turn, too: a flood of lines is never waited for.
        await asyncio.sleep(0)
        return self._ready.pop()

    async def aclose(self) -> None:
        """Nothing: the descriptor is not the stream's."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        await self.aclose()
