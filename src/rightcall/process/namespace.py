"""A fork whose child is the first process of a pid namespace. Linux only, if allowed.

What that gives (pid_namespaces(7)): nothing in the namespace can see or signal what is outside, or stop
or kill its first process; and when the first process ends, the kernel kills everything else in it. It
needs its own ``/proc``, or programs would read about other processes under their own pids.

Root needs no more. Anybody else needs a user namespace too, in which only their own user has a name:
files of others seem to be nobody's, and sudo does not work. So that is done only on request.
"""

# ruff: noqa: PTH123 - loading pathlib would take as long as all the rest of the start

import ctypes
import errno
import os
import signal
import sys
from struct import Struct

from rightcall.process.descendants import LINUX, PDEATHSIG, prctl

assert sys.platform != "win32"

_NEW_MOUNTS = 0x00020000
_NEW_USER = 0x10000000
_NEW_PIDS = 0x20000000
_NO_SUID_DEV_EXEC = 0x2 | 0x4 | 0x8
_PRIVATE = 1 << 18
_NOTE = Struct("=ii")
"""The result of a fork: a pid or 0, and an errno or 0."""


def fork_first(*, as_user: bool) -> int:
    """Fork. Returns 0 in the child, which dies with the caller, and its pid in the caller.

    Raises OSError.
    """
    if not LINUX:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    caller = os.getpid()
    notes, note = os.pipe()
    adopted, adopt = os.pipe()
    # Forks through an intermediate process, because unshare moves only future children into the pid
    # namespace, and a process cannot leave a user namespace again.
    if between := os.fork():
        os.close(note)
        os.close(adopted)
        return _hear(notes, adopt, between)
    try:
        os.close(notes)
        os.close(adopt)
        user = os.geteuid()
        group = os.getegid()
        flags = _NEW_PIDS | _NEW_MOUNTS | (_NEW_USER if as_user else 0)
        _call("unshare", flags)
        if as_user:
            for name, text in (
                ("setgroups", "deny"),
                ("uid_map", f"{user} {user} 1"),
                ("gid_map", f"{group} {group} 1"),
            ):
                with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                    file.write(text)
        if child := os.fork():
            os.write(note, _NOTE.pack(child, 0))
            os._exit(0)
        _settle_in(adopted, caller)
    except OSError as error:
        os.write(note, _NOTE.pack(0, error.errno or errno.EPERM))
        os._exit(1)
    os.close(note)
    return 0


def _hear(notes: int, adopt: int, between: int) -> int:
    """The result of the fork, once both processes have reported."""
    heard = os.read(notes, _NOTE.size)
    # Once the intermediate process can be reaped, its child is this process's.
    os.waitpid(between, 0)
    os.close(adopt)
    while more := os.read(notes, _NOTE.size):
        heard += more
    os.close(notes)
    said: list[tuple[int, int]] = [*_NOTE.iter_unpack(heard)] or [(0, errno.ECHILD)]
    child = said[0][0]
    failed = said[-1][1]
    if failed:
        if child:
            os.waitpid(child, 0)
        raise OSError(failed, os.strerror(failed))
    return child


def _settle_in(adopted: int, caller: int) -> None:
    """In the child: become the caller's own child, and see only processes of this namespace."""
    # The caller closes its end once it is the parent. Set earlier, the death signal would follow the
    # intermediate process.
    os.read(adopted, 1)
    os.close(adopted)
    prctl(PDEATHSIG, signal.SIGKILL)
    # The caller may have ended before that call. From here it has no pid, but this /proc is still the
    # old one.
    with open("/proc/self/stat", "rb") as file:
        parent = int(file.read().rpartition(b")")[2].split()[1])
    if parent != caller:
        os._exit(1)
    # The old /proc is made private first: if mounts are shared, the new one would be mounted for
    # everybody. All other mounts stay as they are, including those that the command makes.
    _call("mount", None, b"/proc", None, _PRIVATE, None)
    _call("mount", b"proc", b"/proc", b"proc", _NO_SUID_DEV_EXEC, None)


def _call(name: str, *arguments: bytes | int | None) -> None:
    # os.unshare came with Python 3.12; mount(2) never did.
    library = ctypes.CDLL(None, use_errno=True)
    given = [ctypes.c_ulong(each) if isinstance(each, int) else each for each in arguments]
    if getattr(library, name)(*given):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
