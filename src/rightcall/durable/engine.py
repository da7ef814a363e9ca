"""The seam between runs and a durable-execution engine: what one gives, and what it is given.

A run is cut into segments: the stretch from its input, or from a person's decisions, to its answer or
to the next pause. A segment is the unit that an engine knows. It hands each to one live process at a
time, gives it a ``Journal`` to record steps in, hands it to another when that one dies, and keeps how
it ended. A run that waits for a person has no segment that goes on, so waiting costs nothing but rows.

A journal is addressed by keys and not by order. What earlier executions of the segment recorded is
there when the next one begins (``known``), and what one records is durable when ``record`` returns. So
an engine need not replay code, and calls that run side by side need no order. An engine that has an
ordered history keeps the journal beside it: as the state of an object, or of a workflow.

The engine is told nothing of models, tools or agents. All that it keeps is text.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

JOURNAL_VERSION = 1
"""The form of keys, inputs, records and outcomes. Another form is another number, and then runs under
way are told apart from new ones: no process executes a segment of another version.

Version 1. A segment's id is ``RUN/N``, with N from 0. Keys of steps are those of ``core.entry``:
``t3.model``, ``t3.1.search``, ``t3.1.search.started``, ``t1.0.writer/t2.model`` inside an agent that was
handed a task. A record is ``steps.Record`` as JSON, an input ``segment.Input``, an outcome
``segment.Outcome``; whatever is longer than ``INLINE`` is a reference to a blob."""

INLINE = 64_000
"""Bytes of a value that an engine keeps itself; what is longer is put among the blobs."""

MOST_DEATHS = 5
"""How many processes may die while they execute a segment; then it is parked."""

Status: TypeAlias = Literal["queued", "running", "ended", "cancelled", "parked", "broken", "stranded"]
"""Where a segment stands. ``ended``: it has an outcome. ``parked``: too many processes died of it.
``broken``: the engine could not execute it. ``stranded``: only a process that speaks another version
of the journal could, and there is none."""


class Caps(Struct, frozen=True, kw_only=True):
    """What an engine can do."""

    name: str
    hosts: bool
    """Whether workers may be on several machines."""
    live: bool
    """Whether events are seen in other processes while a run goes on."""
    fork: bool = True


class Queue(Struct, frozen=True, kw_only=True):
    """A queue of segments that wait for a worker, with its limits."""

    name: str = "default"
    concurrency: int = 50
    """Segments that this process executes at a time."""
    everywhere: int | None = None
    """Segments that all processes together execute at a time."""
    rate: tuple[int, float] | None = None
    """So many segments may start in so many seconds, in all processes together."""
    lanes: bool = False
    """The rate, and ``everywhere``, are counted for each lane: a tenant, or a model."""


class Job(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One segment, as it is handed to an engine and comes back from it."""

    run: str
    segment: int
    agent: str
    input: str
    """For whoever executes it. Never compared with anything but the input of the same segment."""
    queue: str = "default"
    priority: int = 0
    """Lower numbers go first."""
    lane: str = ""
    """Whose rate it counts for, on a queue with lanes."""
    deadline: float | None = None
    """When the run must be over, in seconds since 1970; no segment of it goes on after that."""
    version: int = JOURNAL_VERSION

    @property
    def id(self) -> str:
        """The segment's name, the same whoever submits it."""
        return segment_id(self.run, self.segment)


def segment_id(run: str, segment: int) -> str:
    """The name of a segment."""
    return f"{run}/{segment}"


def parse_segment_id(name: str) -> tuple[str, int]:
    """The run and the number of a segment that ``segment_id`` named."""
    run, _, segment = name.rpartition("/")
    return run, int(segment)


class Journal(Protocol):
    """The record of one segment, in the hands of the process that executes it now."""

    @property
    def attempt(self) -> int:
        """Which execution of the segment this is: 1, and more after a process died."""
        ...

    @property
    def known(self) -> Mapping[str, str]:
        """What earlier executions recorded, by key, in the order in which they did."""
        ...

    async def record(self, key: str, value: str, /) -> None:
        """Keep a value under a key, in place of what was there. It is durable when this returns.

        Raises RunHeld, and keeps nothing, where the segment is no longer this execution's: another has
        been given it, or it was cancelled.
        """
        ...


