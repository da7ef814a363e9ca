"""The gate that every call of an agent, ``run_calls`` and the MCP server goes through.

A call passes four stages::

    check    parse and validate the raw text: a checked call, or an outcome    call_check.py
    decide   ask the policy, the trust rules and a person whether to run it    here
    run      run it between the hooks,                                         here
             within the tool's limits                                          executor.py
    render   turn the outcome into the text that the model reads               render.py

An agent, ``run_calls`` and the MCP server differ only in who is asked, what is recorded and how a call
is executed.
"""

from asyncio import to_thread
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from inspect import isawaitable, iscoroutinefunction, isfunction, signature
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from msgspec import Struct, field, json, to_builtins
from msgspec.structs import replace

from rightcall.core.decision import (
    REFUSED_BEFORE,
    UNCHANGEABLE,
    Allow,
    Answer,
    Approval,
    Ask,
    Decision,
    Deny,
    FinalDecision,
    Rewrite,
)
from rightcall.core.entry import CallChecked, CallDecided, CallStarted, Entry, HookAnswered, StepDone
from rightcall.core.handler import Context
from rightcall.core.jsontext import dump
from rightcall.core.message import user_text
from rightcall.core.options import fits
from rightcall.core.outcome import Denied, DryRun, Failed, GivenUp, Interrupted, Outcome, Returned
from rightcall.core.parts import Call
from rightcall.core.ports import Steps, Tools
from rightcall.core.proposal import Proposal
from rightcall.core.sanitize import encodable_json
from rightcall.core.tool import CheckedCall, Tool
from rightcall.errors import UsageError
from rightcall.gate.approval import (
    covers,
    declared_stakes,
    is_refused,
    remembered_approval,
    remembered_refusal,
    sort_by_stakes,
)
from rightcall.gate.call_check import Refused, check, takes_long
from rightcall.gate.concurrency import AbandonableJob, tool_threads
from rightcall.gate.execution import Execution, not_run
from rightcall.gate.hooks import NO_HOOKS, HookChain
from rightcall.gate.render import replace_text
from rightcall.log import tool_logger, whole
from rightcall.trust.rules import Finding
from rightcall.trust.tally import collect_uses

if TYPE_CHECKING:
    from rightcall.trust.guard import Guard
    from rightcall.trust.rules import Screen


Policy: TypeAlias = Callable[[CheckedCall], Decision | None]
"""Decides what happens to a checked call; None leaves it to the tool and the trust rules."""

Decisions: TypeAlias = Mapping[str, FinalDecision | bool]
"""A person's decisions by call id; True allows, False denies."""

