"""Opens a path beneath a directory, and never anything outside of it.

On Linux the kernel resolves a whole path in one step (openat2) and refuses whatever would leave the
directory, so that no other process can come between a check and its use. Elsewhere our own walk does it:
every part is opened from the directory before it and never through a symbolic link. A link's text is
read and its parts are walked like any others; ``..`` in it goes back to a directory that was opened on
the way in. Every system call gets a single name, never a longer path, so another process has nothing to
swap. https://man7.org/linux/man-pages/man2/openat2.2.html
"""

import ctypes
import errno
import os
import stat
import sys
from collections import deque
from functools import cache


def _flags(*names: str) -> int:
    # A flag that this system lacks is 0: where no directory can be granted, the tools can still be
    # imported.
    flags = 0
    for name in names:
        flags |= getattr(os, name, 0)
    return flags


READ = _flags("O_RDONLY", "O_NONBLOCK", "O_NOCTTY")
"""Open a file's content. If the path is a pipe or a terminal, opening does not block."""
LIST = _flags("O_RDONLY", "O_NONBLOCK", "O_DIRECTORY")
"""Open a directory to list it."""
LOOK = _flags("O_PATH") or READ
"""Look up a path without opening it, where the system supports that."""
PASS = _flags("O_PATH", "O_DIRECTORY", "O_NOFOLLOW")
"""Open a directory on the way to something."""
CREATE = _flags("O_WRONLY", "O_CREAT", "O_EXCL", "O_NOFOLLOW")
"""Create a new file; the name must not exist."""
NOFOLLOW = _flags("O_NOFOLLOW")

_OPENAT2 = 437
"""The number of openat2: the same on every architecture that has it, except alpha."""
_NO_XDEV = 0x01
_NO_MAGICLINKS = 0x02
_BENEATH = 0x08
_NOREPLACE = 1
_TRIES = 64
"""Tries. A ``..`` in a symbolic link makes openat2 fail with EAGAIN while something is renamed."""


class _How(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def open_by_kernel(directory: int, path: str, how: int, *, cross_mounts: bool = False) -> int:
    """Open ``path`` beneath ``directory``, following only symbolic links that stay beneath it.

    Raises an OSError; EXDEV when the path leads outside.
    """
    resolve = _BENEATH | _NO_MAGICLINKS | (0 if cross_mounts else _NO_XDEV)
    structure = _How(how | _flags("O_CLOEXEC"), 0, resolve)
    code = errno.EAGAIN
    for _ in range(_TRIES):
        opened = _libc().syscall(
            ctypes.c_long(_OPENAT2),
            ctypes.c_int(directory),
            ctypes.c_char_p(os.fsencode(path)),
            ctypes.byref(structure),
            ctypes.c_size_t(ctypes.sizeof(structure)),
        )
        if opened >= 0:
            return int(opened)
        code = ctypes.get_errno()
        if code not in (errno.EAGAIN, errno.EINTR):
            break
    raise _error(code)


def has_openat2(directory: int) -> bool:
    """Whether this kernel has openat2 and no sandbox blocks it."""
    if sys.platform != "linux":
        return False
    try:
        os.close(open_by_kernel(directory, ".", LOOK))
    except OSError:
        return False
    return True


def rename_new(directory: int, old: str, new: str) -> bool:
    """Rename within a directory. Raises FileExistsError if the new name exists.

    Returns False, without renaming, if the system or the file system has no such call.
    """
    if sys.platform != "linux" or not hasattr(_libc(), "renameat2"):
        return False
    names = os.fsencode(old), os.fsencode(new)
    if _libc().renameat2(directory, names[0], directory, names[1], _NOREPLACE) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOSYS):
        return False
    raise _error(code)


@cache
def _libc() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    return library


_LINK_ERRORS = frozenset([errno.ELOOP, errno.ENOTDIR, errno.EMLINK])
"""The errors that O_NOFOLLOW gives for a symbolic link: ELOOP; with O_DIRECTORY, ENOTDIR; on BSD,
EMLINK."""
_MAX_LINKS = 40
"""The most symbolic links in one path, as on Linux."""
_MAX_STEPS = 4096


def open_by_walk(directory: int, path: str, how: int, *, cross_mounts: bool = False) -> int:
    """Open ``path`` beneath ``directory``, following only symbolic links that stay beneath it.

    Raises an OSError; EXDEV when the path leads outside.
    """
    walk = _Walk(directory, path, cross_mounts=cross_mounts)
    try:
        return walk.open(how)
    finally:
        walk.close()


class _Walk:
    """A walk along a path: the directories opened so far, and the parts that are left."""

    def __init__(self, directory: int, path: str, *, cross_mounts: bool) -> None:
        self._directories = [os.dup(directory)]
        self._device = None if cross_mounts else os.fstat(directory).st_dev
        self._left = deque(_parts(path))
        self._links = 0

    def open(self, how: int) -> int:
        for _ in range(_MAX_STEPS):
            if not self._left:
                # The path ends in a directory that is already open.
                return self._open(".", how)
            part = self._left.popleft()
            if part == "..":
                self._go_back()
                continue
            is_last = not self._left
            try:
                opened = self._open(part, how | NOFOLLOW if is_last else PASS)
            except OSError as error:
                if error.errno not in _LINK_ERRORS or not self._follow(part):
                    raise
                continue
            if is_last and stat.S_ISLNK(os.fstat(opened).st_mode):
                # O_PATH opens the link itself.
                os.close(opened)
                if not self._follow(part):
                    self._left.appendleft(part)
            elif is_last:
                return opened
            else:
                self._directories.append(opened)
        raise _error(errno.ELOOP)

    def close(self) -> None:
        for opened in self._directories:
            os.close(opened)

    def _open(self, part: str, how: int) -> int:
        opened = os.open(part, how, dir_fd=self._directories[-1])
        found = os.fstat(opened)
        # Only for directories: on overlay file systems, files may report another device.
        if stat.S_ISDIR(found.st_mode) and self._device not in (None, found.st_dev):
            os.close(opened)
            raise _error(errno.EXDEV)
        return opened

    def _go_back(self) -> None:
        if len(self._directories) == 1:
            raise _error(errno.EXDEV)
        os.close(self._directories.pop())

    def _follow(self, part: str) -> bool:
        """Replace a symbolic link by the parts of its target. Returns False if it is no link."""
        try:
            target = os.readlink(part, dir_fd=self._directories[-1])
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            return False
        self._links += 1
        if self._links > _MAX_LINKS:
            raise _error(errno.ELOOP)
        if target.startswith("/"):
            raise _error(errno.EXDEV)
        self._left.extendleft(reversed(_parts(target)))
        return True


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _error(code: int) -> OSError:
    return OSError(code, os.strerror(code))
