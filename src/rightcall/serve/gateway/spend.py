"""What each key has spent on each model, by day: in an SQLite file, in Postgres, or only in memory.

Exchanges are counted in memory and written together, in a thread, about once a second. If several
gateways share a database, each learns with its next write what the others have counted.
"""

import sqlite3
import threading
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import closing
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from rightcall.core.parts import Usage
from rightcall.core.secret import redact_formats
from rightcall.errors import UsageError

_TABLE = """
CREATE TABLE IF NOT EXISTS gateway_spend (
    day TEXT NOT NULL, key_name TEXT NOT NULL, model TEXT NOT NULL,
    requests INTEGER NOT NULL, input_tokens BIGINT NOT NULL, output_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL, dollars DOUBLE PRECISION NOT NULL, estimated INTEGER NOT NULL,
    PRIMARY KEY (day, key_name, model)
)
"""
_COLUMNS = ("requests", "input_tokens", "output_tokens", "cached_tokens", "dollars", "estimated")
_ADD = f"""
INSERT INTO gateway_spend (day, key_name, model, {", ".join(_COLUMNS)})
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (day, key_name, model) DO UPDATE SET
{", ".join(f"{name} = gateway_spend.{name} + excluded.{name}" for name in _COLUMNS)}
"""  # noqa: S608 - the names are those above
_BY_KEY, _BY_MODEL = (
    f"""
    SELECT {name}, SUM(input_tokens + output_tokens), SUM(dollars), SUM(requests) FROM gateway_spend
    WHERE day = ? GROUP BY {name}
    """  # noqa: S608 - the names are these
    for name in ("key_name", "model")
)
_ROWS = f"""
SELECT day, key_name, model, {", ".join(_COLUMNS)} FROM gateway_spend
WHERE day >= ? ORDER BY day, key_name, model
"""  # noqa: S608 - the names are those above
_PATIENCE = 10.0
Counted: TypeAlias = tuple[int, int, int, int, float, int]
"""Requests, tokens in, out and cached, dollars, and how many of the requests were estimated."""
_NOTHING: Counted = (0, 0, 0, 0, 0.0, 0)


class Spent(Struct, frozen=True, gc=False):
    """What a key, or a model, has used on a day."""

    tokens: int = 0
    dollars: float = 0.0
    requests: int = 0

    def plus(self, tokens: int, dollars: float, requests: int = 1) -> "Spent":
        """The sum of this and more."""
        return Spent(self.tokens + tokens, self.dollars + dollars, self.requests + requests)


_UNSPENT = Spent()


class Row(Struct, frozen=True, gc=False):
    """What a key has used of a model on a day."""

    day: str
    key: str
    model: str
    requests: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    dollars: float
    estimated: int
    """How many of the requests came back without usage, so that it was estimated."""


class Store(Protocol):
    """A store of spend."""

    def add(self, rows: Iterable[tuple[Any, ...]], /) -> None:
        """Add to the stored counts: day, key, model, then the counts."""
        ...

    def rows(self, statement: str, first: str, /) -> Sequence[tuple[Any, ...]]:
        """The rows of a statement with one parameter."""
        ...


class Spend:
    """Spend by key and model. Everything but ``flush`` is quick and for the event loop."""

    def __init__(self, place: str = "") -> None:
        self._store = store_at(place)
        self._pending: dict[tuple[str, str, str], Counted] = defaultdict(lambda: _NOTHING)
        self._today = _Day("")
        """The known spend of today, including what is pending."""

    def count(self, day: str, key: str, model: str, usage: Usage, *, estimated: bool = False) -> None:
        """Count an exchange."""
        cost = usage.cost or 0.0
        one = (1, usage.input_tokens, usage.output_tokens, usage.cached_tokens, cost, int(estimated))
        row = (day, key, model)
        self._pending[row] = _sum(self._pending[row], one)
        self._of(day).add(key, model, one)

    def of(self, day: str, key: str) -> Spent:
        """What a key has spent today, as far as it is known here."""
        return self._of(day).keys.get(key, _UNSPENT)

    def of_model(self, day: str, model: str) -> Spent:
        """What was spent on a model today, by all keys, as far as it is known here."""
        return self._of(day).models.get(model, _UNSPENT)

    def _of(self, day: str) -> "_Day":
        if self._today.name < day:
            self._today = _Day(day)
        return self._today if self._today.name == day else _Day(day)

    def flush(self, day: str) -> None:
        """Write the pending counts, and read the day's totals. Call it in a thread: it blocks."""
        if self._store is None:
            self._pending.clear()
            return
        pending, self._pending = self._pending, defaultdict(lambda: _NOTHING)
        try:
            if pending:
                self._store.add([(*row, *counted) for row, counted in pending.items()])
            keys, models = self._store.rows(_BY_KEY, day), self._store.rows(_BY_MODEL, day)
        except Exception:
            # Nothing is lost: it is written with the next flush.
            for row, counted in pending.items():
                self._pending[row] = _sum(self._pending[row], counted)
            raise
        known = _Day(day, _spent(keys), _spent(models))
        for (of_day, key, model), counted in list(self._pending.items()):
            # Counted during the write.
            if of_day == day:
                known.add(key, model, counted)
        self._today = known

    def rows(self, since: str) -> tuple[Row, ...]:
        """What was spent since a day, by day, key and model; only what has been written."""
        return () if self._store is None else tuple(Row(*row) for row in self._store.rows(_ROWS, since))


