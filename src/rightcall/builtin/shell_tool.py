"""A shell tool. It is not safe.

A shell command can do whatever this process's user can: read keys, delete files, call anyone. No pattern
of forbidden words changes that. What it does have: it must be created explicitly, by default a person
must approve every command, it inherits only the environment that a shell needs, and time, output and
processes are limited. To isolate commands, pass ``isolation``, or run everything in a container or a
virtual machine.
"""

import os
import shutil
import weakref
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from tempfile import mkdtemp
from time import monotonic
from typing import Any, Literal, TypeAlias, get_args

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.facts import Facts
from rightcall.core.jsontext import JsonObject
from rightcall.core.limits import Limits
from rightcall.core.options import check_keywords
from rightcall.core.tool import Tool, object_schema
from rightcall.errors import ToolFailure, UsageError
from rightcall.process.command import Command, Completed, Exited, Isolation, Pids, decode, describe
from rightcall.process.runner import run

Signature: TypeAlias = Literal["plain", "anthropic", "openai", "openai_local"]
"""The shell that it imitates: our own, or one that a vendor has trained its models on."""

_INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER")
_DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"
_SLACK = 5.0
"""Seconds allowed for ending a command after its timeout."""

# A command's working directory and exported variables are kept for the next one. A command that is
# killed, or replaces the shell, leaves them unchanged.
_SESSION = """\
__state=$1; __command=$2; shift 2
[ -f "$__state" ] && . "$__state"
trap '{ printf "cd -- %q 2>/dev/null || :\\n" "$PWD"; export -p; } > "$__state"' EXIT
eval "$__command"
"""


_PROGRAM = 'cd -- "$1" && shift && exec env -- "$@"'
"""A program with its variables, in a directory; the shell interprets none of it."""


async def _run(shell: Command, *arguments: str, seconds: float | None = None) -> Completed:
    timeout = shell.timeout if seconds is None else seconds
    return await run(replace(shell, argv=(*shell.argv, *arguments), timeout=timeout))


def _seconds(shell: Command, timeout_ms: int | None) -> float:
    """The timeout that a model asks for, within the shell's own."""
    return shell.timeout if timeout_ms is None else min(timeout_ms / 1000, shell.timeout)


@check_keywords("rc.builtin.shell")
def shell(
    *,
    cwd: str | Path = ".",
    env: Mapping[str, str] | None = None,
    timeout: float = 120.0,
    max_output_bytes: int = 32 * 1024,
    approval: bool = True,
    signature: Signature = "plain",
    isolation: Isolation | None = None,
    pids: Pids = "auto",
) -> Tool:
    """A tool that runs shell commands, with no safety but what its arguments give.

    Commands run in ``cwd`` with a bare environment and what ``env`` adds. Without ``approval`` nobody is
    asked. ``signature`` makes it the tool that a vendor's models know, and to that vendor it is sent as
    the vendor's own: ``anthropic`` is ``bash``, which keeps its directory and exported variables from
    one command to the next, ``openai`` is ``shell``, which takes several commands at once, and
    ``openai_local`` the older ``local_shell``, which takes a program and its arguments. With
    ``pids="host"`` commands see the machine's processes, also where they could have their own.
    """
    if signature not in get_args(Signature):
        raise UsageError(
            f"shell: signature {signature!r} is not one of {', '.join(get_args(Signature))}"
        )
    form = _FORMS[signature]
    path = Path(cwd).expanduser().resolve()
    if not path.is_dir():
        raise UsageError(f"shell: cwd {str(path)!r} is not a directory; name one that exists")
    added = env or {}
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    command = Command(
        argv=_program(signature),
        directory=str(path),
        environment={"PATH": _DEFAULT_PATH, "TERM": "dumb", **inherited, **added},
        timeout=timeout,
        max_output_bytes=max_output_bytes,
        isolation=isolation,
        pids=pids,
    )
    size = 4 * max_output_bytes
    # What a command printed before its timeout is its output, not part of the failure's message.
    seconds = timeout + _SLACK
    return Tool(
        form.name,
        form.description,
        form.parameters,
        form.handler(command),
        short="Run shell commands on this machine.",
        examples=form.examples,
        questions=("Which files are here?",),
        native=form.native,
        errors="neutral",
        effect="write",
        approval=approval,
        serial=True,
        limits=Limits(timeout=seconds, concurrency=1, max_output_bytes=size, max_failure_bytes=size),
        facts=Facts(untrusted=True, private=True, reach="outside", targets=tuple(form.targets)),
    )


def show(done: Completed, longest: int | None = None) -> str:
    """How a command ended, and below it its output, which comes last so that it cannot forge the header.

    Raises ToolFailure if the command did not end by itself.
    """
    said = decode(done.output).rstrip()
    if isinstance(done.exit, Exited):
        return f"Exit code: {done.exit.code}\n\n{said[:longest]}".rstrip()
    raise ToolFailure(
        f"The command {describe(done.exit)}." + (f" It had said:\n\n{said}" if said else "")
    )


def _plain(shell: Command) -> Callable[..., Awaitable[Any]]:
    async def handler(command: str) -> str:
        return show(await _run(shell, "-c", command))

    return handler


def _anthropic(shell: Command) -> Callable[..., Awaitable[Any]]:
    places: list[Path] = []

    async def handler(command: str = "", restart: bool = False) -> str:  # noqa: FBT001, FBT002 - the vendor's
        if restart or not places:
            for place in places:
                place.unlink(missing_ok=True)
            if restart:
                return "The shell has been restarted."
            directory = mkdtemp(prefix="rightcall-shell-")
            weakref.finalize(handler, shutil.rmtree, directory, ignore_errors=True)
            places.append(Path(directory, "state"))
        if not command:
            raise ToolFailure("There is no command to run.", own=True)
        return show(await _run(shell, "-c", _SESSION, "bash", str(places[0]), command))

    return handler


