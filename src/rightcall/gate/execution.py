"""The execution of one call: its outcome, its result and its timing."""

from logging import INFO

from msgspec import Struct

from rightcall.core.jsontext import shorten
from rightcall.core.message import User
from rightcall.core.outcome import Outcome, OutcomeKind
from rightcall.core.parts import Call, Repair, Result
from rightcall.gate.render import render
from rightcall.log import tool_logger


class Execution(Struct, frozen=True, kw_only=True, eq=False, gc=False):
    """One executed call: its outcome and its result."""

    call: Call
    outcome: Outcome
    result: Result
    seconds: float = 0.0
    """From the start of the first attempt to the outcome, without the wait for a slot."""
    attempts: int = 0
    """How often the handler was started."""
    repairs: tuple[Repair, ...] = ()
    original: Result | None = None
    """The tool's own result, if a hook replaced it."""
    notes: tuple[User, ...] = ()
    """Messages from hooks for the model, sent after the results."""


def not_run(call: Call, outcome: Outcome, dropped: OutcomeKind | None = None) -> Execution:
    """Returns the execution of a call that was not run.

    ``dropped`` is the outcome of an early start whose result was dropped, if there was one.
    """
    if tool_logger.isEnabledFor(INFO):
        tool_logger.info("%s: %s", shorten(call.name), outcome.kind)
    return Execution(call=call, outcome=outcome, result=render(call, outcome, dropped=dropped))
