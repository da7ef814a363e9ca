"""A journal of any kind into the studio's source of runs."""

import asyncio
import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from hashlib import sha256
from inspect import isawaitable
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from rightcall.core.decision import FinalDecision
from rightcall.core.entry import Entry
from rightcall.core.message import Transcript
from rightcall.core.ports import AsyncJournal, Journal
from rightcall.durable.app import App, RunInfo
from rightcall.durable.engine import is_store
from rightcall.errors import JournalError, UsageError
from rightcall.record.entry_text import decode
from rightcall.record.file_journal import FileJournal
from rightcall.record.journal_kinds import DATABASE, kind_by_content, kind_by_name, kind_of
from rightcall.record.jsonl import JsonLinesJournal
from rightcall.record.lines import CANCEL, owners, parse_line
from rightcall.record.run_lock import myself
from rightcall.record.sqlite import SqliteJournal
from rightcall.record.steps import entries_of


class FoundEntry(Struct, frozen=True, gc=False):
    """One entry, as it was found."""

    run: str
    at: float
    """When it was written, in seconds since 1970; 0 if unknown."""
    entry: Entry | None
    """None for a line that cannot be read."""
    start: int = 0
    end: int = 0
    """Its byte range in a file of lines."""
    row: int = 0
    """Its number in a table."""

    @property
    def place(self) -> int:
        """A number that only grows from entry to entry; 0 if there is none."""
        return self.row or self.end


class EntryBatch(Struct, frozen=True):
    """The entries that were written since a cursor."""

    written: Sequence[FoundEntry]
    cursor: str
    """Where the next read begins."""
    share: float = 1.0
    """The share of the whole that has been read."""
    is_anew: bool = False
    """Whether another journal has replaced the one that was read before."""
    first: int = 0
    """The lowest number that is left in a table: earlier rows were trimmed."""


class RunRecord(Struct, frozen=True):
    """Everything that is recorded of a run."""

    entries: tuple[Entry, ...] = ()
    times: tuple[float, ...] = ()
    """When each was written; empty if unknown."""


def lock_of(run: str) -> str:
    """The name of the lock of a run."""
    return sha256(run.encode(errors="surrogatepass")).hexdigest()[:32]


class RunSource(Protocol):
    """The source of the studio's runs."""

    name: str
    kind: str

    async def read(self, cursor: str, most: int, /) -> EntryBatch:
        """At most so many entries after the cursor, in the order in which they were written."""

    async def newest(self, most: int, /) -> Sequence[FoundEntry]:
        """Some of the latest entries, to be shown before everything else has been read."""

    async def run(self, name: str, places: Sequence[tuple[int, int]], /) -> RunRecord:
        """The record of one run, which is at these places in a file of lines."""

    def held_locks(self) -> frozenset[str]:
        """The names of the locks of runs that a process holds."""

    def holder(self, lock: str, /) -> str:
        """Who holds the lock of a run; empty if nobody is known to."""

    def journal(self) -> Journal | AsyncJournal:
        """The journal itself, to write into."""

    async def close(self) -> None:
        """Close it."""


@runtime_checkable
class DecidingJournal(Protocol):
    """A store that continues runs by itself, as a durable one does."""

    async def decide(self, run: str, decisions: Mapping[str, FinalDecision], /) -> object:
        """Take a person's decisions. Raises AlreadyDecided if there are others."""


@runtime_checkable
class SubmittingJournal(Protocol):
    """A store that starts runs by itself: forks of its runs, and prompts to its agents."""

    async def fork(self, run: str, before_turn: int, new: str, /) -> None:
        """Begin another run from before a turn of this one."""

    async def submit(
        self, agent: str, prompt: str, run: str, history: Transcript, /, *, dry_run: bool
    ) -> None:
        """Submit a run of an agent that the store's workers have."""

    async def say(self, run: str, text: str, /, *, now: bool) -> None:
        """Add a message to a run that goes on."""


_HOLDER = re.compile(r"process (\d+) on (.+)")


