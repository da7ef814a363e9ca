"""Opens files of a granted directory, and none outside of it, whatever other processes do.

A root is held open from the moment it is granted, and every path is resolved from there. Path resolution
cannot detect two dangers, which are handled here:

- A hard link is a second name for a file that may also have one outside. A file with more than one
  name is refused, and so is one whose number of names could have changed between looking and opening:
  every change of it also changes ``ctime``, so ``ctime`` must be the same on both sides of the opening,
  and old enough that a change would have shown.
- Opening a pipe or a device can block or do something. What is not a plain file is not opened.

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
import re
import stat
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Literal, TypeAlias
from weakref import finalize

from msgspec import Struct

from rightcall.core.jsontext import shorten
from rightcall.core.options import check_keywords
from rightcall.errors import ToolFailure, UsageError
from rightcall.platforms import posix_only


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
_RESOLVE_TRIES = 64
"""Tries. A ``..`` in a symbolic link makes openat2 fail with EAGAIN while something is renamed."""


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def open_by_kernel(directory: int, path: str, how: int, *, cross_mounts: bool = False) -> int:
    """Open ``path`` beneath ``directory``, following only symbolic links that stay beneath it.

    Raises an OSError; EXDEV when the path leads outside.
    """
    resolve = _BENEATH | _NO_MAGICLINKS | (0 if cross_mounts else _NO_XDEV)
    structure = _How(how | _flags("O_CLOEXEC"), 0, resolve)
    code = errno.EAGAIN
    for _ in range(_RESOLVE_TRIES):
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
    walk = _PathWalk(directory, path, cross_mounts=cross_mounts)
    try:
        return walk.open(how)
    finally:
        walk.close()


class _PathWalk:
    """A walk along a path: the directories opened so far, and the parts that are left."""

    def __init__(self, directory: int, path: str, *, cross_mounts: bool) -> None:
        self._directories = [os.dup(directory)]
        if cross_mounts:
            self._device = None
        else:
            self._device = os.fstat(directory).st_dev
        self._left = deque(_parts(path))
        self._links = 0

    def open(self, how: int) -> int:
        for _ in range(_MAX_STEPS):
            if not self._left:
                # The path ends in a directory that is already open.
                return self._open(".", how)
            part = self._left.popleft()
            if part == "..":
                if len(self._directories) == 1:
                    raise _error(errno.EXDEV)
                os.close(self._directories.pop())
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


MAX_BYTES = 4096
"""The longest path, in bytes. Linux's limit is the same."""
MAX_PARTS = 128
"""The deepest path. A walk holds one open directory for each part."""

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\udc80-\udcff]")
_ESCAPE = re.compile(r"\\x([89a-f][0-9a-f])")
_SURROGATES = 0xDC00
"""The surrogates that Python uses for the bytes of a name that are not UTF-8 (PEP 383)."""


class RootedPath(Struct, frozen=True, gc=False):
    """A path beneath a root."""

    parts: tuple[str, ...] = ()
    prefix: str = ""
    """Shown before the path: the name of a root that has one."""

    @property
    def path(self) -> str:
        """The path for system calls; ``.`` is the root itself."""
        return "/".join(self.parts) or "."

    @property
    def display_path(self) -> str:
        """The path as shown to a model."""
        inner = "/".join(map(display_name, self.parts))
        if self.prefix:
            return f"{self.prefix}/{inner}".rstrip("/")
        return inner or "."

    @property
    def name(self) -> str:
        """The last part; empty for the root."""
        if self.parts:
            return self.parts[-1]
        return ""

    @property
    def parent(self) -> "RootedPath":
        """The parent directory; the root's parent is the root."""
        return RootedPath(self.parts[:-1], self.prefix)

    def child(self, name: str) -> "RootedPath":
        """The entry ``name`` of this directory."""
        return RootedPath((*self.parts, name), self.prefix)


def parse_path(text: str, roots: Sequence[str] = ()) -> RootedPath:
    """Parses a model's path. Raises ToolFailure.

    ``roots`` are the root's own absolute names: a path that begins with one of them is accepted, too.

    Nothing here accesses a disk. ``..`` is refused anywhere, because a policy reads the path as the
    model wrote it, and ``docs/../secrets`` would pass for something under ``docs``.
    """
    if "\0" in text:
        raise ToolFailure("A path cannot hold a NUL character.", own=True)
    inner = _without_root(text, roots)
    parts = tuple(_raw(part) for part in inner.split("/") if part not in ("", "."))
    if len(os.fsencode("/".join(parts))) > MAX_BYTES or len(parts) > MAX_PARTS:
        raise ToolFailure(
            f"The path is too long: at most {MAX_PARTS} parts and {MAX_BYTES:,} bytes.", own=True
        )
    if ".." in parts:
        raise ToolFailure(
            f'{shorten(text)}: ".." is not taken. Write the path from the root down.', own=True
        )
    return RootedPath(parts)


def display_name(name: str) -> str:
    r"""A file's name for a model: on one line, and bytes that are no text as ``\xNN``."""
    return _UNSEEN.sub(_escape, name)


def _without_root(text: str, roots: Sequence[str]) -> str:
    if text.startswith("~"):
        raise ToolFailure(f"{shorten(text)}: there is no home directory here. {_RELATIVE}", own=True)
    if not text.startswith("/") or not text.strip("/"):
        return text
    for root in roots:
        if root != "/" and (text == root or text.startswith(f"{root}/")):
            return text[len(root) :]
        if root == "/":
            return text
    raise ToolFailure(f"{shorten(text)}: absolute paths are not taken. {_RELATIVE}", own=True)


