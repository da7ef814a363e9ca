"""A command to run as a child process, how it ended, and its output: values, and their texts."""

import os
import re
import secrets
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias, assert_never

from msgspec import Struct, field
from msgspec.structs import replace

from rightcall.core.options import NameCheckedMeta
from rightcall.errors import UsageError

_TAIL_PART = 3
"""The tail is a third of the kept output: programs report errors at the end."""
_SLACK = 64 * 1024
_LOOKED_AT = 8192


Pids: TypeAlias = Literal["auto", "own", "host"]
"""Which processes a command sees."""


class Isolation(Struct, frozen=True, kw_only=True, metaclass=NameCheckedMeta):
    """Isolation for a command, by what the system offers. Only on request."""

    by: Literal["any", "bubblewrap", "systemd-run"] = "any"
    network: bool = False
    """Whether it may use the network."""
    write: tuple[str, ...] = ()
    """The directories it may write in; it may read everything that its user may."""


class Command(Struct, frozen=True, kw_only=True, metaclass=NameCheckedMeta):
    """A program with its arguments and limits. No shell is used."""

    argv: tuple[str, ...]
    """The program's absolute path, and its arguments."""
    directory: str = "/"
    environment: Mapping[str, str] = field(default_factory=dict)
    """All of its environment: nothing is inherited."""
    timeout: float = 60.0
    """Seconds until it is asked to end."""
    grace: float = 1.0
    """Seconds between SIGTERM and SIGKILL."""
    max_output_bytes: int = 64 * 1024
    """The most bytes of output that are kept: the beginning and the end. The rest is read and
    discarded."""
    max_processes: int = 128
    """The most processes, with itself and all descendants; beyond that all are killed (Linux)."""
    stderr: Literal["merge", "discard"] = "merge"
    isolation: Isolation | None = None
    pids: Pids = "auto"
    """``"own"``: it sees and can signal only what it started itself, and nothing of it can stay; refused
    where the system has no pid namespaces. ``"auto"``: so where this process is root and may, else as
    ``"host"``, where it sees, and can signal, what its user can: for ``ps``, or ``nginx -s reload``."""

    def __post_init__(self) -> None:
        if not self.argv or not self.argv[0].startswith("/"):
            raise UsageError("a command begins with the absolute path of a program; none is looked up")
        if not self.directory.startswith("/"):
            raise UsageError(f"a command's directory must be absolute, not {self.directory!r}")
        for name in ("timeout", "max_output_bytes", "max_processes"):
            if not getattr(self, name) > 0:
                raise UsageError(f"a command's {name} must be more than 0")
        if not self.grace >= 0:
            raise UsageError("a command's grace must not be negative")


class Exited(Struct, frozen=True, tag="exited"):
    """It ended by itself."""

    code: int


class Signalled(Struct, frozen=True, tag="signalled"):
    """A signal that we did not send ended it."""

    number: int


class TimedOut(Struct, frozen=True, tag="timed_out"):
    """It did not end in time, and was killed with everything that it started."""

    seconds: float


class Crowded(Struct, frozen=True, tag="crowded"):
    """It started too many processes, and was killed with all of them."""

    most: int


class NotStarted(Struct, frozen=True, tag="not_started"):
    """It could not be started; the reason is a text."""

    reason: str


class Lost(Struct, frozen=True, tag="lost"):
    """The process that watched it was killed, and so was the command; how far it got is unknown."""


Exit: TypeAlias = Exited | Signalled | TimedOut | Crowded | NotStarted | Lost
"""How a command ended. A closed union."""


class Captured(Struct, frozen=True):
    """The kept part of an output: the beginning, the end, and how much there was."""

    head: bytes = b""
    tail: bytes = b""
    size: int = 0

    @property
    def left_out(self) -> int:
        """How many bytes between the head and the tail were discarded."""
        return self.size - len(self.head) - len(self.tail)