class FileSource:
    """A file of runs, and the locks beside it."""

    kind = "file"

    def __init__(self, path: Path, journal: Journal | None = None) -> None:
        self.path = path.absolute()
        self.name = path.name
        self._journal = journal
        self._is_own = journal is None
        self._locks = self.path.with_name(f"{path.name}.holds")

    def held_locks(self) -> frozenset[str]:
        """The locks whose holders are alive. No lock is taken to find out: that would block a holder."""
        try:
            names = [path.name for path in self._locks.iterdir()]
        except OSError:
            return frozenset()
        return frozenset(filter(self.holder, names))

    def holder(self, lock: str) -> str:
        """The holder that is named in the lock, if it is still alive."""
        try:
            told = (self._locks / lock).read_text(errors="replace")
        except OSError:
            return ""
        found = _HOLDER.fullmatch(told)
        if found is None or found[2] != myself().rpartition(" on ")[2]:
            return told
        with suppress(OSError, OverflowError):
            try:
                os.kill(int(found[1]), 0)
            except ProcessLookupError:
                return ""
        return told

    async def read(self, cursor: str, most: int) -> EntryBatch:
        """At most so many entries after the cursor."""
        return await asyncio.to_thread(self._read, cursor, most)

    async def newest(self, most: int) -> Sequence[FoundEntry]:
        """The last entries."""
        return await asyncio.to_thread(self._newest, most)

    async def run(self, name: str, places: Sequence[tuple[int, int]]) -> RunRecord:
        """The entries of a run."""
        return await asyncio.to_thread(self._run, name, places)

    def _read(self, cursor: str, most: int) -> EntryBatch:
        raise NotImplementedError

    def _newest(self, most: int) -> Sequence[FoundEntry]:
        raise NotImplementedError

    def _run(self, name: str, places: Sequence[tuple[int, int]]) -> RunRecord:
        raise NotImplementedError

    async def close(self) -> None:
        """Close the journal, if it was opened here."""
        close = getattr(self._journal, "close", None)
        if self._is_own and close is not None:
            close()


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Raises any error of a file as a JournalError."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise JournalError(str(path), str(error)) from error


_MUCH = 8 * 1024 * 1024
"""Bytes that are read at once."""