class _Day:
    """The spend of a day, by key and by model."""

    def __init__(
        self, name: str, keys: dict[str, Spent] | None = None, models: dict[str, Spent] | None = None
    ) -> None:
        self.name = name
        self.keys = {} if keys is None else keys
        self.models = {} if models is None else models

    def add(self, key: str, model: str, counted: Counted) -> None:
        requests, read, written, _, dollars, _ = counted
        for of, name in ((self.keys, key), (self.models, model)):
            of[name] = of.get(name, _UNSPENT).plus(read + written, dollars, requests)


def _spent(rows: Sequence[tuple[Any, ...]]) -> dict[str, Spent]:
    return {
        name: Spent(int(tokens), float(dollars), int(requests))
        for name, tokens, dollars, requests in rows
    }


def _sum(one: Counted, other: Counted) -> Counted:
    return (
        one[0] + other[0],
        one[1] + other[1],
        one[2] + other[2],
        one[3] + other[3],
        one[4] + other[4],
        one[5] + other[5],
    )


def store_at(place: str) -> Store | None:
    """The store of spend at a place; None for memory alone."""
    if not place:
        return None
    if place.startswith(("postgres://", "postgresql://")):
        return _Postgres(place)
    return _Sqlite(Path(place))


class _Sqlite:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Created here and not by SQLite, so that nobody else may read it.
            path.touch(mode=0o600)
            with self._opened() as connection:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute(_TABLE)
        except (OSError, sqlite3.Error) as error:
            raise UsageError(f"spend cannot be kept in {path}: {error}") from error

    def _opened(self) -> "closing[sqlite3.Connection]":
        return closing(sqlite3.connect(self._path, timeout=_PATIENCE, isolation_level=None))

    def add(self, rows: Iterable[tuple[Any, ...]]) -> None:
        with self._lock, self._opened() as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(_ADD, rows)
            connection.execute("COMMIT")

    def rows(self, statement: str, first: str) -> Sequence[tuple[Any, ...]]:
        with self._lock, self._opened() as connection:
            return connection.execute(statement, (first,)).fetchall()


def _make_table(cursor: Any) -> None:
    # If two create the same table at once, Postgres refuses one, in spite of IF NOT EXISTS.
    cursor.execute("SELECT pg_advisory_xact_lock(hashtext('gateway_spend'))")
    cursor.execute(_TABLE)


class _Postgres:
    def __init__(self, place: str) -> None:
        if find_spec("psycopg") is None:
            raise UsageError("spend in Postgres needs psycopg: pip install 'psycopg[binary]'")
        psycopg: Any = import_module("psycopg")
        self._connect: Any = psycopg.connect
        self._place = place
        try:
            self._run(_make_table)
        except psycopg.Error as error:
            where, why = redact_formats(place), redact_formats(str(error)).strip()
            raise UsageError(f"spend cannot be kept in {where}: {why}") from error

    def _run(self, work: Any) -> Any:
        # A new connection for each write, once a second: no pooled connection can be dead.
        connecting = self._connect(self._place, connect_timeout=int(_PATIENCE))
        with connecting as connection, connection.cursor() as cursor:
            return work(cursor)

    def add(self, rows: Iterable[tuple[Any, ...]]) -> None:
        # In the same order everywhere: otherwise two gateways could deadlock on each other's rows.
        self._run(lambda cursor: cursor.executemany(_ADD.replace("?", "%s"), sorted(rows)))

    def rows(self, statement: str, first: str) -> Sequence[tuple[Any, ...]]:
        def fetch(cursor: Any) -> Sequence[tuple[Any, ...]]:
            cursor.execute(statement.replace("?", "%s"), (first,))
            found: Sequence[tuple[Any, ...]] = cursor.fetchall()
            return found

        found: Sequence[tuple[Any, ...]] = self._run(fetch)
        return found
