"""A run that waits for a person into everything that the person needs to decide."""

import json
from collections.abc import Sequence

from rightcall.core.decision import Allow, Answer, Ask, Deny, Proposal, Rewrite
from rightcall.core.entry import RunPaused, RunResumed
from rightcall.core.message import User
from rightcall.core.tool import Spec, Tool
from rightcall.serve.studio.agents import AgentHere
from rightcall.serve.studio.file_diff import diff_of
from rightcall.serve.studio.reading import Reading
from rightcall.serve.studio.run_facts import MOST_SHOWN
from rightcall.serve.studio.to_json import Json, evidence_json
from rightcall.serve.studio.trust_view import Judged
from rightcall.trust.asking import question_lines

_COLUMNS = 100
_ASKED = "This call came over MCP, and its client has been asked: it cannot be decided here."
_SAYS = {Allow: "allow", Deny: "deny", Ask: "ask", Rewrite: "rewrite", Answer: "answer"}


def pause_of(reading: Reading) -> tuple[str, float | None] | None:
    """The key of the pause that a run is in, and its time; None if it does not wait."""
    found: tuple[str, float | None] | None = None
    for entry, at in reading.written:
        if isinstance(entry, RunPaused):
            found = (entry.key, at)
        elif isinstance(entry, RunResumed):
            found = None
    return found


def is_clients(pause: str) -> bool:
    """Whether a pause is that of a call over MCP, about which its client is asked, and nobody here."""
    return pause.endswith(".asked")


def waiting_ids(reading: Reading) -> tuple[str, ...]:
    """The ids of the calls that wait."""
    return tuple([each.call_id for each in proposals_of(reading)])


def proposals_of(reading: Reading) -> Sequence[Proposal]:
    """The proposals that wait, from a replay of the record."""
    if pause_of(reading) is None or reading.retraced is None:
        return ()
    return reading.retraced.result.pending


def pending_json(
    reading: Reading, judged: Judged, here: AgentHere | None, why_not: str = ""
) -> list[Json]:
    """Every waiting call of a run, as JSON."""
    pause = pause_of(reading)
    if pause is None:
        return []
    why_not = why_not or (_ASKED if is_clients(pause[0]) else "")
    whether = {"can_decide": not why_not, "why_not": why_not}
    return [_pending(each, pause, reading, judged, here) | whether for each in proposals_of(reading)]


def _pending(
    proposal: Proposal,
    pause: tuple[str, float | None],
    reading: Reading,
    judged: Judged,
    here: AgentHere | None,
) -> Json:
    finding = judged.findings.get(proposal.call_id)
    evidence = finding.evidence if finding is not None else ()
    ask = finding.decision if finding is not None else None
    reason = (ask.reason if isinstance(ask, Ask) else "") or (finding.reason if finding else "")
    told = Proposal(
        call_id=proposal.call_id,
        name=proposal.name,
        arguments=proposal.arguments,
        reason=proposal.reason or reason,
        evidence=evidence,
        agent=proposal.agent,
    )
    spec = _spec(reading, proposal.name)
    tool = _tool(here, proposal)
    return {
        "run": reading.run,
        "shown": reading.run,
        "at": pause[1],
        "call_id": proposal.call_id,
        "shown_id": proposal.call_id,
        "name": proposal.name,
        "agent": proposal.agent,
        "arguments": proposal.arguments,
        "arguments_text": json.dumps(proposal.arguments, indent=2, ensure_ascii=False),
        "description": (tool or spec).description if (tool or spec) else "",  # type: ignore[union-attr]
        "origin": spec.origin if spec else "",
        "parameters": (tool or spec).parameters if (tool or spec) else None,  # type: ignore[union-attr]
        "effect": tool.effect if tool else None,
        "lines": [lines_json(line.text, from_outside=line.from_outside)
                  for line in question_lines(told, _COLUMNS)],
        "reason": told.reason,
        "evidence": evidence_json(evidence),
        "values": evidence_json(judged.values.get(proposal.call_id, ())),
        "rules": _rules(judged, proposal.call_id, here),
        "diff": diff_of(proposal.name, proposal.arguments),
        "pause": pause[0],
        "prompt": _prompt(reading),
    }  # fmt: skip


def lines_json(text: str, *, from_outside: bool) -> Json:
    """A line of a question, as JSON."""
    return {"text": text, "from_outside": from_outside}


def _prompt(reading: Reading) -> str:
    """What the run is about: the start of the user's last message."""
    said = [m.text for m in reading.start.messages if isinstance(m, User)] if reading.start else []
    return said[-1][:MOST_SHOWN] if said else ""


def _spec(reading: Reading, name: str) -> Spec | None:
    specs = reading.start.specs if reading.start else ()
    return next((spec for spec in specs if spec.name == name), None)


def _tool(here: AgentHere | None, proposal: Proposal) -> Tool | None:
    return None if here is None or proposal.agent else here.agent.tools.get(proposal.name)


def _rules(judged: Judged, call_id: str, here: AgentHere | None) -> Json:
    finding = judged.findings.get(call_id)
    if here is None or finding is None:
        words = "Start the studio with the agent to see what its rules say."
        return {"says": "unknown", "words": words, "how": "unknown"}
    says = "nothing" if finding.decision is None else _SAYS[type(finding.decision)]
    words = finding.reason or {
        "nothing": "Nothing in the rules speaks against it.",
        "ask": "A person must say yes to each call of this tool.",
    }.get(says, "")
    return {"says": says, "words": words, "how": "recomputed"}
