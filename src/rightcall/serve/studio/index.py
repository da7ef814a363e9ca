"""The index for lists and searches: a separate database, updated as a journal grows.

It holds nothing that the journal does not: it may be deleted at any time, and is rebuilt. Every entry is
read once. No run is in memory longer than the batch with its entries.
"""

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from threading import RLock
from typing import Any, get_type_hints
from weakref import finalize

import msgspec
from msgspec import Struct, field
from msgspec.structs import astuple

from rightcall.core.entry import (
    MODEL_NOTE,
    CallFinished,
    Entry,
    HistoryCompacted,
    Nested,
    ReplyReceived,
    RunEnded,
    RunFailed,
    RunPaused,
    RunResumed,
    RunStarted,
    StepDone,
    ToolsChanged,
)
from rightcall.core.message import User, text_tokens
from rightcall.core.parts import Usage
from rightcall.core.sanitize import encodable
from rightcall.core.tool import Spec
from rightcall.record.redact import redact_text
from rightcall.record.steps import ANSWERED
from rightcall.serve.studio.sources import EntryBatch, FoundEntry, lock_of

MOST_SHOWN = 300
"""Characters of the prompt and of the answer that a list shows."""
_MOST_TEXT = 16 * 1024
"""Characters of one text that are searchable."""
_GOOD = ("returned", "dry_run")
TOKENS = ("input_tokens", "output_tokens", "cached_tokens", "cache_written_tokens", "reasoning_tokens")
"""The counts of tokens that a usage, a run and the API's answers have."""


class CallFacts(Struct):
    """A call of a run, as far as it is known."""

    key: str
    tool: str = ""
    outcome: str | None = None
    seconds: float = 0.0
    tokens_in: int = 0
    """Of the arguments that the model wrote."""
    tokens_out: int = 0
    """Of the result that it read."""
    at: float = 0.0
    arguments: str = ""


class RunFacts(Struct):
    """The facts of a run for lists."""

    run: str
    id: int = 0
    hold: str = ""
    """The name of the run's lock."""
    at: float = 0.0
    last_at: float = 0.0
    agent: str = ""
    model: str = ""
    prompt: str = ""
    answer: str = ""
    state: str = "open"
    """open, paused, decided, ended or failed; the lock tells whether an open run is still under way."""
    stop: str = ""
    """The stop reason of a run that has ended."""
    words: str = ""
    """The full text of how it stopped."""
    turns: int = 0
    calls: int = 0
    bad_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_written_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0
    entries: int = 0
    parent: str | None = None
    pending: int = 0
    tainted: bool = False
    last_place: int = 0
    """The place of its last indexed entry, if entries have one: everything up to there is indexed."""
    is_noted: bool = False
    """Whether the model's name was noted in the record, which takes precedence over the vendor's."""


class News(Struct):
    """What entries contain besides: texts to search, calls to count, tools to show."""

    texts: list[str] = field(default_factory=list)
    calls: dict[str, CallFacts] = field(default_factory=dict)
    specs: dict[str, Spec] = field(default_factory=dict)


