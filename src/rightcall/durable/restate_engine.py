"""Runs on a Restate server, which stores them, hands them to workers, and to others when those die.

Segments are its workflows (``restate_worker.py``), listed and waited for here. Restate does not enforce
priorities, rates and limits over all workers: the workers do (``restate_limits.py``).
"""

import os
import secrets
import socket
from collections.abc import Iterable, Sequence
from datetime import datetime
from time import time
from typing import Any

from msgspec import json, to_builtins
from msgspec.structs import replace

from rightcall.durable.engine import (
    JOURNAL_VERSION,
    Caps,
    Execute,
    Job,
    Queue,
    Segment,
    Status,
    StepRecord,
    segment_id,
)
from rightcall.durable.restate_blobs import RestateBlobs
from rightcall.durable.restate_channel import RestateChannel
from rightcall.durable.restate_client import Places, RestateClient, quoted
from rightcall.durable.restate_objects import JOURNAL
from rightcall.durable.restate_worker import SEGMENT, Worker, recorded
from rightcall.errors import UsageError

_SOME = 200
"""Invocations that are looked up in one query."""


class RestateEngine:
    """Client and worker of one Restate server."""

    caps = Caps(name="restate", hosts=True, live=True)

    def __init__(self, address: str) -> None:
        self._places = Places(address)
        self._client = RestateClient(self._places)
        self._worker: Worker | None = None
        self.blobs = RestateBlobs(self._client)
        self.channel = RestateChannel(self._client)

    async def open(self, execute: Execute | None, queues: Sequence[Queue]) -> None:
        """Connect; with ``execute``, serve segments as well."""
        self._client.open()
        if execute is None:
            return
        name = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"
        self._worker = Worker(self._client, self._places, execute, name)
        try:
            await self._worker.open(tuple(queues))
        except BaseException:
            await self.close()
            raise

    async def close(self, *, patience: float = 0.0) -> None:
        """Take no more work, wait so many seconds for what is running, and leave the rest to others."""
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.close(patience)
        await self._client.close()

    async def submit(self, job: Job) -> Job:
        """Submit a segment. Returns the stored job: this one, or the one that was submitted first."""
        sent = await self._client.send(SEGMENT, job.id, "run", to_builtins(job))
        if sent["status"] == "Accepted":
            return job
        return (await self._inputs([sent["invocationId"]]))[sent["invocationId"]]

    async def wait(self, run: str, segment: int) -> Segment:
        """The segment, once it is neither queued nor running."""
        name = segment_id(run, segment)
        if await self._client.attach(SEGMENT, name):
            for found in await self._find(f"target_service_key = {quoted(name)}", name):
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

    async def fork(self, run: str, segment: int, before: str, new: str) -> None:
        """Submit a copy of a segment as the first of another run, with the records before a key."""
        name = segment_id(run, segment)
        found = await self._find(f"target_service_key = {quoted(name)}", name)
        if not found:
            raise UsageError(f"there is no segment {segment} of a run {run!r}")
        steps = await recorded(self._client, name)
        keys = [step["key"] for step in steps]
        if before not in keys:
            raise UsageError(f"the run {run!r} has recorded no step {before!r}")
        kept = steps[: keys.index(before)]
        job = replace(found[0].job, run=new, segment=0, deadline=None)
        if await self._invocations(_of_run(new)):
            raise UsageError(f"there is a run {new!r} already; name the fork otherwise")
        await self.blobs.share(run, new)
        seed = {"steps": kept, "forked_from": name, "at": time()}
        await self._client.send(JOURNAL, job.id, "seed", seed)
        await self.submit(job)

    async def history(self, run: str, segment: int) -> Sequence[StepRecord]:
        """The steps of a segment, in the order in which they were recorded."""
        steps = await recorded(self._client, segment_id(run, segment))
        return [StepRecord(key=step["key"], value=step["value"], at=step["at"]) for step in steps]

    async def segments(
        self, run: str | None = None, *, before: float | None = None, limit: int | None = None
    ) -> Sequence[Segment]:
        """The segments of a run, or of all runs, latest first."""
        found = await self._find("true" if run is None else _of_run(run))
        if run is not None:
            found = [each for each in found if each.job.run == run]
        if before is not None:
            found = [each for each in found if each.updated < before]
        return sorted(found, key=lambda each: (-each.created, -each.job.segment))[:limit]

    async def delete(self, runs: Sequence[str]) -> None:
        """Delete these runs: their segments, steps and blobs."""
        for run in runs:
            for row in await self._invocations(_of_run(run)):
                await self._client.send(JOURNAL, row["target_service_key"], "forget", {})
                await self._client.manage(row["id"], "purge")
        await self.blobs.drop(runs)

    async def _invocations(self, where: str) -> list[dict[str, Any]]:
        return await self._client.query(
            "select id, target_service_key, status, completion_result, completion_failure, created_at,"  # noqa: S608
            " modified_at, last_failure from sys_invocation"
            f" where target_service_name = {quoted(SEGMENT)} and target_handler_name = 'run' and {where}"
        )

    async def _find(self, where: str, name: str | None = None) -> list[Segment]:
        """The segments that match, each built from its invocation and its object."""
        rows = await self._invocations(where)
        states = await self._states(name if name or len(rows) != 1 else rows[0]["target_service_key"])
        begun = [row for row in rows if "job" in states.get(row["target_service_key"], {})]
        jobs = {
            row["id"]: json.decode(states[row["target_service_key"]]["job"], type=Job) for row in begun
        }
        jobs |= await self._inputs(row["id"] for row in rows if row["id"] not in jobs)
        return [
            _segment(row, jobs[row["id"]], states.get(row["target_service_key"], {}))
            for row in rows
            if row["id"] in jobs
        ]

    async def _states(self, name: str | None) -> dict[str, dict[str, str]]:
        which = "" if name is None else f" and service_key = {quoted(name)}"
        rows = await self._client.query(
            "select service_key, key, value_utf8 from state"  # noqa: S608
            f" where service_name = {quoted(JOURNAL)} and key in ('head', 'job', 'end'){which}"
        )
        found: dict[str, dict[str, str]] = {}
        for row in rows:
            found.setdefault(row["service_key"], {})[row["key"]] = row["value_utf8"]
        return found

    async def _inputs(self, invocations: Iterable[str]) -> dict[str, Job]:
        """The jobs of invocations, from the server's own record of their input."""
        wanted, jobs = list(invocations), {}
        for at in range(0, len(wanted), _SOME):
            names = ", ".join(map(quoted, wanted[at : at + _SOME]))
            rows = await self._client.query(
                f'select id, entry_json from sys_journal where id in ({names}) and "index" = 0'  # noqa: S608
            )
            for row in rows:
                given = json.decode(row["entry_json"])["Command"]["Input"]["payload"]
                jobs[row["id"]] = json.decode(bytes(given), type=Job)
        return jobs


def _of_run(run: str) -> str:
    return f"starts_with(target_service_key, {quoted(f'{run}/')})"


def _segment(row: dict[str, Any], job: Job, state: dict[str, str]) -> Segment:
    head = json.decode(state["head"]) if "head" in state else {}
    end = json.decode(state["end"]) if "end" in state else {}
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
    row: dict[str, Any], job: Job, head: dict[str, Any], end: dict[str, Any]
) -> tuple[Status, str]:
    """The status of a segment, and the reason."""
    if row["status"] != "completed":
        if job.version != JOURNAL_VERSION:
            return "stranded", f"it was begun under version {job.version} of the journal"
        return ("running" if head.get("attempt") else "queued"), row.get("last_failure") or ""
    if end and row["completion_result"] == "success":
        return end["status"], end.get("reason", "")
    if "killed" in (row.get("completion_failure") or ""):
        return "cancelled", ""
    return "broken", row.get("completion_failure") or "it ended without an outcome"


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
