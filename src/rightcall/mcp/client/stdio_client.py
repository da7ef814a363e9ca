"""Starts a server's program, and gives the pair of streams that the SDK's session uses.

The SDK's own transport would read a line of any length into memory, and leave the processes that a
server starts running; so this one is ours. One task opens and closes it; closing takes bounded time.
"""

import asyncio
import os
import shutil
import socket
import sys
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from rightcall.errors import TransportError
from rightcall.mcp.client.endpoints import Stdio, directory_of, environment_of, program_of
from rightcall.mcp.jsonrpc_lines import (
    Line,
    Lines,
    MessageStream,
    OverlongLine,
    decode_message,
    encode_message,
)
from rightcall.platforms import posix_only
from rightcall.process.command import Command, Completed, decode, describe
from rightcall.process.runner import run

_FIRST_STEP = (
    "import os,signal,socket,sys\n"
    "s=socket.socket(socket.AF_UNIX)\n"
    "s.connect(sys.argv[1])\n"
    "i,o=socket.recv_fds(s,1,2)[1]\n"
    "s.close()\n"
    "os.dup2(i,0);os.dup2(o,1);os.close(i);os.close(o)\n"
    "signal.signal(signal.SIGPIPE,signal.SIG_DFL)\n"
    "os.execv(sys.argv[2],sys.argv[2:])\n"
)
_CHUNK = 64 * 1024
_A_WEEK = 7 * 24 * 60 * 60.0
"""A command must have a timeout. A server that has run for this long is restarted."""
_MOST_PROCESSES = 256
_STDERR_BYTES = 16 * 1024
_STDERR_SHOWN = 1000
_START_SECONDS = 20.0
_LEAVE_SECONDS = 1.0
"""Seconds that a server has to end by itself after its input was closed."""


class Pipe:
    """One end of a pipe, for asyncio. Nothing is read before a caller wants it."""

    def __init__(self, descriptor: int) -> None:
        if sys.platform != "win32":
            os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._watching: asyncio.AbstractEventLoop | None = None
        """The event loop that watches the descriptor."""
        self._reader: asyncio.Future[bytes] | None = None
        """The waiter for the next bytes."""

    async def receive(self) -> bytes:
        """The next bytes; empty at the end. Only one caller may wait for them."""
        if self._watching is None:
            with suppress(BlockingIOError):
                return os.read(self._descriptor, _CHUNK)
            self._watching = asyncio.get_running_loop()
            self._watching.add_reader(self._descriptor, self._read)
        # It stays watched between messages: registering again each time costs more than a read.
        self._reader = self._watching.create_future()
        return await self._reader

    def _read(self) -> None:
        """Read for the waiter; stop watching if there is none."""
        reader = self._reader
        if reader is None or reader.done():
            self._ignore()
            return
        try:
            reader.set_result(os.read(self._descriptor, _CHUNK))
        except BlockingIOError:
            pass
        except OSError as error:
            reader.set_exception(error)

    def _ignore(self) -> None:
        if self._watching is not None and not self._watching.is_closed():
            self._watching.remove_reader(self._descriptor)
        self._watching = None

    async def send(self, data: bytes) -> None:
        """Write all of it. Raises OSError if the reading end is closed."""
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except BlockingIOError:
                loop = asyncio.get_running_loop()
                ready = asyncio.Event()
                loop.add_writer(self._descriptor, ready.set)
                try:
                    await ready.wait()
                finally:
                    loop.remove_writer(self._descriptor)

    def write(self, data: bytes) -> int:
        """Write what fits at once; returns how many bytes. Raises OSError if nobody reads any more."""
        try:
            return os.write(self._descriptor, data)
        except BlockingIOError:
            return 0

    def close(self) -> None:
        """Close it: the other end reaches the end of the stream."""
        if self._descriptor >= 0:
            self._ignore()
            os.close(self._descriptor)
            self._descriptor = -1


class Child:
    """A server's process: its two pipes, and how it ended."""

    def __init__(self, stdin: Pipe, stdout: Pipe, running: asyncio.Task[Completed]) -> None:
        self.stdin = stdin
        self.stdout = stdout
        self._running = running

    async def end(self) -> str:
        """Close its input, and end it if it does not end by itself. Takes bounded time.

        Returns how it ended, as text that follows its name.
        """
        self.stdin.close()
        drain = asyncio.create_task(self._drain())
        try:
            await asyncio.wait({self._running}, timeout=_LEAVE_SECONDS)
        finally:
            # From here on its keeper ends it, whether or not anybody waits for that.
            self._running.cancel()
            drain.cancel()
            try:
                await asyncio.wait({self._running, drain})
            finally:
                self.stdout.close()
        if self._running.cancelled():
            return "closed its output"
        return _epitaph(self._running.result())

    async def _drain(self) -> None:
        """Read its remaining output: a process that waits for a reader does not end."""
        with suppress(OSError):
            while await self.stdout.receive():
                pass


