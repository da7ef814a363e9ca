"""The segments of a run into the entries that a journal of it would hold, for readers of runs.

A store holds only what must be known after a crash. How a run began is in its first segment's input, a
person's decisions are in the inputs of the others, how each segment ended is in its outcome, and the
result of a pure call is only in the run's result. Here all of that becomes entries, each with its time.
The entries of a run do not change while it goes on, except for its start, of which more is known at its
end.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

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
from rightcall.durable.engine import Engine, Segment, parse_segment_id
from rightcall.durable.segment import Begin, GoOn, Outcome, Quit, read_input, read_outcome
from rightcall.durable.steps import read
from rightcall.loop.nested import is_inside
from rightcall.loop.result import CallRecord, RunResult
from rightcall.loop.state import State

Told: TypeAlias = list[tuple[float, Entry]]
_NO_LIMIT = Budget(turns=None, calls=None, seconds=None, tokens=None, cost=None, repeats=None)
_FRAME = (RunStarted, RunResumed, RunPaused, RunEnded, RunFailed)
"""Entries that come from inputs and outcomes; among the records, only those of inner runs count."""


class _Ended(Struct, frozen=True):
    """The outcome and the result of a segment that has ended."""

    outcome: Outcome
    result: RunResult[Any] | None


async def story_of(engine: Engine, run: str, agents: Mapping[str, Agent[Any, Any]]) -> Told:
    """All entries of a run, in order; empty if there is no such run."""
    told: Told = []
    segments = sorted(await engine.segments(run), key=lambda each: each.job.segment)
    ends = [await _end(engine, segment) for segment in segments]
    results = [end.result for end in ends if end is not None and end.result is not None]
    for segment, end in zip(segments, ends, strict=True):
        given = await read_input(segment.job, engine.blobs)
        match given:
            case Begin():
                known = results[-1].state if results else None
                agent = agents.get(segment.job.agent)
                told.append((segment.created, _start(segment, given, known, agent)))
            case GoOn(decisions=decisions):
                at = max(segment.created, told[-1][0] if told else 0.0)
                told.append((at, RunResumed(decisions=decisions)))
            case Quit():
                told.append((segment.created, _cancelled()))
                continue
        for step in await engine.history(run, segment.job.segment):
            pairs = await read(step.value, engine.blobs, f"the run {run!r}, {step.key}")
            told += [(step.at, entry) for _, entry in pairs if not isinstance(entry, _FRAME)]
        if end is not None and end.result is not None:
            told += _unrecorded(end.result, told, segment.updated)
        # Some engines report a segment's time in whole seconds, and its steps happened within it.
        over = max(segment.updated, told[-1][0])
        told += [(over, entry) for entry in _ending(segment, end)]
    return told


async def _end(engine: Engine, segment: Segment) -> _Ended | None:
    if segment.status != "ended":
        return None
    outcome = read_outcome(segment.outcome, segment.job.run)
    if not outcome.result:
        return _Ended(outcome, None)
    return _Ended(outcome, RunResult.from_json(await engine.blobs.get(outcome.result)))


def _start(
    segment: Segment, given: Begin, known: State | None, agent: Agent[Any, Any] | None
) -> RunStarted:
    """How a run began: what was submitted; the rest comes from its end or its agent."""
    settings = given.settings
    said = settings.instructions or given.system
    budget = settings.budget or (agent.budget if agent is not None else _NO_LIMIT)
    return RunStarted(
        messages=(*given.history, given.message),
        budget=budget if known is None else known.budget,
        system=said if known is None else known.system or "",
        specs=() if agent is None else tuple([tool.spec for tool in agent.tools if not tool.deferred]),
        choice=settings.choice if known is None else known.choice,
        sticky_choice=settings.sticky_choice,
        retry_broken=known is not None and known.retry_broken,
        wanted=None if known is None else known.wanted,
        grant=settings.grant,
        dry_run=settings.dry_run,
        parent=parse_segment_id(segment.forked_from)[0] if segment.forked_from else None,
        agent=segment.job.agent,
    )


def _ending(segment: Segment, end: _Ended | None) -> Iterator[Entry]:
    """How a segment ended; nothing while it is queued or running."""
    if end is None:
        if segment.status == "cancelled":
            yield _cancelled()
        elif segment.status not in ("queued", "running"):
            yield RunFailed(code=segment.status, message=segment.reason)
        return
    outcome, result = end.outcome, end.result
    if outcome.kind == "failed" or result is None:
        yield RunFailed(code=outcome.code or "failed", message=outcome.message)
    elif outcome.kind == "waiting":
        call_ids = tuple([each.call_id for each in outcome.pending])
        inner = ",".join(filter(is_inside, call_ids))
        key = f"t{result.state.progress.turns}.paused{inner and f'.{inner}'}"
        yield RunPaused(key=key, call_ids=call_ids)
    else:
        yield RunEnded(stop=result.stop)


def _cancelled() -> RunFailed:
    return RunFailed(code="cancelled", message="the run was cancelled")


def _unrecorded(result: RunResult[Any], told: Told, at: float) -> Told:
    """The ends of calls, and the starts of inner runs that wait, which did not need to be recorded."""
    entries = [entry for _, entry in told]
    found: Told = []
    for end in _missing(result.state, result.begins, result.calls, entries):
        asked = [when for when, entry in told if _asks(entry, end.key)]
        found.append((asked[-1] + end.seconds if asked else at, end))
    for call in result.state.paused:
        inside = [each.entry for each in entries if isinstance(each, Nested) and each.path == call.key]
        agent = call.key.rpartition(".")[2]
        missing: list[Entry] = [*_missing(call.state, call.begins, (), inside)]
        if not any(isinstance(each, RunStarted) for each in inside):
            missing.insert(0, _start_inside(call.state, call.begins))
        if not any(isinstance(each, RunPaused) for each in inside):
            ids = tuple([each.call_id.partition("/")[2] for each in call.pending])
            missing.append(RunPaused(key=f"t{call.state.progress.turns}.paused", call_ids=ids))
        found += [(at, Nested(path=call.key, agent=agent, entry=each)) for each in missing]
    return found


def _start_inside(state: State, begins: int) -> RunStarted:
    return RunStarted(
        messages=state.messages[: begins + 1],
        budget=state.budget,
        system=state.system or "",
        choice=state.choice,
        sticky_choice=state.sticky_choice,
        retry_broken=state.retry_broken,
        wanted=state.wanted,
        grant=state.grant,
        dry_run=state.dry_run,
    )


def _asks(entry: Entry, key: str) -> bool:
    return getattr(entry, "key", "") == f"{key.partition('.')[0]}.model"


def _missing(
    state: State, begins: int, calls: Sequence[CallRecord], entries: Sequence[Entry]
) -> Iterator[CallFinished]:
    """The ends of calls that are in the transcript but not among the entries."""
    known = {entry.key for entry in entries if isinstance(entry, CallFinished)}
    ran = {each.result.call_id: each for each in calls}
    turn, made = 0, dict[str, str]()
    for message in state.messages[begins:]:
        if isinstance(message, Reply):
            turn += 1
            made = {c.id: f"t{turn}.{index}.{c.name}" for index, c in enumerate(message.calls)}
        elif isinstance(message, Results):
            for result in message.results:
                key, record = made.get(result.call_id, ""), ran.get(result.call_id)
                if key and key not in known:
                    seconds = 0.0 if record is None else record.seconds
                    attempts = 0 if record is None else record.attempts
                    yield CallFinished(key=key, result=result, seconds=seconds, attempts=attempts)
    yield from (end for end in state.finished if end.key not in known)
