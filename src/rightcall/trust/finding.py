"""The verdict of the trust rules on a call, and its wording."""

from collections.abc import Iterable

from msgspec import Struct

from rightcall.core.call import CheckedCall
from rightcall.core.decision import Allow, Ask, Decision, Deny, Evidence, Rewrite
from rightcall.core.jsontext import leaves
from rightcall.core.problem import json_path
from rightcall.core.secret import may_hold_secret, redact_formats
from rightcall.trust.rules import Case, Rule, first

_LAX_TO_STRICT = (type(None), Allow, Rewrite, Ask, Deny)
_MOST_SHOWN = 3
UNVOUCHED = "what is at"
"""The start of every message about a value that nobody has vouched for."""


class Finding(Struct, frozen=True, kw_only=True):
    """The verdict of the trust rules on a call, with reason and evidence."""

    decision: Decision | None = None
    """None if the rules have no objection: the call may run."""
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    each_time: bool = False
    """Whether an approval of an earlier call does not cover this one."""


def strictness(finding: Finding) -> int:
    """A rank for comparing findings: larger is stricter."""
    return _LAX_TO_STRICT.index(type(finding.decision))


def secret_in(checked: CheckedCall) -> Evidence | None:
    """Evidence of what looks like a key or a password in a call; None if there is none."""
    for place, text in leaves(checked.arguments):
        if may_hold_secret(text) and redact_formats(text) != text:
            return Evidence(json_path(list(place)), "[redacted]", "nowhere")
    return None


def told(unvouched: tuple[Evidence, ...]) -> str:
    """A message that lists what nobody has vouched for."""
    shown = [_sighting(each) for each in unvouched[:_MOST_SHOWN]]
    more = len(unvouched) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more else "")


def _sighting(each: Evidence) -> str:
    # Without the value itself: the model reads this, and the value may be untrusted text.
    match each.origin:
        case "untrusted":
            return f"{UNVOUCHED} {each.path} comes from what {each.source} returned, not from the user"
        case "unfit":
            return f"{UNVOUCHED} {each.path} was named, but not for this: as something else, or for less"
        case "trusted" | "listed":
            return f"{UNVOUCHED} {each.path} is known from {each.source}, but the user has not named it"
        case _:
            return f"{UNVOUCHED} {each.path} was named by nobody but the model"


def by_policy(policy: Iterable[Rule], case: Case) -> Finding:
    """The verdict of the operator's policy: of its first rule that applies."""
    rule = first(policy, case)
    if rule is None:
        if not case.facts.is_consequential:
            return Finding()
        return Finding(decision=Deny("no rule allows it"), reason="no rule allows it")
    words = rule.reason or f"a rule says {rule.action}"
    evidence = case.evidence
    match rule.action:
        case "allow":
            return Finding(decision=Allow(), reason=words, evidence=evidence)
        case "deny":
            return Finding(decision=Deny(words), reason=words, evidence=evidence)
        case "ask":
            return Finding(decision=Ask(words), reason=words, evidence=evidence)
        case "rewrite":
            arguments = {**case.checked.arguments, **rule.set}
            return Finding(decision=Rewrite(arguments), reason=words, evidence=evidence)
