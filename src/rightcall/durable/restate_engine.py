"""Runs on a Restate server, which stores them, hands them to workers, and to others when those die.

Segments are its workflows (``restate_worker.py``), listed and waited for here. Restate does not enforce
priorities, rates and limits over all workers: the workers do (``restate_worker.py``).
"""

import asyncio
import os
import secrets
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from time import monotonic, time
from typing import Any

from msgspec import json, to_builtins
from msgspec.structs import replace

from rightcall.durable.engine import (
    JOURNAL_VERSION,
    Execute,
    Queue,
    Segment,
    SegmentJob,
    Status,
    StepRecord,
    checked_bytes,
    reference_to,
    segment_id,
)
from rightcall.durable.restate_client import RestateAddress, RestateClient, sql_literal
from rightcall.durable.restate_objects import BLOB, JOURNAL, LIVE, SAID, WATCHERS, events_of
from rightcall.durable.restate_worker import SEGMENT, RestateWorker, recorded_steps
from rightcall.errors import UsageError

_PIECE = 1_000_000
"""Bytes of one piece: far below what the server accepts in one message."""


class RestateBlobs:
    """Stores long values beside the journals that refer to them. Storing one needs a worker.

    Each is an object, named by its content, that holds it in pieces.
    """

    def __init__(self, client: RestateClient) -> None:
        self._client = client

    async def put(self, run: str, data: bytes) -> str:
        """Store bytes for a run. They are durable when this returns."""
        reference = reference_to(data)
        # The owner first: pieces that a dying process leaves behind are then deleted with its run, too.
        if not await self._client.call(BLOB, reference, "own", {"run": run, "at": time()}):
            starts = range(0, len(data), _PIECE)
            for number, start in enumerate(starts):
                piece = f"{number:06d}".encode() + data[start : start + _PIECE]
                await self._client.call(BLOB, reference, "piece", piece)
            await self._client.call(BLOB, reference, "whole", len(starts))
        return reference

    async def get(self, reference: str) -> bytes:
        """The bytes of that reference, checked."""
        rows = await self._client.query(
            f"select key, value from state where service_name = {sql_literal(BLOB)}"  # noqa: S608
            f" and service_key = {sql_literal(reference)} and (key like 'p/%' or key = 'whole')"
            " order by key"
        )
        is_whole = False
        pieces = []
        for row in rows:
            if row["key"] == "whole":
                is_whole = True
            else:
                pieces.append(bytes.fromhex(row["value"]))
        return checked_bytes(reference, b"".join(pieces) if is_whole else None)

    async def share(self, run: str, other: str) -> None:
        """Make another run an owner of all values of a run."""
        for reference in await self._list_references(run):
            await self._client.call(BLOB, reference, "own", {"run": other, "at": time()})

    async def drop(self, runs: Sequence[str]) -> int:
        """Delete what only these runs own; returns how many values were deleted."""
        gone = 0
        for run in runs:
            for reference in await self._list_references(run):
                gone += bool(await self._client.call(BLOB, reference, "disown", {"run": run}))
        return gone

    async def _list_references(self, run: str) -> list[str]:
        rows = await self._client.query(
            f"select service_key from state where service_name = {sql_literal(BLOB)}"  # noqa: S608
            f" and key = {sql_literal(f'for/{run}')} order by service_key"
        )
        return [row["service_key"] for row in rows]


_POLL = 0.05
"""Seconds between two polls of a watcher."""
_ASK = 0.3
"""Seconds for which a process caches which runs are watched."""
_WATCH = 10.0
"""Seconds until a watcher that does not register again no longer counts."""
_LONGEST = 1_000_000
"""Characters of an event; a longer one is not sent, as the run's end is read from the store."""


