"""Loads a manifest file into tools, or reports every problem with it."""

import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeAlias, get_args

from msgspec import Struct

from rightcall.core.facts import Effect, Facts, Reach
from rightcall.core.jsontext import shorten
from rightcall.core.options import check_keywords
from rightcall.core.tool import Tool
from rightcall.errors import UsageError
from rightcall.log import logger
from rightcall.manifest.command_tool import Element, Entry, distrust, distrust_open, make_tool
from rightcall.manifest.diagnostics import (
    Diagnostics,
    Finding,
    ManifestError,
    Spot,
    TooMany,
    UnusableValue,
    each_of,
    read_choice,
    read_flag,
    read_integer,
    read_json,
    read_text,
    read_texts,
)
from rightcall.manifest.parameters import check_interpreter, check_use, read_argv, read_parameters
from rightcall.platforms import posix_only
from rightcall.process.command import Isolation, NoIsolation, Pids, isolation_program

SANDBOX = "$SANDBOX"
BUILT_IN = frozenset(
    (
        *("apply_patch", "ask_human", "calculate", "computer", "date_math", "datetime", "fs", "memory"),
        *("plan", "shell", "str_replace_based_edit_tool", "web", "web_fetch", "web_search"),
    )
)
"""The names of the built-in tools. Readers of a policy or a record rely on what they mean."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
_LOADER = re.compile(r"(LD|DYLD|PYTHON|PERL5|NODE|RUBY|BASH|GIT)_?[A-Z_]+$")
_LONGEST_DESCRIPTION = 4000
_REQUIRED = {
    "name": '"name": "disk_usage"',
    "description": '"description": "…", which tells the model what it does and when to use it',
    "command": '"command": "/usr/bin/…"',
}

Field: TypeAlias = Callable[[Spot], Any]


class ToolReader:
    """Reads tools one after the other, under names that are still free."""

    def __init__(self, sandbox: str | None, taken: Mapping[str, str]) -> None:
        self._sandbox = sandbox
        self._taken = dict(taken)
        """The names that are taken, and by whom."""
        self._fields: dict[str, Field] = {
            "name": self._name,
            "description": _description,
            "command": _program,
            "timeout_ms": lambda spot: read_integer(spot, 1, 3_600_000, 30_000),
            "max_output_bytes": lambda spot: read_integer(spot, 1, 16 * 1024 * 1024, 64 * 1024),
            "max_processes": lambda spot: read_integer(spot, 1, 4096, 128),
            "cwd": self._directory,
            "env_passthrough": _variables,
            "stderr": lambda spot: read_choice(spot, ("merge", "discard")),
            "treat_nonzero_exit_as_error": read_flag,
            "effect": lambda spot: read_choice(spot, get_args(Effect)),
            "approval": read_flag,
            "allow_interpreter": read_flag,
            "facts": _facts,
            "isolation": self._isolation,
            "pids": lambda spot: read_choice(spot, get_args(Pids)),
        }

    def read(self, spot: Spot) -> Entry:
        """One tool. Raises Refused if anything is wrong with it."""
        before = len(spot.notes.problems)
        members = spot.members()
        spot.refuse_unknown((*self._fields, "argv", "parameters"))
        for name, example in _REQUIRED.items():
            if name not in members:
                spot.wrong(f'"{name}" is missing', f"write {example}")
        values = _read_known(members, self._fields)
        # Where the process that loads the file would look up relative names: never the whole disk.
        values.setdefault("cwd", self._sandbox or str(Path.cwd()))
        with suppress(UnusableValue):
            # If the parameters are wrong, argv's use of them cannot be checked.
            if "parameters" in members:
                values["parameters"], values["known"] = read_parameters(members["parameters"])
            known = values.get("known", {})
            allows_interpreter = values.get("allow_interpreter", False)
            argv: tuple[Element, ...] = ()
            if "argv" in members:
                with suppress(UnusableValue):
                    argv = values["argv"] = read_argv(members["argv"], known)
            check_use(argv, known, members.get("parameters"))
            if "command" in values:
                check_interpreter(
                    values["command"], argv, known, members["command"], allowed=allows_interpreter
                )
        targets = values["facts"].targets if "facts" in values else None
        for item in members["facts"].below(["targets"]).items() if targets is not None else ():
            if item.value not in values.get("known", {}):
                missing = f"there is no parameter {shorten(item.value)}"
                item.wrong(missing, "write the name of one, or remove it")
        if len(spot.notes.problems) > before:
            raise UnusableValue
        return Entry(**values)

    def _name(self, spot: Spot) -> str:
        name = read_text(spot, "disk_usage")
        if not _NAME.fullmatch(name):
            plain = re.sub("[^a-z0-9]+", "_", name.lower()).strip("_0123456789")[:64] or "disk_usage"
            spot.refuse(
                "a name must be 1 to 64 small letters, digits or _, and begin with a letter",
                f"write {shorten(plain)}",
            )
        if name in BUILT_IN:
            spot.refuse(
                "is the name of a built-in tool", f"write another, such as {shorten(f'my_{name}')}"
            )
        if name in self._taken:
            spot.refuse(f"the name is taken, by {self._taken[name]}", "write another")
        self._taken[name] = spot.path.rpartition(".")[0]
        return name

    def _directory(self, spot: Spot) -> str:
        place = read_text(spot, "/srv/data")
        if place == SANDBOX:
            if self._sandbox is None:
                spot.refuse("no sandbox was given", "pass sandbox=, or --sandbox on the command line")
            return self._sandbox
        if not place.startswith("/"):
            absolute = shorten(str(Path(place).absolute()))
            spot.refuse("must be an absolute path or $SANDBOX", f"write {absolute}")
        if not Path(place).is_dir():
            spot.refuse("there is no such directory", "make it, or write another")
        return place

    def _isolation(self, spot: Spot) -> Isolation:
        fields: dict[str, Field] = {
            "by": lambda each: read_choice(each, ("any", "bubblewrap", "systemd-run")),
            "network": read_flag,
            "write": lambda each: each_of(each.items(), self._directory),
        }
        isolation = Isolation(**_read_object(spot, fields))
        try:
            isolation_program(isolation)
        except NoIsolation as refusal:
            spot.refuse(str(refusal), "install bubblewrap, or remove it and do without")
        return isolation


def _read_known(members: Mapping[str, Spot], fields: Mapping[str, Field]) -> dict[str, Any]:
    """The members that are present and correct."""
    values = {}
    for name, read in fields.items():
        if name in members:
            with suppress(UnusableValue):
                values[name] = read(members[name])
    return values


def _read_object(spot: Spot, fields: Mapping[str, Field]) -> dict[str, Any]:
    """An object of known fields. Raises Refused if any is wrong."""
    before = len(spot.notes.problems)
    members = spot.members()
    spot.refuse_unknown(tuple(fields))
    values = _read_known(members, fields)
    if len(spot.notes.problems) > before:
        raise UnusableValue
    return values


def _description(spot: Spot) -> str:
    words = read_text(spot, "Free and used space of the disks.")
    if not words.strip():
        spot.refuse("is empty", "write what the tool does, and when to use it")
    if len(words) > _LONGEST_DESCRIPTION:
        spot.refuse(f"has {len(words):,} characters", f"write at most {_LONGEST_DESCRIPTION:,}")
    return words


def _program(spot: Spot) -> str:
    path = read_text(spot, "/usr/bin/uptime")
    program, blank, _ = path.partition(" ")
    if "\0" in path:
        spot.refuse("a path cannot hold a NUL character", "remove it")
    if not path.startswith("/"):
        fix = 'write "/usr/bin/…"'
        if "/" not in path and (found := shutil.which(program)):
            fix = f"write {shorten(found)}"
        spot.refuse("must be an absolute path: no PATH is searched, and no shell is asked", fix)
    place = Path(path)
    try:
        exists = True
        is_file = stat.S_ISREG(place.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        exists = False
        is_file = False
    except OSError as error:
        spot.refuse(f"cannot be looked at: {error.strerror}", "write the path of a program")
    if not exists and blank and Path(program).is_file():
        fix = f"write {shorten(program)}, and the rest in argv"
        spot.refuse("holds arguments beside the program", fix)
    if not exists:
        spot.refuse("there is no such file", "install it, or write the path of another")
    if not is_file:
        spot.refuse("is not a regular file", "write the path of a program")
    if not os.access(place, os.X_OK):
        spot.refuse("is not executable", f"run chmod +x {path}, if it is a program")
    if doubt := distrust(place):
        spot.refuse(doubt.reason, doubt.fix)
    return path


def _variables(spot: Spot) -> tuple[str, ...]:
    names = read_texts(spot, "LANG")
    for item, name in zip(spot.items(), names, strict=True):
        if not _VARIABLE.fullmatch(name):
            item.wrong("is not the name of a variable", 'write a name alone, such as "LANG"')
        elif _SECRET.search(name):
            secret = f"{name} looks like a secret, which the program could print"
            item.warn(secret, "remove it, if it is")
        elif _LOADER.match(name):
            item.warn(f"{name} can make the program run other code", "remove it, unless it must be")
    return names


def _facts(spot: Spot) -> Facts:
    fields: dict[str, Field] = {
        "untrusted": read_flag,
        "private": read_flag,
        "reach": lambda each: read_choice(each, get_args(Reach)),
        "targets": lambda each: read_texts(each, "host"),
    }
    return Facts(**{"untrusted": True, **_read_object(spot, fields)})


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


@check_keywords("rightcall.manifest.load")
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


@check_keywords("rightcall.manifest.inspect")
def inspect(
    path: str | os.PathLike[str],
    *,
    sandbox: str | os.PathLike[str] | None = None,
    taken: Collection[str] = (),
) -> Reading:
    """The tools of a manifest, with all problems and warnings; raises nothing for its content."""
    notes = Diagnostics(os.fspath(path))
    entries: list[Entry] = []
    place = None
    if sandbox is not None:
        if not Path(sandbox).is_dir():
            raise UsageError(f"the sandbox {Path(sandbox)} is not a directory")
        place = str(Path(sandbox).resolve())
    reader = ToolReader(place, dict.fromkeys(taken, "a tool from elsewhere"))
    try:
        top = read_json(_read_text(Path(path), notes), notes)
        members = top.members()
        top.refuse_unknown(_TOP)
        for name, example in zip(_TOP, ('"version": 1', '"tools": [ … ]'), strict=True):
            if name not in members:
                top.wrong(f'"{name}" is missing', f"write {example}")
        if "version" in members and repr(members["version"].value) != "1":
            members["version"].wrong("the only version there is is 1", "write 1")
        for spot in members["tools"].items() if "tools" in members else ():
            with suppress(UnusableValue):
                entries.append(reader.read(spot))
    except (TooMany, UnusableValue):
        entries = []
    return Reading(
        file=notes.file,
        entries=tuple(entries),
        problems=tuple(sorted(notes.problems, key=_place)),
        warnings=tuple(sorted(notes.warnings, key=_place)),
    )


def _read_text(path: Path, notes: Diagnostics) -> str:
    """The text of the file, if it can be read and is trusted."""
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
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        place = before.count("\n") + 1, len(before) - before.rfind("\n")
        byte = f"the byte 0x{data[error.start]:02x} is not UTF-8"
        Spot(notes, place, "").refuse(byte, "save it as UTF-8")