async def launch(target: Stdio) -> Child:
    """Start a server. Raises UsageError if it is not allowed, TransportError if it does not start.

    The program runs under a keeper (``rightcall.process``): in a session of its own, without our
    descriptors and our environment, ended with everything that it started when it is released, and
    ended with this process however that ends. A keeper gives a command no standard input, so a
    bootstrap of a few lines is run instead: it fetches both pipes from a socket in a private directory,
    and then becomes the program.
    """
    if sys.platform == "win32":
        raise posix_only("an MCP server over stdio")
    program = program_of(target)
    environment = environment_of(target)
    directory = directory_of(target)
    place = tempfile.mkdtemp(prefix="rightcall-")
    try:
        address = str(Path(place, "s"))
        command = Command(
            argv=(sys.executable, "-I", "-S", "-c", _FIRST_STEP, address, program, *target.arguments),
            directory=directory,
            environment=environment,
            timeout=_A_WEEK,
            max_output_bytes=_STDERR_BYTES,
            max_processes=_MOST_PROCESSES,
            # Servers check their parent, and take a parent with the number 1 to mean that it has died.
            pids="host",
        )
        with socket.socket(socket.AF_UNIX) as listener:
            listener.setblocking(False)  # noqa: FBT003
            listener.bind(address)
            listener.listen(1)
            name = target.command
            running = asyncio.create_task(run(command), name=f"rightcall: {name}")
            accepting = asyncio.ensure_future(asyncio.get_running_loop().sock_accept(listener))
            try:
                await asyncio.wait(
                    {running, accepting}, timeout=_START_SECONDS, return_when=asyncio.FIRST_COMPLETED
                )
                if not accepting.done():
                    why = _epitaph(running.result()) if running.done() else "did not start in time"
                    # The process that was started is ended below.
                    raise TransportError(f"the server's program {name!r} {why}")  # noqa: TRY301
                line = accepting.result()[0]
                their_input, our_output = os.pipe()
                our_input, their_output = os.pipe()
                with line:
                    try:
                        socket.send_fds(line, [b"."], [their_input, their_output])
                    finally:
                        os.close(their_input)
                        os.close(their_output)
                return Child(Pipe(our_output), Pipe(our_input), running)
            except BaseException:
                running.cancel()
                await asyncio.wait({running})
                raise
            finally:
                if not accepting.done():
                    accepting.cancel()
                    await asyncio.wait({accepting})
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _epitaph(completed: Completed) -> str:
    """How a program ended, and the end of its standard error."""
    said = decode(completed.output).strip()
    tail = f"; it said: {said[-_STDERR_SHOWN:]}" if said else ""
    return f"{describe(completed.exit)}{tail}"


Streams: TypeAlias = tuple["IncomingMessages", "OutgoingMessages"]

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
    incoming = IncomingMessages(child.stdout, Lines(max_message_bytes), ended, garbage)
    waiting, queued = anyio.create_memory_object_stream[bytes](1)
    outgoing = OutgoingMessages(child.stdin, waiting)
    has_written = anyio.Event()

    async def write_queued() -> None:
        # If the child has stopped reading, the reader finds the reason in the server's output.
        with suppress(OSError):
            try:
                async with queued:
                    async for rest in queued:
                        await child.stdin.send(rest)
                        outgoing.caught_up()
            finally:
                outgoing.is_broken = True
                has_written.set()

    async with anyio.create_task_group() as group:
        group.start_soon(write_queued)
        try:
            yield incoming, outgoing
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(_CLOSE_SECONDS):
                outgoing.close()
                # The last messages, such as a cancellation, are still written.
                with anyio.move_on_after(_FLUSH_SECONDS):
                    await has_written.wait()
                group.cancel_scope.cancel()
                # The writing task should have stopped watching the pipe before that is closed.
                with anyio.move_on_after(_FLUSH_SECONDS):
                    await has_written.wait()
                epitaph = await child.end()
                if incoming.is_over:
                    ended(epitaph)
            queued.close()


class OutgoingMessages(MessageStream):
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
        data = encode_message(message)
        if self._behind:
            self._behind += 1
            try:
                await self._waiting.send(data)
            except BaseException:
                self._behind -= 1
                raise
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


class IncomingMessages(MessageStream):
    """A child's messages, read when the session wants the next one."""

    def __init__(
        self, stdout: Pipe, lines: Lines, ended: Callable[[str], None], garbage: Callable[[str], None]
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
                try:
                    data = await self._stdout.receive()
                except OSError as error:
                    self._end(f"cannot be read from: {error.strerror}")
                    break
                if not data:
                    self._end("")
                    break
                self._ready.extend(self._lines.feed(data))
                if not self._ready:
                    continue
            line = self._ready.popleft()
            if isinstance(line, OverlongLine):
                self._end("sent a message that is too long")
                break
            try:
                return decode_message(line)
            except ValueError:
                self._garbage(line[:200].decode(errors="replace"))
            self._forgiven -= 1
            if self._forgiven < 0:
                self._end(f"sent more than {MOST_GARBAGE} lines that are no messages")
        raise anyio.EndOfStream

    def _end(self, reason: str) -> None:
        self.is_over = True
        self._ended(reason)
