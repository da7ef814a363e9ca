"""Trust: what a run may do once text that outsiders wrote is in it, decided without asking the model."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.core.decision import Approval, Evidence, Grant
    from rightcall.trust.file import read_rules
    from rightcall.trust.guard import Finding, Guard, inert, labels
    from rightcall.trust.provenance import Label, Piece
    from rightcall.trust.rules import Rule, Rules
    from rightcall.trust.screening import screen_with
    from rightcall.trust.trifecta import Path, Report, audit

__all__ = [
    "Approval",
    "Evidence",
    "Finding",
    "Grant",
    "Guard",
    "Label",
    "Path",
    "Piece",
    "Report",
    "Rule",
    "Rules",
    "audit",
    "inert",
    "labels",
    "read_rules",
    "screen_with",
]

lazily(
    __name__,
    {
        "Approval": "core.decision",
        "Evidence": "core.decision",
        "Finding": "trust.guard",
        "Grant": "core.decision",
        "Guard": "trust.guard",
        "Label": "trust.provenance",
        "Path": "trust.trifecta",
        "Piece": "trust.provenance",
        "Report": "trust.trifecta",
        "Rule": "trust.rules",
        "Rules": "trust.rules",
        "audit": "trust.trifecta",
        "inert": "trust.guard",
        "labels": "trust.guard",
        "read_rules": "trust.file",
        "screen_with": "trust.screening",
    },
)