class RestateChannel:
    """Carries live events through the server that holds the runs; slower than through a database.

    A server cannot carry data without storing it, so every few events are a record that is cleared
    again. Nothing is written that nobody reads: a watcher registers in one object, which workers check.
    Events are read in SQL, like everything that is only read.
    """

    def __init__(self, client: RestateClient) -> None:
        self._client = client
        self._watched: frozenset[str] = frozenset()
        self._asked = float("-inf")

    async def publish(self, run: str, texts: Sequence[str]) -> None:
        """Write events for the run's watchers, if there are any."""
        if monotonic() - self._asked > _ASK:
            self._asked = monotonic()
            rows = await self._client.query(
                f"select key, value_utf8 from state where service_name = {sql_literal(LIVE)}"  # noqa: S608
                f" and service_key = {sql_literal(WATCHERS)}"
            )
            now = time()
            self._watched = frozenset([row["key"] for row in rows if float(row["value_utf8"]) > now])
        short = [text for text in texts if len(text) <= _LONGEST]
        if run in self._watched and short:
            await self._client.call(LIVE, events_of(run), "publish", {"at": time(), "texts": short})

    async def follow(self, run: str) -> AsyncIterator[Sequence[str]]:
        """The events that are written from now on."""
        last = await self._last(run)
        said = float("-inf")
        while True:
            if monotonic() - said > _WATCH / 2:
                said = monotonic()
                # Not awaited: there may be no worker yet, and the run's end can be read without one.
                watch = {"run": run, "until": time() + _WATCH, "seconds": _WATCH}
                await self._client.send(LIVE, WATCHERS, "watch", watch)
            rows = await self._after(run, last)
            texts: list[str] = []
            for key, written in rows:
                last = key
                texts += written
            yield texts
            await asyncio.sleep(_POLL)

    async def _last(self, run: str) -> str:
        rows = await self._client.query(
            f"select max(key) as last from state where service_name = {sql_literal(LIVE)}"  # noqa: S608
            f" and service_key = {sql_literal(events_of(run))} and key like 'e/%'"
        )
        if not rows:
            return "e/"
        return rows[0].get("last") or "e/"

    async def _after(self, run: str, last: str) -> list[tuple[str, list[str]]]:
        rows = await self._client.query(
            f"select key, value_utf8 from state where service_name = {sql_literal(LIVE)}"  # noqa: S608
            f" and service_key = {sql_literal(events_of(run))} and key like 'e/%'"
            f" and key > {sql_literal(last)}"
            " order by key"
        )
        return [(row["key"], json.decode(row["value_utf8"], type=list[str])) for row in rows]


class RestateMessages:
    """Stores the messages to a run in an object of the run's name. Storing one needs a worker."""

    def __init__(self, client: RestateClient) -> None:
        self._client = client
        self._asked = float("-inf")

    async def put(self, run: str, text: str, *, name: str = "", urgent: bool = False) -> bool:
        """Store a message after all others of its run."""
        # A request may be repeated: under a name it is stored once.
        told = {"name": name or f" {secrets.token_hex(8)}", "said": text, "urgent": urgent}
        return bool(await self._client.call(SAID, run, "say", told))

    async def after(self, run: str, number: int) -> Sequence[tuple[int, str]]:
        """The messages of a run with a greater number, in order."""
        return [(at, row["said"]) for at, row in await self._rows(run) if at > number]

    async def close(self, run: str, number: int) -> bool:
        """Take no more messages for a run, unless it has one with a greater number."""
        return bool(await self._client.call(SAID, run, "close", {"number": number}))

    async def urgent(self, runs: Sequence[str]) -> Mapping[str, int]:
        """For those of these runs that have urgent messages, the number of the last one."""
        if monotonic() - self._asked < _ASK:
            return {}
        self._asked = monotonic()
        names = ", ".join(map(sql_literal, runs))
        rows = await self._client.query(
            f"select service_key, key, value_utf8 from state where service_name = {sql_literal(SAID)}"  # noqa: S608
            f" and service_key in ({names}) and key like 'm/%' order by key"
        )
        found: dict[str, int] = {}
        for row in rows:
            if json.decode(row["value_utf8"])["urgent"]:
                found[row["service_key"]] = int(row["key"].removeprefix("m/"))
        return found

    async def copy(self, run: str, other: str) -> None:
        """Give another run, which is a fork, the messages of a run."""
        for number, row in await self._rows(run):
            told = {"name": f" {number}", "said": row["said"], "urgent": row["urgent"]}
            await self._client.call(SAID, other, "say", told)

    async def drop(self, runs: Sequence[str]) -> None:
        """Delete the messages of these runs."""
        for run in runs:
            if await self._rows(run):
                await self._client.send(SAID, run, "forget", {})

    async def _rows(self, run: str) -> list[tuple[int, dict[str, Any]]]:
        rows = await self._client.query(
            f"select key, value_utf8 from state where service_name = {sql_literal(SAID)}"  # noqa: S608
            f" and service_key = {sql_literal(run)} and key like 'm/%' order by key"
        )
        return [(int(row["key"].removeprefix("m/")), json.decode(row["value_utf8"])) for row in rows]


