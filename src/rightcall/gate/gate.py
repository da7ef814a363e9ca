"""The one gate, through which an agent, ``run_calls`` and the MCP server take every call.

A call passes four stations::

    check    raw text into a checked call, or the outcome that says why not    check.py
    decide   the policy, the rules of trust and a person: run it, or not       here
    run      between the hooks, within the tool's limits                       executor.py
    render   the outcome into the words that the model reads                   render.py

Those three differ in who is asked, what is recorded and how a call is executed, and in nothing else.
"""

from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from inspect import isawaitable
from typing import Any, TypeAlias

from msgspec import Struct, field, json
from msgspec.structs import replace

from rightcall.core.call import Call, CheckedCall, Repair
from rightcall.core.decision import (
    Allow,
    Answer,
    Approval,
    Ask,
    Decision,
    Deny,
    FinalDecision,
    Proposal,
    Rewrite,
)
from rightcall.core.entry import CallChecked, CallDecided, CallStarted, Entry, StepDone
from rightcall.core.jsontext import dump
from rightcall.core.message import Reply
from rightcall.core.outcome import Denied, Interrupted, Outcome, Returned
from rightcall.core.parts import Result
from rightcall.core.ports import Steps, Tools
from rightcall.core.request import Request
from rightcall.errors import UsageError
from rightcall.gate.check import LARGE, Refused, check
from rightcall.gate.render import render
from rightcall.gate.threads import Job, current
from rightcall.trust.approval import approval_for, covers
from rightcall.trust.guard import Finding, Guard


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


Policy: TypeAlias = Callable[[CheckedCall], Decision | None]
"""Decides what happens to a checked call; None leaves it to the tool and the rules of trust."""

Approve: TypeAlias = Callable[[Proposal], Awaitable[FinalDecision | bool]]
"""Asks a person about a proposal, here and now."""

Verdict: TypeAlias = CheckedCall | Outcome | Proposal
"""A call that may run, the outcome of one that may not, or what a person must be asked."""

Execute: TypeAlias = Callable[[CheckedCall], Awaitable[Execution]]

_final: json.Decoder[FinalDecision] = json.Decoder(FinalDecision)
_guard: ContextVar[Guard | None] = ContextVar("guard", default=None)
_UNWATCHED = nullcontext()
_NOTHING = Finding()


class Veto(Struct, frozen=True):
    """A hook's no.

    Around a model call it ends the run. Before a tool call it denies the call; after one it withholds
    the result, and the model is told that the tool ran.
    """

    reason: str = ""


class Hooks(Struct, frozen=True, kw_only=True):
    """Plain async functions that may veto what happens. None of them need be given.

    ``before_tool`` keeps calls from starting while the reply still streams. To watch only, give the
    agent observers: they hold nothing up.
    """

    before_model: Callable[[Request], Awaitable[Veto | None]] | None = None
    after_model: Callable[[Reply], Awaitable[Veto | None]] | None = None
    before_tool: Callable[[CheckedCall], Awaitable[Veto | None]] | None = None
    after_tool: Callable[[Execution], Awaitable[Veto | None]] | None = None


