"""A run that waits for a person into everything that the person needs to decide."""

import json
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from msgspec import to_builtins
from msgspec.structs import asdict, replace

from rightcall.core.decision import Allow, Answer, Ask, Deny, Rewrite
from rightcall.core.entry import RunPaused, RunResumed
from rightcall.core.message import User
from rightcall.core.proposal import COLUMNS, Proposal, question_lines
from rightcall.gate.approval import declared_stakes
from rightcall.serve.studio.agents import StudioAgent
from rightcall.serve.studio.index import MOST_SHOWN
from rightcall.serve.studio.run_view import RunView
from rightcall.serve.studio.to_json import Json, evidence_json
from rightcall.serve.studio.trust_view import TrustVerdicts

_PATHS = ("path", "file_path", "file", "filename")
_WHOLE = ("content", "file_text", "contents", "text")
_PAIRS = (("old_text", "new_text"), ("old_str", "new_str"), ("old_string", "new_string"))
_CONTEXT = 3
_MOST = 2000
"""Lines."""
_WRITES = ("write", "create", "edit", "str_replace", "insert", "replace", "update", "append", "save")
_UNSEEN = (
    "The file as it is now is not shown: the whole of it would be replaced by this, if it is there."
)


def diff_of(name: str, arguments: Mapping[str, Any]) -> Json | None:
    """The changes that a call would make to a file; None if it changes none, as far as can be seen."""
    path = None
    for key in _PATHS:
        if path is None and isinstance(arguments.get(key), str):
            path = arguments[key]
    for old, new in _PAIRS:
        if isinstance(arguments.get(old), str):
            return _diff_json(path or "", _changes(arguments[old], str(arguments.get(new) or "")), "")
    if isinstance(patch := arguments.get("diff", arguments.get("patch")), str):
        kinds = {"+": "add", "-": "remove", "@": "skip"}
        lines = []
        for line in patch.splitlines():
            kind = kinds.get(line[:1], "same")
            lines.append([kind, line if kind == "skip" else line[1:]])
        return _diff_json(path or "", lines, "")
    verbs = f"{name} {arguments.get('mode')} {arguments.get('command')}".lower()
    if path is None or not any(write in verbs for write in _WRITES):
        return None
    if isinstance(text := arguments.get("insert_text"), str):
        after = f"After line {arguments.get('insert_line', '?')}."
        return _diff_json(path, [["add", line] for line in text.splitlines()], after)
    for key in _WHOLE:
        if isinstance(text := arguments.get(key), str):
            return _diff_json(path, [["add", line] for line in text.splitlines()], _UNSEEN, is_new=True)
    return None


def _changes(old: str, new: str) -> list[list[str]]:
    before = old.splitlines()
    after = new.splitlines()
    lines: list[list[str]] = []
    for group in SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(_CONTEXT):
        if lines:
            lines.append(["skip", "…"])
        for tag, first, last, start, end in group:
            if tag == "equal":
                lines += [["same", line] for line in before[first:last]]
                continue
            lines += [["remove", line] for line in before[first:last]]
            lines += [["add", line] for line in after[start:end]]
    return lines


def _diff_json(path: str, lines: list[list[str]], note: str, *, is_new: bool = False) -> Json:
    if len(lines) > _MOST:
        note = f"{note} {len(lines) - _MOST} more lines are not shown.".strip()
    return {"path": path, "is_new": is_new, "lines": lines[:_MOST], "note": note}


_COLUMNS = 100
_ASKED = "This call came over MCP, and its client has been asked: it cannot be decided here."
_SAYS = {Allow: "allow", Deny: "deny", Ask: "ask", Rewrite: "rewrite", Answer: "answer"}


def pause_of(reading: RunView) -> tuple[str, float | None] | None:
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


def waiting_ids(reading: RunView) -> tuple[str, ...]:
    """The ids of the calls that wait."""
    return tuple([each.call_id for each in proposals_of(reading)])


def proposals_of(reading: RunView) -> Sequence[Proposal]:
    """The proposals that wait, from a replay of the record."""
    if pause_of(reading) is None or reading.retraced is None:
        return ()
    return reading.retraced.result.pending


def pending_json(
    reading: RunView, judged: TrustVerdicts, here: StudioAgent | None, why_not: str = ""
) -> list[Json]:
    """Every waiting call of a run, as JSON."""
    pause = pause_of(reading)
    if pause is None:
        return []
    if not why_not and is_clients(pause[0]):
        why_not = _ASKED
    whether = {"can_decide": not why_not, "why_not": why_not}
    return [_pending(each, pause, reading, judged, here) | whether for each in proposals_of(reading)]


def _pending(
    proposal: Proposal,
    pause: tuple[str, float | None],
    reading: RunView,
    judged: TrustVerdicts,
    here: StudioAgent | None,
) -> Json:
    finding = judged.findings.get(proposal.call_id)
    reason = proposal.reason
    if finding is not None and not reason:
        reason = finding.reason
        if isinstance(finding.decision, Ask) and finding.decision.reason:
            reason = finding.decision.reason
    evidence = finding.evidence if finding is not None else ()
    # What the run is about: the start of the user's last message.
    prompt = ""
    spec = None
    if reading.start:
        for each in reading.start.specs:
            if spec is None and each.name == proposal.name:
                spec = each
        for message in reading.start.messages:
            if isinstance(message, User):
                prompt = message.text[:MOST_SHOWN]
    tool = None
    if here is not None and not proposal.agent:
        tool = here.agent.tools.get(proposal.name)
    described = tool or spec
    # A record has no facts of tools: those of the agent that is here say what stands first.
    first = proposal.first if tool is None else declared_stakes(tool)
    shown = replace(proposal, reason=reason, evidence=evidence, first=first)
    return proposal_json(shown, _COLUMNS) | {
        "run": reading.run,
        "shown": reading.run,
        "at": pause[1],
        "shown_id": proposal.call_id,
        "arguments_text": json.dumps(proposal.arguments, indent=2, ensure_ascii=False),
        "description": described.description if described else "",
        "origin": spec.origin if spec else "",
        "parameters": described.parameters if described else None,
        "effect": tool.effect if tool else None,
        "values": evidence_json(judged.values.get(proposal.call_id, ())),
        "rules": _rules(judged, proposal.call_id, here),
        "pause": pause[0],
        "prompt": prompt,
    }


def proposal_json(proposal: Proposal, columns: int = COLUMNS) -> Json:
    """A proposal as JSON: every fact that it has, and the lines in which a person reads them.

    A new fact of proposals needs nothing here: ``question_lines`` words it for every display.
    """
    lines = []
    for line in question_lines(proposal, columns):
        lines.append({"text": line.text, "from_outside": line.from_outside})
    facts: Json = {name: to_builtins(value) for name, value in asdict(proposal).items()}
    return facts | {
        "lines": lines,
        "evidence": evidence_json(proposal.evidence),
        "diff": diff_of(proposal.name, proposal.arguments),
    }


def _rules(judged: TrustVerdicts, call_id: str, here: StudioAgent | None) -> Json:
    finding = judged.findings.get(call_id)
    if here is None or finding is None:
        words = "Start the studio with the agent to see what its rules say."
        return {"says": "unknown", "words": words, "how": "unknown"}
    says = "nothing"
    if finding.decision is not None:
        says = _SAYS[type(finding.decision)]
    words = finding.reason or {
        "nothing": "Nothing in the rules speaks against it.",
        "ask": "A person must say yes to each call of this tool.",
    }.get(says, "")
    return {"says": says, "words": words, "how": "recomputed"}
