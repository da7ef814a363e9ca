"""Judges the calls of recorded runs under other rules and facts: each verdict, and why.

No model is called and nothing is run: each call is judged in its place, after what the run had read by
then. A call's recorded result is used even if the call would not have run.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import isawaitable
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.decision import Allow, Ask, Evidence, Rewrite
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
from rightcall.core.parts import Call, Result, Text
from rightcall.core.ports import AsyncJournal, Journal
from rightcall.core.sanitize import printable
from rightcall.core.tool import CheckedCall, Spec, Tool
from rightcall.declare.returns import return_hint
from rightcall.declare.toolbox import Toolbox
from rightcall.errors import DeclarationError, UsageError
from rightcall.gate.call_check import check
from rightcall.gate.render import render
from rightcall.loop.stated_intents import INTENTS_KEY, read_task
from rightcall.record.steps import entries_of
from rightcall.trust.facts import label_untrusted
from rightcall.trust.facts_file import StatedFacts
from rightcall.trust.guard import Guard
from rightcall.trust.pieces import open_envelope
from rightcall.trust.rules import Rules
from rightcall.trust.task_intents import TaskIntents

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
        counts = dict.fromkeys(_FATES, 0)
        for each in self.calls:
            counts[each.now] += 1
        return {fate: count for fate, count in counts.items() if count}

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
    by_name = {tool.name: tool for tool in tools}
    calls: list[TriedCall] = []
    notes: list[str] = []
    inside = 0
    for run in runs:
        entries = await entries_of(journal, run)
        calls += _ReplayedRun(run, entries, rules, by_name, facts).calls(notes)
        for entry in entries:
            if isinstance(entry, Nested) and isinstance(entry.entry, CallFinished):
                inside += 1
    return Trial(calls=tuple(calls), inside=inside, notes=tuple(dict.fromkeys(notes)))


class _ReplayedRun:
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
        start = None
        self._finished: dict[str, Result] = {}
        self._asked = set()
        specs: dict[str, Spec] = {}
        for entry in entries:
            match entry:
                case RunStarted() if start is None:
                    start = entry
                    specs |= {spec.name: spec for spec in entry.specs}
                case ToolsChanged():
                    specs |= {spec.name: spec for spec in entry.specs}
                case CallFinished(result=result):
                    self._finished[result.call_id] = result
                case CallDecided(by="person"):
                    self._asked.add(entry.call_id)
                case _:
                    pass
        if start is None:
            raise UsageError(f"the journal holds no run {run!r}")
        self._start = start
        labelled = []
        for name, spec in specs.items():
            tool = tools.get(name) or _tool(spec)
            if facts is not None:
                tool = facts(tool)
            labelled.append(label_untrusted(tool))
        self._tools = Toolbox(labelled)

    def calls(self, notes: list[str]) -> Iterator[TriedCall]:
        """Each call of the run, judged in its place."""
        intents = self._intents(notes)
        guard = Guard(self._rules, self._tools, system=self._start.system, intents=intents)
        for message in self._start.messages:
            guard.see(message)
        for entry in self._entries:
            if not isinstance(entry, ReplyReceived):
                continue
            guard.see(entry.reply)
            for call in entry.reply.calls:
                yield self._judge_call(guard, call)
            results = [self._again(call) for call in entry.reply.calls if call.id in self._finished]
            if results:
                guard.see(Results(tuple(results)))

    def _intents(self, notes: list[str]) -> TaskIntents | None:
        """What the task was allowed to do then, with what its references gave."""
        for entry in self._entries:
            if isinstance(entry, StepDone) and entry.key == INTENTS_KEY:
                return read_task(entry).task
        if self._start.intents is not None:
            return TaskIntents(stated=self._start.intents)
        if self._rules.intents == "model":
            notes.append(f"{self._run}: no model has stated intents then; judged without any")
        return None

    def _judge_call(self, guard: Guard, call: Call) -> TriedCall:
        outcome = self._finished[call.id].outcome if call.id in self._finished else "unfinished"
        asked = ""
        if call.id in self._asked:
            asked = ", after a person was asked"
        tried = TriedCall(
            run=self._run,
            tool=call.name,
            arguments=call.as_json or call.arguments,
            now="not judged",
            before=f"{outcome}{asked}",
        )
        checked = check(call, self._tools)
        if not isinstance(checked, CheckedCall):
            return replace(tried, reason=f"the gate: {checked.kind}")
        finding = guard.judge(checked)
        fate: Fate
        match finding.decision:
            case None if checked.tool.approval:
                reason = finding.reason or "each call wants a yes"
                return replace(tried, now="asked", reason=reason, evidence=finding.evidence)
            case None | Allow():
                fate = "allowed"
            case Ask():
                fate = "asked"
            case Rewrite():
                fate = "rewritten"
            case _:
                fate = "denied"
        return replace(tried, now=fate, reason=finding.reason, evidence=finding.evidence)

    def _again(self, call: Call) -> Result:
        """A recorded result, labelled by the current facts."""
        result = self._finished[call.id]
        tool = self._tools.get(result.name)
        if tool is None or result.outcome not in _SPOKE:
            return result
        text = result.text
        if result.source is not None:
            text = open_envelope(text)
        if result.outcome == "failed":
            source = None
            if tool.facts.untrusted:
                source = result.name
            return replace(result, content=(Text(text),), source=source)
        value: Any = _parse_value(text, tool)
        fresh = render(call, Returned(text if value is None else value), tool)
        return replace(fresh, suspected=result.suspected)


def _parse_value(text: str, tool: Tool) -> Any:
    """The value that a tool returned, if it was an object or a list; None for text.

    Text that happens to be JSON is hardly ever as compact as the gate's own encoding.
    """
    if text[:1] not in ("{", "[") or return_hint(tool) is str:
        return None
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
    if dump(value) == text:
        return value
    return None


def _tool(spec: Spec) -> Tool:
    """A tool of which only the recorded spec is known."""
    try:
        return Tool(spec.name, spec.description, spec.parameters, origin=spec.origin)
    except DeclarationError as error:
        raise UsageError(
            f"the journal's tool {spec.name} cannot be used: {error.reason} Give it with --tools."
        ) from error
