"""Runs a model's calls through the gate, without an agent: one execution each, in the model's order."""

import asyncio
from collections.abc import Sequence
from functools import partial
from logging import INFO
from typing import Any, Self

from rightcall.core.call import Call, CheckedCall
from rightcall.core.decision import NOBODY_TO_ASK, Proposal
from rightcall.core.options import checked
from rightcall.core.outcome import Cancelled, Denied, Failed, Outcome
from rightcall.core.ports import Clock, Tools
from rightcall.core.tool import Tool
from rightcall.declare.toolbox import Toolbox, ToolSource
from rightcall.errors import UsageError
from rightcall.gate import check as gate_check
from rightcall.gate.attempt import Setting, SystemClock, attempt, retry
from rightcall.gate.checked_async import checked_async
from rightcall.gate.execution import Execution, not_run
from rightcall.gate.gate import Approve, Gate, Verdict
from rightcall.gate.render import render
from rightcall.gate.semaphores import CallSlot
from rightcall.gate.slots import RUN_CONCURRENCY, Slots, wait_for_rate
from rightcall.gate.stages import stages
from rightcall.log import tool_logger

_PLAIN = Setting()


class Executor:
    """Runs calls under their tools' limits and its own. Keep one to share its own across calls."""

    __slots__ = ("_approve", "_clock", "_slots")

    @checked("rc.Executor")
    def __init__(
        self,
        *,
        concurrency: int = RUN_CONCURRENCY,
        approve: Approve | None = None,
        clock: Clock | None = None,
    ) -> None:
        if not concurrency > 0:
            raise UsageError(f"concurrency must be more than 0, not {concurrency!r}: no call would run")
        self._slots = Slots(concurrency)
        self._approve = approve
        self._clock = clock or SystemClock()

    def for_run(self) -> Self:
        """Returns an executor for another run, with run slots of its own."""
        made = object.__new__(type(self))
        made._approve, made._clock = self._approve, self._clock
        made._slots = self._slots.for_run()
        return made

    @checked_async("rc.Executor.execute")
    async def execute(
        self,
        calls: Sequence[Call],
        tools: Tools,
        *,
        dependencies: Any = None,
        dry_run: bool = False,
    ) -> tuple[Execution, ...]:
        """Check every call and run those that pass. N calls give N executions, in the same order.

        With ``dry_run`` calls of tools that do more than look are not run, and nobody is asked about
        them. Cancelling this cancels every call that was started, and waits until they have stopped.
        """
        is_plain = dependencies is None and not dry_run
        setting = _PLAIN if is_plain else Setting(dependencies=dependencies, dry_run=dry_run)
        return await self._execute(calls, tools, setting)

    async def _execute(
        self, calls: Sequence[Call], tools: Tools, setting: Setting
    ) -> tuple[Execution, ...]:
        gate = Gate(tools=tools, approve=self._approve, dry_run=setting.dry_run)
        verdicts = [await gate.judge(call, call.id) for call in calls]
        execute = partial(self.run, setting=setting)
        done: dict[int, Execution] = {}
        for stage in stages(verdicts):
            if len(stage) == 1:
                # The usual case, a single call, needs no task of its own.
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
                # A tool can cancel the task that it runs in; that is not a cancellation by the caller.
                done[position] = _cancelled(checked.call) if task.cancelled() else task.result()
        return tuple([done.get(at) or _refused(call, verdicts[at]) for at, call in enumerate(calls)])

    async def run(self, checked: CheckedCall, setting: Setting) -> Execution:
        """Run a call that was allowed, as soon as its slots and its rate permit."""
        tool, clock = checked.tool, self._clock
        slot = self._slots.of(tool)
        if not slot.acquire_free():
            await slot.acquire()
        if tool.limits.rate is not None:
            await self._pace(tool, slot)
        attempts, started = 1, clock.now()
        if setting.begins is not None:
            setting.begins()
        try:
            shown = await attempt(checked, setting, 1, tool.limits.timeout)
            outcome = shown.outcome
            if type(outcome) is Failed and outcome.retryable:
                tries = await retry(checked, shown, setting, clock, started)
                shown, attempts = tries.shown, tries.count
        finally:
            slot.release()
        seconds = clock.now() - started
        outcome, result = shown.outcome, shown.result
        if result is None:
            result = render(checked.call, outcome, tool)
        if tool_logger.isEnabledFor(INFO):
            tool_logger.info("%s: %s in %.3f s", tool.name, outcome.kind, seconds)
        return Execution(
            call=checked.call,
            outcome=outcome,
            result=result,
            seconds=seconds,
            attempts=attempts,
            repairs=checked.repairs,
        )

    async def _pace(self, tool: Tool, slot: CallSlot) -> None:
        """Wait until the tool's rate lets a call start; its slots are free for others meanwhile."""
        while wait := wait_for_rate(tool, self._clock.now()):
            slot.release()
            await self._clock.sleep(wait)
            await slot.acquire()


def _refused(call: Call, verdict: Verdict) -> Execution:
    assert not isinstance(verdict, CheckedCall)
    return not_run(call, Denied(NOBODY_TO_ASK) if isinstance(verdict, Proposal) else verdict)


def _cancelled(call: Call) -> Execution:
    outcome = Cancelled()
    return Execution(call=call, outcome=outcome, result=render(call, outcome), attempts=1)


@checked("rc.check")
def check(call: Call, tools: ToolSource) -> CheckedCall | Outcome:
    """Check one call without running it: a checked call, or the outcome that says why not."""
    return gate_check.check(call, _toolbox(tools))


@checked_async("rc.run_calls")
async def run_calls(
    calls: Sequence[Call],
    tools: ToolSource,
    *,
    dependencies: Any = None,
    approve: Approve | None = None,
    dry_run: bool = False,
) -> tuple[Execution, ...]:
    """Check and run a model's calls: one execution for each, in the same order.

    ``dependencies`` reach the tools through ``Context``. ``approve`` is asked about calls of tools that
    need approval, as with an agent; without it they are denied. With ``dry_run`` only reading tools
    run. At most 16 calls run at once; keep an ``Executor`` to share such a limit across several.
    """
    setting = Setting(dependencies=dependencies, dry_run=dry_run)
    executor = Executor() if approve is None else Executor(approve=approve)
    return await executor._execute(calls, _toolbox(tools), setting)  # noqa: SLF001


def _toolbox(tools: ToolSource) -> Toolbox:
    return tools if isinstance(tools, Toolbox) else Toolbox(tools)
