"""The interface between runs and a durable-execution engine.

A run is cut into segments: the stretch from its input, or from a person's decisions, to its answer or to
the next pause. A segment is the unit that an engine knows. It hands each to one live process at a time,
gives it a ``Journal`` to record steps in, hands it to another process when that one dies, and stores how
it ended. A run that waits for a person has no running segment, so waiting costs nothing but rows.

A journal is addressed by keys and not by order. The records of earlier executions of the segment are
there when the next one begins (``known``), and a record is durable when ``record`` returns. So an engine
need not replay code, and concurrent calls need no order. An engine that has an ordered history stores
the journal beside it: as the state of an object, or of a workflow.

The engine knows nothing of models, tools or agents. It stores only text.
"""

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import closing
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, cast

from msgspec import Struct, json, to_builtins

from rightcall.core.optional_libraries import require
from rightcall.core.sanitize import encodable_json
from rightcall.errors import JournalError, UsageError

JOURNAL_VERSION = 1
"""The version of the format of keys, inputs, records and outcomes. Another format has another number,
which tells runs under way from new ones: no process executes a segment of another version.

Version 1. A segment's id is ``RUN/N``, with N from 0. Keys of steps are those of ``core.entry``:
``t3.model``, ``t3.1.search``, ``t3.1.search.started``, ``t1.0.writer/t2.model`` inside an agent that was
handed a task. A record is ``segment.JournalRecord`` as JSON, an input ``segment.Input``, an outcome
``segment.Outcome``; whatever is longer than ``INLINE`` is a reference to a blob."""

INLINE = 64_000
"""Bytes of a value that an engine stores itself; longer values are stored as blobs."""

MOST_DEATHS = 5
"""How many processes may die of a segment; then it is parked."""

Status: TypeAlias = Literal["queued", "running", "ended", "cancelled", "parked", "broken", "stranded"]
"""The status of a segment. ``ended``: it has an outcome. ``parked``: too many processes died executing
it. ``broken``: the engine could not execute it. ``stranded``: it needs a process with another version of
the journal, and there is none."""


class Queue(Struct, frozen=True, kw_only=True):
    """A queue of segments that wait for a worker, with its limits."""

    name: str = "default"
    concurrency: int = 50
    """Segments that this process executes at a time."""
    everywhere: int | None = None
    """Segments that all processes together execute at a time."""
    rate: tuple[int, float] | None = None
    """How many segments may start in how many seconds, in all processes together."""
    lanes: bool = False
    """Whether the rate, and ``everywhere``, are counted for each lane: a tenant, or a model."""


