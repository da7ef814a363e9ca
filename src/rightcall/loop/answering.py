"""The calls of one reply into their results: checked, decided, run, recorded."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import TypeAlias

from msgspec import Struct, field, json
from msgspec.structs import replace

from rightcall.core.call import Call, CheckedCall
from rightcall.core.context import ignore
from rightcall.core.decision import (
    Allow,
    Answer,
    Approval,
    Ask,
    Deny,
    FinalDecision,
    Proposal,
    Rewrite,
)
from rightcall.core.entry import CallChecked, CallDecided, CallFinished, CallStarted, Entry, StepDone
from rightcall.core.events import ResultEnd
from rightcall.core.jsontext import dump
from rightcall.core.outcome import (
    Cancelled,
    Denied,
    Failed,
    Interrupted,
    Outcome,
    Returned,
    TimedOut,
    Truncated,
)
from rightcall.core.usage import Usage
from rightcall.errors import UsageError
from rightcall.execute.check import check
from rightcall.execute.executor import Execution, not_run
from rightcall.execute.plan import Stage, plan
from rightcall.execute.run import Setting
from rightcall.loop.asking import Emit
from rightcall.loop.decide import AnswerCalls
from rightcall.loop.policy import decision_for, reviewed
from rightcall.loop.setup import Setup
from rightcall.loop.speculate import Speculation
from rightcall.loop.watching import watched_by
from rightcall.trust.approval import approval_for, covers
from rightcall.trust.guard import Finding, Guard

_decisions: json.Decoder[FinalDecision] = json.Decoder(FinalDecision)

Verdict: TypeAlias = CheckedCall | Outcome | Proposal


class Answering(Struct, frozen=True, kw_only=True, eq=False):
    """The calls of one reply on their way to results."""

    setup: Setup
    action: AnswerCalls
    decisions: Mapping[str, FinalDecision]
    """What a person has decided already, by call id."""
    speculation: Speculation
    seconds: float | None
    """What is left of the run's time."""
    emit: Emit | None
    guard: Guard | None = None
    approvals: list[Approval] = field(default_factory=list)
    """What a person has said yes to beyond one call; grows when they do so again."""

    async def judge(self) -> list[Verdict]:
        """What is to become of each call. A proposal is one that must wait for a person."""
        return [await self._judge(index, call) for index, call in enumerate(self.action.calls)]

    async def run(self, verdicts: list[Verdict]) -> tuple[list[CallFinished], float]:
        """Every call's end, in order, and how long they took together.

        Calls that may not run have their end at once.
        """
        done: dict[int, CallFinished] = {}
        for index, verdict in enumerate(verdicts):
            if not isinstance(verdict, CheckedCall):
                done[index] = await self._step(index, verdict)
        seconds = 0.0
        for stage in plan(verdicts):
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

    async def _judge(self, index: int, call: Call) -> Verdict:
        if index >= self.action.run:
            return Truncated() if call.truncated else Cancelled()
        key = self.action.key(index)
        verdict = check(call, self.setup.tools)
        refused = None if isinstance(verdict, CheckedCall) else verdict.kind
        repairs = verdict.repairs if isinstance(verdict, CheckedCall) else ()
        self.setup.steps.note(
            f"{key}.checked", CallChecked(key=key, call_id=call.id, refused=refused, repairs=repairs)
        )
        if not isinstance(verdict, CheckedCall):
            return verdict
        return await self._decide(key, verdict)

    async def _decide(self, key: str, checked: CheckedCall) -> Verdict:
        finding, by = decision_for(checked, self.setup.policy, self.guard), "policy"
        decision = finding.decision
        if isinstance(decision, Rewrite):
            rewritten = self._carry_out(checked, decision)
            again = reviewed(rewritten, self.guard) if isinstance(rewritten, CheckedCall) else Finding()
            if isinstance(rewritten, CheckedCall) and isinstance(again.decision, Ask | Deny):
                # Who says yes says it to what will be run.
                checked, finding, decision = rewritten, again, again.decision
        if (given := self.decisions.get(checked.call.id)) is not None:
            decision, by = given, "person"
        if isinstance(decision, Ask) and not finding.each_time and covers(self.approvals, checked):
            decision, by = Allow(), "person"
        if isinstance(decision, Ask):
            proposal = Proposal(
                call_id=checked.call.id,
                name=checked.tool.name,
                arguments=checked.arguments,
                reason=decision.reason,
                evidence=finding.evidence,
            )
            if self.setup.approve is None:
                return proposal
            decision, by = await self._ask(key, proposal), "person"
        if decision is None:
            return checked
        if by == "person" and isinstance(decision, Allow):
            self._remember(approval_for(checked, decision.scope))
        self._note_decision(key, checked.call, replace(finding, decision=decision), by)
        return self._carry_out(checked, decision)

    def _remember(self, approval: Approval | None) -> None:
        if approval is not None and approval not in self.approvals:
            self.approvals.append(approval)

    def _note_decision(self, key: str, call: Call, finding: Finding, by: str) -> None:
        entry = CallDecided(
            key=key,
            call_id=call.id,
            decision=finding.decision,  # type: ignore[arg-type]
            by=by,  # type: ignore[arg-type]
            reason=finding.reason,
            evidence=finding.evidence,
        )
        self.setup.steps.note(f"{key}.decided", entry)

    def _carry_out(self, checked: CheckedCall, decision: FinalDecision) -> Verdict:
        match decision:
            case Allow():
                return checked
            case Deny(reason):
                return Denied(reason)
            case Answer(text):
                return Returned(text)
            case Rewrite(arguments):
                return check(replace(checked.call, arguments=dump(arguments)), self.setup.tools)

    async def _ask(self, key: str, proposal: Proposal) -> FinalDecision:
        """Ask the person who is there. The answer is a step: nobody is asked twice."""

        async def body() -> Entry:
            assert self.setup.approve is not None
            answer = final(await self.setup.approve(proposal))
            return StepDone(key=f"{key}.asked", value=json.encode(answer).decode())

        entry = await self.setup.steps.step(f"{key}.asked", body)
        assert isinstance(entry, StepDone)
        return _decisions.decode(entry.value)

    async def _step(self, index: int, verdict: Verdict, left: float | None = None) -> CallFinished:
        key, call = self.action.key(index), self.action.calls[index]
        if isinstance(verdict, CheckedCall):
            body = partial(self._run_checked, key, call, verdict, left)
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

    async def _run_checked(
        self, key: str, call: Call, checked: CheckedCall, left: float | None
    ) -> Entry:
        steps, hooks, tool = self.setup.steps, self.setup.hooks, checked.tool
        if tool.effect == "write" and steps.was_started(key):
            return _finished(key, call, not_run(call, Interrupted()))
        if hooks.before_tool is not None and (veto := await hooks.before_tool(checked)):
            return _finished(key, call, not_run(call, Denied(veto.reason)))
        if tool.effect != "pure":
            steps.note(f"{key}.started", CallStarted(key=key, call_id=call.id))
        ledger: list[Usage] = []
        with watched_by(self.guard):
            execution = await self._execute(key, checked, ledger, left)
        execution = await self._screened(execution)
        if hooks.after_tool is not None and (veto := await hooks.after_tool(execution)):
            denied = not_run(call, Denied(veto.reason, ran=True))
            execution = replace(execution, outcome=denied.outcome, result=denied.result)
        return _finished(key, call, execution, ledger)

    async def _screened(self, execution: Execution) -> Execution:
        """The same, with what a screen says to words of outsiders."""
        screen = None if self.guard is None else self.guard.rules.screen
        if screen is None or execution.result.source is None or not await screen(execution.result.text):
            return execution
        return replace(execution, result=replace(execution.result, suspected=True))

    async def _execute(
        self, key: str, checked: CheckedCall, ledger: list[Usage], left: float | None
    ) -> Execution:
        try:
            async with asyncio.timeout(left) as time:
                if (early := self.speculation.take(checked.call)) is not None:
                    execution = await early.task
                    ledger += early.ledger
                    return execution
                return await self.setup.executor.run(
                    checked, setting(self.setup, key, ledger, self.emit)
                )
        except TimeoutError:
            if not time.expired():
                raise
            assert left is not None
            given_up = not_run(checked.call, TimedOut(left))
            return replace(given_up, seconds=left, attempts=1)


def final(answer: object) -> FinalDecision:
    """What a person answered, as a decision. Only a clear yes is one."""
    if isinstance(answer, bool):
        return Allow() if answer else Deny()
    if isinstance(answer, FinalDecision):
        return answer
    raise UsageError(
        "a decision is True, False, Allow, Deny, Rewrite or Answer, "
        f"and not of the type {type(answer).__name__}"
    )


def setting(setup: Setup, key: str, ledger: list[Usage], emit: Emit | None) -> Setting:
    """What a call of this run is run with."""
    return Setting(
        dependencies=setup.dependencies,
        key=f"{setup.run}.{key}",
        spend=ledger.append,
        tell=emit or ignore,
    )


def _finished(
    key: str, call: Call, execution: Execution, ledger: list[Usage] | None = None
) -> CallFinished:
    result = execution.result
    if result.call_id != call.id:
        result = replace(result, call_id=call.id)
    return CallFinished(
        key=key,
        result=result,
        seconds=execution.seconds,
        attempts=execution.attempts,
        usage=sum(ledger, Usage()) if ledger else None,
        error=execution.outcome.error if isinstance(execution.outcome, Failed) else "",
    )
