"""Live events through a database: written by the process that executes a run, polled by watchers.

Nothing is written that nobody reads: a watcher adds its run to a table, and for a run that is not in it
no events are sent. On SQLite the tables are in a file of their own, which is never synced, so that
events do not slow the journal down; on Postgres they are unlogged. Rows live for a few seconds.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from time import monotonic, time

import sqlalchemy as sa
from sqlalchemy import event

from rightcall.durable.database import Database
from rightcall.durable.patience import when_it_is_there
from rightcall.durable.threads import in_thread

POLL = 0.03
"""Seconds between two polls of a watcher."""
_ASK = 0.2
"""Seconds for which a process caches which runs are watched."""
_WATCH = 5.0
"""Seconds until a watcher that does not renew its row no longer counts."""
_LIFE = 10.0
"""Seconds for which an event can be read."""

_TABLES = (
    "TABLE IF NOT EXISTS rightcall_watchers (run text PRIMARY KEY, until float NOT NULL)",
    "TABLE IF NOT EXISTS rightcall_live (id {serial}, run text, sent float, event text)",
)
_INDEX = sa.text("CREATE INDEX IF NOT EXISTS rightcall_live_run ON rightcall_live (run, id)")
_SEND = sa.text("INSERT INTO rightcall_live (run, sent, event) VALUES (:run, :sent, :event)")
_FORGET = sa.text("DELETE FROM rightcall_live WHERE sent < :before")
_WATCHING = sa.text(
    "INSERT INTO rightcall_watchers (run, until) VALUES (:run, :until) "
    "ON CONFLICT (run) DO UPDATE SET until = excluded.until"
)
_WATCHED = sa.text("SELECT run FROM rightcall_watchers WHERE until > :now")
_LAST = sa.text("SELECT coalesce(max(id), 0) FROM rightcall_live")
_NEXT = sa.text("SELECT id, event FROM rightcall_live WHERE run = :run AND id > :after ORDER BY id")


class SqlChannel:
    """Carries live events through tables that every process with access to the runs can reach."""

    def __init__(self, database: Database) -> None:
        path = database.path
        self._is_own = path is not None
        self._engine = database.engine if path is None else _beside(path)
        self._watched: frozenset[str] = frozenset()
        self._asked = 0.0
        self._swept = 0.0

    def create(self) -> None:
        """Create the tables if they do not exist."""
        kind, serial = ("", "integer PRIMARY KEY AUTOINCREMENT")
        if not self._is_own:
            kind, serial = "UNLOGGED", "bigserial PRIMARY KEY"
        with self._engine.begin() as connection:
            if not self._is_own:
                # Two processes that create the same table at once would conflict.
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(hashtext('rightcall_live'))"))
            for table in _TABLES:
                connection.execute(sa.text(f"CREATE {kind} {table.format(serial=serial)}"))
            connection.execute(_INDEX)

    def close(self) -> None:
        """Close the connections if they are this channel's own."""
        if self._is_own:
            self._engine.dispose()

    async def publish(self, run: str, texts: Sequence[str]) -> None:
        """Write events for the run's watchers, if there are any."""
        if monotonic() - self._asked > _ASK:
            self._asked = monotonic()
            self._watched = await in_thread(self._who_is_watched)
        if run in self._watched:
            await in_thread(self._publish, run, texts)

    async def follow(self, run: str) -> AsyncIterator[Sequence[str]]:
        """The events that are written from now on."""
        last, said = await when_it_is_there(partial(self._begin, run)), monotonic()
        while True:
            if monotonic() - said > _WATCH / 2:
                said = monotonic()
                await when_it_is_there(partial(self._say, run))
            rows = await when_it_is_there(partial(self._after, run, last))
            last = rows[-1][0] if rows else last
            yield [text for _, text in rows]
            await asyncio.sleep(POLL)

    def _begin(self, run: str) -> int:
        self._say(run)
        with self._engine.connect() as connection:
            return int(connection.execute(_LAST).scalar() or 0)

    def _say(self, run: str) -> None:
        with self._engine.begin() as connection:
            connection.execute(_WATCHING, {"run": run, "until": time() + _WATCH})

    def _who_is_watched(self) -> frozenset[str]:
        with self._engine.connect() as connection:
            return frozenset(connection.execute(_WATCHED, {"now": time()}).scalars())

    def _publish(self, run: str, texts: Sequence[str]) -> None:
        now = time()
        with self._engine.begin() as connection:
            connection.execute(_SEND, [{"run": run, "sent": now, "event": text} for text in texts])
            if now - self._swept > _LIFE / 2:
                self._swept = now
                connection.execute(_FORGET, {"before": now - _LIFE})

    def _after(self, run: str, last: int) -> list[tuple[int, str]]:
        with self._engine.connect() as connection:
            rows = connection.execute(_NEXT, {"run": run, "after": last}).all()
        return [(int(number), str(text)) for number, text in rows]


def _beside(path: Path) -> sa.Engine:
    """The engine for the file of live events beside a database."""
    live = path.with_name(f"{path.name}.live")
    live.touch(mode=0o600)
    engine = sa.create_engine(f"sqlite:///{live}", connect_args={"timeout": 5})

    @event.listens_for(engine, "connect")
    def prepare(connection: sa.engine.interfaces.DBAPIConnection, _: object) -> None:
        # Events that are lost in a crash of the machine are no longer needed.
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=OFF")
        cursor.close()

    return engine
