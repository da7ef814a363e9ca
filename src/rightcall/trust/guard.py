"""Decides whether a call may run, by what the run has read, without asking the model.

Every verdict follows from the transcript, the tools' facts and the rules, so that a run that is resumed,
recovered or inspected later gets the same verdicts.
"""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import partial
from itertools import chain, islice, takewhile

from msgspec.structs import replace

from rightcall.core.call import Call, CheckedCall
from rightcall.core.decision import Allow, Ask, Deny, Evidence
from rightcall.core.jsontext import JsonValue
from rightcall.core.message import Reply, Transcript
from rightcall.core.options import checked
from rightcall.core.ports import Tools
from rightcall.trust.bounds import bounds_in
from rightcall.trust.evidence import (
    Known,
    can_do,
    content_in,
    is_looked_at,
    keeps_terms,
    meant_in,
    words_in,
)
from rightcall.trust.facts import STRICT, Settled
from rightcall.trust.finding import Finding, by_policy, secret_in, strictness, told
from rightcall.trust.paid import Paid
from rightcall.trust.pieces import Piece
from rightcall.trust.rules import Case, Rules
from rightcall.trust.seen import Seen, decoded
from rightcall.trust.targets import targets_in

GO_ON = "What was refused stays refused. Go on with the rest of the task without it."
"""The message to the model, in a turn of its own, after results that include a refused call."""
_MOST_EVIDENCE = 200


class Guard(Seen):
    """Applies trust rules to one run. Show it every message in order; ask it about every call."""

    @checked("rc.trust.Guard.judge")
    def judge(self, checked: CheckedCall, *, early: bool = False) -> Finding:
        """Returns the verdict on a call. ``early``: its reply is incomplete, and not seen yet."""
        case = self._case(checked)
        flow = self._flow(case)
        if self.rules.policy is None or isinstance(flow.decision, Deny):
            return flow
        ordinary = by_policy(self.rules.policy, case)
        if early and any(rule.after is not None for rule in self.rules.policy):
            return Finding(decision=Ask(), reason="calls are counted")
        return max(flow, ordinary, key=strictness)

    def review(self, checked: CheckedCall) -> Finding:
        """Returns the verdict on a call whose arguments a policy has rewritten."""
        return self._flow(self._case(checked))

    def trace(self, value: JsonValue) -> tuple[Evidence, ...]:
        """Returns where every part of a value was seen."""
        return tuple(self.provenance.trace(value, "value"))

    def _case(self, checked: CheckedCall) -> Case:
        of = self._known(checked.tool.name, checked.tool)
        tool, facts = of.tool, of.facts
        # Earlier calls in the same reply have not run yet, but may.
        earlier = takewhile(lambda call: call.id != checked.call.id, self._calls.values())
        is_here = checked.call.id in self._calls
        same = [call for call in earlier if call.name == tool.name] if is_here else []
        paid = self._paid_before(checked, facts, same) if facts.acts and (same or self._paid) else 0
        exposed = facts.is_consequential and (self.tainted or self.private)
        watched = exposed or self.rules.policy is not None
        given = (checked, of, self.provenance)
        meant = meant_in(checked, of, self._described, partial(can_do, self._every_tool))
        # A lookup outside tells others what is looked for.
        telling = self.tainted and self.private and facts.reach == "outside" and not facts.acts
        return Case(
            checked=checked,
            facts=facts,
            tainted=self.tainted,
            private=self.private,
            suspected=self.suspected,
            targets=_bounded(targets_in(*given, meant, self._described)) if watched else (),
            links=_bounded(chain(content_in(*given), words_in(*given) if telling else ()))
            if watched
            else (),
            bounds=_bounded(bounds_in(*given, meant, paid)) if watched else (),
            calls=self._ran[tool.name] + len(same),
        )

    def _every_tool(self) -> Iterator[Known]:
        return map(self._known, self.tools.names())

    def _paid_before(self, checked: CheckedCall, facts: Settled, same: list[Call]) -> float:
        """The amount that already went, or is about to go, to the targets of a call."""
        now = Paid()
        for call in same:
            now.add(decoded(call), facts)
        return self._paid.to(checked.arguments, facts) + now.to(checked.arguments, facts)

    def _flow(self, case: Case) -> Finding:
        """The verdict of the rules that apply whatever the policy is."""
        facts, name, grant = case.facts, case.checked.tool.name, self.grant
        if self.rules.secrets and facts.reach == "outside" and (leak := secret_in(case.checked)):
            why = "what looks like a key or a password would go outside"
            return replace(self._refused(why, (leak,)), each_time=True)
        if facts.allowed_when and not keeps_terms(case.checked, facts, self._described):
            is_read = is_looked_at(case.checked, facts, self._described)
            why = (
                f"what {name} would act on is not what its author allows"
                if is_read
                else f"{name} needs a look at what it would act on: the run has not read it"
            )
            # The user may want it; the house does not do it, and the user cannot allow it.
            return Finding(decision=Deny(why, GO_ON), reason=why, evidence=case.targets, each_time=True)
        is_granted = grant is None or any(fnmatchcase(name, each) for each in grant.tools)
        if case.tainted and not is_granted and (facts.is_consequential or facts.reads_private):
            return self._refused(f"the request does not call for {name}", case.evidence)
        if not facts.is_consequential or not (
            case.tainted or (case.private and facts.reach == "outside")
        ):
            return Finding()
        strict = not STRICT.isdisjoint(facts.dangers)
        named = case.evidence if case.tainted else case.targets
        unvouched = tuple([e for e in named if not e.is_vouched or (strict and e.origin == "trusted")])
        if unvouched:
            return self._refused(told(unvouched), unvouched)
        if grant is None and case.is_open_ended:
            return self._refused(f"nobody has asked for {name}, and it names no target", ())
        why = "everything that says who or where is vouched for"
        return Finding(decision=Allow(), reason=why, evidence=case.evidence)

    def _refused(self, why: str, evidence: tuple[Evidence, ...]) -> Finding:
        if self.rules.otherwise == "ask":
            return Finding(decision=Ask(why), reason=why, evidence=evidence)
        return Finding(decision=Deny(why, GO_ON), reason=why, evidence=evidence)


@checked("rc.trust.labels")
def labels(
    transcript: Transcript, tools: Tools, rules: Rules | None = None
) -> tuple[tuple[Piece, ...], ...]:
    """The pieces of every message of a transcript, each with its label."""
    guard = Guard(rules or Rules(), tools)
    return tuple([guard.see(message) for message in transcript])


@checked("rc.trust.inert")
def inert(transcript: Transcript, tools: Tools, rules: Rules | None = None) -> str:
    """The answer at the end of a transcript, without the links that are not vouched for."""
    guard, answer = Guard(rules or Rules(), tools), ""
    for message in transcript:
        guard.see(message)
        answer = message.text if isinstance(message, Reply) else answer
    return guard.inert(answer)


def _bounded(evidence: Iterator[Evidence]) -> tuple[Evidence, ...]:
    """As much evidence as a person can read; if there is more, the rest counts as not vouched for."""
    found = tuple(islice(evidence, _MOST_EVIDENCE))
    more = next(evidence, None)
    return found if more is None else (*found, Evidence(more.path, "and more", "nowhere"))