def _openai(shell: Command) -> Callable[..., Awaitable[Any]]:
    async def handler(
        commands: Sequence[str], timeout_ms: int | None = None, max_output_length: int | None = None
    ) -> str:
        left = _seconds(shell, timeout_ms)
        end = monotonic() + left
        done: list[Completed] = []
        for command in commands:
            done.append(await _run(shell, "-c", command, seconds=left))
            left = end - monotonic()
            if left <= 0 or not isinstance(done[-1].exit, Exited):
                break
        if len(commands) == 1:
            return show(done[0], max_output_length)
        # First how each command ended, and below all that the output of each, which cannot forge it.
        ends = []
        outputs = []
        for number, each in enumerate(done, start=1):
            ends.append(f"Command {number} {describe(each.exit)}.")
            if output := decode(each.output).rstrip()[:max_output_length]:
                outputs.append(f"Output of command {number}:\n{output}")
        for number in range(len(done) + 1, len(commands) + 1):
            ends.append(f"Command {number} was not run.")
        text = "\n\n".join(["\n".join(ends), *outputs])
        if len(done) < len(commands) or not isinstance(done[-1].exit, Exited):
            raise ToolFailure(text)
        return text

    return handler


def _openai_local(shell: Command) -> Callable[..., Awaitable[Any]]:
    async def handler(
        command: Sequence[str],
        env: Mapping[str, str] | None = None,
        timeout_ms: int | None = None,
        working_directory: str | None = None,
        user: str | None = None,
        type: str = "exec",  # noqa: A002, ARG001 - the vendor's
    ) -> str:
        if user:
            raise ToolFailure(f"Commands run as one user only, and not as {user!r}.")
        variables = [f"{name}={value}" for name, value in (env or {}).items()]
        place = working_directory or "."
        words = ("bash", place, *variables, *command)
        return show(await _run(shell, "-c", _PROGRAM, *words, seconds=_seconds(shell, timeout_ms)))

    return handler


def _program(signature: Signature) -> tuple[str, ...]:
    bash = shutil.which("bash", path=_DEFAULT_PATH)
    if bash is not None:
        return (bash, "--noprofile", "--norc")
    if signature == "anthropic":
        raise UsageError("shell: there is no bash on this machine, which signature 'anthropic' needs")
    return ("/bin/sh",)


class _ShellForm(Struct, frozen=True, kw_only=True):
    """The tool definition of one kind of shell."""

    name: str
    description: str
    parameters: JsonObject
    examples: Sequence[JsonObject]
    targets: Sequence[str]
    handler: Callable[[Command], Callable[..., Awaitable[Any]]]
    native: Mapping[str, JsonObject] = {}


_COMMAND: JsonObject = {"type": "string", "description": "The command line, as typed into bash."}
_WARNING = "It runs on the user's own machine, unprotected: nothing undoes what it does."
_FORMS: Mapping[Signature, _ShellForm] = {
    "plain": _ShellForm(
        name="shell",
        description=f"Run a command line in a new shell. Gives its exit code and output. {_WARNING}",
        parameters=object_schema(["command"], command=_COMMAND),
        examples=({"command": "ls -la"},),
        targets=("command",),
        handler=_plain,
    ),
    # https://platform.claude.com/docs/en/agents-and-tools/tool-use/bash-tool (bash_20250124)
    "anthropic": _ShellForm(
        name="bash",
        description=(
            "Run a command in bash. The directory and exported variables are kept from one command to "
            f"the next. {_WARNING}"
        ),
        parameters=object_schema(
            [],
            command=_COMMAND,
            restart={"type": "boolean", "description": "Begin with a new shell; run nothing."},
        ),
        examples=({"command": "ls -la"}, {"restart": True}),
        targets=("command",),
        handler=_anthropic,
        native={"anthropic": {"type": "bash_20250124", "name": "bash"}},
    ),
    # https://platform.openai.com/docs/guides/tools-shell
    "openai": _ShellForm(
        name="shell",
        description=f"Run command lines one after the other, each in a new shell. {_WARNING}",
        parameters=object_schema(
            ["commands"],
            commands={"type": "array", "items": _COMMAND, "minItems": 1, "maxItems": 32},
            timeout_ms={
                "type": ["integer", "null"],
                "minimum": 1,
                "description": "Milliseconds for all of them.",
            },
            max_output_length={
                "type": ["integer", "null"],
                "minimum": 0,
                "description": "Characters of output to give for each.",
            },
        ),
        examples=({"commands": ["ls -la"]},),
        targets=("commands",),
        handler=_openai,
        native={"openai_responses": {"type": "shell", "environment": {"type": "local"}}},
    ),
    # https://platform.openai.com/docs/guides/tools-local-shell
    "openai_local": _ShellForm(
        name="local_shell",
        description=f"Run a program with its arguments, without a shell. {_WARNING}",
        parameters=object_schema(
            ["command"],
            type={"const": "exec"},
            command={"type": "array", "items": {"type": "string"}, "minItems": 1},
            env={"type": ["object", "null"], "additionalProperties": {"type": "string"}},
            timeout_ms={"type": ["integer", "null"], "minimum": 1},
            working_directory={"type": ["string", "null"]},
            user={"type": ["string", "null"]},
        ),
        examples=({"command": ["ls", "-la"]},),
        targets=("command", "env", "working_directory"),
        handler=_openai_local,
        native={"openai_responses": {"type": "local_shell"}},
    ),
}
