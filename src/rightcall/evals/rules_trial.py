"""Judges the calls of recorded runs under other rules and facts: each verdict, and why.

No model is called and nothing is run: each call is judged in its place, after what the run had read by
then. A call's recorded result is used even if the call would not have run.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import isawaitable
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.call import Call, CheckedCall
from rightcall.core.decision import Allow, Ask, Decision, Evidence, Grant, Rewrite
from rightcall.core.entry import (
    CallDecided,
    CallFinished,
    Entry,
    Nested,
    ReplyReceived,
    RunStarted,
    StepDone,
    ToolsChanged,
)
from rightcall.core.jsontext import dump
from rightcall.core.message import Results
from rightcall.core.outcome import Returned
from rightcall.core.parts import Result, Text
from rightcall.core.ports import AsyncJournal, Journal
from rightcall.core.sanitize import printable
from rightcall.core.tool import Spec, Tool
from rightcall.declare.returns import return_hint
from rightcall.declare.toolbox import Toolbox
from rightcall.errors import DeclarationError, UsageError
from rightcall.gate.check import check
from rightcall.gate.render import render
from rightcall.loop.grant import Granted
from rightcall.record.steps import entries_of
from rightcall.trust.facts import labelled
from rightcall.trust.guard import Guard
from rightcall.trust.overlay import StatedFacts
from rightcall.trust.pieces import opened
from rightcall.trust.rules import Rules

Fate: TypeAlias = Literal["allowed", "asked", "denied", "rewritten", "not judged"]
_FATES: tuple[Fate, ...] = ("allowed", "asked", "denied", "rewritten", "not judged")
_SPOKE = ("returned", "failed")


class TriedCall(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A recorded call, and the verdict on it."""

    run: str
    tool: str
    arguments: str
    now: Fate
    before: str
    """What happened then: its outcome, and whether a person was asked."""
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()


class Trial(Struct, frozen=True, kw_only=True):
    """The verdicts on the calls of some runs."""

    calls: tuple[TriedCall, ...]
    inside: int = 0
    """Calls of agents inside calls, which were not judged."""
    notes: tuple[str, ...] = ()
    """What the journal does not tell."""

    @property
    def counts(self) -> dict[str, int]:
        """The number of calls by verdict."""
        found = Counter(each.now for each in self.calls)
        return {fate: found[fate] for fate in _FATES if found[fate]}

    def __str__(self) -> str:
        lines = []
        for each in self.calls:
            if each.now == "allowed":
                continue
            lines.append(f"{each.run}: {each.tool}({each.arguments}) {each.now}: {each.reason}")
            lines.append(f"  then: {each.before}")
            for seen in each.evidence:
                source = f" ({seen.source})" if seen.source else ""
                lines.append(f"  {seen.path} = {seen.value}: {seen.origin}{source}")
        lines += self.notes
        if self.inside:
            lines.append(f"{self.inside} calls of agents inside calls were not looked at")
        runs = len({each.run for each in self.calls})
        told = ", ".join(f"{number} {fate}" for fate, number in self.counts.items()) or "none"
        lines.append(f"runs: {runs}, calls: {len(self.calls)} ({told})")
        return "\n".join(printable(line) for line in lines)


async def try_rules(
    journal: Journal | AsyncJournal,
    rules: Rules,
    tools: Iterable[Tool] = (),
    *,
    facts: StatedFacts | None = None,
    runs: Iterable[str] | None = None,
) -> Trial:
    """The verdicts of these rules on the calls of recorded runs; by default of all runs.

    For tools that are not given, only the recorded schema is known, and the dangers that ``facts``
    state.
    """
    if runs is None:
        listed = journal.runs()
        runs = await listed if isawaitable(listed) else listed
    calls: list[TriedCall] = []
    notes: list[str] = []
    inside = 0
    for run in runs:
        entries = await entries_of(journal, run)
        calls += _Replayed(run, entries, rules, {tool.name: tool for tool in tools}, facts).calls(notes)
        inside += sum(
            isinstance(each, Nested) and isinstance(each.entry, CallFinished) for each in entries
        )
    return Trial(calls=tuple(calls), inside=inside, notes=tuple(dict.fromkeys(notes)))


