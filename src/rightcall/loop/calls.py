"""Turns the calls of one reply into results: through the gate, run in stages, recorded."""

import asyncio
from collections.abc import Awaitable, Mapping
from functools import partial
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.budget import Budget
from rightcall.core.decision import LATER_CALL, Answer, Deny, FinalDecision
from rightcall.core.entry import CallFinished, Entry
from rightcall.core.events import Emit, ResultEnd
from rightcall.core.handler import ignore
from rightcall.core.jsontext import JsonError, parse
from rightcall.core.message import user_text
from rightcall.core.outcome import Cancelled, Denied, Failed, Outcome, TimedOut, Truncated
from rightcall.core.parts import Call, Usage
from rightcall.core.ports import ToolCall
from rightcall.core.proposal import Proposal
from rightcall.core.tool import CheckedCall
from rightcall.gate.attempt import Setting, attempt
from rightcall.gate.execution import Execution, not_run
from rightcall.gate.executor import Stage, stages
from rightcall.gate.gate import Gate, Verdict, check_aside
from rightcall.gate.render import render
from rightcall.loop.decide import AnswerCalls, JudgeText, left_of
from rightcall.loop.inner_runs import InnerPause, Nesting, nesting_context, nesting_of
from rightcall.loop.observers import around, call_end
from rightcall.loop.result import REFUSED_ANSWER, describe_misfit, judge
from rightcall.loop.settings import Setup
from rightcall.loop.speculate import Speculation
from rightcall.loop.state import PausedCall, State
from rightcall.loop.time_limits import TimeLimits
from rightcall.record.steps import ANSWERED, recorded_entry

End: TypeAlias = CallFinished | PausedCall
"""A finished call, or one whose inner run waits for a person."""


class AnsweredCalls:
    """The finished and the paused calls of one reply, by position."""

    def __init__(self) -> None:
        self.done: dict[int, CallFinished] = {}
        self.waiting: dict[int, PausedCall] = {}
        """The calls whose inner run waits for a person."""
        self.seconds = 0.0

    def add(self, index: int, end: End) -> None:
        """Add one call's end."""
        if isinstance(end, PausedCall):
            self.waiting[index] = end
        else:
            self.done[index] = end

    @property
    def pauses(self) -> tuple[PausedCall, ...]:
        """The calls whose inner run waits, in order of position."""
        return tuple([self.waiting[index] for index in sorted(self.waiting)])

    @property
    def ends(self) -> tuple[CallFinished, ...]:
        """The finished calls, in order of position."""
        return tuple([self.done[index] for index in sorted(self.done)])


class CallRunner:
    """Runs one call that was allowed, within the tool's limits: early, or when its reply is whole."""

    __slots__ = ("_dry_run", "_emit", "_setup")

    def __init__(self, setup: Setup, emit: Emit | None, *, dry_run: bool) -> None:
        self._setup = setup
        self._emit = emit
        self._dry_run = dry_run

    def run(
        self, checked: CheckedCall, key: str, ledger: list[Usage], began: list[float] | None = None
    ) -> Awaitable[Execution]:
        """Run the call; add its usage to ``ledger`` and, if it is run early, its start to ``began``."""
        if self._setup.around:
            return self._run_observed(checked, key, ledger, began)
        return self._run(checked, key, ledger, began)

    async def _run_observed(
        self, checked: CheckedCall, key: str, ledger: list[Usage], began: list[float] | None
    ) -> Execution:
        setup = self._setup
        is_early = began is not None
        with around(setup.around, ToolCall, key, checked.call, checked.tool, is_early) as span:
            execution = await self._run(checked, key, ledger, began)
            nesting = nesting_of(f"{setup.run}.{key}")
            if nesting is None or nesting.waits is None:
                # A call whose inner run waits for a person has not ended.
                span.set_end(call_end(execution))
        return execution

    def _run(
        self, checked: CheckedCall, key: str, ledger: list[Usage], began: list[float] | None
    ) -> Awaitable[Execution]:
        setup = self._setup
        begins = None
        if began is not None:

            def begins() -> None:
                began.append(setup.clock.now())

        setting = Setting(
            dependencies=setup.dependencies,
            key=f"{setup.run}.{key}",
            run=setup.run,
            spend=ledger.append,
            tell=self._emit or ignore,
            dry_run=self._dry_run,
            begins=begins,
        )
        return setup.executor.run(checked, setting)


