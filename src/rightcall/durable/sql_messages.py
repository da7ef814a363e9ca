"""Messages that are added to runs, in a table of the database that has the runs.

A message has its number from a transaction that waits for every other of its run, so that the order of
numbers is the order in which they can be read: a reader that has seen one has seen all before it. Each
condition is in the statement that writes, because SQLite locks at the first write.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from secrets import token_hex
from typing import Any

import sqlalchemy as sa

from rightcall.durable.database import when_it_is_there

_TABLE = (
    "CREATE TABLE IF NOT EXISTS rightcall_said (run text NOT NULL, number integer NOT NULL, "
    "name text NOT NULL, urgent integer NOT NULL, said text NOT NULL, PRIMARY KEY (run, number))"
)
# A row with the number -1 says that a run takes no more messages.
_PUT = sa.text(
    """
    INSERT INTO rightcall_said (run, number, name, urgent, said)
    SELECT CAST(:run AS text),
        (SELECT coalesce(max(number), 0) + 1 FROM rightcall_said WHERE run = :run AND number > 0),
        CAST(:name AS text), CAST(:urgent AS integer), CAST(:said AS text)
    WHERE NOT EXISTS (SELECT 1 FROM rightcall_said WHERE run = :run AND number < 0)
        AND NOT EXISTS (SELECT 1 FROM rightcall_said WHERE run = :run AND name = :name)
    """
)
_FIND_NAME = sa.text("SELECT 1 FROM rightcall_said WHERE run = :run AND name = :name")
_CLOSE = sa.text(
    """
    INSERT INTO rightcall_said (run, number, name, urgent, said)
    SELECT CAST(:run AS text), -1, '', 0, ''
    WHERE NOT EXISTS (SELECT 1 FROM rightcall_said WHERE run = :run AND number < 0)
        AND NOT EXISTS (SELECT 1 FROM rightcall_said WHERE run = :run AND number > :number)
    """
)
_FIND_END = sa.text("SELECT 1 FROM rightcall_said WHERE run = :run AND number < 0")
_AFTER = sa.text(
    "SELECT number, said FROM rightcall_said WHERE run = :run AND number > :after AND number > 0 "
    "ORDER BY number"
)
_URGENT = sa.text(
    "SELECT run, max(number) FROM rightcall_said WHERE urgent = 1 AND run IN :runs GROUP BY run"
).bindparams(sa.bindparam("runs", expanding=True))
_COPY = sa.text(
    "INSERT INTO rightcall_said (run, number, name, urgent, said) "
    "SELECT :other, number, name, urgent, said FROM rightcall_said WHERE run = :run AND number > 0 "
    "ON CONFLICT (run, number) DO NOTHING"
)
_DROP = sa.text("DELETE FROM rightcall_said WHERE run IN :runs").bindparams(
    sa.bindparam("runs", expanding=True)
)
_MOST_AT_ONCE = 500
"""Runs that are named in one statement: SQLite limits the number of parameters."""


class SqlMessages:
    """Messages to runs in a table of the engine's database."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._on_postgres = engine.dialect.name == "postgresql"

    def create(self) -> None:
        """Create the table if it does not exist."""
        with self._engine.begin() as connection:
            if self._on_postgres:
                # Two processes that create the same table at once would conflict.
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(hashtext('rightcall_said'))"))
            connection.execute(sa.text(_TABLE))

    async def put(self, run: str, text: str, *, name: str = "", urgent: bool = False) -> bool:
        """Store a message after all others of its run."""
        if not name:
            # Repeated after a connection was lost, it would be stored twice.
            name = f" {token_hex(8)}"
        values = {"run": run, "name": name, "urgent": int(urgent), "said": text}
        return await when_it_is_there(partial(self._put, values))

    async def after(self, run: str, number: int) -> Sequence[tuple[int, str]]:
        """The messages of a run with a greater number, in order."""
        return await when_it_is_there(partial(self._after, run, number))

    async def close(self, run: str, number: int) -> bool:
        """Take no more messages for a run, unless it has one with a greater number."""
        return await when_it_is_there(partial(self._close, run, number))

    async def urgent(self, runs: Sequence[str]) -> Mapping[str, int]:
        """For those of these runs that have urgent messages, the number of the last one."""
        return await when_it_is_there(partial(self._urgent, list(runs)))

    async def copy(self, run: str, other: str) -> None:
        """Give another run, which is a fork, the messages of a run."""
        await when_it_is_there(partial(self._execute, _COPY, {"run": run, "other": other}))

    async def drop(self, runs: Sequence[str]) -> None:
        """Delete the messages of these runs."""
        for at in range(0, len(runs), _MOST_AT_ONCE):
            some = list(runs[at : at + _MOST_AT_ONCE])
            await when_it_is_there(partial(self._execute, _DROP, {"runs": some}))

    def _put(self, values: dict[str, Any]) -> bool:
        with self._engine.begin() as connection:
            self._lock(connection, values["run"])
            if connection.execute(_PUT, values).rowcount:
                return True
            return connection.execute(_FIND_NAME, values).first() is not None

    def _after(self, run: str, number: int) -> list[tuple[int, str]]:
        with self._engine.connect() as connection:
            rows = connection.execute(_AFTER, {"run": run, "after": number}).all()
        return [(int(place), str(text)) for place, text in rows]

    def _close(self, run: str, number: int) -> bool:
        values = {"run": run, "number": number}
        with self._engine.begin() as connection:
            self._lock(connection, run)
            if connection.execute(_CLOSE, values).rowcount:
                return True
            return connection.execute(_FIND_END, values).first() is not None

    def _urgent(self, runs: list[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        with self._engine.connect() as connection:
            for at in range(0, len(runs), _MOST_AT_ONCE):
                rows = connection.execute(_URGENT, {"runs": runs[at : at + _MOST_AT_ONCE]}).all()
                found.update({str(run): int(number) for run, number in rows})
        return found

    def _lock(self, connection: sa.Connection, run: str) -> None:
        """Wait for every other writer of a run. On SQLite a writer is alone anyway."""
        if self._on_postgres:
            lock = sa.text("SELECT pg_advisory_xact_lock(hashtext(:name))")
            connection.execute(lock, {"name": f"rightcall said {run}"})

    def _execute(self, statement: sa.TextClause, values: dict[str, Any]) -> None:
        with self._engine.begin() as connection:
            connection.execute(statement, values)
