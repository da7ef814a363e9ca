"""A planned call into a decision: by the labels of its arguments, and by what chose them.

The rules are those of any call, but the source of a value is known and need not be searched for.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, time
from fnmatch import fnmatchcase

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.call import CheckedCall
from rightcall.core.decision import Ask, Deny, Evidence, Grant
from rightcall.core.facts import Level
from rightcall.core.jsontext import Place, dump
from rightcall.core.message import Message, Reply
from rightcall.core.ports import Tools
from rightcall.core.problem import json_path
from rightcall.core.tool import Tool
from rightcall.plan.results import Known
from rightcall.plan.story import Attempt, NextCall, next_of, said_as, story_of
from rightcall.plan.value import Label, Value, as_json, leaves_of, outside, words_in
from rightcall.trust.facts import Settled
from rightcall.trust.finding import Finding, by_policy
from rightcall.trust.guard import Guard
from rightcall.trust.pieces import Piece
from rightcall.trust.rules import Rules
from rightcall.trust.targets import targets_in
from rightcall.trust.words.kinds import gives_access, is_widening_flag

_NAMED = ("user", "developer", "operator")
_LONGEST = 120


class PlanGuard(Guard):
    """Guards a planned run; once that goes on as an ordinary run, it is judged as one."""

    def __init__(
        self,
        level_of: Callable[[Known], Level],
        known: Mapping[str, Known],
        rules: Rules,
        tools: Tools,
        *,
        system: str = "",
        grant: Grant | None = None,
        above: Guard | None = None,
    ) -> None:
        super().__init__(rules, tools, system=system, grant=grant, above=above)
        self._level_of = level_of
        self._known_tools = known
        self._messages: list[Message] = []

    def see(self, message: Message) -> tuple[Piece, ...]:
        """Take in the next message."""
        self._messages.append(message)
        return super().see(message)

    def judge(self, checked: CheckedCall, *, early: bool = False) -> Finding:
        """The guard's verdict on a call."""
        call = self._planned(checked)
        if call is None:
            return super().judge(checked, early=early)
        facts, case = call.tool.facts, self._case(checked)
        spelt = {each.path: each for each in self._spelt(checked)}
        decisive = tuple(_decisive(call, facts, spelt))
        targets = tuple([each.seen for each in decisive])
        case = replace(case, targets=targets, links=case.links if facts.acts else ())
        finding = self._labelled(checked, call, decisive)
        links = tuple([each for each in case.links if not each.is_vouched])
        if finding.decision is None and links and case.tainted and facts.is_consequential:
            finding = self._refused("a link in its content comes from no one who is vouched for", links)
        if self.rules.policy is None or isinstance(finding.decision, Deny):
            return finding
        ordinary = by_policy(self.rules.policy, case)
        return ordinary if isinstance(ordinary.decision, Deny) or finding.decision is None else finding

    def _spelt(self, checked: CheckedCall) -> Iterator[Evidence]:
        """Who named the values in the arguments, found by spelling: for values that the plan wrote."""
        of = self._known(checked.tool.name, checked.tool)
        return targets_in(checked, of, self.provenance)

    def _planned(self, checked: CheckedCall) -> NextCall | None:
        """The plan's labelled call that this call is; None if the plan did not make it."""
        last = self._messages[-1] if self._messages else None
        if not isinstance(last, Reply) or said_as(last) != "call":
            return None
        found = next_of(story_of(self._messages[:-1]), self._known_tools)
        is_it = isinstance(found, NextCall) and found.tool.tool.name == checked.tool.name
        return found if is_it and checked.call.id == last.calls[0].id else None  # type: ignore[return-value]

    def _labelled(
        self, checked: CheckedCall, call: NextCall, decisive: Sequence["_Decisive"]
    ) -> Finding:
        targets = tuple([each.seen for each in decisive])
        facts, name, grant = call.tool.facts, checked.tool.name, self.grant
        story = story_of(self._messages[:-1])
        base = super().review(checked)
        if base.each_time:
            return base
        if not facts.is_consequential:
            return Finding()
        granted = grant is None or any(fnmatchcase(name, each) for each in grant.tools)
        if self.tainted and not granted:
            return self._refused(f"the request does not call for {name}", targets)
        if len(story.attempts) > 1 and _has_acted(story.attempts[:-1], self._known_tools):
            why = "the plan was changed after it had done something: what it does now is asked for"
            return Finding(decision=Ask(why), reason=why, evidence=targets)
        level = self._level_of(call.tool)
        why, evidence = _refusal(level, call, decisive, is_shown=story.shown is not None)
        if why:
            return self._refused(f"line {call.line} of the plan: {why}", evidence)
        return Finding()


