"""A process that executes segments for DBOS: taken from queues, journalled in DBOS's rows, supervised.

DBOS hands out work, stores it and fences it: it refuses writes of an execution once another owns the
workflow. Open-source DBOS does not notice that another process is dead. So each worker checks which
processes have workflows under way and whether they live (``liveness``), and queues those of the dead
again (``blame``). A similar check finds this process's segments that were cancelled, and cancels their
tasks.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from functools import partial
from logging import Handler, LogRecord, getLogger
from time import monotonic, time
from typing import Any, TypeAlias

import sqlalchemy as sa
from dbos import DBOS, DBOSClient, DBOSConfig, DBOSPortableJSONSerializer, _dbos
from dbos import Queue as DbosQueue
from dbos._context import get_local_dbos_context
from dbos._error import DBOSWorkflowCancelledError, DBOSWorkflowConflictIDError
from msgspec import Struct, json
from msgspec.structs import replace

from rightcall.durable.blame import Company, Suspects, Suspicion
from rightcall.durable.database import Database, in_thread, when_it_is_there, when_there_is_room
from rightcall.durable.engine import (
    JOURNAL_VERSION,
    Execute,
    Queue,
    SegmentJob,
    parse_segment_id,
)
from rightcall.durable.liveness import Liveness, liveness_of
from rightcall.errors import RunHeld, UsageError
from rightcall.log import logger

BUSY = 0.1
"""Seconds between two polls of a queue."""
IDLE = 0.3
"""The same, for a worker that was idle for a while. A dead one's runs must go on within 2 s."""
_WHILE = 5.0
_KNOWN = 1.0
"""Seconds for which a queue's settings are cached."""

Find: TypeAlias = Callable[[str], DbosQueue | None]


