"""Start commands, watch them, and surely end them. Runs in a process of its own.

The processes, and who reaps whom::

    your process ── warden ── keeper ── command ── whatever it starts
                          └── keeper ── ...

Why a process of its own. Only a parent can wait for a process, and only a subreaper becomes the parent
of what a dead child leaves behind (prctl(2), PR_SET_CHILD_SUBREAPER). Your process cannot be one: it
would adopt, and have to reap, the orphans of everything else that it starts. And if your process is
killed, nothing in it can kill the command any more; a keeper still can.

Why the test is sound. A keeper serves one command at a time, and is the subreaper of what it starts
(Linux). So whatever a command leaves behind, double-forked daemons in sessions of their own included,
becomes the keeper's child: when it has no child any more, nothing is left. That is the only test it
makes, and no process can slip past it.

Why a warden. A keeper can be killed or stopped, too; its orphans then become the warden's children, and
the warden kills every child that is not a keeper (``warden.py``). If the warden is killed, its keepers
are told. Where there are pid namespaces, a keeper is the first process of its own, and what it keeps can
do neither.

How a keeper learns that nobody waits. When your process ends, however it ends, its end of the line
closes and its pidfd becomes readable. Both are watched: a child that it forked may hold the line open.

What the runner and a keeper say to each other: a request is a header and a command (``marshal``: both
ends are one Python), with the descriptor that the command writes to. Then, perhaps, the word to end it.
A report is the answer. Nothing here may import what is slow to import: a command waits for it.
"""

import array
import errno
import marshal
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress

from rightcall.process.descent import LINUX, PDEATHSIG, SUBREAPER, descendants, prctl, signal_all
from rightcall.process.protocol import (
    CROWDED,
    ENDED,
    EXITED,
    HEADER,
    NO_DIRECTORY,
    NO_NAMESPACE,
    NO_START,
    REPORT,
    SWEEP_SECONDS,
    TIMED_OUT,
)

assert sys.platform != "win32"

CLOSE_ON_EXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
PATIENT_PAUSE = 1.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.05
_WATCH_SECONDS = 0.1


class Gone(Exception):
    """Nobody listens any more."""


