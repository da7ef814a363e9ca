"""The index for lists and searches: a separate database, updated as a journal grows.

It holds nothing that the journal does not: it may be deleted at any time, and is rebuilt. Every entry is
read once. No run is in memory longer than the batch with its entries.
"""

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from threading import RLock
from typing import Any
from weakref import finalize

import msgspec
from msgspec import Struct

from rightcall.core.entry import RunStarted
from rightcall.core.sanitize import encodable
from rightcall.core.tool import Spec
from rightcall.serve.studio.run_facts import MadeCall, News, RunFacts, fold, new_facts, spec_text
from rightcall.serve.studio.source import Batch, Written

_VERSION = "4"
"""Changing it rebuilds every index."""
SHIFT = 20
"""Lower bits of a text's rowid, which number the texts of one run; the upper bits are the run's id."""
DAMAGED = "damaged"
"""The stop reason of a run whose record is partly unreadable."""
_FIELDS = RunFacts.__struct_fields__
_COLUMNS = ", ".join(_FIELDS)
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE IF NOT EXISTS runs (
    id INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, hold TEXT, at REAL, last_at REAL, agent TEXT,
    model TEXT, prompt TEXT, answer TEXT, state TEXT, stop TEXT, words TEXT, turns INTEGER,
    calls INTEGER, bad_calls INTEGER, input_tokens INTEGER, output_tokens INTEGER,
    cached_tokens INTEGER, cache_written_tokens INTEGER, reasoning_tokens INTEGER, cost REAL,
    seconds REAL, entries INTEGER, parent TEXT, pending INTEGER, tainted INTEGER, last_place INTEGER,
    is_noted INTEGER,
    changed INTEGER
);
CREATE INDEX IF NOT EXISTS runs_open ON runs (state, id) WHERE state IN ('open', 'paused', 'decided');
CREATE INDEX IF NOT EXISTS runs_last_place ON runs (last_place);
CREATE INDEX IF NOT EXISTS runs_changed ON runs (changed);
CREATE INDEX IF NOT EXISTS runs_agent ON runs (agent);
CREATE INDEX IF NOT EXISTS runs_model ON runs (model);
CREATE INDEX IF NOT EXISTS runs_state ON runs (state, stop);
CREATE INDEX IF NOT EXISTS runs_parent ON runs (parent) WHERE parent IS NOT NULL;
CREATE TABLE IF NOT EXISTS calls (
    run_id INTEGER, key TEXT, tool TEXT, outcome TEXT, seconds REAL, tokens_in INTEGER,
    tokens_out INTEGER, at REAL, arguments TEXT, PRIMARY KEY (run_id, key)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS calls_tool
    ON calls (tool, outcome, seconds, tokens_in, tokens_out, at, run_id);
CREATE INDEX IF NOT EXISTS calls_outcome ON calls (outcome, run_id);
CREATE TABLE IF NOT EXISTS specs (name TEXT PRIMARY KEY, spec TEXT, at REAL);
CREATE TABLE IF NOT EXISTS places (
    run_id INTEGER, start INTEGER, stop INTEGER, PRIMARY KEY (run_id, start)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5(body, tokenize = 'unicode61 remove_diacritics 2');
"""
_SAVE = f"""
INSERT OR REPLACE INTO runs ({_COLUMNS}, changed) VALUES ({", ".join("?" * len(_FIELDS))}, ?)
"""  # noqa: S608 - the columns are ours
_CALL = """
INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
    outcome = excluded.outcome, seconds = excluded.seconds, tokens_out = excluded.tokens_out
"""
_TABLES = ("meta", "runs", "calls", "specs", "places", "texts")


class Standing(Struct, frozen=True):
    """How far the index is."""

    runs: int
    entries: int
    change: int
    """Grows with every batch that contained something."""
    share: float
    is_ready: bool


class _Brought(Struct):
    """What a batch contained of one run."""

    facts: RunFacts
    news: News
    places: list[tuple[int, int]]
    begins: int
    """The place of its first entry in the batch."""


class Index:
    """The database. Its methods block, and threads may share it."""

    def __init__(self, path: Path | None) -> None:
        self._lock = RLock()
        self._path = path
        self._share, self._is_ready = 0.0, False
        self._specs = dict[str, Spec]()
        try:
            self._open(path)
        except sqlite3.DatabaseError as error:
            if path is None or isinstance(error, sqlite3.OperationalError):
                raise
            # The file is not an index, or a broken one: it is rebuilt.
            path.unlink()
            self._open(path)
        # An application that is created and never served is never closed.
        finalize(self, self._database.close)

    def _open(self, path: Path | None) -> None:
        where = ":memory:"
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.touch(mode=0o600)
            where = str(path)
        self._database = sqlite3.connect(
            where, check_same_thread=False, isolation_level=None, timeout=10.0
        )
        try:
            self._prepare()
        except sqlite3.DatabaseError:
            self._database.close()
            raise

    def _prepare(self) -> None:
        self._database.execute("PRAGMA journal_mode = WAL")
        # It can be rebuilt: losing the last writes in a power cut is acceptable.
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.execute("PRAGMA cache_size = -65536")
        self._database.executescript(_SCHEMA)
        if self._meta("version") not in ("", _VERSION):
            for name in _TABLES:
                self._database.execute(f"DROP TABLE {name}")
            self._database.executescript(_SCHEMA)
        self._set_meta("version", _VERSION)

    @property
    def cursor(self) -> str:
        """Where the next read of the journal begins."""
        with self._lock:
            return self._meta("cursor")

    def standing(self) -> Standing:
        """How far it is."""
        ((runs,),) = self.query("SELECT count(*) FROM runs")
        return Standing(
            runs, self._number("entries"), self._number("change"), self._share, self._is_ready
        )

    def query(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with self._lock:
            return self._database.execute(statement, values).fetchall()

    def forget(self, run: str) -> None:
        """Remove a run that is no longer in the journal."""
        with self._changing():
            for (number,) in self.query("SELECT id FROM runs WHERE run = ?", (run,)):
                self._forget(number)

    def take(self, batch: Batch, since: str) -> None:
        """Add a batch that was read from ``since``; nothing if another process has added it already."""
        with self._changing():
            if self._meta("cursor") != since:
                return
            if batch.is_anew:
                self._clear()
            self._trim(batch.first)
            self._set_meta("cursor", batch.cursor)
            self._share = batch.share
            self._is_ready = self._is_ready or batch.share >= 1.0 or not batch.written
            if not batch.written:
                return
            change = self._number("change") + 1
            self._set_meta("change", str(change))
            self._set_meta("entries", str(self._number("entries") + len(batch.written)))
            for each in self._brought(batch.written).values():
                self._save(each, change)

    def preview(self, written: Sequence[Written]) -> None:
        """Add the newest runs before all others: those that began among these entries."""
        begun = {each.run for each in written if isinstance(each.entry, RunStarted)}
        with self._changing():
            if self._meta("cursor") or not begun:
                return
            self._set_meta("change", str(change := self._number("change") + 1))
            for brought in self._brought([each for each in written if each.run in begun]).values():
                self._save(brought, change)

    def _clear(self) -> None:
        """Delete everything: it is another journal now."""
        for name in _TABLES[1:]:
            self._database.execute(f"DELETE FROM {name}")  # noqa: S608 - names of ours
        self._set_meta("entries", "0")
        self._specs.clear()

    def _trim(self, first: int) -> None:
        """Remove the runs that were trimmed from the beginning of a table."""
        query = "SELECT id FROM runs WHERE last_place > 0 AND last_place < ?"
        for (number,) in self.query(query, (first,)) if first > 1 else ():
            self._forget(number)

    def _forget(self, number: int) -> None:
        self._database.execute("DELETE FROM runs WHERE id = ?", (number,))
        self._database.execute("DELETE FROM calls WHERE run_id = ?", (number,))
        self._database.execute("DELETE FROM places WHERE run_id = ?", (number,))
        between = (number << SHIFT, (number + 1) << SHIFT)
        self._database.execute("DELETE FROM texts WHERE rowid >= ? AND rowid < ?", between)

    def _brought(self, written: Sequence[Written]) -> dict[str, _Brought]:
        brought: dict[str, _Brought] = {}
        for each in written:
            found = brought.get(each.run)
            if found is None:
                # Runs are numbered by where they begin, so that the newest have the highest numbers.
                facts = self.facts(each.run) or new_facts(each.run)
                found = brought[each.run] = _Brought(facts, News(), [], each.place)
            if 0 < each.place <= found.facts.last_place:
                continue
            is_damaged = each.entry is None or found.facts.stop == DAMAGED
            if each.entry is not None:
                fold(found.facts, found.news, each.entry, each.at or time.time())
            if is_damaged:
                # Whatever else is recorded of it: something is missing.
                found.facts.state, found.facts.stop, found.facts.words = "failed", DAMAGED, DAMAGED
            found.facts.last_place = each.place
            if each.end:
                _add_place(found.places, each.start, each.end)
        return brought

    def facts(self, run: str) -> RunFacts | None:
        """The facts of a run."""
        rows = self.query(f"SELECT {_COLUMNS} FROM runs WHERE run = ?", (run,))  # noqa: S608
        return facts_in(rows[0]) if rows else None

    def places(self, number: int) -> list[tuple[int, int]]:
        """Where the lines of a run are in a file of lines."""
        query = "SELECT start, stop FROM places WHERE run_id = ? ORDER BY start"
        return [(start, stop) for start, stop in self.query(query, (number,))]

    def specs(self) -> Iterator[Any]:
        """The last recorded spec of each tool."""
        return (text for (text,) in self.query("SELECT spec FROM specs ORDER BY name"))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    def _save(self, brought: _Brought, change: int) -> None:
        facts, news, execute = brought.facts, brought.news, self._database.execute
        is_new = not facts.id
        if is_new:
            ((counted,),) = self.query("SELECT coalesce(max(id), 0) + 1 FROM runs")
            # Two runs may have lost part of a damaged line, and then both begin with it.
            is_taken = self.query("SELECT 1 FROM runs WHERE id = ?", (brought.begins,))
            facts.id = counted if is_taken or not brought.begins else brought.begins
        execute(_SAVE, _encodable([*(getattr(facts, name) for name in _FIELDS), change]))
        if news.texts:
            first, last = facts.id << SHIFT, (facts.id + 1) << SHIFT
            query = "SELECT coalesce(max(rowid) + 1, ?) FROM texts WHERE rowid >= ? AND rowid < ?"
            ((at,),) = ((first,),) if is_new else self.query(query, (first, first, last))
            body = encodable("\n".join(news.texts))
            execute("INSERT INTO texts (rowid, body) VALUES (?, ?)", (at, body))
        self._database.executemany(_CALL, (_call_row(facts.id, each) for each in news.calls.values()))
        self._save_places(facts.id, brought.places)
        for name, spec in news.specs.items():
            if self._specs.get(name) != spec:
                self._specs[name] = spec
                row = _encodable([name, spec_text(spec), facts.last_at])
                execute("INSERT OR REPLACE INTO specs VALUES (?, ?, ?)", row)

    def _save_places(self, number: int, places: list[tuple[int, int]]) -> None:
        if not places:
            return
        query = "SELECT start, stop FROM places WHERE run_id = ? ORDER BY start DESC LIMIT 1"
        if (known := self.query(query, (number,))) and known[0][1] == places[0][0]:
            places[0] = (known[0][0], places[0][1])
        rows = [(number, start, stop) for start, stop in places]
        self._database.executemany("INSERT OR REPLACE INTO places VALUES (?, ?, ?)", rows)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with self._lock:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")

    def _meta(self, name: str) -> str:
        rows = self.query("SELECT value FROM meta WHERE name = ?", (name,))
        return str(rows[0][0]) if rows else ""

    def _number(self, name: str) -> int:
        return int(self._meta(name) or 0)

    def _set_meta(self, name: str, value: str) -> None:
        self._database.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))


def facts_in(row: Iterable[Any]) -> RunFacts:
    """The facts in a row of the table of runs."""
    return msgspec.convert(dict(zip(_FIELDS, row, strict=False)), RunFacts, strict=False)


COLUMNS = ", ".join(f"runs.{name}" for name in _FIELDS)
"""The columns that ``facts_in`` reads, in its order."""


def index_path(journal: Path, cache: Path) -> Path:
    """The path of the index of a journal's file."""
    name = sha256(os.fsencode(journal.absolute())).hexdigest()[:24]
    return cache / f"{name}.sqlite"


def _add_place(places: list[tuple[int, int]], start: int, end: int) -> None:
    if places and places[-1][1] == start:
        places[-1] = (places[-1][0], end)
    else:
        places.append((start, end))


def _call_row(number: int, call: MadeCall) -> list[Any]:
    return _encodable([number, *(getattr(call, name) for name in MadeCall.__struct_fields__)])


def _encodable(values: Iterable[Any]) -> list[Any]:
    """Values that a database can store: without half surrogate pairs, which a model may write."""
    return [encodable(value) if isinstance(value, str) else value for value in values]
