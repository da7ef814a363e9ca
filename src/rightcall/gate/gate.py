"""The gate that every call of an agent, ``run_calls`` and the MCP server goes through.

A call passes four stages::

    check    parse and validate the raw text: a checked call, or an outcome    check.py
    decide   ask the policy, the trust rules and a person whether to run it    here
    run      run it between the hooks, within the tool's limits                executor.py
    render   turn the outcome into the text that the model reads               render.py

An agent, ``run_calls`` and the MCP server differ only in who is asked, what is recorded and how a call
is executed.
"""

from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from msgspec import Struct, field, json, to_builtins
from msgspec.structs import replace

from rightcall.core.call import Call, CheckedCall
from rightcall.core.decision import (
    UNCHANGEABLE,
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
from rightcall.core.entry import CallChecked, CallDecided, CallStarted, Entry, HookAnswered, StepDone
from rightcall.core.jsontext import dump
from rightcall.core.options import fits
from rightcall.core.outcome import Denied, DryRun, Failed, Outcome, Returned
from rightcall.core.ports import Steps, Tools
from rightcall.core.sanitize import encodable_json
from rightcall.errors import UsageError
from rightcall.gate.check import Refused, check, takes_long
from rightcall.gate.execution import Execution
from rightcall.gate.guarded import recognised, remember, screened
from rightcall.gate.hooks import NO_HOOKS, HookChain
from rightcall.gate.reconcile import reconciled
from rightcall.gate.threads import Job, current
from rightcall.log import tool_logger, whole
from rightcall.trust.approval import approval_for, covers
from rightcall.trust.finding import Finding
from rightcall.trust.stakes import weightiest_first

if TYPE_CHECKING:
    # The trust rules take long to import, and most agents have none.
    from rightcall.trust.guard import Guard

Policy: TypeAlias = Callable[[CheckedCall], Decision | None]
"""Decides what happens to a checked call; None leaves it to the tool and the trust rules."""

Decisions: TypeAlias = Mapping[str, FinalDecision | bool]
"""A person's decisions by call id; True allows, False denies."""

Approve: TypeAlias = Callable[[Proposal], Awaitable[FinalDecision | bool]]
"""Asks a person about a proposal, now. If it has a method ``show`` and a turn has several proposals,
``show`` first gets all of them, the most important first."""

Verdict: TypeAlias = CheckedCall | Outcome | Proposal
"""A call that may run, the outcome of one that may not, or a proposal that a person must decide
about."""

Other = TypeVar("Other")

Execute: TypeAlias = Callable[[CheckedCall], Awaitable[Execution]]

_final: json.Decoder[FinalDecision] = json.Decoder(FinalDecision)
_guard: ContextVar["Guard | None"] = ContextVar("guard", default=None)
_UNWATCHED = nullcontext()
_NOTHING = Finding()


class Gate(Struct, frozen=True, kw_only=True, eq=False):
    """Decides about calls and runs those that may run."""

    tools: Tools
    policy: Policy | None = None
    approve: Approve | None = None
    """Asks a person. Without it, a call that needs approval stays a Proposal."""
    hooks: HookChain = NO_HOOKS
    hooked: dict[str, HookAnswered] = field(default_factory=dict)
    """The answers of ``before_tool`` hooks by the calls' keys, so that no hook is asked twice."""
    guard: "Guard | None" = None
    """Enforces the trust rules on the calls."""
    steps: Steps | None = None
    """Where effects are recorded; None for nowhere."""
    decisions: Mapping[str, FinalDecision] = {}
    """Decisions made before, by call id. They replace the policy's present ones."""
    approvals: list[Approval] = field(default_factory=list)
    """What a person has allowed beyond one call; grows with each such approval."""
    waiting: dict[str, tuple[CheckedCall, Finding]] = field(default_factory=dict)
    """The calls that wait for a person's decision, with the findings about them, by call id."""
    dry_run: bool = False
    """Only calls that change nothing are run; nobody is asked about the others."""

    async def judge(self, call: Call, key: str) -> Verdict:
        """Check a call and decide whether it may run. ``key`` names it in the record."""
        verdict = await check_aside(call, self.tools)
        if type(verdict) is Failed:
            words = "the arguments of %s could not be checked" + whole(verdict.error)
            tool_logger.warning(words, call.name)
        if self.steps is not None:
            refused = None if isinstance(verdict, CheckedCall) else verdict.kind
            repairs = verdict.repairs if isinstance(verdict, CheckedCall) else ()
            entry = CallChecked(key=key, call_id=call.id, refused=refused, repairs=repairs)
            await self.steps.note(f"{key}.checked", entry)
        if not isinstance(verdict, CheckedCall):
            return verdict
        if self.dry_run and not _only_looks(verdict):
            return DryRun()
        if self.hooks.changes_calls:
            return await self._hook_and_decide(verdict, key)
        return verdict if self._has_nothing_to_say(verdict) else await self._decide(verdict, key)

    async def run(self, checked: CheckedCall, key: str, execute: Execute) -> Execution:
        """Run a call that was allowed, with the hooks around it. ``execute`` runs it."""
        steps, hooks, call, effect = self.steps, self.hooks, checked.call, checked.tool.effect
        may_have_run = effect == "write" and not checked.tool.delegates
        if steps is not None and may_have_run and steps.was_started(key):
            known = await reconciled(checked, execute)
            if known is not None:
                return known
        if hooks.has("before_tool") and not hooks.changes_calls:
            await hooks.before_tool(checked, partial(self._carried_out, checked))
        if steps is not None and effect != "pure":
            started = CallStarted(key=key, call_id=call.id, effect=effect)
            await steps.note(f"{key}.started", started)
        guard = self.guard
        execution = await (execute(checked) if guard is None else _run_guarded(guard, checked, execute))
        return await hooks.after_tool(execution, checked.tool) if hooks.has("after_tool") else execution

    def _has_nothing_to_say(self, checked: CheckedCall) -> bool:
        """Whether no policy, guard, decision or approval applies to the call: nearly always so."""
        is_open = self.policy is None and self.guard is None and not self.decisions and not self.dry_run
        return is_open and not checked.tool.approval

    async def _hook_and_decide(self, checked: CheckedCall, key: str) -> Verdict:
        """Ask the hooks about a call that is not refused already. A rewritten call is decided anew."""
        finding = decision_for(checked, self.policy, self.guard)
        if isinstance(finding.decision, Deny | Answer):
            return await self._decide(checked, key, finding)
        said = await self._hooked(checked, key)
        if said is None or isinstance(said, Allow):
            return await self._decide(checked, key, finding)
        if isinstance(said, Rewrite):
            rewritten = await self._carried_out(checked, said)
            return (
                await self._decide(rewritten, key) if isinstance(rewritten, CheckedCall) else rewritten
            )
        await self._note_decision(key, checked.call, Finding(decision=said), "hook")
        return await self._carried_out(checked, said)

    async def _hooked(self, checked: CheckedCall, key: str) -> FinalDecision | None:
        async def body() -> Entry:
            again = partial(self._carried_out, checked)
            decision = await self.hooks.before_tool(checked, again)
            return HookAnswered(
                key=f"{key}.before_tool", hook="before_tool", call_id=checked.call.id, decision=decision
            )

        known = self.hooked.get(key)
        if known is None:
            entry = await (body() if self.steps is None else self.steps.step(f"{key}.before_tool", body))
            assert isinstance(entry, HookAnswered)
            known = self.hooked[key] = entry
        return known.decision

    async def _decide(self, checked: CheckedCall, key: str, finding: Finding | None = None) -> Verdict:
        finding = finding or decision_for(checked, self.policy, self.guard)
        decision, by = finding.decision, "policy"
        if isinstance(decision, Rewrite):
            rewritten = await self._carried_out(checked, decision)
            if isinstance(rewritten, CheckedCall):
                again = _review(rewritten, self.guard)
                if isinstance(again.decision, Ask | Deny):
                    # The person must approve the arguments that will be run.
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
                self.waiting[checked.call.id] = (checked, finding)
                return proposal
            decision, by = await self._ask(proposal, self.approve, key), "person"
        return await self._settled(checked, key, replace(finding, decision=decision), by)

    async def _settled(self, checked: CheckedCall, key: str, finding: Finding, by: str) -> Verdict:
        """Record the decision about a call, and carry it out."""
        decision = finding.decision
        if decision is None:
            return checked
        assert not isinstance(decision, Ask)
        if by == "person" and isinstance(decision, Allow):
            approval = approval_for(checked, decision.scope)
            if approval is not None and approval not in self.approvals:
                self.approvals.append(approval)
        await self._note_decision(key, checked.call, finding, by)
        return await self._carried_out(checked, decision)

    async def ask_about(
        self, verdicts: Sequence[Verdict | Other], key_of: Callable[[int], str]
    ) -> list[Verdict | Other]:
        """Returns the verdicts, with each proposal replaced by a person's decision if one can be asked.

        The proposals come from a gate without ``approve`` that shares this one's lists. The most
        important is asked about first; an approver with ``show`` is shown all of them before.
        """
        decided = list(verdicts)
        at = {each.call_id: index for index, each in enumerate(decided) if isinstance(each, Proposal)}
        if self.approve is None or not at:
            return decided
        proposals = [each for each in decided if isinstance(each, Proposal)]
        waiting = weightiest_first(proposals, self.tools)
        show = getattr(self.approve, "show", None)
        if show is not None and len(waiting) > 1:
            show(waiting)
        for proposal in waiting:
            checked, finding = self.waiting.pop(proposal.call_id)
            key = key_of(at[proposal.call_id])
            said: FinalDecision = Allow()
            if finding.each_time or not covers(self.approvals, checked):
                said = await self._ask(proposal, self.approve, key)
            told = replace(finding, decision=said)
            decided[at[proposal.call_id]] = await self._settled(checked, key, told, "person")
        return decided

    async def _ask(self, proposal: Proposal, approve: Approve, key: str) -> FinalDecision:
        """Ask the person through ``approve``. The answer is a recorded step: nobody is asked twice."""

        async def body() -> Entry:
            waiting = approve(proposal)
            if not isawaitable(waiting):
                raise UsageError("approve= takes an async function: async def approve(proposal)")
            answer = final_decision(await waiting)
            return StepDone(key=f"{key}.asked", value=_written(answer))

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
            case Deny(reason, then):
                return Denied(reason, then=then)
            case Answer(text):
                return Returned(text)
            case Rewrite() if checked.call.form == "approval":
                return Denied(UNCHANGEABLE)
            case Rewrite(arguments):
                rewritten = replace(checked.call, arguments=dump(arguments), form="json")
                return await check_aside(rewritten, self.tools)


async def _run_guarded(guard: "Guard", checked: CheckedCall, execute: Execute) -> Execution:
    await remember(guard, checked)
    with watched_by(guard):
        execution = await execute(checked)
    execution = await recognised(guard, execution)
    screen = guard.rules.screen
    return execution if screen is None else await screened(execution, checked.tool, screen)


async def check_aside(call: Call, tools: Tools) -> CheckedCall | Refused:
    """Check a call; a slow check runs in a thread, so that the event loop is not blocked."""
    if not takes_long(call, tools):
        return check(call, tools)
    return await current().run(partial(check, call, tools), Job())  # type: ignore[no-any-return]


def _only_looks(checked: CheckedCall) -> bool:
    return checked.tool.effect in ("pure", "read") or checked.tool.dry_run


def decision_for(
    checked: CheckedCall, policy: Policy | None, guard: "Guard | None" = None, *, early: bool = False
) -> Finding:
    """Returns the strictest decision about a call by policy, guard and tool, before anyone is asked.

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
    """Validate a policy's answer. Raises unless it is a decision, so that nothing passes for a yes."""
    if answer is None or isinstance(answer, Decision):
        return answer
    kind = f"of the type {type(answer).__name__}"
    if isinstance(answer, Coroutine):
        answer.close()
        kind = "with a coroutine: it is a plain function"
    raise UsageError(f"a policy answers with Allow, Deny, Ask, Rewrite, Answer or None, and not {kind}")


def _review(checked: CheckedCall, guard: "Guard | None") -> Finding:
    """Decide about a call whose arguments a policy has rewritten."""
    finding = _NOTHING if guard is None else guard.review(checked)
    if checked.tool.approval and isinstance(finding.decision, Allow | None):
        return Finding(decision=Ask(), evidence=finding.evidence)
    return finding


def final_decision(answer: object) -> FinalDecision:
    """Validate an approver's or the caller's answer. Anything but a clear decision raises."""
    if isinstance(answer, bool):
        return Allow() if answer else Deny()
    if isinstance(answer, FinalDecision):
        return answer
    raise UsageError(
        "a decision is True, False, Allow, Deny, Rewrite or Answer, "
        f"and not of the type {type(answer).__name__}"
    )


def _written(decision: FinalDecision) -> str:
    """Encode a decision as JSON; halves of surrogate pairs, which JSON cannot hold, are replaced."""
    try:
        return json.encode(decision).decode()
    except UnicodeEncodeError:
        return json.encode(encodable_json(to_builtins(decision))).decode()


def decided_about(pending: Sequence[Proposal], decisions: Decisions) -> dict[str, FinalDecision]:
    """Validate the caller's decisions: one about each pending call, and about no other."""
    waiting = [proposal.call_id for proposal in pending]
    if not fits(decisions, Mapping):
        kind = type(decisions).__name__
        raise UsageError(
            f"decisions are by call id, as in {{call_id: True}}, and not of the type {kind}"
        )
    if missing := [call_id for call_id in waiting if call_id not in decisions]:
        raise UsageError(f"no decision about {', '.join(missing)}")
    if unknown := [call_id for call_id in decisions if call_id not in waiting]:
        raise UsageError(f"a decision about {', '.join(unknown)}, which is not pending")
    return {call_id: final_decision(decision) for call_id, decision in decisions.items()}


def guard_above() -> "Guard | None":
    """Returns the guard of the run that this code is called from, if it has one."""
    return _guard.get()


def watched_by(guard: "Guard | None") -> AbstractContextManager[None]:
    """Code in this context belongs to that guard's run; without a guard, to the run around it."""
    return _UNWATCHED if guard is None else _watched(guard)


@contextmanager
def _watched(guard: "Guard") -> Iterator[None]:
    token = _guard.set(guard)
    try:
        yield
    finally:
        _guard.reset(token)
