"""Asks a tool what became of a call that may have run before a crash."""

from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any

from msgspec.structs import replace

from rightcall.core.call import CheckedCall
from rightcall.core.handler import Context
from rightcall.core.outcome import Interrupted, Returned
from rightcall.gate.execution import Execution, not_run


async def reconciled(
    checked: CheckedCall, execute: Callable[[CheckedCall], Awaitable[Execution]]
) -> Execution | None:
    """Returns the call's execution; None if its tool knows that it did not happen, so that it may run.

    If the tool cannot tell, or fails, the call counts as interrupted: the model reads that it may have
    run.
    """
    call, reconcile = checked.call, checked.tool.reconcile
    if reconcile is None:
        return not_run(call, Interrupted())
    asking = _Asking(reconcile)
    # Run like the tool itself: under its limits, and with its result rendered like the tool's own.
    tool = checked.tool.replace(handler=asking.ask)
    found = await execute(replace(checked, tool=tool, bound={}))
    if not isinstance(found.outcome, Returned):
        return not_run(call, Interrupted())
    return None if asking.did_not_happen else found


class _Asking:
    """Calls ``reconcile`` with the call's key, and remembers whether it returned None."""

    def __init__(self, reconcile: Callable[[str], Any]) -> None:
        self._reconcile = reconcile
        self.did_not_happen = False

    def ask(self, context: Context[Any], **_: Any) -> Any:
        """Returns what the call returned, or None if it did not happen."""
        found = self._reconcile(context.key)
        return self._awaited(found) if isawaitable(found) else self._seen(found)

    async def _awaited(self, found: Awaitable[Any]) -> Any:
        return self._seen(await found)

    def _seen(self, found: Any) -> Any:
        self.did_not_happen = found is None
        return found
