"""Stores entries as lines of a text file, one JSON object each: a journal to read, grep and copy.

An entry counts once its newline is written. A line that a killed process left without one is never read;
the next append cancels it, with ASCII's control character for that, and continues on the next line. So
any other line that cannot be read is damage: reading its run raises an error, and ``repair`` sets that
run aside. Other runs stay readable.
"""

import os
import sys
import time
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial

import msgspec

from rightcall.core.entry import Entry, RunStarted
from rightcall.core.options import checked
from rightcall.errors import JournalError, UsageError
from rightcall.record.continued import whole
from rightcall.record.entry_text import Redact, check_name, decode
from rightcall.record.file_journal import MUCH, FileHold, FileJournal
from rightcall.record.hold import HELD, RunLock, folder_of, remove_folder
from rightcall.record.lines import CANCEL, Line, LineIndex, Place, parse_line
from rightcall.record.redact import redact_secrets
from rightcall.record.waits import Busy, Waiting, patiently

with suppress(ImportError):  # Windows has none
    import fcntl

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)


class JsonLinesJournal(FileJournal):
    """A file of many runs. Threads may share it, and processes may write to the same file.

    ``sync`` waits for the disk at every entry, so that not even a power cut loses one.
    """

    @checked("rc.record.JsonLinesJournal")
    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        redact: Redact | None = redact_secrets,
        sync: bool = False,
    ) -> None:
        super().__init__(path, redact, sync=sync)
        self._index = LineIndex()
        with self._disk_errors():
            self._descriptor = os.open(self.path, _FLAGS, 0o600)

    def appending(self, run: str, entry: Entry, /) -> Waiting[None]:
        """Write one entry at the end of a run's record."""
        text = msgspec.Raw((yield from self._encoding(entry)).text)
        line = msgspec.json.encode(Line(check_name(run), time.time(), text)) + b"\n"
        slow = self._sync or len(line) > MUCH
        yield from patiently(partial(self._append, line), self.path, slow=slow)

    def reading(self, run: str, /) -> Waiting[Sequence[Entry]]:
        """Returns all entries of a run so far, in order; none for an unknown run."""
        check_name(run)
        look = partial(self._look_up, run)
        places = yield from patiently(look, self.path, slow=self._is_behind())
        return (yield partial(self._read, places)) if places else ()

    def _started_with(self, digests: Collection[str]) -> tuple[str, str] | None:
        with self._alone():
            self._catch_up()
            for each in digests:
                run = self._index.starts.get(bytes.fromhex(each))
                if run is not None and self._index.harm_to(run) is None:
                    return run, each
        return None

    def runs(self) -> Sequence[str]:
        """The runs that are recorded, oldest first."""
        with self._lock:
            self._catch_up()
            return tuple(self._index.places)

    def written(self, run: str, /) -> Sequence[float]:
        """Returns when each entry of a run was written, in seconds since 1970."""
        check_name(run)
        with self._lock:
            self._catch_up()
            places = tuple(self._index.places.get(run, ()))
        return tuple([line.at for line in self._lines(places)])

    def holding(self, run: str, /) -> Waiting["JsonLinesHold"]:
        """Hold a run; raises RunHeld, with the holder, if another process or task holds it."""
        return patiently(partial(self._hold, check_name(run)), self.path)

    def close(self) -> None:
        """Close the file. Closing twice is fine."""
        with self._lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1
        remove_folder(folder_of(self.path))

    def _hold(self, run: str) -> "JsonLinesHold":
        with self._disk_errors():
            return JsonLinesHold(self, run, RunLock(self.path, run))

    def _append(self, line: bytes) -> None:
        with self._alone(), self._disk_errors():
            self._check_open()
            with alone(self._descriptor, wait=False):
                self._write(CANCEL + line if self._is_torn() else line)
            if self._sync:
                os.fsync(self._descriptor)

    def _check_open(self) -> None:
        if self._descriptor < 0:
            raise UsageError(f"the journal {self.path} is closed")

    def _is_torn(self) -> bool:
        """Whether the last line has no newline."""
        size = os.lseek(self._descriptor, 0, os.SEEK_END)
        if size == 0:
            return False
        os.lseek(self._descriptor, size - 1, os.SEEK_SET)
        return os.read(self._descriptor, 1) != b"\n"

    def _write(self, data: bytes) -> None:
        # In one call: between two, another writer's line could come.
        if os.write(self._descriptor, data) != len(data):
            raise JournalError(
                str(self.path), "only a part of an entry could be written; is the disk full?"
            )

    def _is_behind(self) -> bool:
        """Whether much was written since the last lookup."""
        with self._disk_errors():
            return self.path.stat().st_size - self._index.last.end > MUCH

    def _look_up(self, run: str) -> tuple[Place, ...]:
        """Returns where the lines of a run are; JournalError if one of them is damaged."""
        with self._alone():
            self._catch_up()
            places, harm = tuple(self._index.places.get(run, ())), self._index.harm_to(run)
        if harm is not None:
            doubt = f"this may be a line of run {run!r}; " if run in harm.doubted else ""
            raise JournalError(self._where(harm.place), doubt + harm.reason)
        return places

    def _catch_up(self) -> None:
        """Index what was written since the last time, without decoding entries."""
        self._check_open()
        with self._disk_errors(), self.path.open("rb") as file:
            file.seek(self._index.last.end)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._index.add(line)

    def _read(self, places: Sequence[Place]) -> Sequence[Entry]:
        # Closed here: an entry that cannot be decoded would leave the file open with its error.
        with closing(self._lines(places)) as lines:
            pairs = zip(places, lines, strict=True)
            entries = [decode(bytes(line.entry), self._where(place)) for place, line in pairs]
        return tuple(whole(entries, self._start_of, self._where(places[0])))

    def _start_of(self, run: str) -> RunStarted | None:
        place = next(iter(self._index.places.get(run, ())), None)
        if place is None or self._index.harm_to(run) is not None:
            return None
        (line,) = self._lines([place])
        entry = decode(bytes(line.entry), self._where(place))
        return entry if isinstance(entry, RunStarted) else None

    def _lines(self, places: Sequence[Place]) -> Generator[Line, None, None]:
        with self._disk_errors(), self.path.open("rb") as file:
            for place in places:
                file.seek(place.start)
                try:
                    yield parse_line(file.read(place.length))
                except ValueError as error:
                    raise JournalError(self._where(place), str(error)) from None

    def _where(self, place: Place) -> str:
        return f"{self.path}, line {place.number}"


class JsonLinesHold(FileHold):
    """A run in a file, held by a lock."""

    def __init__(self, journal: JsonLinesJournal, run: str, lock: RunLock) -> None:
        super().__init__(run, lock)
        self._journal = journal

    def appending(self, entry: Entry, /) -> Waiting[None]:
        """Write one entry at the end of the run's record."""
        return self._journal.appending(self._run, entry)

    def append(self, entry: Entry, /) -> None:
        """Write one entry, blocking."""
        self._journal.append(self._run, entry)


@contextmanager
def alone(descriptor: int, *, wait: bool = True) -> Iterator[None]:
    """Keep other processes from appending between the check of the last line and the write.

    Without ``wait``, raises Busy if one has the lock.
    """
    if sys.platform == "win32":
        yield
        return
    # Some file systems support no locks. There, the next line would be appended to the partial line of a
    # process that is killed in the middle of it at that very moment; nothing else is lost.
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if not wait and error.errno in HELD:
            raise Busy from None
    try:
        yield
    finally:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
