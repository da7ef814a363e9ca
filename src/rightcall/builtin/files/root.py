"""Opens files of a granted directory, and none outside of it, whatever other processes do.

A root is held open from the moment it is granted, and every path is resolved from there. Path resolution
cannot detect two dangers, which are handled here:

- A hard link is a second name for a file that may also have one outside. A file with more than one
  name is refused, and so is one whose number of names could have changed between looking and opening:
  every change of it also changes ``ctime``, so ``ctime`` must be the same on both sides of the opening,
  and old enough that a change would have shown.
- Opening a pipe or a device can block or do something. What is not a plain file is not opened.
"""

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Literal, TypeAlias
from weakref import finalize

from rightcall.builtin.files import resolve
from rightcall.builtin.files.place import Place
from rightcall.core.options import checked
from rightcall.errors import ToolFailure, UsageError
from rightcall.platforms import posix_only

Resolver: TypeAlias = Literal["openat2", "walk"]

_RESOLVERS: dict[Resolver, Callable[..., int]] = {
    "openat2": resolve.open_by_kernel,
    "walk": resolve.open_by_walk,
}
_TICK = 20_000_000
"""Nanoseconds within which two changes may get the same ``ctime``: more than a kernel clock's tick."""
_SECOND = 1_000_000_000
_TRIES = 25
_FILE = ("st_dev", "st_ino", "st_mode")
"""The stat fields that do not change while a file is the same."""
_FILE_AND_NAMES = (*_FILE, "st_nlink", "st_ctime_ns")
"""Those, and the fields that do not change while the file is not modified, linked or unlinked."""
_LOCK_SECONDS = 30.0


