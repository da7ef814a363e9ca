"""Applies a screen's verdict to a result with untrusted text."""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from rightcall.core.decision import Answer, Deny
from rightcall.core.message import said
from rightcall.core.outcome import Denied
from rightcall.core.tool import Tool
from rightcall.errors import UsageError
from rightcall.gate.execution import Execution, not_run
from rightcall.gate.render import reworded

if TYPE_CHECKING:
    from rightcall.trust.rules import Screen


async def screened(execution: Execution, tool: Tool, screen: "Screen") -> Execution:
    """Returns the execution after the screen: marked, reworded or withheld. The record keeps both."""
    result = execution.result
    if result.source is None:
        return execution
    # Imported here: many agents have no screen.
    from rightcall.trust.pieces import opened  # noqa: PLC0415

    verdict: object = await screen(opened(result.text))
    if verdict is False:
        return execution
    original = execution.original or result
    match verdict:
        case True:
            return replace(execution, result=replace(result, suspected=True))
        case Answer(text):
            # A summary of untrusted text is still untrusted, and is marked as that.
            words = reworded(replace(result, suspected=True), text, tool)
            return replace(execution, result=words, original=original)
        case Deny(reason, then):
            withheld = not_run(execution.call, Denied(reason, ran=True))
            kept = replace(withheld.result, suspected=True)
            notes = (*execution.notes, said(then, "runtime")) if then else execution.notes
            return replace(
                execution, outcome=withheld.outcome, result=kept, original=original, notes=notes
            )
        case _:
            kind = type(verdict).__name__
            raise UsageError(f"a screen answers with True, False, Answer or Deny, and not with {kind}")
