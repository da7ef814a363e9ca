"""Runs a command without a shell and without blocking the event loop.

A keeper (``keeper.py``) starts the command, enforces its timeout and kills it; the runner sends the
request, reads the output as fast as it comes, and waits. So a command ends on time even while the loop
is busy, and ends with this process however that ends.
"""

import asyncio
import errno
import marshal
import os
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from time import monotonic

from msgspec.structs import replace

from rightcall.log import logger
from rightcall.platforms import posix_only
from rightcall.process import protocol
from rightcall.process.command import (
    Capture,
    Command,
    Completed,
    Crowded,
    Exit,
    Exited,
    Lost,
    NotStarted,
    Signalled,
    TimedOut,
)
from rightcall.process.isolate import NoIsolation, isolate
from rightcall.process.pool import Keepers, keepers

_CHUNK = 64 * 1024
_LARGEST_PIPE = 1024 * 1024
_PATIENCE = protocol.SWEEP_SECONDS + 8.0
"""Seconds after a command's own times within which its keeper must have reported."""


_KINDS = {"auto": protocol.AUTO, "own": protocol.OWN, "host": protocol.HOST}
_REASONS = {
    errno.E2BIG: "its arguments are longer than the system takes",
    errno.EACCES: "it may not be executed",
    errno.ENOENT: "there is no such program, or its #! line names one that is missing",
    errno.ENOEXEC: "it is not a program that this system can run; a script needs a #! line",
}


async def run(command: Command) -> Completed:
    """Run a command. When this returns or raises, nothing of the command still runs.

    Cancelling it ends the command: SIGTERM, and SIGKILL after the grace period. A second cancellation
    does not wait for that.
    """
    started = monotonic()
    try:
        wall = isolate(command)
        request = _encode(wall.command)
    except (NoIsolation, ValueError) as refusal:
        return Completed(exit=NotStarted(str(refusal)))
    talk = _CommandRun(wall.command)
    try:
        await talk.ask(request)
        await talk.wait()
    finally:
        talk.close()
        if wall.cleanup is not None and not isinstance(talk.exit, Exited):
            await run(wall.cleanup)
    return replace(talk.result(), seconds=monotonic() - started)


def _encode(command: Command) -> bytes:
    """The command as its keeper reads it. Raises ValueError for what no program can be given."""
    texts = [*command.argv, *command.environment, *command.environment.values(), command.directory]
    if any("\0" in text for text in texts):
        raise ValueError("an argument holds a NUL character, which no program can be given")
    try:
        text = marshal.dumps(
            (
                [os.fsencode(argument) for argument in command.argv],
                {os.fsencode(name): os.fsencode(it) for name, it in command.environment.items()},
                os.fsencode(command.directory),
                command.stderr == "merge",
                float(command.timeout),
                float(command.grace),
                command.max_processes,
            )
        )
    except UnicodeEncodeError:
        raise ValueError("an argument holds half of a surrogate pair, which is no text") from None
    return protocol.HEADER.pack(len(text)) + text


