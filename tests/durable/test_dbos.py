"""What is particular to DBOS as an engine: how its database is opened, fenced, versioned and queued."""

import asyncio
import json
import sqlite3
import stat
import threading
from contextlib import asynccontextmanager, closing
from pathlib import Path
from time import time
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from dbos import DBOS

import rightcall as rc
from durable import cast
from durable.conftest import until
from rightcall.durable import dbos_worker
from rightcall.durable.blame import Suspects
from rightcall.durable.database import SqlChannel, open_database, when_it_is_there
from rightcall.durable.dbos_engine import DbosEngine
from rightcall.durable.engine import Queue, SegmentJob
from rightcall.durable.liveness import FileLocks, SessionLocks
from rightcall.errors import RunHeld, RunStopped, UsageError
from rightcall.testing import ScriptedModel, reply


@pytest.fixture
def runs_file(tmp_path) -> Path:
    return tmp_path / "runs.db"


@asynccontextmanager
async def opened(address, **options):
    async with rc.durable.App(address, agents=cast.agents(), **options) as app:
        yield app


@asynccontextmanager
async def engine_at(address, execute=None, queues=None):
    engine = DbosEngine(address)
    await engine.open(execute, queues or [Queue()])
    try:
        yield engine
    finally:
        await engine.close()


def change(address: str, **values: object) -> None:
    """Change the row of every segment, as nothing in the library does."""
    database = open_database(address)
    table = database.table("workflow_status", *values)
    with database.engine.begin() as connection:
        connection.execute(sa.update(table).values(**values))
    database.close()


async def test_the_file_is_synced_private_and_holds_no_pickles(runs_file, run):
    async with opened(f"sqlite:///{runs_file}") as app:
        await (await app.submit("worker", "look pay", run=run)).result()
        for path in runs_file.parent.glob("runs.db*"):
            assert stat.S_IMODE(path.stat().st_mode) in (0o600, 0o700), path
    database = open_database(f"sqlite:///{runs_file}")
    with database.engine.connect() as connection:
        pragmas = [connection.execute(sa.text(f"PRAGMA {each}")).scalar() for each in _PRAGMAS]
    database.close()
    assert dict(zip(_PRAGMAS, pragmas, strict=True)) == _PRAGMAS
    plain = sqlite3.connect(runs_file)
    kept = [
        text
        for column, table in (("output", "operation_outputs"), ("inputs", "workflow_input"))
        for (text,) in plain.execute(f"SELECT {column} FROM {table}")
    ]
    plain.close()
    assert len(kept) == 7
    assert [type(json.loads(text)) for text in kept] == [dict] * 7


_PRAGMAS = {"journal_mode": "wal", "synchronous": 2, "busy_timeout": 30_000, "foreign_keys": 1}


async def test_a_segment_that_was_taken_over_cannot_be_written_to(database, run):
    held: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()

    async def execute(job, journal):
        await journal.record("t1.model", "[]")
        await asyncio.to_thread(change, database, owner_xid="somebody else")
        try:
            await journal.record("t1.0.pay", "[]")
        except BaseException as error:
            if not held.done():
                held.set_result(error)
            raise
        return "never"

    async with engine_at(database, execute) as engine:
        await engine.submit(SegmentJob(run=run, segment=0, agent="a", input="x"))
        error = await asyncio.wait_for(held, 10)
        # Whichever comes first: the write that is refused, or the look that finds it taken.
        assert isinstance(error, RunHeld | asyncio.CancelledError)
        assert [step.key for step in await engine.history(run, 0)] == ["t1.model"]


async def test_a_run_of_another_version_is_told(database, run):
    async with engine_at(database) as engine:
        await engine.submit(SegmentJob(run=run, segment=0, agent="worker", input="x"))
    change(database, application_version="rightcall-journal-0")
    async with opened(database) as app:
        assert [each.status for each in await app.list()] == ["stranded"]
        with pytest.raises(RunStopped, match="begun as 'rightcall-journal-0'") as stopped:
            await app.result(run)
        assert stopped.value.status == "stranded"
        assert await app.cancel(run) is False
    assert cast.logged() == []