_SOME = 200
"""Invocations that are looked up in one query."""


class RestateEngine:
    """Client and worker of one Restate server."""

    def __init__(self, address: str) -> None:
        self._places = RestateAddress(address)
        self._client = RestateClient(self._places)
        self._worker: RestateWorker | None = None
        self.blobs = RestateBlobs(self._client)
        self.channel = RestateChannel(self._client)
        self.messages = RestateMessages(self._client)

    async def open(self, execute: Execute | None, queues: Sequence[Queue]) -> None:
        """Connect; with ``execute``, serve segments as well."""
        self._client.open()
        if execute is None:
            return
        name = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"
        self._worker = RestateWorker(self._client, self._places, execute, name)
        try:
            await self._worker.open(tuple(queues))
        except BaseException:
            await self.close()
            raise

    async def close(self, *, patience: float = 0.0) -> None:
        """Take no more work, wait so many seconds for what is running, and leave the rest to others."""
        worker = self._worker
        self._worker = None
        if worker is not None:
            await worker.close(patience)
        await self._client.close()

    async def submit(self, job: SegmentJob) -> SegmentJob:
        """Submit a segment. Returns the stored job: this one, or the one that was submitted first."""
        sent = await self._client.send(SEGMENT, job.id, "run", to_builtins(job))
        if sent["status"] == "Accepted":
            return job
        return (await self._inputs([sent["invocationId"]]))[sent["invocationId"]]

    async def wait(self, run: str, segment: int) -> Segment:
        """The segment, once it is neither queued nor running."""
        name = segment_id(run, segment)
        if await self._client.attach(SEGMENT, name):
            for found in await self._find(f"target_service_key = {sql_literal(name)}", name):
                return found
        raise UsageError(f"there is no segment {segment} of a run {run!r}")

    async def cancel(self, run: str) -> bool:
        """Cancel a run's segment that is queued or running, wherever it is."""
        rows = await self._invocations(f"{_of_run(run)} and status != 'completed'")
        for row in rows:
            # The fence first: the object handles it before anything that is recorded from now on, even
            # by a worker that cannot be reached.
            await self._client.send(JOURNAL, row["target_service_key"], "fence", {"at": time()})
            await self._client.manage(row["id"], "kill")
        return bool(rows)

    async def retry(self, run: str, segment: int) -> bool:
        """Not here: a workflow's name is used once, and to give it up first could lose the run."""
        raise UsageError(
            f"a server of Restate does not try {segment_id(run, segment)!r} again: fork the "
            "run at its last step, as show lists them"
        )

    async def fork(self, run: str, segment: int, before: str, new: str) -> None:
        """Submit a copy of a segment as the first of another run, with the records before a key."""
        name = segment_id(run, segment)
        found = await self._find(f"target_service_key = {sql_literal(name)}", name)
        if not found:
            raise UsageError(f"there is no segment {segment} of a run {run!r}")
        steps = await recorded_steps(self._client, name)
        keys = [step["key"] for step in steps]
        if before not in keys:
            raise UsageError(f"the run {run!r} has recorded no step {before!r}")
        kept = steps[: keys.index(before)]
        job = replace(found[0].job, run=new, segment=0, deadline=None)
        if await self._invocations(_of_run(new)):
            raise UsageError(f"there is a run {new!r} already; name the fork otherwise")
        await self.blobs.share(run, new)
        await self.messages.copy(run, new)
        seed = {"steps": kept, "forked_from": name, "at": time()}
        await self._client.send(JOURNAL, job.id, "seed", seed)
        await self.submit(job)

    async def history(self, run: str, segment: int) -> Sequence[StepRecord]:
        """The steps of a segment, in the order in which they were recorded."""
        steps = await recorded_steps(self._client, segment_id(run, segment))
        return [StepRecord(key=step["key"], value=step["value"], at=step["at"]) for step in steps]

    async def segments(
        self, run: str | None = None, *, before: float | None = None, limit: int | None = None
    ) -> Sequence[Segment]:
        """The segments of a run, or of all runs, latest first."""
        segments = []
        for each in await self._find("true" if run is None else _of_run(run)):
            if run is not None and each.job.run != run:
                continue
            if before is None or each.updated < before:
                segments.append(each)
        segments.sort(key=lambda each: (-each.created, -each.job.segment))
        return segments[:limit]

    async def delete(self, runs: Sequence[str]) -> None:
        """Delete these runs: their segments, steps and blobs."""
        for run in runs:
            for row in await self._invocations(_of_run(run)):
                await self._client.send(JOURNAL, row["target_service_key"], "forget", {})
                await self._client.manage(row["id"], "purge")
        await self.messages.drop(runs)
        await self.blobs.drop(runs)

    async def _invocations(self, where: str) -> list[dict[str, Any]]:
        return await self._client.query(
            "select id, target_service_key, status, completion_result, completion_failure, created_at,"  # noqa: S608
            " modified_at, last_failure from sys_invocation"
            f" where target_service_name = {sql_literal(SEGMENT)} and target_handler_name = 'run'"
            f" and {where}"
        )

    async def _find(self, where: str, name: str | None = None) -> list[Segment]:
        """The segments that match, each built from its invocation and its object."""
        rows = await self._invocations(where)
        if name is None and len(rows) == 1:
            name = rows[0]["target_service_key"]
        which = ""
        if name is not None:
            which = f" and service_key = {sql_literal(name)}"
        states: dict[str, dict[str, str]] = {}
        for row in await self._client.query(
            "select service_key, key, value_utf8 from state"  # noqa: S608
            f" where service_name = {sql_literal(JOURNAL)} and key in ('head', 'job', 'end'){which}"
        ):
            states.setdefault(row["service_key"], {})[row["key"]] = row["value_utf8"]
        jobs: dict[str, SegmentJob] = {}
        unknown = []
        for row in rows:
            state = states.get(row["target_service_key"], {})
            if "job" in state:
                jobs[row["id"]] = json.decode(state["job"], type=SegmentJob)
            else:
                unknown.append(row["id"])
        jobs |= await self._inputs(unknown)
        segments = []
        for row in rows:
            if row["id"] in jobs:
                state = states.get(row["target_service_key"], {})
                segments.append(_segment(row, jobs[row["id"]], state))
        return segments

    async def _inputs(self, invocations: Sequence[str]) -> dict[str, SegmentJob]:
        """The jobs of invocations, from the server's own record of their input."""
        jobs = {}
        for at in range(0, len(invocations), _SOME):
            names = ", ".join(map(sql_literal, invocations[at : at + _SOME]))
            rows = await self._client.query(
                f'select id, entry_json from sys_journal where id in ({names}) and "index" = 0'  # noqa: S608
            )
            for row in rows:
                given = json.decode(row["entry_json"])["Command"]["Input"]["payload"]
                jobs[row["id"]] = json.decode(bytes(given), type=SegmentJob)
        return jobs


