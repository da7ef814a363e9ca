"""The calls of one reply into their results: through the gate, run in stages, recorded."""

import asyncio
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.call import Call, CheckedCall
from rightcall.core.decision import Proposal
from rightcall.core.entry import CallFinished, Entry
from rightcall.core.events import Emit, ResultEnd
from rightcall.core.outcome import Cancelled, Failed, Outcome, TimedOut, Truncated
from rightcall.core.parts import Usage
from rightcall.gate.gate import Execution, Gate, Stage, Verdict, not_run, stages
from rightcall.loop.decide import AnswerCalls
from rightcall.loop.setup import Setup
from rightcall.loop.speculate import Speculation


class Answering(Struct, frozen=True, kw_only=True, eq=False):
    """The calls of one reply on their way to results."""

    setup: Setup
    gate: Gate
    action: AnswerCalls
    speculation: Speculation
    seconds: float | None
    """What is left of the run's time."""
    emit: Emit | None

    async def judge(self) -> list[Verdict]:
        """Decide about each call. A proposal is one that must wait for a person."""
        return [await self._judge(index, call) for index, call in enumerate(self.action.calls)]

    async def _judge(self, index: int, call: Call) -> Verdict:
        if index < self.action.run:
            return await self.gate.judge(call, self.action.key(index))
        return Truncated() if call.truncated else Cancelled()

    async def run(self, verdicts: list[Verdict]) -> tuple[list[CallFinished], float]:
        """Every call's end, in order, and how long they took together.

        Calls that may not run have their end at once.
        """
        done: dict[int, CallFinished] = {}
        for index, verdict in enumerate(verdicts):
            if not isinstance(verdict, CheckedCall):
                done[index] = await self._step(index, verdict)
        seconds = 0.0
        for stage in stages(verdicts):
            left = None if self.seconds is None else max(self.seconds - seconds, 0.0)
            done.update(await self._run_stage(stage, left))
            seconds += max(done[at].seconds for at, _ in stage)
        return [done[index] for index in range(len(verdicts))], seconds

    async def _run_stage(self, stage: Stage, left: float | None) -> dict[int, CallFinished]:
        if left == 0:
            # An earlier stage has used up the run's time.
            return {at: await self._step(at, Cancelled()) for at, _ in stage}
        if len(stage) == 1:
            ((index, checked),) = stage
            return {index: await self._step(index, checked, left)}
        try:
            async with asyncio.TaskGroup() as group:
                tasks = {at: group.create_task(self._step(at, checked, left)) for at, checked in stage}
        except ExceptionGroup as errors:
            # A hook or the journal: what it raises is the same for one call and for several.
            raise errors.exceptions[0] from None
        return {at: task.result() for at, task in tasks.items()}

    async def _step(self, index: int, verdict: Verdict, left: float | None = None) -> CallFinished:
        key, call = self.action.key(index), self.action.calls[index]
        if isinstance(verdict, CheckedCall):
            body = partial(self._run, key, call, verdict, left)
        else:
            assert not isinstance(verdict, Proposal)
            body = partial(self._not_run, key, call, verdict)
        entry = await self.setup.steps.step(key, body)
        assert isinstance(entry, CallFinished)
        if self.emit is not None:
            self.emit(ResultEnd(entry.result, entry.seconds))
        return entry

    async def _not_run(self, key: str, call: Call, outcome: Outcome) -> Entry:
        return _finished(key, call, not_run(call, outcome))

    async def _run(self, key: str, call: Call, checked: CheckedCall, left: float | None) -> Entry:
        ledger: list[Usage] = []
        execute = partial(self._execute, key, ledger, left)
        return _finished(key, call, await self.gate.run(checked, key, execute), ledger)

    async def _execute(
        self, key: str, ledger: list[Usage], left: float | None, checked: CheckedCall
    ) -> Execution:
        """Run a call within the run's time."""
        try:
            async with asyncio.timeout(left) as time:
                return await self.speculation.run(checked, key, ledger)
        except TimeoutError:
            if not time.expired():
                raise
            assert left is not None
            given_up = not_run(checked.call, TimedOut(left))
            return replace(given_up, seconds=left, attempts=1)


def _finished(
    key: str, call: Call, execution: Execution, ledger: list[Usage] | None = None
) -> CallFinished:
    result = execution.result
    if result.call_id != call.id:
        result = replace(result, call_id=call.id)
    failure = execution.outcome if isinstance(execution.outcome, Failed) else None
    return CallFinished(
        key=key,
        result=result,
        seconds=execution.seconds,
        attempts=execution.attempts,
        usage=sum(ledger, Usage()) if ledger else None,
        error="" if failure is None else failure.error,
        cause="" if failure is None else failure.cause,
    )
