"""Runs a command without a shell and without blocking the event loop.

A keeper (``keeper.py``) starts the command, enforces its timeout and kills it; the runner sends the
request, reads the output as fast as it comes, and waits. So a command ends on time even while the loop
is busy, and ends with this process however that ends.
"""

import asyncio
import atexit
import errno
import marshal
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from time import monotonic

from msgspec.structs import replace

from rightcall.errors import UsageError
from rightcall.log import logger
from rightcall.platforms import after_fork, posix_only
from rightcall.process import protocol
from rightcall.process.command import (
    Capture,
    Command,
    Completed,
    Crowded,
    Exit,
    Exited,
    Lost,
    NoIsolation,
    NotStarted,
    Signalled,
    TimedOut,
    isolate,
)
from rightcall.process.descendants import descendants
from rightcall.process.protocol import HOST

with suppress(ImportError):  # Windows has none
    import fcntl

_ROOT = str(Path(__file__).parents[2])
_START = "import sys; sys.path.append(sys.argv[1]); from rightcall.process.warden import main; main()"
_MOST_IDLE = 8
_LINE = 3
_PARENT = 4
_CLEAR_OF_THEM = 10
_LOADER = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""The only environment variables that Python itself may need to start; commands do not get them."""


class Keepers:
    """The sockets to the keepers. Each carries one command after the other.

    They and the warden are started once, and used by one command at a time. Not bound to an event loop
    or a thread; a forked process starts with none.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._warden: socket.socket | None = None
        self._process: int | None = None
        self._idle: list[tuple[bytes, socket.socket]] = []
        self._lent: dict[socket.socket, bytes] = {}

    def take(self, kind: bytes = HOST) -> socket.socket:
        """The socket of an idle keeper of a kind (``keeper.AUTO`` …)."""
        with self._lock:
            line = self._reuse(kind) or self._make(kind)
            self._lent[line] = kind
            return line

    def give(self, line: socket.socket) -> None:
        """Return a socket after its keeper has reported."""
        with self._lock:
            kind = self._lent.pop(line)
            if len(self._idle) < _MOST_IDLE:
                self._idle.append((kind, line))
                return
        line.close()

    def drop(self, line: socket.socket) -> None:
        """Close a socket: its keeper kills whatever it runs."""
        with self._lock:
            self._lent.pop(line, None)
            self._replace_stopped()
        line.close()

    def close(self) -> None:
        """Release the warden and the idle keepers; the next command starts others."""
        with self._lock:
            while self._idle:
                self._idle.pop()[1].close()
            self._let_go()

    def leave(self) -> None:
        """At the exit of the program: close what no command uses. The rest ends with the process."""
        with self._lock:
            while self._idle:
                self._idle.pop()[1].close()
            if self._warden is not None and not self._lent:
                # Not reaped: at exit no thread can be started, and whoever inherits it does that.
                self._warden.close()
                self._warden = None

    def abandon(self) -> None:
        """In a forked child: close the parent's sockets."""
        idle = [line for _, line in self._idle]
        for line in (*idle, *self._lent, *filter(None, [self._warden])):
            line.close()

    def _reuse(self, kind: bytes) -> socket.socket | None:
        # Last in, first out: the keeper that was used last has its memory warm.
        for index in reversed(range(len(self._idle))):
            if self._idle[index][0] != kind:
                continue
            _, line = self._idle.pop(index)
            if _is_open(line):
                return line
            line.close()
        return None

    def _make(self, kind: bytes) -> socket.socket:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)  # noqa: FBT003
        with theirs:
            try:
                self._pass_on(kind, theirs)
            except OSError:
                # The warden was killed; start another.
                self._let_go()
                self._pass_on(kind, theirs)
        return ours

    def _pass_on(self, kind: bytes, line: socket.socket) -> None:
        if sys.platform == "win32":
            raise posix_only("a command")
        self._replace_stopped()
        if self._warden is None:
            self._warden, self._process = start_warden()
        socket.send_fds(self._warden, [kind], [line.fileno()])

    def _replace_stopped(self) -> None:
        """Kill a warden that was stopped by a signal, from a command or anyone: it works no more."""
        if sys.platform == "win32" or self._process is None or not _is_stopped(self._process):
            return
        # Its keepers may be stopped as well. So their visible descendants are killed first, and then the
        # keepers with the warden, whose process group they are in.
        for pid in descendants(1 << 20, self._process):
            with suppress(OSError):
                if (group := os.getpgid(pid)) != self._process:
                    os.killpg(group, signal.SIGKILL)
        with suppress(OSError):
            os.killpg(self._process, signal.SIGKILL)
        self._let_go()

    def _let_go(self) -> None:
        if self._warden is not None:
            self._warden.close()
            self._warden = None
        if self._process is not None:
            # It first ends what it keeps, which may take a moment; the caller does not wait.
            leaving = threading.Thread(target=_reap, args=(self._process,), daemon=True)
            leaving.name = "rightcall: the last of a warden"
            leaving.start()
            self._process = None


