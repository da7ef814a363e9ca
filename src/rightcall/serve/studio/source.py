"""A journal of any kind into a stream of what was written, and into the record of one run.

The files are read, and nothing in them is touched: neither a lock is taken nor a table made. A journal
is opened as such only when something is to be written. Whatever else keeps runs, a durable store or a
journal of somebody's own, needs ``runs`` and ``entries``, which may be async; ``written`` where it knows
times; and ``decide`` where it goes on with a run by itself (``hosting.Deciding``).
"""

import asyncio
import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from hashlib import sha256
from inspect import isawaitable
from pathlib import Path
from typing import BinaryIO, Protocol

from msgspec import Struct

from rightcall.core.entry import Entry
from rightcall.core.ports import AsyncJournal, Journal
from rightcall.errors import JournalError, UsageError
from rightcall.record.entry_text import decode
from rightcall.record.hold import myself
from rightcall.record.jsonl import JsonLinesJournal
from rightcall.record.lines import CANCEL, owners, parse_line
from rightcall.record.sqlite import SqliteJournal
from rightcall.record.steps import entries_of

_MUCH = 8 * 1024 * 1024
"""Bytes that are read at once."""
_HOLDER = re.compile(r"process (\d+) on (.+)")


class Written(Struct, frozen=True, gc=False):
    """One entry, as it was found."""

    run: str
    at: float
    """When it was written, in seconds since 1970; 0 where nobody knows."""
    entry: Entry | None
    """None for a line that cannot be read."""
    start: int = 0
    end: int = 0
    """Where it stands in a file of lines."""
    row: int = 0
    """Its number in a table."""

    @property
    def place(self) -> int:
        """A number that only grows from entry to entry; 0 where there is none."""
        return self.row or self.end


class Batch(Struct, frozen=True):
    """What was written since a look."""

    written: Sequence[Written]
    cursor: str
    """Where the next look begins."""
    share: float = 1.0
    """How much of the whole has been seen."""
    is_anew: bool = False
    """Another journal stands where the one was that was looked at before."""
    first: int = 0
    """The lowest number that is left in a table: what came before it was trimmed away."""


class Recorded(Struct, frozen=True):
    """Everything that is recorded of a run."""

    entries: tuple[Entry, ...] = ()
    times: tuple[float, ...] = ()
    """When each was written; empty where nobody knows."""


