"""DBOS as the engine: its workflows are segments, its rows their journals, on SQLite or on Postgres.

A client and, if there is something to execute, a worker (``dbos_worker``). DBOS is pinned to a minor
version, because reading the steps of a workflow as they were written, and forking to an id of our
choice, are not in its public API. ``tests/durable`` checks what is relied on.
"""

import asyncio
from collections.abc import Sequence
from functools import partial

import sqlalchemy as sa
from dbos import DBOSClient, DBOSPortableJSONSerializer, EnqueueOptions, WorkflowStatus
from msgspec import json

from rightcall.durable.blame import Suspects
from rightcall.durable.database import (
    Database,
    SqlBlobs,
    SqlChannel,
    database_errors,
    in_thread,
    migrating,
    open_database,
    when_it_is_there,
    when_there_is_room,
)
from rightcall.durable.dbos_worker import (
    APPLICATION,
    VERSION,
    WORKFLOW,
    DbosWorker,
    hear_dbos,
    job_of,
    rows_of,
)
from rightcall.durable.engine import (
    Execute,
    Queue,
    Segment,
    SegmentJob,
    Status,
    StepRecord,
    segment_id,
)
from rightcall.durable.sql_messages import SqlMessages
from rightcall.errors import UsageError

_POLL = 0.05
_SLOWEST_POLL = 0.25
"""Seconds between two polls of a segment that is waited for: more, the longer it takes."""
_STATUSES: dict[str, Status] = {
    "DELAYED": "queued",
    "ENQUEUED": "queued",
    "PENDING": "running",
    "SUCCESS": "ended",
    "ERROR": "broken",
    "CANCELLED": "cancelled",
    "MAX_RECOVERY_ATTEMPTS_EXCEEDED": "parked",
}
_NO_LANE = "-"
_AT_ONCE = 32
"""Segments of a run that are looked up in one query."""


