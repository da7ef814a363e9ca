"""Child processes that answer requests within limits of time and memory, kept and reused.

Work of a cost that nobody can foresee, as by a stranger's schema or a stranger's template, blocks its
thread, and no exception can interrupt it. So a child does it: the system's alarm kills the whole process
at the deadline, even if the caller is gone by then, and the system refuses it more memory than it may
have. ``Children`` is the caller's side, ``answer_requests`` the child's; between them are frames on a
socket, each of a kind and a body.
"""

import atexit
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from rightcall.errors import UsageError
from rightcall.platforms import after_fork, posix_only

with suppress(ImportError):  # Windows has none
    import resource

HAS_CHILDREN = sys.platform != "win32" and not getattr(sys, "frozen", False)
"""Whether this system supports such children: it has alarms, and Python's own interpreter."""
READY = 1
PARTIAL = 2
"""Kinds of frames: a child has started; a part of an answer, which another frame follows. The numbers
above are for those who use this."""
FIRST_KIND = 3

_FRAME = struct.Struct("!BI")
_MOST_CHILDREN = 4
_MOST_IDLE = 2
_START_SECONDS = 60.0
_NO_MEMORY = 77
"""The exit code of a child that could not get more memory."""
_PATIENCE = 5.0
"""Seconds after the deadline within which the system must have ended a child."""
_START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]);"
    "from importlib import import_module; import_module(sys.argv[2]).main()"
)
_LOADER = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


def send(line: socket.socket, kind: int, body: bytes = b"") -> None:
    """Send one frame."""
    line.sendall(_FRAME.pack(kind, len(body)) + body)


def receive(line: socket.socket) -> tuple[int, bytes] | None:
    """The next frame; None if the other side is gone."""
    head = _receive_exactly(line, _FRAME.size)
    if head is None:
        return None
    kind, length = _FRAME.unpack(head)
    body = _receive_exactly(line, length)
    if body is None:
        return None
    return (kind, body)


def _receive_exactly(line: socket.socket, length: int) -> bytes | None:
    parts: list[bytes] = []
    while length:
        part = line.recv(min(length, 1 << 20))
        if not part:
            return None
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


class ChildAnswer(Struct, frozen=True):
    """A child's answer to one request."""

    frames: list[tuple[int, bytes]]
    """What it sent; the last one is no partial frame, if it answered in time."""
    exit_code: int | None = None
    """How it ended before it had answered; None if it answered."""

    @property
    def is_late(self) -> bool:
        """Whether the deadline ended it: its own alarm, or the caller who waited in vain."""
        if sys.platform == "win32":
            return True
        return self.exit_code in (-signal.SIGALRM, -signal.SIGKILL)

    @property
    def lacked_memory(self) -> bool:
        """Whether it ended because it could not get more memory."""
        return self.exit_code == _NO_MEMORY


class _Child:
    """One child process, and the connection to it."""

    def __init__(self, module: str, work: str) -> None:
        self._line, theirs = socket.socketpair()
        places = json.dumps([os.path.abspath(place) for place in sys.path])  # noqa: PTH100 - "" is here
        try:
            with theirs:
                self._process = subprocess.Popen(  # noqa: S603 - our own program
                    [sys.executable, "-I", "-c", _START, places, module],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={name: os.environ[name] for name in _LOADER if name in os.environ},
                    cwd="/",
                )
        except OSError:
            self._line.close()
            raise
        self._line.settimeout(_START_SECONDS)
        try:
            started = receive(self._line)
        except BaseException:
            self.end()
            raise
        if started is None:
            raise RuntimeError(f"the process that {work} could not start: {self.end()}")

    def ask(self, request: bytes, seconds: float) -> list[tuple[int, bytes]]:
        """The frames of its answer; without a last one if the deadline came first."""
        self._line.settimeout(seconds + _PATIENCE)
        frames: list[tuple[int, bytes]] = []
        with suppress(ConnectionError, TimeoutError):
            send(self._line, 0, request)
            while (frame := receive(self._line)) is not None:
                frames.append(frame)
                if frame[0] != PARTIAL:
                    break
        return frames

    def is_there(self) -> bool:
        """Whether it still reads requests."""
        return self._process.poll() is None

    def leave(self) -> None:
        """Close only the connection, in a forked process: the child is the parent's."""
        self._line.close()
        self._process.returncode = 0

    def end(self) -> int:
        """End it; returns how it ended, if it had already ended by itself."""
        self._line.close()
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(0.5)
        self._process.kill()
        return self._process.wait()


class Children:
    """The children of this process that run one module's ``main``. A forked process starts with none.

    ``work`` is what they do, for errors: "validates".
    """

    def __init__(self, module: str, work: str) -> None:
        self._module = module
        self._work = work
        self._begin()
        after_fork(self._begin_anew)
        atexit.register(self.close)

    def _begin(self) -> None:
        self._slots = threading.BoundedSemaphore(_MOST_CHILDREN)
        self._lock = threading.Lock()
        self._idle: list[_Child] = []

    def _begin_anew(self) -> None:
        for child in self._idle:
            child.leave()
        self._begin()

    def ask(self, request: bytes, seconds: float) -> ChildAnswer:
        """A child's answer to a request; blocks until then, at most until the deadline."""
        if not HAS_CHILDREN:
            raise UsageError(
                "a child process with a deadline needs a POSIX system and Python's own interpreter"
            )
        with self._slots:
            child = self._take()
            try:
                frames = child.ask(request, seconds)
            except BaseException:
                child.end()
                raise
            if not frames or frames[-1][0] == PARTIAL:
                return ChildAnswer(frames, child.end())
            self._give(child)
        return ChildAnswer(frames)

    def _take(self) -> _Child:
        while True:
            with self._lock:
                child = self._idle.pop() if self._idle else None
            if child is None:
                return _Child(self._module, self._work)
            if child.is_there():
                return child
            child.end()

    def _give(self, child: _Child) -> None:
        with self._lock:
            if len(self._idle) < _MOST_IDLE:
                self._idle.append(child)
                return
        child.end()

    def close(self) -> None:
        """End the idle children; the next request starts others."""
        with self._lock:
            idle = self._idle
            self._idle = []
        for child in idle:
            child.end()


def set_alarm(seconds: float) -> None:
    """Kill this process after that many seconds; 0 cancels it."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, seconds)


def limit_memory(size: int | None) -> None:
    """Let this process have so many bytes; None takes the limit away. Only Linux refuses it more."""
    if sys.platform == "linux":
        most = resource.getrlimit(resource.RLIMIT_AS)[1]
        if size is None or (most != resource.RLIM_INFINITY and size > most):
            size = most
        resource.setrlimit(resource.RLIMIT_AS, (size, most))


def limit_growth(size: int) -> None:
    """Let this process have so many bytes more than it has now. Only Linux refuses it more."""
    if sys.platform == "linux":
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
        limit_memory(int(pages) * resource.getpagesize() + size)


def answer_requests(answer: Callable[[socket.socket, bytes], None]) -> None:
    """Answer requests from stdin until they end. ``answer`` sets the alarm, and sends the frames.

    A process that could not get more memory ends: what it is left with may be in pieces.
    """
    if sys.platform == "win32":
        raise posix_only("a child process with a deadline")
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    # No core dump on a crash.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    line = socket.socket(fileno=0)
    send(line, READY)
    while (request := receive(line)) is not None:
        try:
            answer(line, request[1])
        except (MemoryError, SystemError):
            # CPython has places, such as compile(), where memory that is refused becomes a SystemError.
            os._exit(_NO_MEMORY)
