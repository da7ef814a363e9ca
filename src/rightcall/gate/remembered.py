"""Records what a call writes before it runs, and marks it when it comes back in a later run's result.

The mark is part of the result, so that a run that is recovered or replayed is judged as it was then,
whatever has been written since.
"""

from asyncio import to_thread
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rightcall.core.call import CheckedCall
from rightcall.gate.execution import Execution

if TYPE_CHECKING:
    from rightcall.trust.guard import Guard


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
