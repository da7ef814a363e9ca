"""Finds all descendants of a process, and sends signals to them.

If the kernel does not list processes (only Linux does), none are found, and only a command's own process
group can be signalled.
"""

# ruff: noqa: PTH110, PTH123, PTH208 - loading pathlib would take as long as all the rest of the start

import ctypes
import os
import sys
from contextlib import suppress

LINUX = sys.platform == "linux"
PDEATHSIG = 1
SUBREAPER = 36
_LISTS_CHILDREN = os.path.exists(f"/proc/self/task/{os.getpid()}/children")


def prctl(option: int, value: int) -> None:
    """One of Linux's process controls."""
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def children_of(pid: int) -> list[int]:
    """The children of a process."""
    if not _LISTS_CHILDREN:
        return scan().get(pid, [])
    found: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found.extend(map(int, file.read().split()))
    return found


def scan() -> dict[int, list[int]]:
    """The children of every process, for kernels that do not list them by process."""
    found: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
            parent = int(file.read().rpartition(b")")[2].split()[1])
            found.setdefault(parent, []).append(int(name))
    return found


def descendants(most: int, pid: int | None = None) -> list[int]:
    """The descendants of a process, or of this one, nearest first; few more than ``most`` at most."""
    if not LINUX:
        return []
    known = None if _LISTS_CHILDREN else scan()
    found: list[int] = []
    layer = [os.getpid() if pid is None else pid]
    while layer and len(found) <= most:
        layer = [
            child
            for each in layer
            for child in (children_of(each) if known is None else known.get(each, ()))
        ]
        found += layer
    return found


def signal_all(numbers: tuple[int, ...], leader: int | None) -> None:
    """Signal all descendants, group by group: a fork cannot escape a signal to its group.

    The leader started a session, and no process can join another's session; so the descendants' groups
    contain no other processes.
    """
    if sys.platform == "win32":
        return
    groups = {leader} if leader is not None else set()
    for pid in descendants(1 << 20):
        with suppress(OSError):
            groups.add(os.getpgid(pid))
    for group in groups - {os.getpgrp()}:
        for number in numbers:
            with suppress(OSError):
                os.killpg(group, number)
