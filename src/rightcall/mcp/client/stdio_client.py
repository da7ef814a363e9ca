"""A program to start into the pair of streams that the SDK's session uses.

The SDK's own transport would read a line of any length into memory, and leave the processes that a
server starts running; so this one is ours. One task opens and closes it; closing takes bounded time.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from rightcall.mcp.client.endpoints import Stdio
from rightcall.mcp.client.launch import Child, Pipe, launch
from rightcall.mcp.framing import Line, Lines, MessageStream, TooLong, decode, encode

Streams: TypeAlias = tuple["Incoming", "Outgoing"]

MOST_GARBAGE = 200
"""How many lines that are not messages a server may send: a stray print is forgiven, a stream is not."""
_FLUSH_SECONDS = 0.5
_CLOSE_SECONDS = 12.0
"""Seconds: more than all steps of closing may take by their own limits."""


@asynccontextmanager
async def stdio_streams(
    target: Stdio,
    *,
    max_message_bytes: int,
    ended: Callable[[str], None],
    garbage: Callable[[str], None],
) -> AsyncIterator[Streams]:
    """Start a server and speak to it.

    ``ended`` is called when no more can come from it, and with the reason as soon as that is known;
    ``garbage`` with each line that is not a message.
    """
    child = await launch(target)
    link = _Link(child, Lines(max_message_bytes), ended, garbage)
    async with anyio.create_task_group() as group:
        group.start_soon(link.write)
        try:
            yield link.incoming, link.outgoing
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(_CLOSE_SECONDS):
                await link.flush()
                group.cancel_scope.cancel()
                await link.end()
            link.close()


class Outgoing(MessageStream):
    """Our messages to a child: written at once, as far as the pipe takes them.

    The rest is queued for the writing task, so that a cancelled sender leaves no half message behind.
    """

    def __init__(self, stdin: Pipe, waiting: MemoryObjectSendStream[bytes]) -> None:
        self._stdin = stdin
        self._waiting = waiting
        self._behind = 0
        """How many messages are queued."""
        self._is_closed = False
        self.is_broken = False
        """Whether the child has stopped reading."""

    async def send(self, message: SessionMessage, /) -> None:
        """Send a message."""
        if self._is_closed:
            raise anyio.ClosedResourceError
        if self.is_broken:
            raise anyio.BrokenResourceError
        data = encode(message)
        if self._behind:
            await self._wait(data)
            return
        try:
            written = self._stdin.write(data)
        except OSError:
            # The reader finds the reason in the server's output.
            self.is_broken = True
            return
        if written < len(data):
            self._behind += 1
            self._waiting.send_nowait(data[written:])

    async def _wait(self, data: bytes) -> None:
        self._behind += 1
        try:
            await self._waiting.send(data)
        except BaseException:
            self._behind -= 1
            raise

    def caught_up(self) -> None:
        """Note that a queued message has been written."""
        self._behind -= 1

    def close(self) -> None:
        """Accept no more messages."""
        self._is_closed = True
        self._waiting.close()

    async def aclose(self) -> None:
        """Accept no more messages."""
        self.close()


class Incoming(MessageStream):
    """A child's messages, read when the session wants the next one."""

    def __init__(
        self,
        stdout: Pipe,
        lines: Lines,
        ended: Callable[[str], None],
        garbage: Callable[[str], None],
    ) -> None:
        self._stdout = stdout
        self._lines = lines
        self._ended = ended
        self._garbage = garbage
        self._forgiven = MOST_GARBAGE
        self._ready: deque[Line] = deque()
        self.is_over = False
        """Whether no more can come."""

    async def receive(self) -> SessionMessage:
        """The next message; EndOfStream when no more can come."""
        while not self.is_over:
            if self._ready:
                # Let other tasks run: a flood of lines would never yield otherwise.
                await asyncio.sleep(0)
            else:
                await self._read()
            message = self._decoded(self._ready.popleft()) if self._ready else None
            if message is not None:
                return message
        raise anyio.EndOfStream

    async def _read(self) -> None:
        try:
            data = await self._stdout.receive()
        except OSError as error:
            self._end(f"cannot be read from: {error.strerror}")
            return
        if data:
            self._ready.extend(self._lines.feed(data))
        else:
            self._end("")

    def _decoded(self, line: Line) -> SessionMessage | None:
        if isinstance(line, TooLong):
            self._end("sent a message that is too long")
            return None
        try:
            return decode(line)
        except ValueError:
            self._garbage(line[:200].decode(errors="replace"))
        self._forgiven -= 1
        if self._forgiven < 0:
            self._end(f"sent more than {MOST_GARBAGE} lines that are no messages")
        return None

    def _end(self, reason: str) -> None:
        self.is_over = True
        self._ended(reason)


class _Link:
    """The streams between a child and a session, and the task that writes what had to wait."""

    def __init__(
        self,
        child: Child,
        lines: Lines,
        ended: Callable[[str], None],
        garbage: Callable[[str], None],
    ) -> None:
        self._child = child
        self._ended = ended
        self.incoming = Incoming(child.stdout, lines, ended, garbage)
        waiting, self._sent = anyio.create_memory_object_stream[bytes](1)
        self.outgoing = Outgoing(child.stdin, waiting)
        self._has_written = anyio.Event()

    async def write(self) -> None:
        """Write queued messages to the child, until it stops reading."""
        # It has stopped reading: the reader finds the reason in the server's output.
        with suppress(OSError):
            try:
                async with self._sent:
                    async for rest in self._sent:
                        await self._child.stdin.send(rest)
                        self.outgoing.caught_up()
            finally:
                self.outgoing.is_broken = True
                self._has_written.set()

    async def flush(self) -> None:
        """Accept no more messages, and let the last ones, such as a cancellation, be written."""
        self.outgoing.close()
        with anyio.move_on_after(_FLUSH_SECONDS):
            await self._has_written.wait()

    async def end(self) -> None:
        """End the child, after the writing task was told to stop."""
        # It should have stopped watching the pipe before that is closed.
        with anyio.move_on_after(_FLUSH_SECONDS):
            await self._has_written.wait()
        epitaph = await self._child.end()
        if self.incoming.is_over:
            self._ended(epitaph)

    def close(self) -> None:
        """Close the queue."""
        self._sent.close()