class Source(Protocol):
    """Where the studio's runs are."""

    name: str
    kind: str

    async def read(self, cursor: str, most: int, /) -> Batch:
        """At most so many entries after the cursor, in the order in which they were written."""
        ...

    async def newest(self, most: int, /) -> Sequence[Written]:
        """Some of what was written last, to be shown before everything else has been read."""
        ...

    async def run(self, name: str, places: Sequence[tuple[int, int]], /) -> Recorded:
        """The record of one run, which stands at these places of a file of lines."""
        ...

    def held(self) -> frozenset[str]:
        """The names of the locks of runs that somebody is at."""
        ...

    def holder(self, lock: str, /) -> str:
        """Who is at the run with that lock; nothing where nobody is known to be."""
        ...

    def journal(self) -> Journal | AsyncJournal:
        """The journal itself, to write into."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


def source_of(place: str | Path | Journal | AsyncJournal, *, may_make: bool = False) -> Source:
    """The source for a journal, or for the file of one, which ``may_make`` makes where there is none."""
    if isinstance(place, JsonLinesJournal | SqliteJournal):
        kind = LinesSource if isinstance(place, JsonLinesJournal) else TableSource
        return kind(place.path, place)
    if not isinstance(place, str | Path):
        return ListedSource(place)
    path = Path(place)
    if may_make and not path.exists():
        kind_of_file(path)(path).close()
    if not path.is_file():
        raise UsageError(f"there is no journal {path}")
    return TableSource(path) if _is_database(path) else LinesSource(path)


def kind_of_file(path: Path) -> type[JsonLinesJournal] | type[SqliteJournal]:
    """The journal that a file of that name would be."""
    return JsonLinesJournal if path.suffix.lower() in (".jsonl", ".ndjson") else SqliteJournal


def _is_database(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(16)
    return head.startswith(b"SQLite format 3") or (not head and kind_of_file(path) is SqliteJournal)


class _FileSource:
    """What both kinds of files have in common: the locks beside them."""

    kind = "file"

    def __init__(self, path: Path, journal: Journal | None = None) -> None:
        self.path = path.absolute()
        self.name = path.name
        self._journal = journal
        self._is_own = journal is None
        self._locks = self.path.with_name(f"{path.name}.holds")

    def held(self) -> frozenset[str]:
        """The locks whose holders are alive. None is tried: that would be in the way of a holder."""
        try:
            names = [path.name for path in self._locks.iterdir()]
        except OSError:
            return frozenset()
        return frozenset(name for name in names if self.holder(name))

    def holder(self, lock: str) -> str:
        """Who wrote itself into the lock, if it is still there."""
        try:
            told = (self._locks / lock).read_text(errors="replace")
        except OSError:
            return ""
        found = _HOLDER.fullmatch(told)
        if found is None or found[2] != myself().rpartition(" on ")[2]:
            return told
        try:
            os.kill(int(found[1]), 0)
        except ProcessLookupError:
            return ""
        except (OSError, OverflowError):
            return told
        return told

    def close(self) -> None:
        """Close the journal, where it was opened here."""
        close = getattr(self._journal, "close", None)
        if self._is_own and close is not None:
            close()


class LinesSource(_FileSource):
    """A JSON Lines journal."""

    kind = "jsonl"

    async def read(self, cursor: str, most: int) -> Batch:
        """The lines after a place."""
        return await asyncio.to_thread(self._read, cursor, most)

    def _read(self, cursor: str, most: int) -> Batch:
        with _disk_errors(self.path), self.path.open("rb") as file:
            identity, size = _identity(file), os.fstat(file.fileno()).st_size
            known, _, at = cursor.partition(":")
            is_anew = bool(cursor) and (known != identity or not _ends_a_line(file, int(at), size))
            start = 0 if is_anew or not cursor else int(at)
            file.seek(start)
            data = file.read(_MUCH)
            if b"\n" not in data and len(data) == _MUCH:
                data += file.readline()
        found, end = list[Written](), start
        for line in _lines(data):
            if not line.endswith(b"\n") or len(found) >= most:
                break
            found += _written(line, end)
            end += len(line)
        return Batch(found, f"{identity}:{end}", end / size if size else 1.0, is_anew)

    async def newest(self, most: int) -> Sequence[Written]:
        """The last lines."""
        return await asyncio.to_thread(self._newest, most)

    def _newest(self, most: int) -> Sequence[Written]:
        with _disk_errors(self.path), self.path.open("rb") as file:
            start = max(os.fstat(file.fileno()).st_size - _MUCH // 2, 0)
            file.seek(start)
            if start:
                start += len(file.readline())
            data = file.read(_MUCH // 2)
        whole = data[: data.rfind(b"\n") + 1]
        return list(_in_range(whole, start))[-most:]

    async def run(self, name: str, places: Sequence[tuple[int, int]]) -> Recorded:
        """The lines of a run, at the places that are known of it."""
        return await asyncio.to_thread(self._run, name, places)

    def _run(self, name: str, places: Sequence[tuple[int, int]]) -> Recorded:
        entries, times = [], []
        with _disk_errors(self.path), self.path.open("rb") as file:
            for start, end in places:
                file.seek(start)
                for each in _in_range(file.read(end - start), start):
                    if each.run == name and each.entry is None:
                        raise JournalError(str(self.path), "a line of this run is damaged")
                    if each.run == name and each.entry is not None:
                        entries.append(each.entry)
                        times.append(each.at)
        return Recorded(tuple(entries), tuple(times))

    def journal(self) -> Journal:
        """The journal, opened when it is first needed: it then knows every line of the file."""
        if self._journal is None:
            self._journal = JsonLinesJournal(self.path)
        return self._journal


def _identity(file: BinaryIO) -> str:
    """Tells the file from another that was put in its place, as a repaired one is."""
    first = file.readline()
    if not first.endswith(b"\n"):
        return "empty"
    return f"{os.fstat(file.fileno()).st_ino}-{sha256(first).hexdigest()[:16]}"


def _ends_a_line(file: BinaryIO, at: int, size: int) -> bool:
    """Whether what was read up to a place can still be what stands before it."""
    if not 0 < at <= size:
        return at == 0
    file.seek(at - 1)
    return file.read(1) == b"\n"


def _lines(data: bytes) -> Iterator[bytes]:
    """Lines that end in a line feed, whatever else is in them."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start) + 1 or len(data)
        yield data[start:end]
        start = end


def _in_range(data: bytes, start: int) -> Iterator[Written]:
    for line in _lines(data):
        yield from _written(line, start)
        start += len(line)


def _written(line: bytes, start: int) -> Iterator[Written]:
    """What a line holds; of a damaged one, whose it says that it is."""
    if not line.strip() or line.endswith(CANCEL):
        return
    end = start + len(line)
    try:
        read = parse_line(line)
        yield Written(read.run, read.at, decode(bytes(read.entry), "line"), start, end)
    except (ValueError, JournalError):
        for run in owners(line)[0]:
            yield Written(run, 0.0, None, start, end)


