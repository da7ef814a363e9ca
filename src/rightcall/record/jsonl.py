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
from pathlib import Path

import msgspec
from msgspec import Struct

from rightcall.core.entry import Entry, RunStarted
from rightcall.core.options import check_keywords
from rightcall.errors import JournalError, UsageError
from rightcall.record.entry_text import Redact, check_name, decode, is_foreign, restore_history
from rightcall.record.file_journal import MUCH, FileHold, FileJournal
from rightcall.record.lines import CANCEL, Damage, JournalLine, LineIndex, LinePlace, parse_line
from rightcall.record.redact import redact_secrets
from rightcall.record.run_lock import HELD, RunLock, folder_of, remove_folder
from rightcall.record.waits import Busy, Waiting, retry_while_busy

with suppress(ImportError):  # Windows has none
    import fcntl

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)


class JsonLinesJournal(FileJournal):
    """A file of many runs. Threads may share it, and processes may write to the same file.

    ``sync`` waits for the disk at every entry, so that not even a power cut loses one.
    """

    @check_keywords("rc.record.JsonLinesJournal")
    def __init__(
        self, path: str | os.PathLike[str], *, redact: Redact | None = redact_secrets, sync: bool = False
    ) -> None:
        super().__init__(path, redact, sync=sync)
        self._index = LineIndex()
        with self._disk_errors():
            self._descriptor = os.open(self.path, _FLAGS, 0o600)

    def appending(self, run: str, entry: Entry, /) -> Waiting[None]:
        """Write one entry at the end of a run's record."""
        text = msgspec.Raw((yield from self._encoding(entry)).text)
        line = msgspec.json.encode(JournalLine(check_name(run), time.time(), text)) + b"\n"
        slow = self._sync or len(line) > MUCH
        yield from retry_while_busy(partial(self._append, line), self.path, slow=slow)

    def reading(self, run: str, /) -> Waiting[Sequence[Entry]]:
        """Returns all entries of a run so far, in order; none for an unknown run."""
        check_name(run)
        look = partial(self._look_up, run)
        places = yield from retry_while_busy(look, self.path, slow=self._is_behind())
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

    def holding(self, run: str, /) -> Waiting[FileHold]:
        """Hold a run; raises RunHeld, with the holder, if another process or task holds it."""

        def hold() -> FileHold:
            with self._disk_errors():
                return FileHold(self, run, RunLock(self.path, run))

        check_name(run)
        return retry_while_busy(hold, self.path)

    def close(self) -> None:
        """Close the file. Closing twice is fine."""
        with self._lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1
        remove_folder(folder_of(self.path))

    def _append(self, line: bytes) -> None:
        with self._alone(), self._disk_errors():
            self._check_open()
            with alone(self._descriptor, wait=False):
                size = os.lseek(self._descriptor, 0, os.SEEK_END)
                if size:
                    os.lseek(self._descriptor, size - 1, os.SEEK_SET)
                    if os.read(self._descriptor, 1) != b"\n":
                        line = CANCEL + line
                # In one call: between two, another writer's line could come.
                if os.write(self._descriptor, line) != len(line):
                    raise JournalError(
                        str(self.path), "only a part of an entry could be written; is the disk full?"
                    )
            if self._sync:
                os.fsync(self._descriptor)

    def _check_open(self) -> None:
        if self._descriptor < 0:
            raise UsageError(f"the journal {self.path} is closed")

    def _is_behind(self) -> bool:
        """Whether much was written since the last lookup."""
        with self._disk_errors():
            return self.path.stat().st_size - self._index.last.end > MUCH

    def _look_up(self, run: str) -> tuple[LinePlace, ...]:
        """Returns where the lines of a run are; JournalError if one of them is damaged."""
        with self._alone():
            self._catch_up()
            places = tuple(self._index.places.get(run, ()))
            harm = self._index.harm_to(run)
        if harm is not None:
            reason = harm.reason
            if run in harm.doubted:
                reason = f"this may be a line of run {run!r}; {reason}"
            raise JournalError(self._where(harm.place), reason)
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

    def _read(self, places: Sequence[LinePlace]) -> Sequence[Entry]:
        # Closed here: an entry that cannot be decoded would leave the file open with its error.
        with closing(self._lines(places)) as lines:
            pairs = zip(places, lines, strict=True)
            entries = [decode(bytes(line.entry), self._where(place)) for place, line in pairs]
        return tuple(restore_history(entries, self._start_of, self._where(places[0])))

    def _start_of(self, run: str) -> RunStarted | None:
        place = next(iter(self._index.places.get(run, ())), None)
        if place is None or self._index.harm_to(run) is not None:
            return None
        (line,) = self._lines([place])
        entry = decode(bytes(line.entry), self._where(place))
        if isinstance(entry, RunStarted):
            return entry
        return None

    def _lines(self, places: Sequence[LinePlace]) -> Generator[JournalLine, None, None]:
        with self._disk_errors(), self.path.open("rb") as file:
            for place in places:
                file.seek(place.start)
                try:
                    yield parse_line(file.read(place.length))
                except ValueError as error:
                    raise JournalError(self._where(place), str(error)) from None

    def _where(self, place: LinePlace) -> str:
        return f"{self.path}, line {place.number}"


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


