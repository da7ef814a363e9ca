"""Lists a directory within limits, and explains the system's errors to a model."""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from itertools import islice
from time import monotonic
from typing import Literal, TypeAlias

from msgspec import Struct

from rightcall.builtin.files.root import MAX_PARTS, Root, RootedPath
from rightcall.core.options import NameCheckedMeta
from rightcall.errors import ToolFailure, UsageError


class FileLimits(Struct, frozen=True, kw_only=True, metaclass=NameCheckedMeta):
    """Limits on what one call may read, write or search."""

    max_file_bytes: int = 16 * 1024 * 1024
    """The largest file, in bytes, that is shown whole, edited or searched; of a larger one the beginning
    is shown."""
    max_write_bytes: int = 1024 * 1024
    """The most bytes in one write."""
    max_lines: int = 2000
    """The most lines in one read."""
    max_characters: int = 40_000
    """The most characters in one result; the model can ask for the rest."""
    max_line_characters: int = 2000
    """Characters of a line that are shown; longer lines are cut."""
    max_entries: int = 500
    """The most names in one listing or glob."""
    max_matches: int = 200
    """The most matching lines in one grep."""
    max_visited: int = 50_000
    """The most names that a search visits before it gives up."""
    search_seconds: float = 15.0
    """Seconds after which a search gives up."""
    skipped: tuple[str, ...] = (".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv")
    """Directories that a search skips, unless it starts in one."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if name != "skipped" and not value > 0:
                raise UsageError(f"file limits: {name} must be more than 0, not {value!r}")


class Access(Struct, frozen=True):
    """The root, limits and cancellation of one call."""

    root: Root
    limits: FileLimits
    is_cancelled: Callable[[], bool] = bool
    instead: str = ""
    """A hint for the model about a file that already exists."""
    several: str = ""
    """A hint for the model about a text that occurs several times."""

    def deadline(self) -> Callable[[], bool]:
        """Returns true when a search must end: its time is up, or its caller was cancelled."""
        end = monotonic() + self.limits.search_seconds
        return lambda: self.is_cancelled() or monotonic() > end


Kind: TypeAlias = Literal["file", "directory", "link", "other"]


class DirectoryEntry(Struct, frozen=True):
    """An entry of a directory."""

    place: RootedPath
    kind: Kind
    size: int = 0
    """Size of a file in bytes."""

    @property
    def display_path(self) -> str:
        """The path as shown to a model, with a slash after a directory."""
        if self.kind == "directory":
            return f"{self.place.display_path}/"
        return self.place.display_path


class Tree:
    """A walk beneath a directory, depth first. Symbolic links are listed and never followed."""

    def __init__(self, access: Access) -> None:
        self._root = access.root
        self._skipped = access.limits.skipped
        self._left = access.limits.max_visited
        self.is_late = access.deadline()
        self.passed: set[str] = set()
        """The names of skipped directories."""
        self.unreadable = 0
        """How many directories could not be read."""
        self.is_cut = False
        """Whether it ended early."""

    def entries(self, place: RootedPath, depth: int | None = None) -> Iterator[DirectoryEntry]:
        """The entries beneath the directory, that many levels deep.

        Raises an OSError only for the directory itself.
        """
        with self._root.directory(place) as directory, os.scandir(directory) as found:
            level = [_entry(place, each) for each in islice(found, self._left + 1)]
        for entry in sorted(level, key=lambda each: each.place.name):
            self._left -= 1
            if self._left < 0 or self.is_late():
                self.is_cut = True
            if self.is_cut:
                return
            yield entry
            if entry.kind != "directory" or depth == 1:
                continue
            if entry.place.name in self._skipped:
                self.passed.add(entry.place.name)
                continue
            if len(entry.place.parts) >= MAX_PARTS:
                self.unreadable += 1
                continue
            try:
                yield from self.entries(entry.place, None if depth is None else depth - 1)
            except OSError:
                # It is gone, has become something else, or may not be read.
                self.unreadable += 1


def _entry(parent: RootedPath, entry: "os.DirEntry[str]") -> DirectoryEntry:
    mode = 0
    size = 0
    with suppress(OSError):
        found = entry.stat(follow_symlinks=False)
        mode = found.st_mode
        size = found.st_size
    place = parent.child(entry.name)
    if stat.S_ISREG(mode):
        return DirectoryEntry(place, "file", size)
    if stat.S_ISDIR(mode):
        return DirectoryEntry(place, "directory")
    return DirectoryEntry(place, "link" if stat.S_ISLNK(mode) else "other")


_MOST_NAMES = 2000
_SEARCH_SECONDS = 0.5
_SHOWN_NAMES = 3

_WORDS: Mapping[int, str] = {
    errno.EACCES: "permission denied: whoever runs this tool may not do that here.",
    errno.EPERM: "permission denied: whoever runs this tool may not do that here.",
    errno.EROFS: "the file system is read-only.",
    errno.EXDEV: "this leads outside of the root, through a symbolic link or onto another file system.",
    errno.ELOOP: "its symbolic links are not followed: they go in a circle, or are the kernel's own.",
    errno.ENOTDIR: "a part of the path is a file and not a directory.",
    errno.EISDIR: "it is a directory, not a file.",
    errno.EEXIST: "it exists already.",
    errno.ENOTEMPTY: "the directory is not empty.",
    errno.ENAMETOOLONG: "the name is too long.",
    errno.ENOSPC: "the disk is full; nothing was changed.",
    errno.EDQUOT: "the disk quota is used up; nothing was changed.",
    errno.EFBIG: "the file would be too large for the file system; nothing was changed.",
    errno.EAGAIN: "something else keeps changing the directories on the way. Try again.",
    errno.EMFILE: "too many files are open. Try again later.",
    errno.ENFILE: "too many files are open. Try again later.",
    errno.EIO: "the disk reports an error.",
    errno.EINVAL: "the file system does not take that name.",
    errno.EILSEQ: "the file system does not take that name.",
    errno.ENXIO: "it is not a plain file.",
}


@contextmanager
def explain_os_errors(root: Root, place: RootedPath) -> Iterator[None]:
    """Turn an OSError about ``place`` into a ToolFailure."""
    try:
        yield
    except FileNotFoundError as error:
        raise _missing(root, place) from error
    except OSError as error:
        words = _WORDS.get(error.errno or 0, "the system refused, and did not say why.")
        raise ToolFailure(f"{place.display_path}: {words}", own=True) from error


def _missing(root: Root, place: RootedPath) -> ToolFailure:
    """The failure of a path that does not exist; with similar paths, whose names are not our words."""
    words = f"There is no {place.display_path}."
    if not place.parts:
        return ToolFailure(words, own=True)
    try:
        # Paths with the same name in another directory, or else similar names in the same one.
        tree = Tree(Access(root, FileLimits(max_visited=_MOST_NAMES, search_seconds=_SEARCH_SECONDS)))
        entries = tree.entries(RootedPath(prefix=place.prefix))
        same = (entry.place.display_path for entry in entries if entry.place.name == place.name)
        near = list(islice(same, _SHOWN_NAMES)) or _beside(root, place)
    except FileNotFoundError:
        parent = _missing(root, place.parent)
        return ToolFailure(f"{words} {parent.message}", own=parent.own)
    except OSError:
        near = []
    if near:
        return ToolFailure(f"{words} Did you mean {' or '.join(near)}?")
    return ToolFailure(words, own=True)


def _beside(root: Root, place: RootedPath) -> list[str]:
    """Similar names in the same directory."""
    with root.directory(place.parent) as directory, os.scandir(directory) as entries:
        names = [entry.name for entry in islice(entries, _MOST_NAMES)]
    folded = {name.casefold(): name for name in sorted(names, reverse=True)}
    near = get_close_matches(place.name.casefold(), list(folded), n=_SHOWN_NAMES, cutoff=0.6)
    return [place.parent.child(name).display_path for name in sorted(folded[each] for each in near)]
