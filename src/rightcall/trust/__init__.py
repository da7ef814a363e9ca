"""Trust: what a run may do once it has read untrusted text, decided without asking the model."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import index_homes, lazily

if TYPE_CHECKING:
    from rightcall.core.decision import Approval as Approval
    from rightcall.core.decision import Evidence as Evidence
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
    from rightcall.trust.intents import AtMost as AtMost
    from rightcall.trust.intents import Day as Day
    from rightcall.trust.intents import Delegation as Delegation
    from rightcall.trust.intents import Found as Found
    from rightcall.trust.intents import Free as Free
    from rightcall.trust.intents import Like as Like
    from rightcall.trust.intents import Mentioned as Mentioned
    from rightcall.trust.intents import OneOf as OneOf
    from rightcall.trust.intents import ResultOf as ResultOf
    from rightcall.trust.intents import day as day
    from rightcall.trust.intents import free as free
    from rightcall.trust.intents import like as like
    from rightcall.trust.intents import mentioned as mentioned
    from rightcall.trust.intents import one_of as one_of
    from rightcall.trust.intents import read_intents as read_intents
    from rightcall.trust.intents import result_of as result_of
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
    "core.decision": ("Approval", "Evidence"),
    "core.proposal": ("question", "question_lines"),
    "trust.draft": ("Draft", "as_python", "as_toml", "suggest"),
    "trust.facts_file": ("Stated", "StatedFacts", "read_facts", "starter", "starters"),
    "trust.guard": ("Guard", "inert", "labels"),
    "trust.injection_screen": ("screen_with",),
    "trust.intents": (
        "AtMost",
        "Day",
        "Delegation",
        "Found",
        "Free",
        "Like",
        "Mentioned",
        "OneOf",
        "ResultOf",
        "day",
        "free",
        "like",
        "mentioned",
        "one_of",
        "read_intents",
        "result_of",
    ),
    "trust.ledger": ("Ledger",),
    "trust.pieces": ("Label", "Piece"),
    "trust.rules": ("Finding", "Rule", "Rules"),
    "trust.rules_file": ("read_rules",),
    "trust.trifecta": ("Path", "Report", "audit"),
}
lazily(__name__, index_homes(_HOMES))
