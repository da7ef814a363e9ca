"""The segments of a run into the entries that a journal of it would hold, for readers of runs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from rightcall.agent import Agent
from rightcall.core.budget import Budget
from rightcall.core.entry import (
    CallFinished,
    Entry,
    Nested,
    RunEnded,
    RunFailed,
    RunPaused,
    RunResumed,
    RunStarted,
)
from rightcall.core.message import Reply, Results
from rightcall.durable.engine import DurableEngine, Segment, parse_segment_id
from rightcall.durable.segment import (
    BeginInput,
    CancelInput,
    Outcome,
    ResumeInput,
    read_input,
    read_outcome,
    read_record,
)
from rightcall.loop.inner_runs import pause_key
from rightcall.loop.result import CallRecord, RunResult
from rightcall.loop.state import State

TimedEntries: TypeAlias = list[tuple[float, Entry]]
_NO_LIMIT = Budget(turns=None, calls=None, seconds=None, tokens=None, cost=None, repeats=None)
_FRAME = (RunStarted, RunResumed, RunPaused, RunEnded, RunFailed)
"""Entries that come from inputs and outcomes; among the records, only those of inner runs count."""


class _Ended(Struct, frozen=True):
    """The outcome and the result of a segment that has ended."""

    outcome: Outcome
    result: RunResult[Any] | None


async def story_of(
    engine: DurableEngine, run: str, agents: Mapping[str, Agent[Any, Any]]
) -> TimedEntries:
    """The entries that a journal of the run would hold, each with its time; empty if there is no run.

    A store holds only what must be known after a crash. How a run began is in its first segment's input,
    a person's decisions are in the inputs of the others, how each segment ended is in its outcome, and
    the result of a pure call is only in the run's result. The entries do not change while the run goes
    on, except for its start, of which more is known at its end.
    """
    timed: TimedEntries = []
    segments = sorted(await engine.segments(run), key=lambda each: each.job.segment)
    ends = [await _end(engine, segment) for segment in segments]
    known: State | None = None
    for end in ends:
        if end is not None and end.result is not None:
            known = end.result.state
    for segment, end in zip(segments, ends, strict=True):
        given = await read_input(segment.job, engine.blobs)
        match given:
            case BeginInput():
                agent = agents.get(segment.job.agent)
                timed.append((segment.created, _start(segment, given, known, agent)))
            case ResumeInput(decisions=decisions):
                at = max(segment.created, timed[-1][0] if timed else 0.0)
                timed.append((at, RunResumed(decisions=decisions)))
            case CancelInput():
                timed.append((segment.created, _cancellation()))
                continue
        for step in await engine.history(run, segment.job.segment):
            pairs = await read_record(step.value, engine.blobs, f"the run {run!r}, {step.key}")
            for _, entry in pairs:
                if not isinstance(entry, _FRAME):
                    timed.append((step.at, entry))
        if end is not None and end.result is not None:
            timed += _unrecorded_entries(end.result, timed, segment.updated)
        # Some engines report a segment's time in whole seconds, and its steps happened within it.
        over = max(segment.updated, timed[-1][0])
        for entry in _ending(segment, end):
            timed.append((over, entry))
    return timed


async def _end(engine: DurableEngine, segment: Segment) -> _Ended | None:
    if segment.status != "ended":
        return None
    outcome = read_outcome(segment.outcome, segment.job.run)
    if not outcome.result:
        return _Ended(outcome, None)
    return _Ended(outcome, RunResult.from_json(await engine.blobs.get(outcome.result)))


def _start(
    segment: Segment, given: BeginInput, known: State | None, agent: Agent[Any, Any] | None
) -> RunStarted:
    """How a run began: what was submitted; the rest comes from its end or its agent."""
    settings = given.settings
    start = RunStarted(
        messages=(*given.history, given.message),
        budget=settings.budget or _NO_LIMIT,
        system=settings.instructions or given.system,
        choice=settings.choice,
        sticky_choice=settings.sticky_choice,
        intents=settings.intents,
        dry_run=settings.dry_run,
        agent=segment.job.agent,
    )
    if segment.forked_from:
        start = replace(start, parent=parse_segment_id(segment.forked_from)[0])
    if agent is not None:
        specs = tuple([tool.spec for tool in agent.tools if not tool.deferred])
        start = replace(start, specs=specs, budget=settings.budget or agent.budget)
    if known is not None:
        start = replace(
            start,
            budget=known.budget,
            choice=known.choice,
            retry_broken=known.retry_broken,
            wanted=known.wanted,
            system=known.system or "",
        )
    return start


def _ending(segment: Segment, end: _Ended | None) -> Iterator[Entry]:
    """How a segment ended; nothing while it is queued or running."""
    if end is None:
        if segment.status == "cancelled":
            yield _cancellation()
        elif segment.status not in ("queued", "running"):
            yield RunFailed(code=segment.status, message=segment.reason)
        return
    outcome = end.outcome
    result = end.result
    if outcome.kind == "failed" or result is None:
        yield RunFailed(code=outcome.code or "failed", message=outcome.message)
    elif outcome.kind == "waiting":
        call_ids = tuple([each.call_id for each in outcome.pending])
        key = pause_key(result.state.progress.turns, call_ids)
        yield RunPaused(key=key, call_ids=call_ids)
    else:
        yield RunEnded(stop=result.stop)


def _cancellation() -> RunFailed:
    return RunFailed(code="cancelled", message="the run was cancelled")


def _unrecorded_entries(result: RunResult[Any], timed: TimedEntries, at: float) -> TimedEntries:
    """The ends of calls, and the starts of inner runs that wait, which did not need to be recorded."""
    entries = [entry for _, entry in timed]
    found: TimedEntries = []
    for end in _missing(result.state, result.begins, result.calls, entries):
        # A call without a record ended so many seconds after the reply that asked for it.
        model_key = f"{end.key.partition('.')[0]}.model"
        ended = at
        for when, entry in timed:
            if getattr(entry, "key", "") == model_key:
                ended = when + end.seconds
        found.append((ended, end))
    for call in result.state.paused:
        if call.begun is not None:
            # It waits for its own answer: there is no run inside.
            if not any(isinstance(each, CallFinished) and each.key == call.key for each in entries):
                found.append((at, call.begun))
            continue
        inside: list[Entry] = []
        for entry in entries:
            if isinstance(entry, Nested) and entry.path == call.key:
                inside.append(entry.entry)
        agent = call.key.rpartition(".")[2]
        missing: list[Entry] = [*_missing(call.state, call.begins, (), inside)]
        if not any(isinstance(each, RunStarted) for each in inside):
            missing.insert(
                0,
                RunStarted(
                    messages=call.state.messages[: call.begins + 1],
                    budget=call.state.budget,
                    system=call.state.system or "",
                    choice=call.state.choice,
                    sticky_choice=call.state.sticky_choice,
                    retry_broken=call.state.retry_broken,
                    wanted=call.state.wanted,
                    intents=None if call.state.intents is None else call.state.intents.stated,
                    dry_run=call.state.dry_run,
                ),
            )
        if not any(isinstance(each, RunPaused) for each in inside):
            ids = tuple([each.call_id.partition("/")[2] for each in call.pending])
            missing.append(RunPaused(key=f"t{call.state.progress.turns}.paused", call_ids=ids))
        for each in missing:
            found.append((at, Nested(path=call.key, agent=agent, entry=each)))
    return found


def _missing(
    state: State, begins: int, calls: Sequence[CallRecord], entries: Sequence[Entry]
) -> Iterator[CallFinished]:
    """The ends of calls that are in the transcript but not among the entries."""
    known = set[str]()
    for entry in entries:
        if isinstance(entry, CallFinished):
            known.add(entry.key)
    ran = {each.result.call_id: each for each in calls}
    turn = 0
    made = dict[str, str]()
    for message in state.messages[begins:]:
        if isinstance(message, Reply):
            turn += 1
            made = {}
            for index, call in enumerate(message.calls):
                made[call.id] = f"t{turn}.{index}.{call.name}"
        elif isinstance(message, Results):
            for result in message.results:
                key = made.get(result.call_id, "")
                record = ran.get(result.call_id)
                if key and key not in known:
                    seconds = 0.0 if record is None else record.seconds
                    attempts = 0 if record is None else record.attempts
                    yield CallFinished(key=key, result=result, seconds=seconds, attempts=attempts)
    for end in state.finished:
        if end.key not in known:
            yield end