class SegmentJob(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One segment, as it is submitted to an engine and returned by it."""

    run: str
    segment: int
    agent: str
    input: str
    """For the process that executes it. Compared only with the input of the same segment."""
    queue: str = "default"
    priority: int = 0
    """Lower numbers go first."""
    lane: str = ""
    """The lane whose rate it counts against, on a queue with lanes."""
    deadline: float | None = None
    """When the run must have ended, in seconds since 1970; no segment of it goes on after that."""
    version: int = JOURNAL_VERSION

    @property
    def id(self) -> str:
        """The segment's id, the same whoever submits it."""
        return segment_id(self.run, self.segment)


def segment_id(run: str, segment: int) -> str:
    """The id of a segment."""
    return f"{run}/{segment}"


def parse_segment_id(name: str) -> tuple[str, int]:
    """The run and the number in a segment's id."""
    run, _, segment = name.rpartition("/")
    return run, int(segment)


class SegmentJournal(Protocol):
    """The record of one segment, for the process that executes it now."""

    @property
    def attempt(self) -> int:
        """The number of this execution of the segment: 1, and more after a process died."""

    @property
    def known(self) -> Mapping[str, str]:
        """The records of earlier executions, by key, in the order in which they were made."""

    async def record(self, key: str, value: str, /) -> None:
        """Store a value under a key, replacing an earlier one. It is durable when this returns.

        Raises RunHeld, and stores nothing, if the segment no longer belongs to this execution: another
        has been given it, or it was cancelled.
        """


Execute: TypeAlias = Callable[[SegmentJob, SegmentJournal], Awaitable[str]]
"""Executes a segment and returns its outcome. If it raises, the engine stores the segment as ``broken``.

It is awaited on the event loop that opened the engine. Its task is cancelled when its segment is, and
when the engine closes: then nothing is stored, and another process goes on."""


class Segment(Struct, frozen=True, kw_only=True):
    """A segment as an engine stores it."""

    job: SegmentJob
    status: Status
    outcome: str = ""
    """The return value of ``Execute``, once it has ended."""
    reason: str = ""
    """Why it was parked, broke or is stranded, as text."""
    attempts: int = 0
    created: float = 0.0
    updated: float = 0.0
    """Seconds since 1970."""
    worker: str = ""
    """The process that executes it, or did last."""
    forked_from: str = ""
    """The id of the segment that it was forked from."""


class StepRecord(Struct, frozen=True, kw_only=True):
    """A step of a segment, as it was recorded."""

    key: str
    value: str
    at: float
    """Seconds since 1970."""


class Blobs(Protocol):
    """Stores long values by their content: the same bytes have the same reference.

    Each is stored for the runs that put it, and deleted with the last of them.
    """

    async def put(self, run: str, data: bytes, /) -> str:
        """Store bytes for a run; they are durable before the reference is returned."""

    async def get(self, reference: str, /) -> bytes:
        """The bytes. Raises JournalError if there are none, or if they are not those that were put."""

    async def share(self, run: str, other: str, /) -> None:
        """Make another run an owner of all values of a run."""

    async def drop(self, runs: Sequence[str], /) -> int:
        """Delete what only these runs own; returns how many blobs were deleted."""


class LiveChannel(Protocol):
    """Carries live events from the process that executes a run to its watchers. It may lose some."""

    async def publish(self, run: str, texts: Sequence[str], /) -> None:
        """Send these to everybody who watches the run now."""

    def follow(self, run: str, /) -> AsyncIterator[Sequence[str]]:
        """The events from now on; an empty batch now and then, so that the caller can check the run."""


class RunMessages(Protocol):
    """Stores the messages that are added to runs, as text, each numbered from 1 in its run."""

    async def put(self, run: str, text: str, /, *, name: str = "", urgent: bool = False) -> bool:
        """Store a message after all others of its run; it is durable when this returns.

        One of a name that the run has a message of already is not stored again. False if the run takes
        no more messages.
        """

    async def after(self, run: str, number: int, /) -> Sequence[tuple[int, str]]:
        """The messages of a run with a greater number, in order."""

    async def close(self, run: str, number: int, /) -> bool:
        """Take no more messages for a run, unless it has one with a greater number."""

    async def urgent(self, runs: Sequence[str], /) -> Mapping[str, int]:
        """For those of these runs that have urgent messages, the number of the last one."""

    async def copy(self, run: str, other: str, /) -> None:
        """Give another run, which is a fork, the messages of a run."""

    async def drop(self, runs: Sequence[str], /) -> None:
        """Delete the messages of these runs."""


class DurableEngine(Protocol):
    """An adapter to a durable-execution engine: client and worker in one."""

    @property
    def blobs(self) -> Blobs:
        """The store of long values."""

    @property
    def channel(self) -> LiveChannel:
        """The channel of live events."""

    @property
    def messages(self) -> RunMessages:
        """The store of messages that are added to runs."""

    async def open(self, execute: Execute | None, queues: Sequence[Queue], /) -> None:
        """Connect; with ``execute``, start a worker on these queues as well."""

    async def submit(self, job: SegmentJob, /) -> SegmentJob:
        """Enqueue a segment. Returns the stored job: this one, or the one that was submitted first."""

    async def wait(self, run: str, segment: int, /) -> Segment:
        """The segment, once it is neither queued nor running. Raises UsageError if there is none."""

    async def cancel(self, run: str, /) -> bool:
        """Cancel a run's queued, running or parked segment; returns whether there was one."""

    async def retry(self, run: str, segment: int, /) -> bool:
        """Queue a parked segment again, as if no process had died of it; False if it is not parked."""

    async def fork(self, run: str, segment: int, before: str, new: str, /) -> None:
        """Submit a copy of a segment as the first of another run, with the records before a key.

        It has no deadline. Raises UsageError if there is a run of that name.
        """

    async def history(self, run: str, segment: int, /) -> Sequence[StepRecord]:
        """The steps of a segment, in the order in which they were recorded."""

    async def segments(
        self, run: str | None = None, /, *, before: float | None = None, limit: int | None = None
    ) -> Sequence[Segment]:
        """The segments of a run, or of all, latest first; with ``before``, those not updated since."""

    async def delete(self, runs: Sequence[str], /) -> None:
        """Delete these runs: their segments, steps and blobs."""

    async def close(self, *, patience: float = 0.0) -> None:
        """Take no more work, wait so many seconds for what is running, and leave the rest to others."""


_HASH = "sha256:"


def reference_to(data: bytes) -> str:
    """The reference of these bytes."""
    return _HASH + sha256(data).hexdigest()


def checked_bytes(reference: str, data: bytes | None) -> bytes:
    """The bytes found under a reference. Raises JournalError if they do not match it."""
    if data is None:
        raise JournalError(
            f"the blob {reference}",
            "is gone: it was deleted by hand, or the database is older than the steps that refer to it",
        )
    if reference_to(data) != reference:
        raise JournalError(f"the blob {reference}", "does not hold what was put there")
    return data


def encodable(encoder: json.Encoder, value: object) -> bytes:
    """A value as JSON, with a replacement character for half of a surrogate pair."""
    try:
        return encoder.encode(value)
    except UnicodeEncodeError:
        return encoder.encode(encodable_json(to_builtins(value)))


_DBOS = ("dbos_engine", "DbosEngine", ("dbos", "sqlalchemy", "psycopg"))
_ENGINES = {
    "sqlite": _DBOS,
    "postgresql": _DBOS,
    "postgres": _DBOS,
    "restate": ("restate_engine", "RestateEngine", ("restate",)),
}
"""By the scheme of an address: the adapter, and the libraries that it needs."""


def engine_at(address: str) -> DurableEngine:
    """The engine of an address. Raises MissingExtra if its library is not installed."""
    address, (module, name, _) = _adapter(address)
    made = getattr(import_module(f"rightcall.durable.{module}"), name)(address)
    return cast("DurableEngine", made)


def check_has_runs(address: str) -> None:
    """Raise UsageError if no runs are stored yet: for callers that read, and must create nothing."""
    address, adapter = _adapter(address)
    if adapter is not _DBOS:
        return  # A server of its own: it is running, or does not answer.
    if not import_module("rightcall.durable.database").has_runs(address):
        raise UsageError(
            f"there are no runs at {without_secrets(address)}: a worker, or the first submit, makes the "
            "database; is the address the app's?"
        )


def without_secrets(address: str) -> str:
    """An address without user name and password."""
    scheme, _, rest = address.partition("://")
    return f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"


def _adapter(address: str) -> tuple[str, tuple[str, str, tuple[str, ...]]]:
    """An address as libraries spell it, and the adapter of its scheme."""
    scheme, sign, rest = address.partition("://")
    adapter = _ENGINES.get(scheme.partition("+")[0]) if sign else None
    if adapter is None:
        raise UsageError(
            f"{address!r} names no engine that keeps runs; say sqlite:///runs.db, "
            "postgresql://user@host/database or restate://host:port"
        )
    for library in adapter[2]:
        require(library)
    return (f"postgresql://{rest}" if scheme == "postgres" else address), adapter


def is_store(path: Path) -> bool:
    """Whether an SQLite file is a store of durable runs, and not a journal. Loads no library."""
    query = "SELECT 1 FROM sqlite_master WHERE name = 'workflow_status'"
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            return database.execute(query).fetchone() is not None
    except sqlite3.Error:
        return False
