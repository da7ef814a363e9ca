"""Entries into the rows of an SQLite database: a journal for many runs, found again quickly."""

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, Self

from rightcall.core.entry import Entry
from rightcall.errors import JournalError, RunHeld, UsageError
from rightcall.record.entry_text import Redact, check_name, decode, encode
from rightcall.record.hold import RunLock, myself
from rightcall.record.redact import redact_secrets

_PATIENCE = 30.0
"""Seconds to wait for another process that writes."""
_TABLE = """
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY,
    run TEXT NOT NULL,
    at REAL NOT NULL,
    entry TEXT NOT NULL
)
"""
_HOLDS = "CREATE TABLE IF NOT EXISTS holds (run TEXT PRIMARY KEY, number INTEGER, holder TEXT)"
_TAKE = """
INSERT INTO holds (run, number, holder) VALUES (?, 1, ?)
ON CONFLICT (run) DO UPDATE SET number = number + 1, holder = excluded.holder RETURNING number
"""
_APPEND_HELD = """
INSERT INTO entries (run, at, entry) SELECT ?, ?, ?
WHERE (SELECT number FROM holds WHERE run = ?) = ? RETURNING id
"""
# The number is looked at in the transaction that writes: a holder that comes back late writes nothing.
_INDEX = "CREATE INDEX IF NOT EXISTS entries_by_run ON entries (run, id)"


class SqliteJournal:
    """A database of many runs. Threads may share it, and processes may write to the same file.

    ``sync`` waits for the disk at every entry, so that not even a power cut loses one.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        redact: Redact | None = redact_secrets,
        sync: bool = False,
    ) -> None:
        self.path = Path(path)
        self._redact = redact
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None
        with self._disk_errors():
            # Made here and not by SQLite, so that nobody else may read it.
            self.path.touch(mode=0o600)
            self._connection = sqlite3.connect(
                self.path.absolute(), timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
            try:
                _prepare(self._connection, sync=sync)
            except sqlite3.Error:
                self._connection.close()
                raise

    def append(self, run: str, entry: Entry, /) -> None:
        """Write one entry at the end of a run's record."""
        text = encode(entry, self._redact, str(self.path)).decode()
        self._execute(
            "INSERT INTO entries (run, at, entry) VALUES (?, ?, ?)", (check_name(run), time.time(), text)
        )

    def entries(self, run: str, /) -> Sequence[Entry]:
        """Everything recorded of a run up to now, in order; nothing for a run that is not known."""
        rows = self._execute(
            "SELECT id, entry FROM entries WHERE run = ? ORDER BY id", (check_name(run),)
        )
        return tuple([decode(text.encode(), f"{self.path}, entry {number}") for number, text in rows])

    def runs(self) -> Sequence[str]:
        """The runs that are recorded, oldest first."""
        rows = self._execute("SELECT run FROM entries GROUP BY run ORDER BY min(id)")
        return tuple([run for (run,) in rows])

    def hold(self, run: str, /) -> "SqliteHold":
        """Hold a run; RunHeld, with who it is, where another process or task does."""
        check_name(run)
        with self._disk_errors():
            lock = RunLock(self.path, run)
        try:
            ((number,),) = self._execute(_TAKE, (run, myself()))
        except BaseException:
            lock.release()
            raise
        return SqliteHold(self, run, lock, number)

    def append_held(self, run: str, entry: Entry, number: int) -> None:
        """Write one entry, if the run is still held under that number."""
        text = encode(entry, self._redact, str(self.path)).decode()
        if not self._execute(_APPEND_HELD, (run, time.time(), text, run, number)):
            ((holder,),) = self._execute("SELECT holder FROM holds WHERE run = ?", (run,))
            raise RunHeld(run, holder)

    def close(self) -> None:
        """Let go of the file. Closing twice is fine."""
        with self._lock, self._disk_errors():
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _execute(self, statement: str, values: tuple[object, ...] = ()) -> list[Any]:
        with self._lock, self._disk_errors():
            if self._connection is None:
                raise UsageError(f"the journal {self.path} is closed")
            return self._connection.execute(statement, values).fetchall()

    @contextmanager
    def _disk_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise JournalError(str(self.path), str(error)) from error
        except OSError as error:
            raise JournalError(str(self.path), error.strerror or str(error)) from error


class SqliteHold:
    """A run of a database, held by a lock, and by a number that every entry must carry."""

    def __init__(self, journal: SqliteJournal, run: str, lock: RunLock, number: int) -> None:
        self._journal = journal
        self._run = run
        self._lock = lock
        self._number = number

    def append(self, entry: Entry, /) -> None:
        """Write one entry at the end of the run's record; RunHeld if the number is stale."""
        self._journal.append_held(self._run, entry, self._number)

    def release(self) -> None:
        """Let others hold the run."""
        self._lock.release()


def _prepare(connection: sqlite3.Connection, *, sync: bool) -> None:
    """Set the connection up, and the database if it is new."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {'FULL' if sync else 'NORMAL'}")
            connection.execute(_TABLE)
            connection.execute(_HOLDS)
            connection.execute(_INDEX)
        except sqlite3.OperationalError as error:
            # Processes that turn a new file to WAL at once can each hold what the other needs. SQLite
            # then says so without waiting, whatever the timeout.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return