class _Replayed:
    """One recorded run."""

    def __init__(
        self,
        run: str,
        entries: Sequence[Entry],
        rules: Rules,
        tools: Mapping[str, Tool],
        facts: StatedFacts | None,
    ) -> None:
        self._run = run
        self._entries = entries
        self._rules = rules
        start = next((each for each in entries if isinstance(each, RunStarted)), None)
        if start is None:
            raise UsageError(f"the journal holds no run {run!r}")
        self._start = start
        self._finished = {
            each.result.call_id: each.result for each in entries if isinstance(each, CallFinished)
        }
        self._asked = {
            each.call_id for each in entries if isinstance(each, CallDecided) and each.by == "person"
        }
        self._tools = self._toolbox(tools, facts)

    def _toolbox(self, tools: Mapping[str, Tool], facts: StatedFacts | None) -> Toolbox:
        changed = [each.specs for each in self._entries if isinstance(each, ToolsChanged)]
        specs = {spec.name: spec for each in (self._start.specs, *changed) for spec in each}
        found = [tools.get(name) or _tool(spec) for name, spec in specs.items()]
        return Toolbox([labelled(each if facts is None else facts(each)) for each in found])

    def calls(self, notes: list[str]) -> Iterator[TriedCall]:
        """Each call of the run, judged in its place."""
        grant = self._grant(notes)
        guard = Guard(self._rules, self._tools, system=self._start.system, grant=grant)
        for message in self._start.messages:
            guard.see(message)
        for entry in self._entries:
            if not isinstance(entry, ReplyReceived):
                continue
            guard.see(entry.reply)
            for call in entry.reply.calls:
                yield self._tried(guard, call)
            results = [self._again(call) for call in entry.reply.calls if call.id in self._finished]
            if results:
                guard.see(Results(tuple(results)))

    def _grant(self, notes: list[str]) -> Grant | None:
        if self._start.grant is not None or self._rules.grant != "model":
            return self._start.grant
        for entry in self._entries:
            if isinstance(entry, StepDone) and entry.key == "grant":
                return msgspec.json.decode(entry.value, type=Granted).grant
        notes.append(f"{self._run}: no model has stated a grant then; judged without one")
        return None

    def _tried(self, guard: Guard, call: Call) -> TriedCall:
        outcome = self._finished[call.id].outcome if call.id in self._finished else "unfinished"
        asked = ", after a person was asked" if call.id in self._asked else ""
        told = TriedCall(
            run=self._run,
            tool=call.name,
            arguments=call.as_json or call.arguments,
            now="not judged",
            before=f"{outcome}{asked}",
        )
        checked = check(call, self._tools)
        if not isinstance(checked, CheckedCall):
            return replace(told, reason=f"the gate: {checked.kind}")
        finding = guard.judge(checked)
        wants_person = checked.tool.approval and finding.decision is None
        return replace(
            told,
            now="asked" if wants_person else _fate(finding.decision),
            reason=finding.reason or ("each call wants a yes" if wants_person else ""),
            evidence=finding.evidence,
        )

    def _again(self, call: Call) -> Result:
        """A recorded result, labelled by the current facts."""
        result = self._finished[call.id]
        tool = self._tools.get(result.name)
        if tool is None or result.outcome not in _SPOKE:
            return result
        text = opened(result.text) if result.source is not None else result.text
        if result.outcome == "failed":
            source = result.name if tool.facts.untrusted or tool.facts.names else None
            return replace(result, content=(Text(text),), source=source)
        value: Any = _structured(text, tool)
        fresh = render(call, Returned(text if value is None else value), tool)
        return replace(fresh, suspected=result.suspected)


def _structured(text: str, tool: Tool) -> Any:
    """The value that a tool returned, if it was an object or a list; None for text.

    Text that happens to be JSON is hardly ever as compact as the gate's own encoding.
    """
    if text[:1] not in ("{", "[") or return_hint(tool) is str:
        return None
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
    return value if dump(value) == text else None


def _tool(spec: Spec) -> Tool:
    """A tool of which only the recorded spec is known."""
    try:
        return Tool(spec.name, spec.description, spec.parameters, origin=spec.origin)
    except DeclarationError as error:
        raise UsageError(
            f"the journal's tool {spec.name} cannot be used: {error.reason} Give it with --tools."
        ) from error


def _fate(decision: Decision | None) -> Fate:
    match decision:
        case None | Allow():
            return "allowed"
        case Ask():
            return "asked"
        case Rewrite():
            return "rewritten"
        case _:
            return "denied"
