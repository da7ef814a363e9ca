"""What each key has spent on each model, by day: in an SQLite file, in Postgres, or only in memory.

Exchanges are counted in memory and written together, in a thread, about once a second. If several
gateways share a database, each learns with its next write what the others have counted. A request that
is still being answered when the counts are written is written with its estimate, and corrected later:
so it stays counted if the process is killed, and other gateways know of it.
"""

import sqlite3
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from rightcall.core.parts import Usage
from rightcall.core.secret_formats import redact_formats
from rightcall.errors import UsageError, VendorError
from rightcall.serve.gateway.keys import GatewayKey
from rightcall.serve.gateway.settings import Served

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
WHERE day >= ? AND requests <> 0 ORDER BY day, key_name, model
"""  # noqa: S608 - the names are those above
_PATIENCE = 10.0
_MOST_MODELS = 500
"""Models of a day that are counted by their own names, if these are not in the settings."""
Counted: TypeAlias = tuple[int, int, int, int, float, int]
"""Requests, tokens in, out and cached, dollars, and how many of the requests were estimated."""
_NOTHING: Counted = (0, 0, 0, 0, 0.0, 0)


class DailySpend(Struct, frozen=True, gc=False):
    """What a key, or a model, has used on a day."""

    tokens: int = 0
    dollars: float = 0.0
    requests: int = 0

    def plus(self, tokens: int, dollars: float, requests: int = 1) -> "DailySpend":
        """The sum of this and more."""
        return DailySpend(self.tokens + tokens, self.dollars + dollars, self.requests + requests)


_UNSPENT = DailySpend()


class SpendRow(Struct, frozen=True, gc=False):
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


class Charge:
    """One request that was sent to a model, until it is known what it used."""

    __slots__ = ("estimate", "row", "served", "written")

    def __init__(self, row: tuple[str, str, str], served: Served, estimate: Callable[[], Usage]) -> None:
        self.row = row
        """Day, key and model."""
        self.served = served
        self.estimate = estimate
        """Returns what it is assumed to use."""
        self.written: Counted | None = None
        """What was written of it already."""


class Spend:
    """Spend by key and model. Everything but ``flush`` is quick and for the event loop."""

    def __init__(self, place: str = "") -> None:
        self._store: _Postgres | _Sqlite | None = None
        """Where the counts are added; None for memory alone."""
        if place.startswith(("postgres://", "postgresql://")):
            self._store = _Postgres(place)
        elif place:
            self._store = _Sqlite(Path(place))
        self._pending: dict[tuple[str, str, str], Counted] = defaultdict(lambda: _NOTHING)
        self._charges: set[Charge] = set()
        """The requests that are being answered."""
        self._today = _Day("")
        """The known spend of today: what is pending is in it, and what is being answered is not."""
        self._lock = threading.Lock()
        """Held for moments, when counts change: ``flush`` works in a thread."""

    def count(self, day: str, key: str, model: str, usage: Usage, *, estimated: bool = False) -> None:
        """Count an exchange."""
        with self._lock:
            self._add((day, key, model), _count_exchange(usage, estimated=estimated), None)

    def open(
        self, day: str, key: str, model: str, served: Served, estimate: Callable[[], Usage]
    ) -> Charge:
        """Note that a request is sent; ``settle`` or ``cancel`` says what became of it."""
        charge = Charge((day, key, model), served, estimate)
        with self._lock:
            self._charges.add(charge)
        return charge

    def settle(self, charge: Charge, usage: Usage, *, estimated: bool = False) -> None:
        """Count a request that was sent."""
        with self._lock:
            self._charges.discard(charge)
            self._add(charge.row, _count_exchange(usage, estimated=estimated), charge.written)

    def cancel(self, charge: Charge) -> None:
        """Take back a request that was refused."""
        with self._lock:
            self._charges.discard(charge)
            if charge.written is not None:
                self._pending[charge.row] = _sum(self._pending[charge.row], _minus(charge.written))

    def _add(self, row: tuple[str, str, str], one: Counted, written: Counted | None) -> None:
        more = one if written is None else _sum(one, _minus(written))
        self._pending[row] = _sum(self._pending[row], more)
        day, key, model = row
        self._of(day).add(key, model, one)

    def of(self, day: str, key: str) -> DailySpend:
        """What a key has spent today, as far as it is known here."""
        return self._of(day).keys.get(key, _UNSPENT)

    def of_model(self, day: str, model: str) -> DailySpend:
        """What was spent on a model today, by all keys, as far as it is known here."""
        return self._of(day).models.get(model, _UNSPENT)

    def of_pattern(self, day: str, pattern: str, owns: Callable[[str], bool]) -> DailySpend:
        """What was spent today on all models that a pattern stands for."""
        total = _UNSPENT
        for model, spent in list(self._of(day).models.items()):
            if model == pattern or owns(model):
                total = total.plus(spent.tokens, spent.dollars, spent.requests)
        return total

    def name_of(self, day: str, model: str, pattern: str) -> str:
        """The name that a model of a pattern is counted under.

        It is its own, unless there are too many already: clients make up names.
        """
        models = self._of(day).models
        if model in models or len(models) < _MOST_MODELS:
            return model
        return pattern

    def models(self, day: str) -> tuple[str, ...]:
        """The models that were asked today."""
        return tuple(self._of(day).models)

    def _of(self, day: str) -> "_Day":
        if self._today.name < day:
            self._today = _Day(day)
        if self._today.name == day:
            return self._today
        return _Day(day)

    def flush(self, day: str) -> None:
        """Write the pending counts, and read the day's totals. Call it in a thread: it blocks."""
        if self._store is None:
            with self._lock:
                self._pending.clear()
            return
        pending = self._take_pending()
        try:
            if pending:
                self._store.add([(*row, *counted) for row, counted in pending.items()])
        except Exception:
            # Nothing is lost: it is written with the next flush.
            with self._lock:
                for row, counted in pending.items():
                    self._pending[row] = _sum(self._pending[row], counted)
            raise
        # What fails from here on was written, and must not be written again.
        keys = self._store.rows(_BY_KEY, day)
        models = self._store.rows(_BY_MODEL, day)
        known = _Day(day)
        for spent, rows in ((known.keys, keys), (known.models, models)):
            for name, tokens, dollars, requests in rows:
                spent[name] = DailySpend(int(tokens), float(dollars), int(requests))
        with self._lock:
            # Counted during the write; and what is being answered is reserved, and not yet spent.
            later = list(self._pending.items())
            for charge in self._charges:
                if charge.written is not None:
                    later.append((charge.row, _minus(charge.written)))
            for (of_day, key, model), counted in later:
                if of_day == day:
                    known.add(key, model, counted)
            self._today = known

    def _take_pending(self) -> dict[tuple[str, str, str], Counted]:
        """What is to be written now, with the estimates of requests that are being answered."""
        with self._lock:
            unwritten = [charge for charge in self._charges if charge.written is None]
        estimates = [_count_exchange(charge.estimate(), estimated=True) for charge in unwritten]
        with self._lock:
            pending = self._pending
            self._pending = defaultdict(lambda: _NOTHING)
            for charge, estimate in zip(unwritten, estimates, strict=True):
                if charge in self._charges:
                    charge.written = estimate
                    pending[charge.row] = _sum(pending[charge.row], estimate)
        return pending

    def rows(self, since: str) -> tuple[SpendRow, ...]:
        """What was spent since a day, by day, key and model; only what has been written."""
        if self._store is None:
            return ()
        return tuple(SpendRow(*row) for row in self._store.rows(_ROWS, since))