class Gate(Struct, frozen=True, kw_only=True, eq=False):
    """Decides about calls and runs those that may run."""

    tools: Tools
    policy: Policy | None = None
    approve: Approve | None = None
    """Without it a call that a person must approve stays a Proposal."""
    hooks: Hooks = Hooks()
    guard: Guard | None = None
    """Holds the calls to the rules of trust."""
    steps: Steps | None = None
    """Where what happens is recorded, if anywhere."""
    decisions: Mapping[str, FinalDecision] = {}
    """What has been decided already, by call id; whoever decided it then decides it now."""
    approvals: list[Approval] = field(default_factory=list)
    """What a person has said yes to beyond one call; grows when they do so again."""

    async def judge(self, call: Call, key: str) -> Verdict:
        """Check a call and decide about it. ``key`` names it in the record."""
        verdict = await check_aside(call, self.tools)
        if self.steps is not None:
            refused = None if isinstance(verdict, CheckedCall) else verdict.kind
            repairs = verdict.repairs if isinstance(verdict, CheckedCall) else ()
            entry = CallChecked(key=key, call_id=call.id, refused=refused, repairs=repairs)
            await self.steps.note(f"{key}.checked", entry)
        if not isinstance(verdict, CheckedCall) or self._has_nothing_to_say(verdict):
            return verdict
        return await self._decide(verdict, key)

    async def run(self, checked: CheckedCall, key: str, execute: Execute) -> Execution:
        """Run a call that may run, between the hooks. ``execute`` is how."""
        steps, hooks, call, effect = self.steps, self.hooks, checked.call, checked.tool.effect
        if steps is not None and effect == "write" and steps.was_started(key):
            return not_run(call, Interrupted())
        if hooks.before_tool is not None and (veto := await vetoed(hooks.before_tool, checked)):
            await self._note_decision(key, call, Finding(decision=Deny(veto.reason)), "hook")
            return not_run(call, Denied(veto.reason))
        if steps is not None and effect != "pure":
            await steps.note(f"{key}.started", CallStarted(key=key, call_id=call.id))
        with watched_by(self.guard):
            execution = await execute(checked)
        if self.guard is not None and self.guard.rules.screen is not None:
            execution = await _screened(execution, self.guard.rules.screen)
        if hooks.after_tool is not None and (veto := await vetoed(hooks.after_tool, execution)):
            withheld = not_run(call, Denied(veto.reason, ran=True))
            execution = replace(execution, outcome=withheld.outcome, result=withheld.result)
        return execution

    def _has_nothing_to_say(self, checked: CheckedCall) -> bool:
        """Nearly every call: nobody is there who could decide about it."""
        is_open = self.policy is None and self.guard is None and not self.decisions
        return is_open and not checked.tool.approval

    async def _decide(self, checked: CheckedCall, key: str) -> Verdict:
        finding = decision_for(checked, self.policy, self.guard)
        decision, by = finding.decision, "policy"
        if isinstance(decision, Rewrite):
            rewritten = await self._carried_out(checked, decision)
            if isinstance(rewritten, CheckedCall):
                again = _review(rewritten, self.guard)
                if isinstance(again.decision, Ask | Deny):
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
            if self.approve is None:
                return proposal
            decision, by = await self._ask(proposal, self.approve, key), "person"
        if decision is None:
            return checked
        if by == "person" and isinstance(decision, Allow):
            approval = approval_for(checked, decision.scope)
            if approval is not None and approval not in self.approvals:
                self.approvals.append(approval)
        await self._note_decision(key, checked.call, replace(finding, decision=decision), by)
        return await self._carried_out(checked, decision)

    async def _ask(self, proposal: Proposal, approve: Approve, key: str) -> FinalDecision:
        """Ask the person who is there. The answer is a step: nobody is asked twice."""

        async def body() -> Entry:
            waiting = approve(proposal)
            if not isawaitable(waiting):
                raise UsageError("approve is an async function")
            answer = final_decision(await waiting)
            return StepDone(key=f"{key}.asked", value=json.encode(answer).decode())

        entry = await (body() if self.steps is None else self.steps.step(f"{key}.asked", body))
        assert isinstance(entry, StepDone)
        return _final.decode(entry.value)

    async def _note_decision(self, key: str, call: Call, finding: Finding, by: str) -> None:
        if self.steps is None:
            return
        entry = CallDecided(
            key=key,
            call_id=call.id,
            decision=finding.decision,  # type: ignore[arg-type]
            by=by,  # type: ignore[arg-type]
            reason=finding.reason,
            evidence=finding.evidence,
        )
        await self.steps.note(f"{key}.decided", entry)

    async def _carried_out(self, checked: CheckedCall, decision: FinalDecision) -> CheckedCall | Outcome:
        match decision:
            case Allow():
                return checked
            case Deny(reason):
                return Denied(reason)
            case Answer(text):
                return Returned(text)
            case Rewrite(arguments):
                rewritten = replace(checked.call, arguments=dump(arguments))
                return await check_aside(rewritten, self.tools)


async def check_aside(call: Call, tools: Tools) -> CheckedCall | Refused:
    """Check a call, with large arguments in a thread: the event loop turns while they are looked at."""
    if len(call.arguments) <= LARGE:
        return check(call, tools)
    return await current().run(partial(check, call, tools), Job())  # type: ignore[no-any-return]


