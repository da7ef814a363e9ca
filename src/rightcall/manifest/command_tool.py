"""Runs a program as a tool: its manifest entry, the arguments of a call, and the run.

No text is ever joined to another, split, quoted or unquoted: a value becomes one argument, or none. A
value that could be taken for an option is refused unless ``--`` comes before it.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
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
from rightcall.manifest.ownership import distrust
from rightcall.process.command import Command, Exited, Isolation, Pids, decode, describe
from rightcall.process.runner import run

_MARGIN = 5.0
"""Seconds that the runner has to end a program before the executor abandons it."""
_ROOM = 1024
"""Bytes for the text around an output: its envelope, and how the program ended."""


class Literally(Struct, frozen=True):
    """A constant argument."""

    text: str


class Placeholder(Struct, frozen=True):
    """An argument that the model fills in, or several for an array; omitted if the parameter is."""

    name: str
    guarded: bool = False
    """Whether ``--`` comes before it, after which a program takes nothing for an option."""


class Group(Struct, frozen=True):
    """Arguments that come and go together: a flag and its value. Repeated for each item of an array."""

    before: tuple[str, ...]
    placeholder: Placeholder
    after: tuple[str, ...] = ()


Element: TypeAlias = Literally | Placeholder | Group


def parts(element: Element) -> tuple[tuple[str, ...], Placeholder | None, tuple[str, ...]]:
    """The texts before the placeholder, the placeholder, and the texts after it."""
    match element:
        case Literally(text):
            return (text,), None, ()
        case Placeholder():
            return (), element, ()
        case Group(before, placeholder, after):
            return before, placeholder, after
    assert_never(element)


class Parameter(Struct, frozen=True, kw_only=True):
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
    known: Mapping[str, Parameter] = field(default_factory=dict)
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
    program = Program(entry)
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


class Program:
    """A program as a tool: validates the arguments, and runs the program with them."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self._schema = Schema(entry.parameters)

    def validate(self, text: str, value: JsonObject) -> Valid | tuple[Problem, ...]:
        """Validate arguments by the schema, and by what can be an argument of the program."""
        verdict = self._schema.validate(text, value)
        return verdict if not isinstance(verdict, Valid) else problems(self.entry, value) or verdict

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
        if doubt := _doubt(self.entry.command):
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


def _doubt(command: str) -> str:
    """Why a program has become unfit to run since its manifest was loaded."""
    try:
        doubt = distrust(Path(command))
    except OSError as error:
        return f"{command} cannot be looked at: {error.strerror}"
    return "" if doubt is None else doubt.reason


def problems(entry: Entry, arguments: JsonObject) -> tuple[Problem, ...]:
    """Why arguments that fit the schema still cannot be passed to the program."""
    return tuple(
        dict.fromkeys(found for element in entry.argv for found in _refusals(entry, element, arguments))
    )


def assemble(entry: Entry, arguments: JsonObject) -> tuple[str, ...]:
    """The argv of the program."""
    return (entry.command, *(text for element in entry.argv for text in _expand(element, arguments)))


def _expand(element: Element, arguments: JsonObject) -> Iterator[str]:
    before, placeholder, after = parts(element)
    if placeholder is None:
        yield from before
        return
    for value in _values(arguments.get(placeholder.name)):
        yield from (*before, written(value), *after)


def _values(value: JsonValue) -> Sequence[JsonValue]:
    """The items of an array, or the single value; none if it is null or omitted."""
    if value is None:
        return ()
    return value if isinstance(value, list | tuple) else (value,)


def written(value: JsonValue) -> str:
    """A value as an argument: text unchanged, everything else as JSON."""
    return value if isinstance(value, str) else dump(value)


def _refusals(entry: Entry, element: Element, arguments: JsonObject) -> Iterator[Problem]:
    _, placeholder, _ = parts(element)
    if placeholder is None:
        return
    given = arguments.get(placeholder.name)
    parameter = entry.known[placeholder.name]
    for index, value in enumerate(_values(given)):
        steps = (placeholder.name, index) if isinstance(given, list) else (placeholder.name,)
        # After a flag, a negative number is a value, not an option.
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        may_be_option = not placeholder.guarded and not (is_number and isinstance(element, Group))
        if reason := _refusal(value, parameter, may_be_option=may_be_option):
            yield Problem(json_path(steps), reason)


def _refusal(value: JsonValue, parameter: Parameter, *, may_be_option: bool) -> str:
    if isinstance(value, dict | list) or value is None:
        return "must be text, a number or a boolean: it becomes one argument of a program"
    text = written(value)
    if "\0" in text:
        return "must not hold a NUL character"
    if may_be_option and text.startswith("-") and text not in (parameter.listed or ()):
        option = 'must not begin with "-", which the program would take for an option'
        return f"{option}; got {shorten(text)}"
    return ""
