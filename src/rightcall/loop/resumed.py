"""Remembers which pauses of runs without a journal were resumed in this process, so that none is twice.

A journal records decisions, so resuming a second time does nothing twice. Without one only this process
can know; another process that resumes a copy of the result is not detected.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any

from rightcall.core.decision import FinalDecision
from rightcall.errors import AlreadyDecided
from rightcall.loop.result import RunResult
from rightcall.loop.run import Run

MOST = 10_000
"""The most runs that are remembered, the latest ones."""

_ADVICE = "its calls are not run again. Keep what that resume gave, or give the agent a journal"


class _Answer:
    """The decisions that resumed a run's pause at a turn."""

    def __init__(self, turn: int, decisions: Mapping[str, FinalDecision]) -> None:
        self.turn = turn
        self.decisions = decisions

    def is_before(self, later: "_Answer") -> bool:
        """Whether the later one answers another pause: an inner agent may pause the same turn again."""
        if self.turn == later.turn:
            return not self.decisions.keys() & later.decisions.keys()
        return self.turn < later.turn

    def after(self, before: "_Answer | None") -> "_Answer":
        """Returns the decisions of this turn, together with those of an earlier pause in it."""
        if before is None or before.turn != self.turn:
            return self
        return _Answer(self.turn, {**before.decisions, **self.decisions})


_answers: dict[str, _Answer] = {}
_lock = Lock()
"""Agents may run in several threads, each with its own event loop."""


@contextmanager
def resumed_once(
    result: RunResult[Any], decisions: Mapping[str, FinalDecision], run: Run
) -> Iterator[None]:
    """Resume a paused run in this context; raises AlreadyDecided if that was done before.

    A run that failed before it ran any call may be resumed again.
    """
    answer = _Answer(result.state.progress.turns, decisions)
    with _lock:
        before = _answers.pop(result.run, None)
        is_first = before is None or before.is_before(answer)
        _answers[result.run] = answer.after(before) if before is None or is_first else before
        if len(_answers) > MOST:
            del _answers[next(iter(_answers))]
    if before is not None and not is_first:
        raise AlreadyDecided(result.run, before.decisions, advice=_ADVICE)
    try:
        yield
    except BaseException:
        if not run.has_acted:
            forget(result.run)
        raise


def check_standing(
    result: RunResult[Any], decided: Mapping[str, FinalDecision], given: Mapping[str, FinalDecision]
) -> None:
    """Raise AlreadyDecided if a journal holds another decision: the first one counts."""
    stands = {call_id: given[call_id] for call_id in decided if call_id in given}
    if any(decided[call_id] != decision for call_id, decision in stands.items()):
        raise AlreadyDecided(result.run, stands)


def forget(run: str) -> None:
    """Forget a run's decisions: a run of that name starts anew, or resuming failed before any call."""
    _answers.pop(run, None)