class Completed(Struct, frozen=True, kw_only=True):
    """A command that has ended. Nothing of it still runs, unless ``survivors`` says so."""

    exit: Exit
    output: Captured = Captured()
    seconds: float = 0.0
    survivors: int = 0
    """Processes of it that could not be killed (yet); SIGKILL is sent to them until they are gone."""


def describe(end: Exit) -> str:
    """How a command ended, in words that follow its name."""
    match end:
        case Exited(code):
            return f"ended with exit code {code}"
        case Signalled(number):
            try:
                name = signal.Signals(number).name
            except ValueError:
                name = f"signal {number}"
            return f"was ended by {name}"
        case TimedOut(seconds):
            return f"did not finish within {seconds:g} s and was stopped"
        case Crowded(most):
            return f"started more than {most} processes and was stopped"
        case NotStarted(reason):
            return f"was not run: {reason}"
        case Lost():
            return "was lost with the process that watched over it; it may have done part of its work"
        case _:
            assert_never(end)


class Capture:
    """Collects chunks, and keeps at most that many bytes."""

    def __init__(self, most: int) -> None:
        self._tail_room = most // _TAIL_PART
        self._head_room = most - self._tail_room
        self._head = bytearray()
        self._tail = bytearray()
        self._size = 0

    def feed(self, chunk: bytes) -> None:
        """Add the next bytes."""
        self._size += len(chunk)
        if room := self._head_room - len(self._head):
            self._head += chunk[:room]
            chunk = chunk[room:]
        self._tail += chunk
        # Not for every chunk: moving the tail by a byte costs as much as moving it by a page.
        if len(self._tail) > self._tail_room + _SLACK + len(chunk):
            self._trim()

    def finish(self) -> Captured:
        """The kept output."""
        self._trim()
        return Captured(bytes(self._head), bytes(self._tail), self._size)

    def _trim(self) -> None:
        del self._tail[: max(len(self._tail) - self._tail_room, 0)]


_MOST_BROKEN = 0.1
"""The share of bytes in a text that may be invalid UTF-8: a listing with an odd name is still text."""

# ECMA-48: an escape begins a control sequence, a string that ends with ST or BEL, or a short escape.
_TERMINAL = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\|$)|[ -/]*[0-~])?"
)
# The remaining control characters mean nothing to a reader, and can move a terminal's cursor.
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]")


def decode(output: Captured) -> str:
    """The output as text: UTF-8 with replacements, no terminal controls, and omissions marked."""
    if is_binary(output.head):
        return f"[binary output: {output.size:,} bytes]"
    if not output.left_out:
        return _plain(output.head + output.tail)
    marker = f"\n[… {output.left_out:,} of {output.size:,} bytes left out here …]\n"
    # A character cut in two at the seam is not the command's fault: it is dropped, not replaced.
    try:
        head = output.head.decode()
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            head = output.head.decode(errors="ignore")
        else:
            head = _plain(output.head)
    tail = output.tail
    while tail and tail[0] & 0xC0 == 0x80:  # noqa: PLR2004 - a byte within a UTF-8 character
        tail = tail[1:]
    return _plain(head.encode()) + marker + _plain(tail)


def is_binary(head: bytes) -> bool:
    """Whether bytes are binary: a NUL among the first, or too many that are not UTF-8."""
    head = head[:_LOOKED_AT]
    if b"\x00" in head:
        return True
    return head.decode(errors="replace").count("\ufffd") > max(len(head) * _MOST_BROKEN, 1)


def _plain(data: bytes) -> str:
    text = data.decode(errors="replace")
    if "\x1b" in text:
        text = _TERMINAL.sub("", text)
    return _CONTROLS.sub("", text.replace("\r\n", "\n")).replace("\r", "\n")


_BUBBLEWRAP = ("/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap")
_SYSTEMD_RUN = ("/usr/bin/systemd-run", "/bin/systemd-run")
_SYSTEMD_IS_RUNNING = Path("/run/systemd/system")
"""Exists if systemd is the init system: sd_booted(3)."""


class NoIsolation(Exception):
    """The requested isolation is not available here; the message says why."""


