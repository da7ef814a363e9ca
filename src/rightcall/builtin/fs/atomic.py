"""Bytes into a file, all of them or none.

They are written to a new file beside the old one, brought to the disk, and put in its place by one
rename. Neither a crash nor a full disk leaves half a file. Nothing is ever written through a name that
was there before: a symbolic link is replaced and not followed, and a file's other hard links keep what
they had.
"""

import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress

from rightcall.builtin.fs import flags, linux
from rightcall.builtin.fs.beneath import Root, kind_of
from rightcall.builtin.fs.paths import Place
from rightcall.errors import ToolFailure

_NEW_MODE = 0o666
_PRIVATE_MODE = 0o600
_IDENTITY = ("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")
"""What tells whether a file is still the one that was read, with the same content."""


def create(root: Root, place: Place, data: bytes, *, is_cancelled: Callable[[], bool] = bool) -> None:
    """Make a new file. Raises FileExistsError where there is something of that name already."""
    with root.directory(place.parent) as directory:
        temporary = _write_beside(directory, data, None)
        try:
            _require_wanted(root, place, directory, is_cancelled)
            if not linux.rename_new(directory, temporary, place.name):
                link_new(directory, temporary, place.name)
        except BaseException:
            _forget(directory, temporary)
            raise
        os.fsync(directory)


def replace(
    root: Root,
    place: Place,
    data: bytes,
    expected: os.stat_result,
    *,
    is_cancelled: Callable[[], bool] = bool,
) -> None:
    """Put new content in the place of a file that was read, unless it has changed since."""
    with root.directory(place.parent) as directory:
        _require_plain(directory, place)
        temporary = _write_beside(directory, data, expected)
        try:
            _require_wanted(root, place, directory, is_cancelled)
            _require_unchanged(directory, place, expected)
            os.rename(temporary, place.name, src_dir_fd=directory, dst_dir_fd=directory)
        except BaseException:
            _forget(directory, temporary)
            raise
        os.fsync(directory)


def link_new(directory: int, old: str, new: str) -> None:
    """Rename as two steps, for systems without the one: a link never takes the place of something."""
    os.link(old, new, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    _forget(directory, old)


def _forget(directory: int, name: str) -> None:
    with suppress(OSError):
        os.unlink(name, dir_fd=directory)


def _require_plain(directory: int, place: Place) -> None:
    """The name must stand for a plain file itself: a rename would put an end to a symbolic link."""
    found = os.stat(place.name, dir_fd=directory, follow_symlinks=False)
    if not stat.S_ISREG(found.st_mode):
        hint = " Name the file that it stands for." if stat.S_ISLNK(found.st_mode) else ""
        raise ToolFailure(f"{place.shown} is {kind_of(found)}, which is not written to.{hint}")


def _require_unchanged(directory: int, place: Place, before: os.stat_result) -> None:
    now = os.stat(place.name, dir_fd=directory, follow_symlinks=False)
    if any(getattr(now, field) != getattr(before, field) for field in _IDENTITY):
        raise ToolFailure(f"{place.shown} has just been changed by something else. Read it again.")


def _write_beside(directory: int, data: bytes, like: os.stat_result | None) -> str:
    """A new file in the directory, under a name that nothing else has; gives the name."""
    name = f".rightcall-{secrets.token_hex(8)}.tmp"
    opened = os.open(name, flags.CREATE, _NEW_MODE if like is None else _PRIVATE_MODE, dir_fd=directory)
    try:
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(opened, left) :]
            if like is not None:
                _take_after(opened, like)
            os.fsync(opened)
        finally:
            os.close(opened)
    except BaseException:
        _forget(directory, name)
        raise
    return name


def _take_after(opened: int, like: os.stat_result) -> None:
    """Give the file the owner and the permissions of the one it is to replace."""
    with suppress(PermissionError):
        os.fchown(opened, like.st_uid, like.st_gid)
    # Without set-user-ID and the like: the content is new.
    os.fchmod(opened, stat.S_IMODE(like.st_mode) & 0o777)


def _require_wanted(root: Root, place: Place, directory: int, is_cancelled: Callable[[], bool]) -> None:
    """Before the last step: somebody still waits for it, and the directory is still where it was."""
    if is_cancelled():
        raise ToolFailure("The call was given up; nothing was changed.")
    if not os.path.samestat(os.fstat(directory), root.stat(place.parent)):
        raise ToolFailure(f"{place.parent.shown} has just been moved by something else. Try again.")
