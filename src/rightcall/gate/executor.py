"""A model's calls through the gate, without an agent: one execution each, in the model's order."""

import asyncio
import traceback
from collections.abc import Sequence
from functools import partial
from typing import Any

from rightcall.core.call import Call, CheckedCall
from rightcall.core.decision import Proposal
from rightcall.core.outcome import Cancelled, Denied, Failed, Outcome
from rightcall.core.ports import Clock, Tools
from rightcall.core.reasons import NOBODY_TO_ASK
from rightcall.core.tool import Tool
from rightcall.declare.toolbox import Toolbox, ToolSource
from rightcall.gate import check as gate_check
from rightcall.gate.attempt import Setting, SystemClock, attempt, retry
from rightcall.gate.gate import Approve, Execution, Gate, Verdict, not_run, stages
from rightcall.gate.render import Unshowable, render
from rightcall.gate.slots import CallSlot, Slots

_PLAIN = Setting()


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
        gate = Gate(tools=tools, approve=self._approve)
        verdicts = [await gate.judge(call, call.id) for call in calls]
        setting = _PLAIN if dependencies is None else Setting(dependencies=dependencies)
        execute = partial(self.run, setting=setting)
        done: dict[int, Execution] = {}
        for stage in stages(verdicts):
            if len(stage) == 1:
                # Nearly every turn: no task of its own.
                ((position, checked),) = stage
                done[position] = await gate.run(checked, checked.call.id, execute)
                continue
            async with asyncio.TaskGroup() as group:
                tasks = {
                    position: group.create_task(gate.run(checked, checked.call.id, execute))
                    for position, checked in stage
                }
            for position, checked in stage:
                task = tasks[position]
                # A tool can cancel the task it runs in, which is nobody's wish but its own.
                done[position] = _cancelled(checked.call) if task.cancelled() else task.result()
        return tuple([done.get(at) or _refused(call, verdicts[at]) for at, call in enumerate(calls)])

    async def run(self, checked: CheckedCall, setting: Setting) -> Execution:
        """Run a call that may run, when its rate and its slots allow it."""
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
        """Wait until the tool's rate lets a call start, leaving the slots to others meanwhile."""
        while wait := self._slots.wait_for(tool, self._clock.now()):
            slot.release()
            await self._clock.sleep(wait)
            await slot.acquire()


def _refused(call: Call, verdict: Verdict) -> Execution:
    assert not isinstance(verdict, CheckedCall)
    return not_run(call, Denied(NOBODY_TO_ASK) if isinstance(verdict, Proposal) else verdict)


def _cancelled(call: Call) -> Execution:
    outcome = Cancelled()
    return Execution(call=call, outcome=outcome, result=render(call, outcome), attempts=1)


def check(call: Call, tools: ToolSource) -> CheckedCall | Outcome:
    """Judge one call without running it: a checked call, or the outcome that says why not."""
    return gate_check.check(call, _toolbox(tools))


async def run_calls(
    calls: Sequence[Call],
    tools: ToolSource,
    *,
    dependencies: Any = None,
    approve: Approve | None = None,
) -> tuple[Execution, ...]:
    """Check and run a model's calls: one execution for each, in the same order.

    ``dependencies`` reach the tools through ``Context``. ``approve`` is asked about calls of tools
    that require approval, as an agent's is; without it they are denied. Limits on rate and concurrency
    hold within one execution; keep an ``Executor`` to make them hold across several.
    """
    return await Executor(approve=approve).execute(calls, _toolbox(tools), dependencies=dependencies)


def _toolbox(tools: ToolSource) -> Toolbox:
    return tools if isinstance(tools, Toolbox) else Toolbox(tools)