class _Day:
    """The spend of a day, by key and by model."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.keys: dict[str, DailySpend] = {}
        self.models: dict[str, DailySpend] = {}

    def add(self, key: str, model: str, counted: Counted) -> None:
        requests, read, written, _, dollars, _ = counted
        for of, name in ((self.keys, key), (self.models, model)):
            of[name] = of.get(name, _UNSPENT).plus(read + written, dollars, requests)


def _count_exchange(usage: Usage, *, estimated: bool) -> Counted:
    """One exchange."""
    cost = usage.cost or 0.0
    return (1, usage.input_tokens, usage.output_tokens, usage.cached_tokens, cost, int(estimated))


def _minus(one: Counted) -> Counted:
    return (-one[0], -one[1], -one[2], -one[3], -one[4], -one[5])


def _sum(one: Counted, other: Counted) -> Counted:
    return (
        one[0] + other[0],
        one[1] + other[1],
        one[2] + other[2],
        one[3] + other[3],
        one[4] + other[4],
        one[5] + other[5],
    )


class _Sqlite:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Created here and not by SQLite, so that nobody else may read it.
            path.touch(mode=0o600)
            with self._open_connection() as connection:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute(_TABLE)
        except (OSError, sqlite3.Error) as error:
            raise UsageError(f"spend cannot be kept in {path}: {error}") from error

    def _open_connection(self) -> "closing[sqlite3.Connection]":
        return closing(sqlite3.connect(self._path, timeout=_PATIENCE, isolation_level=None))

    def add(self, rows: Iterable[tuple[Any, ...]]) -> None:
        with self._lock, self._open_connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(_ADD, rows)
            connection.execute("COMMIT")

    def rows(self, statement: str, first: str) -> Sequence[tuple[Any, ...]]:
        with self._lock, self._open_connection() as connection:
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
            where = redact_formats(place)
            why = redact_formats(str(error)).strip()
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


_DAY = 86_400.0


def today(now: float) -> str:
    """The day of a moment, in UTC, by which usage is counted."""
    return _day_name(int(now // _DAY))


@lru_cache(maxsize=4)
def _day_name(day: int) -> str:
    return datetime.fromtimestamp(day * _DAY, UTC).date().isoformat()


def until_tomorrow(now: float) -> float:
    """Seconds until the next day."""
    return _DAY - now % _DAY


class ExpectedUsage(Struct, frozen=True, gc=False):
    """What a request is expected to use."""

    tokens: int = 0
    dollars: float = 0.0


class _UsageState:
    """The state of a key or a model: its bucket of requests, those under way, what they reserve."""

    __slots__ = ("at", "dollars", "left", "tokens", "under_way")

    def __init__(self, left: float = 0.0, at: float = 0.0) -> None:
        self.left = left
        self.at = at
        self.under_way = 0
        self.tokens = 0
        self.dollars = 0.0

    def enter(self, expected: ExpectedUsage) -> None:
        self.under_way += 1
        self.tokens += expected.tokens
        self.dollars += expected.dollars

    def leave(self, expected: ExpectedUsage) -> None:
        self.under_way -= 1
        self.tokens -= expected.tokens
        # Sums of floats leave rounding errors, so the sum is reset when nothing is under way.
        if self.under_way:
            self.dollars = self.dollars - expected.dollars
        else:
            self.dollars = 0.0


Owns: TypeAlias = Callable[[str], bool] | None
"""Of a pattern: whether a model's name is one that it stands for."""