class Job:
    """A command as it was asked for."""

    argv: list[bytes]
    environment: dict[bytes, bytes]
    directory: bytes
    merge: bool
    timeout: float
    grace: float
    most: int

    def __init__(self, text: bytes, output: int) -> None:
        # In the order in which the runner's _encode has put them.
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
        # posix_spawn, and not fork and exec: a fork of Python itself, to run code of ours before the
        # exec, costs as much again as the whole command. What such code would have done is done by
        # others: the directory is changed here in the keeper before (posix_spawn has no action for
        # it), and the session, the signals and the descriptors are attributes of the call.
        try:
            return self._spawn(setsid=True)
        except NotImplementedError:
            # Systems that cannot do so in one go still give it a group of its own.
            return self._spawn(setpgroup=0)

    def _spawn(self, **own: int) -> int:
        # The actions happen in this order, in the child, before the exec. The output's descriptor is
        # above 2, as 0 to 2 are open here (/dev/null), so none of them overwrites it before it is
        # duplicated. It is close-on-exec, like all that is open here: only its duplicates live on.
        stdin = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
        stdout = (os.POSIX_SPAWN_DUP2, self.output, 1)
        nowhere = (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)
        stderr = (os.POSIX_SPAWN_DUP2, self.output, 2) if self.merge else nowhere
        # Python ignores these two, and what is ignored stays ignored over an exec: a command in a pipe
        # would go on writing to nobody. No signal is blocked either, whatever the keeper blocks.
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

    def __init__(
        self, line: socket.socket, parent: int | None, *, first: bool = False, refusal: int = 0
    ) -> None:
        self.line = line
        self.parent = parent
        self.first = first
        """Whether this is the first process of a pid namespace."""
        self.refusal = refusal
        """The errno of why it is not, when it had to be: nothing is started then."""
        self.leader: int | None = None
        """The command's own process, until it is reaped: only so long is its number its own."""
        self.group: int | None = None
        self.status = 0
        self.alone = True
        """Whether nothing is left below this process."""
        self.dismissed = False
        # Before anything can be started: a child that ends before the bell is there would never ring it.
        self.woken = ring_on_signals()
        if not first:
            # The first of a namespace hears only signals that it has handlers for, and this one would
            # come from what it keeps.
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
                # The command has its own duplicates. Held here, the pipe would never come to its end.
                os.close(request.output)
                if self.leader is not None:
                    kind = self._attend(request)
                # Reported only now: whoever hears of the end may count on nothing being left of it.
                left = self._sweep()
                self.line.sendall(REPORT.pack(kind, self.status, left, self.first))
                # Not to hold on to a directory that is nobody's any more.
                os.chdir("/")
                if left:
                    # Not fit for another command: what is left of this one would be taken for its.
                    break
        # Not in the way of whoever asked, and not in a hurry: until the last of them is gone.
        while self._sweep():
            time.sleep(PATIENT_PAUSE)

    def _dismiss(self, *_: object) -> None:
        # Not raised from here: between a start and the note of it, something would be forgotten.
        self.dismissed = True

    def _receive(self) -> Job:
        while not self._wait(None):
            pass
        text, passed, _, _ = self.line.recvmsg(1 << 16, socket.CMSG_SPACE(4), CLOSE_ON_EXEC)
        if not text or not passed:
            raise Gone
        # The descriptor comes with the first byte of a request, the rest of it may take several reads.
        (output,) = array.array("i", passed[0][2])
        # Where MSG_CMSG_CLOEXEC is missing, this is the next best moment; nothing else is spawned here.
        os.set_inheritable(output, False)  # noqa: FBT003
        (size,) = HEADER.unpack_from(text)
        whole = bytearray(text)
        while len(whole) < size + HEADER.size:
            more = self.line.recv(1 << 20)
            if not more:
                raise Gone
            whole += more
        return Job(bytes(whole[HEADER.size :]), output)

    def _start(self, request: Job) -> int:
        self.leader, kind = None, NO_DIRECTORY
        if self.refusal:
            self.status = self.refusal
            return NO_NAMESPACE
        try:
            os.chdir(request.directory)
            kind, self.alone = NO_START, False
            self.leader = self.group = request.spawn()
        except OSError as error:
            self.status = error.errno or errno.EINVAL
            self.alone = True
            return kind
        return EXITED

    def _attend(self, request: Job) -> int:
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
            # Before the word is acted on: a command that has just ended by itself was not ended.
            self._reap()
            if heard and kind == EXITED and self.leader is not None:
                kind, deadline = ENDED, self._ask_to_end(request)
        return kind

    def _ask_to_end(self, request: Job) -> float:
        # What was stopped hears nothing until it goes on.
        signal_all((signal.SIGTERM, signal.SIGCONT), self.leader)
        return time.monotonic() + request.grace

    def _wait(self, seconds: float | None) -> bool:
        """Wait for a child, a word or so long: whether there was a word. Raises Gone with the asker."""
        # A millisecond more, so that a deadline has passed once poll is back, and nothing turns in vain.
        milliseconds = None if seconds is None else max(seconds, 0) * 1000 + 1
        ready = {found for found, _ in self.poller.poll(milliseconds)}
        if self.woken in ready:
            os.read(self.woken, 4096)
        if self.dismissed or self.parent in ready:
            raise Gone
        return self.line.fileno() in ready

    def _reap(self) -> None:
        # All that have ended, and not the leader alone: orphans are this process's children, too, and
        # one ring of the bell may stand for several. ECHILD is the one proof that nothing is left.
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
        # Again and again: between the look for processes and the kill, another may have been started.
        # A group cannot fork away from a signal, so each round leaves fewer.
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
    # signalfd is Linux's alone; Python writes a byte here from its own handler. A full pipe is rung
    # enough, so that end never blocks. SIGCHLD needs a handler, or it is not delivered at all.
    woken, bell = os.pipe()
    os.set_blocking(bell, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(bell, warn_on_full_buffer=False)
    return woken


def keep(line: socket.socket, parent: int | None, warden: int, *, first: bool, refusal: int) -> None:
    """What a keeper does all its life."""
    keeper = Keeper(line, parent, first=first, refusal=refusal)
    # The first of a namespace inherits what is orphaned in it, and dies with the warden, as it is.
    if LINUX and not first:
        prctl(SUBREAPER, 1)
        # A word, not a kill: what is kept must be ended first. The warden may have ended before this
        # was said: then there is another parent by now.
        prctl(PDEATHSIG, signal.SIGTERM)
        if os.getppid() != warden:
            return
    keeper.serve()
