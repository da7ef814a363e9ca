"""A model's calls into their outcomes and results: one each, in the model's order."""

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from rightcall.core.call import Call, CheckedCall, Repair
from rightcall.core.outcome import Cancelled, Denied, Failed, Outcome
from rightcall.core.ports import Clock, Tools
from rightcall.core.result import Result
from rightcall.core.tool import Tool
from rightcall.execute.check import check
from rightcall.execute.encode import Unshowable
from rightcall.execute.plan import plan
from rightcall.execute.render import render
from rightcall.execute.run import Setting, SystemClock, attempt, retry
from rightcall.execute.slots import CallSlot, Slots

Approve: TypeAlias = Callable[[CheckedCall], Awaitable[bool | Denied]]
"""Asks a person about one call: True to run it, False or a Denied with a reason not to."""


_PLAIN = Setting()


class Execution(Struct, frozen=True, kw_only=True, eq=False, gc=False):
    """What became of one call."""

    call: Call
    outcome: Outcome
    result: Result
    seconds: float = 0.0
    """From the start of the first attempt to the outcome; waiting for a slot is not counted."""
    attempts: int = 0
    """How often the handler was started."""
    repairs: tuple[Repair, ...] = ()


class Executor:
    """Runs calls under their tools' limits and its own. Keep one, and the limits hold across calls."""

    def __init__(
        self, *, concurrency: int = 32, approve: Approve | None = None, clock: Clock | None = None
    ) -> None:
        self._slots = Slots(concurrency)
        self._approve = approve
        self._clock = clock or SystemClock()

    async def execute(
        self, calls: Sequence[Call], tools: Tools, *, dependencies: Any = None
    ) -> tuple[Execution, ...]:
        """Check every call and run those that pass. N calls give N executions, in the same order.

        Cancelling this cancels every call that was started, and waits until they have stopped.
        """
        verdicts: list[CheckedCall | Outcome] = []
        for call in calls:
            verdict: CheckedCall | Outcome = check(call, tools)
            if type(verdict) is CheckedCall and verdict.tool.approval:
                verdict = await self._ask(verdict)
            verdicts.append(verdict)
        setting = _PLAIN if dependencies is None else Setting(dependencies=dependencies)
        if len(verdicts) == 1 and type(verdict) is CheckedCall:
            # Nearly every turn: no stages, no tasks.
            return (await self.run(verdict, setting),)
        done = await self._run_stages(verdicts, setting)
        return tuple(
            done[position] if position in done else not_run(call, verdicts[position])
            for position, call in enumerate(calls)
        )

    async def _ask(self, checked: CheckedCall) -> CheckedCall | Denied:
        """Ask a person about a call whose tool wants that."""
        if self._approve is None:
            return Denied("a person must approve it, and there is nobody to ask")
        answer = await self._approve(checked)
        if isinstance(answer, Denied):
            return answer
        # Only a clear yes is one: a truthy answer of another kind may well mean no.
        return checked if answer is True else Denied()

    async def _run_stages(
        self, verdicts: list[CheckedCall | Outcome], setting: Setting
    ) -> dict[int, Execution]:
        done: dict[int, Execution] = {}
        for stage in plan(verdicts):
            async with asyncio.TaskGroup() as group:
                tasks = {
                    position: group.create_task(self.run(verdict, setting))
                    for position, verdict in stage
                }
            for position, verdict in stage:
                task = tasks[position]
                # A tool can cancel the task it runs in, which is nobody's wish but its own.
                done[position] = _cancelled(verdict.call) if task.cancelled() else task.result()
        return done

    async def run(self, checked: CheckedCall, setting: Setting) -> Execution:
        """Run a call that passed, when its rate allows it and it has a slot."""
        tool, clock = checked.tool, self._clock
        slot = self._slots.of(tool)
        if not slot.acquire_free():
            await slot.acquire()
        if tool.limits.rate is not None:
            await self._pace(tool, slot)
        attempts, started = 1, clock.now()
        try:
            outcome = await attempt(checked, setting, 1, tool.limits.timeout)
            if type(outcome) is Failed and outcome.retryable:
                tries = await retry(checked, outcome, setting, clock, started)
                outcome, attempts = tries.outcome, tries.count
        finally:
            slot.release()
        seconds = clock.now() - started
        try:
            result = render(checked.call, outcome, tool)
        except Unshowable:
            words = f"{tool.name} ran, but what it returned cannot be shown."
            outcome = Failed(words, error=traceback.format_exc())
            result = render(checked.call, outcome)
        return Execution(
            call=checked.call,
            outcome=outcome,
            result=result,
            seconds=seconds,
            attempts=attempts,
            repairs=checked.repairs,
        )

    async def _pace(self, tool: Tool, slot: CallSlot) -> None:
        """Wait until the tool's rate lets a call start, leaving the slot to others meanwhile."""
        while wait := self._slots.wait_for(tool, self._clock.now()):
            slot.release()
            await self._clock.sleep(wait)
            await slot.acquire()


def not_run(call: Call, outcome: CheckedCall | Outcome) -> Execution:
    """What became of a call that was never started."""
    assert not isinstance(outcome, CheckedCall)
    return Execution(call=call, outcome=outcome, result=render(call, outcome))


def _cancelled(call: Call) -> Execution:
    outcome = Cancelled()
    return Execution(call=call, outcome=outcome, result=render(call, outcome), attempts=1)
