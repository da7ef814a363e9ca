"""A server's program into a process with pipes, kept as every command here is.

It runs under a keeper (``rightcall.process``): in a session of its own, without our descriptors and our
environment, ended with everything that it started when it is released, and ended with this process
however that ends. A keeper gives a command no standard input, so a bootstrap of a few lines is run
instead: it fetches both pipes from a socket in a private directory, and then becomes the program.
"""

import asyncio
import os
import shutil
import socket
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from rightcall.errors import TransportError
from rightcall.mcp.client.endpoints import Stdio, directory_of, environment_of, program_of
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
                await self._can_write()

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

    async def _can_write(self) -> None:
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        loop.add_writer(self._descriptor, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_writer(self._descriptor)


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
        by_itself = not self._running.cancelled()
        return _epitaph(self._running.result()) if by_itself else "closed its output"

    async def _drain(self) -> None:
        """Read its remaining output: a process that waits for a reader does not end."""
        with suppress(OSError):
            while await self.stdout.receive():
                pass


async def launch(target: Stdio) -> Child:
    """Start a server. Raises UsageError if it is not allowed, TransportError if it does not start."""
    if sys.platform == "win32":
        raise posix_only("an MCP server over stdio")
    program, environment = program_of(target), environment_of(target)
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
            return await _start(command, listener, target.command)
    finally:
        shutil.rmtree(place, ignore_errors=True)


async def _start(command: Command, listener: socket.socket, name: str) -> Child:
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
        return _with_pipes(accepting.result()[0], running)
    except BaseException:
        running.cancel()
        await asyncio.wait({running})
        raise
    finally:
        if not accepting.done():
            accepting.cancel()
            await asyncio.wait({accepting})


def _with_pipes(line: socket.socket, running: asyncio.Task[Completed]) -> Child:
    if sys.platform == "win32":
        raise posix_only("an MCP server over stdio")
    their_input, our_output = os.pipe()
    our_input, their_output = os.pipe()
    with line:
        try:
            socket.send_fds(line, [b"."], [their_input, their_output])
        finally:
            os.close(their_input)
            os.close(their_output)
    return Child(Pipe(our_output), Pipe(our_input), running)


def _epitaph(completed: Completed) -> str:
    """How a program ended, and the end of its standard error."""
    said = decode(completed.output).strip()
    tail = f"; it said: {said[-_STDERR_SHOWN:]}" if said else ""
    return f"{describe(completed.exit)}{tail}"
