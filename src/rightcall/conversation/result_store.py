"""Where large results are kept whole: in memory, or in a folder beside a journal."""

import os
from asyncio import to_thread
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Protocol, runtime_checkable

from msgspec import DecodeError, Struct, json

from rightcall.core.options import check_keywords
from rightcall.core.ports import AsyncJournal, Journal
from rightcall.errors import JournalError, UsageError
from rightcall.record.file_journal import FileJournal
from rightcall.record.memory import MemoryJournal
from rightcall.record.redact import redact_text

_DIGITS = 24
"""Hexadecimal digits of a handle: 96 bits of a hash, which nobody guesses."""
_PREFIX = "result_"


class StoredResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A result that is kept whole, with the labels that its text has wherever it is read."""

    name: str
    """The tool that it came from."""
    text: str
    source: str | None = None
    """Where the text comes from, if it is untrusted; None if it is trusted."""
    what: str = ""

    @property
    def handle(self) -> str:
        """The handle: a hash of the result, the same whenever the same is stored."""
        digest = blake2b(json.encode(self), digest_size=_DIGITS // 2).hexdigest()
        return f"{_PREFIX}{digest}"


@runtime_checkable
class ResultStore(Protocol):
    """Keeps large results whole, by handles. Whoever has a handle can read what it stands for."""

    async def put(self, handle: str, stored: StoredResult, /) -> None:
        """Keep a result. The same handle always stands for the same result."""
        ...

    async def get(self, handle: str, /) -> StoredResult | None:
        """Returns the result; None if there is none of that handle."""
        ...


class MemoryResults:
    """Keeps results for as long as its process lasts."""

    def __init__(self) -> None:
        self._kept: dict[str, StoredResult] = {}

    async def put(self, handle: str, stored: StoredResult, /) -> None:
        """Keep a result."""
        self._kept[handle] = stored

    async def get(self, handle: str, /) -> StoredResult | None:
        """Returns the result; None if there is none of that handle."""
        return self._kept.get(handle)


class FolderResults:
    """Keeps each result in a file of a folder, which processes may share. Secrets are redacted.

    Nothing is ever removed: delete old files when the conversations that refer to them are over.
    """

    @check_keywords("rc.conversation.FolderResults")
    def __init__(
        self, path: str | os.PathLike[str], *, redact: Callable[[str], str] | None = redact_text
    ) -> None:
        self.path = Path(path)
        self._redact = redact

    async def put(self, handle: str, stored: StoredResult, /) -> None:
        """Keep a result."""
        await to_thread(self._write, handle, stored)

    async def get(self, handle: str, /) -> StoredResult | None:
        """Returns the result; None if there is none of that handle."""
        return await to_thread(self._read, handle)

    def _file(self, handle: str) -> Path | None:
        """Returns the file of a handle; None if it has not the form of one, and so is no file's name."""
        digits = handle.removeprefix(_PREFIX)
        if handle == digits or len(digits) != _DIGITS or not set(digits) <= set("0123456789abcdef"):
            return None
        return self.path / digits[:2] / f"{handle}.json"

    def _write(self, handle: str, stored: StoredResult) -> None:
        file = self._file(handle)
        if file is None:
            raise UsageError(f"{handle!r} is no handle of a result")
        text = stored.text if self._redact is None else self._redact(stored.text)
        kept = StoredResult(name=stored.name, text=text, source=stored.source, what=stored.what)
        draft = file.with_suffix(f".{os.getpid()}.{os.urandom(4).hex()}")
        try:
            # Not for others to read; and never half written, whenever this process dies.
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as opened:
                opened.write(json.encode(kept))
            draft.replace(file)
        except OSError as error:
            with suppress(OSError):
                draft.unlink()
            raise JournalError(str(file), error.strerror or str(error)) from error

    def _read(self, handle: str) -> StoredResult | None:
        file = self._file(handle)
        if file is None:
            return None
        try:
            return json.decode(file.read_bytes(), type=StoredResult)
        except FileNotFoundError:
            return None
        except DecodeError as error:
            raise JournalError(str(file), f"this is not a stored result: {error}") from error
        except OSError as error:
            raise JournalError(str(file), error.strerror or str(error)) from error


def store_beside(journal: Journal | AsyncJournal | None) -> ResultStore:
    """Returns the store of a journal: a folder beside its file, or this process's memory."""
    if journal is None or isinstance(journal, MemoryJournal):
        return MemoryResults()
    if isinstance(journal, FileJournal):
        return FolderResults(journal.path.with_name(f"{journal.path.name}.results"))
    raise UsageError(
        f"large_results: say where results are kept, as in rc.conversation.LargeResults(store=…): "
        f"there is no file beside a {type(journal).__name__}"
    )
