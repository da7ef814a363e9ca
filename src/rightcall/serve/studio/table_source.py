"""An SQLite journal, read row by row, without opening it as a journal."""

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing

from rightcall.core.entry import Entry
from rightcall.core.ports import Journal
from rightcall.errors import JournalError
from rightcall.record.entry_text import decode
from rightcall.record.sqlite import SqliteJournal
from rightcall.serve.studio.file_source import FileSource, disk_errors
from rightcall.serve.studio.source import Batch, Recorded, Written


class TableSource(FileSource):
    """An SQLite journal."""

    kind = "sqlite"

    async def read(self, cursor: str, most: int) -> Batch:
        """The rows after a number."""
        return await asyncio.to_thread(self._read, cursor, most)

    def _read(self, cursor: str, most: int) -> Batch:
        last = int(cursor or 0)
        with disk_errors(self.path), closing(self._connect()) as connection:
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
        with disk_errors(self.path), closing(self._connect()) as connection:
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
        with disk_errors(self.path), closing(self._connect()) as connection:
            rows = connection.execute(query, (name,)).fetchall()
        entries = tuple([decode(text.encode(), f"{self.path}, entry {at}") for at, _, text in rows])
        return Recorded(entries, tuple([at for _, at, _ in rows]))

    def journal(self) -> Journal:
        """The journal, opened when it is first needed."""
        if self._journal is None:
            self._journal = SqliteJournal(self.path)
        return self._journal

    def _connect(self) -> sqlite3.Connection:
        # Read-only, by URI: as_uri quotes a question mark or a hash in the path.
        address = f"{self.path.as_uri()}?mode=ro"
        return sqlite3.connect(address, uri=True, timeout=5.0, isolation_level=None)


def _entry(text: str) -> Entry | None:
    try:
        return decode(text.encode(), "entry")
    except JournalError:
        return None
