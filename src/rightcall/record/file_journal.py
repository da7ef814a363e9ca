"""The base of the journals in files: each stores many runs, and threads and processes share it.

Each journal defines in ``appending``, ``reading`` and ``holding`` what it does, and where that may wait;
so blocking code can use it and, through ``steps``, an event loop that must not block (``waits``).
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Self

from msgspec import Struct

from rightcall.core.entry import Entry, RunStarted
from rightcall.errors import JournalError
from rightcall.record.entry_text import Redact, add_digest, encode, is_large, pack, refer_to_run
from rightcall.record.run_lock import RunLock
from rightcall.record.waits import Busy, Waiting, retry_while_busy, run_blocking

MUCH = 256 * 1024
"""Bytes that take noticeably long to write or to search."""


class EncodedEntry(Struct, frozen=True):
    """An entry as text, and the run that its history refers to, if any."""

    text: bytes
    after: str | None


class FileHold:
    """A run in a file, held by a lock."""

    def __init__(self, journal: "FileJournal", run: str, lock: RunLock) -> None:
        self._journal = journal
        self._run = run
        self._lock = lock

    def appending(self, entry: Entry, /) -> Waiting[None]:
        """Write one entry at the end of the run's record."""
        return self._journal.appending(self._run, entry)

    def append(self, entry: Entry, /) -> None:
        """Write one entry, blocking."""
        run_blocking(self.appending(entry))

    def release(self) -> None:
        """Release the run for others."""
        self._lock.release()


class FileJournal(ABC):
    """A file of many runs. Threads may share it, and processes may write to the same file."""

    def __init__(self, path: str | os.PathLike[str], redact: Redact | None, *, sync: bool) -> None:
        self.path = Path(path)
        self._name = str(self.path)
        self._redact = redact
        self._sync = sync
        self._lock = Lock()

    @abstractmethod
    def appending(self, run: str, entry: Entry, /) -> Waiting[None]:
        """Write one entry at the end of a run's record."""

    @abstractmethod
    def reading(self, run: str, /) -> Waiting[Sequence[Entry]]:
        """Read everything recorded of a run."""

    @abstractmethod
    def holding(self, run: str, /) -> Waiting[FileHold]:
        """Hold a run."""

    @abstractmethod
    def close(self) -> None:
        """Close the file. Closing twice is fine."""

    @abstractmethod
    def runs(self) -> Sequence[str]:
        """Returns the runs that are recorded, oldest first."""

    @abstractmethod
    def written(self, run: str, /) -> Sequence[float]:
        """Returns when each entry of a run was written, in seconds since 1970."""

    def append(self, run: str, entry: Entry, /) -> None:
        """Write one entry at the end of a run's record."""
        run_blocking(self.appending(run, entry))

    def entries(self, run: str, /) -> Sequence[Entry]:
        """Returns all entries of a run so far, in order; none for an unknown run."""
        return run_blocking(self.reading(run))

    def hold(self, run: str, /) -> FileHold:
        """Hold a run; raises RunHeld, with the holder, if another process or task holds it."""
        return run_blocking(self.holding(run))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def _started_with(self, digests: Collection[str]) -> tuple[str, str] | None:
        """Returns a run that started with the messages of the first known digest, and that digest."""

    def _encoding(self, entry: Entry, *, is_whole: bool = False) -> Waiting[EncodedEntry]:
        """Encode an entry as text. Searching a large one for secrets takes long.

        With ``is_whole`` it refers to no other run.
        """
        packed = pack(entry)
        after = None
        if isinstance(entry, RunStarted):
            entry = yield from self._without_history(entry, large=is_large(packed), is_whole=is_whole)
            packed = pack(entry)
            after = entry.after
        encoding = partial(encode, entry, self._redact, self._name, packed)
        text = (yield encoding) if is_large(packed) else encoding()
        return EncodedEntry(text, None if after is None else after.run)

    def _without_history(self, start: RunStarted, *, large: bool, is_whole: bool) -> Waiting[RunStarted]:
        """Returns the RunStarted with a reference in place of messages that an earlier one holds."""
        digesting = partial(add_digest, start)
        start, earlier = (yield digesting) if large else digesting()
        if not earlier or is_whole:
            return start
        look = partial(self._started_with, earlier)
        found = yield from retry_while_busy(look, self.path, slow=self._is_behind())
        if found is None:
            return start
        return refer_to_run(start, found[0], earlier[found[1]])

    def _is_behind(self) -> bool:
        """Whether a lookup takes long, because much was written since the last one."""
        return False

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Lock out other threads; raises Busy if one has the lock."""
        if not self._lock.acquire(blocking=False):
            raise Busy
        try:
            yield
        finally:
            self._lock.release()

    @contextmanager
    def _disk_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise JournalError(str(self.path), error.strerror or str(error)) from error
