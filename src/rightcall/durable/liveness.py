"""Which processes live: each holds a lock under its own name for as long as it does.

A lock is released with its process, however that ends: with SQLite processes lock files, with Postgres
they hold an advisory lock of their session. So whoever gets the lock of another process knows that it is
dead. This module only detects that; the engine decides what happens to a dead process's runs.
"""

import os
import platform
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TypeAlias
from uuid import uuid4

import psycopg

from rightcall.durable.database import Database
from rightcall.log import logger
from rightcall.platforms import posix_only

if sys.platform != "win32":
    import fcntl

_KEEPALIVES = "-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3"
"""For the connection that holds the lock: the server notices within some ten seconds that a machine is
gone, where the default is hours."""
GRACE = 10.0
"""Seconds after a lost connection in which no process is declared dead: all locks were lost with the
server, and live processes need time to take theirs again."""


def liveness_of(database: Database) -> "Liveness":
    """The kind of locks that a database needs."""
    name = f"{platform.node()}-{os.getpid()}-{uuid4().hex[:12]}"
    if database.path is None:
        return SessionLocks(name, database.lock_url)
    return FileLocks(name, database.path.with_name(f"{database.path.name}.workers"))


class FileLocks:
    """Locks on files in a folder beside the database."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self._folder = folder
        self._held: int | None = None
        self._turn = Lock()
        self._is_released = False

    def hold(self) -> None:
        """Create and lock this process's file."""
        with self._turn:
            if self._held is not None or self._is_released:
                return
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._held = os.open(self._path(self.name), os.O_CREAT | os.O_RDWR, 0o600)
            _lock(self._held)

    def dead(self, names: Iterable[str]) -> Iterator[str]:
        """Processes whose file is not locked, or does not exist."""
        for name in names:
            with _if_free(self._path(name)) as is_free:
                if is_free:
                    yield name
                    self._path(name).unlink(missing_ok=True)

    def release(self) -> None:
        """Unlock the file, and delete it."""
        with self._turn:
            self._is_released = True
            if self._held is not None:
                self._path(self.name).unlink(missing_ok=True)
                os.close(self._held)
                self._held = None

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.lock"


@contextmanager
def _if_free(path: Path) -> Iterator[bool]:
    """Whether a file is not locked; within this scope, we hold its lock."""
    try:
        file = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        # Released, or never taken.
        yield True
        return
    try:
        with suppress(BlockingIOError):
            _lock(file)
            yield True
            return
        yield False
    finally:
        os.close(file)


def _lock(file: int) -> None:
    if sys.platform != "win32":
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    raise posix_only("a durable store in SQLite")


class SessionLocks:
    """Advisory locks of a session with Postgres."""

    def __init__(self, name: str, address: str) -> None:
        self.name = name
        self._address = address
        self._session: psycopg.Connection | None = None
        self._was_lost = False
        self._judges_from = 0.0
        self._turn = Lock()
        self._is_released = False

    def hold(self) -> None:
        """Connect and take this process's lock; again, if the session was lost."""
        with self._turn:
            if not self._is_released and not self._is_held():
                session = psycopg.connect(
                    self._address,
                    autocommit=True,
                    options=_KEEPALIVES,
                    application_name="rightcall alive",
                    connect_timeout=5,
                )
                try:
                    session.execute(
                        "SELECT pg_advisory_lock(hashtextextended(%s, 0))", [_key(self.name)]
                    )
                except psycopg.Error:
                    session.close()
                    raise
                self._session = session
                if self._was_lost:
                    self._was_lost = False
                    self._judges_from = monotonic() + GRACE

    def _is_held(self) -> bool:
        if self._session is None:
            return False
        try:
            self._session.execute("SELECT 1")
        except psycopg.OperationalError:
            logger.warning("the session that shows that this worker lives was lost; taking another")
            self._end_session()
            self._was_lost = True
            return False
        return True

    def dead(self, names: Iterable[str]) -> Iterator[str]:
        """Processes whose lock can be taken."""
        if self._session is None or monotonic() < self._judges_from:
            return
        for name in names:
            taken = self._ask("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", name)
            if taken:
                try:
                    yield name
                finally:
                    self._ask("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", name)

    def release(self) -> None:
        """End the session, and with it the lock."""
        with self._turn:
            self._is_released = True
            self._end_session()

    def _end_session(self) -> None:
        if self._session is not None:
            with suppress(psycopg.Error):
                self._session.close()
        self._session = None

    def _ask(self, query: str, name: str) -> bool:
        assert self._session is not None
        row = self._session.execute(query, [_key(name)]).fetchone()
        return bool(row and row[0])


def _key(name: str) -> str:
    return f"rightcall worker {name}"


Liveness: TypeAlias = FileLocks | SessionLocks
"""Holds this process's lock, and finds processes that have lost theirs.

For one thread at a time; ``release`` may be called while another thread still checks. While ``dead``
yields a process, no other process finds it dead."""
