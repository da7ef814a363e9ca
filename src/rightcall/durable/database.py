"""An address into connections to the database in which an engine stores its runs.

SQLite is opened as a store of record: a write-ahead log that is synced at every commit, writers that
wait for each other, and a file that only its owner can read.
"""

import asyncio
import os
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event
from time import monotonic, time
from typing import Any, TypeVar

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy import event

from rightcall.durable.engine import checked_bytes, reference_to, without_secrets
from rightcall.errors import JournalError, UsageError
from rightcall.gate.concurrency import AbandonableJob as ThreadJob
from rightcall.gate.concurrency import Threads
from rightcall.log import logger
from rightcall.platforms import posix_only

if sys.platform != "win32":
    import fcntl

_PATIENCE = 30
"""Seconds that a writer waits for another."""
_HAS_SUBSEC = (3, 42)
"""The first SQLite version whose clock has fractions of a second."""
_AWAY = 120.0
"""Seconds to wait for a Postgres server that was reachable before."""
_PAUSE = 0.2
POOL = 16
"""Connections of one process to Postgres."""
SCHEMA = "dbos"
"""The schema of DBOS's tables in Postgres."""


class Database(Struct, frozen=True, kw_only=True, eq=False):
    """The database at an address."""

    engine: sa.Engine
    is_sqlite: bool
    path: Path | None = None
    """The file, for SQLite."""
    lock_url: str = ""
    """The URL for the connection that only holds a lock, for Postgres."""
    closed: Event

    def close(self) -> None:
        """Close every connection; one that a thread still uses is closed when it is returned."""
        self.closed.set()
        self.engine.dispose()

    def table(self, name: str, *columns: str) -> sa.TableClause:
        """A table of DBOS, with the columns that are used."""
        schema = None if self.is_sqlite else SCHEMA
        return sa.table(name, *[sa.column(column) for column in columns], schema=schema)


def open_database(address: str) -> Database:
    """The database at an address; does not connect yet."""
    url = _url(address)
    if url.get_backend_name() == "sqlite":
        return _sqlite(url)
    return _postgres(url)


def _url(address: str) -> sa.URL:
    try:
        return sa.make_url(address)
    except sa.exc.ArgumentError as error:
        raise UsageError(f"{address!r} is no address of a database: {error}") from error


def has_runs(address: str) -> bool:
    """Whether runs are stored at this address. Creates and writes nothing."""
    url = _url(address)
    is_file = url.get_backend_name() == "sqlite"
    if is_file and not _path(url).exists():
        return False
    if is_file:
        # An engine that reads a file without changing it: it may be anybody's.
        uri = f"{_path(url).as_uri()}?mode=ro"
        engine = sa.create_engine("sqlite://", creator=lambda: sqlite3.connect(uri, uri=True))
    else:
        engine = _postgres(url).engine
    try:
        with database_errors(address):
            return sa.inspect(engine).has_table("workflow_status", schema=None if is_file else SCHEMA)
    finally:
        engine.dispose()


@contextmanager
def database_errors(address: str) -> Iterator[None]:
    """Raise a database's errors as JournalError, with its own message and without the driver's."""
    try:
        yield
    except sa.exc.DBAPIError as error:
        where = f"the runs at {without_secrets(address)} cannot be opened"
        raise JournalError(where, str(error.orig)) from error


