"""A call that a person makes with a form, through the agent's gate: as if its model had asked for it."""

from functools import partial
from typing import Any

from rightcall.core.call import Call, CheckedCall
from rightcall.core.decision import Allow, Deny, FinalDecision, Proposal
from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.outcome import Invalid
from rightcall.core.parts import Result
from rightcall.gate.attempt import Setting
from rightcall.gate.execution import not_run
from rightcall.gate.executor import Executor
from rightcall.gate.gate import Gate
from rightcall.record.redact import redact_secrets
from rightcall.serve.studio.agents import AgentHere
from rightcall.serve.studio.file_diff import diff_of
from rightcall.serve.studio.to_json import Json, evidence_json, result_json
from rightcall.serve.studio.waiting import lines_json
from rightcall.trust.asking import question_lines


class _Asked:
    """The approver: returns the person's answer, and keeps the proposal that they must be shown."""

    def __init__(self, *, is_approved: bool) -> None:
        self._is_approved = is_approved
        self.proposal: Proposal | None = None

    async def __call__(self, proposal: Proposal) -> FinalDecision:
        if self._is_approved:
            return Allow()
        self.proposal = proposal
        return Deny()


async def try_call(
    here: AgentHere, tool: str, arguments: JsonObject, *, dry_run: bool, is_approved: bool
) -> Json:
    """Send a call through the gate. If a person must approve it first, nothing is run."""
    asked = _Asked(is_approved=is_approved)
    call = Call(id="try", name=tool, arguments=dump(arguments))
    gate = Gate(
        tools=here.agent.tools,
        policy=here.policy,
        approve=asked,
        hooks=here.hooks,
        dry_run=dry_run,
    )
    verdict = await gate.judge(call, call.id)
    if isinstance(verdict, CheckedCall):
        execute = partial(Executor().run, setting=Setting(dry_run=dry_run))
        done = await gate.run(verdict, call.id, execute)
    else:
        assert not isinstance(verdict, Proposal)
        done = not_run(call, verdict)
    if asked.proposal is not None:
        return _answer("", None, proposal=_proposal(asked.proposal))
    problems = done.outcome.problems if isinstance(done.outcome, Invalid) else ()
    told = [{"path": each.path, "message": each.message} for each in problems]
    error = getattr(done.outcome, "error", "")
    return _answer(
        done.outcome.kind, done.result, seconds=done.seconds, problems=told, error=redact_secrets(error)
    )


def _answer(outcome: str, result: Result | None, **more: Any) -> Json:
    # Media from a tool is in no journal, so there is no URL for it.
    shown = None if result is None else result_json(result, "")
    for part in shown["parts"] if shown else ():
        if part["type"] == "media":
            part.update(url=None, inline=False)
    told = {"outcome": outcome, "result": redact_secrets(shown), "seconds": 0.0, "problems": []}
    return {**told, "error": "", "proposal": None, **more}


def _proposal(proposal: Proposal) -> Json:
    return {
        "name": proposal.name,
        "arguments": proposal.arguments,
        "lines": [
            lines_json(line.text, from_outside=line.from_outside) for line in question_lines(proposal)
        ],
        "reason": proposal.reason,
        "evidence": evidence_json(proposal.evidence),
        "diff": diff_of(proposal.name, proposal.arguments),
    }
