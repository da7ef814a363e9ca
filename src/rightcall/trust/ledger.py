"""Remembers what tainted runs of this agent wrote, across runs and processes.

A file of a fixed size, in which a few bytes are set for each trace of a text: a Bloom filter. So it is
bounded, contains no text, and needs no lock, because no process ever clears a byte that another has set.
It never forgets a trace. The fuller it is, the more often it reports a text as written that was not, and
then a person is asked.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from rightcall.core.options import check_keywords
from rightcall.errors import UsageError
from rightcall.log import logger

if TYPE_CHECKING:
    import mmap

_MAGIC = b"rightcall ledger 1\n\0\0\0\0\0"
_SALT = 16
_HEADER = len(_MAGIC) + _SALT
_PLACES = 8
_WIDTH = 8
_LEAST = 64 * 1024
_FULL = 0.5


class Ledger:
    """A file that remembers what was written. Several processes may use it at once.

    It contains only salted hashes of texts; whoever has the file can test a guess, and read nothing.
    ``size`` applies to a new file.
    """

    @check_keywords("rc.trust.Ledger")
    def __init__(self, path: str | os.PathLike[str], *, size: int = 16 * 1024 * 1024) -> None:
        if size < _LEAST:
            raise UsageError(f"a ledger has at least {_LEAST:,} bytes, not {size:,}")
        self.path = Path(path)
        self._size = size
        self._open: mmap.mmap | None = None
        self._salt = b""

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"

    def add(self, traces: Iterable[str]) -> None:
        """Add traces, for good: they are on disk when this returns."""
        held = self._held()
        for trace in traces:
            for place in self._places(trace, len(held) - _HEADER):
                held[_HEADER + place] = 1
        held.flush()

    def __contains__(self, trace: str) -> bool:
        held = self._held()
        return all(held[_HEADER + place] for place in self._places(trace, len(held) - _HEADER))

    def fill(self) -> float:
        """The share of its bytes that are set, from 0 to 1. From a half on, use a larger file."""
        whole = self._held()[_HEADER:]
        return 1 - whole.count(0) / len(whole)

    def close(self) -> None:
        """Close the file. It is opened again when it is needed."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _places(self, trace: str, size: int) -> list[int]:
        digest = blake2b(trace.encode(errors="replace"), digest_size=_PLACES * _WIDTH, key=self._salt)
        found = digest.digest()
        return [
            int.from_bytes(found[at : at + _WIDTH], "big") % size for at in range(0, len(found), _WIDTH)
        ]

    def _held(self) -> "mmap.mmap":
        if self._open is None:
            import mmap  # noqa: PLC0415 - light until used

            try:
                if not self.path.exists():
                    self._begin()
                with self.path.open("r+b") as file:
                    self._open = mmap.mmap(file.fileno(), 0)
            except (OSError, ValueError) as error:
                raise UsageError(f"the ledger {self.path} cannot be used: {error}") from None
            if self._open[: len(_MAGIC)] != _MAGIC or len(self._open) < _HEADER + _LEAST:
                self.close()
                raise UsageError(f"{self.path} is no ledger; name a file that is not there yet")
            self._salt = self._open[len(_MAGIC) : _HEADER]
            if self.fill() > _FULL:
                words = "the ledger %s is more than half full, and takes more and more for written: %s"
                logger.warning(words, self.path, "begin a new one with a larger size")
        return self._open

    def _begin(self) -> None:
        """Create an empty file in one step. If another process was faster, its file is used."""
        from secrets import token_bytes, token_hex  # noqa: PLC0415 - light until used

        self.path.parent.mkdir(parents=True, exist_ok=True)
        made = self.path.with_name(f"{self.path.name}.{token_hex(8)}")
        try:
            with os.fdopen(os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                file.write(_MAGIC + token_bytes(_SALT))
                file.flush()
                file.truncate(_HEADER + self._size)
                if allocate := getattr(os, "posix_fallocate", None):
                    # On a full disk it must fail here: writing to an unfillable hole kills the process.
                    allocate(file.fileno(), 0, _HEADER + self._size)
                os.fsync(file.fileno())
            with suppress(FileExistsError):
                os.link(made, self.path)
        finally:
            made.unlink(missing_ok=True)
