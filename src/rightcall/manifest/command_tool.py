"""Runs a program as a tool: its manifest entry, the arguments of a call, and the run.

No text is ever joined to another, split, quoted or unquoted: a value becomes one argument, or none. A
value that could be taken for an option is refused unless ``--`` comes before it.
"""

import os
import stat
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, assert_never

from msgspec import Struct, field

from rightcall.core.facts import Effect, Facts
from rightcall.core.handler import Handler
from rightcall.core.jsontext import JsonObject, JsonValue, dump, shorten
from rightcall.core.limits import Limits
from rightcall.core.problem import Problem, Valid, json_path
from rightcall.core.schema import Schema
from rightcall.core.tool import Tool
from rightcall.errors import ToolFailure
from rightcall.platforms import posix_only, user_name
from rightcall.process.command import Command, Exited, Isolation, Pids, decode, describe
from rightcall.process.runner import run


class Distrust(Struct, frozen=True):
    """Why a file is not trusted, and what to do about it."""

    reason: str
    fix: str


def distrust(path: Path) -> Distrust | None:
    """Why a file must not decide what is run: another user can write it, or a directory above it.

    For a symbolic link, both the link and its target are checked.
    """
    target = path.resolve()
    for place in dict.fromkeys([target, *target.parents, *path.absolute().parents]):
        if found := _judge(place, place.stat()):
            return found
    return None


def distrust_open(path: Path, file: int) -> Distrust | None:
    """The same for an open file, so that the checked file is the one that is read."""
    return _judge(path, os.fstat(file)) or distrust(path)


def _judge(place: Path, status: os.stat_result) -> Distrust | None:
    if sys.platform == "win32":
        raise posix_only("a manifest")
    kind = "directory " if stat.S_ISDIR(status.st_mode) else ""
    if status.st_uid not in {0, os.geteuid()}:
        return Distrust(
            f"the {kind or 'file '}{place} belongs to {user_name(status.st_uid)}, neither you nor root",
            f"run chown {user_name(os.geteuid())} {place}, if you trust what is in it",
        )
    # In a sticky directory, such as /tmp, nobody can replace another user's files.
    sticky = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
    if status.st_mode & stat.S_IWOTH and not sticky:
        mode = stat.S_IMODE(status.st_mode)
        return Distrust(
            f"anyone may write the {kind or 'file '}{place} (mode {mode:04o})", f"run chmod o-w {place}"
        )
    return None


_MARGIN = 5.0
"""Seconds that the runner has to end a program before the executor abandons it."""
_ROOM = 1024
"""Bytes for the text around an output: its envelope, and how the program ended."""


class LiteralArgument(Struct, frozen=True):
    """A constant argument."""

    text: str


class Placeholder(Struct, frozen=True):
    """An argument that the model fills in, or several for an array; omitted if the parameter is."""

    name: str
    guarded: bool = False
    """Whether ``--`` comes before it, after which a program takes nothing for an option."""


class ArgumentGroup(Struct, frozen=True):
    """Arguments that come and go together: a flag and its value. Repeated for each item of an array."""

    before: tuple[str, ...]
    placeholder: Placeholder
    after: tuple[str, ...] = ()


Element: TypeAlias = LiteralArgument | Placeholder | ArgumentGroup


def element_parts(element: Element) -> tuple[tuple[str, ...], Placeholder | None, tuple[str, ...]]:
    """The texts before the placeholder, the placeholder, and the texts after it."""
    match element:
        case LiteralArgument(text):
            return (text,), None, ()
        case Placeholder():
            return (), element, ()
        case ArgumentGroup(before, placeholder, after):
            return before, placeholder, after
    assert_never(element)


class CommandParameter(Struct, frozen=True, kw_only=True):
    """Facts about a parameter besides its schema."""

    types: frozenset[str]
    """The JSON types of its values; of its items, when it is an array."""
    is_array: bool = False
    required: bool = False
    listed: frozenset[str] | None = None
    """All possible values, as arguments, if the operator has listed them."""


class Entry(Struct, frozen=True, kw_only=True):
    """One tool: a program, its parameters, and its limits."""

    name: str
    description: str
    command: str
    argv: tuple[Element, ...] = ()
    parameters: JsonObject = field(default_factory=lambda: {"type": "object", "properties": {}})
    known: Mapping[str, CommandParameter] = field(default_factory=dict)
    timeout_ms: int = 30_000
    max_output_bytes: int = 64 * 1024
    max_processes: int = 128
    cwd: str = "/"
    env_passthrough: tuple[str, ...] = ()
    stderr: Literal["merge", "discard"] = "merge"
    treat_nonzero_exit_as_error: bool = True
    effect: Effect = "write"
    approval: bool = False
    allow_interpreter: bool = False
    """Whether the model may write, or choose, the code that an interpreter among its arguments runs."""
    facts: Facts = Facts(untrusted=True)
    isolation: Isolation | None = None
    pids: Pids = "auto"