Execute: TypeAlias = Callable[[Job, Journal], Awaitable[str]]
"""Executes a segment and gives its outcome. What it raises is the engine's to keep as ``broken``.

It is awaited on the event loop that opened the engine. Its task is cancelled when its segment is, and
when the engine closes: then nothing is kept, and another process goes on."""


class Segment(Struct, frozen=True, kw_only=True):
    """A segment as an engine knows it."""

    job: Job
    status: Status
    outcome: str = ""
    """What ``Execute`` gave, once it has ended."""
    reason: str = ""
    """Why it was parked, broke or is stranded, in words."""
    attempts: int = 0
    created: float = 0.0
    updated: float = 0.0
    """Seconds since 1970."""
    worker: str = ""
    """Which process executes it, or did last."""
    forked_from: str = ""
    """The id of the segment that it was forked from."""


class StepRecord(Struct, frozen=True, kw_only=True):
    """A step of a segment, as it was recorded."""

    key: str
    value: str
    at: float
    """Seconds since 1970."""


class Blobs(Protocol):
    """Where long values are, by their content: the same bytes have the same reference.

    Each is kept for the runs that put it, and goes with the last of them.
    """

    async def put(self, run: str, data: bytes, /) -> str:
        """Keep bytes for a run; the reference is there before anything can name it."""
        ...

    async def get(self, reference: str, /) -> bytes:
        """The bytes. Raises JournalError where there are none, or others than were put."""
        ...

    async def share(self, run: str, other: str, /) -> None:
        """Keep everything that is kept for one run for another, too."""
        ...

    async def drop(self, runs: Sequence[str], /) -> int:
        """Let go of what was kept for these runs; how many blobs went."""
        ...


class Channel(Protocol):
    """Carries live events from whoever executes a run to whoever watches it. It may lose some."""

    async def publish(self, run: str, texts: Sequence[str], /) -> None:
        """Show these to everybody who watches the run now."""
        ...

    def follow(self, run: str, /) -> AsyncIterator[Sequence[str]]:
        """What is published from now on, as it comes; nothing at all now and then, to look elsewhere."""
        ...


class Engine(Protocol):
    """An adapter to a durable-execution engine: client and worker in one."""

    @property
    def caps(self) -> Caps:
        """What it can do."""
        ...

    @property
    def blobs(self) -> Blobs:
        """Where long values are."""
        ...

    @property
    def channel(self) -> Channel:
        """What carries live events."""
        ...

    async def open(self, execute: Execute | None, queues: Sequence[Queue], /) -> None:
        """Connect; with ``execute``, begin to work on these queues as well."""
        ...

    async def submit(self, job: Job, /) -> Job:
        """Put a segment into its queue. The job that stands: this one, or that of who came first."""
        ...

    async def wait(self, run: str, segment: int, /) -> Segment:
        """The segment, once it neither waits nor goes on. UsageError where there is none."""
        ...

    async def cancel(self, run: str, /) -> bool:
        """End the segment of a run that waits or goes on, wherever that is; whether there was one."""
        ...

    async def fork(self, run: str, segment: int, before: str, new: str, /) -> None:
        """Submit a copy of a segment as another run's first, with what was recorded before a key.

        It has no deadline. UsageError where there is a run of that name.
        """
        ...

    async def history(self, run: str, segment: int, /) -> Sequence[StepRecord]:
        """The steps of a segment, in the order in which they were recorded."""
        ...

    async def segments(
        self, run: str | None = None, /, *, before: float | None = None, limit: int | None = None
    ) -> Sequence[Segment]:
        """The segments of a run, or those of all runs, latest first: not touched since ``before``."""
        ...

    async def delete(self, runs: Sequence[str], /) -> None:
        """Forget these runs: their segments, steps and blobs."""
        ...

    async def close(self, *, patience: float = 0.0) -> None:
        """Take nothing more, wait so many seconds for what goes on, and leave the rest to others."""
        ...
