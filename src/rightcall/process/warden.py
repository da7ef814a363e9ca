"""Forks a keeper for each socket that it is sent. The first process that is started for commands.

When a keeper is killed, its orphans become the warden's children. The warden has no other children than
keepers, so it kills them. When the warden itself is killed, its keepers end. So no single death leaves
anything behind.

A keeper may be stopped instead of killed, or held in some other way, by what it keeps. The warden is
notified of a child that stops, and kills it; and a keeper whose socket has closed must end soon, or is
killed. Where there are pid namespaces, each keeper is the first process of its own (``namespace.py``):
what it keeps cannot reach it, nor the warden, and is ended with it by the kernel.
"""

# ruff: noqa: PTH208 - loading pathlib would take as long as all the rest of the start

import array
import errno
import os
import resource
import select
import signal
import socket
import sys
import time
from contextlib import suppress

# Before the imports: on Windows type checkers do not know the names that they import.
assert sys.platform != "win32"

from rightcall.process.descendants import LINUX, SUBREAPER, children_of, prctl  # noqa: E402
from rightcall.process.keeper import CLOSE_ON_EXEC, PATIENT_PAUSE, keep, ring_on_signals  # noqa: E402
from rightcall.process.namespace import fork_first  # noqa: E402
from rightcall.process.protocol import AUTO, OWN, SWEEP_SECONDS  # noqa: E402

_LEAVE_SECONDS = SWEEP_SECONDS + 1.0
"""Seconds that a keeper has to end its command, once its socket has closed."""


