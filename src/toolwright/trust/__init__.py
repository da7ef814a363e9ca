"""Trust: what a run may do once text that outsiders wrote is in it, decided without asking the model."""

from typing import TYPE_CHECKING

from toolwright.core.lazy import lazily

if TYPE_CHECKING:
    from toolwright.core.decision import Approval, Evidence, Grant
    from toolwright.trust.file import read_rules
    from toolwright.trust.guard import Finding, Guard, labels
    from toolwright.trust.label import Label, Piece
    from toolwright.trust.policy import Rule
    from toolwright.trust.rules import Rules
    from toolwright.trust.screen import screen_with
    from toolwright.trust.trifecta import Path, Report, audit

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
    "labels",
    "read_rules",
    "screen_with",
]

__getattr__ = lazily(
    __name__,
    {
        "Approval": "core.decision",
        "Evidence": "core.decision",
        "Finding": "trust.guard",
        "Grant": "core.decision",
        "Guard": "trust.guard",
        "Label": "trust.label",
        "Path": "trust.trifecta",
        "Piece": "trust.label",
        "Report": "trust.trifecta",
        "Rule": "trust.policy",
        "Rules": "trust.rules",
        "audit": "trust.trifecta",
        "labels": "trust.guard",
        "read_rules": "trust.file",
        "screen_with": "trust.screen",
    },
)
