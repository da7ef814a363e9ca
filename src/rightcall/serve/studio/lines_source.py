"""A JSON Lines journal, read line by line, without opening it as a journal."""

import asyncio
import os
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import BinaryIO

from rightcall.core.ports import Journal
from rightcall.errors import JournalError
from rightcall.record.entry_text import decode
from rightcall.record.jsonl import JsonLinesJournal
from rightcall.record.lines import CANCEL, owners, parse_line
from rightcall.serve.studio.file_source import FileSource, disk_errors
from rightcall.serve.studio.source import Batch, Recorded, Written

_MUCH = 8 * 1024 * 1024
"""Bytes that are read at once."""


class LinesSource(FileSource):
    """A JSON Lines journal."""

    kind = "jsonl"

    async def read(self, cursor: str, most: int) -> Batch:
        """The lines after a cursor."""
        return await asyncio.to_thread(self._read, cursor, most)

    def _read(self, cursor: str, most: int) -> Batch:
        with disk_errors(self.path), self.path.open("rb") as file:
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
        with disk_errors(self.path), self.path.open("rb") as file:
            start = max(os.fstat(file.fileno()).st_size - _MUCH // 2, 0)
            file.seek(start)
            if start:
                start += len(file.readline())
            data = file.read(_MUCH // 2)
        whole = data[: data.rfind(b"\n") + 1]
        return list(_in_range(whole, start))[-most:]

    async def run(self, name: str, places: Sequence[tuple[int, int]]) -> Recorded:
        """The lines of a run, at its known places."""
        return await asyncio.to_thread(self._run, name, places)

    def _run(self, name: str, places: Sequence[tuple[int, int]]) -> Recorded:
        entries, times = [], []
        with disk_errors(self.path), self.path.open("rb") as file:
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
        """The journal, opened when it is first needed, because it then reads every line of the file."""
        if self._journal is None:
            self._journal = JsonLinesJournal(self.path)
        return self._journal


def _identity(file: BinaryIO) -> str:
    """Identifies the file, to detect one that replaced it, such as a repaired one."""
    first = file.readline()
    if not first.endswith(b"\n"):
        return "empty"
    return f"{os.fstat(file.fileno()).st_ino}-{sha256(first).hexdigest()[:16]}"


def _ends_a_line(file: BinaryIO, at: int, size: int) -> bool:
    """Whether a place is still the end of a line, so that the file before it may be unchanged."""
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
    """The entry in a line; for a damaged one, only the runs that it may belong to."""
    if not line.strip() or line.endswith(CANCEL):
        return
    end = start + len(line)
    try:
        read = parse_line(line)
        yield Written(read.run, read.at, decode(bytes(read.entry), "line"), start, end)
    except (ValueError, JournalError):
        for run in owners(line)[0]:
            yield Written(run, 0.0, None, start, end)
