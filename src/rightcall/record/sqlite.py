"""Stores entries as rows of an SQLite database: a journal for many runs, with fast lookup."""

import os
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeAlias, TypeVar

from rightcall.core.entry import Entry, RunStarted
from rightcall.core.options import check_keywords
from rightcall.errors import JournalError, RunHeld, UsageError
from rightcall.record.entry_text import DIGITS, STARTED, Redact, check_name, decode, restore_history
from rightcall.record.file_journal import MUCH, FileHold, FileJournal
from rightcall.record.redact import redact_secrets
from rightcall.record.run_lock import RunLock, folder_of, myself, remove_folder
from rightcall.record.waits import Busy, Waiting, retry_while_busy, run_blocking

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
INSERT INTO holds (run, number, holder) VALUES (:run, 1, :holder)
ON CONFLICT (run) DO UPDATE SET number = number + 1, holder = excluded.holder RETURNING number
"""
_OF_RUN = "SELECT id, CAST(entry AS BLOB) FROM entries WHERE run = ? ORDER BY id"
"""With entries as bytes: of damaged text, SQLite's module would not say which row it is."""
# By position: values by name take a tenth of the time of an insert.
_APPEND = "INSERT INTO entries (run, at, entry) SELECT ?, ?, ?"
# Checked in the transaction that writes: a holder that lost its hold writes nothing, and no reference is
# written to a run that was just deleted.
_IS_HELD = "(SELECT number FROM holds WHERE run = ?) = ?"
_IS_THERE = "EXISTS (SELECT 1 FROM entries WHERE run = ?)"
_APPENDS = {
    (False, False): _APPEND,
    (True, False): f"{_APPEND} WHERE {_IS_HELD}",
    (False, True): f"{_APPEND} WHERE {_IS_THERE}",
    (True, True): f"{_APPEND} WHERE {_IS_HELD} AND {_IS_THERE}",
}
"""By whether the run is held, and whether the entry refers to another run."""
_USED = """
SELECT (page_count - freelist_count) * page_size
FROM pragma_page_count, pragma_freelist_count, pragma_page_size
"""
_INDEX = "CREATE INDEX IF NOT EXISTS entries_by_run ON entries (run, id)"
_DIGEST = f"substr(entry, {len(STARTED) + 1}, {DIGITS})"
_HAS_DIGEST = f"substr(entry, 1, {len(STARTED)}) = '{STARTED.decode()}'"
_STARTS = f"CREATE INDEX IF NOT EXISTS starts ON entries ({_DIGEST}) WHERE {_HAS_DIGEST}"
_STARTED_WITH = f"SELECT run FROM entries WHERE {_HAS_DIGEST} AND {_DIGEST} = ? ORDER BY id DESC LIMIT 1"  # noqa: S608
_PAGES = 1000
"""Pages in the write-ahead log, by our own count, after which a checkpoint is made."""
_PAGE = 4096
T = TypeVar("T")
Values: TypeAlias = tuple[object, ...] | Mapping[str, object]
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class SqliteJournal(FileJournal):
    """A database of many runs. Threads may share it, and processes may write to the same file.

    ``sync`` waits for the disk at every entry, so that not even a power cut loses one.
    """

    @check_keywords("rc.record.SqliteJournal")
    def __init__(
        self, path: str | os.PathLike[str], *, redact: Redact | None = redact_secrets, sync: bool = False
    ) -> None:
        super().__init__(path, redact, sync=sync)
        self._connection: sqlite3.Connection | None = None
        self._pages = 0
        with self._disk_errors():
            # Created here and not by SQLite, so that nobody else may read it.
            self.path.touch(mode=0o600)
            # SQLite itself must not wait for locks: that would block the event loop, with no deadline.
            self._connection = sqlite3.connect(
                self.path.absolute(), timeout=0, isolation_level=None, check_same_thread=False
            )
        try:
            run_blocking(retry_while_busy(partial(self._prepare, self._connection), self.path))
        except JournalError:
            self._connection.close()
            raise

    def appending(self, run: str, entry: Entry, /) -> Waiting[None]:
        """Write one entry at the end of a run's record."""
        yield from self._appending(check_name(run), entry, None)

    def reading(self, run: str, /) -> Waiting[Sequence[Entry]]:
        """Returns all entries of a run so far, in order; none for an unknown run."""
        look = partial(self._execute, "SELECT 1 FROM entries WHERE run = ? LIMIT 1", (check_name(run),))
        if not (yield from retry_while_busy(look, self.path)):
            return ()
        return (yield from retry_while_busy(partial(self._read, run), self.path, slow=True))

    def runs(self) -> Sequence[str]:
        """The runs that are recorded, oldest first."""
        listing = partial(self._execute, "SELECT run FROM entries GROUP BY run ORDER BY min(id)")
        return tuple([run for (run,) in run_blocking(retry_while_busy(listing, self.path))])

    def written(self, run: str, /) -> Sequence[float]:
        """Returns when each entry of a run was written, in seconds since 1970."""
        rows = self._now("SELECT at FROM entries WHERE run = ? ORDER BY id", (check_name(run),))
        return tuple([at for (at,) in rows])

    def _now(self, query: str, parameters: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        return run_blocking(retry_while_busy(partial(self._execute, query, parameters), self.path))

    @check_keywords("SqliteJournal.trim")
    def trim(self, *, runs: int, size: int) -> None:
        """Delete the oldest runs if there are more than ``runs``, or more than ``size`` bytes.

        A quarter more than necessary is deleted, so that it is not done every time. The last run stays,
        and so do runs that a remaining run's history refers to.
        """
        ((pages,),) = self._now(_USED)
        ((count,),) = self._now("SELECT count(DISTINCT run) FROM entries")
        if count <= runs and pages <= size:
            return
        left = runs * 3 // 4
        bytes_left = size * 3 // 4
        rows = self._now(
            "SELECT run, sum(length(entry)) FROM entries GROUP BY run ORDER BY max(id) DESC"
        )
        oldest: list[str] = []
        needed: set[str] = set()
        for number, (run, length) in enumerate(rows):
            bytes_left -= length
            if number and (number >= left or bytes_left < 0):
                oldest.append(run)
                continue
            start = self._start_of(run)
            while start is not None and start.after is not None:
                needed.add(start.after.run)
                start = self._start_of(start.after.run)
        for run in oldest:
            if run not in needed:
                self._now("DELETE FROM entries WHERE run = ?", (run,))

    def holding(self, run: str, /) -> Waiting["SqliteHold"]:
        """Hold a run; raises RunHeld, with the holder, if another process or task holds it."""
        check_name(run)
        with self._disk_errors():
            lock = RunLock(self.path, run)
        try:
            taking = partial(self._execute, _TAKE, {"run": run, "holder": myself()})
            ((number,),) = yield from self._write(taking, 0)
        except BaseException:
            lock.release()
            raise
        return SqliteHold(self, run, lock, number)

    def appending_held(self, run: str, entry: Entry, number: int) -> Waiting[None]:
        """Write one entry, if the run is still held under that number."""
        if not (yield from self._appending(run, entry, number)):
            holding = partial(self._execute, "SELECT holder FROM holds WHERE run = ?", (run,))
            ((holder,),) = yield from retry_while_busy(holding, self.path)
            raise RunHeld(run, holder)

    def _appending(self, run: str, entry: Entry, number: int | None) -> Waiting[bool]:
        for is_whole in (False, True):
            written = yield from self._encoding(entry, is_whole=is_whole)
            after = written.after
            text = written.text.decode()
            values: tuple[object, ...] = (run, time.time(), text)
            if number is not None:
                values += (run, number)
            if after is not None:
                values += (after,)
            statement = _APPENDS[number is not None, after is not None]
            if (yield from self._write(partial(self._insert, statement, values), len(text))):
                return True
            if after is None:
                break
        return False

    def close(self) -> None:
        """Close the file. Closing twice is fine."""
        with self._lock, self._disk_errors():
            if self._connection is not None:
                self._connection.close()
                self._connection = None
        remove_folder(folder_of(self.path))

    def _write(self, attempt: Callable[[], T], size: int) -> Waiting[T]:
        """Try to write so many characters until no other writer has the lock."""
        slow = self._sync or size > MUCH
        try:
            # Nearly always the first try succeeds.
            written = (yield attempt) if slow else attempt()
        except Busy:
            written = yield from retry_while_busy(attempt, self.path, slow=slow)
        # The row, its index and the hold's number are each in a page of their own.
        self._pages += 3 + size // _PAGE
        if self._pages >= _PAGES:
            self._pages = 0
            yield self._checkpoint
        return written

    def _checkpoint(self) -> None:
        """Make a checkpoint: copy the log into the database, which waits for the disk."""
        # The entry is written already: what prevents the checkpoint now comes up again a thousand pages
        # later. SQLite's own automatic checkpoint ignores such errors too.
        with suppress(Busy, JournalError, UsageError):
            self._execute("PRAGMA wal_checkpoint(PASSIVE)")

    def _read(self, run: str) -> Sequence[Entry]:
        rows = self._execute(_OF_RUN, (run,))
        entries = [decode(text, f"{self.path}, entry {number}") for number, text in rows]
        return tuple(restore_history(entries, self._start_of, f"{self.path}, run {run!r}"))

    def _start_of(self, run: str) -> RunStarted | None:
        for number, text in self._execute(f"{_OF_RUN} LIMIT 1", (run,)):
            entry = decode(text, f"{self.path}, entry {number}")
            if isinstance(entry, RunStarted):
                return entry
            return None
        return None

    def _started_with(self, digests: Collection[str]) -> tuple[str, str] | None:
        for each in digests:
            for (run,) in self._execute(_STARTED_WITH, (each,)):
                return run, each
        return None

    def _execute(self, statement: str, values: Values = ()) -> list[Any]:
        with self._alone(), self._disk_errors():
            return self._open_connection().execute(statement, values).fetchall()

    def _insert(self, statement: str, values: Values) -> bool:
        """Write a row, if the statement's conditions hold."""
        # Runs for every entry: without context managers it takes half the time.
        if not self._lock.acquire(blocking=False):
            raise Busy
        try:
            return self._open_connection().execute(statement, values).rowcount > 0
        except sqlite3.Error as error:
            raise self._translate_error(error) from error
        finally:
            self._lock.release()

    def _open_connection(self) -> sqlite3.Connection:
        if self._connection is None:
            raise UsageError(f"the journal {self.path} is closed")
        return self._connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Set up the connection, and the database if it is new.

        Processes that switch a new file to WAL at the same time can each hold a lock that the other
        needs.
        """
        with self._disk_errors():
            connection.execute("PRAGMA journal_mode = WAL")
            # Left to itself, SQLite would wait for the disk at the end of some write, on any thread.
            connection.execute("PRAGMA wal_autocheckpoint = 0")
            connection.execute(f"PRAGMA synchronous = {'FULL' if self._sync else 'NORMAL'}")
            connection.execute(_TABLE)
            connection.execute(_HOLDS)
            connection.execute(_INDEX)
            connection.execute(_STARTS)

    @contextmanager
    def _disk_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._translate_error(error) from error
        except OSError as error:
            raise JournalError(str(self.path), error.strerror or str(error)) from error

    def _translate_error(self, error: sqlite3.Error) -> Exception:
        """Returns SQLite's error as one of ours."""
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _BUSY:
            return Busy()
        return JournalError(str(self.path), str(error))


class SqliteHold(FileHold):
    """A run of a database, held by a lock, and by a number that every write checks."""

    def __init__(self, journal: SqliteJournal, run: str, lock: RunLock, number: int) -> None:
        super().__init__(journal, run, lock)
        self._database = journal
        self._number = number

    def appending(self, entry: Entry, /) -> Waiting[None]:
        """Write one entry at the end of the run's record; RunHeld if the number is stale."""
        return self._database.appending_held(self._run, entry, self._number)