class _Decisive(Struct, frozen=True, eq=False):
    """A part of the arguments that determines who, where, how much or how widely."""

    value: Value
    seen: Evidence
    is_target: bool
    """Whether it says who or where, and is neither an amount nor one of the listed choices."""

    @property
    def is_open(self) -> bool:
        """Whether it is untrusted text, or a target that only the planner wrote: one that it made up."""
        made_up = self.seen.origin == "nowhere" and self.is_target
        return self.seen.origin == "untrusted" or made_up

    @property
    def is_anothers(self) -> bool:
        """Whether it is an outsider's identity that no user, developer or operator named."""
        return bool(outside(self.value.sources)) and self.seen.origin not in _NAMED

    @property
    def is_literal(self) -> bool:
        """Whether it is a literal in the plan, and nothing chose it."""
        return not self.value.sources and not self.value.chosen


def _has_acted(attempts: Sequence[Attempt], known: Mapping[str, Known]) -> bool:
    acting = {each.tool.name for each in known.values() if each.facts.is_consequential}
    results = [result for attempt in attempts for _, result in attempt.calls]
    return any(result.name in acting and result.outcome != "denied" for result in results)


def _decisive(call: NextCall, facts: Settled, spelt: Mapping[str, Evidence]) -> Iterator[_Decisive]:
    """Every part of the arguments that needs somebody to vouch for it."""
    known = call.tool.tool.parameters.get("properties")
    for name, value in call.values.items():
        is_target = name in facts.targets or not (isinstance(known, Mapping) and name in known)
        is_whole = is_target or name in {*facts.bounded, *facts.widens, *facts.flags}
        for place, leaf in leaves_of(value, (name,)):
            if leaf.data == "" and not leaf.sources and not leaf.chosen:
                continue  # What must not be blank is below.
            if not is_whole and not _is_bounded(place, call.tool.tool, facts):
                continue
            if leaf.taint or isinstance(leaf.data, str | int | float | date | time):
                seen = _seen(json_path(list(place)), leaf, spelt)
                yield _Decisive(leaf, seen, is_target and isinstance(leaf.data, str))
    for each in spelt.values():
        if not each.value and not each.is_vouched:
            # Targets of destructive calls, and required ones, must not be blank.
            yield _Decisive(Value(""), replace(each, source="the plan"), is_target=True)


def _is_bounded(place: Place, tool: Tool, facts: Settled) -> bool:
    """Whether an amount is at this place, or what gives others more access: also inside of a value."""
    last = next(step for step in reversed(place) if isinstance(step, str))
    if facts.acts and tool.facts.widens is None and (is_widening_flag(last) or gives_access(last)):
        return True
    return facts.is_amount(place)


def _seen(path: str, value: Value, spelt: Mapping[str, Evidence]) -> Evidence:
    """Where a value comes from, as evidence."""
    data = value.data
    text = data if isinstance(data, str) else dump(as_json(value))
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    if words := words_in(value.sources):
        return Evidence(path, text, "untrusted", _places(words))
    found = spelt.get(path)
    named = found if found is not None and found.origin in _NAMED else None
    if value.sources and (named is None or not outside(value.sources)):
        return Evidence(path, text, "trusted", _places(value.sources))
    if named is not None:
        return named
    return Evidence(path, text, "nowhere", "the plan")


def _places(label: Label) -> str:
    names = {f"{each.tool}.{each.path}" if each.path else each.tool for each in label}
    return ", ".join(sorted(names)[:3])


def _refusal(
    level: Level, call: NextCall, decisive: Sequence[_Decisive], *, is_shown: bool
) -> tuple[str, tuple[Evidence, ...]]:
    """Why a call may not run without approval, and the evidence for that; empty if it may run."""
    everything = tuple([each.seen for each in decisive])
    unvouched = [each.seen for each in decisive if each.is_open]
    if is_shown:
        # Whoever approved the plan has read its literals.
        unvouched = [each for each in unvouched if each.origin == "untrusted"]
    if unvouched:
        first = unvouched[0]
        whose = (
            f"outsiders' words ({first.source})" if first.origin == "untrusted" else "the planner's own"
        )
        return f"what is at {first.path} is {whose}", tuple(unvouched)
    if level == "data":
        return "", ()
    weigh = words_in if level == "named" else outside
    chosen = [(each.seen, label) for each in decisive if (label := weigh(each.value.chosen))]
    if chosen:
        first, label = chosen[0]
        return f"what is at {first.path} was chosen by {_places(label)}", tuple(
            [one for one, _ in chosen]
        )
    if level == "choice" and (unnamed := [each for each in decisive if each.is_anothers]):
        first, label = unnamed[0].seen, outside(unnamed[0].value.sources)
        why = f"what is at {first.path} is an outsider's identity ({_places(label)}) that nobody named"
        return why, tuple([each.seen for each in unnamed])
    branch = weigh(call.branch)
    if branch and (level == "choice" or not all(each.is_literal for each in decisive)):
        return f"whether it is called was decided by {_places(branch)}", everything
    return "", ()
