"""Texts that are too large for a step's row into references, and back.

An engine reads its rows to list runs, sends them to whoever recovers one, and some limit them to a few
megabytes. So what is larger than ``LARGE`` is put aside under the hash of what it holds, before the step
that refers to it is kept: a reference that can be read never points at nothing. What is put aside
belongs to one run and goes with it. Two runs with the same large value keep it twice; if they shared
it, one could be cleared away while the other is about to refer to it.
"""

import asyncio
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import text as sql

from rightcall.errors import JournalError

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

LARGE = 64_000
"""Bytes of a text that still stands in its row."""
_MARK = "blob:sha256:"
"""How a reference begins; no JSON does."""


class BlobStore(Protocol):
    """Where large texts are put. Its methods block; what ``write`` was given is safe when it returns."""

    def write(self, run: str, name: str, data: bytes, /) -> None:
        """Keep it under that name, once."""
        ...

    def read(self, run: str, name: str, /) -> bytes | None:
        """What is kept under that name; None if nothing is."""
        ...

    def copy(self, run: str, new: str, /) -> None:
        """Give another run everything that this one has: a fork refers to it too."""
        ...

    def drop(self, runs: Sequence[str], /) -> None:
        """Clear away everything of these runs."""
        ...


class Blobs:
    """JSON texts of runs, the large ones by reference."""

    def __init__(self, store: BlobStore, large: int = LARGE) -> None:
        self.store = store
        self._large = large

    async def packed(self, run: str, text: str) -> str:
        """The text itself, or a reference to it once it is safe."""
        # No character takes more than four bytes, so that what is short need not be encoded to know it.
        if len(text) * 4 <= self._large:
            return text
        return await asyncio.to_thread(self._pack, run, text)

    async def unpacked(self, run: str, text: str) -> str:
        """The text that was packed."""
        if not text.startswith(_MARK):
            return text
        return await asyncio.to_thread(self._unpack, run, text.removeprefix(_MARK))

    def _pack(self, run: str, text: str) -> str:
        data = text.encode()
        if len(data) <= self._large:
            return text
        name = sha256(data).hexdigest()
        self.store.write(run, name, data)
        return _MARK + name

    def _unpack(self, run: str, name: str) -> str:
        data = self.store.read(run, name)
        if data is None:
            raise JournalError(
                f"blob {name} of run {run!r}",
                "is gone; it was cleared away by hand, or the database is an older copy than its runs",
            )
        if sha256(data).hexdigest() != name:
            raise JournalError(f"blob {name} of run {run!r}", "does not hold what was put there")
        return data.decode()


class SqlBlobs:
    """Large texts in a table of the engine's own database, SQLite or Postgres."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._bytes = "bytea" if engine.dialect.name == "postgresql" else "blob"

    def create(self) -> None:
        """Make the table, where it is not there yet; any number of processes may do so at once."""
        with self._engine.begin() as connection:
            if self._bytes == "bytea":
                # Postgres lets two who create the same table at once run into each other.
                connection.execute(sql("select pg_advisory_xact_lock(hashtext('rightcall_blobs'))"))
            connection.execute(
                sql(
                    "create table if not exists rightcall_blobs (run text not null, name text not null,"
                    f" data {self._bytes} not null, primary key (run, name))"
                )
            )

    def write(self, run: str, name: str, data: bytes) -> None:
        """Keep it; the transaction is over when this returns."""
        statement = (
            "insert into rightcall_blobs (run, name, data) values (:run, :name, :data)"
            " on conflict (run, name) do nothing"
        )
        self._execute(statement, {"run": run, "name": name, "data": data})

    def read(self, run: str, name: str) -> bytes | None:
        """What is kept under that name."""
        statement = sql("select data from rightcall_blobs where run = :run and name = :name")
        with self._engine.connect() as connection:
            found = connection.execute(statement, {"run": run, "name": name}).scalar()
        return None if found is None else bytes(found)

    def copy(self, run: str, new: str) -> None:
        """Give a fork what its run has."""
        statement = (
            "insert into rightcall_blobs (run, name, data) select :new, name, data"
            " from rightcall_blobs where run = :run on conflict (run, name) do nothing"
        )
        self._execute(statement, {"run": run, "new": new})

    def drop(self, runs: Sequence[str]) -> None:
        """Clear away everything of these runs."""
        if runs:
            self._execute(
                "delete from rightcall_blobs where run = :run", *[{"run": run} for run in runs]
            )

    def _execute(self, statement: str, *values: Mapping[str, object]) -> None:
        connection: Connection
        with self._engine.begin() as connection:
            connection.execute(sql(statement), list(values))