def make_tool(entry: Entry) -> Tool:
    """The tool for an entry."""
    program = ProgramRunner(entry)
    return Tool(
        entry.name,
        entry.description,
        entry.parameters,
        program.run,
        validator=program,
        calling=Handler(function=program.run, is_async=True),
        effect=entry.effect,
        approval=entry.approval,
        facts=entry.facts,
        errors="neutral",
        limits=Limits(
            timeout=entry.timeout_ms / 1000 + _MARGIN,
            max_output_bytes=entry.max_output_bytes + _ROOM,
            # What a program printed before it failed is its output, not the failure's message.
            max_failure_bytes=entry.max_output_bytes + _ROOM,
        ),
    )


class ProgramRunner:
    """A program as a tool: validates the arguments, and runs the program with them."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self._schema = Schema(entry.parameters)

    def validate(self, text: str, value: JsonObject) -> Valid | tuple[Problem, ...]:
        """Validate arguments by the schema, and by what can be an argument of the program."""
        verdict = self._schema.validate(text, value)
        if not isinstance(verdict, Valid):
            return verdict
        return problems(self.entry, value) or verdict

    def command(self, arguments: JsonObject) -> Command:
        """The command for validated arguments."""
        entry = self.entry
        return Command(
            argv=assemble(entry, arguments),
            directory=entry.cwd,
            environment={name: os.environ[name] for name in entry.env_passthrough if name in os.environ},
            timeout=entry.timeout_ms / 1000,
            max_output_bytes=entry.max_output_bytes,
            max_processes=entry.max_processes,
            stderr=entry.stderr,
            isolation=entry.isolation,
            pids=entry.pids,
        )

    async def run(self, **arguments: Any) -> str:
        """Run the program: returns its output, or raises a ToolFailure that says how it ended."""
        # The program may have become unfit to run since its manifest was loaded.
        command = self.entry.command
        try:
            distrusted = distrust(Path(command))
            doubt = distrusted.reason if distrusted else ""
        except OSError as error:
            doubt = f"{command} cannot be looked at: {error.strerror}"
        if doubt:
            raise ToolFailure(f"{self.entry.name} was not run: {doubt}.")
        done = await run(self.command(arguments))
        output = decode(done.output)
        if isinstance(done.exit, Exited) and done.exit.code == 0:
            return output or "(no output)"
        words = describe(done.exit)
        if done.survivors:
            words += f", and {done.survivors} of its processes could not be killed"
        if isinstance(done.exit, Exited) and not self.entry.treat_nonzero_exit_as_error:
            return f"{output.rstrip() or '(no output)'}\n[it {words}]"
        raise ToolFailure(f"{self.entry.name} {words}" + (f":\n{output}" if output else "."))


def problems(entry: Entry, arguments: JsonObject) -> tuple[Problem, ...]:
    """Why arguments that fit the schema still cannot be passed to the program."""
    found: dict[Problem, None] = {}
    for element in entry.argv:
        _, placeholder, _ = element_parts(element)
        if placeholder is None:
            continue
        given = arguments.get(placeholder.name)
        parameter = entry.known[placeholder.name]
        for index, value in enumerate(_values(given)):
            steps = (placeholder.name, index) if isinstance(given, list) else (placeholder.name,)
            # After a flag, a negative number is a value, not an option.
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            is_value = placeholder.guarded or (is_number and isinstance(element, ArgumentGroup))
            if reason := _refusal(value, parameter, may_be_option=not is_value):
                found[Problem(json_path(steps), reason)] = None
    return tuple(found)


def assemble(entry: Entry, arguments: JsonObject) -> tuple[str, ...]:
    """The argv of the program."""
    argv = [entry.command]
    for element in entry.argv:
        before, placeholder, after = element_parts(element)
        if placeholder is None:
            argv += before
            continue
        for value in _values(arguments.get(placeholder.name)):
            argv += (*before, argument_text(value), *after)
    return tuple(argv)


def _values(value: JsonValue) -> Sequence[JsonValue]:
    """The items of an array, or the single value; none if it is null or omitted."""
    if value is None:
        return ()
    if isinstance(value, list | tuple):
        return value
    return (value,)


def argument_text(value: JsonValue) -> str:
    """A value as an argument: text unchanged, everything else as JSON."""
    if isinstance(value, str):
        return value
    return dump(value)


def _refusal(value: JsonValue, parameter: CommandParameter, *, may_be_option: bool) -> str:
    if isinstance(value, dict | list) or value is None:
        return "must be text, a number or a boolean: it becomes one argument of a program"
    text = argument_text(value)
    if "\0" in text:
        return "must not hold a NUL character"
    if may_be_option and text.startswith("-") and text not in (parameter.listed or ()):
        option = 'must not begin with "-", which the program would take for an option'
        return f"{option}; got {shorten(text)}"
    return ""
