"""Requests into commands that are started, watched and surely ended. Runs in a process of its own.

A keeper serves one command at a time. It is the subreaper of what it starts (Linux), so whatever a
command leaves behind, double-forked daemons in sessions of their own included, becomes the keeper's
child: when it has no child any more, nothing is left. That is the only test it makes, and no process
can slip past it.

It does not need whoever asked. When that process ends, however it ends, its sockets close and its pidfd
becomes readable, and everything is killed.

A command is started with ``posix_spawn``: a fork of Python itself, to run code of ours before the
exec, would cost as much again as the whole command.
"""

import array
import errno
import marshal
import os
import select
import signal
import socket
import time
from contextlib import suppress

from rightcall.process.descent import LINUX, PDEATHSIG, SUBREAPER, descendants, prctl, signal_all
from rightcall.process.protocol import (
    CROWDED,
    ENDED,
    EXITED,
    HEADER,
    NO_DIRECTORY,
    NO_START,
    REPORT,
    SWEEP_SECONDS,
    TIMED_OUT,
)

CLOSE_ON_EXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
PATIENT_PAUSE = 1.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.05
_WATCH_SECONDS = 0.1


class Gone(Exception):
    """Nobody listens any more."""


class Request:
    """A command as it was asked for."""

    argv: list[bytes]
    environment: dict[bytes, bytes]
    directory: bytes
    merge: bool
    timeout: float
    grace: float
    most: int

    def __init__(self, text: bytes, output: int) -> None:
        (
            self.argv,
            self.environment,
            self.directory,
            self.merge,
            self.timeout,
            self.grace,
            self.most,
        ) = marshal.loads(text)  # noqa: S302 - from the process that started this one
        self.output = output

    def spawn(self) -> int:
        """Start it: its own session, an empty stdin, and nothing else that is open here."""
        try:
            return self._spawn(setsid=True)
        except NotImplementedError:
            # Systems that cannot do so in one go still give it a group of its own.
            return self._spawn(setpgroup=0)

    def _spawn(self, **own: int) -> int:
        stdin = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
        stdout = (os.POSIX_SPAWN_DUP2, self.output, 1)
        nowhere = (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)
        stderr = (os.POSIX_SPAWN_DUP2, self.output, 2) if self.merge else nowhere
        # Python ignores these two, and what is ignored stays so over an exec.
        defaults = (signal.SIGPIPE, signal.SIGXFSZ)
        return os.posix_spawn(
            self.argv[0],
            self.argv,
            self.environment,
            file_actions=(stdin, stdout, stderr),
            setsigmask=(),
            setsigdef=defaults,
            **own,  # type: ignore[arg-type]
        )


