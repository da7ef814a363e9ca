"""A journal of any kind into the studio's source of runs."""

from collections.abc import Sequence
from contextlib import suppress
from inspect import isawaitable
from pathlib import Path
from typing import TypeAlias

from rightcall.core.ports import AsyncJournal, Journal
from rightcall.durable.app import App
from rightcall.durable.store_file import is_store
from rightcall.errors import UsageError
from rightcall.record.jsonl import JsonLinesJournal
from rightcall.record.sqlite import SqliteJournal
from rightcall.record.steps import entries_of
from rightcall.serve.studio.durable_source import DurableSource
from rightcall.serve.studio.lines_source import LinesSource
from rightcall.serve.studio.source import Batch, Recorded, Source, Written
from rightcall.serve.studio.table_source import TableSource

Place: TypeAlias = str | Path | Journal | AsyncJournal | App
"""A journal, the file of one, or a store of durable runs or its address."""


def source_of(place: Place, *, may_make: bool = False) -> Source:
    """The source of a journal, or of a journal's file, which is created if ``may_make`` and missing."""
    if isinstance(place, App) or (isinstance(place, str) and "://" in place):
        return DurableSource(place)
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
    if not _is_database(path):
        return LinesSource(path)
    return DurableSource(f"sqlite:///{path}") if is_store(path) else TableSource(path)


def kind_of_file(path: Path) -> type[JsonLinesJournal] | type[SqliteJournal]:
    """The kind of journal for a file of that name."""
    return JsonLinesJournal if path.suffix.lower() in (".jsonl", ".ndjson") else SqliteJournal


def _is_database(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(16)
    return head.startswith(b"SQLite format 3") or (not head and kind_of_file(path) is SqliteJournal)


class ListedSource:
    """A journal of any other kind, in memory or custom: read run by run."""

    def __init__(self, journal: Journal | AsyncJournal) -> None:
        self._journal = journal
        self.name = type(journal).__name__
        self.kind = "memory" if self.name == "MemoryJournal" else "other"
        self._seen: dict[str, int] = {}

    async def read(self, cursor: str, most: int) -> Batch:
        """The new entries of runs since the last read, which only this object keeps track of."""
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