class DbosEngine:
    """The engine interface, implemented with DBOS."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._database: Database = open_database(address)
        self.blobs = SqlBlobs(self._database.engine)
        self.channel = SqlChannel(self._database)
        self.messages = SqlMessages(self._database.engine)
        self._suspects = Suspects(self._database)
        self._client_field: DBOSClient | None = None
        self._worker: DbosWorker | None = None

    async def open(self, execute: Execute | None, queues: Sequence[Queue]) -> None:
        """Connect, create the tables, and start a worker if there is something to execute."""
        try:
            await in_thread(self._connect)
            if execute is not None and queues:
                worker = DbosWorker(self._database, self._client, execute)
                await worker.open(queues)
                self._worker = worker
        except BaseException:
            await self._disconnect()
            raise

    def _connect(self) -> None:
        hear_dbos()
        with database_errors(self._address):
            client = DBOSClient(
                system_database_engine=self._database.engine,
                serializer=DBOSPortableJSONSerializer(),
                application_name=APPLICATION,
            )
            with migrating(self._database):
                client._sys_db.run_migrations()  # noqa: SLF001 - a client may be the first to come
                self.blobs.create()
                self.channel.create()
                self.messages.create()
                self._suspects.create()
            self._client_field = client

    @property
    def _client(self) -> DBOSClient:
        if self._client_field is None:
            raise UsageError("this is not open; say async with app, or await app.open()")
        return self._client_field

    async def submit(self, job: SegmentJob) -> SegmentJob:
        """Enqueue a segment, and return the job that is stored under its id."""
        options: EnqueueOptions = {
            "workflow_name": WORKFLOW,
            "queue_name": job.queue,
            "workflow_id": job.id,
            "app_version": VERSION,
            # Always a lane: without one it would never be taken from a queue that counts by lanes.
            "queue_partition_key": job.lane or _NO_LANE,
        }
        if job.priority:
            options["priority"] = job.priority
        await when_there_is_room(partial(self._client.enqueue, options, json.encode(job).decode()))
        standing = await self._read_segment(job.run, job.segment)
        return standing.job

    async def wait(self, run: str, segment: int) -> Segment:
        """Poll until the segment is neither queued nor running."""
        pause = _POLL
        found = await self._read_segment(run, segment)
        while found.status in ("queued", "running"):
            await asyncio.sleep(pause)
            pause = min(pause * 1.1, _SLOWEST_POLL)
            if await when_it_is_there(partial(self._is_over, found.job.id)):
                found = await self._read_segment(run, segment)
        return found

    def _is_over(self, workflow: str) -> bool:
        """Whether a segment is no longer queued or running, so that it is worth reading again."""
        table = self._database.table("workflow_status", "workflow_uuid", "status")
        query = sa.select(table.c.status).where(table.c.workflow_uuid == workflow)
        with self._database.engine.connect() as connection:
            status = connection.execute(query).scalar()
        return _STATUSES.get(str(status)) not in ("queued", "running")

    async def cancel(self, run: str) -> bool:
        """Cancel what is queued or running, here at once, elsewhere when its worker polls next."""
        segments = await self.segments(run)
        active = []
        for segment in segments:
            if segment.status in ("queued", "running", "parked"):
                active.append(segment.job.id)
        if active:
            cancel = partial(self._client.cancel_workflows, active, cancel_children=True)
            await when_there_is_room(cancel)
            if self._worker is not None:
                self._worker.look_for_cancelled()
        return bool(active)

    async def retry(self, run: str, segment: int) -> bool:
        """Queue a parked segment again."""
        found = await self._read_segment(run, segment)
        return await when_there_is_room(partial(self._suspects.pardon, found.job.id, found.job.queue))

    async def fork(self, run: str, segment: int, before: str, new: str) -> None:
        """Have DBOS copy the workflow, with its steps before the one of that key."""
        old = await self._read_segment(run, segment)
        steps = await when_it_is_there(partial(rows_of, self._database, old.job.id))
        start = None
        for step in steps:
            if step.key == before:
                start = step.number
                break
        if start is None:
            raise UsageError(f"the run {run!r} has recorded no step {before!r}")
        await self.blobs.share(run, new)
        await self.messages.copy(run, new)
        copy = partial(
            self._client._sys_db.fork_workflow,  # noqa: SLF001 - the public one makes up an id
            [old.job.id],
            [segment_id(new, 0)],
            [start],
            application_version=VERSION,
            queue_name=old.job.queue,
            queue_partition_key=old.job.lane or _NO_LANE,
        )
        try:
            await when_there_is_room(copy)
        except sa.exc.IntegrityError as error:
            raise UsageError(f"there is a run {new!r} already; name the fork otherwise") from error

    async def history(self, run: str, segment: int) -> Sequence[StepRecord]:
        """The steps of a segment."""
        rows = await when_it_is_there(partial(rows_of, self._database, segment_id(run, segment)))
        return [StepRecord(key=row.key, value=row.value, at=row.at) for row in rows]

    async def segments(
        self, run: str | None = None, *, before: float | None = None, limit: int | None = None
    ) -> Sequence[Segment]:
        """The segments of one run, or of all, latest first."""
        list_workflows = self._client.list_workflows
        if run is None:
            rows = await in_thread(list_workflows, name=WORKFLOW, sort_desc=True, limit=limit)
            found = list(map(_segment, rows))
        else:
            # Looked up by id, because no index helps with a prefix.
            found = []
            while len(found) % _AT_ONCE == 0:
                ids = [segment_id(run, len(found) + number) for number in range(_AT_ONCE)]
                rows = await in_thread(list_workflows, workflow_ids=ids)
                if not rows:
                    break
                found += map(_segment, rows)
            found.sort(key=lambda each: -each.job.segment)
        if before is not None:
            found = [each for each in found if each.updated < before]
        return found

    async def delete(self, runs: Sequence[str]) -> None:
        """Delete runs, and the values that only they refer to."""
        ids = []
        for run in runs:
            ids += [each.job.id for each in await self.segments(run)]
        if ids:
            await in_thread(self._client.delete_workflows, ids)
            await in_thread(self._suspects.forget, ids)
        await self.messages.drop(runs)
        await self.blobs.drop(runs)

    async def close(self, *, patience: float = 0.0) -> None:
        """Stop the worker, and disconnect."""
        try:
            if self._worker is not None:
                await self._worker.close(patience)
        finally:
            self._worker = None
            await self._disconnect()

    async def _disconnect(self) -> None:
        if self._client_field is not None:
            await in_thread(self._client_field.destroy)
            self._client_field = None
        await in_thread(self.channel.close)
        await in_thread(self._database.close)

    async def _read_segment(self, run: str, segment: int) -> Segment:
        rows = await in_thread(self._client.list_workflows, workflow_ids=[segment_id(run, segment)])
        if not rows:
            raise UsageError(f"there is no run {run!r} with a segment {segment}")
        return _segment(rows[0])


def _segment(row: WorkflowStatus) -> Segment:
    assert row.input is not None
    job = job_of(row.input["args"][0], row.workflow_id)
    status = _STATUSES[row.status]
    if status in ("queued", "running") and row.app_version != VERSION:
        status = "stranded"
    reason = ""
    if status == "parked":
        reason = (
            f"{row.recovery_attempts} processes died while they executed {job.run!r}, the last of them "
            f"{row.executor_id}; mend what ends them, and retry the run"
        )
    elif status == "stranded":
        reason = (
            f"it was begun as {row.app_version!r}, and workers of this rightcall go on with {VERSION!r} "
            "alone; start a worker of the version that began it"
        )
    elif status == "broken":
        reason = str(row.error)
    return Segment(
        job=job,
        status=status,
        outcome=row.output if isinstance(row.output, str) else "",
        reason=reason,
        attempts=row.recovery_attempts or 0,
        created=(row.created_at or 0) / 1000,
        updated=(row.updated_at or 0) / 1000,
        worker=row.executor_id or "",
        forked_from=row.forked_from or "",
    )