def _of_run(run: str) -> str:
    return f"starts_with(target_service_key, {sql_literal(f'{run}/')})"


def _segment(row: dict[str, Any], job: SegmentJob, state: dict[str, str]) -> Segment:
    head = json.decode(state.get("head", "{}"))
    end = json.decode(state.get("end", "{}"))
    status, reason = _status(row, job, head, end)
    return Segment(
        job=job,
        status=status,
        outcome=end.get("outcome", ""),
        reason=reason,
        attempts=head.get("attempt", 0),
        created=_seconds(row["created_at"]),
        updated=max(_seconds(row["modified_at"]), head.get("at", 0.0)),
        worker=head.get("worker", ""),
        forked_from=head.get("forked_from", ""),
    )


def _status(
    row: dict[str, Any], job: SegmentJob, head: dict[str, Any], end: dict[str, Any]
) -> tuple[Status, str]:
    """The status of a segment, and the reason."""
    if row["status"] != "completed":
        if job.version != JOURNAL_VERSION:
            return "stranded", f"it was begun under version {job.version} of the journal"
        status: Status = "running" if head.get("attempt") else "queued"
        return status, row.get("last_failure") or ""
    if end and row["completion_result"] == "success":
        return end["status"], end.get("reason", "")
    if "killed" in (row.get("completion_failure") or ""):
        return "cancelled", ""
    return "broken", row.get("completion_failure") or "it ended without an outcome"


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