class IsolatedCommand(Struct, frozen=True):
    """A command that runs another in isolation."""

    command: Command
    cleanup: Command | None = None
    """The command that cleans up after the command had to be killed."""


def isolation_program(isolation: Isolation) -> str:
    """The program that this system would isolate with. Raises NoIsolation if there is none."""
    reasons = []
    if isolation.by in {"any", "bubblewrap"}:
        if found := _first(_BUBBLEWRAP):
            return found
        reasons.append("bubblewrap is not installed")
    if isolation.by in {"any", "systemd-run"}:
        found = _first(_SYSTEMD_RUN)
        if found and _SYSTEMD_IS_RUNNING.is_dir():
            return found
        reasons.append("systemd is not running" if found else "systemd-run is not installed")
    raise NoIsolation(f"isolation was asked for, but {' and '.join(reasons)}")


def isolate(command: Command) -> IsolatedCommand:
    """The isolated command, or the command itself if it wants no isolation. Raises NoIsolation.

    Both isolation programs follow the runner's rules: the environment is the command's own, and
    everything dies with the process that started it.
    """
    if command.isolation is None:
        return IsolatedCommand(command)
    program = isolation_program(command.isolation)
    if program.endswith("bwrap"):
        # The isolation has a pid namespace of its own.
        argv = (*_bubblewrap(program, command), "--", *command.argv)
        return IsolatedCommand(replace(command, argv=argv, pids="host"))
    return _in_service(program, f"rightcall-{secrets.token_hex(8)}.service", command)


def _in_service(program: str, unit: str, command: Command) -> IsolatedCommand:
    """A transient service. It is systemd's child, not ours, so it must be stopped by name."""
    argv = (*_systemd_run(program, unit, command), "--", *command.argv)
    stop = (*_SYSTEMCTL, *_scope(), "stop", unit)
    return IsolatedCommand(
        # The service gets the command's environment; the client that starts it only needs to find
        # systemd.
        replace(command, argv=argv, environment=_bus(), pids="host"),
        Command(argv=stop, environment=_bus(), timeout=10.0, pids="host"),
    )


_SYSTEMCTL = ("/usr/bin/systemctl", "--quiet", "--no-ask-password")


def _bubblewrap(program: str, command: Command) -> list[str]:
    wanted = command.isolation or Isolation()
    argv = [program, "--unshare-all", "--die-with-parent", "--new-session"]
    argv += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]  # noqa: S108
    if wanted.network:
        argv.append("--share-net")
    for place in wanted.write:
        argv += ["--bind", place, place]
    if command.directory.startswith("/tmp/") and command.directory not in wanted.write:  # noqa: S108
        argv += ["--ro-bind", command.directory, command.directory]
    return [*argv, "--chdir", command.directory]


def _systemd_run(program: str, unit: str, command: Command) -> list[str]:
    wanted = command.isolation or Isolation()
    properties = {
        "NoNewPrivileges": "yes",
        "PrivateDevices": "yes",
        "PrivateNetwork": "no" if wanted.network else "yes",
        "PrivateTmp": "yes",
        "ProtectSystem": "strict",
        "ProtectHome": "read-only",
        "ReadWritePaths": " ".join(wanted.write),
        "RuntimeMaxSec": f"{command.timeout + command.grace:g}",
        "TasksMax": str(command.max_processes),
        "WorkingDirectory": command.directory,
    }
    argv = [program, *_scope(), f"--unit={unit}", "--pipe", "--wait", "--collect", "--quiet"]
    argv += [f"--property={name}={value}" for name, value in properties.items() if value]
    return argv + [f"--setenv={name}={value}" for name, value in command.environment.items()]


def _scope() -> list[str]:
    if sys.platform != "win32" and os.geteuid() == 0:
        return []
    return ["--user"]


def _bus() -> dict[str, str]:
    """The variables by which the user's own systemd is found."""
    return {name: os.environ[name] for name in ("XDG_RUNTIME_DIR",) if name in os.environ}


def _first(places: tuple[str, ...]) -> str | None:
    return next((place for place in places if os.access(place, os.X_OK)), None)
