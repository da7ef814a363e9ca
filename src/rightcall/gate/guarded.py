"""What rules of trust do beside a call that runs: remember what it writes, mark and screen its result.

The marks are part of the result, so that a run that is recovered or replayed is judged as it was then,
whatever has been written since.
"""

from asyncio import to_thread
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rightcall.core.call import CheckedCall
from rightcall.core.decision import Answer, Deny
from rightcall.core.message import said
from rightcall.core.outcome import Denied
from rightcall.core.tool import Tool
from rightcall.errors import UsageError
from rightcall.gate.execution import Execution, not_run
from rightcall.gate.render import reworded

if TYPE_CHECKING:
    from rightcall.trust.guard import Guard
    from rightcall.trust.rules import Screen


async def remember(guard: "Guard", checked: CheckedCall) -> None:
    """Record what a call writes, if it may hold untrusted text and the rules have a memory."""
    if guard.rules.memory is None:
        return
    if traces := guard.traces_of(checked):
        await to_thread(guard.rules.memory.add, traces)


async def recognised(guard: "Guard", execution: Execution) -> Execution:
    """Returns the result marked with texts that an earlier run recorded and that now look trusted."""
    memory, result = guard.rules.memory, execution.result
    if memory is None or (result.source is not None and not (result.vouched or result.names)):
        return execution
    # Imported here: many agents have no trust rules.
    from rightcall.trust.traces import came_back  # noqa: PLC0415
    from rightcall.trust.written import content_of  # noqa: PLC0415

    found = await to_thread(came_back, content_of(result), memory.__contains__)
    if not found:
        return execution
    return replace(execution, result=replace(result, planted=tuple(sorted(found))))


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
