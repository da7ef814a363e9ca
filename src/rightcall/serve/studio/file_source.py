"""The common part of both kinds of files with runs: the locks beside them, and their errors."""

import os
import re
import sqlite3
from pathlib import Path

from rightcall.core.ports import Journal
from rightcall.errors import JournalError
from rightcall.record.hold import myself

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

    def held(self) -> frozenset[str]:
        """The locks whose holders are alive. No lock is taken to find out: that would block a holder."""
        try:
            names = [path.name for path in self._locks.iterdir()]
        except OSError:
            return frozenset()
        return frozenset(name for name in names if self.holder(name))

    def holder(self, lock: str) -> str:
        """The holder that is named in the lock, if it is still alive."""
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

    async def close(self) -> None:
        """Close the journal, if it was opened here."""
        close = getattr(self._journal, "close", None)
        if self._is_own and close is not None:
            close()


class disk_errors:  # noqa: N801 - reads as what it is at a with
    """Raises any error of a file as a JournalError."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, sqlite3.Error | OSError):
            raise JournalError(str(self._path), str(error)) from error
