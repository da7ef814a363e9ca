"""Long values under the hash of their bytes, in tables beside an engine's own.

An engine reads its rows to list runs and sends them to the process that recovers one, and some limit
them to a few megabytes. So a long value is stored here before the step that refers to it is recorded: a
reference that can be read always has its value.

A value is stored once for all runs that put it, and is deleted with the last of them. A value that a
killed process stored and never referred to is deleted with its run, too.
"""

from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

from rightcall.core.extras import load
from rightcall.durable.patience import when_it_is_there
from rightcall.errors import JournalError

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

_HASH = "sha256:"
_MOST_AT_ONCE = 500
"""Runs whose values are deleted in one transaction: SQLite limits the number of parameters."""


def reference_to(data: bytes) -> str:
    """The reference of these bytes."""
    return _HASH + sha256(data).hexdigest()


def checked_bytes(reference: str, data: bytes | None) -> bytes:
    """The bytes found under a reference. Raises JournalError if they do not match it."""
    if data is None:
        raise JournalError(
            f"the blob {reference}",
            "is gone: it was deleted by hand, or the database is older than the steps that refer to it",
        )
    if reference_to(data) != reference:
        raise JournalError(f"the blob {reference}", "does not hold what was put there")
    return data


class SqlBlobs:
    """Long values in two tables, of SQLite or of Postgres: the bytes, and the runs that own them."""

    def __init__(self, engine: "Engine", prefix: str = "rightcall") -> None:
        self._engine = engine
        self._sql = load("sqlalchemy").text
        self._on_postgres = engine.dialect.name == "postgresql"
        self._blobs = f"{prefix}_blobs"
        self._owners = f"{prefix}_blob_runs"

    def create(self) -> None:
        """Create the tables if they do not exist; any number of processes may do so at once."""
        data = "bytea" if self._on_postgres else "blob"
        with self._engine.begin() as connection:
            if self._on_postgres:
                # Two processes that create the same table at once would conflict.
                lock = self._sql("select pg_advisory_xact_lock(hashtext(:name))")
                connection.execute(lock, {"name": self._blobs})
            tables = (
                (self._blobs, f"ref text primary key, data {data} not null"),
                (self._owners, "run text not null, ref text not null, primary key (run, ref)"),
            )
            for name, columns in tables:
                connection.execute(self._sql(f"create table if not exists {name} ({columns})"))
            index = f"create index if not exists {self._owners}_ref on {self._owners} (ref)"
            connection.execute(self._sql(index))

    async def put(self, run: str, data: bytes) -> str:
        """Store bytes for a run. They are durable when this returns."""
        return await when_it_is_there(partial(self._put, run, data))

    async def get(self, reference: str) -> bytes:
        """The bytes of that reference, checked."""
        return await when_it_is_there(partial(self._get, reference))

    async def share(self, run: str, other: str) -> None:
        """Make another run an owner of all values of a run: its fork refers to them."""
        await when_it_is_there(partial(self._share, run, other))

    async def drop(self, runs: Sequence[str]) -> int:
        """Delete what only these runs own; returns how many values were deleted."""
        return await when_it_is_there(partial(self._drop, list(runs)))

    def _put(self, run: str, data: bytes) -> str:
        reference = reference_to(data)
        with self._engine.begin() as connection:
            # An update that changes nothing, instead of "do nothing": it locks the row. So a transaction
            # that deletes the value for its last run sees this owner, or this one sees it deleted.
            connection.execute(
                self._sql(
                    f"insert into {self._blobs} (ref, data) values (:ref, :data)"  # noqa: S608
                    " on conflict (ref) do update set ref = excluded.ref"
                ),
                {"ref": reference, "data": data},
            )
            connection.execute(
                self._sql(
                    f"insert into {self._owners} (run, ref) values (:run, :ref)"  # noqa: S608
                    " on conflict (run, ref) do nothing"
                ),
                {"run": run, "ref": reference},
            )
        return reference

    def _get(self, reference: str) -> bytes:
        statement = self._sql(f"select data from {self._blobs} where ref = :ref")  # noqa: S608
        with self._engine.connect() as connection:
            found = connection.execute(statement, {"ref": reference}).scalar()
        return checked_bytes(reference, None if found is None else bytes(found))

    def _share(self, run: str, other: str) -> None:
        statement = (
            f"insert into {self._owners} (run, ref) select :other, ref from {self._owners}"  # noqa: S608
            " where run = :run on conflict (run, ref) do nothing"
        )
        with self._engine.begin() as connection:
            connection.execute(self._sql(statement), {"run": run, "other": other})

    def _drop(self, runs: list[str]) -> int:
        gone = 0
        for at in range(0, len(runs), _MOST_AT_ONCE):
            with self._engine.begin() as connection:
                gone += self._let_go(connection, runs[at : at + _MOST_AT_ONCE])
        return gone

    def _let_go(self, connection: "Connection", runs: list[str]) -> int:
        # Owners are deleted first: the first statement of a transaction must write, or SQLite may fail
        # later because another process has written in between.
        statement = f"delete from {self._owners} where run in :runs returning ref"  # noqa: S608
        some = load("sqlalchemy").bindparam("runs", expanding=True)
        found = connection.execute(self._sql(statement).bindparams(some), {"runs": runs}).scalars()
        gone = 0
        for reference in sorted(set(found)):
            values = {"ref": reference}
            if self._on_postgres:
                # Wait for a transaction that stores it: only the next statement sees what that wrote.
                locked = self._sql(f"select 1 from {self._blobs} where ref = :ref for update")  # noqa: S608
                connection.execute(locked, values)
            left = self._sql(
                f"delete from {self._blobs} where ref = :ref"  # noqa: S608
                f" and not exists (select 1 from {self._owners} where ref = :ref)"
            )
            gone += connection.execute(left, values).rowcount
        return gone
