"""Trust: what a run may do once it has read untrusted text, decided without asking the model."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import index_homes, lazily

if TYPE_CHECKING:
    from rightcall.core.decision import Approval as Approval
    from rightcall.core.decision import Evidence as Evidence
    from rightcall.core.decision import Grant as Grant
    from rightcall.core.proposal import question as question
    from rightcall.core.proposal import question_lines as question_lines
    from rightcall.trust.draft import Draft as Draft
    from rightcall.trust.draft import as_python as as_python
    from rightcall.trust.draft import as_toml as as_toml
    from rightcall.trust.draft import suggest as suggest
    from rightcall.trust.facts_file import Stated as Stated
    from rightcall.trust.facts_file import StatedFacts as StatedFacts
    from rightcall.trust.facts_file import read_facts as read_facts
    from rightcall.trust.facts_file import starter as starter
    from rightcall.trust.facts_file import starters as starters
    from rightcall.trust.guard import Guard as Guard
    from rightcall.trust.guard import inert as inert
    from rightcall.trust.guard import labels as labels
    from rightcall.trust.injection_screen import screen_with as screen_with
    from rightcall.trust.ledger import Ledger as Ledger
    from rightcall.trust.pieces import Label as Label
    from rightcall.trust.pieces import Piece as Piece
    from rightcall.trust.rules import Finding as Finding
    from rightcall.trust.rules import Rule as Rule
    from rightcall.trust.rules import Rules as Rules
    from rightcall.trust.rules_file import read_rules as read_rules
    from rightcall.trust.trifecta import Path as Path
    from rightcall.trust.trifecta import Report as Report
    from rightcall.trust.trifecta import audit as audit

_HOMES = {
    "core.decision": ("Approval", "Evidence", "Grant"),
    "core.proposal": ("question", "question_lines"),
    "trust.draft": ("Draft", "as_python", "as_toml", "suggest"),
    "trust.facts_file": ("Stated", "StatedFacts", "read_facts", "starter", "starters"),
    "trust.guard": ("Guard", "inert", "labels"),
    "trust.injection_screen": ("screen_with",),
    "trust.ledger": ("Ledger",),
    "trust.pieces": ("Label", "Piece"),
    "trust.rules": ("Finding", "Rule", "Rules"),
    "trust.rules_file": ("read_rules",),
    "trust.trifecta": ("Path", "Report", "audit"),
}
lazily(__name__, index_homes(_HOMES))
