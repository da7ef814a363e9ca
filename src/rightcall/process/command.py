"""A command to run as a child process, and what became of it: values."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct, field

from rightcall.errors import UsageError


class Isolation(Struct, frozen=True, kw_only=True):
    """A wall around a command, of what the system offers. Asked for, or there is none."""

    by: Literal["any", "bubblewrap", "systemd-run"] = "any"
    network: bool = False
    """Whether it may use the network."""
    write: tuple[str, ...] = ()
    """The directories it may write in; it may read everything that its user may."""


class Command(Struct, frozen=True, kw_only=True):
    """A program and its arguments, and the bounds it runs in. No shell ever reads it."""

    argv: tuple[str, ...]
    """The program's absolute path, and its arguments."""
    directory: str = "/"
    environment: Mapping[str, str] = field(default_factory=dict)
    """All of its environment: nothing is inherited."""
    timeout: float = 60.0
    """Seconds until it is asked to end."""
    grace: float = 0.5
    """Seconds between SIGTERM and SIGKILL."""
    max_output_bytes: int = 64 * 1024
    """What is kept of its output: the beginning and the end. The rest is read and thrown away."""
    max_processes: int = 128
    """It and what it starts; beyond that all of it is killed (Linux)."""
    stderr: Literal["merge", "discard"] = "merge"
    isolation: Isolation | None = None

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
    """It came to its end."""

    code: int


class Signalled(Struct, frozen=True, tag="signalled"):
    """A signal ended it, and it was not ours."""

    number: int


class TimedOut(Struct, frozen=True, tag="timed_out"):
    """It did not end in time, and was killed with all that it started."""

    seconds: float


class Crowded(Struct, frozen=True, tag="crowded"):
    """It started too many processes, and was killed with all of them."""

    most: int


class NotStarted(Struct, frozen=True, tag="not_started"):
    """It could not be started, for a reason in words."""

    reason: str


class Lost(Struct, frozen=True, tag="lost"):
    """Whoever watched over it was killed, and it with them; how far it came is not known."""


Exit: TypeAlias = Exited | Signalled | TimedOut | Crowded | NotStarted | Lost
"""How a command ended. A closed union."""


class Captured(Struct, frozen=True):
    """What was kept of an output: the beginning, the end, and how much there was."""

    head: bytes = b""
    tail: bytes = b""
    size: int = 0

    @property
    def left_out(self) -> int:
        """How many bytes between the head and the tail were thrown away."""
        return self.size - len(self.head) - len(self.tail)


class Completed(Struct, frozen=True, kw_only=True):
    """A command that is over, and nothing of it is left running unless ``survivors`` says so."""

    exit: Exit
    output: Captured = Captured()
    seconds: float = 0.0
    survivors: int = 0
    """Processes of it that could not be killed (yet); SIGKILL is sent to them until they are gone."""