class _CommandRun:
    """One run of a command through a keeper: its descriptors, and its output so far."""

    def __init__(self, command: Command) -> None:
        self._command = command
        self._loop = asyncio.get_running_loop()
        self._over: asyncio.Future[None] | None = None
        self._capture = Capture(command.max_output_bytes)
        self._keepers: Keepers = keepers()
        self._report = b""
        self._heard_all = False
        self._reusable = True
        self._ended = False
        self._watched: set[int] = set()
        self._survivors = 0
        self._output, self._write_end = os.pipe()
        if sys.platform != "win32":
            os.set_blocking(self._output, False)
        try:
            self._line = self._keepers.take(_KINDS[command.pids])
        except BaseException:
            os.close(self._output)
            os.close(self._write_end)
            raise
        self.exit: Exit = Lost()

    async def ask(self, request: bytes) -> None:
        """Send the command, with the write end of the output pipe."""
        if sys.platform == "win32":
            raise posix_only("a command")
        try:
            # The keeper may have just been killed; then nothing was started.
            try:
                sent = socket.send_fds(self._line, [request], [self._write_end])
            except ConnectionError:
                self._keepers.drop(self._line)
                self._line = self._keepers.take(_KINDS[self._command.pids])
                sent = socket.send_fds(self._line, [request], [self._write_end])
        finally:
            os.close(self._write_end)
        self._watch(self._output, self._drain)
        if sent < len(request):
            with suppress(ConnectionError):
                await self._loop.sock_sendall(self._line, request[sent:])
        self._watch(self._line.fileno(), self._hear)

    async def wait(self) -> None:
        """Wait until the command has ended."""
        command = self._command
        try:
            await self._until_over(command.timeout + command.grace + _PATIENCE)
        except asyncio.CancelledError:
            # The message may arrive too late, and then be the first that the keeper reads for the next
            # command.
            self._reusable = False
            with suppress(OSError):
                self._line.send(protocol.END)
            await self._until_over(command.grace + _PATIENCE)
            raise

    async def _until_over(self, seconds: float) -> None:
        if self._heard_all:
            return
        # A new one each time: cancelling a task cancels the future that it waits for.
        self._over = self._loop.create_future()
        patience = self._loop.call_later(seconds, self._settle)
        try:
            await self._over
        finally:
            patience.cancel()

    def _settle(self) -> None:
        if self._over is not None and not self._over.done():
            self._over.set_result(None)

    def result(self) -> Completed:
        """How the command ended."""
        return Completed(exit=self.exit, output=self._capture.finish(), survivors=self._survivors)

    def close(self) -> None:
        """Read the rest of the pipe, and close everything. What still runs is killed."""
        for each in tuple(self._watched):
            self._ignore(each)
        # More than a pipe's capacity can only come from a process that got its end and still writes.
        for _ in range(_LARGEST_PIPE // _CHUNK):
            if not self._read():
                break
        os.close(self._output)
        if self._reusable and self._heard_all and not self._survivors:
            self._keepers.give(self._line)
        else:
            self._keepers.drop(self._line)

    def _watch(self, descriptor: int, react: Callable[[], None]) -> None:
        self._loop.add_reader(descriptor, react)
        self._watched.add(descriptor)

    def _ignore(self, descriptor: int) -> None:
        self._loop.remove_reader(descriptor)
        self._watched.discard(descriptor)

    def _read(self) -> bool:
        """Read one chunk from the pipe; returns whether there may be more."""
        try:
            chunk = os.read(self._output, _CHUNK)
        except BlockingIOError:
            return False
        self._capture.feed(chunk)
        self._ended = not chunk
        return not self._ended

    def _drain(self) -> None:
        # One chunk at a time, so that the loop's other tasks get their turn.
        if not self._read() and self._ended:
            self._ignore(self._output)

    def _hear(self) -> None:
        try:
            heard = self._line.recv(protocol.REPORT.size - len(self._report))
        except BlockingIOError:
            return
        except OSError:
            heard = b""
        self._report += heard
        if heard and len(self._report) < protocol.REPORT.size:
            return
        if heard:
            kind, status, self._survivors, own = protocol.REPORT.unpack(self._report)
            if self._command.pids == "auto":
                _say_once(own=own)
            self.exit = _explained(kind, status, self._command)
        else:
            self._reusable = False
        self._heard_all = True
        self._ignore(self._line.fileno())
        self._settle()


def _explained(kind: int, status: int, command: Command) -> Exit:
    """The meaning of a keeper's report; ``status`` is a wait status, or an errno if not started."""
    if kind == protocol.TIMED_OUT:
        return TimedOut(command.timeout)
    if kind == protocol.CROWDED:
        return Crowded(command.max_processes)
    if kind == protocol.NO_START:
        reason = _REASONS.get(status) or os.strerror(status)
        return NotStarted(f"{command.argv[0]} cannot be started: {reason}")
    if kind == protocol.NO_DIRECTORY:
        return NotStarted(f"its directory {command.directory} cannot be entered: {os.strerror(status)}")
    if kind == protocol.NO_NAMESPACE:
        reason = f"it is to have process numbers of its own, and there are none: {os.strerror(status)}"
        return NotStarted(f'{reason}; pids="host" does without')
    code = os.waitstatus_to_exitcode(status)
    return Exited(code) if code >= 0 else Signalled(-code)


@cache
def _say_once(*, own: bool) -> None:
    """Log once, with the first command, what protection this system offers."""
    if own:
        logger.debug(
            "commands have process numbers of their own; with pids='host' they see all processes"
        )
    else:
        logger.debug(
            "no pid namespaces for this process: a command that kills its keeper and the warden can stay"
        )
