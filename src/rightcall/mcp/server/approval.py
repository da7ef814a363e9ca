"""A call that wants a person's yes into a form for the client, and the form into a decision."""

import json

from rightcall.core.decision import Allow, Deny, FinalDecision, Proposal
from rightcall.mcp.server.questions import Answer, Filled, Form

QUESTION = "rightcall_approval"
"""The name under which the form is asked."""
MOST_SHOWN = 4000
"""Characters of a call's arguments that a person is shown."""


def form_for(proposal: Proposal) -> Form:
    """What a person must know to decide: the tool, why they are asked, the whole of the arguments."""
    reason = f" ({proposal.reason})" if proposal.reason else ""
    text = json.dumps(proposal.arguments, ensure_ascii=False, indent=2)
    if len(text) > MOST_SHOWN:
        text = f"{text[:MOST_SHOWN]}…\n({len(text):,} characters in all; the rest is not shown)"
    return Form(
        message=_visible(f"Run {proposal.name}{reason} with\n{text}"),
        fields={
            "allow": {"type": "boolean", "title": "Run it"},
            "reason": {"type": "string", "title": "Why not", "description": "For the model to read"},
        },
        required=("allow",),
    )


def decision_from(answer: Answer) -> FinalDecision:
    """Only a clear yes is one."""
    if not isinstance(answer, Filled) or answer.action != "accept":
        return Deny()
    if answer.content.get("allow") is True:
        return Allow()
    reason = answer.content.get("reason")
    return Deny(reason if isinstance(reason, str) else "")


def _visible(text: str) -> str:
    """``text`` with every character that would not be seen written as its number."""
    return "".join([c if c.isprintable() or c == "\n" else f"\\u{ord(c):04x}" for c in text])
