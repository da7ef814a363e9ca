"""The status of a run, read from its latest segment."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.decision import Proposal
from rightcall.durable.engine import Engine, Segment, Status, StepRecord
from rightcall.durable.segment import Outcome, read_outcome
from rightcall.errors import JournalError, RunStopped, UsageError
from rightcall.loop.result import RunResult

RunStatus: TypeAlias = Literal[
    "queued", "running", "waiting", "done", "failed", "cancelled", "parked", "stranded"
]
"""The status of a run. ``waiting``: for a person. ``parked``: too many processes died executing it.
``stranded``: no worker of this version can go on with it."""
_OF_SEGMENTS: Mapping[Status, RunStatus] = {
    "queued": "queued",
    "running": "running",
    "cancelled": "cancelled",
    "parked": "parked",
    "broken": "failed",
    "stranded": "stranded",
}


class RunInfo(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run, and its status."""

    run: str
    agent: str
    status: RunStatus
    segment: int
    """The number of its latest segment: how often it went on after a pause."""
    attempts: int
    """How often that segment was started; more than once after a process died."""
    queue: str
    created: float
    updated: float
    """Seconds since 1970, of the latest segment."""
    worker: str = ""
    reason: str = ""
    """Why it failed, was parked or is stranded."""
    stop: str = ""
    """Why it stopped, once it is done."""
    pending: tuple[Proposal, ...] = ()
    """The calls that it waits for."""
    forked_from: str = ""


class Shown(Struct, frozen=True, kw_only=True):
    """A run with everything that is stored of it."""

    info: RunInfo
    segments: tuple[Segment, ...]
    steps: Mapping[int, Sequence[StepRecord]]
    """By the number of the segment."""


class Standing:
    """The state of a run, from its latest segment."""

    def __init__(self, engine: Engine, segment: Segment, output: Any = None) -> None:
        self._engine = engine
        self.segment = segment
        self._output = output
        ended = segment.status == "ended"
        self.outcome: Outcome | None = read_outcome(segment.outcome, segment.job.run) if ended else None
        """The segment's outcome, if it has ended."""

    @property
    def status(self) -> RunStatus:
        """The status of the run."""
        if self.outcome is None:
            return _OF_SEGMENTS[self.segment.status]
        is_quit = self.outcome.kind == "failed" and self.outcome.code == RunStopped.code
        return "cancelled" if is_quit else self.outcome.kind

    @property
    def reason(self) -> str:
        """Why there is no result."""
        if self.outcome is None or self.outcome.kind != "failed":
            return self.segment.reason
        return f"{self.outcome.code}: {self.outcome.message}"

    def info(self) -> RunInfo:
        """The public description of the run."""
        segment, outcome = self.segment, self.outcome
        return RunInfo(
            run=segment.job.run,
            agent=segment.job.agent,
            status=self.status,
            segment=segment.job.segment,
            attempts=segment.attempts,
            queue=segment.job.queue,
            created=segment.created,
            updated=segment.updated,
            worker=segment.worker,
            reason=self.reason,
            stop="" if outcome is None else outcome.stop,
            pending=() if outcome is None else outcome.pending,
            forked_from=segment.forked_from,
        )

    async def result(self) -> RunResult[Any]:
        """The run's result. Raises RunStopped, with the partial result, if it has none."""
        outcome, kept = self.outcome, None
        if outcome is not None and outcome.result:
            data = await self._engine.blobs.get(outcome.result)
            kept = RunResult.from_json(data, output=self._output)
        if outcome is None or outcome.kind == "failed" or kept is None:
            error = RunStopped(self.segment.job.run, self.status, self.reason)
            error.result = kept
            raise error
        return kept


def info_of(engine: Engine, segment: Segment) -> RunInfo:
    """A run as lists show it. One whose outcome cannot be read is a failed one, and hides no other."""
    try:
        return Standing(engine, segment).info()
    except JournalError as error:
        return Standing(engine, replace(segment, status="broken", reason=str(error))).info()


async def latest_of(engine: Engine, run: str) -> Standing:
    """A run by its latest segment. Raises UsageError if there is no such run."""
    segments = await engine.segments(run)
    if not segments:
        raise UsageError(f"there is no run {run!r}")
    return Standing(engine, max(segments, key=lambda each: each.job.segment))