class Root:
    """A granted directory.

    ``hard_links`` also opens files that have other names, which may be outside. ``cross_mounts`` enters
    file systems that are mounted below. ``resolver`` is chosen by what the system supports.
    """

    @checked("rc.builtin.Root")
    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        read_only: bool = False,
        hard_links: bool = False,
        cross_mounts: bool = False,
        resolver: Resolver | None = None,
    ) -> None:
        self.read_only = read_only
        self.names = _names(path)
        """The root's absolute paths, as given and as the system resolves it. Never shown to a model."""
        self._directory = _open_root(path)
        finalize(self, os.close, self._directory)
        self._hard_links = hard_links
        self._cross_mounts = cross_mounts
        self._kernel = _device("/proc/self")
        if resolver is None:
            resolver = "openat2" if resolve.has_openat2(self._directory) else "walk"
        self.resolver: Resolver = resolver
        self._resolve = _RESOLVERS[resolver]
        self._lock = Lock()
        if os.fstat(self._directory).st_dev == self._kernel:
            raise UsageError(
                "a root cannot lie in /proc: its files are the kernel's, not yours to grant"
            )

    def stat(self, place: Place) -> os.stat_result:
        """The stat of a place, after following symbolic links. Raises an OSError."""
        opened = self._open(place, resolve.LOOK)
        try:
            return os.fstat(opened)
        finally:
            os.close(opened)

    @contextmanager
    def directory(self, place: Place) -> Iterator[int]:
        """The directory, open. Use it only with single names, never with longer paths."""
        opened = self._open(place, resolve.LIST)
        try:
            yield opened
        finally:
            os.close(opened)

    @contextmanager
    def file(self, place: Place) -> Iterator[tuple[int, os.stat_result]]:
        """The plain file, open for reading, and its stat."""
        opened, found = self._open_file(place)
        try:
            yield opened, found
        finally:
            os.close(opened)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Lock out other changes through this root meanwhile."""
        if not self._lock.acquire(timeout=_LOCK_SECONDS):
            raise ToolFailure(
                "Another change is stuck; nothing was done. Try again later.", retryable=True
            )
        try:
            yield
        finally:
            self._lock.release()

    def make_directory(self, place: Place) -> None:
        """Create the directory and its missing parents."""
        for depth in range(1, len(place.parts) + 1):
            wanted = Place(place.parts[:depth], place.prefix)
            try:
                self.stat(wanted)
            except FileNotFoundError:
                with self.directory(wanted.parent) as parent, suppress(FileExistsError):
                    os.mkdir(wanted.name, dir_fd=parent)

    def _open(self, place: Place, how: int) -> int:
        opened = self._resolve(self._directory, place.path, how, cross_mounts=self._cross_mounts)
        if os.fstat(opened).st_dev == self._kernel:
            os.close(opened)
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        return opened

    def _open_file(self, place: Place) -> tuple[int, os.stat_result]:
        for _ in range(_TRIES):
            now = time.time_ns()
            before = self.stat(place)
            self._require_plain(before, place)
            tick = _tick(before)
            if not self._hard_links and -_SECOND < now - before.st_ctime_ns < tick:
                # A change at this moment might not change ctime.
                time.sleep(tick / _SECOND / 8)
                continue
            opened = self._open(place, resolve.READ)
            after = os.fstat(opened)
            if _is_same(before, after, _FILE if self._hard_links else _FILE_AND_NAMES):
                return opened, after
            os.close(opened)
        raise ToolFailure(
            f"{place.shown} is being changed by something else all the time and was not opened. "
            "Try again later.",
            retryable=True,
        )

    def _require_plain(self, found: os.stat_result, place: Place) -> None:
        if stat.S_ISDIR(found.st_mode):
            raise ToolFailure(f"{place.shown} is a directory, not a file.")
        if not stat.S_ISREG(found.st_mode):
            raise ToolFailure(f"{place.shown} is {kind_of(found)}, which is not opened.")
        if found.st_nlink > 1 and not self._hard_links:
            raise ToolFailure(
                f"{place.shown} has {found.st_nlink} hard links: it may be a file from outside of the "
                "root, and is not opened."
            )


def kind_of(found: os.stat_result) -> str:
    """The kind of a file, in words."""
    for is_kind, words in _KINDS:
        if is_kind(found.st_mode):
            return words
    return "something unknown"


_KINDS: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISREG, "a file"),
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def _is_same(before: os.stat_result, after: os.stat_result, fields: tuple[str, ...]) -> bool:
    return all(getattr(before, field) == getattr(after, field) for field in fields)


def _tick(found: os.stat_result) -> int:
    """How long a change of this file may not show in ``ctime``, in nanoseconds."""
    # A file system with whole-second timestamps shows changes later.
    return _TICK if found.st_ctime_ns % _SECOND else _SECOND


def _names(path: str | os.PathLike[str]) -> tuple[str, ...]:
    given = Path(path)
    return tuple(dict.fromkeys([os.path.abspath(given), os.path.realpath(given)]))  # noqa: PTH100


def _open_root(path: str | os.PathLike[str]) -> int:
    if os.open not in os.supports_dir_fd or not hasattr(os, "O_NOFOLLOW"):
        raise posix_only("granting files")
    try:
        return os.open(path, resolve.LIST)
    except OSError as error:
        raise UsageError(
            f"{os.fspath(path)!r} cannot be granted: {error.strerror}; name a directory that exists"
        ) from error


def _device(path: str) -> int | None:
    try:
        return os.stat(path).st_dev  # noqa: PTH116
    except OSError:
        return None


_SUFFIXES = {":ro": True, ":rw": False}


def granted(text: str) -> Root:
    """The root that ``ROOT``, ``ROOT:ro`` or ``ROOT:rw`` grants; writable unless ``:ro``.

    ``:rw`` is needed for a directory whose own name ends in ``:ro``.
    """
    path, read_only = text, False
    for suffix, value in _SUFFIXES.items():
        if text.endswith(suffix):
            path, read_only = text.removesuffix(suffix), value
            break
    if not path:
        raise UsageError(f"{text!r} grants no directory; write ROOT or ROOT:ro")
    return Root(path, read_only=read_only)