Approve: TypeAlias = Callable[[Proposal], Awaitable[FinalDecision | bool] | FinalDecision | bool]
"""Asks a person about a proposal, now. A function that is not async is called in a thread. If it has a
method ``show`` and a turn has several proposals, ``show`` first gets all of them, the most important
first."""

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
    offer: tuple[str, ...] | None = None
    """The only tools that may be called; None for all."""
    left_alone: Mapping[str, int] = {}
    """The tools that failed too often in a row to be called again, and how often."""
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
        if call.name in self.left_alone:
            verdict: CheckedCall | Outcome = GivenUp(self.left_alone[call.name])
        elif takes_long(call, self.tools):
            verdict = await check_aside(call, self.tools, self.offer)
        else:
            verdict = check(call, self.tools, self.offer)
        if type(verdict) is Failed:
            words = "the arguments of %s could not be checked" + whole(verdict.error)
            tool_logger.warning(words, call.name)
        if self.steps is not None:
            if isinstance(verdict, CheckedCall):
                entry = CallChecked(key=key, call_id=call.id, refused=None, repairs=verdict.repairs)
            else:
                entry = CallChecked(key=key, call_id=call.id, refused=verdict.kind)
            await self.steps.note(f"{key}.checked", entry)
        if not isinstance(verdict, CheckedCall):
            return verdict
        tool = verdict.tool
        if self.dry_run and not (tool.effect in ("pure", "read") or tool.dry_run):
            return DryRun()
        if self.hooks.changes_calls:
            return await self._hook_and_decide(verdict, key)
        if self.policy is None and self.guard is None and not self.decisions and not tool.approval:
            # Nobody has anything to say about it: nearly always so.
            return verdict
        return await self._decide(verdict, key)

    async def run_between_hooks(self, checked: CheckedCall, key: str, execute: Execute) -> Execution:
        """Run a call that was allowed, with the hooks around it. ``execute`` runs it."""
        steps = self.steps
        hooks = self.hooks
        call = checked.call
        effect = checked.tool.effect
        may_have_run = effect == "write" and not checked.tool.delegates
        if steps is not None and may_have_run and steps.was_started(key):
            known = await _reconcile(checked, execute)
            if known is not None:
                return known
        if hooks.watches_calls:
            await hooks.before_tool(checked, partial(self._carry_out, checked))
        if steps is not None and effect != "pure":
            started = CallStarted(key=key, call_id=call.id, effect=effect)
            await steps.note(f"{key}.started", started)
        if self.guard is None:
            execution = await execute(checked)
        else:
            execution = await _run_guarded(self.guard, checked, execute)
        if hooks.changes_results:
            return await hooks.after_tool(execution, checked.tool)
        return execution

    async def _hook_and_decide(self, checked: CheckedCall, key: str) -> Verdict:
        """Ask the hooks about a call that is not refused already. A rewritten call is decided anew."""
        finding = decision_for(checked, self.policy, self.guard)
        if isinstance(finding.decision, Deny | Answer):
            return await self._decide(checked, key, finding)
        answered = self.hooked.get(key)
        if answered is None:

            async def body() -> Entry:
                again = partial(self._carry_out, checked)
                return HookAnswered(
                    key=f"{key}.before_tool",
                    hook="before_tool",
                    call_id=checked.call.id,
                    decision=await self.hooks.before_tool(checked, again),
                )

            entry = await (body() if self.steps is None else self.steps.step(f"{key}.before_tool", body))
            assert isinstance(entry, HookAnswered)
            answered = self.hooked[key] = entry
        said = answered.decision
        if said is None or isinstance(said, Allow):
            return await self._decide(checked, key, finding)
        if isinstance(said, Rewrite):
            rewritten = await self._carry_out(checked, said)
            if isinstance(rewritten, CheckedCall):
                return await self._decide(rewritten, key)
            return rewritten
        await self._note_decision(key, checked.call, Finding(decision=said), "hook")
        return await self._carry_out(checked, said)

    async def _decide(self, checked: CheckedCall, key: str, finding: Finding | None = None) -> Verdict:
        finding = finding or decision_for(checked, self.policy, self.guard)
        decision = finding.decision
        by = "policy"
        if isinstance(decision, Rewrite):
            rewritten = await self._carry_out(checked, decision)
            if isinstance(rewritten, CheckedCall):
                again = _NOTHING if self.guard is None else self.guard.review(rewritten)
                if rewritten.tool.approval and isinstance(again.decision, Allow | None):
                    again = Finding(decision=Ask(), evidence=again.evidence)
                if isinstance(again.decision, Ask | Deny):
                    # The person must approve the arguments that will be run.
                    checked = rewritten
                    finding = again
                    decision = again.decision
        if (given := self.decisions.get(checked.call.id)) is not None:
            decision = given
            by = "person"
        if isinstance(decision, Ask) and is_refused(self.approvals, finding):
            # Nobody is asked again: forty attempts are not forty questions.
            decision = Deny(REFUSED_BEFORE)
        elif isinstance(decision, Ask) and self._covers(checked, finding):
            decision = Allow()
            by = "person"
        if isinstance(decision, Ask):
            proposal = Proposal(
                call_id=checked.call.id,
                name=checked.tool.name,
                arguments=checked.arguments,
                reason=decision.reason,
                evidence=finding.evidence,
                first=declared_stakes(checked.tool),
            )
            if self.approve is None:
                self.waiting[checked.call.id] = (checked, finding)
                return proposal
            decision = await self._ask(proposal, self.approve, key)
            by = "person"
        return await self._settle(checked, key, replace(finding, decision=decision), by)

    async def _settle(self, checked: CheckedCall, key: str, finding: Finding, by: str) -> Verdict:
        """Record the decision about a call, and carry it out."""
        decision = finding.decision
        if decision is None:
            return checked
        assert not isinstance(decision, Ask)
        if by == "person":
            approval = None
            if isinstance(decision, Allow):
                approval = remembered_approval(checked, finding, decision.scope)
            elif isinstance(decision, Deny):
                approval = remembered_refusal(finding)
            if approval is not None and approval not in self.approvals:
                self.approvals.append(approval)
        await self._note_decision(key, checked.call, finding, by)
        return await self._carry_out(checked, decision)

    def _covers(self, checked: CheckedCall, finding: Finding) -> bool:
        return not finding.each_time and covers(self.approvals, checked, finding)

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
        waiting = sort_by_stakes(proposals, self.tools)
        show = getattr(self.approve, "show", None)
        if show is not None and len(waiting) > 1:
            show(waiting)
        for proposal in waiting:
            checked, finding = self.waiting.pop(proposal.call_id)
            key = key_of(at[proposal.call_id])
            said: FinalDecision = Allow()
            if is_refused(self.approvals, finding):
                said = Deny(REFUSED_BEFORE)
            elif not self._covers(checked, finding):
                said = await self._ask(proposal, self.approve, key)
            told = replace(finding, decision=said)
            decided[at[proposal.call_id]] = await self._settle(checked, key, told, "person")
        return decided

    async def _ask(self, proposal: Proposal, approve: Approve, key: str) -> FinalDecision:
        """Ask the person through ``approve``. The answer is a recorded step: nobody is asked twice."""

        async def body() -> Entry:
            answer = final_decision(await ask_person(approve, proposal))
            try:
                value = json.encode(answer)
            except UnicodeEncodeError:
                # Halves of surrogate pairs, which JSON cannot hold, are replaced.
                value = json.encode(encodable_json(to_builtins(answer)))
            return StepDone(key=f"{key}.asked", value=value.decode())

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

    async def _carry_out(self, checked: CheckedCall, decision: FinalDecision) -> CheckedCall | Outcome:
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


