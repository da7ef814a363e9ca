"""Judges recorded runs by checks in Python: the goal, the calls, their order, the cost.

A check is any function of a ``Trajectory``. No model is called and nothing is run again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from inspect import isawaitable
from typing import TypeAlias

from msgspec import Struct

from rightcall.core.entry import CallFinished, Entry, ReplyReceived, RunStarted
from rightcall.core.jsontext import JsonError, JsonObject, parse
from rightcall.core.message import User
from rightcall.core.parts import Call, Usage
from rightcall.core.ports import AsyncJournal, Journal
from rightcall.core.sanitize import printable
from rightcall.errors import UsageError
from rightcall.evals.scores import Share
from rightcall.record.steps import entries_of, stop_of, unfold_entries


class RecordedCall(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call of a recorded run."""

    name: str
    arguments: JsonObject
    """Empty if the model did not write an object."""
    outcome: str = "unfinished"
    """The kind of its outcome."""
    result: str = ""
    """The result as the model read it."""
    inside: str = ""
    """For a call of an agent that was handed a task: the key of that agent's call."""
    seconds: float = 0.0


class Trajectory(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The trajectory of a run."""

    run: str
    question: str
    """The last user message when it began."""
    text: str
    """The answer: the text of the last reply."""
    stop: str
    """Why it ended, as ``end``; ``paused``, ``failed (…)`` or ``cut off`` if it did not."""
    calls: tuple[RecordedCall, ...] = ()
    """In the order of the replies; including those of inner agents."""
    turns: int = 0
    usage: Usage = Usage()
    seconds: float = 0.0
    """The total time of models and tools, in seconds."""

    @property
    def names(self) -> tuple[str, ...]:
        """The tools that were called, in order."""
        return tuple(call.name for call in self.calls)


Check: TypeAlias = Callable[[Trajectory], bool]
"""Returns whether a run is as it should be. Reports show its docstring's first line, or its name."""


class FailingRun(Struct, frozen=True, kw_only=True):
    """A run that failed a check."""

    run: str
    question: str
    calls: tuple[str, ...]
    stop: str
    error: str = ""
    """What the check raised, if it did: that also counts as a failure."""


class CheckResult(Struct, frozen=True, kw_only=True):
    """The result of one check on all runs."""

    name: str
    passed: Share
    failing: tuple[FailingRun, ...] = ()


async def trajectory(journal: Journal | AsyncJournal, run: str) -> Trajectory:
    """The trajectory of one recorded run."""
    entries = await entries_of(journal, run)
    start = next((entry for entry in entries if isinstance(entry, RunStarted)), None)
    if start is None:
        raise UsageError(f"the journal holds no run {run!r}")
    question = ""
    for message in start.messages:
        if isinstance(message, User):
            question = message.text
    text = ""
    turns = 0
    usage = Usage()
    seconds = 0.0
    for entry in entries:
        if isinstance(entry, ReplyReceived):
            text = entry.reply.text
            turns += 1
            usage += entry.reply.usage
            seconds += entry.seconds
        elif isinstance(entry, CallFinished):
            usage += entry.usage or Usage()
            seconds += entry.seconds
    return Trajectory(
        run=run,
        question=question,
        text=text,
        stop=stop_of(entries),
        calls=tuple(_calls(entries)),
        turns=turns,
        usage=usage,
        seconds=seconds,
    )


async def trajectories(
    journal: Journal | AsyncJournal, runs: Iterable[str] | None = None
) -> tuple[Trajectory, ...]:
    """The trajectories of these runs; by default of all in the journal."""
    if runs is None:
        listed = journal.runs()
        runs = await listed if isawaitable(listed) else listed
    return tuple([await trajectory(journal, run) for run in runs])


def check_runs(found: Sequence[Trajectory], checks: Iterable[Check]) -> tuple[CheckResult, ...]:
    """The result of each check on each run. A check that raises fails, and the error is kept."""
    return tuple(_run_check(check, found) for check in checks)


def check_lines(checked: Iterable[CheckResult]) -> Iterator[str]:
    """The results of the checks, for a terminal."""
    for each in checked:
        yield printable(f"{each.name}: {each.passed}")
        for run in each.failing:
            why = f" ({run.error})" if run.error else ""
            calls = " -> ".join(run.calls) or "no calls"
            yield printable(f"  {run.run}: {calls}; {run.stop}{why}").replace("\n", " ")


def _run_check(check: Check, found: Sequence[Trajectory]) -> CheckResult:
    failing = []
    for each in found:
        error = ""
        try:
            passed = bool(check(each))
        except Exception as raised:  # noqa: BLE001 - whatever somebody's check cannot take is a no
            passed = False
            error = f"{type(raised).__name__}: {raised}"
        if not passed:
            failing.append(
                FailingRun(
                    run=each.run, question=each.question, calls=each.names, stop=each.stop, error=error
                )
            )
    share = Share(len(found) - len(failing), len(found))
    return CheckResult(name=name_of(check), passed=share, failing=tuple(failing))


def name_of(check: Check) -> str:
    """The name of a check in reports."""
    words = (check.__doc__ or "").strip().partition("\n")[0]
    return words or getattr(check, "__name__", repr(check))


def _calls(entries: Sequence[Entry]) -> Iterator[RecordedCall]:
    ends = {}
    for at, entry in unfold_entries(entries):
        if isinstance(entry, CallFinished):
            ends[f"{at}{entry.key}"] = entry
    for at, entry in unfold_entries(entries):
        if not isinstance(entry, ReplyReceived):
            continue
        turn = entry.key.removesuffix(".model")
        for index, call in enumerate(entry.reply.calls):
            end = ends.get(f"{at}{turn}.{index}.{call.name}")
            if end is None:
                yield RecordedCall(name=call.name, arguments=_arguments(call), inside=at.rstrip("/"))
                continue
            yield RecordedCall(
                name=call.name,
                arguments=_arguments(call),
                outcome=end.result.outcome,
                result=end.result.text,
                inside=at.rstrip("/"),
                seconds=end.seconds,
            )


def _arguments(call: Call) -> JsonObject:
    try:
        given = parse(call.arguments or "{}")
    except JsonError:
        return {}
    if isinstance(given, Mapping):
        return given
    return {}