_AGAIN_SECONDS = 0.5
_PASSING = (errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""The errnos of a temporary failure. For any other, namespaces are unavailable and not tried again."""


class Warden:
    """Forks keepers, and kills their orphans, and keepers that do not end by themselves."""

    def __init__(self, line: socket.socket, parent: int | None) -> None:
        self.line = line
        self.parent = parent
        self.woken = ring_on_signals()
        self.keepers: dict[int, int] = {}
        """The socket of each keeper, held open to notice its end."""
        self.first: set[int] = set()
        """The keepers that are the first process of their namespace."""
        self.due: dict[int, float] = {}
        """When an overdue keeper is killed."""
        self.refused: dict[bool, int] = {}
        """The errno of why there are no namespaces, by whether a user namespace was tried."""
        self.poller = select.poll()
        for each in (line.fileno(), self.woken, parent):
            if each is not None:
                self.poller.register(each, select.POLLIN)

    def guard(self) -> None:
        """Runs until your process ends, and everything that it kept has ended."""
        while True:
            ready = self._wait()
            if self.parent in ready:
                break
            if self.line.fileno() in ready:
                text, passed, _, _ = self.line.recvmsg(1, socket.CMSG_SPACE(4), CLOSE_ON_EXEC)
                if not text:
                    break
                self._add(text, array.array("i", passed[0][2])[0])
        self.poller.unregister(self.line)
        if self.parent is not None:
            self.poller.unregister(self.parent)
        for pid in tuple(self.keepers):
            self._expect_end(pid)
        while self.bury():
            self._wait(PATIENT_PAUSE)

    def _wait(self, seconds: float | None = None) -> set[int]:
        """Wait for an event, and handle keepers that ended, stopped, or should have ended."""
        if self.due:
            left = max(min(self.due.values()) - time.monotonic(), 0)
            seconds = left if seconds is None else min(left, seconds)
        ready = {found for found, _ in self.poller.poll(None if seconds is None else seconds * 1000 + 1)}
        if self.woken in ready:
            os.read(self.woken, 4096)
            self.bury()
        for pid in [pid for pid, line in self.keepers.items() if line in ready]:
            self._expect_end(pid)
        self._kill_overdue()
        return ready

    def _kill_overdue(self) -> None:
        now = time.monotonic()
        overdue = [pid for pid, moment in self.due.items() if moment <= now]
        for pid in overdue:
            # Not reaped yet, so the pid is still its own.
            os.kill(pid, signal.SIGKILL)
            self.due[pid] = now + _AGAIN_SECONDS
        if overdue:
            # Not only on SIGCHLD: the end of a traced process is reported to its tracer alone.
            self.bury()

    def _add(self, kind: bytes, line: int) -> None:
        pid, first = self._fork(kind, line)
        self.keepers[pid] = line
        if first:
            self.first.add(pid)
        # No event is requested, but a hangup is always reported: the other side has closed it.
        self.poller.register(line, 0)

    def _fork(self, kind: bytes, line: int) -> tuple[int, bool]:
        """Fork a keeper for a socket: returns its pid, and whether it is the first of a namespace."""
        # A fork without an exec, for which the warden is single-threaded and light: imports are shared.
        warden = os.getpid()
        reason = 0
        for as_user in {AUTO: (False,), OWN: (False, True)}.get(kind, ()):
            if reason := self.refused.get(as_user, 0):
                continue
            try:
                pid = fork_first(as_user=as_user)
            except OSError as error:
                reason = error.errno or errno.EPERM
                if reason not in _PASSING:
                    self.refused[as_user] = reason
            else:
                if not pid:
                    self._become_keeper(line, warden, first=True)
                return pid, True
        pid = os.fork()
        if not pid:
            self._become_keeper(line, warden, refusal=reason if kind == OWN else 0)
        return pid, False

    def _become_keeper(self, line: int, warden: int, *, first: bool = False, refusal: int = 0) -> None:
        try:
            # It is the warden's wake-up descriptor: left set, the keeper's signals would wake the
            # warden.
            os.close(signal.set_wakeup_fd(-1))
            for each in (self.line.fileno(), self.woken, *self.keepers.values()):
                os.close(each)
            os.set_inheritable(line, False)  # noqa: FBT003
            keep(socket.socket(fileno=line), self.parent, warden, first=first, refusal=refusal)
        finally:
            os._exit(0)

    def _expect_end(self, pid: int) -> None:
        """Called when a keeper's socket has closed: it must end its command and itself, or is killed."""
        with suppress(KeyError):
            self.poller.unregister(self.keepers[pid])
        # The kernel kills everything in a namespace at once.
        moment = time.monotonic() + (0 if pid in self.first else _LEAVE_SECONDS)
        self.due.setdefault(pid, moment)

    def bury(self) -> bool:
        """Reap keepers, and kill orphans that the warden inherited; returns whether a child is left."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
                if not pid:
                    break
                if os.WIFSTOPPED(status):
                    # It watches nothing any more. What it kept becomes the warden's child, and is
                    # killed.
                    os.kill(pid, signal.SIGKILL)
                else:
                    self.first.discard(pid)
                    self.due.pop(pid, None)
                    line = self.keepers.pop(pid, None)
                    if line is not None:
                        with suppress(KeyError):
                            self.poller.unregister(line)
                        # Only now does the caller learn that no report will come.
                        os.close(line)
        except ChildProcessError:
            return False
        if LINUX:
            for pid in set(children_of(os.getpid())) - self.keepers.keys():
                with suppress(OSError):
                    if (group := os.getpgid(pid)) != os.getpgrp():
                        os.killpg(group, signal.SIGKILL)
        return True


def main() -> None:
    """The start of the warden: its own session, default signals, and only its own descriptors."""
    # A session of its own, so that Ctrl-C in your terminal reaches your process and not the warden: your
    # process decides what happens to its commands.
    line, parent = map(int, sys.argv[-2:])
    os.setsid()
    os.chdir("/")
    for fileno in map(int, os.listdir("/dev/fd")):
        if fileno not in {0, 1, 2, line, parent}:
            with suppress(OSError):
                os.close(fileno)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with suppress(OSError):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    # No core dump on a crash.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    for fileno in {line, parent} - {-1}:
        os.set_inheritable(fileno, False)  # noqa: FBT003
    if LINUX:
        prctl(SUBREAPER, 1)
    Warden(socket.socket(fileno=line), None if parent < 0 else parent).guard()