SUFFIX = ".damaged"


class DamageReport(Struct, frozen=True, kw_only=True):
    """What is in the file."""

    lines: int
    runs: tuple[str, ...]
    damages: tuple[Damage, ...] = ()
    foreign: tuple[Damage, ...] = ()
    """Entries of another version of rightcall, which must not be taken for damage."""
    aside: Path | None = None
    """Where the damaged runs are now."""

    @property
    def harmed_runs(self) -> tuple[str, ...]:
        """The runs that have lost an entry, or may have."""
        found: dict[str, None] = {}
        for damage in self.damages:
            found |= dict.fromkeys((*damage.runs, *damage.doubted))
        return tuple(found)


def check_journal(path: Path) -> DamageReport:
    """Returns everything that is wrong with a file. Changes nothing."""
    try:
        with path.open("rb") as file:
            return _survey(file.read())[0]
    except OSError as error:
        raise JournalError(str(path), error.strerror or str(error)) from error


def repair_journal(path: Path) -> DamageReport:
    """Move the damaged runs to a file beside this one, so that only the others are left.

    Their lines are overwritten in place and nothing else moves: processes that have the journal open can
    go on, and an interrupted repair can be repeated.

    A run that has lost an entry cannot continue: what it did is no longer known, and continuing could
    do it again. So all of it is set aside, damaged and sound lines, byte for byte; all other runs stay.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
        try:
            with alone(descriptor):
                return _repair(path, descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise JournalError(str(path), error.strerror or str(error)) from error


def _repair(path: Path, descriptor: int) -> DamageReport:
    data = path.read_bytes()
    report, index = _survey(data)
    if not report.damages:
        return report
    places = {place.number: place for run in report.harmed_runs for place in index.places.get(run, ())}
    places |= {damage.place.number: damage.place for damage in report.damages}
    ordered = [places[number] for number in sorted(places)]
    aside = path.with_name(path.name + SUFFIX)
    with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "wb") as file:  # noqa: PTH123
        # On the disk before they are overwritten, after those of earlier repairs.
        file.write(b"".join(data[place.start : place.end] for place in ordered))
        file.flush()
        os.fsync(file.fileno())
    for place in ordered:
        os.lseek(descriptor, place.start, os.SEEK_SET)
        os.write(descriptor, b" " * (place.length - 1))
    os.fsync(descriptor)
    left = tuple(run for run in report.runs if run not in report.harmed_runs)
    return DamageReport(
        lines=report.lines, runs=left, damages=report.damages, foreign=report.foreign, aside=aside
    )


def _survey(data: bytes) -> tuple[DamageReport, LineIndex]:
    index = LineIndex()
    lines = [line + b"\n" for line in data.split(b"\n")[:-1]]
    for line in lines:
        index.add(line)
    damages = list(index.damages)
    foreign: list[Damage] = []
    damaged = {damage.place.number for damage in damages}
    for run, places in index.places.items():
        for place in places:
            if place.number in damaged:
                continue
            text = _entry(lines, place)
            try:
                decode(text, "")
            except JournalError as error:
                unreadable = Damage(place, error.reason, (run,), ())
                if is_foreign(text):
                    foreign.append(unreadable)
                else:
                    damages.append(unreadable)
    damages += _without_history(index, lines, {run for each in damages for run in each.runs})
    damages.sort(key=lambda damage: damage.place.number)
    count = sum(not line.isspace() for line in lines)
    report = DamageReport(
        lines=count, runs=tuple(index.places), damages=tuple(damages), foreign=tuple(foreign)
    )
    return report, index


def _entry(lines: list[bytes], place: LinePlace) -> bytes:
    return bytes(parse_line(lines[place.number - 1]).entry)


def _without_history(index: LineIndex, lines: list[bytes], lost: set[str]) -> list[Damage]:
    """Returns the runs whose history is in a lost run, or in one that refers to a lost run."""
    found = []
    for run, places in index.places.items():
        place = next(iter(places))
        if run in lost:
            continue
        try:
            start = decode(_entry(lines, place), "")
        except (JournalError, ValueError):
            continue
        after = start.after if isinstance(start, RunStarted) else None
        if after is not None and (after.run in lost or after.run not in index.places):
            # In the order of the file, so that runs which refer to this one come later.
            lost.add(run)
            found.append(Damage(place, f"its history is that of the run {after.run!r}", (run,), ()))
    return found