_RELATIVE = 'Write paths relative to the root, like "src/main.py"; "." is the root.'


def _raw(part: str) -> str:
    r"""A part as the system knows it: ``\xNN`` is a byte where the name would otherwise be no text."""
    raw = _ESCAPE.sub(lambda found: chr(_SURROGATES + int(found[1], 16)), part)
    if raw != part and os.fsdecode(os.fsencode(raw)) == raw:
        return raw
    return part


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code >= _SURROGATES:
        return f"\\x{code - _SURROGATES:02x}"
    return found[0].encode("unicode_escape").decode()


Resolver: TypeAlias = Literal["openat2", "walk"]

_RESOLVERS: dict[Resolver, Callable[..., int]] = {"openat2": open_by_kernel, "walk": open_by_walk}
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

    @check_keywords("rc.builtin.Root")
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
        given = Path(path)
        self.names = tuple(dict.fromkeys([os.path.abspath(given), os.path.realpath(given)]))  # noqa: PTH100
        """The root's absolute paths, as given and as the system resolves it. Never shown to a model."""
        if os.open not in os.supports_dir_fd or not hasattr(os, "O_NOFOLLOW"):
            raise posix_only("granting files")
        try:
            self._directory = os.open(path, LIST)
        except OSError as error:
            raise UsageError(
                f"{os.fspath(path)!r} cannot be granted: {error.strerror}; name a directory that exists"
            ) from error
        finalize(self, os.close, self._directory)
        self._hard_links = hard_links
        self._cross_mounts = cross_mounts
        self._kernel = _device("/proc/self")
        if resolver is None:
            resolver = "openat2" if has_openat2(self._directory) else "walk"
        self.resolver: Resolver = resolver
        self._resolve = _RESOLVERS[resolver]
        self._lock = Lock()
        if os.fstat(self._directory).st_dev == self._kernel:
            raise UsageError(
                "a root cannot lie in /proc: its files are the kernel's, not yours to grant"
            )

    def stat(self, place: RootedPath) -> os.stat_result:
        """The stat of a place, after following symbolic links. Raises an OSError."""
        opened = self._open(place, LOOK)
        try:
            return os.fstat(opened)
        finally:
            os.close(opened)

    @contextmanager
    def directory(self, place: RootedPath) -> Iterator[int]:
        """The directory, open. Use it only with single names, never with longer paths."""
        opened = self._open(place, LIST)
        try:
            yield opened
        finally:
            os.close(opened)

    @contextmanager
    def file(self, place: RootedPath) -> Iterator[tuple[int, os.stat_result]]:
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
                "Another change is stuck; nothing was done. Try again later.", retryable=True, own=True
            )
        try:
            yield
        finally:
            self._lock.release()

    def make_directory(self, place: RootedPath) -> None:
        """Create the directory and its missing parents."""
        for depth in range(1, len(place.parts) + 1):
            wanted = RootedPath(place.parts[:depth], place.prefix)
            try:
                self.stat(wanted)
            except FileNotFoundError:
                with self.directory(wanted.parent) as parent, suppress(FileExistsError):
                    os.mkdir(wanted.name, dir_fd=parent)

    def _open(self, place: RootedPath, how: int) -> int:
        opened = self._resolve(self._directory, place.path, how, cross_mounts=self._cross_mounts)
        if os.fstat(opened).st_dev == self._kernel:
            os.close(opened)
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        return opened

    def _open_file(self, place: RootedPath) -> tuple[int, os.stat_result]:
        for _ in range(_TRIES):
            now = time.time_ns()
            before = self.stat(place)
            if stat.S_ISDIR(before.st_mode):
                raise ToolFailure(f"{place.display_path} is a directory, not a file.", own=True)
            if not stat.S_ISREG(before.st_mode):
                raise ToolFailure(
                    f"{place.display_path} is {kind_of(before)}, which is not opened.", own=True
                )
            if before.st_nlink > 1 and not self._hard_links:
                raise ToolFailure(
                    f"{place.display_path} has {before.st_nlink} hard links: it may be a file from "
                    "outside of the root, and is not opened.",
                    own=True,
                )
            # How long a change of this file may not show in ``ctime``, in nanoseconds.
            tick = _TICK if before.st_ctime_ns % _SECOND else _SECOND
            if not self._hard_links and -_SECOND < now - before.st_ctime_ns < tick:
                # A change at this moment might not change ctime.
                time.sleep(tick / _SECOND / 8)
                continue
            opened = self._open(place, READ)
            after = os.fstat(opened)
            fields = _FILE if self._hard_links else _FILE_AND_NAMES
            if all(getattr(before, field) == getattr(after, field) for field in fields):
                return opened, after
            os.close(opened)
        raise ToolFailure(
            f"{place.display_path} is being changed by something else all the time and was not opened. "
            "Try again later.",
            retryable=True,
            own=True,
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


def _device(path: str) -> int | None:
    try:
        return os.stat(path).st_dev  # noqa: PTH116
    except OSError:
        return None


_SUFFIXES = {":ro": True, ":rw": False}


def parse_root_grant(text: str) -> Root:
    """The root that ``ROOT``, ``ROOT:ro`` or ``ROOT:rw`` grants; writable unless ``:ro``.

    ``:rw`` is needed for a directory whose own name ends in ``:ro``.
    """
    path = text
    read_only = False
    for suffix, value in _SUFFIXES.items():
        if text.endswith(suffix):
            path = text.removesuffix(suffix)
            read_only = value
            break
    if not path:
        raise UsageError(f"{text!r} grants no directory; write ROOT or ROOT:ro")
    return Root(path, read_only=read_only)
