"""Reads the tools of a manifest into entries, and records every wrong field."""

import os
import re
import shutil
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias, get_args

from rightcall.core.facts import Effect, Facts, Reach
from rightcall.core.jsontext import shorten
from rightcall.manifest.command_tool import Element, Entry
from rightcall.manifest.diagnostics import Refused, Spot, each_of, flag, text, texts, whole, word
from rightcall.manifest.ownership import distrust
from rightcall.manifest.parameters import check_interpreter, check_use, read_argv, read_parameters
from rightcall.process.command import Isolation, Pids
from rightcall.process.isolate import NoIsolation, offered

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
            "timeout_ms": lambda spot: whole(spot, 1, 3_600_000, 30_000),
            "max_output_bytes": lambda spot: whole(spot, 1, 16 * 1024 * 1024, 64 * 1024),
            "max_processes": lambda spot: whole(spot, 1, 4096, 128),
            "cwd": self._directory,
            "env_passthrough": _variables,
            "stderr": lambda spot: word(spot, ("merge", "discard")),
            "treat_nonzero_exit_as_error": flag,
            "effect": lambda spot: word(spot, get_args(Effect)),
            "approval": flag,
            "allow_interpreter": flag,
            "facts": _facts,
            "isolation": self._isolation,
            "pids": lambda spot: word(spot, get_args(Pids)),
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
        with suppress(Refused):
            # If the parameters are wrong, argv's use of them cannot be checked.
            _read_arguments(members, values)
        _check_targets(members, values)
        if len(spot.notes.problems) > before:
            raise Refused
        return Entry(**values)

    def _name(self, spot: Spot) -> str:
        name = text(spot, "disk_usage")
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
        place = text(spot, "/srv/data")
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
            "by": lambda each: word(each, ("any", "bubblewrap", "systemd-run")),
            "network": flag,
            "write": lambda each: each_of(each.items(), self._directory),
        }
        isolation = Isolation(**_read_object(spot, fields))
        try:
            offered(isolation)
        except NoIsolation as refusal:
            spot.refuse(str(refusal), "install bubblewrap, or remove it and do without")
        return isolation


def _read_known(members: Mapping[str, Spot], fields: Mapping[str, Field]) -> dict[str, Any]:
    """The members that are present and correct."""
    values = {}
    for name, read in fields.items():
        if name in members:
            with suppress(Refused):
                values[name] = read(members[name])
    return values


def _read_object(spot: Spot, fields: Mapping[str, Field]) -> dict[str, Any]:
    """An object of known fields. Raises Refused if any is wrong."""
    before = len(spot.notes.problems)
    members = spot.members()
    spot.refuse_unknown(tuple(fields))
    values = _read_known(members, fields)
    if len(spot.notes.problems) > before:
        raise Refused
    return values


def _read_arguments(members: Mapping[str, Spot], values: dict[str, Any]) -> None:
    if "parameters" in members:
        values["parameters"], values["known"] = read_parameters(members["parameters"])
    known = values.get("known", {})
    allows_interpreter = values.get("allow_interpreter", False)
    argv: tuple[Element, ...] = ()
    if "argv" in members:
        with suppress(Refused):
            argv = values["argv"] = read_argv(members["argv"], known)
    check_use(argv, known, members.get("parameters"))
    if "command" in values:
        check_interpreter(values["command"], argv, known, members["command"], allowed=allows_interpreter)


def _description(spot: Spot) -> str:
    words = text(spot, "Free and used space of the disks.")
    if not words.strip():
        spot.refuse("is empty", "write what the tool does, and when to use it")
    if len(words) > _LONGEST_DESCRIPTION:
        spot.refuse(f"has {len(words):,} characters", f"write at most {_LONGEST_DESCRIPTION:,}")
    return words


def _program(spot: Spot) -> str:
    path = text(spot, "/usr/bin/uptime")
    program, blank, _ = path.partition(" ")
    if "\0" in path:
        spot.refuse("a path cannot hold a NUL character", "remove it")
    if not path.startswith("/"):
        found = shutil.which(program) if "/" not in path else None
        fix = f"write {shorten(found)}" if found else 'write "/usr/bin/…"'
        spot.refuse("must be an absolute path: no PATH is searched, and no shell is asked", fix)
    place = Path(path)
    try:
        exists, is_file = True, stat.S_ISREG(place.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        exists, is_file = False, False
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
    names = texts(spot, "LANG")
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
        "untrusted": flag,
        "private": flag,
        "reach": lambda each: word(each, get_args(Reach)),
        "targets": lambda each: texts(each, "host"),
    }
    return Facts(**{"untrusted": True, **_read_object(spot, fields)})


def _check_targets(members: Mapping[str, Spot], values: Mapping[str, Any]) -> None:
    if "facts" not in values or values["facts"].targets is None:
        return
    for item in members["facts"].below(["targets"]).items():
        if (name := item.value) not in values.get("known", {}):
            item.wrong(f"there is no parameter {shorten(name)}", "write the name of one, or remove it")
