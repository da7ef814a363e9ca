"""A directory into what is in it: one level, or all of it, sorted, within bounds."""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Literal, TypeAlias

from msgspec import Struct

from rightcall.builtin.fs.beneath import Root
from rightcall.builtin.fs.limits import FileLimits, Watch
from rightcall.builtin.fs.paths import MAX_PARTS, Place

Kind: TypeAlias = Literal["file", "directory", "link", "other"]


class Entry(Struct, frozen=True):
    """A name in a directory."""

    place: Place
    kind: Kind
    size: int = 0
    """Bytes, of a file."""

    @property
    def shown(self) -> str:
        """The path for a model, with a slash after a directory."""
        return f"{self.place.shown}/" if self.kind == "directory" else self.place.shown


class Tree:
    """Everything beneath a directory, depth first. Symbolic links are named and never followed."""

    def __init__(self, root: Root, limits: FileLimits, watch: Watch) -> None:
        self._root = root
        self._limits = limits
        self._watch = watch
        self._left = limits.max_visited
        self.passed: set[str] = set()
        """The names of directories that were passed by."""
        self.unreadable = 0
        """How many directories could not be looked into."""
        self.is_cut = False
        """Whether it ended before everything was seen."""

    def entries(self, place: Place, depth: int | None = None) -> Iterator[Entry]:
        """What is beneath the directory, so many levels deep.

        Raises an OSError only for the directory itself.
        """
        for entry in self._level(place):
            if self._is_over():
                return
            yield entry
            if entry.kind != "directory" or depth == 1:
                continue
            if entry.place.name in self._limits.skipped:
                self.passed.add(entry.place.name)
                continue
            if len(entry.place.parts) >= MAX_PARTS:
                self.unreadable += 1
                continue
            try:
                yield from self.entries(entry.place, None if depth is None else depth - 1)
            except OSError:
                # It has gone meanwhile, became something else, or may not be read.
                self.unreadable += 1

    def _is_over(self) -> bool:
        self._left -= 1
        if self._left < 0 or self._watch.is_over():
            self.is_cut = True
        return self.is_cut

    def _level(self, place: Place) -> Sequence[Entry]:
        with self._root.directory(place) as directory, os.scandir(directory) as found:
            entries = list(islice(found, self._left + 1))
            level = [_entry(place, entry) for entry in entries]
        return sorted(level, key=lambda entry: entry.place.name)


def _entry(parent: Place, entry: "os.DirEntry[str]") -> Entry:
    mode, size = 0, 0
    with suppress(OSError):
        found = entry.stat(follow_symlinks=False)
        mode, size = found.st_mode, found.st_size
    place = parent.child(entry.name)
    if stat.S_ISREG(mode):
        return Entry(place, "file", size)
    if stat.S_ISDIR(mode):
        return Entry(place, "directory")
    return Entry(place, "link" if stat.S_ISLNK(mode) else "other")
