"""Linux's own calls that Python does not have: openat2(2) and renameat2(2).

With openat2 the kernel resolves a whole path in one step and refuses whatever would leave a directory,
so that no other process can come between a check and its use. With renameat2 a new file gets its name
unless something else has it. https://man7.org/linux/man-pages/man2/openat2.2.html
"""

import ctypes
import errno
import os
import sys
from functools import cache

from rightcall.builtin.fs import flags

_OPENAT2 = 437
"""The same on every architecture that has it, alpha apart."""
_NO_XDEV = 0x01
_NO_MAGICLINKS = 0x02
_BENEATH = 0x08
_NOREPLACE = 1
_TRIES = 64
"""A ``..`` in a symbolic link, met while something is renamed, makes the kernel ask for another try."""


class _How(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def open_beneath(directory: int, path: str, how: int, *, cross_mounts: bool = False) -> int:
    """Open ``path`` beneath ``directory``, following only symbolic links that stay beneath it.

    Raises an OSError; EXDEV when the path leads outside.
    """
    resolve = _BENEATH | _NO_MAGICLINKS | (0 if cross_mounts else _NO_XDEV)
    structure = _How(how | os.O_CLOEXEC, 0, resolve)
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
    raise OSError(code, os.strerror(code))


def can_open_beneath(directory: int) -> bool:
    """Whether this kernel has openat2, and no sandbox forbids it."""
    if sys.platform != "linux":
        return False
    try:
        os.close(open_beneath(directory, ".", flags.LOOK))
    except OSError:
        return False
    return True


def rename_new(directory: int, old: str, new: str) -> bool:
    """Rename within a directory, unless something has the new name already: then FileExistsError.

    False, and nothing done, where the system or the file system has no such call.
    """
    if sys.platform != "linux" or not hasattr(_libc(), "renameat2"):
        return False
    names = os.fsencode(old), os.fsencode(new)
    if _libc().renameat2(directory, names[0], directory, names[1], _NOREPLACE) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOSYS):
        return False
    raise OSError(code, os.strerror(code))


@cache
def _libc() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    return library