def fold(facts: RunFacts, news: News, entry: Entry, at: float) -> None:
    """Add the next entry of a run."""
    facts.at = facts.at or at
    facts.last_at = max(facts.last_at, at)
    facts.entries += 1
    inside = entry
    path = ""
    while isinstance(inside, Nested):
        path = f"{path}{inside.path}/"
        inside = inside.entry
    _collect(news, inside, path, at)
    if not path:
        match inside:
            case RunStarted():
                facts.prompt = ""
                for message in inside.messages:
                    if isinstance(message, User):
                        facts.prompt = _short(message.text)
                facts.parent = inside.parent
                facts.agent = inside.agent
                facts.state = "open"
            case ReplyReceived(reply=reply):
                facts.turns += 1
                if not facts.is_noted:
                    facts.model = reply.answered_by or reply.model or facts.model
                facts.answer = _short(reply.text) or facts.answer
                facts.tainted = facts.tainted or bool(reply.tainted)
                _spend(facts, reply.usage)
                facts.seconds += inside.seconds
                facts.state = "open"
            case CallFinished(result=result, usage=usage):
                facts.calls += not result.waits
                facts.bad_calls += result.outcome not in _GOOD
                facts.tainted = facts.tainted or result.source is not None
                facts.seconds += inside.seconds
                facts.state = "open"
                if usage is not None:
                    _spend(facts, usage)
            case HistoryCompacted(usage=usage):
                _spend(facts, usage)
                facts.seconds += inside.seconds
                facts.state = "open"
            case StepDone(key=key, value=value) if key == MODEL_NOTE:
                facts.model = value
                facts.is_noted = True
            case RunPaused(call_ids=call_ids):
                facts.state = "paused"
                facts.pending = len(call_ids)
            case RunResumed():
                # An end is final: a journal may record a resume after it.
                facts.state = "ended" if facts.state == "ended" else "decided"
                facts.pending = 0
            case RunEnded(stop=stop):
                facts.state = "ended"
                facts.stop = stop.reason
                facts.words = str(stop)
            case RunFailed(code=code, message=message):
                facts.state = "failed"
                facts.stop = "failed"
                facts.words = f"{code}: {message}"[:MOST_SHOWN]
            case _ if facts.state != "paused":
                facts.state = "open"
            case _:
                pass
    elif isinstance(inside, CallFinished) and inside.result.source is not None:
        facts.tainted = True


def _spend(facts: RunFacts, usage: Usage) -> None:
    for name in TOKENS:
        setattr(facts, name, getattr(facts, name) + getattr(usage, name))
    if usage.cost is not None:
        facts.cost = (facts.cost or 0.0) + usage.cost


def _collect(news: News, entry: Entry, path: str, at: float) -> None:
    """Collect the texts, calls and tools of an entry, including those of inner runs."""
    match entry:
        case RunStarted(messages=messages, specs=specs):
            for each in messages:
                if isinstance(each, User):
                    news.texts.append(_text(each.text))
            news.specs |= {spec.name: spec for spec in specs}
        case ToolsChanged(specs=specs):
            news.specs |= {spec.name: spec for spec in specs}
        case ReplyReceived(key=key, reply=reply):
            if reply.text:
                news.texts.append(_text(reply.text))
            for index, call in enumerate(reply.calls):
                place = f"{path}{key.removesuffix('.model')}.{index}.{call.name}"
                made = news.calls.setdefault(place, CallFacts(place))
                made.tool = call.name
                made.at = at
                made.arguments = _text(call.arguments)[:MOST_SHOWN]
                made.tokens_in = text_tokens(call.arguments)
                news.texts.append(_text(f"{call.name} {call.arguments}"))
        case CallFinished(key=key, result=result):
            place = f"{path}{key.removesuffix(ANSWERED)}"
            made = news.calls.setdefault(place, CallFacts(place))
            made.tool = result.name
            made.outcome = result.outcome
            made.seconds = entry.seconds
            made.tokens_out = text_tokens(result.text)
            made.at = at
            news.texts.append(_text(result.text))
        case _:
            pass


def _short(text: str) -> str:
    return redact_text(text[: 4 * MOST_SHOWN])[:MOST_SHOWN]


def _text(text: str) -> str:
    return redact_text(text[:_MOST_TEXT])


def spec_text(spec: Spec) -> str:
    """A tool's spec as JSON, for the index."""
    return json.dumps(msgspec.to_builtins(spec))


_FOLDING = "6"
"""Changing it rebuilds every index: for when the same fields are filled in another way."""
SHIFT = 20
"""Lower bits of a text's rowid, which number the texts of one run; the upper bits are the run's id."""
DAMAGED = "damaged"
"""The stop reason of a run whose record is partly unreadable."""
_FIELDS = RunFacts.__struct_fields__
_COLUMNS = ", ".join(_FIELDS)
_SQL_TYPES: Mapping[object, str] = {
    str: "TEXT", str | None: "TEXT", int: "INTEGER", bool: "INTEGER", float: "REAL", float | None: "REAL"
}  # fmt: skip
_KEYS = {"id": "INTEGER PRIMARY KEY", "run": "TEXT NOT NULL UNIQUE"}