async def judge_answer(setup: Setup, action: JudgeText) -> str:
    """Returns the message for the model about an answer in text; empty if it is accepted.

    It is judged as the answer tool's call would be, and the output's checks run as that tool would.
    """
    answer = setup.answer
    assert answer is not None
    verdict = judge(answer, action.text)
    if not isinstance(verdict, CheckedCall):
        return describe_misfit(verdict)
    if answer.handler is None:
        return ""
    setting = Setting(dependencies=setup.dependencies, key=f"{setup.run}.{action.key}", run=setup.run)
    tried = await attempt(verdict, setting, 1, answer.limits.timeout)
    if tried.outcome.kind == "returned":
        return ""
    told = tried.result or render(verdict.call, tried.outcome, answer)
    return REFUSED_ANSWER.format(problem=told.text)


class Answering(Struct, frozen=True, kw_only=True, eq=False):
    """Answers the calls of one reply."""

    setup: Setup
    gate: Gate
    action: AnswerCalls
    runner: CallRunner
    speculation: Speculation | None
    """The calls that were started while the reply still streamed; None if there are none."""
    seconds: float | None
    """Seconds that are left of the run's time."""
    limits: TimeLimits
    emit: Emit | None
    state: State
    """The run's current state."""
    decisions: Mapping[str, FinalDecision] = {}
    """A person's decisions about calls in runs inside these calls."""

    async def judge(self) -> list[Verdict | CallFinished]:
        """Decide about each call. One that a person must approve stays a proposal."""
        gate = self.gate
        asks = gate.approve is not None
        if asks:
            # First every call is decided about, then the person is asked about all that need it.
            gate = replace(gate, approve=None)
        finished = {entry.key.removesuffix(ANSWERED): entry for entry in self.state.finished}
        paused = {call.key: call for call in self.state.paused}
        verdicts: list[Verdict | CallFinished] = []
        for index, call in enumerate(self.action.calls):
            key = self.action.key(index)
            if key in finished:
                verdicts.append(finished[key])
            elif key in paused and (begun := paused[key].begun) is not None:
                # It was run, and waits for its own answer.
                verdicts.append(begun)
            elif key in paused:
                # It was decided about before it was started.
                again = replace(call, arguments=paused[key].arguments)
                verdicts.append(await check_aside(again, self.setup.tools))
            elif index < self.action.run:
                verdicts.append(await gate.judge(call, key))
            elif call.truncated:
                verdicts.append(Truncated())
            else:
                verdicts.append(Cancelled(began=False))
        if asks:
            return await self.gate.ask_about(verdicts, self.action.key)
        return verdicts

    async def run(self, verdicts: list[Verdict | CallFinished]) -> AnsweredCalls:
        """Returns every call's end, in order, and how many seconds they took together.

        Calls that may not run end at once. If a call's inner run pauses, the stages after it wait too.
        """
        answered = AnsweredCalls()
        if self.setup.handoffs:
            verdicts = self._keep_first_handoff(verdicts)
        if self.speculation is not None and self.speculation.early:
            await self.speculation.keep(
                [each.call for each in verdicts if isinstance(each, CheckedCall)]
            )
        for index, verdict in enumerate(verdicts):
            if isinstance(verdict, CallFinished):
                answered.add(index, await self._await_answer(index, verdict))
            elif not isinstance(verdict, CheckedCall):
                answered.add(index, await self._take_step(index, verdict))
        for stage in stages(verdicts):
            left = None
            if self.seconds is not None:
                left = max(self.seconds - answered.seconds, 0.0)
            started = self.setup.clock.now()
            await self._run_stage(stage, left, answered)
            if answered.waiting:
                answered.seconds += self.setup.clock.now() - started
                break
            answered.seconds += max([answered.done[index].seconds for index, _ in stage])
        return answered

    def _keep_first_handoff(
        self, verdicts: list[Verdict | CallFinished]
    ) -> list[Verdict | CallFinished]:
        """Returns the verdicts, in which only the first call that hands the run over is run."""
        handoffs = self.setup.handoffs
        kept: list[Verdict | CallFinished] = []
        going: str | None = None
        for verdict in verdicts:
            name = verdict.call.name if isinstance(verdict, CheckedCall) else ""
            if name not in handoffs:
                kept.append(verdict)
            elif going is None:
                going = handoffs[name].agent.name
                kept.append(verdict)
            else:
                kept.append(Denied(f"this reply hands over to {going} already, which goes on"))
        return kept

    async def _run_stage(self, stage: Stage, left: float | None, answered: AnsweredCalls) -> None:
        if len(stage) == 1 or left == 0:
            for index, checked in stage:
                # With nothing left, an earlier stage has used up the run's time.
                verdict = Cancelled(began=False) if left == 0 else checked
                answered.add(index, await self._take_step(index, verdict, left))
            return
        try:
            async with asyncio.TaskGroup() as group:
                tasks = {at: group.create_task(self._take_step(at, call, left)) for at, call in stage}
        except ExceptionGroup as errors:
            # Raised by a hook or the journal: several calls raise the same exception as one call would.
            raise errors.exceptions[0] from None
        for index, task in tasks.items():
            answered.add(index, task.result())

    async def _take_step(self, index: int, verdict: Verdict, left: float | None = None) -> End:
        """Returns the end of a call: as a step of the run, if anything records those."""
        key = self.action.key(index)
        call = self.action.calls[index]
        if isinstance(verdict, CheckedCall):
            if verdict.tool.delegates:
                return await self._hand_on(key, call, verdict, left)
            if self.gate.steps is None:
                entry: Entry = await self._finish_call(key, call, verdict, left)
            else:
                body = partial(self._finish_call, key, call, verdict, left)
                entry = await self.setup.steps.step(key, body)
        else:
            assert not isinstance(verdict, Proposal)
            entry = await self.setup.steps.step(key, partial(self._not_run, key, call, verdict))
        if isinstance(entry, CallFinished) and entry.result.waits:
            return await self._await_answer(index, entry)
        return self._emit_result(entry)

    async def _await_answer(self, index: int, entry: CallFinished) -> End:
        """Returns the end of a call that was run: its answer, if that comes later and is here."""
        if not entry.result.waits:
            return entry
        key = self.action.key(index)
        call = self.action.calls[index]
        decision = self.gate.decisions.get(f"{call.id}{LATER_CALL}")
        if decision is None:
            return _waiting_call(key, call, entry)
        answer_key = f"{key}{ANSWERED}"
        body = partial(self._answer_later, answer_key, call, decision, entry)
        return self._emit_result(await self.setup.steps.step(answer_key, body))

    async def _answer_later(
        self, key: str, call: Call, decision: FinalDecision, begun: CallFinished
    ) -> Entry:
        """Returns the end of a call whose answer has come, labelled and limited like any result."""
        ledger = [] if begun.usage is None else [begun.usage]
        checked = await check_aside(call, self.setup.tools)
        if not isinstance(decision, Answer) or not isinstance(checked, CheckedCall):
            reason = decision.reason if isinstance(decision, Deny) else ""
            denied = replace(not_run(call, Denied(reason, ran=True)), attempts=begun.attempts)
            return _finished_entry(key, call, denied, ledger)
        text = decision.text

        def answer(**_: object) -> str:
            return text

        # Run in place of the tool, so that labels, limits, screens and hooks are the tool's own.
        tool = checked.tool.replace(handler=answer, calling=None, effect="pure", reconcile=None)
        again = replace(checked, tool=tool, bound={})
        execute = partial(self._run_or_take_early, key, ledger, None)
        execution = await self.gate.run_between_hooks(again, key, execute)
        return _finished_entry(key, call, execution, ledger)

    def _emit_result(self, entry: Entry) -> CallFinished:
        assert isinstance(entry, CallFinished)
        if self.emit is not None:
            self.emit(ResultEnd(entry.result, entry.seconds))
        return entry

    async def _hand_on(self, key: str, call: Call, checked: CheckedCall, left: float | None) -> End:
        """Run a call that is an inner run, with steps of its own; the call is a step only at its end."""
        steps = self.setup.steps
        if (known := recorded_entry(steps, key)) is not None:
            return self._emit_result(known)
        nesting = Nesting(
            self.setup,
            key,
            call,
            emit=self.emit,
            decisions=self.decisions,
            paused=next((each for each in self.state.paused if each.key == key), None),
            room=self._room(),
            approvals=self.gate.approvals,
        )
        ledger: list[Usage] = []

        async def execute(checked: CheckedCall) -> Execution:
            with nesting_context(nesting):
                execution = await self._run_or_take_early(key, ledger, left, checked)
            if nesting.lost is not None:
                raise nesting.lost
            if nesting.waits is not None:
                raise InnerPause
            return nesting.label_execution(execution, checked.tool)

        try:
            execution = await self.gate.run_between_hooks(checked, key, execute)
        except InnerPause:
            return nesting.pause(checked.call.arguments)

        async def body() -> Entry:
            return replace(_finished_entry(key, call, execution, ledger), calls=nesting.calls)

        return self._emit_result(await steps.step(key, body))

    def _room(self) -> Budget:
        """Returns the budget for an inner run: a share, if several calls of the reply are inner runs."""
        left = left_of(self.state)
        tools = self.setup.tools
        if left.calls is None:
            return left
        found = [tools.get(call.name) for call in self.action.calls]
        runs = sum(tool is not None and tool.delegates for tool in found)
        return replace(left, calls=max(left.calls - len(found), 0) // max(runs, 1))

    async def _not_run(self, key: str, call: Call, outcome: Outcome) -> Entry:
        fate = None
        if self.speculation is not None:
            fate = await self.speculation.fate(call.id)
        execution = not_run(call, outcome, fate)
        if self.setup.around:
            tool = self.setup.tools.get(call.name)
            with around(self.setup.around, ToolCall, key, call, tool) as watched:
                watched.set_end(call_end(execution))
        if isinstance(outcome, Denied) and outcome.then:
            execution = replace(execution, notes=(user_text(outcome.then, "runtime"),))
        return _finished_entry(key, call, execution)

    async def _finish_call(
        self, key: str, call: Call, checked: CheckedCall, left: float | None
    ) -> CallFinished:
        ledger: list[Usage] = []
        execute = partial(self._run_or_take_early, key, ledger, left)
        broke_off = self.gate.steps is not None and self.gate.steps.was_started(key)
        end = _finished_entry(
            key, call, await self.gate.run_between_hooks(checked, key, execute), ledger
        )
        if broke_off:
            return replace(end, recovered=True)
        return end

    async def _run_or_take_early(
        self, key: str, ledger: list[Usage], left: float | None, checked: CheckedCall
    ) -> Execution:
        """Run a call within what is left of the run's time, or wait for it if it was started early."""
        try:
            with self.limits.of(left) as time:
                early = None
                if self.speculation is not None and self.speculation.early:
                    early = self.speculation.take(checked.call)
                if early is None:
                    return await self.runner.run(checked, key, ledger)
                execution = await early.task
                ledger += early.ledger
                return execution
        except TimeoutError:
            if not time.expired:
                raise
            assert left is not None
            given_up = not_run(checked.call, TimedOut(left))
            return replace(given_up, seconds=left, attempts=1)


def _waiting_call(key: str, call: Call, begun: CallFinished) -> PausedCall:
    """Returns a call that was run and waits for its answer, as a paused one."""
    try:
        arguments = parse(call.as_json or "{}")
    except JsonError:
        arguments = {}
    proposal = Proposal(
        call_id=f"{call.id}{LATER_CALL}",
        name=call.name,
        arguments=arguments if isinstance(arguments, dict) else {},
        later=begun.result.later,
    )
    return PausedCall(
        key=key,
        call_id=call.id,
        arguments=call.arguments,
        state=State(messages=()),
        pending=(proposal,),
        begun=begun,
    )


def _finished_entry(
    key: str, call: Call, execution: Execution, ledger: list[Usage] | None = None
) -> CallFinished:
    result = execution.result
    if result.call_id != call.id:
        result = replace(result, call_id=call.id)
    if isinstance(execution.outcome, Failed):
        failure = execution.outcome
    else:
        failure = None
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
