"""Starts commands, watches them, and reliably ends them. Runs in a process of its own.

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

How a keeper learns that the caller is gone. When your process ends, however it ends, its end of the
socket closes and its pidfd becomes readable. Both are watched: a child that it forked may hold the
socket open.

The protocol between the runner and a keeper: a request is a header and a command (``marshal``: both ends
run the same Python), with the descriptor that the command writes to. A message to end it may follow. A
report is the reply. Nothing here may import what is slow to import: a command waits for it.
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

from rightcall.process.descendants import LINUX, PDEATHSIG, SUBREAPER, descendants, prctl, signal_all
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
_FIRST_PAUSE = 0.001
_LONGEST_PAUSE = 0.05
_WATCH_SECONDS = 0.1


class CallerGone(Exception):
    """The caller is gone."""


class CommandRequest:
    """A requested command."""

    argv: list[bytes]
    environment: dict[bytes, bytes]
    directory: bytes
    merge: bool
    timeout: float
    grace: float
    most: int

    def __init__(self, text: bytes, output: int) -> None:
        # In the order of the runner's _encode.
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
        """Start it: in its own session, with an empty stdin, and no other descriptor of this process."""
        # posix_spawn, and not fork and exec: a fork of Python itself, to run code of ours before the
        # exec, costs as much again as the whole command. What such code would have done is done by
        # others: the directory is changed here in the keeper before (posix_spawn has no action for
        # it), and the session, the signals and the descriptors are attributes of the call.
        try:
            return self._spawn(setsid=True)
        except NotImplementedError:
            # Systems without support for that still give it a process group of its own.
            return self._spawn(setpgroup=0)

    def _spawn(self, **own: int) -> int:
        # The actions happen in this order, in the child, before the exec. The output's descriptor is
        # above 2, as 0 to 2 are open here (/dev/null), so none of them overwrites it before it is
        # duplicated. It is close-on-exec, like all that is open here: only its duplicates live on.
        stdin = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
        stdout = (os.POSIX_SPAWN_DUP2, self.output, 1)
        nowhere = (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)
        stderr = (os.POSIX_SPAWN_DUP2, self.output, 2) if self.merge else nowhere
        # Python ignores these two signals, and ignored signals stay ignored after an exec: a command in
        # a pipe would go on writing to a closed one. No signal is blocked either, whatever the keeper
        # blocks.
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
    """Serves one command after the other, until the requests end."""

    def __init__(
        self, line: socket.socket, parent: int | None, *, first: bool = False, refusal: int = 0
    ) -> None:
        self.line = line
        self.parent = parent
        self.first = first
        """Whether this is the first process of a pid namespace."""
        self.refusal = refusal
        """The errno of why it is not, though required: then nothing is started."""
        self.leader: int | None = None
        """The pid of the command, until it is reaped: afterwards the number may be reused."""
        self.group: int | None = None
        self.status = 0
        self.alone = True
        """Whether this process has no descendants left."""
        self.dismissed = False
        # Set up before anything is started: a child that ends earlier would never be noticed.
        self.woken = ring_on_signals()
        if not first:
            # The first process of a namespace gets only signals that it has handlers for, and this one
            # would come from the processes that it keeps.
            signal.signal(signal.SIGTERM, self._dismiss)
        self.poller = select.poll()
        for each in (line.fileno(), self.woken, parent):
            if each is not None:
                self.poller.register(each, select.POLLIN)

    def serve(self) -> None:
        """Serve commands until the socket closes; a command that still runs then is killed."""
        with suppress(CallerGone, ConnectionError):
            while True:
                request = self._receive()
                kind = self._start(request)
                # The command has its own duplicates. If this one stayed open, the pipe would never reach
                # its end.
                os.close(request.output)
                if self.leader is not None:
                    kind = self._attend(request)
                # Reported only now: once the end is reported, nothing of the command may be left.
                left = self._sweep()
                self.line.sendall(REPORT.pack(kind, self.status, left, self.first))
                # Do not keep a directory in use.
                os.chdir("/")
                if left:
                    # Unfit for another command: leftovers of this one would be taken for the next one's.
                    break
        # After the report, so the caller does not wait: until the last process is gone.
        while self._sweep():
            time.sleep(PATIENT_PAUSE)

    def _dismiss(self, *_: object) -> None:
        # Not raised here: between a start and its bookkeeping, a process would be forgotten.
        self.dismissed = True

    def _receive(self) -> CommandRequest:
        while not self._wait(None):
            pass
        text, passed, _, _ = self.line.recvmsg(1 << 16, socket.CMSG_SPACE(4), CLOSE_ON_EXEC)
        if not text or not passed:
            raise CallerGone
        # The descriptor comes with the first byte of a request; the rest may take several reads.
        (output,) = array.array("i", passed[0][2])
        # Without MSG_CMSG_CLOEXEC this is the earliest possible moment; nothing else is spawned here.
        os.set_inheritable(output, False)  # noqa: FBT003
        (size,) = HEADER.unpack_from(text)
        whole = bytearray(text)
        while len(whole) < size + HEADER.size:
            more = self.line.recv(1 << 20)
            if not more:
                raise CallerGone
            whole += more
        return CommandRequest(bytes(whole[HEADER.size :]), output)

    def _start(self, request: CommandRequest) -> int:
        self.leader = None
        kind = NO_DIRECTORY
        if self.refusal:
            self.status = self.refusal
            return NO_NAMESPACE
        try:
            os.chdir(request.directory)
            kind = NO_START
            self.alone = False
            self.leader = self.group = request.spawn()
        except OSError as error:
            self.status = error.errno or errno.EINVAL
            self.alone = True
            return kind
        return EXITED

    def _attend(self, request: CommandRequest) -> int:
        """Wait for the command's end, its timeout, or a message to end it; returns which it was."""
        kind = EXITED
        deadline = time.monotonic() + request.timeout
        look = time.monotonic() + _WATCH_SECONDS if LINUX else deadline
        # If the command is asked to end, its descendants get the grace period, too; if it ends by
        # itself, not.
        while self.leader is not None if kind == EXITED else not self.alone:
            now = time.monotonic()
            if now >= deadline:
                if kind != EXITED:
                    break
                kind = TIMED_OUT
                deadline = self._ask_to_end(request)
            if now >= look:
                if len(descendants(request.most)) > request.most:
                    return CROWDED
                look = now + _WATCH_SECONDS
            heard = self._wait(min(deadline, look) - now)
            if heard and not self.line.recv(1):
                raise CallerGone
            # Checked before the message is acted on: a command that has just ended by itself was not
            # ended by it.
            self._reap()
            if heard and kind == EXITED and self.leader is not None:
                kind = ENDED
                deadline = self._ask_to_end(request)
        return kind

    def _ask_to_end(self, request: CommandRequest) -> float:
        # A stopped process handles no signal until it continues.
        signal_all((signal.SIGTERM, signal.SIGCONT), self.leader)
        return time.monotonic() + request.grace

    def _wait(self, seconds: float | None) -> bool:
        """Wait for a child, a message or a timeout; returns whether there was a message. Raises Gone."""
        # One millisecond more, so that the deadline has passed when poll returns, and no loop spins.
        if seconds is None:
            milliseconds = None
        else:
            milliseconds = max(seconds, 0) * 1000 + 1
        ready = {found for found, _ in self.poller.poll(milliseconds)}
        if self.woken in ready:
            os.read(self.woken, 4096)
        if self.dismissed or self.parent in ready:
            raise CallerGone
        return self.line.fileno() in ready

    def _reap(self) -> None:
        # Reaps all that have ended, not the leader alone: orphans are this process's children, too, and
        # one wake-up may stand for several. ECHILD is the only proof that nothing is left.
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return
                if pid == self.leader:
                    self.leader = None
                    self.status = status
        self.alone = True

    def _sweep(self) -> int:
        """Kill whatever is left, repeatedly; returns how many processes remain when time is up."""
        pause = _FIRST_PAUSE
        give_up = time.monotonic() + SWEEP_SECONDS
        if not LINUX and self.group is not None:
            # What the command left behind is not visible as anybody's child here.
            with suppress(OSError):
                os.killpg(self.group, signal.SIGKILL)
        # Repeated: between listing processes and killing them, another may have been started. A fork
        # cannot escape a signal to its group, so each round leaves fewer.
        while not self.alone and time.monotonic() < give_up:
            signal_all((signal.SIGKILL,), self.leader)
            if select.select([self.woken], [], [], pause)[0]:
                os.read(self.woken, 4096)
            self._reap()
            pause = min(pause * 2, _LONGEST_PAUSE)
        self.group = None
        if self.alone:
            return 0
        return max(len(descendants(1 << 20)), 1)


def ring_on_signals() -> int:
    """A descriptor that is readable once a child has ended or another signal has arrived."""
    # signalfd exists only on Linux; Python's own handler writes a byte here. A full pipe is enough of a
    # wake-up, so that end never blocks. SIGCHLD needs a handler, or it is not delivered at all.
    woken, bell = os.pipe()
    os.set_blocking(bell, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(bell, warn_on_full_buffer=False)
    return woken


def keep(line: socket.socket, parent: int | None, warden: int, *, first: bool, refusal: int) -> None:
    """The main function of a keeper."""
    keeper = Keeper(line, parent, first=first, refusal=refusal)
    # The first process of a namespace adopts its orphans already, and dies with the warden.
    if LINUX and not first:
        prctl(SUBREAPER, 1)
        # A signal that can be handled, not SIGKILL: the keeper must end its command first. The warden
        # may have ended before prctl was called: then the parent has already changed.
        prctl(PDEATHSIG, signal.SIGTERM)
        if os.getppid() != warden:
            return
    keeper.serve()
