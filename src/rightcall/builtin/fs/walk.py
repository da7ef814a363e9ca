"""A path into an open file beneath a directory, part by part, for systems without openat2.

Every part is opened from the directory before it and never through a symbolic link. A link's text is
read and its parts are walked like any others; ``..`` in it goes back to a directory that was opened on
the way in. No path longer than one name ever reaches the system, so there is nothing that another
process could swap between a check and its use.
"""

import errno
import os
import stat
from collections import deque

from rightcall.builtin.fs import flags

_LINK_ERRORS = frozenset([errno.ELOOP, errno.ENOTDIR, errno.EMLINK])
"""What O_NOFOLLOW gives for a symbolic link: ELOOP; with O_DIRECTORY, ENOTDIR; on BSD, EMLINK."""
_MAX_LINKS = 40
"""As many as Linux follows in one path."""
_MAX_STEPS = 4096


def open_beneath(directory: int, path: str, how: int, *, cross_mounts: bool = False) -> int:
    """Open ``path`` beneath ``directory``, following only symbolic links that stay beneath it.

    Raises an OSError; EXDEV when the path leads outside.
    """
    walk = _Walk(directory, path, cross_mounts=cross_mounts)
    try:
        return walk.open(how)
    finally:
        walk.close()


class _Walk:
    """The directories on the way to where a path has come so far, and the parts that are left."""

    def __init__(self, directory: int, path: str, *, cross_mounts: bool) -> None:
        self._directories = [os.dup(directory)]
        self._device = None if cross_mounts else os.fstat(directory).st_dev
        self._left = deque(_parts(path))
        self._links = 0

    def open(self, how: int) -> int:
        for _ in range(_MAX_STEPS):
            if not self._left:
                # The path ends in a directory that is open already.
                return self._open(".", how)
            part = self._left.popleft()
            if part == "..":
                self._go_back()
                continue
            is_last = not self._left
            try:
                opened = self._open(part, how | flags.NOFOLLOW if is_last else flags.PASS)
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
        # Only directories: where layers are mounted over one another, files may name another device.
        if stat.S_ISDIR(found.st_mode) and self._device not in (None, found.st_dev):
            os.close(opened)
            raise _error(errno.EXDEV)
        return opened

    def _go_back(self) -> None:
        if len(self._directories) == 1:
            raise _error(errno.EXDEV)
        os.close(self._directories.pop())

    def _follow(self, part: str) -> bool:
        """Put what a symbolic link says in its place. False when it is none."""
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
