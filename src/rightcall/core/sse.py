"""Parses the bytes of an event stream into events, as the HTML standard says.

Lines end at CR, LF or CRLF and nowhere else: U+2028 inside data is data. The cost of a chunk depends
only on its own bytes, however long the stream has been.
"""

import re

from msgspec import Struct

from rightcall.errors import ProtocolError

MAX_EVENT_BYTES = 64 * 1024 * 1024
"""A longer single event is an attack or a fault, and is refused instead of buffered."""

_BOM = b"\xef\xbb\xbf"
_ALONE = re.compile(rb"^data: ([^\n]*)\n\n", re.MULTILINE)
_NAMED = re.compile(rb"^event: ([^\n]*)\ndata: ([^\n]*)\n\n", re.MULTILINE)


class ServerEvent(Struct, frozen=True, gc=False):
    """One event: its data, joined by newlines, and its name, empty unless given."""

    data: bytes
    name: str = ""
    id: str | None = None
    """The last event id, if the stream has given one."""


class SseDecoder:
    """Takes bytes, cut anywhere, and returns the events that are complete."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._held = 0
        self._began = False
        self._after_cr = False
        self._id: str | None = None
        self.retry: int | None = None
        """The reconnection time that the stream asked for, in milliseconds."""

    def feed(self, chunk: bytes) -> tuple[ServerEvent, ...]:
        """Returns the events that these bytes complete."""
        if self._after_cr and chunk:
            # A CRLF that was cut in two is one line ending, not two.
            self._after_cr = False
            if chunk.startswith(b"\n"):
                chunk = chunk[1:]
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if not self._ends_an_event(chunk):
            self._hold(chunk)
            return ()
        text, end, rest = self._take(chunk).rpartition(b"\n\n")
        self._hold(rest)
        return tuple(self._events(text + end))

    def finish(self) -> tuple[ServerEvent, ...]:
        """Returns the last event, if the stream ended without its blank line.

        The standard drops it; vendors forget the blank line and mean the event.
        """
        left = self._lines(self._take(b""))
        return () if left is None else (left,)

    def _ends_an_event(self, chunk: bytes) -> bool:
        if b"\n\n" in chunk:
            return True
        return chunk.startswith(b"\n") and bool(self._pieces) and self._pieces[-1].endswith(b"\n")

    def _take(self, chunk: bytes) -> bytes:
        """Returns the buffered bytes with these appended."""
        text = b"".join([*self._pieces, chunk])
        self._pieces, self._held = [], 0
        if not self._began:
            self._began = True
            text = text.removeprefix(_BOM)
        return text

    def _hold(self, piece: bytes) -> None:
        if piece:
            self._held += len(piece)
            if self._held > MAX_EVENT_BYTES:
                raise ProtocolError(f"an event of the stream is longer than {MAX_EVENT_BYTES:,} bytes")
            self._pieces.append(piece)

    def _events(self, text: bytes) -> list[ServerEvent]:
        """Returns the events of whole blocks."""
        # Fast path: vendors' events have one line of data, and either all or none have a name. If the
        # number of lines is what such events make, there are no other lines.
        lines, last = text.count(b"\n"), self._id
        if text.startswith(b"data: "):
            alone = _ALONE.findall(text)
            if lines == 2 * len(alone):
                return [ServerEvent(data, "", last) for data in alone]
        elif text.startswith(b"event: "):
            named = _NAMED.findall(text)
            if lines == 3 * len(named):
                return [ServerEvent(data, name.decode(errors="replace"), last) for name, data in named]
        blocks = text.split(b"\n\n")[:-1]
        return [event for block in blocks if (event := self._lines(block)) is not None]

    def _lines(self, block: bytes) -> ServerEvent | None:
        """Returns one event from its lines."""
        data: list[bytes] = []
        name = ""
        for line in block.split(b"\n"):
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            match field:
                case b"data":
                    data.append(value)
                case b"event":
                    name = value.decode(errors="replace")
                case b"id" if b"\0" not in value:
                    self._id = value.decode(errors="replace")
                case b"retry" if value.isdigit():
                    self.retry = int(value)
                case _:
                    pass
        return ServerEvent(b"\n".join(data), name, self._id) if data else None