@contextmanager
def migrating(database: Database) -> Iterator[None]:
    """A scope for creating tables. Postgres itself makes concurrent creators wait for each other."""
    if database.path is None:
        yield
        return
    if sys.platform == "win32":
        raise posix_only("a durable store in SQLite")
    lock = os.open(database.path.with_name(f"{database.path.name}.lock"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        if sys.platform != "win32":  # said again for type checkers, which know no fcntl there
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _sqlite(url: sa.URL) -> Database:
    path = _path(url)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Created here, so that nobody else can ever read it; SQLite's other files get the same mode.
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    engine = sa.create_engine(url.set(database=str(path)), connect_args={"timeout": _PATIENCE})
    event.listen(engine, "connect", _prepare)
    return Database(engine=engine, is_sqlite=True, path=path, closed=_closing(engine))


def _path(url: sa.URL) -> Path:
    if not url.database or url.database == ":memory:":
        raise UsageError("a database in memory outlives no process; say sqlite:///runs.db")
    return Path(url.database).absolute()


def _prepare(connection: Any, _: object) -> None:
    # Transactions that write begin as writers: one that had read first could not wait for another.
    connection.isolation_level = "IMMEDIATE"
    connection.execute(f"PRAGMA busy_timeout={_PATIENCE * 1000}")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    if sqlite3.sqlite_version_info < _HAS_SUBSEC:
        connection.create_function("unixepoch", 1, _unixepoch)


def _unixepoch(word: str) -> float:
    """A clock with fractions of a second, for an SQLite that has none.

    DBOS writes ``unixepoch('subsec')`` into its tables on every Python from 3.12 on, as if those came
    with a new SQLite. Debian's do not, and the time would be NULL. A file may be used by several
    Pythons, so the function is defined for all of them.
    """
    if word != "subsec":
        raise ValueError(f"unixepoch({word!r}): only the time with its fractions is told here")
    return time()


def _postgres(url: sa.URL) -> Database:
    plain = url.set(drivername="postgresql")
    engine = sa.create_engine(
        url.set(drivername="postgresql+psycopg"),
        pool_size=POOL,
        max_overflow=POOL,
        pool_pre_ping=True,
        connect_args={"application_name": "rightcall", "connect_timeout": 10},
    )
    closed = _closing(engine)
    event.listen(engine, "do_connect", _Patient(closed).connect)
    lock_url = plain.render_as_string(hide_password=False)
    return Database(engine=engine, is_sqlite=False, lock_url=lock_url, closed=closed)


def _closing(engine: sa.Engine) -> Event:
    """The event that says that an engine is closed. A connection returned later is closed, too."""
    closed = Event()

    def come_back(connection: Any, _: object) -> None:
        if closed.is_set() and connection is not None:
            connection.close()

    event.listen(engine, "checkin", come_back)
    return closed


class _Patient:
    """Connects to a server that was reachable before, and waits while it is restarted.

    A caller then waits as for a slow answer, and no run fails because of a restart. DBOS retries by
    itself, but recognizes only some of the messages of a failed connection.
    """

    def __init__(self, closed: Event) -> None:
        self._was_there = False
        self._closed = closed

    def connect(self, dialect: Any, _: object, arguments: list[Any], options: dict[str, Any]) -> Any:
        """A connection. Raises the driver's error if the server never answered, or not for long."""
        end = monotonic() + _AWAY
        while True:
            try:
                made = dialect.connect(*arguments, **options)
            except dialect.loaded_dbapi.OperationalError:
                if not self._was_there or monotonic() > end or self._closed.wait(_PAUSE):
                    raise
            else:
                self._was_there = True
                return made


_THREADS = Threads()
"""Separate from those of tools and of asyncio: while a database is away, they all wait for it."""
T = TypeVar("T")


async def in_thread(function: Callable[..., T], *arguments: Any, **options: Any) -> T:
    """Run a database query in a thread, so that it does not block the event loop."""
    found: T = await _THREADS.run(partial(function, *arguments, **options), ThreadJob())
    return found


PAUSE = 1.0
"""Seconds before a retry."""
_SAID = 60.0
"""Seconds between two log messages about it."""
R = TypeVar("R")


async def when_there_is_room(write: Callable[[], R]) -> R:
    """Write in a thread; while the disk is full, retry until the caller gives up."""
    said = -_SAID
    while True:
        try:
            return await in_thread(write)
        except Exception as error:
            # SQLAlchemy has SQLite's own error as orig. Postgres reports a full disk with a code of its
            # own, and DBOS waits for it.
            if getattr(getattr(error, "orig", None), "sqlite_errorname", "") != "SQLITE_FULL":
                raise
        if monotonic() - said >= _SAID:
            said = monotonic()
            logger.warning("the disk that the runs are kept on is full; waiting until there is room")
        await asyncio.sleep(PAUSE)


async def when_it_is_there(ask: Callable[[], R]) -> R:
    """Query the database in a thread; retry while its server is away or the disk is full.

    It must be safe to repeat. DBOS does the same with its own queries.
    """
    end = monotonic() + _AWAY
    while True:
        try:
            return await when_there_is_room(ask)
        except sa.exc.OperationalError as error:
            # SQLite has no server that could come back: its error is final.
            if hasattr(error.orig, "sqlite_errorname") or monotonic() > end:
                raise
            logger.warning("the database is away; trying again: %s", error.orig)
        await asyncio.sleep(PAUSE / 2)


_MOST_AT_ONCE = 500
"""Runs whose values are deleted in one transaction: SQLite limits the number of parameters."""


class SqlBlobs:
    """Long values under the hash of their bytes, in two tables: the bytes, and the runs that own them.

    An engine reads its rows to list runs and sends them to the process that recovers one, and some limit
    them to a few megabytes. So a long value is stored here before the step that refers to it is
    recorded: a reference that can be read always has its value.

    A value is stored once for all runs that put it, and is deleted with the last of them. A value that a
    killed process stored and never referred to is deleted with its run, too.
    """

    def __init__(self, engine: sa.Engine, prefix: str = "rightcall") -> None:
        self._engine = engine
        self._on_postgres = engine.dialect.name == "postgresql"
        self._blobs = f"{prefix}_blobs"
        self._owners = f"{prefix}_blob_runs"

    def create(self) -> None:
        """Create the tables if they do not exist; any number of processes may do so at once."""
        data = "bytea" if self._on_postgres else "blob"
        columns = "run text not null, ref text not null, primary key (run, ref)"
        with self._engine.begin() as connection:
            if self._on_postgres:
                # Two processes that create the same table at once would conflict.
                lock = sa.text("select pg_advisory_xact_lock(hashtext(:name))")
                connection.execute(lock, {"name": self._blobs})
            for statement in (
                f"table if not exists {self._blobs} (ref text primary key, data {data} not null)",
                f"table if not exists {self._owners} ({columns})",
                f"index if not exists {self._owners}_ref on {self._owners} (ref)",
            ):
                connection.execute(sa.text(f"create {statement}"))

    async def put(self, run: str, data: bytes) -> str:
        """Store bytes for a run. They are durable when this returns."""
        return await when_it_is_there(partial(self._put, run, data))

    async def get(self, reference: str) -> bytes:
        """The bytes of that reference, checked."""
        return await when_it_is_there(partial(self._get, reference))

    async def share(self, run: str, other: str) -> None:
        """Make another run an owner of all values of a run: its fork refers to them."""
        statement = (
            f"insert into {self._owners} (run, ref) select :other, ref from {self._owners}"  # noqa: S608
            " where run = :run on conflict (run, ref) do nothing"
        )

        def copy() -> None:
            with self._engine.begin() as connection:
                connection.execute(sa.text(statement), {"run": run, "other": other})

        await when_it_is_there(copy)

    async def drop(self, runs: Sequence[str]) -> int:
        """Delete what only these runs own; returns how many values were deleted."""
        return await when_it_is_there(partial(self._drop, list(runs)))

    def _put(self, run: str, data: bytes) -> str:
        reference = reference_to(data)
        with self._engine.begin() as connection:
            # An update that changes nothing, instead of "do nothing": it locks the row. So a transaction
            # that deletes the value for its last run sees this owner, or this one sees it deleted.
            connection.execute(
                sa.text(
                    f"insert into {self._blobs} (ref, data) values (:ref, :data)"  # noqa: S608
                    " on conflict (ref) do update set ref = excluded.ref"
                ),
                {"ref": reference, "data": data},
            )
            connection.execute(
                sa.text(
                    f"insert into {self._owners} (run, ref) values (:run, :ref)"  # noqa: S608
                    " on conflict (run, ref) do nothing"
                ),
                {"run": run, "ref": reference},
            )
        return reference

    def _get(self, reference: str) -> bytes:
        statement = sa.text(f"select data from {self._blobs} where ref = :ref")  # noqa: S608
        with self._engine.connect() as connection:
            data = connection.execute(statement, {"ref": reference}).scalar()
        return checked_bytes(reference, None if data is None else bytes(data))

    def _drop(self, runs: list[str]) -> int:
        gone = 0
        for at in range(0, len(runs), _MOST_AT_ONCE):
            with self._engine.begin() as connection:
                gone += self._let_go(connection, runs[at : at + _MOST_AT_ONCE])
        return gone

    def _let_go(self, connection: sa.Connection, runs: list[str]) -> int:
        # Owners are deleted first: the first statement of a transaction must write, or SQLite may fail
        # later because another process has written in between.
        statement = f"delete from {self._owners} where run in :runs returning ref"  # noqa: S608
        some: sa.BindParameter[Any] = sa.bindparam("runs", expanding=True)
        found = connection.execute(sa.text(statement).bindparams(some), {"runs": runs}).scalars()
        gone = 0
        for reference in sorted(set(found)):
            values = {"ref": reference}
            if self._on_postgres:
                # Wait for a transaction that stores it: only the next statement sees what that wrote.
                locked = sa.text(f"select 1 from {self._blobs} where ref = :ref for update")  # noqa: S608
                connection.execute(locked, values)
            left = sa.text(
                f"delete from {self._blobs} where ref = :ref"  # noqa: S608
                f" and not exists (select 1 from {self._owners} where ref = :ref)"
            )
            gone += connection.execute(left, values).rowcount
        return gone


POLL = 0.03
"""Seconds between two polls of a watcher."""
_ASK = 0.2
"""Seconds for which a process caches which runs are watched."""
_WATCH = 5.0
"""Seconds until a watcher that does not renew its row no longer counts."""
_LIFE = 10.0
"""Seconds for which an event can be read."""

_TABLES = (
    "TABLE IF NOT EXISTS rightcall_watchers (run text PRIMARY KEY, until float NOT NULL)",
    "TABLE IF NOT EXISTS rightcall_live (id {serial}, run text, sent float, event text)",
)
_INDEX = sa.text("CREATE INDEX IF NOT EXISTS rightcall_live_run ON rightcall_live (run, id)")
_SEND = sa.text("INSERT INTO rightcall_live (run, sent, event) VALUES (:run, :sent, :event)")
_FORGET = sa.text("DELETE FROM rightcall_live WHERE sent < :before")
_WATCHING = sa.text(
    "INSERT INTO rightcall_watchers (run, until) VALUES (:run, :until) "
    "ON CONFLICT (run) DO UPDATE SET until = excluded.until"
)
_WATCHED = sa.text("SELECT run FROM rightcall_watchers WHERE until > :now")
_LAST = sa.text("SELECT coalesce(max(id), 0) FROM rightcall_live")
_NEXT = sa.text("SELECT id, event FROM rightcall_live WHERE run = :run AND id > :after ORDER BY id")


class SqlChannel:
    """Carries live events through tables, from the process that executes a run to its watchers.

    Nothing is written that nobody reads: a watcher adds its run to a table, and for a run that is not in
    it no events are sent. On SQLite the tables are in a file of their own, which is never synced, so
    that events do not slow the journal down; on Postgres they are unlogged. Rows live for some seconds.
    """

    def __init__(self, database: Database) -> None:
        path = database.path
        self._is_own = path is not None
        self._engine = database.engine if path is None else _beside(path)
        self._watched: frozenset[str] = frozenset()
        self._asked = 0.0
        self._swept = 0.0

    def create(self) -> None:
        """Create the tables if they do not exist."""
        kind = ""
        serial = "integer PRIMARY KEY AUTOINCREMENT"
        if not self._is_own:
            kind = "UNLOGGED"
            serial = "bigserial PRIMARY KEY"
        with self._engine.begin() as connection:
            if not self._is_own:
                # Two processes that create the same table at once would conflict.
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(hashtext('rightcall_live'))"))
            for table in _TABLES:
                connection.execute(sa.text(f"CREATE {kind} {table.format(serial=serial)}"))
            connection.execute(_INDEX)

    def close(self) -> None:
        """Close the connections if they are this channel's own."""
        if self._is_own:
            self._engine.dispose()

    async def publish(self, run: str, texts: Sequence[str]) -> None:
        """Write events for the run's watchers, if there are any."""
        if monotonic() - self._asked > _ASK:
            self._asked = monotonic()
            self._watched = await in_thread(self._who_is_watched)
        if run in self._watched:
            await in_thread(self._publish, run, texts)

    async def follow(self, run: str) -> AsyncIterator[Sequence[str]]:
        """The events that are written from now on."""
        last = await when_it_is_there(partial(self._begin, run))
        said = monotonic()
        while True:
            if monotonic() - said > _WATCH / 2:
                said = monotonic()
                await when_it_is_there(partial(self._say, run))
            rows = await when_it_is_there(partial(self._after, run, last))
            texts = []
            for number, text in rows:
                last = number
                texts.append(text)
            yield texts
            await asyncio.sleep(POLL)

    def _begin(self, run: str) -> int:
        self._say(run)
        with self._engine.connect() as connection:
            return int(connection.execute(_LAST).scalar() or 0)

    def _say(self, run: str) -> None:
        with self._engine.begin() as connection:
            connection.execute(_WATCHING, {"run": run, "until": time() + _WATCH})

    def _who_is_watched(self) -> frozenset[str]:
        with self._engine.connect() as connection:
            return frozenset(connection.execute(_WATCHED, {"now": time()}).scalars())

    def _publish(self, run: str, texts: Sequence[str]) -> None:
        now = time()
        with self._engine.begin() as connection:
            connection.execute(_SEND, [{"run": run, "sent": now, "event": text} for text in texts])
            if now - self._swept > _LIFE / 2:
                self._swept = now
                connection.execute(_FORGET, {"before": now - _LIFE})

    def _after(self, run: str, last: int) -> list[tuple[int, str]]:
        with self._engine.connect() as connection:
            rows = connection.execute(_NEXT, {"run": run, "after": last}).all()
        return [(int(number), str(text)) for number, text in rows]


def _beside(path: Path) -> sa.Engine:
    """The engine for the file of live events beside a database."""
    live = path.with_name(f"{path.name}.live")
    live.touch(mode=0o600)
    engine = sa.create_engine(f"sqlite:///{live}", connect_args={"timeout": 5})

    @event.listens_for(engine, "connect")
    def prepare(connection: sa.engine.interfaces.DBAPIConnection, _: object) -> None:
        # Events that are lost in a crash of the machine are no longer needed.
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=OFF")
        cursor.close()

    return engine