def start_warden() -> tuple[socket.socket, int]:
    """Start the process that forks keepers; returns its socket and its pid."""
    if sys.platform == "win32":
        raise posix_only("a command")
    if not sys.executable or getattr(sys, "frozen", False):
        raise UsageError("commands need Python's own interpreter, not a bundle")
    ours, theirs = socket.socketpair()
    with theirs:
        line = fcntl.fcntl(theirs, fcntl.F_DUPFD_CLOEXEC, _CLEAR_OF_THEM)
        parent = _own_pidfd()
        nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
        passed = [(os.POSIX_SPAWN_DUP2, line, _LINE)]
        if parent is not None:
            passed.append((os.POSIX_SPAWN_DUP2, parent, _PARENT))
        numbers = [str(_LINE), str(-1 if parent is None else _PARENT)]
        argv = [sys.executable, "-I", "-S", "-c", _START, _ROOT, *numbers]
        environment = {name: os.environ[name] for name in _LOADER if name in os.environ}
        try:
            process = os.posix_spawn(argv[0], argv, environment, file_actions=[*nowhere, *passed])
        except OSError as error:
            ours.close()
            raise UsageError(f"{argv[0]} cannot be started: {error.strerror}") from error
        finally:
            for each in filter(None, (line, parent)):
                os.close(each)
    return ours, process


def _own_pidfd() -> int | None:
    """A descriptor that signals this process's end, even if others hold its sockets (Linux)."""
    if sys.platform == "win32" or not hasattr(os, "pidfd_open"):
        return None
    try:
        pidfd = os.pidfd_open(os.getpid())
    except OSError:
        return None
    try:
        return fcntl.fcntl(pidfd, fcntl.F_DUPFD_CLOEXEC, _CLEAR_OF_THEM)
    finally:
        os.close(pidfd)


def _reap(process: int) -> None:
    """Reap a warden, so that it is no zombie."""
    with suppress(ChildProcessError):
        os.waitpid(process, 0)


def _is_stopped(process: int) -> bool:
    """Whether a child is stopped by a signal (if that can be determined: on Linux)."""
    if sys.platform != "linux":
        return False
    try:
        found = os.waitid(os.P_PID, process, os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return found is not None


def _is_open(line: socket.socket) -> bool:
    """Whether an idle keeper is still there; its socket is readable only if it is gone."""
    try:
        line.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


_keepers = Keepers()


def keepers() -> Keepers:
    """The keepers of this process."""
    return _keepers


@atexit.register
def _at_exit() -> None:
    _keepers.leave()


def _begin_anew() -> None:
    """In a forked child."""
    global _keepers  # noqa: PLW0603 - it stands for the process itself
    _keepers.abandon()
    _keepers = Keepers()


after_fork(_begin_anew)

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
            # The status is a wait status, or an errno if nothing was started.
            command = self._command
            if kind == protocol.TIMED_OUT:
                self.exit = TimedOut(command.timeout)
            elif kind == protocol.CROWDED:
                self.exit = Crowded(command.max_processes)
            elif kind == protocol.NO_START:
                reason = _REASONS.get(status) or os.strerror(status)
                self.exit = NotStarted(f"{command.argv[0]} cannot be started: {reason}")
            elif kind == protocol.NO_DIRECTORY:
                self.exit = NotStarted(
                    f"its directory {command.directory} cannot be entered: {os.strerror(status)}"
                )
            elif kind == protocol.NO_NAMESPACE:
                self.exit = NotStarted(
                    "it is to have process numbers of its own, and there are none: "
                    f'{os.strerror(status)}; pids="host" does without'
                )
            else:
                code = os.waitstatus_to_exitcode(status)
                self.exit = Exited(code) if code >= 0 else Signalled(-code)
        else:
            self._reusable = False
        self._heard_all = True
        self._ignore(self._line.fileno())
        self._settle()


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