async def test_a_segment_that_five_processes_died_of_is_parked(database, run):
    async with rc.durable.App(database) as app:
        await app.submit("worker", "look", run=run)
    opened_database = open_database(database)
    suspects = Suspects(opened_database)
    for number in range(1, 6):
        change(database, status="PENDING", executor_id="nobody", recovery_attempts=number)
        await asyncio.to_thread(suspects.bury, "nobody", dbos_worker.VERSION)
    opened_database.close()
    async with opened(database) as app:
        with pytest.raises(RunStopped, match="5 processes died") as stopped:
            await app.result(run)
        assert stopped.value.status == "parked"
    assert cast.logged() == []


async def test_of_those_who_recover_a_dead_workers_run_one_does(database, run):
    async with rc.durable.App(database) as app:
        await app.submit("worker", "pay", run=run)
    change(database, status="PENDING", executor_id="nobody", recovery_attempts=1)
    async with opened(database) as app:
        worker = app._engine._worker
        await asyncio.gather(*[asyncio.to_thread(worker._look_at_peers) for _ in range(3)])
        await app.result(run)
        assert (await app.show(run)).info.attempts == 2
    assert cast.logged() == ["pay"]


async def test_a_server_that_breaks_off_an_answer_is_asked_again(database, run, monkeypatch):
    """As one does that is restarted: no run fails of it, wherever it is, and no watcher."""
    asked = {"rows": 0, "over": 0, "live": 0}

    def breaking(name, function):
        def once(*arguments):
            asked[name] += 1
            if asked[name] == 1:
                raise sa.exc.OperationalError("SELECT", {}, psycopg.OperationalError("closed"))
            return function(*arguments)

        return once

    monkeypatch.setattr("rightcall.durable.database.PAUSE", 0.05)
    monkeypatch.setattr(dbos_worker, "rows_of", breaking("rows", dbos_worker.rows_of))
    monkeypatch.setattr(DbosEngine, "_is_over", breaking("over", DbosEngine._is_over))
    monkeypatch.setattr(SqlChannel, "_after", breaking("live", SqlChannel._after))
    async with opened(database) as app:
        handle = await app.submit("worker", "look pay", run=run)
        seen = [each async for each in app.watch(run)]
        assert (await handle.result()).text == seen[-1].event.result.text == "done after 2 turns"
        await app.submit("worker", "rest", run=f"{run} b")
        await app.result(f"{run} b")
    assert min(asked.values()) > 1
    assert cast.logged() == ["look", "pay", "rest"]


async def test_what_sqlite_says_stands():
    def locked():
        raise sa.exc.OperationalError("SELECT", {}, error)

    empty = closing(sqlite3.connect(":memory:"))
    with empty as database, pytest.raises(sqlite3.OperationalError) as told:
        database.execute("SELECT * FROM nothing")
    error = told.value
    with pytest.raises(sa.exc.OperationalError):
        await when_it_is_there(locked)


async def test_a_process_has_one_worker(runs_file):
    async with opened(f"sqlite:///{runs_file}"):
        with pytest.raises(UsageError, match="works on a durable app already"):
            await rc.durable.App(f"sqlite:///{runs_file}", agents=cast.agents()).open()


async def test_a_dbos_of_the_users_own_is_left_alone(runs_file):
    own = DBOS(config={"name": "own", "system_database_url": f"sqlite:///{runs_file}.own"})
    try:
        async with rc.durable.App(f"sqlite:///{runs_file}", agents=cast.agents(), queues=()) as app:
            assert await app.list() == []
        with pytest.raises(UsageError, match=r"DBOS of its own.* queues=.* rightcall runs worker"):
            await rc.durable.App(f"sqlite:///{runs_file}", agents=cast.agents()).open()
        assert DBOS(config={"name": "another"}) is own
    finally:
        DBOS.destroy()


async def test_closing_hands_what_is_under_way_to_others(database, run):
    async with opened(database) as app:
        await app.submit("worker", "pay wait", run=run)
        await until(lambda: "wait" in cast.logged())
    assert cast.logged() == ["pay", "wait", "wait cancelled"]
    for count in range(2, 4):
        async with opened(database) as app:
            await until(lambda: cast.logged().count("wait") == count)  # noqa: B023
            assert (await app.show(run)).info.attempts == 1, "nobody died of it"
    assert cast.logged().count("pay") == 1


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("runs.db", "names no engine"),
        ("mysql://x/y", "names no engine"),
        ("sqlite://", "outlives no process"),
        ("sqlite:///:memory:", "outlives no process"),
    ],
)
async def test_an_address_that_keeps_nothing_is_refused(address, words):
    with pytest.raises(UsageError, match=words):
        await rc.durable.App(address).open()