def decision_for(
    checked: CheckedCall, policy: Policy | None, guard: Guard | None = None, *, early: bool = False
) -> Finding:
    """Decide about a checked call before anyone is asked. The strictest of all counts.

    A tool that requires approval is asked about even where the policy would allow it; a policy can be
    stricter than the tool, not laxer. ``early`` is a call that may start while the reply streams.
    """
    decision = None if policy is None else _decided(policy(checked))
    if isinstance(decision, Deny | Answer | Rewrite):
        return Finding(decision=decision)
    finding = _NOTHING if guard is None else guard.judge(checked, early=early)
    if isinstance(finding.decision, Deny | Ask | Rewrite):
        return finding
    if isinstance(decision, Ask) or checked.tool.approval:
        asked = decision if isinstance(decision, Ask) else Ask()
        return Finding(decision=asked, reason=asked.reason, evidence=finding.evidence)
    return finding


def _decided(answer: object) -> Decision | None:
    """Read what a policy answered. What is no decision must not pass for a yes."""
    if answer is None or isinstance(answer, Decision):
        return answer
    kind = f"of the type {type(answer).__name__}"
    if isinstance(answer, Coroutine):
        answer.close()
        kind = "with a coroutine: it is a plain function"
    raise UsageError(f"a policy answers with Allow, Deny, Ask, Rewrite, Answer or None, and not {kind}")


async def vetoed(hook: Callable[[Any], Awaitable[Veto | None]], what: object) -> Veto | None:
    """Ask a hook about something. What is no Veto and not None must not pass for a yes."""
    waiting = hook(what)
    if not isawaitable(waiting):
        raise UsageError("a hook is an async function")
    answer = await waiting
    if answer is None or isinstance(answer, Veto):
        return answer
    raise UsageError(f"a hook answers Veto or None, and not {type(answer).__name__}")


def _review(checked: CheckedCall, guard: Guard | None) -> Finding:
    """Decide about a call whose arguments a policy has put in place."""
    finding = _NOTHING if guard is None else guard.review(checked)
    if checked.tool.approval and isinstance(finding.decision, Allow | None):
        return Finding(decision=Ask(), evidence=finding.evidence)
    return finding


async def _screened(execution: Execution, screen: Callable[[str], Awaitable[bool]]) -> Execution:
    """Mark the result as suspected where a screen takes outsiders' words in it for an attack."""
    if execution.result.source is None or not await screen(execution.result.text):
        return execution
    return replace(execution, result=replace(execution.result, suspected=True))


def final_decision(answer: object) -> FinalDecision:
    """Read what an approver or the caller answered. Only a clear yes is one."""
    if isinstance(answer, bool):
        return Allow() if answer else Deny()
    if isinstance(answer, FinalDecision):
        return answer
    raise UsageError(
        "a decision is True, False, Allow, Deny, Rewrite or Answer, "
        f"and not of the type {type(answer).__name__}"
    )


def guard_above() -> Guard | None:
    """The guard of the run that this code is called from, if it has one."""
    return _guard.get()


def watched_by(guard: Guard | None) -> AbstractContextManager[None]:
    """What runs in here is part of that guard's run; without one, of whatever run is around it."""
    return _UNWATCHED if guard is None else _watched(guard)


@contextmanager
def _watched(guard: Guard) -> Iterator[None]:
    token = _guard.set(guard)
    try:
        yield
    finally:
        _guard.reset(token)


def not_run(call: Call, outcome: Outcome) -> Execution:
    """What became of a call that was never started."""
    return Execution(call=call, outcome=outcome, result=render(call, outcome))


Stage: TypeAlias = list[tuple[int, CheckedCall]]
"""Calls that run at once, each with its position among all."""


def stages(calls: Sequence[object]) -> list[Stage]:
    """The stages to run one after the other, in the model's order: serial calls are barriers.

    What is not a checked call is in no stage.
    """
    found: list[Stage] = []
    barrier = True
    for position, call in enumerate(calls):
        if isinstance(call, CheckedCall):
            if barrier or call.tool.serial:
                found.append([])
            found[-1].append((position, call))
            barrier = call.tool.serial
    return found
