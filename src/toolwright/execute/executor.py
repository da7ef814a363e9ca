"""A model's calls into their outcomes and results: one each, in the model's order."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from toolwright.core.call import Call, CheckedCall, Repair
from toolwright.core.outcome import Denied, Failed, Outcome
from toolwright.core.ports import Clock, Tools
from toolwright.core.result import Result
from toolwright.core.tool import Tool
from toolwright.execute.check import check
from toolwright.execute.encode import EncodeError
from toolwright.execute.plan import plan
from toolwright.execute.render import render
from toolwright.execute.run import Ran, SystemClock, run
from toolwright.execute.slots import Slots

Approve: TypeAlias = Callable[[CheckedCall], Awaitable[bool | Denied]]
"""Asks a person about one call: True to run it, False or a Denied with a reason not to."""


class Execution(Struct, frozen=True, kw_only=True, eq=False, gc=False):
    """What became of one call."""

    call: Call
    outcome: Outcome
    result: Result
    seconds: float = 0.0
    """From the start of the first attempt to the outcome; waiting for a place is not counted."""
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
        if len(calls) == 1:
            return (await self._finish(await self._judge(calls[0], tools), dependencies),)
        judged = [await self._judge(call, tools) for call in calls]
        for stage in plan(judged):
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(self._finish(judged[position], dependencies))
                    for position in stage
                ]
            for position, task in zip(stage, tasks, strict=True):
                judged[position] = task.result()
        return tuple([each for each in judged if isinstance(each, Execution)])

    async def _judge(self, call: Call, tools: Tools) -> CheckedCall | Execution:
        """Check a call, and ask about it where its tool wants that."""
        verdict: CheckedCall | Outcome = check(call, tools)
        if isinstance(verdict, CheckedCall):
            if not verdict.tool.approval:
                return verdict
            answer = await self._ask(verdict)
            if answer is None:
                return verdict
            verdict = answer
        return Execution(call=call, outcome=verdict, result=render(call, verdict))

    async def _ask(self, checked: CheckedCall) -> Denied | None:
        if self._approve is None:
            return Denied("a person must approve it, and there is nobody to ask")
        answer = await self._approve(checked)
        if isinstance(answer, Denied):
            return answer
        return None if answer else Denied()

    async def _finish(self, judged: CheckedCall | Execution, dependencies: Any) -> Execution:
        """Run a call that passed, when its rate and its places allow it."""
        if isinstance(judged, Execution):
            return judged
        tool, clock = judged.tool, self._clock
        if tool.limits.rate is not None:
            await clock.sleep(self._slots.wait_for(tool, clock.now()))
        own, shared = self._slots.of(tool)
        if not own.take_free():
            await own.take()
        try:
            if not shared.take_free():
                await shared.take()
            try:
                ran = await run(judged, dependencies=dependencies, clock=clock)
            finally:
                shared.give()
        finally:
            own.give()
        outcome, result = _render(judged.call, ran, tool)
        return Execution(
            call=judged.call,
            outcome=outcome,
            result=result,
            seconds=ran.seconds,
            attempts=ran.attempts,
            repairs=judged.repairs,
        )


def _render(call: Call, ran: Ran, tool: Tool) -> tuple[Outcome, Result]:
    try:
        return ran.outcome, render(call, ran.outcome, tool)
    except EncodeError as error:
        words = f"{call.name} ran, but what it returned cannot be shown."
        failed = Failed(words, error=str(error))
        return failed, render(call, failed, tool)
