"""The warden and the keepers of this process: started once, and used by one command at a time.

Not bound to an event loop or a thread; a forked process starts with none.
"""

import atexit
import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path

from rightcall.errors import UsageError
from rightcall.platforms import after_fork, posix_only
from rightcall.process.descent import descendants
from rightcall.process.protocol import HOST

with suppress(ImportError):  # Windows has none
    import fcntl

_ROOT = str(Path(__file__).parents[2])
_START = "import sys; sys.path.append(sys.argv[1]); from rightcall.process.warden import main; main()"
_MOST_IDLE = 8
_LINE, _PARENT = 3, 4
_CLEAR_OF_THEM = 10
_LOADER = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""The only environment variables that Python itself may need to start; commands do not get them."""


class Keepers:
    """The sockets to the keepers. Each carries one command after the other."""

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


def keepers() -> Keepers:
    """The keepers of this process."""
    return _keepers


_keepers = Keepers()


def _at_exit() -> None:
    _keepers.leave()


atexit.register(_at_exit)


def _begin_anew() -> None:
    """In a forked child."""
    global _keepers  # noqa: PLW0603 - it stands for the process itself
    _keepers.abandon()
    _keepers = Keepers()


after_fork(_begin_anew)
