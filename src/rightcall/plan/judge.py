"""Decides about a planned call by the labels of its arguments, and by what chose them.

The rules are those of any call, but the source of a value is known and need not be searched for.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, time

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.decision import Allow, Ask, Deny, Evidence
from rightcall.core.facts import Level
from rightcall.core.jsontext import dump
from rightcall.core.message import Message, Reply
from rightcall.core.ports import Tools
from rightcall.core.problem import json_path
from rightcall.core.tool import CheckedCall
from rightcall.plan.progress import NextCall, next_of, plan_progress, step_kind
from rightcall.plan.results import PlannedTool
from rightcall.plan.value import LabelledValue, TaintLabel, as_json, leaves_of, outside, words_in
from rightcall.trust.evidence import CallEvidence
from rightcall.trust.guard import Guard
from rightcall.trust.kinds import gives_access, is_widening_flag
from rightcall.trust.rules import Finding, Rules, apply_policy
from rightcall.trust.task_intents import TaskIntents

_NAMED = ("user", "developer", "operator")
_LONGEST = 120


class PlanGuard(Guard):
    """Guards a planned run; once that goes on as an ordinary run, it is judged as one."""

    def __init__(
        self,
        level_of: Callable[[PlannedTool], Level],
        known: Mapping[str, PlannedTool],
        rules: Rules,
        tools: Tools,
        *,
        system: str = "",
        intents: TaskIntents | None = None,
        above: Guard | None = None,
    ) -> None:
        super().__init__(rules, tools, system=system, intents=intents, above=above)
        self._level_of = level_of
        self._known_tools = known
        self._messages: list[Message] = []

    def see(self, message: Message) -> None:
        """Take in the next message."""
        self._messages.append(message)
        super().see(message)

    def judge(self, checked: CheckedCall, *, early: bool = False) -> Finding:
        """The guard's verdict on a call."""
        call = self._match_planned_call(checked)
        if call is None:
            return super().judge(checked, early=early)
        facts = call.tool.facts
        # Who named the values in the arguments, found by spelling: for values that the plan wrote.
        of = self._tool_knowledge(checked.tool.name, checked.tool)
        case = self._case(checked, of)
        evidence = CallEvidence(checked, of, self.typed, self.seen)
        spelt = {each.path: each for each in evidence.targets()}
        decisive = tuple(_decisive(call, spelt))
        case = replace(case, targets=_seen(decisive))
        if not facts.acts:
            case = replace(case, links=())
        finding = self._judge_labels(checked, call, decisive)
        links = tuple([each for each in case.links if not each.is_vouched])
        if finding.decision is None and links and case.tainted and facts.is_consequential:
            finding = self._refuse_call(
                "a link in its content comes from no one who is vouched for", links
            )
        if self.rules.policy is None or isinstance(finding.decision, Deny):
            return finding
        ordinary = apply_policy(self.rules.policy, case)
        if isinstance(ordinary.decision, Deny) or finding.decision is None:
            return ordinary
        return finding

    def _match_planned_call(self, checked: CheckedCall) -> NextCall | None:
        """The plan's labelled call that this call is; None if the plan did not make it."""
        if not self._messages:
            return None
        last = self._messages[-1]
        if not isinstance(last, Reply) or step_kind(last) != "call":
            return None
        found = next_of(plan_progress(self._messages[:-1]), self._known_tools)
        if not isinstance(found, NextCall) or found.tool.tool.name != checked.tool.name:
            return None
        if checked.call.id != last.calls[0].id:
            return None
        return found

    def _judge_labels(
        self, checked: CheckedCall, call: NextCall, decisive: Sequence["_Decisive"]
    ) -> Finding:
        base = super().review(checked)
        if base.each_time:
            return base
        if not call.tool.facts.is_consequential:
            return Finding()
        if self.book is not None and not isinstance(base.decision, Allow | None):
            return base
        targets = _seen(decisive)
        story = plan_progress(self._messages[:-1])
        why = "the plan was changed after it had done something: what it does now is asked for"
        acting = set()
        for tool in self._known_tools.values():
            if tool.facts.is_consequential:
                acting.add(tool.tool.name)
        for attempt in story.attempts[:-1]:
            for _, result in attempt.calls:
                if result.name in acting and result.outcome != "denied":
                    return Finding(decision=Ask(why), reason=why, evidence=targets)
        level = self._level_of(call.tool)
        why, evidence = _refusal(level, call, decisive, is_shown=story.shown is not None)
        if why:
            return self._refuse_call(f"line {call.line} of the plan: {why}", evidence)
        return Finding()


