"""Loads a manifest file into tools, or reports every problem with it."""

import os
import stat
import sys
from collections.abc import Collection, Iterator
from contextlib import suppress
from operator import attrgetter
from pathlib import Path

from msgspec import Struct

from rightcall.core.options import checked
from rightcall.core.tool import Tool
from rightcall.errors import UsageError
from rightcall.log import logger
from rightcall.manifest.command_tool import Entry, make_tool
from rightcall.manifest.diagnostics import Diagnostics, Finding, ManifestError, Refused, Spot, TooMany
from rightcall.manifest.jsonsource import read_json
from rightcall.manifest.ownership import distrust_open
from rightcall.manifest.toolreader import ToolReader
from rightcall.platforms import posix_only

_LARGEST = 1024 * 1024
_TOP = ("version", "tools")

_place = attrgetter("line", "column")


class Reading(Struct, frozen=True, kw_only=True):
    """The tools and the findings of a file."""

    file: str
    entries: tuple[Entry, ...] = ()
    """The tools without problems."""
    problems: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()


class Manifest(Struct, frozen=True, kw_only=True, eq=False):
    """The tools of a file. Accepted wherever tools are."""

    file: str
    entries: tuple[Entry, ...]
    tools: tuple[Tool, ...]
    warnings: tuple[Finding, ...] = ()

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)


@checked("rc.manifest.load")
def load(
    path: str | os.PathLike[str],
    *,
    sandbox: str | os.PathLike[str] | None = None,
    taken: Collection[str] = (),
) -> Manifest:
    """The tools that a manifest declares. Raises ManifestError with everything that is wrong.

    ``sandbox`` is the directory that ``$SANDBOX`` stands for; ``taken`` are names that other tools have
    already. Warnings are kept, and logged.
    """
    reading = inspect(path, sandbox=sandbox, taken=taken)
    if reading.problems:
        raise ManifestError(reading.problems)
    for warning in reading.warnings:
        logger.warning("%s", warning)
    return Manifest(
        file=reading.file,
        entries=reading.entries,
        tools=tuple(map(make_tool, reading.entries)),
        warnings=reading.warnings,
    )


@checked("rc.manifest.inspect")
def inspect(
    path: str | os.PathLike[str],
    *,
    sandbox: str | os.PathLike[str] | None = None,
    taken: Collection[str] = (),
) -> Reading:
    """The tools of a manifest, with all problems and warnings; raises nothing for its content."""
    notes = Diagnostics(os.fspath(path))
    entries: tuple[Entry, ...] = ()
    place = None if sandbox is None else _sandbox(Path(sandbox))
    reader = ToolReader(place, dict.fromkeys(taken, "a tool from elsewhere"))
    with suppress(TooMany, Refused):
        entries = _read_document(_read_text(Path(path), notes), notes, reader)
    return Reading(
        file=notes.file,
        entries=entries,
        problems=tuple(sorted(notes.problems, key=_place)),
        warnings=tuple(sorted(notes.warnings, key=_place)),
    )


def _sandbox(place: Path) -> str:
    if not place.is_dir():
        raise UsageError(f"the sandbox {place} is not a directory")
    return str(place.resolve())


def _read_text(path: Path, notes: Diagnostics) -> str:
    """The text of the file, if it can be read and is trusted."""
    data = _read_bytes(path, notes)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        place = before.count("\n") + 1, len(before) - before.rfind("\n")
        byte = f"the byte 0x{data[error.start]:02x} is not UTF-8"
        Spot(notes, place, "").refuse(byte, "save it as UTF-8")


def _read_bytes(path: Path, notes: Diagnostics) -> bytes:
    if sys.platform == "win32":
        raise posix_only("a manifest")
    start = Spot(notes, (1, 1), "")
    try:
        # Do not block if the path is a pipe without a writer.
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        start.refuse(f"cannot be read: {error.strerror}")
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            start.refuse("is not a regular file")
        if doubt := distrust_open(path, file):
            start.refuse(doubt.reason, doubt.fix)
        with os.fdopen(file, "rb", closefd=False) as stream:
            data = stream.read(_LARGEST + 1)
    finally:
        os.close(file)
    if len(data) > _LARGEST:
        start.refuse(f"has more than {_LARGEST:,} bytes", "write several manifests")
    return data


def _read_document(text: str, notes: Diagnostics, reader: ToolReader) -> tuple[Entry, ...]:
    top = read_json(text, notes)
    members = top.members()
    top.refuse_unknown(_TOP)
    for name, example in zip(_TOP, ('"version": 1', '"tools": [ … ]'), strict=True):
        if name not in members:
            top.wrong(f'"{name}" is missing', f"write {example}")
    if "version" in members and repr(members["version"].value) != "1":
        members["version"].wrong("the only version there is is 1", "write 1")
    entries = []
    for spot in members["tools"].items() if "tools" in members else ():
        with suppress(Refused):
            entries.append(reader.read(spot))
    return tuple(entries)