async def _reconcile(
    checked: CheckedCall, execute: Callable[[CheckedCall], Awaitable[Execution]]
) -> Execution | None:
    """Ask a tool what became of a call that may have run before a crash.

    Returns the call's execution; None if its tool knows that it did not happen, so that it may run. If
    the tool cannot tell, or fails, the call counts as interrupted: the model reads that it may have run.
    """
    call = checked.call
    reconcile = checked.tool.reconcile
    if reconcile is None:
        return not_run(call, Interrupted())
    answers: list[Any] = []

    def ask(context: Context[Any], **_: Any) -> Any:
        answer = reconcile(context.key)
        if isawaitable(answer):
            return wait_for(answer)
        answers.append(answer)
        return answer

    async def wait_for(answer: Awaitable[Any]) -> Any:
        answers.append(await answer)
        return answers[-1]

    # Run like the tool itself: under its limits, and with its result rendered like the tool's own.
    found = await execute(replace(checked, tool=checked.tool.replace(handler=ask), bound={}))
    if not isinstance(found.outcome, Returned):
        return not_run(call, Interrupted())
    if answers[-1] is None:
        return None
    return found


async def _run_guarded(guard: "Guard", checked: CheckedCall, execute: Execute) -> Execution:
    """Run a call under trust rules: remember what it writes, then mark and screen its result.

    The marks are part of the result, so that a run that is recovered or replayed is judged as it was
    then, whatever has been written since.
    """
    memory = guard.rules.memory
    if memory is not None and (traces := guard.traces_of(checked)):
        await to_thread(memory.add, traces)
    uses = guard.uses_of(checked)
    with guarded_by(guard), collect_uses() as inner:
        execution = await execute(checked)
    if uses or inner:
        # Part of the result, so that a run that is resumed counts what was done.
        result = replace(execution.result, uses=(*uses, *inner))
        execution = replace(execution, result=result)
    result = execution.result
    if memory is not None:
        from rightcall.trust.traces import came_back, content_of  # noqa: PLC0415 - seldom needed

        # Texts that an earlier run recorded, and that now look trusted.
        planted = await to_thread(came_back, content_of(result), memory.__contains__)
        if planted:
            result = replace(result, planted=tuple(sorted(planted)))
            execution = replace(execution, result=result)
    if guard.rules.screen is None or result.source is None:
        return execution
    return await _screen_result(execution, checked.tool, guard.rules.screen)


async def _screen_result(execution: Execution, tool: Tool, screen: "Screen") -> Execution:
    """Returns the execution after the screen: marked, reworded or withheld. The record keeps both."""
    from rightcall.trust.pieces import open_envelope  # noqa: PLC0415 - seldom needed

    result = execution.result
    original = execution.original or result
    verdict: object = await screen(open_envelope(result.text))
    match verdict:
        case False:
            return execution
        case True:
            return replace(execution, result=replace(result, suspected=True))
        case Answer(text):
            # A summary of untrusted text is still untrusted, and is marked as that.
            words = replace_text(replace(result, suspected=True), text, tool)
            return replace(execution, result=words, original=original)
        case Deny(reason, then):
            withheld = not_run(execution.call, Denied(reason, ran=True))
            notes = execution.notes
            if then:
                notes = (*notes, user_text(then, "runtime"))
            return replace(
                execution,
                outcome=withheld.outcome,
                result=replace(withheld.result, suspected=True),
                original=original,
                notes=notes,
            )
        case _:
            kind = type(verdict).__name__
            raise UsageError(f"a screen answers with True, False, Answer or Deny, and not with {kind}")


def check_approver(approve: Approve | None) -> None:
    """Raise UsageError for a function that cannot be called with a proposal, before anybody waits."""
    if not isfunction(approve):
        return
    try:
        signature(approve).bind(None)
    except TypeError as error:
        raise UsageError(f"approve= is called with one proposal, approve(proposal): {error}") from error


