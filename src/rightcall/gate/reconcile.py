"""A call that may have run before a crash, into what its tool can find out about it."""

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
    """What became of the call; None where its tool knows that it did not happen, so that it may run.

    A tool that cannot tell, or fails to, leaves it interrupted: the model is told that it may have run.
    """
    call, reconcile = checked.call, checked.tool.reconcile
    if reconcile is None:
        return not_run(call, Interrupted())
    asking = _Asking(reconcile)
    # Asked as the tool itself is called: within its limits, and in its words.
    tool = checked.tool.replace(handler=asking.ask)
    found = await execute(replace(checked, tool=tool, bound={}))
    if not isinstance(found.outcome, Returned):
        return not_run(call, Interrupted())
    return None if asking.did_not_happen else found


class _Asking:
    """Asks a tool about the call of a key, and remembers whether it knew of any."""

    def __init__(self, reconcile: Callable[[str], Any]) -> None:
        self._reconcile = reconcile
        self.did_not_happen = False

    def ask(self, context: Context[Any], **_: Any) -> Any:
        """What the call came to."""
        found = self._reconcile(context.key)
        return self._awaited(found) if isawaitable(found) else self._seen(found)

    async def _awaited(self, found: Awaitable[Any]) -> Any:
        return self._seen(await found)

    def _seen(self, found: Any) -> Any:
        self.did_not_happen = found is None
        return found
