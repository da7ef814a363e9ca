"""An address into connections to the database in which an engine stores its runs.

SQLite is opened as a store of record: a write-ahead log that is synced at every commit, writers that
wait for each other, and a file that only its owner can read.
"""

import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from time import monotonic, time
from typing import Any

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy import event

from rightcall.durable.engines import without_secrets
from rightcall.errors import JournalError, UsageError
from rightcall.platforms import posix_only

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
    return _sqlite(url) if url.get_backend_name() == "sqlite" else _postgres(url)


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
    engine = _read_only(_path(url)) if is_file else _postgres(url).engine
    try:
        with told(address):
            return sa.inspect(engine).has_table("workflow_status", schema=None if is_file else SCHEMA)
    finally:
        engine.dispose()


def _read_only(path: Path) -> sa.Engine:
    """An engine that reads a file without changing it: it may be anybody's."""
    uri = f"{path.as_uri()}?mode=ro"
    return sa.create_engine("sqlite://", creator=lambda: sqlite3.connect(uri, uri=True))


@contextmanager
def told(address: str) -> Iterator[None]:
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
    import fcntl  # noqa: PLC0415 - not on every system

    lock = os.open(database.path.with_name(f"{database.path.name}.lock"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
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