async def ask_person(approve: Approve, proposal: Proposal) -> FinalDecision | bool:
    """What ``approve`` answers to a proposal."""
    if isfunction(approve) and not iscoroutinefunction(approve):
        # It may wait for a person at a terminal, and the event loop must not.
        answer = await tool_threads().run(partial(approve, proposal), AbandonableJob())
    else:
        answer = approve(proposal)
    if isawaitable(answer):
        answer = await answer
    return answer  # type: ignore[no-any-return]


async def check_aside(
    call: Call, tools: Tools, offer: tuple[str, ...] | None = None
) -> CheckedCall | Refused:
    """Check a call; in a thread if it takes long, so that the event loop is not blocked."""
    if not takes_long(call, tools):
        return check(call, tools, offer)
    return await tool_threads().run(partial(check, call, tools, offer), AbandonableJob())  # type: ignore[no-any-return]


def decision_for(
    checked: CheckedCall, policy: Policy | None, guard: "Guard | None" = None, *, early: bool = False
) -> Finding:
    """Returns the strictest decision about a call by policy, guard and tool, before anyone is asked.

    A tool that requires approval is asked about even where the policy would allow it; a policy can be
    stricter than the tool, not laxer. ``early`` is a call that may start while the reply streams.
    """
    decision = None
    if policy is not None:
        decision = _validate_decision(policy(checked))
    if isinstance(decision, Deny | Answer | Rewrite):
        return Finding(decision=decision)
    finding = _NOTHING
    if guard is not None:
        finding = guard.judge(checked, early=early)
    if isinstance(finding.decision, Deny | Ask | Rewrite):
        return finding
    if isinstance(decision, Ask) or checked.tool.approval:
        asked = decision if isinstance(decision, Ask) else Ask()
        return Finding(decision=asked, reason=asked.reason, evidence=finding.evidence)
    return finding


def _validate_decision(answer: object) -> Decision | None:
    """Validate a policy's answer. Raises unless it is a decision, so that nothing passes for a yes."""
    if answer is None or isinstance(answer, Decision):
        return answer
    kind = f"of the type {type(answer).__name__}"
    if isinstance(answer, Coroutine):
        answer.close()
        kind = "with a coroutine: it is a plain function"
    raise UsageError(f"a policy answers with Allow, Deny, Ask, Rewrite, Answer or None, and not {kind}")


def final_decision(answer: object) -> FinalDecision:
    """Validate an approver's or the caller's answer. Anything but a clear decision raises."""
    if isinstance(answer, bool):
        if answer:
            return Allow()
        return Deny()
    if isinstance(answer, FinalDecision):
        return answer
    raise UsageError(
        "a decision is True, False, Allow, Deny, Rewrite or Answer, "
        f"and not of the type {type(answer).__name__}"
    )


def validate_decisions(pending: Sequence[Proposal], decisions: Decisions) -> dict[str, FinalDecision]:
    """Validate the caller's decisions: one about each pending call, and about no other."""
    waiting = [proposal.call_id for proposal in pending]
    if not fits(decisions, Mapping):
        kind = type(decisions).__name__
        raise UsageError(
            f"decisions are by call id, as in {{call_id: True}}, and not of the type {kind}"
        )
    later = {proposal.call_id for proposal in pending if proposal.later}
    # Answers that come later come one at a time.
    missing = [call_id for call_id in waiting if call_id not in decisions and call_id not in later]
    if missing or (pending and not decisions):
        raise UsageError(f"no decision about {', '.join(missing or waiting)}")
    if unknown := [call_id for call_id in decisions if call_id not in waiting]:
        raise UsageError(f"a decision about {', '.join(unknown)}, which is not pending")
    decided = {call_id: final_decision(decision) for call_id, decision in decisions.items()}
    for call_id, decision in decided.items():
        if call_id in later and not isinstance(decision, Answer | Deny):
            raise UsageError(
                f"{call_id} has run and is answered later: rc.Answer(…) gives its result, rc.Deny(…) "
                "says that there will be none"
            )
    return decided


def guard_above() -> "Guard | None":
    """Returns the guard of the run that this code is called from, if it has one."""
    return _guard.get()


def guarded_by(guard: "Guard | None") -> AbstractContextManager[None]:
    """Code in this context belongs to that guard's run; without a guard, to the run around it."""
    if guard is None:
        return _UNWATCHED
    return _guard_context(guard)


@contextmanager
def _guard_context(guard: "Guard") -> Iterator[None]:
    token = _guard.set(guard)
    try:
        yield
    finally:
        _guard.reset(token)