class TableSource(_FileSource):
    """An SQLite journal."""

    kind = "sqlite"

    async def read(self, cursor: str, most: int) -> Batch:
        """The rows after a number."""
        return await asyncio.to_thread(self._read, cursor, most)

    def _read(self, cursor: str, most: int) -> Batch:
        last = int(cursor or 0)
        with _disk_errors(self.path), closing(self._connect()) as connection:
            query = "SELECT id, run, at, entry FROM entries WHERE id > ? ORDER BY id LIMIT ?"
            try:
                bounds = "SELECT (SELECT min(id) FROM entries), (SELECT max(id) FROM entries)"
                ((first, newest),) = connection.execute(bounds).fetchall()
                is_anew = last > (newest or 0)
                rows = connection.execute(query, (0 if is_anew else last, most)).fetchall()
            except sqlite3.OperationalError as error:
                if "no such table" not in str(error):
                    raise
                return Batch((), cursor)
        found = [Written(run, at, _entry(text), row=row) for row, run, at, text in rows]
        end = rows[-1][0] if rows else (0 if is_anew else last)
        return Batch(found, str(end), end / newest if newest else 1.0, is_anew, first or 0)

    async def newest(self, most: int) -> Sequence[Written]:
        """The last rows."""
        return await asyncio.to_thread(self._newest, most)

    def _newest(self, most: int) -> Sequence[Written]:
        query = "SELECT id, run, at, entry FROM entries ORDER BY id DESC LIMIT ?"
        with _disk_errors(self.path), closing(self._connect()) as connection:
            try:
                rows = connection.execute(query, (most,)).fetchall()
            except sqlite3.OperationalError as error:
                if "no such table" not in str(error):
                    raise
                return ()
        return [Written(run, at, _entry(text), row=row) for row, run, at, text in reversed(rows)]

    async def run(self, name: str, _: Sequence[tuple[int, int]]) -> Recorded:
        """The rows of a run."""
        return await asyncio.to_thread(self._run, name)

    def _run(self, name: str) -> Recorded:
        query = "SELECT id, at, entry FROM entries WHERE run = ? ORDER BY id"
        with _disk_errors(self.path), closing(self._connect()) as connection:
            rows = connection.execute(query, (name,)).fetchall()
        entries = tuple([decode(text.encode(), f"{self.path}, entry {at}") for at, _, text in rows])
        return Recorded(entries, tuple([at for _, at, _ in rows]))

    def journal(self) -> Journal:
        """The journal, opened when it is first needed."""
        if self._journal is None:
            self._journal = SqliteJournal(self.path)
        return self._journal

    def _connect(self) -> sqlite3.Connection:
        # Only to read: a question mark or a hash in the path would be part of the address.
        address = f"{self.path.as_uri()}?mode=ro"
        return sqlite3.connect(address, uri=True, timeout=5.0, isolation_level=None)


def _entry(text: str) -> Entry | None:
    try:
        return decode(text.encode(), "entry")
    except JournalError:
        return None


class _disk_errors:  # noqa: N801 - reads as what it is at a with
    """Whatever is wrong with a file, as a JournalError."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, sqlite3.Error | OSError):
            raise JournalError(str(self._path), str(error)) from error


class ListedSource:
    """A journal of any other kind, in memory or somebody's own: looked at run by run."""

    def __init__(self, journal: Journal | AsyncJournal) -> None:
        self._journal = journal
        self.name = type(journal).__name__
        self.kind = "memory" if self.name == "MemoryJournal" else "other"
        self._seen: dict[str, int] = {}

    async def read(self, cursor: str, most: int) -> Batch:
        """What runs have more than at the last look. What is known is known to this object alone."""
        is_anew = not cursor
        if is_anew:
            self._seen.clear()
        found: list[Written] = []
        listed = self._journal.runs()
        for run in await listed if isawaitable(listed) else listed:
            entries = await entries_of(self._journal, run)
            new = entries[self._seen.get(run, 0) :]
            self._seen[run] = len(entries)
            found += [Written(run, 0.0, entry) for entry in new]
            if len(found) >= most:
                break
        return Batch(found, "seen", is_anew=is_anew)

    async def newest(self, _: int) -> Sequence[Written]:
        """Nothing: such journals are not so long."""
        return ()

    async def run(self, name: str, _: Sequence[tuple[int, int]]) -> Recorded:
        """The run as the journal gives it."""
        written = getattr(self._journal, "written", None)
        times: Sequence[float] = ()
        if written is not None:
            with suppress(UsageError):
                told = written(name)
                times = await told if isawaitable(told) else told
        entries = tuple(await entries_of(self._journal, name))
        return Recorded(entries, tuple(times) if len(times) == len(entries) else ())

    def held(self) -> frozenset[str]:
        """Nobody can tell."""
        return frozenset()

    def holder(self, _: str) -> str:
        """Nobody can tell."""
        return ""

    def journal(self) -> Journal | AsyncJournal:
        """The journal itself."""
        return self._journal

    def close(self) -> None:
        """It is whose it was."""
