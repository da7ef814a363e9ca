"""Entries into the lines of a text file, one JSON object each: a journal to read, grep and copy.

An entry counts once its newline is written. A line that a killed process left without one is never
read; the next append cancels it, with the control character that ASCII has for this, and goes on
beneath it. So whatever else cannot be read is damage: the run that it is of says so, and ``repair`` sets
that run aside. Other runs are read as ever.
"""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Self

import msgspec

from rightcall.core.entry import Entry
from rightcall.errors import JournalError, UsageError
from rightcall.record.entry_text import Redact, check_name, decode, encode
from rightcall.record.hold import RunLock
from rightcall.record.lines import CANCEL, Line, LineIndex, Place, parse_line
from rightcall.record.redact import redact_secrets

if sys.platform != "win32":
    import fcntl

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)


class JsonLinesJournal:
    """A file of many runs. Threads may share it, and processes may write to the same file.

    ``sync`` waits for the disk at every entry, so that not even a power cut loses one.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        redact: Redact | None = redact_secrets,
        sync: bool = False,
    ) -> None:
        self.path = Path(path)
        self._redact = redact
        self._sync = sync
        self._lock = Lock()
        self._index = LineIndex()
        with self._disk_errors():
            self._descriptor = os.open(self.path, _FLAGS, 0o600)

    def append(self, run: str, entry: Entry, /) -> None:
        """Write one entry at the end of a run's record."""
        text = msgspec.Raw(encode(entry, self._redact, str(self.path)))
        line = msgspec.json.encode(Line(check_name(run), time.time(), text)) + b"\n"
        with self._lock, self._disk_errors():
            self._check_open()
            with alone(self._descriptor):
                self._write(CANCEL + line if self._is_torn() else line)
            if self._sync:
                os.fsync(self._descriptor)

    def entries(self, run: str, /) -> Sequence[Entry]:
        """Everything recorded of a run up to now, in order; nothing for a run that is not known."""
        check_name(run)
        with self._lock:
            self._catch_up()
            places, harm = tuple(self._index.places.get(run, ())), self._index.harm_to(run)
        if harm is not None:
            doubt = f"this may be a line of run {run!r}; " if run in harm.doubted else ""
            raise JournalError(self._where(harm.place), doubt + harm.reason)
        return tuple(self._read(places))

    def runs(self) -> Sequence[str]:
        """The runs that are recorded, oldest first."""
        with self._lock:
            self._catch_up()
            return tuple(self._index.places)

    def hold(self, run: str, /) -> "JsonLinesHold":
        """Hold a run; RunHeld, with who it is, where another process or task does."""
        check_name(run)
        with self._disk_errors():
            return JsonLinesHold(self, run, RunLock(self.path, run))

    def close(self) -> None:
        """Let go of the file. Closing twice is fine."""
        with self._lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._descriptor < 0:
            raise UsageError(f"the journal {self.path} is closed")

    def _is_torn(self) -> bool:
        """Whether the last line has no end."""
        size = os.lseek(self._descriptor, 0, os.SEEK_END)
        if size == 0:
            return False
        os.lseek(self._descriptor, size - 1, os.SEEK_SET)
        return os.read(self._descriptor, 1) != b"\n"

    def _write(self, data: bytes) -> None:
        # In one call: what is appended in two could have another writer's line between.
        if os.write(self._descriptor, data) != len(data):
            raise JournalError(
                str(self.path), "only a part of an entry could be written; is the disk full?"
            )

    def _catch_up(self) -> None:
        """Index what was written since the last time, decoding no entry."""
        self._check_open()
        with self._disk_errors(), self.path.open("rb") as file:
            file.seek(self._index.last.end)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._index.add(line)

    def _read(self, places: Sequence[Place]) -> Iterator[Entry]:
        with self._disk_errors(), self.path.open("rb") as file:
            for place in places:
                file.seek(place.start)
                try:
                    line = parse_line(file.read(place.length))
                except ValueError as error:
                    raise JournalError(self._where(place), str(error)) from None
                yield decode(bytes(line.entry), self._where(place))

    def _where(self, place: Place) -> str:
        return f"{self.path}, line {place.number}"

    @contextmanager
    def _disk_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise JournalError(str(self.path), error.strerror or str(error)) from error


class JsonLinesHold:
    """A run of a file, held by a lock."""

    def __init__(self, journal: JsonLinesJournal, run: str, lock: RunLock) -> None:
        self._journal = journal
        self._run = run
        self._lock = lock

    def append(self, entry: Entry, /) -> None:
        """Write one entry at the end of the run's record."""
        self._journal.append(self._run, entry)

    def release(self) -> None:
        """Let others hold the run."""
        self._lock.release()


@contextmanager
def alone(descriptor: int) -> Iterator[None]:
    """Keep other processes from appending between the look at the last line and the write."""
    if sys.platform == "win32":
        yield
        return
    # Some file systems know no locks. What is lost there is only this: a process killed in the
    # middle of a line, at that very moment, would have the next line glued to its own.
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
