"""Deaths of processes into blame: which segment a process dies of, and which are executed beside which.

A process that dies takes all its segments along, and nobody sees which of them ended it. So whoever was
there at a first death goes on as before. At every further death those who were there become suspects:
the next time each is executed in a company half as large, until one is alone. A segment is parked when
enough processes have died of it, the last of them while they executed nothing else. It takes some
``log2`` deaths of the company to come to that, and the others go on.

What is known of a suspect is a row, which is written at a death, and when the suspect begins. A segment
that never saw a death costs one look as it begins.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from time import time
from typing import TypeAlias

import sqlalchemy as sa
from msgspec import Struct
from msgspec.structs import asdict

from rightcall.durable.database import Database, when_it_is_there
from rightcall.durable.engine import MOST_DEATHS, parse_segment_id
from rightcall.log import logger

_FREE_DEATHS = 1
"""Deaths after which a segment is no suspect yet: its process may have been killed for any reason."""
_LONELY_DEATHS = 2
"""Deaths of processes that executed nothing else, of which a parked segment has so many at least."""
_PATIENCE = 30.0
"""Seconds for which a suspect holds others back, doubled with each death: a run may wait for another."""
_MOST_DOUBLINGS = 7
_ANY = 2**31 - 1
"""The company of a segment that is no suspect: any."""
_TABLE = "rightcall_suspects"


class Suspicion(Struct, frozen=True):
    """What is stored of a segment that was there when a process died, or had to wait for a suspect."""

    deaths: int = 0
    company: int = _ANY
    """How many segments a process may execute while it executes this one, which is one of them."""
    alone: int = 0
    """How many processes died while they executed this one, and nothing else."""
    begun: str = ""
    """The owner of the workflow when it last began. Another owner has it waiting still."""


class Casualty(Struct, frozen=True):
    """A segment that a dead process had."""

    workflow: str
    owner: str
    deaths: int
    """How many processes have died with it, this one included."""
    suspicion: Suspicion | None

    @property
    def is_executed(self) -> bool:
        """Whether it had begun. One without a row did not have to wait."""
        return self.suspicion is None or self.suspicion.begun == self.owner


def suspect(casualty: Casualty, together: int) -> Suspicion:
    """What is to be stored of a segment that was executed together with others, or alone, at a death."""
    known = casualty.suspicion or Suspicion()
    company = known.company
    if casualty.deaths > _FREE_DEATHS:
        company = max(min(company, together) // 2, 1)
    return Suspicion(casualty.deaths, company, known.alone + (together == 1))


def is_to_blame(casualty: Casualty, suspicion: Suspicion) -> bool:
    """Whether a segment has ended so many processes that it is not tried again."""
    return casualty.deaths >= MOST_DEATHS and suspicion.alone >= _LONELY_DEATHS


class Suspects:
    """The table of suspects, beside the segments of which it speaks."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._status = database.table(
            "workflow_status",
            "workflow_uuid",
            "status",
            "executor_id",
            "owner_xid",
            "application_version",
            "recovery_attempts",
            "queue_name",
            "deduplication_id",
            "started_at_epoch_ms",
            "updated_at",
            "completed_at",
        )
        names = ("workflow", "deaths", "company", "alone", "begun")
        self._table = sa.table(_TABLE, *[sa.column(name) for name in names])

    def create(self) -> None:
        """Create the table if it does not exist; any number of processes may do so at once."""
        with self._database.engine.begin() as connection:
            if not self._database.is_sqlite:
                # Two processes that create the same table at once would conflict.
                connection.execute(sa.text(f"select pg_advisory_xact_lock(hashtext('{_TABLE}'))"))
            connection.execute(
                sa.text(
                    f"create table if not exists {_TABLE} (workflow text primary key, deaths integer"
                    " not null, company integer not null, alone integer not null, begun text not null)"
                )
            )

    def find(self, workflow: str) -> Suspicion | None:
        """What is stored of a segment, if anything."""
        table = self._table.c
        row_of = sa.select(table.deaths, table.company, table.alone, table.begun)
        query = row_of.where(table.workflow == workflow)
        with self._database.engine.connect() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else Suspicion(*row)

    def note(self, workflow: str, begun: str) -> None:
        """Store that a segment waits, or that it begins under an owner."""
        table = self._table
        known = sa.update(table).where(table.c.workflow == workflow).values(begun=begun)
        with self._database.engine.begin() as connection:
            if not connection.execute(known).rowcount:
                self._insert(connection, workflow, Suspicion(begun=begun))

    def forget(self, workflows: Sequence[str]) -> None:
        """Delete what is stored of segments."""
        some: sa.BindParameter[list[str]] = sa.bindparam("some", expanding=True)
        with self._database.engine.begin() as connection:
            connection.execute(
                sa.delete(self._table).where(self._table.c.workflow.in_(some)), {"some": workflows}
            )

    def bury(self, executor: str, version: str) -> None:
        """Queue the segments of a dead process again, and park one that it died of."""
        found = self._casualties(executor, version)
        executed = [each for each in found if each.is_executed]
        with self._database.engine.begin() as connection:
            for each in found:
                if each.is_executed:
                    self._requeue(connection, executor, each, len(executed))
                else:
                    # It waited, so nobody died of it.
                    self._move(connection, executor, each, "ENQUEUED", starts=-1)

    def hand_on(self, executor: str, version: str) -> None:
        """Queue what a process took and did not begin, or whose end it could not store, as it closes."""
        found = self._casualties(executor, version)
        with self._database.engine.begin() as connection:
            for each in found:
                self._move(connection, executor, each, "ENQUEUED", starts=-1)

    def blame(self, executor: str, version: str, workflows: Collection[str]) -> None:
        """Queue segments again that a living process could not execute, each as if it had died of it."""
        found = self._casualties(executor, version)
        with self._database.engine.begin() as connection:
            for each in found:
                if each.workflow in workflows:
                    self._requeue(connection, executor, each, 1)

    def pardon(self, workflow: str, queue: str) -> bool:
        """Queue a parked segment again, as if no process had died of it; False if it is not parked."""
        status = self._status
        back = (
            sa.update(status)
            .where(status.c.workflow_uuid == workflow)
            .where(status.c.status == "MAX_RECOVERY_ATTEMPTS_EXCEEDED")
            .values(
                status="ENQUEUED",
                queue_name=queue,
                recovery_attempts=0,
                completed_at=None,
                updated_at=int(time() * 1000),
            )
        )
        with self._database.engine.begin() as connection:
            if not connection.execute(back).rowcount:
                return False
            connection.execute(sa.delete(self._table).where(self._table.c.workflow == workflow))
        return True

    def _casualties(self, executor: str, version: str) -> list[Casualty]:
        status = self._status.c
        table = self._table.c
        query = (
            sa.select(
                status.workflow_uuid,
                status.owner_xid,
                status.recovery_attempts,
                table.deaths,
                table.company,
                table.alone,
                table.begun,
            )
            .select_from(self._status.outerjoin(self._table, table.workflow == status.workflow_uuid))
            .where(status.status == "PENDING")
            .where(status.executor_id == executor)
            .where(status.application_version == version)
        )
        with self._database.engine.connect() as connection:
            rows = connection.execute(query).all()
        found = []
        for workflow, owner, starts, *known in rows:
            suspicion = None if known[0] is None else Suspicion(*known)
            found.append(Casualty(workflow, owner or "", starts or 0, suspicion))
        return found

    def _requeue(
        self, connection: sa.Connection, executor: str, casualty: Casualty, together: int
    ) -> None:
        suspicion = suspect(casualty, together)
        status = "ENQUEUED"
        if is_to_blame(casualty, suspicion):
            status = "MAX_RECOVERY_ATTEMPTS_EXCEEDED"
            run, _ = parse_segment_id(casualty.workflow)
            logger.warning("the run %r is parked: %d processes died of it", run, casualty.deaths)
        if self._move(connection, executor, casualty, status):
            mine = self._table.c.workflow == casualty.workflow
            connection.execute(sa.delete(self._table).where(mine))
            self._insert(connection, casualty.workflow, suspicion)

    def _move(
        self, connection: sa.Connection, executor: str, casualty: Casualty, status: str, starts: int = 0
    ) -> bool:
        """Take a segment from a process; False if it has none of it any more."""
        now = int(time() * 1000)
        table = self._status
        values: dict[str, object] = {
            "status": status,
            "owner_xid": None,
            "started_at_epoch_ms": None,
            "updated_at": now,
            "recovery_attempts": table.c.recovery_attempts + starts,
        }
        if status == "ENQUEUED":
            values["queue_name"] = sa.func.coalesce(table.c.queue_name, "default")
        else:
            # As DBOS itself leaves one that it does not try again.
            values |= {"queue_name": None, "deduplication_id": None, "completed_at": now}
        moved = (
            sa.update(table)
            .where(table.c.workflow_uuid == casualty.workflow)
            .where(table.c.status == "PENDING")
            .where(table.c.executor_id == executor)
            .values(values)
        )
        return bool(connection.execute(moved).rowcount)

    def _insert(self, connection: sa.Connection, workflow: str, suspicion: Suspicion) -> None:
        connection.execute(sa.insert(self._table), {"workflow": workflow, **asdict(suspicion)})