class PollingPace:
    """How often a worker polls its queues: often while there is work, otherwise less often.

    DBOS queries a queue's settings before every poll, and polls at the rate that they name. An idle
    worker would query the database some fifty times a second, and a thousand of them would keep a server
    busy with nothing else. So DBOS reads the settings of queues through this cache.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, DbosQueue]] = {}
        self._worked = monotonic()

    def note_work(self) -> None:
        """Note that there is work: where one run came from there may be more."""
        self._worked = monotonic()

    def cache_lookups(self, find: Find) -> Find:
        """Adds a cache to the function that queries a queue. DBOS calls the result in its threads."""

        def queue_of(name: str) -> DbosQueue | None:
            now = monotonic()
            since, queue = self._known.get(name, (0.0, None))
            if queue is None or now - since > _KNOWN:
                queue = find(name)
                if queue is None:
                    return None
                self._known[name] = (now, queue)
            # The field that DBOS reads: the setter would write to the database, for all workers.
            queue._polling_interval_sec = BUSY if now - self._worked < _WHILE else IDLE  # noqa: SLF001
            return queue

        return queue_of


APPLICATION = "rightcall"
WORKFLOW = "rightcall.segment"
VERSION = f"rightcall-journal-{JOURNAL_VERSION}"
"""Our own, because DBOS would hash the code and itself: every deployment would strand runs under way."""
_HANDED_ON = "handed_on"
"""The key that a closing worker records when it leaves a segment to others. It holds no step."""
_JOB: json.Decoder[SegmentJob] = json.Decoder(SegmentJob)


class StepRow(Struct, frozen=True):
    """A step as DBOS stores it."""

    number: int
    key: str
    value: str
    at: float


def rows_of(database: Database, workflow: str) -> list[StepRow]:
    """The steps of a workflow, in the order in which they were recorded."""
    names = ("function_id", "function_name", "output", "completed_at_epoch_ms")
    steps = database.table("operation_outputs", "workflow_uuid", *names).c
    query = sa.select(*[steps[name] for name in names]).where(steps.workflow_uuid == workflow)
    query = query.order_by(steps.function_id)
    with database.engine.connect() as connection:
        rows = connection.execute(query).all()
    return [StepRow(int(n), str(key), str(value), (at or 0) / 1000) for n, key, value, at in rows]


def job_of(text: str, workflow: str) -> SegmentJob:
    """The job of a workflow.

    A fork has its original's text: the run is replaced, the deadline removed.
    """
    job = _JOB.decode(text)
    run, segment = parse_segment_id(workflow)
    if job.run == run:
        return job
    return replace(job, run=run, segment=segment, deadline=None)


class DbosJournal:
    """The journal of a segment in DBOS's own rows, written by the execution that owns the workflow.

    Each record is a step of the workflow, named by its key. DBOS checks in the transaction that writes
    it that the execution still owns the workflow.
    """

    def __init__(
        self, system: Any, workflow: str, owner: str, attempt: int, rows: list[StepRow]
    ) -> None:
        self.attempt = attempt
        self.known = {row.key: row.value for row in rows}
        self._system = system
        self._workflow = workflow
        self._owner = owner
        self._last = max((row.number for row in rows), default=0)

    async def record(self, key: str, value: str) -> None:
        """Write a step; DBOS refuses it, in the same transaction, if another owns the workflow."""
        # Numbered before the thread: concurrent records are numbered in the order of their calls.
        self._last += 1
        await when_there_is_room(partial(self._write, self._last, key, value))

    def record_now(self, key: str, value: str) -> None:
        """The same, blocking."""
        self._last += 1
        self._write(self._last, key, value)

    def _write(self, number: int, key: str, value: str) -> None:
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


_POLL = 0.1
"""Seconds between two checks for cancelled segments."""
_PEERS = 0.5
"""Seconds between two checks of the other workers."""
_GIVEN_UP = 10.0
"""Seconds for which this process may own a workflow and not execute it: just taken, or about to end."""


class _RunningSegment(Struct, frozen=True, eq=False):
    """A segment that this process executes."""

    workflow: str
    owner: str
    future: "Future[str]"
    journal: DbosJournal


class DbosWorker:
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
        self._going: dict[tuple[str, str], _RunningSegment] = {}
        self._cancelled: set[tuple[str, str]] = set()
        self._lost: dict[str, float] = {}
        """Workflows that this process owns and does not execute, with the time since when."""
        self._suspects = Suspects(database)
        self._company = Company(self._suspects)
        self._pace = PollingPace()
        self._look = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self, queues: Sequence[Queue]) -> None:
        """Launch DBOS on these queues, and start the checks."""
        if _CurrentWorker.worker is not None:
            raise UsageError("this process works on a durable app already, and DBOS is one per process")
        if _dbos._dbos_global_instance is not None:  # noqa: SLF001 - DBOS would give it to us as ours
            raise UsageError(
                "this process has a DBOS of its own, and DBOS has one database, version and executor for"
                " a process: say queues=() here, which can submit, watch and decide, and execute the"
                " runs in a process of their own, with rightcall runs worker MODULE:APP"
            )
        _CurrentWorker.worker = self
        try:
            await in_thread(self._launch, queues)
        except BaseException:
            await in_thread(self._leave, ())
            _CurrentWorker.worker = None
            raise
        self._tasks = [
            self._loop.create_task(self._again_and_again(self._look_at_peers, _PEERS, None)),
            self._loop.create_task(self._again_and_again(self._take_back_lost, _GIVEN_UP / 5, None)),
            self._loop.create_task(self._again_and_again(self._look_at_own, _POLL, self._look)),
        ]

    def _launch(self, queues: Sequence[Queue]) -> None:
        self._liveness.hold()
        for queue in queues:
            # A queue's limits under DBOS's names.
            rate = None
            if queue.rate is not None:
                rate = {"limit": queue.rate[0], "period": queue.rate[1]}
            # DBOS refuses a limit for one worker that is higher than that for all of them.
            here = queue.concurrency
            if queue.everywhere is not None and not queue.lanes:
                here = min(here, queue.everywhere)
            limits: dict[str, Any] = {"global_concurrency": queue.everywhere, "limiter": rate}
            if queue.lanes:
                limits = {"partition_concurrency": queue.everywhere, "partition_limiter": rate}
            self._client.register_queue(
                queue.name, worker_concurrency=here, polling_interval_sec=BUSY, **limits
            )
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
        system.get_queue = self._pace.cache_lookups(system.get_queue)  # type: ignore[assignment, method-assign]

    def look_for_cancelled(self) -> None:
        """Check this process's segments now."""
        self._look.set()

    async def close(self, patience: float) -> None:
        """Take no more work, wait for what is running, and hand the rest to other workers."""
        for task in self._tasks:
            task.cancel()
        # DBOS itself can stop taking work only by ending everything that is under way.
        for stop in _dbos._get_dbos_instance().background_thread_stop_events:  # noqa: SLF001
            stop.set()
        try:
            await asyncio.gather(*self._tasks, return_exceptions=True)
            ends = [asyncio.wrap_future(each.future) for each in list(self._going.values())]
            if ends:
                await asyncio.wait(ends, timeout=patience)
        finally:
            # Also if the caller loses patience and cancels this, however early: cancel what is still
            # running, and hand it to other workers.
            left = []
            ends = []
            for each in list(self._going.values()):
                ends.append(asyncio.wrap_future(each.future))
                if each.future.cancel():
                    left.append(each)
            await asyncio.gather(*ends, return_exceptions=True)
            await in_thread(self._leave, left)
            _CurrentWorker.worker = None

    def _leave(self, left: Sequence[_RunningSegment]) -> None:
        """End DBOS and release the lock. Other workers may take what was under way from then on."""
        try:
            for each in left:
                # Queue the segment again, without counting that as a death of this process.
                try:
                    each.journal.record_now(_HANDED_ON, "{}")
                except RunHeld:
                    # It has ended meanwhile, or another worker owns it.
                    continue
                status = self._database.table("workflow_status", "workflow_uuid", "recovery_attempts")
                fewer = (
                    sa.update(status)
                    .where(status.c.workflow_uuid == each.workflow)
                    .values(recovery_attempts=status.c.recovery_attempts - 1)
                )
                with self._database.engine.begin() as connection:
                    connection.execute(fewer)
                system = _dbos._get_dbos_instance()._sys_db  # noqa: SLF001 - DBOS has no word for handing work over
                system.reenqueue_for_recovery(each.workflow, [self._liveness.name], "default")
            DBOS.destroy()
            self._suspects.hand_on(self._liveness.name, VERSION)
        except sa.exc.SQLAlchemyError:
            logger.warning("what was under way is left to be found by others", exc_info=True)
            DBOS.destroy()
        self._liveness.release()

    async def run(self, text: str) -> str:
        """Execute the workflow of the DBOS context; called by DBOS, on a loop of its own."""
        context = get_local_dbos_context()
        assert context is not None
        assert context.owner_xid is not None
        workflow = context.workflow_id
        owner = context.owner_xid
        journal, known = await when_it_is_there(partial(self._journal, workflow, owner))
        going = self._execute_job(job_of(text, workflow), journal, owner, known)
        future = asyncio.run_coroutine_threadsafe(going, self._loop)
        at = (workflow, owner)
        self._going[at] = _RunningSegment(workflow, owner, future, journal)
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

    async def _execute_job(
        self, job: SegmentJob, journal: DbosJournal, owner: str, known: Suspicion | None
    ) -> str:
        async with self._company.admit(job.id, owner, known):
            return await self._execute(job, journal)

    def _journal(self, workflow: str, owner: str) -> tuple[DbosJournal, Suspicion | None]:
        system = _dbos._get_dbos_instance()._sys_db  # noqa: SLF001 - where DBOS writes steps
        status = system.get_workflow_status(workflow)
        rows = rows_of(self._database, workflow)
        attempt = 1
        if status is not None:
            attempt = status["recovery_attempts"] or 1
        # An execution that was handed on counts as an attempt, but not as a death.
        attempt += sum(row.key == _HANDED_ON for row in rows)
        journal = DbosJournal(system, workflow, owner, attempt, rows)
        return journal, self._suspects.find(workflow)

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
        """Queue the workflows of dead processes again."""
        self._liveness.hold()
        under_way = self._status.status == "PENDING"
        of_ours = self._status.application_version == VERSION
        elsewhere = self._status.executor_id != self._liveness.name
        query = sa.select(self._status.executor_id).distinct().where(under_way, of_ours, elsewhere)
        with self._database.engine.connect() as connection:
            names = [str(name) for name in connection.execute(query).scalars()]
        for name in self._liveness.dead(names):
            logger.warning("the worker %s is dead; others go on with its runs", name)
            # Not by DBOS, which counts a death for everything that the process had.
            self._suspects.bury(name, VERSION)

    def _take_back_lost(self) -> None:
        """Queue workflows again that DBOS gave up in this process: it could not write how they ended."""
        system = _dbos._get_dbos_instance()._sys_db  # noqa: SLF001 - DBOS counts on a restart to find them
        owned = system.get_pending_workflows(self._liveness.name, VERSION)
        pending = {each.workflow_id for each in owned}
        going = {each.workflow for each in list(self._going.values())}
        now = monotonic()
        self._lost = {name: self._lost.get(name, now) for name in pending - going}
        given_up = {name for name, since in self._lost.items() if now - since > _GIVEN_UP}
        if given_up:
            logger.warning("given up here, and queued again: %s", ", ".join(sorted(given_up)))
            self._suspects.blame(self._liveness.name, VERSION, given_up)

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
        owners = {}
        for name, status_name, owner in rows:
            if status_name == "PENDING":
                owners[str(name)] = owner
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
        theirs.addHandler(_LogForwarder())
        theirs.propagate = False


class _LogForwarder(Handler):
    """Repeats DBOS's log records in our log, at debug: they say what is stored or reported elsewhere."""

    def emit(self, record: LogRecord) -> None:
        """Log the record."""
        logger.debug("DBOS: %s", record.getMessage(), exc_info=record.exc_info)


class _CurrentWorker:
    """Holds the worker of this process, for the one workflow that is registered with DBOS."""

    worker: DbosWorker | None = None


# As often as it takes: which segments are not tried again is decided by those who bury a process.
@DBOS.workflow(name=WORKFLOW, max_recovery_attempts=None)
async def segment(job: str) -> str:
    """Execute one segment."""
    worker = _CurrentWorker.worker
    if worker is None:
        raise UsageError("no worker is open in this process")
    return await worker.run(job)
