"""The journal of a segment in DBOS's own rows: read directly, and written as DBOS writes its steps.

Each record is a step of the workflow, named by its key. DBOS checks in the transaction that writes it
that the execution still owns the workflow.
"""

from functools import partial
from time import time
from typing import Any

import sqlalchemy as sa
from dbos import DBOSPortableJSONSerializer
from dbos._error import DBOSWorkflowConflictIDError
from msgspec import Struct, json
from msgspec.structs import replace

from rightcall.durable.database import Database
from rightcall.durable.engine import JOURNAL_VERSION, Job, parse_segment_id
from rightcall.durable.patience import when_there_is_room
from rightcall.errors import RunHeld

APPLICATION = "rightcall"
WORKFLOW = "rightcall.segment"
VERSION = f"rightcall-journal-{JOURNAL_VERSION}"
"""Our own, because DBOS would hash the code and itself: every deployment would strand runs under way."""
_HANDED_ON = "handed_on"
"""The key that a closing worker records when it leaves a segment to others. It holds no step."""
_JOB: json.Decoder[Job] = json.Decoder(Job)


class Row(Struct, frozen=True):
    """A step as DBOS stores it."""

    number: int
    key: str
    value: str
    at: float


def rows_of(database: Database, workflow: str) -> list[Row]:
    """The steps of a workflow, in the order in which they were recorded."""
    steps = database.table(
        "operation_outputs",
        "workflow_uuid",
        "function_id",
        "function_name",
        "output",
        "completed_at_epoch_ms",
    ).c
    query = (
        sa.select(steps.function_id, steps.function_name, steps.output, steps.completed_at_epoch_ms)
        .where(steps.workflow_uuid == workflow)
        .order_by(steps.function_id)
    )
    with database.engine.connect() as connection:
        rows = connection.execute(query).all()
    return [Row(int(n), str(key), str(value), (at or 0) / 1000) for n, key, value, at in rows]


def job_of(text: str, workflow: str) -> Job:
    """The job of a workflow.

    A fork has its original's text: the run is replaced, the deadline removed.
    """
    job, (run, segment) = _JOB.decode(text), parse_segment_id(workflow)
    return job if job.run == run else replace(job, run=run, segment=segment, deadline=None)


class DbosJournal:
    """The steps of one workflow, written by the execution that owns it."""

    def __init__(self, system: Any, workflow: str, owner: str, attempt: int, rows: list[Row]) -> None:
        self.attempt = attempt
        self.known = {row.key: row.value for row in rows}
        self._system = system
        self._workflow = workflow
        self._owner = owner
        self._last = max((row.number for row in rows), default=0)

    async def record(self, key: str, value: str) -> None:
        """Write a step; DBOS refuses it, in the same transaction, if another owns the workflow."""
        await when_there_is_room(partial(self._record, self._next(), key, value))

    def note_handed_on(self) -> None:
        """Record that this execution ended because its process closed, which is no death."""
        self._record(self._next(), _HANDED_ON, "{}")

    def _next(self) -> int:
        self._last += 1
        return self._last

    def _record(self, number: int, key: str, value: str) -> None:
        result = {
            "workflow_uuid": self._workflow,
            "function_id": number,
            "function_name": key,
            "output": value,
            "error": None,
            "serialization": DBOSPortableJSONSerializer().name(),
            "started_at_epoch_ms": int(time() * 1000),
            "child_workflow_id": None,
        }
        try:
            self._system.record_operation_result(result, owner_xid=self._owner)
        except DBOSWorkflowConflictIDError as error:
            run, _ = parse_segment_id(self._workflow)
            raise RunHeld(run, "another worker, or it was cancelled") from error


def journal_of(database: Database, system: Any, workflow: str, owner: str) -> DbosJournal:
    """The journal of a workflow, for the execution that owns it now."""
    status = system.get_workflow_status(workflow)
    rows = rows_of(database, workflow)
    attempt = 1 if status is None else status["recovery_attempts"] or 1
    # An execution that was handed on counts as an attempt, but not as a death.
    attempt += sum(row.key == _HANDED_ON for row in rows)
    return DbosJournal(system, workflow, owner, attempt, rows)