class LinesSource(FileSource):
    """A JSON Lines journal, read line by line, without opening it as a journal."""

    kind = "jsonl"

    def _read(self, cursor: str, most: int) -> EntryBatch:
        with disk_errors(self.path), self.path.open("rb") as file:
            # Identifies the file, to detect one that replaced it, such as a repaired one.
            first = file.readline()
            identity = "empty"
            if first.endswith(b"\n"):
                identity = f"{os.fstat(file.fileno()).st_ino}-{sha256(first).hexdigest()[:16]}"
            size = os.fstat(file.fileno()).st_size
            known, _, at = cursor.partition(":")
            start = int(at or 0)
            is_anew = bool(cursor) and (known != identity or start > size)
            if start and not is_anew:
                # If it is still the end of a line, the file before it may be unchanged.
                file.seek(start - 1)
                is_anew = file.read(1) != b"\n"
            if is_anew:
                start = 0
            file.seek(start)
            data = file.read(_MUCH)
            if b"\n" not in data and len(data) == _MUCH:
                data += file.readline()
        found = list[FoundEntry]()
        end = start
        for line in _lines(data):
            if not line.endswith(b"\n") or len(found) >= most:
                break
            found += _parse_entries(line, end)
            end += len(line)
        return EntryBatch(found, f"{identity}:{end}", end / size if size else 1.0, is_anew)

    def _newest(self, most: int) -> Sequence[FoundEntry]:
        with disk_errors(self.path), self.path.open("rb") as file:
            start = max(os.fstat(file.fileno()).st_size - _MUCH // 2, 0)
            file.seek(start)
            if start:
                start += len(file.readline())
            data = file.read(_MUCH // 2)
        whole = data[: data.rfind(b"\n") + 1]
        return list(_in_range(whole, start))[-most:]

    def _run(self, name: str, places: Sequence[tuple[int, int]]) -> RunRecord:
        entries = []
        times = []
        with disk_errors(self.path), self.path.open("rb") as file:
            for start, end in places:
                file.seek(start)
                for each in _in_range(file.read(end - start), start):
                    if each.run == name and each.entry is None:
                        raise JournalError(str(self.path), "a line of this run is damaged")
                    if each.run == name and each.entry is not None:
                        entries.append(each.entry)
                        times.append(each.at)
        return RunRecord(tuple(entries), tuple(times))

    def journal(self) -> Journal:
        """The journal, opened when it is first needed, because it then reads every line of the file."""
        if self._journal is None:
            self._journal = JsonLinesJournal(self.path)
        return self._journal


def _lines(data: bytes) -> Iterator[bytes]:
    """Lines that end in a line feed, whatever else is in them."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start) + 1 or len(data)
        yield data[start:end]
        start = end


def _in_range(data: bytes, start: int) -> Iterator[FoundEntry]:
    for line in _lines(data):
        yield from _parse_entries(line, start)
        start += len(line)


def _parse_entries(line: bytes, start: int) -> Iterator[FoundEntry]:
    """The entry in a line; for a damaged one, only the runs that it may belong to."""
    if not line.strip() or line.endswith(CANCEL):
        return
    end = start + len(line)
    try:
        read = parse_line(line)
        yield FoundEntry(read.run, read.at, decode(bytes(read.entry), "line"), start, end)
    except (ValueError, JournalError):
        for run in owners(line)[0]:
            yield FoundEntry(run, 0.0, None, start, end)


_COLUMNS = "id, CAST(run AS TEXT), CAST(at AS REAL), CAST(entry AS BLOB)"
"""Of the types that they should have, so that one damaged row spoils no others."""


class TableSource(FileSource):
    """An SQLite journal, read row by row, without opening it as a journal."""

    kind = "sqlite"

    def _read(self, cursor: str, most: int) -> EntryBatch:
        last = int(cursor or 0)
        with disk_errors(self.path), closing(self._connect()) as connection:
            query = f"SELECT {_COLUMNS} FROM entries WHERE id > ? ORDER BY id LIMIT ?"  # noqa: S608
            try:
                bounds = "SELECT (SELECT min(id) FROM entries), (SELECT max(id) FROM entries)"
                ((first, newest),) = connection.execute(bounds).fetchall()
                is_anew = last > (newest or 0)
                rows = connection.execute(query, (0 if is_anew else last, most)).fetchall()
            except sqlite3.OperationalError as error:
                if "no such table" not in str(error):
                    raise
                return EntryBatch((), cursor)
        found = [FoundEntry(run, at, _entry(text), row=row) for row, run, at, text in rows]
        end = 0 if is_anew else last
        if rows:
            end = rows[-1][0]
        return EntryBatch(found, str(end), end / newest if newest else 1.0, is_anew, first or 0)

    def _newest(self, most: int) -> Sequence[FoundEntry]:
        query = f"SELECT {_COLUMNS} FROM entries ORDER BY id DESC LIMIT ?"  # noqa: S608
        with disk_errors(self.path), closing(self._connect()) as connection:
            try:
                rows = connection.execute(query, (most,)).fetchall()
            except sqlite3.OperationalError as error:
                if "no such table" not in str(error):
                    raise
                return ()
        return [FoundEntry(run, at, _entry(text), row=row) for row, run, at, text in reversed(rows)]

    def _run(self, name: str, _: Sequence[tuple[int, int]]) -> RunRecord:
        query = f"SELECT {_COLUMNS} FROM entries WHERE run = ? ORDER BY id"  # noqa: S608
        with disk_errors(self.path), closing(self._connect()) as connection:
            rows = connection.execute(query, (name,)).fetchall()
        entries = tuple([decode(text, f"{self.path}, entry {at}") for at, _, _, text in rows])
        return RunRecord(entries, tuple([at for _, _, at, _ in rows]))

    def journal(self) -> Journal:
        """The journal, opened when it is first needed."""
        if self._journal is None:
            self._journal = SqliteJournal(self.path)
        return self._journal

    def _connect(self) -> sqlite3.Connection:
        # Read-only, by URI: as_uri quotes a question mark or a hash in the path.
        address = f"{self.path.as_uri()}?mode=ro"
        connection = sqlite3.connect(address, uri=True, timeout=5.0, isolation_level=None)
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        return connection


def _entry(text: bytes) -> Entry | None:
    try:
        return decode(text, "entry")
    except JournalError:
        return None


_LATEST = 500
"""Segments that are listed at each look; of older runs, only those that had not ended are checked."""
_OVER = ("done", "failed", "cancelled")


class DurableSource:
    """The runs of a store, whose workers execute them. The studio is a client of it, and never a worker.

    What has been seen of the runs is known to this object alone.
    """

    kind = "durable"

    def __init__(self, place: str | App) -> None:
        if isinstance(place, str):
            self._app = App(place)
        else:
            self._app = App(place.address, place.agents.values(), queues=())
        address = urlsplit(self._app.address)
        if address.scheme.startswith("sqlite"):
            path = Path(unquote(address.path.removeprefix("/")))
            # A client creates what is missing, and a studio must not.
            if not path.is_file() or not is_store(path):
                raise UsageError(f"there is no store of durable runs at {self._app.address}")
        # Without the user and the password.
        self.name = f"{address.scheme}://{address.netloc.rpartition('@')[2]}{address.path}"
        self._journal = _StoreJournal(self._app)
        self._runs = dict[str, RunInfo]()
        self._seen: dict[str, tuple[int, Entry]] = {}
        """By run: how many entries were returned, and the last of them."""
        self._todo: dict[str, None] = {}

    async def read(self, cursor: str, most: int) -> EntryBatch:
        """The new entries of runs since the last look."""
        is_anew = not cursor
        if is_anew:
            self._runs.clear()
            self._seen.clear()
            self._todo.clear()
        await self._look()
        found: list[FoundEntry] = []
        while self._todo and len(found) < most:
            run = next(iter(self._todo))
            story = await self._story(run)
            count, last = self._seen.get(run, (0, None))
            if count and (len(story) < count or story[count - 1][1] != last):
                # Its entries have changed, as if a run that had ended goes on after all: start over.
                return EntryBatch((), "")
            found += [FoundEntry(run, at, entry) for at, entry in story[count:]]
            if story:
                self._seen[run] = (len(story), story[-1][1])
            del self._todo[run]
        share = len(self._seen) / max(1, len(self._seen) + len(self._todo))
        return EntryBatch(found, "seen", is_anew=is_anew, share=share)

    async def _look(self) -> None:
        """Find runs that are new, have changed, or are under way."""
        infos = list(await self._app.list(limit=_LATEST if self._runs else None))
        infos.reverse()
        listed = {info.run for info in infos}
        for known in list(self._runs.values()):
            if known.status not in _OVER and known.run not in listed:
                try:
                    infos.append((await self._app.show(known.run)).info)
                except UsageError:
                    # Deleted from the store.
                    del self._runs[known.run]
        for info in infos:
            if self._runs.get(info.run) != info or info.status == "running":
                self._runs[info.run] = info
                self._todo[info.run] = None

    async def _story(self, run: str) -> Sequence[tuple[float, Entry]]:
        try:
            return await self._app.story(run)
        except UsageError:
            return ()

    async def newest(self, _: int) -> Sequence[FoundEntry]:
        """Nothing: the latest are read with all others."""
        return ()

    async def run(self, name: str, _: Sequence[tuple[int, int]]) -> RunRecord:
        """The run as the store has it."""
        story = await self._story(name)
        return RunRecord(tuple([entry for _, entry in story]), tuple([at for at, _ in story]))

    def held_locks(self) -> frozenset[str]:
        """Runs that a worker executes, or will take."""
        locks = set()
        for each in self._runs.values():
            if each.status in ("queued", "running"):
                locks.add(lock_of(each.run))
        return frozenset(locks)

    def holder(self, lock: str) -> str:
        """The worker of a run."""
        for each in self._runs.values():
            if lock_of(each.run) == lock:
                return each.worker or "the queue"
        return ""

    def journal(self) -> AsyncJournal:
        """The store as a journal, for reading a run or deciding."""
        return self._journal

    async def close(self) -> None:
        """Disconnect from the store."""
        await self._app.close()


class _StoreJournal:
    """A store in the place of a journal: read like one, and written only by its workers."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def runs(self) -> Sequence[str]:
        """The names of all runs, oldest first."""
        return [info.run for info in reversed(await self._app.list())]

    async def entries(self, run: str) -> Sequence[Entry]:
        try:
            return [entry for _, entry in await self._app.story(run)]
        except UsageError:
            return ()

    async def decide(self, run: str, decisions: Mapping[str, FinalDecision]) -> object:
        """Answer the calls that a run waits for."""
        return await self._app.decide(run, decisions)

    async def fork(self, run: str, before_turn: int, new: str) -> None:
        """Begin another run from before a turn of this one."""
        await self._app.fork(run, at=f"t{before_turn}.model", new=new)

    async def submit(
        self, agent: str, prompt: str, run: str, history: Transcript, *, dry_run: bool
    ) -> None:
        """Submit a run; a worker that has the agent takes it."""
        await self._app.submit(agent, prompt, run=run, history=history, dry_run=dry_run)

    async def say(self, run: str, text: str, *, now: bool) -> None:
        """Add a message to a run; the worker that executes it delivers it."""
        await self._app.say(run, text, now=now)

    async def append(self, run: str, _: Entry) -> None:
        """Refuse: only workers write."""
        raise UsageError(
            f"run {run!r}: what is written into a store of durable runs is written by its workers; "
            "use rightcall runs fork, or submit a run"
        )


Place: TypeAlias = str | Path | Journal | AsyncJournal | App
"""A journal, the file of one, or a store of durable runs or its address."""


def source_of(place: Place, *, may_make: bool = False) -> RunSource:
    """The source of a journal, or of a journal's file, which is created if ``may_make`` and missing."""
    if isinstance(place, App) or (isinstance(place, str) and "://" in place):
        return DurableSource(place)
    if isinstance(place, FileJournal):
        return _READERS[kind_of(place).reader](place.path, place)
    if not isinstance(place, str | Path):
        return ListedSource(place)
    path = Path(place)
    if may_make and not path.exists():
        (kind_by_name(path) or DATABASE).open(path).close()
    if not path.is_file():
        raise UsageError(f"there is no journal {path}")
    kind = kind_by_content(path)
    if kind is DATABASE and is_store(path):
        return DurableSource(f"sqlite:///{path}")
    return _READERS[kind.reader](path)


_READERS: Mapping[str, Callable[..., RunSource]] = {
    "LinesSource": LinesSource,
    "TableSource": TableSource,
}
"""What reads a journal's file here, by the name that its row in ``record/journal_kinds.py`` gives."""


class ListedSource:
    """A journal of any other kind, in memory or custom: read run by run."""

    def __init__(self, journal: Journal | AsyncJournal) -> None:
        self._journal = journal
        self.name = type(journal).__name__
        self.kind = "memory" if self.name == "MemoryJournal" else "other"
        self._seen: dict[str, int] = {}

    async def read(self, cursor: str, most: int) -> EntryBatch:
        """The new entries of runs since the last read, which only this object keeps track of."""
        is_anew = not cursor
        if is_anew:
            self._seen.clear()
        found: list[FoundEntry] = []
        listed = self._journal.runs()
        runs = await listed if isawaitable(listed) else listed
        for run in runs:
            entries = await entries_of(self._journal, run)
            new = entries[self._seen.get(run, 0) :]
            self._seen[run] = len(entries)
            found += [FoundEntry(run, 0.0, entry) for entry in new]
            if len(found) >= most:
                break
        return EntryBatch(found, "seen", is_anew=is_anew)

    async def newest(self, _: int) -> Sequence[FoundEntry]:
        """Nothing: such journals are not so long."""
        return ()

    async def run(self, name: str, _: Sequence[tuple[int, int]]) -> RunRecord:
        """The run as the journal gives it."""
        written = getattr(self._journal, "written", None)
        times: Sequence[float] = ()
        if written is not None:
            with suppress(UsageError):
                told = written(name)
                times = await told if isawaitable(told) else told
        entries = tuple(await entries_of(self._journal, name))
        return RunRecord(entries, tuple(times) if len(times) == len(entries) else ())

    def held_locks(self) -> frozenset[str]:
        """Empty: it is not known."""
        return frozenset()

    def holder(self, _: str) -> str:
        """Empty: it is not known."""
        return ""

    def journal(self) -> Journal | AsyncJournal:
        """The journal itself."""
        return self._journal

    async def close(self) -> None:
        """Do nothing: the journal belongs to the caller."""
