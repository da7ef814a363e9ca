"""Lines that it is sent into keepers, one each. The first process that is started for commands.

What a keeper loses when it is killed becomes the warden's child, which has no children but keepers, and
is killed. When the warden itself is killed, its keepers end. So no single death leaves anything behind.
"""

# ruff: noqa: PTH208 - loading pathlib would take as long as all the rest of the start

import array
import os
import resource
import select
import signal
import socket
import sys
from contextlib import suppress

from rightcall.process.descent import LINUX, SUBREAPER, children_of, prctl
from rightcall.process.keeper import CLOSE_ON_EXEC, PATIENT_PAUSE, keep, ring_on_signals


def guard(line: socket.socket, parent: int | None) -> None:
    """What the warden does: a keeper for every line that it is sent, and an end to what they lose."""
    keepers: set[int] = set()
    woken = ring_on_signals()
    watched = [line.fileno(), woken] + ([] if parent is None else [parent])
    while True:
        ready, _, _ = select.select(watched, [], [])
        if parent in ready:
            break
        if woken in ready:
            os.read(woken, 4096)
            bury(keepers)
        if line.fileno() in ready:
            text, passed, _, _ = line.recvmsg(1, socket.CMSG_SPACE(4), CLOSE_ON_EXEC)
            if not text:
                break
            (fileno,) = array.array("i", passed[0][2])
            keepers.add(fork_keeper(fileno, parent, (line.fileno(), woken)))
    while bury(keepers):
        if select.select([woken], [], [], PATIENT_PAUSE)[0]:
            os.read(woken, 4096)


def fork_keeper(fileno: int, parent: int | None, mine: tuple[int, ...]) -> int:
    """A keeper for a line; its process."""
    # A fork without an exec, and so the warden is single-threaded and light: what is imported is shared.
    warden = os.getpid()
    if pid := os.fork():
        os.close(fileno)
        return pid
    try:
        # It is the warden's bell: left set, the keeper's signals would ring there.
        os.close(signal.set_wakeup_fd(-1))
        for each in mine:
            os.close(each)
        os.set_inheritable(fileno, False)  # noqa: FBT003
        keep(socket.socket(fileno=fileno), parent, warden)
    finally:
        os._exit(0)


def bury(keepers: set[int]) -> bool:
    """Note the keepers that ended, and kill what the warden inherited from them; whether any is left."""
    try:
        while pid := os.waitpid(-1, os.WNOHANG)[0]:
            keepers.discard(pid)
    except ChildProcessError:
        return False
    if LINUX:
        for pid in set(children_of(os.getpid())) - keepers:
            with suppress(OSError):
                if (group := os.getpgid(pid)) != os.getpgrp():
                    os.killpg(group, signal.SIGKILL)
    return True


def main() -> None:
    """The warden's start: a session of its own, plain signals, and no descriptor that is not its own."""
    # A session of its own, so that a Ctrl-C in your terminal reaches your process and not the warden:
    # your process decides what becomes of its commands.
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
    # A crash leaves no memory on the disk.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    for fileno in {line, parent} - {-1}:
        os.set_inheritable(fileno, False)  # noqa: FBT003
    if LINUX:
        prctl(SUBREAPER, 1)
    guard(socket.socket(fileno=line), None if parent < 0 else parent)
