"""The outcome of a call.

A closed union: match on it, and the type checker finds the missing case. Every outcome has its one word
as ``kind``.
"""

from typing import Any, ClassVar, Literal, TypeAlias

from msgspec import Struct

from rightcall.core.problem import Problem

OutcomeKind: TypeAlias = Literal[
    "returned",
    "failed",
    "invalid",
    "unknown",
    "not_offered",
    "given_up",
    "denied",
    "timed_out",
    "cancelled",
    "truncated",
    "interrupted",
    "dry_run",
]


class Returned(Struct, frozen=True, gc=False, tag="returned"):
    """The tool ran and returned a value."""

    kind: ClassVar[OutcomeKind] = "returned"

    value: Any


class Failed(Struct, frozen=True, gc=False, tag="failed"):
    """The tool ran, or tried to, and did not succeed."""

    kind: ClassVar[OutcomeKind] = "failed"

    message: str = ""
    """The tool's message for the model; if it is empty, a neutral sentence is used."""
    error: str = ""
    """The exception and its traceback. For the record only: the model never reads it."""
    retryable: bool = False
    cause: str = ""
    """The exception's type and message, cut to a limit and with secrets redacted. For the record."""
    own: bool = False
    """The message contains no untrusted text."""


class Invalid(Struct, frozen=True, gc=False, tag="invalid"):
    """The arguments do not fit; the tool was not run."""

    kind: ClassVar[OutcomeKind] = "invalid"

    problems: tuple[Problem, ...]


class UnknownTool(Struct, frozen=True, gc=False, tag="unknown"):
    """There is no tool of that name."""

    kind: ClassVar[OutcomeKind] = "unknown"

    name: str
    nearest: tuple[str, ...]
    """The names that may have been meant."""
    available: tuple[str, ...]
    close: tuple[str, ...] = ()
    """The most similar names, if there are too many tools to list."""


class NotOffered(Struct, frozen=True, gc=False, tag="not_offered"):
    """There is such a tool, but the turn did not offer it; it was not run."""

    kind: ClassVar[OutcomeKind] = "not_offered"

    offered: tuple[str, ...]
    """The tools that the turn did offer."""


class GivenUp(Struct, frozen=True, gc=False, tag="given_up"):
    """The tool failed so often in a row that the run leaves it alone; it was not run."""

    kind: ClassVar[OutcomeKind] = "given_up"

    failures: int
    """How often in a row it failed."""


class Denied(Struct, frozen=True, gc=False, tag="denied"):
    """A policy, a hook or a person denied the call."""

    kind: ClassVar[OutcomeKind] = "denied"

    reason: str = ""
    ran: bool = False
    """The call was denied after the tool had run; only its result is withheld."""
    then: str = ""
    """What the model should do instead; sent as a message of its own, not as part of the result."""


class TimedOut(Struct, frozen=True, gc=False, tag="timed_out"):
    """The tool did not finish in time. It may have done its work, or part of it."""

    kind: ClassVar[OutcomeKind] = "timed_out"

    seconds: float
    abandoned: bool = False
    """It could not be stopped and may still be running."""


class Cancelled(Struct, frozen=True, gc=False, tag="cancelled"):
    """The call was cancelled before it finished."""

    kind: ClassVar[OutcomeKind] = "cancelled"

    began: bool = True
    """False: it was not run at all."""


class Truncated(Struct, frozen=True, gc=False, tag="truncated"):
    """The model's reply stopped in the middle of the call; it was not run."""

    kind: ClassVar[OutcomeKind] = "truncated"


class Interrupted(Struct, frozen=True, gc=False, tag="interrupted"):
    """The process stopped while the tool ran. It may have done its work."""

    kind: ClassVar[OutcomeKind] = "interrupted"


class DryRun(Struct, frozen=True, gc=False, tag="dry_run"):
    """The call passed the check but was not run, because this is a dry run."""

    kind: ClassVar[OutcomeKind] = "dry_run"


Outcome: TypeAlias = (
    Returned
    | Failed
    | Invalid
    | UnknownTool
    | NotOffered
    | GivenUp
    | Denied
    | TimedOut
    | Cancelled
    | Truncated
    | Interrupted
    | DryRun
)
"""Every possible outcome of a call."""
