"""An entry of a manifest into a tool that runs its program."""

import os
from pathlib import Path
from typing import Any

from rightcall.core.handler import Handler
from rightcall.core.jsontext import JsonObject
from rightcall.core.problem import Problem
from rightcall.core.schema import Schema
from rightcall.core.tool import Limits, Tool
from rightcall.core.validate import Valid
from rightcall.errors import ToolFailure
from rightcall.manifest.argv import assemble, problems
from rightcall.manifest.entry import Entry
from rightcall.manifest.ownership import distrust
from rightcall.process.command import Command, Completed, Exited, decode, describe
from rightcall.process.runner import run

_MARGIN = 5.0
"""Seconds that the runner has for the end of a program before the executor gives it up."""
_ROOM = 1024
"""Bytes for what is said around an output: its envelope, and how the program ended."""


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
        limits=Limits(
            timeout=entry.timeout_ms / 1000 + _MARGIN,
            max_output_bytes=entry.max_output_bytes + _ROOM,
        ),
    )


class Program:
    """A program as a tool: judges the arguments, and runs it with them."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self._schema = Schema(entry.parameters)

    def validate(self, text: str, value: JsonObject) -> Valid | tuple[Problem, ...]:
        """Judge arguments by the schema, and by what may become an argument of the program."""
        verdict = self._schema.validate(text, value)
        return verdict if not isinstance(verdict, Valid) else problems(self.entry, value) or verdict

    def command(self, arguments: JsonObject) -> Command:
        """The command for arguments that were judged good."""
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
        )

    async def run(self, **arguments: Any) -> str:
        """Run the program: what it printed, or a ToolFailure that says how it ended."""
        if doubt := _doubt(self.entry.command):
            raise ToolFailure(f"{self.entry.name} was not run: {doubt}.")
        done = await run(self.command(arguments))
        output = decode(done.output)
        if isinstance(done.exit, Exited) and done.exit.code == 0:
            return output or "(no output)"
        words = f"{describe(done.exit)}{_survivors(done)}"
        if isinstance(done.exit, Exited) and not self.entry.treat_nonzero_exit_as_error:
            return f"{output.rstrip() or '(no output)'}\n[it {words}]"
        raise ToolFailure(f"{self.entry.name} {words}" + (f":\n{output}" if output else "."))


def _doubt(command: str) -> str:
    """What has become of a program since its manifest was loaded that makes it unfit to be run."""
    try:
        doubt = distrust(Path(command))
    except OSError as error:
        return f"{command} cannot be looked at: {error.strerror}"
    return "" if doubt is None else doubt.reason


def _survivors(done: Completed) -> str:
    return f", and {done.survivors} of its processes could not be killed" if done.survivors else ""
