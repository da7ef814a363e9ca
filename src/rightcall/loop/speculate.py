"""Calls that start while the reply still streams.

Only what may be run twice or for nothing is started early: a tool whose effect is ``pure`` or ``read``,
allowed by policy, with no other kind of call before it in the reply. It starts when something follows
it: the last call of a reply that ran out of tokens may be cut off, whatever it looks like. What the
transcript says is the same either way.
"""

import asyncio

from msgspec import Struct

from rightcall.core.around import ToolCall
from rightcall.core.call import Call, CheckedCall
from rightcall.core.decision import Allow
from rightcall.core.events import CallEnd, CallStart, Emit, ModelEvent, ReplyEnd
from rightcall.core.handler import ignore
from rightcall.core.parts import Usage
from rightcall.errors import UsageError
from rightcall.gate.attempt import Setting
from rightcall.gate.check import check, takes_long
from rightcall.gate.execution import Execution
from rightcall.gate.gate import decision_for, watched_by
from rightcall.loop.around import around, call_end
from rightcall.loop.decide import call_key
from rightcall.loop.nested import nesting_of
from rightcall.loop.setup import Setup
from rightcall.trust.guard import Guard


class Early(Struct, frozen=True, eq=False):
    """A call that was started early."""

    call: Call
    task: asyncio.Task[Execution]
    ledger: list[Usage]


class Speculation:
    """The calls of one reply that were started early."""

    def __init__(
        self,
        setup: Setup,
        turn: int,
        *,
        most: int | None = None,
        guard: Guard | None = None,
        emit: Emit | None = None,
        dry_run: bool = False,
    ) -> None:
        self._setup = setup
        self._turn = turn
        self._most = most
        """How many calls the budget still allows."""
        self._guard = guard
        self._emit = emit
        self._dry_run = dry_run
        self._open = setup.speculate and not setup.hooks.changes_calls
        self._begun = 0
        self._ended = 0
        self.waits: Call | None = None
        """The call that starts as soon as something follows it."""
        self._early: list[Early] = []

    def follow(self, event: ModelEvent) -> None:
        """Take the next event of the reply."""
        kind = type(event)
        if self.waits is not None and kind is not ReplyEnd:
            self._consider(self.waits)
            self.waits = None
        if kind is CallStart:
            self._begun += 1
        elif kind is CallEnd:
            self._ended += 1
            call = event.call  # type: ignore[union-attr]
            self.waits = call if self._open and not call.truncated else None

    def _consider(self, call: Call) -> None:
        """A call is complete and something follows it: start it if nothing speaks against that."""
        if takes_long(call, self._setup.tools):
            # To check it takes too long to be done while the reply streams.
            self._open = False
            return
        checked = check(call, self._setup.tools)
        if not isinstance(checked, CheckedCall):
            return
        # A call that began earlier and is not complete yet may turn out to be a write.
        if self._ended < self._begun or not self._may_run_early(checked):
            self._open = False
        elif self._most is None or len(self._early) < self._most:
            self._launch(checked)

    def _launch(self, checked: CheckedCall) -> None:
        ledger: list[Usage] = []
        task = asyncio.get_running_loop().create_task(self._run_early(self._ended - 1, checked, ledger))
        self._early.append(Early(checked.call, task, ledger))

    async def _run_early(self, index: int, checked: CheckedCall, ledger: list[Usage]) -> Execution:
        key = call_key(self._turn, index, checked.tool.name)
        with watched_by(self._guard):
            if self._setup.around:
                return await self._watched(checked, key, ledger, early=True)
            return await self._run(checked, key, ledger)

    async def _watched(
        self, checked: CheckedCall, key: str, ledger: list[Usage], *, early: bool = False
    ) -> Execution:
        """Run a call, with observers around it."""
        setup = self._setup
        with around(setup.around, ToolCall, key, checked.call, checked.tool, early) as watched:
            execution = await self._run(checked, key, ledger)
            nesting = nesting_of(f"{setup.run}.{key}")
            if nesting is None or nesting.waits is None:
                # One whose own run waits for a person has not come to its end.
                watched.ended(call_end(execution))
        return execution

    async def _run(self, checked: CheckedCall, key: str, ledger: list[Usage]) -> Execution:
        setup = self._setup
        setting = Setting(
            dependencies=setup.dependencies,
            key=f"{setup.run}.{key}",
            run=setup.run,
            spend=ledger.append,
            tell=self._emit or ignore,
            dry_run=self._dry_run,
        )
        return await setup.executor.run(checked, setting)

    async def run(self, checked: CheckedCall, key: str, ledger: list[Usage]) -> Execution:
        """What a call came to: as it was started early, or run now. ``ledger`` gets what it spends."""
        early = self._take(checked.call)
        if early is None and self._setup.around:
            return await self._watched(checked, key, ledger)
        if early is None:
            return await self._run(checked, key, ledger)
        execution = await early.task
        ledger += early.ledger
        return execution

    def _take(self, call: Call) -> Early | None:
        """The early run of this very call, if there is one that nobody took."""
        for position, early in enumerate(self._early):
            if early.call.name == call.name and early.call.arguments == call.arguments:
                return self._early.pop(position)
        return None

    async def drop(self) -> None:
        """Cancel what was started and not taken, and wait until it has stopped."""
        tasks = [early.task for early in self._early]
        self._early.clear()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _may_run_early(self, checked: CheckedCall) -> bool:
        tool = checked.tool
        if tool.effect not in {"pure", "read"} or tool.serial or tool.delegates:
            return False
        try:
            decision = decision_for(checked, self._setup.policy, self._guard, early=True).decision
        except UsageError:
            # Raised again at the gate: here it would be taken for a fault of the stream.
            return False
        return isinstance(decision, Allow | None)
