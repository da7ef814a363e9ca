"""Where conversations are stored: an SQLite file, memory, or a Postgres server, behind one interface.

Statements are written once, in the SQL that both databases read, with a question mark for each value.
They run in threads, so that waiting for a disk, a writer or a server does not block the event loop.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, Protocol, TypeAlias, TypeVar

from rightcall.core.optional_libraries import require
from rightcall.errors import JournalError, RunHeld, UsageError
from rightcall.record.run_lock import RunLock, folder_of, remove_folder
from rightcall.record.waits import off_loop

T = TypeVar("T")
Query: TypeAlias = Callable[..., list[tuple[Any, ...]]]
"""Executes a statement with its values, and returns the rows."""

_PATIENCE = 30.0
"""Seconds that a writer waits for another."""
_IDLE = 8
"""Connections to a server that are kept open."""
_LOCKING = 72_670_817
"""The first number of our advisory locks in Postgres, so that they are not another program's."""

_TABLES = (
    """
    CREATE TABLE IF NOT EXISTS rightcall_conversations (
        number {serial}, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL, created {real} NOT NULL,
        updated {real} NOT NULL, length INTEGER NOT NULL, version INTEGER NOT NULL
    )
    """,
    "CREATE INDEX IF NOT EXISTS rightcall_conversations_updated ON rightcall_conversations (updated)",
    """
    CREATE TABLE IF NOT EXISTS rightcall_messages (
        conversation BIGINT NOT NULL, place INTEGER NOT NULL, run TEXT NOT NULL, at {real} NOT NULL,
        message TEXT NOT NULL, PRIMARY KEY (conversation, place)
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS rightcall_conversation_runs (
        run TEXT PRIMARY KEY, conversation BIGINT NOT NULL, status TEXT NOT NULL, keeper TEXT NOT NULL,
        stop TEXT NOT NULL, begun {real} NOT NULL, ended {real} NOT NULL, start INTEGER NOT NULL,
        count INTEGER NOT NULL, prompt TEXT NOT NULL, result TEXT NOT NULL
    )
    """,
    """
    CREATE INDEX IF NOT EXISTS rightcall_conversation_runs_of
    ON rightcall_conversation_runs (conversation, begun)
    """,
)


class ConversationDatabase(Protocol):
    """A database of conversations."""

    async def change(self, work: Callable[[Query], T], /) -> T:
        """Run the work as one transaction that writes."""

    async def look(self, work: Callable[[Query], T], /) -> T:
        """Run the work as one transaction that reads."""

    def try_lock(self, conversation: str, /) -> Callable[[], None] | None:
        """Lock a conversation; returns what unlocks it, or None if somebody has it locked.

        A lock ends with its process. May block: call it in a thread.
        """

    def close(self) -> None:
        """Close every connection."""


def database_at(address: str) -> ConversationDatabase:
    """The database of an address: a path, ``postgresql://…``, or nothing for memory."""
    if address.startswith(("postgresql://", "postgres://")):
        return ConversationServer(address)
    scheme, sign, rest = address.partition("://")
    if not sign:
        return ConversationFile(address)
    if scheme != "sqlite":
        raise UsageError(
            f"{address!r} is no place for conversations; say a path, sqlite:///chat.db or postgresql://…"
        )
    return ConversationFile(rest.removeprefix("/"))


class ConversationFile:
    """Conversations in an SQLite file, which processes may share; in memory if the path is empty."""

    def __init__(self, path: str) -> None:
        self._path = Path(path).expanduser().absolute() if path else None
        self._alone = Lock()
        self._held: set[str] = set()
        """The conversations that are locked, in memory."""
        with self._errors():
            if self._path is not None:
                # Created here and not by SQLite, so that nobody else may read it.
                self._path.touch(mode=0o600)
            self._connection: sqlite3.Connection | None = sqlite3.connect(
                self._path or ":memory:",
                timeout=_PATIENCE,
                isolation_level=None,
                check_same_thread=False,
            )
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            for statement in _TABLES:
                self._connection.execute(statement.format(serial="INTEGER PRIMARY KEY", real="REAL"))

    async def change(self, work: Callable[[Query], T]) -> T:
        """Run the work as one transaction that writes."""
        return await off_loop(lambda: self._transact("BEGIN IMMEDIATE", work), "conversations")

    async def look(self, work: Callable[[Query], T]) -> T:
        """Run the work as one transaction that reads."""
        return await off_loop(lambda: self._transact("BEGIN", work), "conversations")

    def try_lock(self, conversation: str) -> Callable[[], None] | None:
        """Lock a conversation by a file beside the database, as journals lock runs."""
        if self._path is None:
            with self._alone:
                if conversation in self._held:
                    return None
                self._held.add(conversation)
            return lambda: self._held.discard(conversation)
        try:
            with self._errors():
                return RunLock(self._path, f"conversation {conversation}").release
        except RunHeld:
            return None

    def close(self) -> None:
        """Close the file. Closing twice is fine."""
        with self._alone, self._errors():
            if self._connection is not None:
                self._connection.close()
                self._connection = None
        if self._path is not None:
            remove_folder(folder_of(self._path))

    def _transact(self, begin: str, work: Callable[[Query], T]) -> T:
        with self._alone, self._errors():
            connection = self._connection
            if connection is None:
                raise UsageError("these conversations are closed")

            def query(statement: str, *values: object) -> list[tuple[Any, ...]]:
                return connection.execute(statement, values).fetchall()

            connection.execute(begin)
            try:
                done = work(query)
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
            return done

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise JournalError(str(self._path or "memory"), str(error)) from error
        except OSError as error:
            raise JournalError(str(self._path), error.strerror or str(error)) from error