class Keeper:
    """Serves one command after the other, until nobody asks any more."""

    def __init__(self, line: socket.socket, parent: int | None) -> None:
        self.line = line
        self.parent = parent
        self.leader: int | None = None
        self.group: int | None = None
        self.status = 0
        self.alone = True
        """Whether nothing is left below this process."""
        self.dismissed = False
        self.woken = ring_on_signals()
        signal.signal(signal.SIGTERM, self._dismiss)
        self.poller = select.poll()
        for each in (line.fileno(), self.woken, parent):
            if each is not None:
                self.poller.register(each, select.POLLIN)

    def serve(self) -> None:
        """Commands until the line closes; one that is under way then is killed."""
        with suppress(Gone, ConnectionError):
            while True:
                request = self._receive()
                kind = self._start(request)
                os.close(request.output)
                if self.leader is not None:
                    kind = self._attend(request)
                left = self._sweep()
                self.line.sendall(REPORT.pack(kind, self.status, left))
                # Not to hold on to a directory that is nobody's any more.
                os.chdir("/")
                if left:
                    break
        # Not in the way of whoever asked, and not in a hurry: until the last of them is gone.
        while self._sweep():
            time.sleep(PATIENT_PAUSE)

    def _dismiss(self, *_: object) -> None:
        # Not raised from here: between a start and the note of it, something would be forgotten.
        self.dismissed = True

    def _receive(self) -> Request:
        while not self._wait(None):
            pass
        text, passed, _, _ = self.line.recvmsg(1 << 16, socket.CMSG_SPACE(4), CLOSE_ON_EXEC)
        if not text or not passed:
            raise Gone
        (output,) = array.array("i", passed[0][2])
        os.set_inheritable(output, False)  # noqa: FBT003
        (size,) = HEADER.unpack_from(text)
        whole = bytearray(text)
        while len(whole) < size + HEADER.size:
            more = self.line.recv(1 << 20)
            if not more:
                raise Gone
            whole += more
        return Request(bytes(whole[HEADER.size :]), output)

    def _start(self, request: Request) -> int:
        self.leader, kind = None, NO_DIRECTORY
        try:
            os.chdir(request.directory)
            kind, self.alone = NO_START, False
            self.leader = self.group = request.spawn()
        except OSError as error:
            self.status = error.errno or errno.EINVAL
            self.alone = True
            return kind
        return EXITED

    def _attend(self, request: Request) -> int:
        """Wait for the command, for its time to be up, or for a word to end it; say which it was."""
        kind, deadline = EXITED, time.monotonic() + request.timeout
        look = time.monotonic() + _WATCH_SECONDS if LINUX else deadline
        # When it is asked to end, what it started has its grace, too; when it ends by itself, not.
        while self.leader is not None if kind == EXITED else not self.alone:
            now = time.monotonic()
            if now >= deadline:
                if kind != EXITED:
                    break
                kind, deadline = TIMED_OUT, self._ask_to_end(request)
            if now >= look:
                if len(descendants(request.most)) > request.most:
                    return CROWDED
                look = now + _WATCH_SECONDS
            heard = self._wait(min(deadline, look) - now)
            if heard and not self.line.recv(1):
                raise Gone
            self._reap()
            if heard and kind == EXITED and self.leader is not None:
                kind, deadline = ENDED, self._ask_to_end(request)
        return kind

    def _ask_to_end(self, request: Request) -> float:
        # What was stopped hears nothing until it goes on.
        signal_all((signal.SIGTERM, signal.SIGCONT), self.leader)
        return time.monotonic() + request.grace

    def _wait(self, seconds: float | None) -> bool:
        """Wait for a child, a word or so long: whether there was a word. Raises Gone with the asker."""
        milliseconds = None if seconds is None else max(seconds, 0) * 1000 + 1
        ready = {found for found, _ in self.poller.poll(milliseconds)}
        if self.woken in ready:
            os.read(self.woken, 4096)
        if self.dismissed or self.parent in ready:
            raise Gone
        return self.line.fileno() in ready

    def _reap(self) -> None:
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return
                if pid == self.leader:
                    self.leader, self.status = None, status
        self.alone = True

    def _sweep(self) -> int:
        """Kill whatever is left, again and again; how much is still there when time is up."""
        pause, give_up = _FIRST_PAUSE, time.monotonic() + SWEEP_SECONDS
        if not LINUX and self.group is not None:
            # What the command left behind is nobody's child that could be seen here.
            with suppress(OSError):
                os.killpg(self.group, signal.SIGKILL)
        while not self.alone and time.monotonic() < give_up:
            signal_all((signal.SIGKILL,), self.leader)
            if select.select([self.woken], [], [], pause)[0]:
                os.read(self.woken, 4096)
            self._reap()
            pause = min(pause * 2, _LONGEST_PAUSE)
        self.group = None
        return 0 if self.alone else max(len(descendants(1 << 20)), 1)


def ring_on_signals() -> int:
    """A descriptor that is readable once a child has ended or another signal has come."""
    woken, bell = os.pipe()
    os.set_blocking(bell, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(bell, warn_on_full_buffer=False)
    return woken


def keep(line: socket.socket, parent: int | None, warden: int) -> None:
    """What a keeper does all its life."""
    keeper = Keeper(line, parent)
    if LINUX:
        prctl(SUBREAPER, 1)
        # A word, not a kill: what is kept must be ended first. The warden may have ended before this
        # was said: then there is another parent by now.
        prctl(PDEATHSIG, signal.SIGTERM)
        if os.getppid() != warden:
            return
    keeper.serve()
