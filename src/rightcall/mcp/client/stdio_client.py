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
from rightcall.mcp.client.launch import Child, launch
from rightcall.mcp.framing import Lines, TooLong, decode, encode

Streams: TypeAlias = tuple[
    MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]
]

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
        self.outgoing, self._sent = anyio.create_memory_object_stream[SessionMessage](0)
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
        """Carry what is said to the child, until nobody listens."""
        # Nobody reads any more: what the server's output says of that is for the reader.
        with suppress(OSError):
            try:
                async with self._sent:
                    async for message in self._sent:
                        await self._child.stdin.send(encode(message))
            finally:
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