@pytest.mark.parametrize(
    ("address", "missing", "extra"),
    [("sqlite:///x.db", "dbos", "durable"), ("restate://localhost:8080", "restate", "restate")],
)
async def test_an_engine_that_is_not_installed_is_named(monkeypatch, address, missing, extra):
    monkeypatch.setattr(
        "rightcall.core.optional_libraries.find_spec", lambda name: name != missing or None
    )
    with pytest.raises(rc.errors.MissingExtra, match=rf"pip install 'rightcall\[{extra}\]'"):
        await rc.durable.App(address).submit("support", "Hello")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"run": ""}, "must not be blank"),
        ({"run": "a\0b"}, "leave the NUL out"),
        ({"priority": 2**31}, "up to 2147483647"),
        ({"details": {"at": object()}}, "details"),
    ],
)
async def test_what_no_database_can_keep_is_refused_in_words(runs_file, options, told):
    async with rc.durable.App(f"sqlite:///{runs_file}") as app:
        with pytest.raises(UsageError, match=told):
            await app.submit("worker", "look", **options)
        assert not await app.list()


async def test_nothing_younger_than_now_is_forgotten(runs_file):
    async with rc.durable.App(f"sqlite:///{runs_file}") as app:
        for older in (-1.0, float("nan")):
            with pytest.raises(UsageError, match="0 or more"):
                await app.gc(older=older)


async def test_a_fork_at_an_unknown_step_names_those_there_are_in_their_order(runs_file, run):
    async with opened(f"sqlite:///{runs_file}") as app:
        await (await app.submit("worker", "look pay", run=run)).result()
        with pytest.raises(UsageError, match=r"has no step 't9\.model'; it has t1\."):
            await app.fork(run, at="t9.model")
        with pytest.raises(UsageError, match="must not be blank"):
            await app.fork(run, at="t1.model", new="")


def test_a_worker_without_work_asks_less_often(monkeypatch):
    now, asked = [100.0], []
    monkeypatch.setattr(dbos_worker, "monotonic", lambda: now[0])

    def find(name):
        asked.append(name)
        # DBOS's own class registers what is made of it, for the whole process.
        return None if name == "gone" else SimpleNamespace(_polling_interval_sec=9.0)

    pace = dbos_worker.PollingPace()
    queue_of = pace.cache_lookups(find)

    def seconds():
        return queue_of("default")._polling_interval_sec

    assert [seconds(), seconds()] == [dbos_worker.BUSY] * 2
    assert asked == ["default"], "settings are taken as known for a while"
    now[0] += 6
    assert seconds() == dbos_worker.IDLE
    assert asked == ["default"] * 2
    pace.note_work()
    assert seconds() == dbos_worker.BUSY
    assert queue_of("gone") is None


def test_sqlite_tells_fractions_of_a_second_however_old_it_is(runs_file):
    # DBOS writes this into its tables on every Python from 3.12 on; an old SQLite answers NULL.
    database = open_database(f"sqlite:///{runs_file}")
    with database.engine.connect() as connection:
        now = connection.execute(sa.text("SELECT unixepoch('subsec')")).scalar_one()
    database.close()
    assert isinstance(now, float)
    assert abs(now - time()) < 10


def test_an_old_sqlite_is_given_a_clock_for_fractions_and_nothing_else(runs_file, monkeypatch):
    monkeypatch.setattr("rightcall.durable.database._HAS_SUBSEC", (99, 0))
    monkeypatch.setattr("rightcall.durable.database.time", lambda: 1234.5)
    database = open_database(f"sqlite:///{runs_file}")
    with database.engine.connect() as connection:
        assert connection.execute(sa.text("SELECT unixepoch('subsec')")).scalar_one() == 1234.5
        with pytest.raises(sa.exc.OperationalError, match="user-defined function raised"):
            connection.execute(sa.text("SELECT unixepoch('now')"))
    database.close()