_Key: TypeAlias = tuple[str, str]
"""A workflow, and its owner."""


class Company:
    """The segments that a process executes now, and those that wait until a suspect is among few enough.

    First come, first served. Whoever waits is not executed, and its row says so before it waits. A
    suspect waits, and keeps others away, for a while only: of two of them one may need the other.
    """

    def __init__(self, suspects: Suspects) -> None:
        self._suspects = suspects
        self._inside: dict[_Key, int] = {}
        """What is executed, and in what company it may be."""
        self._line: dict[_Key, tuple[int, asyncio.Future[None]]] = {}
        """The same of what waits, in its order."""

    @asynccontextmanager
    async def admit(self, workflow: str, owner: str, known: Suspicion | None) -> AsyncIterator[None]:
        """Wait until a segment may begin; within this scope it counts as executed."""
        key = (workflow, owner)
        try:
            turn = self._join(key, _ANY if known is None else known.company)
            if turn is not None:
                if known is None:
                    await when_it_is_there(partial(self._suspects.note, workflow, ""))
                with self._patience(key, known):
                    await turn
            if turn is not None or known is not None:
                await when_it_is_there(partial(self._suspects.note, workflow, owner))
            with self._patience(key, known):
                yield
        finally:
            self._leave(key)

    @contextmanager
    def _patience(self, key: _Key, known: Suspicion | None) -> Iterator[None]:
        """A scope in which a suspect is one only for a while."""
        if known is None or known.company == _ANY:
            yield
            return
        seconds = _PATIENCE * 2 ** min(known.deaths, _MOST_DOUBLINGS)
        timer = asyncio.get_running_loop().call_later(seconds, self._relax, key)
        try:
            yield
        finally:
            timer.cancel()

    def _join(self, key: _Key, company: int) -> "asyncio.Future[None] | None":
        """None if the segment may begin, or else what is done when it may."""
        if not self._line and self._fits(company):
            self._inside[key] = company
            return None
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line[key] = (company, turn)
        return turn

    def _leave(self, key: _Key) -> None:
        self._inside.pop(key, None)
        self._line.pop(key, None)
        self._admit_next()

    def _relax(self, key: _Key) -> None:
        if key in self._inside:
            self._inside[key] = _ANY
        elif key in self._line:
            self._line[key] = (_ANY, self._line[key][1])
        self._admit_next()

    def _admit_next(self) -> None:
        for key, (company, turn) in list(self._line.items()):
            if not self._fits(company):
                return
            del self._line[key]
            self._inside[key] = company
            if not turn.done():
                turn.set_result(None)

    def _fits(self, company: int) -> bool:
        return len(self._inside) < min(company, _ANY, *self._inside.values())