class ConversationServer:
    """Conversations on a Postgres server, which processes on many machines may share."""

    def __init__(self, address: str) -> None:
        require("psycopg")
        self._psycopg: Any = import_module("psycopg")
        self._address = address
        self._alone = Lock()
        self._idle: list[Any] = []
        self._is_closed = False
        self._is_made = False
        self._locking: Any = None
        """The connection whose session has the locks: they end with it, and so with this process."""
        self._held: set[str] = set()

    async def change(self, work: Callable[[Query], T]) -> T:
        """Run the work as one transaction that writes."""
        return await off_loop(lambda: self._transact(work), "conversations")

    async def look(self, work: Callable[[Query], T]) -> T:
        """Run the work as one transaction that reads."""
        return await off_loop(lambda: self._transact(work), "conversations")

    def try_lock(self, conversation: str) -> Callable[[], None] | None:
        """Lock a conversation by an advisory lock of one session for all of this process."""
        with self._alone, self._errors():
            # A session is given its own lock twice, so that this process must know what it has.
            if conversation in self._held:
                return None
            if self._locking is None or self._locking.closed:
                self._held.clear()
                self._locking = self._connect(autocommit=True)
            if not self._ask_lock("pg_try_advisory_lock", conversation):
                return None
            self._held.add(conversation)
        return lambda: self._unlock(conversation)

    def close(self) -> None:
        """Close every connection. Closing twice is fine."""
        with self._alone:
            self._is_closed = True
            for connection in (*self._idle, self._locking):
                if connection is not None:
                    connection.close()
            self._idle.clear()
            self._locking = None
            self._held.clear()

    def _unlock(self, conversation: str) -> None:
        with self._alone, self._errors():
            if conversation in self._held:
                self._held.discard(conversation)
                self._ask_lock("pg_advisory_unlock", conversation)

    def _ask_lock(self, function: str, conversation: str) -> bool:
        statement = f"SELECT {function}(%s, hashtext(%s))"
        return bool(self._locking.execute(statement, (_LOCKING, conversation)).fetchone()[0])

    def _transact(self, work: Callable[[Query], T]) -> T:
        with self._errors():
            connection = self._take()

            def query(statement: str, *values: object) -> list[tuple[Any, ...]]:
                cursor = connection.execute(statement.replace("?", "%s"), values)
                return [] if cursor.description is None else cursor.fetchall()

            try:
                done = work(query)
                connection.commit()
            except BaseException:
                # Closing it takes back what it did.
                connection.close()
                raise
            self._give_back(connection)
            return done

    def _take(self) -> Any:
        with self._alone:
            if self._is_closed:
                raise UsageError("these conversations are closed")
            while self._idle:
                connection = self._idle.pop()
                if not connection.closed and _answers(connection, self._psycopg):
                    return connection
            is_made = self._is_made
        connection = self._connect()
        if not is_made:
            # Two processes that create the same table at once would conflict.
            connection.execute("SELECT pg_advisory_xact_lock(%s, 0)", (_LOCKING,))
            for statement in _TABLES:
                connection.execute(statement.format(serial="BIGSERIAL PRIMARY KEY", real="FLOAT8"))
            connection.commit()
            self._is_made = True
        return connection

    def _give_back(self, connection: Any) -> None:
        with self._alone:
            if len(self._idle) < _IDLE and not self._is_closed:
                self._idle.append(connection)
                return
        connection.close()

    def _connect(self, *, autocommit: bool = False) -> Any:
        return self._psycopg.connect(
            self._address, autocommit=autocommit, application_name="rightcall", connect_timeout=10
        )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except self._psycopg.Error as error:
            where = self._address.partition("?")[0].rpartition("@")[2]
            raise JournalError(f"conversations at {where}", str(error)) from error


def _answers(connection: Any, psycopg: Any) -> bool:
    """Whether the server still has this connection, which it may have closed meanwhile."""
    try:
        connection.execute("SELECT 1")
        connection.rollback()
    except psycopg.Error:
        connection.close()
        return False
    return True
