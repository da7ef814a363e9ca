"""A program to start into the pair of streams that the SDK's session speaks over.

The SDK's own transport would take a line of any length into memory, and leave what a server starts to
itself; so this one is ours. It is opened and closed by one task, and closing takes bounded time.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from rightcall.mcp.client.endpoints import Stdio
from rightcall.mcp.client.launch import Child, Pipe, launch
from rightcall.mcp.framing import Lines, MessageStream, TooLong, decode, encode

Streams: TypeAlias = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], "Outgoing"]

MOST_GARBAGE = 200
"""How many lines that are no messages a server may send; a stray print is forgiven, a stream is not."""
_FLUSH_SECONDS = 0.5
_CLOSE_SECONDS = 12.0
"""More than everything at the end may take by its own bounds."""


@asynccontextmanager
async def stdio_streams(
    target: Stdio,
    *,
    max_message_bytes: int,
    ended: Callable[[str], None],
    garbage: Callable[[str], None],
) -> AsyncIterator[Streams]:
    """Start a server and speak to it.

    ``ended`` is told when no more can come from it, and why as soon as that is known; ``garbage`` of
    each line that is no message.
    """
    child = await launch(target)
    link = _Link(child, Lines(max_message_bytes), ended, garbage)
    async with anyio.create_task_group() as group:
        group.start_soon(link.read)
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
    """What is said to a child: written where it is said, as long as the pipe takes all of it.

    The rest waits for the task that writes: whoever is cancelled leaves no half of a message behind.
    """

    def __init__(self, stdin: Pipe, waiting: MemoryObjectSendStream[bytes]) -> None:
        self._stdin = stdin
        self._waiting = waiting
        self._behind = 0
        """How many wait."""
        self._is_closed = False
        self.is_broken = False
        """Nobody reads any more."""

    async def send(self, message: SessionMessage, /) -> None:
        """Say a message."""
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
            # What the server's output says of that is for the reader.
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
        """One that waited has been written."""
        self._behind -= 1

    def close(self) -> None:
        """Take no more."""
        self._is_closed = True
        self._waiting.close()

    async def aclose(self) -> None:
        """Take no more."""
        self.close()


class _Link:
    """What goes between a child and a session, and the two tasks that carry it."""

    def __init__(
        self,
        child: Child,
        lines: Lines,
        ended: Callable[[str], None],
        garbage: Callable[[str], None],
    ) -> None:
        self._child = child
        self._lines = lines
        self._ended = ended
        self._garbage = garbage
        self._received, self.incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        waiting, self._sent = anyio.create_memory_object_stream[bytes](1)
        self.outgoing = Outgoing(child.stdin, waiting)
        self._forgiven = MOST_GARBAGE
        self._is_over = False
        self._has_read, self._has_written = anyio.Event(), anyio.Event()

    async def read(self) -> None:
        """Carry what the child says, until nothing more can come."""
        try:
            async with self._received:
                reason = await self._read()
                self._is_over = True
                self._ended(reason)
        finally:
            self._has_read.set()

    async def _read(self) -> str:
        """Read until nothing more can come; why, unless the output just ended."""
        try:
            while data := await self._child.stdout.receive():
                for line in self._lines.feed(data):
                    if isinstance(line, TooLong):
                        return "sent a message that is too long"
                    await self._take(line)
                if self._forgiven < 0:
                    return f"sent more than {MOST_GARBAGE} lines that are no messages"
        except OSError as error:
            return f"cannot be read from: {error.strerror}"
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return "was let go of"
        return ""

    async def _take(self, line: bytes) -> None:
        try:
            message = decode(line)
        except ValueError:
            if self._forgiven >= 0:
                self._forgiven -= 1
                self._garbage(line[:200].decode(errors="replace"))
            return
        await self._received.send(message)

    async def write(self) -> None:
        """Carry what did not go out at once to the child, until nobody listens."""
        # Nobody reads any more: what the server's output says of that is for the reader.
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
        """Take no more, and let what was said last, a cancellation for instance, still go out."""
        self.outgoing.close()
        with anyio.move_on_after(_FLUSH_SECONDS):
            await self._has_written.wait()

    async def end(self) -> None:
        """End the child, when both tasks have been told to stop."""
        # Whoever watches the pipes should have let go of them before they are closed.
        with anyio.move_on_after(_FLUSH_SECONDS):
            await self._has_read.wait()
            await self._has_written.wait()
        epitaph = await self._child.end()
        if self._is_over:
            self._ended(epitaph)

    def close(self) -> None:
        """Let go of the streams."""
        for stream in (self.incoming, self._received, self._sent):
            stream.close()