class _Decisive(Struct, frozen=True, eq=False):
    """A part of the arguments that determines who, where, how much or how widely."""

    value: LabelledValue
    seen: Evidence
    is_target: bool
    """Whether it says who or where, and is neither an amount nor one of the listed choices."""


def _seen(decisive: Sequence[_Decisive]) -> tuple[Evidence, ...]:
    return tuple([each.seen for each in decisive])


def _decisive(call: NextCall, spelt: Mapping[str, Evidence]) -> Iterator[_Decisive]:
    """Every part of the arguments that needs somebody to vouch for it."""
    facts = call.tool.facts
    known = call.tool.tool.parameters.get("properties")
    for name, value in call.values.items():
        is_target = name in facts.targets or not (isinstance(known, Mapping) and name in known)
        is_whole = is_target or name in {*facts.bounded, *facts.widens, *facts.flags}
        for place, leaf in leaves_of(value, (name,)):
            if leaf.data == "" and not leaf.sources and not leaf.chosen:
                continue  # What must not be blank is below.
            # An amount, or what gives others more access, counts also inside of a value.
            last = next(step for step in reversed(place) if isinstance(step, str))
            widens = facts.acts
            widens = widens and (is_widening_flag(last) or gives_access(last))
            if not is_whole and not widens and not facts.is_amount(place):
                continue
            if leaf.taint or isinstance(leaf.data, str | int | float | date | time):
                seen = _to_evidence(json_path(list(place)), leaf, spelt)
                yield _Decisive(leaf, seen, is_target and isinstance(leaf.data, str))
    for each in spelt.values():
        if not each.value and not each.is_vouched:
            # Targets of destructive calls, and required ones, must not be blank.
            yield _Decisive(LabelledValue(""), replace(each, source="the plan"), is_target=True)


def _to_evidence(path: str, value: LabelledValue, spelt: Mapping[str, Evidence]) -> Evidence:
    data = value.data
    if isinstance(data, str):
        text = data
    else:
        text = dump(as_json(value))
    if len(text) > _LONGEST:
        text = text[: _LONGEST - 1] + "…"
    if words := words_in(value.sources):
        return Evidence(path, text, "untrusted", _places(words))
    named = spelt.get(path)
    is_named = named is not None and named.origin in _NAMED
    if value.sources and not (is_named and outside(value.sources)):
        return Evidence(path, text, "trusted", _places(value.sources))
    if named is not None and is_named:
        return named
    return Evidence(path, text, "nowhere", "the plan")


def _places(label: TaintLabel) -> str:
    names = set()
    for each in label:
        if each.path:
            names.add(f"{each.tool}.{each.path}")
        else:
            names.add(each.tool)
    return ", ".join(sorted(names)[:3])


def _refusal(
    level: Level, call: NextCall, decisive: Sequence[_Decisive], *, is_shown: bool
) -> tuple[str, tuple[Evidence, ...]]:
    """Why a call may not run without approval, and the evidence for that; empty if it may run."""
    unvouched = []
    for each in decisive:
        # A target that only the planner wrote is one that it made up. Whoever approved the plan has
        # read its literals.
        is_made_up = each.seen.origin == "nowhere" and each.is_target and not is_shown
        if each.seen.origin == "untrusted" or is_made_up:
            unvouched.append(each.seen)
    if unvouched:
        first = unvouched[0]
        whose = "the planner's own"
        if first.origin == "untrusted":
            whose = f"outsiders' words ({first.source})"
        return f"what is at {first.path} is {whose}", tuple(unvouched)
    if level == "data":
        return "", ()
    weigh = outside
    if level == "named":
        weigh = words_in
    chosen = [each for each in decisive if weigh(each.value.chosen)]
    if chosen:
        places = _places(weigh(chosen[0].value.chosen))
        why = f"what is at {chosen[0].seen.path} was chosen by {places}"
        return why, _seen(chosen)
    if level == "choice":
        # An outsider's identity must be named by the user, the developer or the operator.
        unnamed = []
        for each in decisive:
            if outside(each.value.sources) and each.seen.origin not in _NAMED:
                unnamed.append(each)
        if unnamed:
            whose = f"an outsider's identity ({_places(outside(unnamed[0].value.sources))})"
            why = f"what is at {unnamed[0].seen.path} is {whose} that nobody named"
            return why, _seen(unnamed)
    branch = weigh(call.branch)
    is_literal = all(not each.value.sources and not each.value.chosen for each in decisive)
    if branch and (level == "choice" or not is_literal):
        why = f"whether it is called was decided by {_places(branch)}"
        return why, _seen(decisive)
    return "", ()
