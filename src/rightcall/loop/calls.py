"""Turns the calls of one reply into results: through the gate, run in stages, recorded."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.around import ToolCall
from rightcall.core.budget import Budget
from rightcall.core.call import Call, CheckedCall
from rightcall.core.decision import FinalDecision, Proposal
from rightcall.core.entry import CallFinished, Entry
from rightcall.core.events import Emit, ResultEnd
from rightcall.core.message import said
from rightcall.core.outcome import Cancelled, Denied, Failed, Outcome, TimedOut, Truncated
from rightcall.core.parts import Usage
from rightcall.gate.execution import Execution, not_run
from rightcall.gate.gate import Gate, Verdict, check_aside
from rightcall.gate.stages import Stage, stages
from rightcall.loop.around import around, call_end
from rightcall.loop.decide import AnswerCalls, left_of
from rightcall.loop.nested import InnerPause, Nesting, inside
from rightcall.loop.setup import Setup
from rightcall.loop.speculate import Speculation
from rightcall.loop.state import PausedCall, State
from rightcall.loop.time_limit import TimeLimits
from rightcall.record.steps import recorded

End: TypeAlias = CallFinished | PausedCall
"""A finished call, or one whose inner run waits for a person."""


class Answered:
    """The finished and the paused calls of one reply."""

    def __init__(self) -> None:
        self.done: dict[int, CallFinished] = {}
        """The finished calls, by position."""
        self.waiting: dict[int, PausedCall] = {}
        """The calls whose inner run waits for a person, by position."""
        self.seconds = 0.0

    def add(self, index: int, end: End) -> None:
        """Add one call's end."""
        if isinstance(end, PausedCall):
            self.waiting[index] = end
        else:
            self.done[index] = end

    def longest(self, stage: Stage) -> float:
        """Returns the seconds of the call of a finished stage that took the longest."""
        return max([self.done[index].seconds for index, _ in stage])

    @property
    def pauses(self) -> tuple[PausedCall, ...]:
        """The calls whose inner run waits, in order of position."""
        return tuple([self.waiting[index] for index in sorted(self.waiting)])

    @property
    def ends(self) -> tuple[CallFinished, ...]:
        """The finished calls, in order of position."""
        return tuple([self.done[index] for index in sorted(self.done)])