class Allowances:
    """The limits of keys and of models, compared with what was used of them."""

    def __init__(self, spend: Spend, clock: Callable[[], float] = time.time) -> None:
        self._spend = spend
        self._clock = clock
        self._keys: dict[str, _UsageState] = {}
        self._models: dict[str, _UsageState] = {}

    def enter(self, key: GatewayKey, expected: ExpectedUsage) -> ExpectedUsage:
        """Admit a request; returns what it reserves until it leaves. Raises VendorError at a limit."""
        allowed = key.allowed
        now = self._clock()
        most = key.allowed.per_minute
        # A minute's requests may come at once; a rate below one a minute still admits one.
        full = max(most or 0.0, 1.0)
        use = self._keys.get(key.id)
        if use is None:
            use = self._keys[key.id] = _UsageState(full, now)
        if most is not None:
            use.left = min(full, use.left + max(now - use.at, 0.0) * most / 60)
        use.at = now
        spent = self._spend.of(today(now), key.name)
        _check("this key has", use, spent, allowed.tokens_per_day, allowed.dollars_per_day, now)
        if allowed.concurrency is not None and use.under_way >= allowed.concurrency:
            raise _too_much("this key has", f"{allowed.concurrency} requests at once", 1.0)
        if allowed.per_minute is not None:
            if use.left < 1.0:
                words = f"{allowed.per_minute:g} requests a minute"
                raise _too_much("this key has", words, (1.0 - use.left) * 60 / allowed.per_minute)
            use.left -= 1.0
        held = _usual(spent, expected)
        use.enter(held)
        return held

    def leave(self, key: GatewayKey, held: ExpectedUsage) -> None:
        """End a request, and release what it reserved."""
        if (use := self._keys.get(key.id)) is not None:
            use.leave(held)

    def refusal(self, name: str, served: Served, owns: Owns = None) -> VendorError | None:
        """Why a model, or any of a pattern, may not be asked now; None if it may."""
        now = self._clock()
        spent = self._spent(today(now), name, owns)
        use = self._models.get(name) or _UsageState()
        try:
            _check(f"{name} has", use, spent, served.tokens_per_day, served.dollars_per_day, now)
        except VendorError as error:
            return error
        return None

    def hold(self, name: str, expected: ExpectedUsage, owns: Owns = None) -> ExpectedUsage:
        """Reserve part of a model's limits for a request; returns what is reserved, until ``let_go``."""
        held = _usual(self._spent(today(self._clock()), name, owns), expected)
        self._models.setdefault(name, _UsageState()).enter(held)
        return held

    def _spent(self, day: str, name: str, owns: Owns) -> DailySpend:
        if owns is None:
            return self._spend.of_model(day, name)
        return self._spend.of_pattern(day, name, owns)

    def let_go(self, name: str, held: ExpectedUsage) -> None:
        """Release what a request reserved of a model's limits."""
        self._models[name].leave(held)


def _usual(spent: DailySpend, expected: ExpectedUsage) -> ExpectedUsage:
    """What a request is assumed to use: its estimate, or the average of earlier ones if that is more."""
    if not spent.requests:
        return expected
    tokens = max(expected.tokens, spent.tokens // spent.requests)
    return ExpectedUsage(tokens, max(expected.dollars, spent.dollars / spent.requests))


def _check(
    whose: str,
    use: _UsageState,
    spent: DailySpend,
    tokens: int | None,
    dollars: float | None,
    now: float,
) -> None:
    if tokens is not None and spent.tokens + use.tokens >= tokens:
        wait = until_tomorrow(now) if spent.tokens >= tokens else 1.0
        raise _too_much(whose, f"{tokens:,} tokens a day", wait)
    if dollars is not None and spent.dollars + use.dollars >= dollars:
        wait = until_tomorrow(now) if spent.dollars >= dollars else 1.0
        raise _too_much(whose, f"{dollars:g} dollars a day", wait)


def _too_much(whose: str, limit: str, wait: float) -> VendorError:
    return VendorError(
        f"{whose} used up its limit of {limit}",
        kind="rate_limit",
        status=429,
        retryable=True,
        retry_after=round(wait, 1),
    )
