"""Notes on what happened with a server, for records: limited in number, and never for the model."""

import logging
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from rightcall.log import mcp_logger

if TYPE_CHECKING:
    from rightcall.errors import UsageError

NoteKind: TypeAlias = Literal[
    "log", "changed", "refused", "renamed", "lost", "reopened", "garbage", "asked"
]
"""The server's own log; its tools changed; a tool was refused, or renamed here; the connection was lost,
or is open again; a line that is not a message; the server asked for something."""

_KEPT = 1000
_LONGEST = 2000
_ALARMING = frozenset({"refused", "lost"})


class Note(Struct, frozen=True):
    """One note."""

    kind: NoteKind
    text: str


class NoteLog:
    """The last notes of one server, each passed on to ``record``."""

    def __init__(self, server: str, record: Callable[[Note], None] | None) -> None:
        self._server = server
        self._record = record
        self._kept: deque[Note] = deque(maxlen=_KEPT)
        self.mistake: UsageError | None = None
        """What the program's own approver did wrong while the server waited for it."""

    def raise_mistake(self) -> None:
        """Raise the mistake, once: a request is over, and whoever sent it may be told."""
        mistake, self.mistake = self.mistake, None
        if mistake is not None:
            raise mistake

    def add(self, kind: NoteKind, text: str) -> None:
        """Add a note."""
        note = Note(kind, text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")
        self._kept.append(note)
        level = logging.WARNING if kind in _ALARMING else logging.DEBUG
        mcp_logger.log(level, "%s: %s: %s", self._server, kind, note.text)
        if self._record is not None:
            self._record(note)

    def recent_notes(self) -> tuple[Note, ...]:
        """The notes, oldest first."""
        return tuple(self._kept)
