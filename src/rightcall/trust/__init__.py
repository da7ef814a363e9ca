"""Trust: what a run may do once it has read untrusted text, decided without asking the model."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.core.decision import Approval, Evidence, Grant
    from rightcall.trust.asking import question, question_lines
    from rightcall.trust.draft import Draft
    from rightcall.trust.file import read_rules
    from rightcall.trust.finding import Finding
    from rightcall.trust.guard import Guard, inert, labels
    from rightcall.trust.ledger import Ledger
    from rightcall.trust.overlay import Stated, StatedFacts, read_facts, starter, starters
    from rightcall.trust.pieces import Label, Piece
    from rightcall.trust.rules import Rule, Rules
    from rightcall.trust.screening import screen_with
    from rightcall.trust.suggestion import as_python, as_toml, suggest
    from rightcall.trust.trifecta import Path, Report, audit

__all__ = [
    "Approval",
    "Draft",
    "Evidence",
    "Finding",
    "Grant",
    "Guard",
    "Label",
    "Ledger",
    "Path",
    "Piece",
    "Report",
    "Rule",
    "Rules",
    "Stated",
    "StatedFacts",
    "as_python",
    "as_toml",
    "audit",
    "inert",
    "labels",
    "question",
    "question_lines",
    "read_facts",
    "read_rules",
    "screen_with",
    "starter",
    "starters",
    "suggest",
]

lazily(
    __name__,
    {
        "Approval": "core.decision",
        "Draft": "trust.draft",
        "Evidence": "core.decision",
        "Finding": "trust.finding",
        "Grant": "core.decision",
        "Guard": "trust.guard",
        "Label": "trust.pieces",
        "Ledger": "trust.ledger",
        "Path": "trust.trifecta",
        "Piece": "trust.pieces",
        "Report": "trust.trifecta",
        "Rule": "trust.rules",
        "Rules": "trust.rules",
        "Stated": "trust.overlay",
        "StatedFacts": "trust.overlay",
        "as_python": "trust.suggestion",
        "as_toml": "trust.suggestion",
        "audit": "trust.trifecta",
        "inert": "trust.guard",
        "labels": "trust.guard",
        "question": "trust.asking",
        "question_lines": "trust.asking",
        "read_facts": "trust.overlay",
        "read_rules": "trust.file",
        "screen_with": "trust.screening",
        "starter": "trust.overlay",
        "starters": "trust.overlay",
        "suggest": "trust.suggestion",
    },
)