class Answering(Struct, frozen=True, kw_only=True, eq=False):
    """Answers the calls of one reply."""

    setup: Setup
    gate: Gate
    action: AnswerCalls
    speculation: Speculation
    seconds: float | None
    """Seconds that are left of the run's time."""
    limits: TimeLimits
    emit: Emit | None
    state: State
    """The run's current state."""
    decisions: Mapping[str, FinalDecision] = {}
    """A person's decisions about calls in runs inside these calls."""
    finished: Mapping[str, CallFinished] = {}
    """The calls that had finished when the run paused, by their keys."""
    paused: Mapping[str, PausedCall] = {}
    """The calls whose inner run was paused when this run paused, by their keys."""

    async def judge(self) -> list[Verdict | CallFinished]:
        """Decide about each call. One that a person must approve stays a proposal."""
        gate, asks = self.gate, self.gate.approve is not None
        if asks:
            gate = replace(gate, approve=None)
        found = [await self._judge(gate, index, call) for index, call in enumerate(self.action.calls)]
        return await self.gate.ask_about(found, self.action.key) if asks else found

    async def _judge(self, gate: Gate, index: int, call: Call) -> Verdict | CallFinished:
        key = self.action.key(index)
        if (over := self.finished.get(key)) is not None:
            return over
        if (waited := self.paused.get(key)) is not None:
            # It was decided about before it was started.
            return await check_aside(replace(call, arguments=waited.arguments), self.setup.tools)
        if index < self.action.run:
            return await gate.judge(call, key)
        return Truncated() if call.truncated else Cancelled()

    async def run(self, verdicts: list[Verdict | CallFinished]) -> Answered:
        """Returns every call's end, in order, and how many seconds they took together.

        Calls that may not run end at once. If a call's inner run pauses, the stages after it wait too.
        """
        answered = Answered()
        if self.speculation.early:
            await self.speculation.keep(
                [each.call for each in verdicts if isinstance(each, CheckedCall)]
            )
        for index, verdict in enumerate(verdicts):
            if isinstance(verdict, CallFinished):
                answered.done[index] = verdict
            elif not isinstance(verdict, CheckedCall):
                answered.add(index, await self._step(index, verdict))
        for stage in stages(verdicts):
            left = None if self.seconds is None else max(self.seconds - answered.seconds, 0.0)
            started = self.setup.clock.now()
            for index, end in (await self._run_stage(stage, left)).items():
                answered.add(index, end)
            if answered.waiting:
                answered.seconds += self.setup.clock.now() - started
                break
            answered.seconds += answered.longest(stage)
        return answered

    async def _run_stage(self, stage: Stage, left: float | None) -> dict[int, End]:
        if len(stage) > 1 and left != 0:
            return await self._run_together(stage, left)
        ends: dict[int, End] = {}
        for index, checked in stage:
            # With nothing left, an earlier stage has used up the run's time.
            verdict = Cancelled() if left == 0 else checked
            ends[index] = await self._step(index, verdict, left)
        return ends

    async def _run_together(self, stage: Stage, left: float | None) -> dict[int, End]:
        try:
            async with asyncio.TaskGroup() as group:
                tasks = {at: group.create_task(self._step(at, checked, left)) for at, checked in stage}
        except ExceptionGroup as errors:
            # Raised by a hook or the journal: several calls raise the same exception as one call would.
            raise errors.exceptions[0] from None
        return {at: task.result() for at, task in tasks.items()}

    async def _step(self, index: int, verdict: Verdict, left: float | None = None) -> End:
        key, call = self.action.key(index), self.action.calls[index]
        if isinstance(verdict, CheckedCall):
            if verdict.tool.delegates:
                return await self._hand_on(key, call, verdict, left)
            if self.gate.steps is None:
                # Nothing is recorded, so there is no step to take.
                return self._told(await self._run(key, call, verdict, left))
            body = partial(self._run, key, call, verdict, left)
        else:
            assert not isinstance(verdict, Proposal)
            body = partial(self._not_run, key, call, verdict)
        return self._told(await self.setup.steps.step(key, body))

    def _told(self, entry: Entry) -> CallFinished:
        assert isinstance(entry, CallFinished)
        if self.emit is not None:
            self.emit(ResultEnd(entry.result, entry.seconds))
        return entry

    async def _hand_on(self, key: str, call: Call, checked: CheckedCall, left: float | None) -> End:
        """Run a call that is an inner run, with steps of its own; the call is a step only at its end."""
        steps = self.setup.steps
        if (known := recorded(steps, key)) is not None:
            return self._told(known)
        nesting = Nesting(
            self.setup,
            key,
            call,
            emit=self.emit,
            decisions=self.decisions,
            paused=self.paused.get(key),
            room=self._room(),
            approvals=self.gate.approvals,
        )
        ledger: list[Usage] = []

        async def execute(checked: CheckedCall) -> Execution:
            with inside(nesting):
                execution = await self._execute(key, ledger, left, checked)
            if nesting.lost is not None:
                raise nesting.lost
            if nesting.waits is not None:
                raise InnerPause
            return nesting.finished(execution, checked.tool)

        try:
            execution = await self.gate.run(checked, key, execute)
        except InnerPause:
            return nesting.pause(checked.call.arguments)

        async def body() -> Entry:
            return replace(_finished(key, call, execution, ledger), calls=nesting.calls)

        return self._told(await steps.step(key, body))

    def _room(self) -> Budget:
        """Returns the budget for an inner run: a share, if several calls of the reply are inner runs."""
        left, tools = left_of(self.state), self.setup.tools
        if left.calls is None:
            return left
        found = [tools.get(call.name) for call in self.action.calls]
        runs = sum(tool is not None and tool.delegates for tool in found)
        return replace(left, calls=max(left.calls - len(found), 0) // max(runs, 1))

    async def _not_run(self, key: str, call: Call, outcome: Outcome) -> Entry:
        execution = not_run(call, outcome, await self.speculation.fate(call.id))
        if self.setup.around:
            tool = self.setup.tools.get(call.name)
            with around(self.setup.around, ToolCall, key, call, tool) as watched:
                watched.ended(call_end(execution))
        if isinstance(outcome, Denied) and outcome.then:
            execution = replace(execution, notes=(said(outcome.then, "runtime"),))
        return _finished(key, call, execution)

    async def _run(self, key: str, call: Call, checked: CheckedCall, left: float | None) -> Entry:
        ledger: list[Usage] = []
        execute = partial(self._execute, key, ledger, left)
        broke_off = self.setup.steps.was_started(key)
        end = _finished(key, call, await self.gate.run(checked, key, execute), ledger)
        return replace(end, recovered=True) if broke_off else end

    async def _execute(
        self, key: str, ledger: list[Usage], left: float | None, checked: CheckedCall
    ) -> Execution:
        """Run a call within what is left of the run's time."""
        try:
            with self.limits.of(left) as time:
                return await self.speculation.run(checked, key, ledger)
        except TimeoutError:
            if not time.expired:
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
        original=execution.original,
        notes=execution.notes,
    )
