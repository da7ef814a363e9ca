"""A process that executes segments for DBOS: taken from queues, journalled in DBOS's rows, supervised.

DBOS hands out work, stores it and fences it: it refuses writes of an execution once another owns the
workflow. Open-source DBOS does not notice that another process is dead. So each worker checks which
processes have workflows under way and whether they live (``liveness``), and has DBOS recover those of
the dead. A similar check finds this process's segments that were cancelled, and cancels their tasks.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from functools import partial
from logging import Handler, LogRecord, getLogger
from time import monotonic
from typing import Any

import sqlalchemy as sa
from dbos import DBOS, DBOSClient, DBOSConfig, DBOSPortableJSONSerializer, _dbos
from dbos._context import get_local_dbos_context
from dbos._error import DBOSWorkflowCancelledError, DBOSWorkflowConflictIDError
from msgspec import Struct

from rightcall.durable.database import Database
from rightcall.durable.dbos_journal import (
    APPLICATION,
    VERSION,
    WORKFLOW,
    DbosJournal,
    job_of,
    journal_of,
)
from rightcall.durable.dbos_pace import BUSY, Pace
from rightcall.durable.engine import (
    MOST_DEATHS,
    Execute,
    Job,
    Queue,
)
from rightcall.durable.liveness import Liveness, liveness_of
from rightcall.durable.patience import when_it_is_there
from rightcall.durable.threads import in_thread
from rightcall.errors import RunHeld, UsageError
from rightcall.log import logger

_POLL = 0.1
"""Seconds between two checks for cancelled segments."""
_PEERS = 0.5
"""Seconds between two checks of the other workers."""
_GIVEN_UP = 10.0
"""Seconds for which this process may own a workflow and not execute it: just taken, or about to end."""


class _Going(Struct, frozen=True, eq=False):
    """A segment that this process executes."""

    workflow: str
    owner: str
    future: "Future[str]"
    journal: DbosJournal


class Worker:
    """Executes segments until it is closed. A process has only one, as it has only one DBOS."""

    def __init__(self, database: Database, client: DBOSClient, execute: Execute) -> None:
        self._database = database
        self._client = client
        self._execute = execute
        self._loop = asyncio.get_running_loop()
        self._liveness: Liveness = liveness_of(database)
        self._status = database.table(
            "workflow_status",
            "workflow_uuid",
            "status",
            "executor_id",
            "owner_xid",
            "application_version",
        ).c
        self._going: dict[tuple[str, str], _Going] = {}
        self._cancelled: set[tuple[str, str]] = set()
        self._lost: dict[str, float] = {}
        """Workflows that this process owns and does not execute, with the time since when."""
        self._pace = Pace()
        self._look = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self, queues: Sequence[Queue]) -> None:
        """Launch DBOS on these queues, and start the checks."""
        if _Working.worker is not None:
            raise UsageError("this process works on a durable app already, and DBOS is one per process")
        if _dbos._dbos_global_instance is not None:  # noqa: SLF001 - DBOS would give it to us as ours
            raise UsageError(
                "this process has a DBOS of its own, and DBOS has one database, version and executor for"
                " a process: say queues=() here, which can submit, watch and decide, and execute the"
                " runs in a process of their own, with rightcall worker MODULE:APP"
            )
        _Working.worker = self
        try:
            await in_thread(self._launch, queues)
        except BaseException:
            await in_thread(self._leave, ())
            _Working.worker = None
            raise
        self._tasks = [
            self._loop.create_task(self._again_and_again(self._look_at_peers, _PEERS, None)),
            self._loop.create_task(self._again_and_again(self._take_back_lost, _GIVEN_UP / 5, None)),
            self._loop.create_task(self._again_and_again(self._look_at_own, _POLL, self._look)),
        ]

    def _launch(self, queues: Sequence[Queue]) -> None:
        self._liveness.hold()
        for queue in queues:
            self._client.register_queue(queue.name, **_limits(queue))
        config = DBOSConfig(
            name=APPLICATION,
            system_database_engine=self._database.engine,
            application_version=VERSION,
            executor_id=self._liveness.name,
            serializer=DBOSPortableJSONSerializer(),
            run_migrations=False,
            enable_otlp=False,
            log_level="WARNING",
        )
        DBOS(config=config)
        DBOS.listen_queues([queue.name for queue in queues])
        DBOS.launch()
        system = _dbos._get_dbos_instance()._sys_db  # noqa: SLF001 - DBOS has one pace, for all and for ever
        system.get_queue = self._pace.kept(system.get_queue)  # type: ignore[assignment, method-assign]

    def look_for_cancelled(self) -> None:
        """Check this process's segments now."""
        self._look.set()

    async def close(self, patience: float) -> None:
        """Take no more work, wait for what is running, and hand the rest to other workers."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await in_thread(self._stop_taking)
        ends = [asyncio.wrap_future(each.future) for each in list(self._going.values())]
        try:
            if ends:
                await asyncio.wait(ends, timeout=patience)
        finally:
            # Also if the caller loses patience and cancels this.
            await self._give_up(ends)

    async def _give_up(self, ends: "Sequence[asyncio.Future[str]]") -> None:
        """Cancel what is still running, and hand it to other workers."""
        left = [each for each in list(self._going.values()) if each.future.cancel()]
        await asyncio.gather(*ends, return_exceptions=True)
        await in_thread(self._leave, left)
        _Working.worker = None

    def _stop_taking(self) -> None:
        # DBOS itself can stop taking work only by ending everything that is under way.
        for stop in _dbos._get_dbos_instance().background_thread_stop_events:  # noqa: SLF001
            stop.set()

    def _leave(self, left: Sequence[_Going]) -> None:
        """End DBOS and release the lock. Other workers may take what was under way from then on."""
        try:
            for each in left:
                self._hand_on(each)
        except sa.exc.SQLAlchemyError:
            logger.warning("what was under way is left to be found by others", exc_info=True)
        DBOS.destroy()
        self._liveness.release()

    def _hand_on(self, going: _Going) -> None:
        """Queue a segment again that this process leaves, without counting that as a death."""
        try:
            going.journal.note_handed_on()
        except RunHeld:
            # It has ended meanwhile, or another worker owns it.
            return
        status = self._database.table("workflow_status", "workflow_uuid", "recovery_attempts")
        with self._database.engine.begin() as connection:
            connection.execute(
                sa.update(status)
                .where(status.c.workflow_uuid == going.workflow)
                .values(recovery_attempts=status.c.recovery_attempts - 1)
            )
        system = _dbos._get_dbos_instance()._sys_db  # noqa: SLF001 - DBOS has no word for handing work over
        system.reenqueue_for_recovery(going.workflow, [self._liveness.name], "default")

    async def run(self, text: str) -> str:
        """Execute the workflow of the DBOS context; called by DBOS, on a loop of its own."""
        context = get_local_dbos_context()
        assert context is not None
        assert context.owner_xid is not None
        workflow, owner = context.workflow_id, context.owner_xid
        journal = await when_it_is_there(partial(self._journal, workflow, owner))
        job = job_of(text, workflow)
        future = asyncio.run_coroutine_threadsafe(self._executed(job, journal), self._loop)
        at = (workflow, owner)
        self._going[at] = _Going(workflow, owner, future, journal)
        self._pace.note_work()
        try:
            return await asyncio.wrap_future(future)
        except RunHeld:
            # DBOS's own error for this; it then waits for the result of the owner.
            raise DBOSWorkflowConflictIDError(workflow) from None
        except (asyncio.CancelledError, CancelledError):
            if at in self._cancelled:
                raise DBOSWorkflowCancelledError(workflow) from None
            raise
        finally:
            self._going.pop(at, None)
            self._pace.note_work()
            self._cancelled.discard(at)

    async def _executed(self, job: Job, journal: DbosJournal) -> str:
        return await self._execute(job, journal)

    def _journal(self, workflow: str, owner: str) -> DbosJournal:
        system = _dbos._get_dbos_instance()._sys_db  # noqa: SLF001 - where DBOS writes steps
        return journal_of(self._database, system, workflow, owner)

    async def _again_and_again(
        self, look: Callable[[], None], seconds: float, wake: asyncio.Event | None
    ) -> None:
        is_away = False
        while True:
            try:
                await in_thread(look)
                is_away = False
            except Exception as error:  # noqa: BLE001 - whatever it is, others depend on the next look
                # The database is away, or restarts; nothing can be checked until it is back.
                log = logger.debug if is_away else logger.warning
                log("a worker cannot look after its runs, and tries again: %s", error)
                is_away = True
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await (wake or asyncio.Event()).wait()
            if wake is not None:
                wake.clear()

    def _look_at_peers(self) -> None:
        """Have DBOS recover the workflows of dead processes."""
        self._liveness.hold()
        under_way = self._status.status == "PENDING"
        query = (
            sa.select(self._status.executor_id)
            .distinct()
            .where(
                under_way,
                self._status.application_version == VERSION,
                self._status.executor_id != self._liveness.name,
            )
        )
        with self._database.engine.connect() as connection:
            names = [str(name) for name in connection.execute(query).scalars()]
        for name in self._liveness.dead(names):
            logger.warning("the worker %s is dead; others go on with its runs", name)
            DBOS._recover_pending_workflows([name])  # noqa: SLF001 - the public one resets what was counted

    def _take_back_lost(self) -> None:
        """Queue workflows again that DBOS gave up in this process: it could not write how they ended."""
        system = _dbos._get_dbos_instance()._sys_db  # noqa: SLF001 - DBOS counts on a restart to find them
        pending = {
            each.workflow_id for each in system.get_pending_workflows(self._liveness.name, VERSION)
        }
        going, now = {each.workflow for each in list(self._going.values())}, monotonic()
        self._lost = {name: self._lost.get(name, now) for name in pending - going}
        for name, since in self._lost.items():
            if now - since > _GIVEN_UP:
                logger.warning("the segment %s was given up here; it is queued again", name)
                system.reenqueue_for_recovery(name, [self._liveness.name], "default")

    def _look_at_own(self) -> None:
        """Cancel segments that this process no longer owns: cancelled, or taken over."""
        going = list(self._going.values())
        if not going:
            return
        status = self._status
        query = sa.select(status.workflow_uuid, status.status, status.owner_xid).where(
            status.workflow_uuid.in_([each.workflow for each in going])
        )
        with self._database.engine.connect() as connection:
            rows = connection.execute(query).all()
        owners = {str(name): owner for name, status, owner in rows if status == "PENDING"}
        for each in going:
            at = (each.workflow, each.owner)
            if owners.get(each.workflow) != each.owner and at in self._going:
                self._cancelled.add(at)
                each.future.cancel()


def hear_dbos() -> None:
    """Send DBOS's log records to our own log, unless the process handles them already."""
    theirs = getLogger("dbos")
    if not theirs.handlers:
        # Otherwise it would write to standard error, an error for every cancelled run.
        theirs.addHandler(_Told())
        theirs.propagate = False