async def test_a_look_that_outlasts_its_worker_leaves_no_connection_open(database, run, monkeypatch):
    """Closing does not wait for threads that ask the database still; what they opened is closed."""
    looks, returned, look = threading.Event(), threading.Event(), dbos_worker.DbosWorker._look_at_peers
    ended = threading.Event()

    def slow(worker) -> None:
        with worker._database.engine.connect() as connection:
            looks.set()
            returned.wait(10)
            connections.append(connection.connection.dbapi_connection)
        try:
            look(worker)
        finally:
            ended.set()

    connections = []
    monkeypatch.setattr(dbos_worker.DbosWorker, "_look_at_peers", slow)
    opened_late = _watch_connections(monkeypatch)
    async with opened(database):
        await asyncio.to_thread(looks.wait, 10)
    returned.set()
    await asyncio.to_thread(ended.wait, 10)
    assert connections
    for connection in [*connections, *opened_late]:
        assert _is_closed(connection), connection


async def test_an_app_whose_worker_cannot_begin_leaves_no_connection_open(database, monkeypatch):
    connections = []

    async def refuse(worker, queues) -> None:
        with worker._database.engine.connect() as connection:
            connections.append(connection.connection.dbapi_connection)
        raise OSError("no room")

    monkeypatch.setattr(dbos_worker.DbosWorker, "open", refuse)
    with pytest.raises(OSError, match="no room"):
        async with opened(database):
            pass
    (connection,) = connections
    assert _is_closed(connection)


def _watch_connections(monkeypatch) -> list[object]:
    """Sessions that show that a worker lives, as they are made."""
    made, connect = [], psycopg.connect

    def noted(*arguments, **options):
        made.append(connect(*arguments, **options))
        return made[-1]

    monkeypatch.setattr(psycopg, "connect", noted)
    return made


def _is_closed(connection) -> bool:
    if isinstance(connection, psycopg.Connection):
        return connection.closed
    try:
        connection.execute("SELECT 1")
    except sqlite3.ProgrammingError:
        return True
    return False


def test_a_lock_that_was_given_back_is_not_taken_again(tmp_path, monkeypatch):
    monkeypatch.setattr(psycopg, "connect", lambda *_, **__: pytest.fail("it connected again"))
    for locks in (FileLocks("me", tmp_path / "workers"), SessionLocks("me", "postgresql://nowhere")):
        locks.release()
        locks.hold()
    assert not list(tmp_path.iterdir())


async def test_none_of_a_submitted_run_is_not_given(tmp_path, run):
    told = [
        "deadline",
        "details",
        "budget",
        "history",
        "intents",
        "instructions",
        "options",
        "max_tokens",
    ]
    options: dict[str, Any] = dict.fromkeys(told)
    model = ScriptedModel([reply("Hi.")])
    agent = rc.Agent(model, instructions="Be brief.", name="clerk")
    async with rc.durable.App(f"sqlite:///{tmp_path / 'runs.db'}", [agent]) as app:
        named = await app.submit("clerk", "Hello.", run=run, **options)
        assert (await named.result()).text == "Hi."
        unnamed = await app.submit("clerk", "Hello.", run=None, queue="nobody's")
    assert (model.requests[0].system, named.run) == ("Be brief.", run)
    assert unnamed.run


async def test_what_was_taken_and_not_begun_is_queued_again_as_a_worker_closes(database, run):
    async with rc.durable.App(database) as other:
        await other.submit("worker", "look", run=run, queue="nobody's")
        async with opened(database) as app:
            mine = app._engine._worker._liveness.name
            change(database, status="PENDING", executor_id=mine, recovery_attempts=3)
        info = (await other.show(run)).info
        assert (info.status, info.attempts) == ("queued", 2)
    assert cast.logged() == []


async def test_a_close_that_is_cancelled_at_once_hands_what_runs_to_others(runs_file):
    address = f"sqlite:///{runs_file}"
    app = rc.durable.App(address, agents=cast.agents())
    await app.open()
    await app.submit("worker", "look+wait", run="left")
    await until(lambda: "wait" in cast.logged())
    closing_app = asyncio.create_task(app.close(patience=60))
    # It has begun, and no more.
    await asyncio.sleep(0)
    closing_app.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing_app
    async with rc.durable.App(address) as other:
        assert (await other.show("left")).info.status == "queued"