def _run_columns() -> str:
    """The columns of the table of runs: one for each field of ``RunFacts``."""
    kinds = get_type_hints(RunFacts)
    return ", ".join(f"{name} {_KEYS.get(name) or _SQL_TYPES[kinds[name]]}" for name in _FIELDS)


_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE IF NOT EXISTS runs ({_run_columns()}, changed INTEGER);
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
_VERSION = f"{_FOLDING}-{sha256(_SCHEMA.encode()).hexdigest()[:16]}"
"""Another schema has another version, and the index is rebuilt."""
_SAVE = f"""
INSERT OR REPLACE INTO runs ({_COLUMNS}, changed) VALUES ({", ".join("?" * len(_FIELDS))}, ?)
"""  # noqa: S608 - the columns are ours
_CALL = """
INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
    outcome = excluded.outcome, seconds = excluded.seconds, tokens_out = excluded.tokens_out
"""
_TABLES = ("meta", "runs", "calls", "specs", "places", "texts")


class IndexProgress(Struct, frozen=True):
    """How far the index is."""

    runs: int
    entries: int
    change: int
    """Grows with every batch that contained something."""
    share: float
    is_ready: bool


class _RunChange(Struct):
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
        self._share = 0.0
        self._is_ready = False
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
        except sqlite3.DatabaseError:
            self._database.close()
            raise

    @property
    def cursor(self) -> str:
        """Where the next read of the journal begins."""
        with self._lock:
            return self._meta("cursor")

    def progress(self) -> IndexProgress:
        """How far it is."""
        ((runs,),) = self.query("SELECT count(*) FROM runs")
        return IndexProgress(
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

    def take(self, batch: EntryBatch, since: str) -> None:
        """Add a batch that was read from ``since``; nothing if another process has added it already."""
        with self._changing():
            if self._meta("cursor") != since:
                return
            if batch.is_anew:
                # Delete everything: it is another journal now.
                for name in _TABLES[1:]:
                    self._database.execute(f"DELETE FROM {name}")  # noqa: S608 - names of ours
                self._set_meta("entries", "0")
                self._specs.clear()
            if batch.first > 1:
                # Remove the runs that were trimmed from the beginning of a table.
                query = "SELECT id FROM runs WHERE last_place > 0 AND last_place < ?"
                for (number,) in self.query(query, (batch.first,)):
                    self._forget(number)
            self._set_meta("cursor", batch.cursor)
            self._share = batch.share
            self._is_ready = self._is_ready or batch.share >= 1.0 or not batch.written
            if not batch.written:
                return
            change = self._number("change") + 1
            self._set_meta("change", str(change))
            self._set_meta("entries", str(self._number("entries") + len(batch.written)))
            for each in self._collect_changes(batch.written).values():
                self._save(each, change)

    def preview(self, written: Sequence[FoundEntry]) -> None:
        """Add the newest runs before all others: those that began among these entries."""
        begun = set()
        for each in written:
            if isinstance(each.entry, RunStarted):
                begun.add(each.run)
        with self._changing():
            if self._meta("cursor") or not begun:
                return
            change = self._number("change") + 1
            self._set_meta("change", str(change))
            newest = [each for each in written if each.run in begun]
            for brought in self._collect_changes(newest).values():
                self._save(brought, change)

    def _forget(self, number: int) -> None:
        self._database.execute("DELETE FROM runs WHERE id = ?", (number,))
        self._database.execute("DELETE FROM calls WHERE run_id = ?", (number,))
        self._database.execute("DELETE FROM places WHERE run_id = ?", (number,))
        between = (number << SHIFT, (number + 1) << SHIFT)
        self._database.execute("DELETE FROM texts WHERE rowid >= ? AND rowid < ?", between)

    def _collect_changes(self, written: Sequence[FoundEntry]) -> dict[str, _RunChange]:
        brought: dict[str, _RunChange] = {}
        for each in written:
            found = brought.get(each.run)
            if found is None:
                # Runs are numbered by where they begin, so that the newest have the highest numbers.
                facts = self.facts(each.run) or RunFacts(run=each.run, hold=lock_of(each.run))
                found = brought[each.run] = _RunChange(facts, News(), [], each.place)
            if 0 < each.place <= found.facts.last_place:
                continue
            is_damaged = each.entry is None or found.facts.stop == DAMAGED
            if each.entry is not None:
                fold(found.facts, found.news, each.entry, each.at or time.time())
            if is_damaged:
                # Whatever else is recorded of it: something is missing.
                found.facts.state = "failed"
                found.facts.stop = DAMAGED
                found.facts.words = DAMAGED
            found.facts.last_place = each.place
            if each.end:
                if found.places and found.places[-1][1] == each.start:
                    found.places[-1] = (found.places[-1][0], each.end)
                else:
                    found.places.append((each.start, each.end))
        return brought

    def facts(self, run: str) -> RunFacts | None:
        """The facts of a run."""
        rows = self.query(f"SELECT {_COLUMNS} FROM runs WHERE run = ?", (run,))  # noqa: S608
        return facts_in(rows[0]) if rows else None

    def places(self, number: int) -> list[tuple[int, int]]:
        """Where the lines of a run are in a file of lines."""
        query = "SELECT start, stop FROM places WHERE run_id = ? ORDER BY start"
        return [(start, stop) for start, stop in self.query(query, (number,))]

    def specs(self) -> list[str]:
        """The last recorded spec of each tool."""
        return [text for (text,) in self.query("SELECT spec FROM specs ORDER BY name")]

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    def _save(self, brought: _RunChange, change: int) -> None:
        facts = brought.facts
        news = brought.news
        execute = self._database.execute
        is_new = not facts.id
        if is_new:
            ((counted,),) = self.query("SELECT coalesce(max(id), 0) + 1 FROM runs")
            # Two runs may have lost part of a damaged line, and then both begin with it.
            is_taken = self.query("SELECT 1 FROM runs WHERE id = ?", (brought.begins,))
            facts.id = counted if is_taken or not brought.begins else brought.begins
        execute(_SAVE, _encodable([*astuple(facts), change]))
        if news.texts:
            first = facts.id << SHIFT
            last = (facts.id + 1) << SHIFT
            query = "SELECT coalesce(max(rowid) + 1, ?) FROM texts WHERE rowid >= ? AND rowid < ?"
            ((at,),) = self.query(query, (first, first, last))
            body = encodable("\n".join(news.texts))
            execute("INSERT INTO texts (rowid, body) VALUES (?, ?)", (at, body))
        for call in news.calls.values():
            execute(_CALL, _encodable([facts.id, *astuple(call)]))
        if places := brought.places:
            query = "SELECT start, stop FROM places WHERE run_id = ? ORDER BY start DESC LIMIT 1"
            known = self.query(query, (facts.id,))
            if known and known[0][1] == places[0][0]:
                # They continue the last place that was saved.
                places[0] = (known[0][0], places[0][1])
            for start, stop in places:
                execute("INSERT OR REPLACE INTO places VALUES (?, ?, ?)", (facts.id, start, stop))
        for name, spec in news.specs.items():
            if self._specs.get(name) != spec:
                self._specs[name] = spec
                row = _encodable([name, spec_text(spec), facts.last_at])
                execute("INSERT OR REPLACE INTO specs VALUES (?, ?, ?)", row)

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


def _encodable(values: Iterable[Any]) -> list[Any]:
    """Values that a database can store: without half surrogate pairs, which a model may write."""
    return [encodable(value) if isinstance(value, str) else value for value in values]