class _Told(Handler):
    """Repeats DBOS's log records in our log, at debug: they say what is stored or reported elsewhere."""

    def emit(self, record: LogRecord) -> None:
        """Log the record."""
        logger.debug("DBOS: %s", record.getMessage(), exc_info=record.exc_info)


class _Working:
    """Holds the worker of this process, for the one workflow that is registered with DBOS."""

    worker: Worker | None = None


@DBOS.workflow(name=WORKFLOW, max_recovery_attempts=MOST_DEATHS - 1)
async def segment(job: str) -> str:
    """Execute one segment."""
    worker = _Working.worker
    if worker is None:
        raise UsageError("no worker is open in this process")
    return await worker.run(job)


def _limits(queue: Queue) -> dict[str, Any]:
    """A queue's limits under DBOS's names."""
    rate = None if queue.rate is None else {"limit": queue.rate[0], "period": queue.rate[1]}
    shared = {"concurrency": queue.everywhere, "limiter": rate}
    # DBOS refuses a limit for one worker that is higher than that for all of them.
    here = queue.concurrency if queue.lanes or queue.everywhere is None else queue.everywhere
    prefix = {"concurrency": "global_concurrency", "limiter": "limiter"}
    if queue.lanes:
        prefix = {"concurrency": "partition_concurrency", "limiter": "partition_limiter"}
    return {
        "worker_concurrency": min(queue.concurrency, here),
        "polling_interval_sec": BUSY,
        **{prefix[name]: value for name, value in shared.items()},
    }
