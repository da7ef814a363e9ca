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
_CR, _LF = b"\r\n"
"""As numbers: looking for a bytes object with ``in`` raises and catches an exception inside Python."""
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
        text = self._whole_blocks(chunk)
        return tuple(self._events(text)) if text else ()

    def payloads(self, chunk: bytes) -> list[bytes]:
        """Returns the data of the events that these bytes complete, where their names mean nothing."""
        text = self._whole_blocks(chunk)
        alone = _alone(text)
        return [event.data for event in self._events(text)] if alone is None else alone

    def _whole_blocks(self, chunk: bytes) -> bytes:
        """Returns the blocks that these bytes complete, and holds back what comes after them."""
        if self._after_cr and chunk:
            # A CRLF that was cut in two is one line ending, not two.
            self._after_cr = False
            if chunk.startswith(b"\n"):
                chunk = chunk[1:]
        if _CR in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if not self._ends_an_event(chunk):
            self._hold(chunk)
            return b""
        text = self._take(chunk)
        end = text.rindex(b"\n\n") + 2
        if end < len(text):
            self._hold(text[end:])
            return text[:end]
        return text

    def finish(self) -> tuple[ServerEvent, ...]:
        """Returns the last event, if the stream ended without its blank line.

        The standard drops it; vendors forget the blank line and mean the event.
        """
        if not self._pieces:
            return ()
        left = self._lines(self._take(b""))
        return () if left is None else (left,)

    def _ends_an_event(self, chunk: bytes) -> bool:
        if chunk.find(b"\n\n") >= 0:
            return True
        return chunk.startswith(b"\n") and bool(self._pieces) and self._pieces[-1].endswith(b"\n")

    def _take(self, chunk: bytes) -> bytes:
        """Returns the buffered bytes with these appended."""
        text = chunk
        if self._pieces:
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
        # Fast path: vendors' events have one line of data, and either all or none have a name.
        last = self._id
        if (alone := _alone(text)) is not None:
            return [ServerEvent(data, "", last) for data in alone]
        if text.startswith(b"event: "):
            named = _NAMED.findall(text)
            if text.count(b"\n") == 3 * len(named):
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


def _alone(text: bytes) -> list[bytes] | None:
    """Returns the data of blocks that all are a single line of data; None if any block is not."""
    if not text.startswith(b"data: ") or not text.endswith(b"\n\n"):
        return None
    # A long separator is searched for in long steps: a pattern takes twice as long.
    found = text[6:-2].split(b"\n\ndata: ")
    return None if _LF in b"".join(found) else found
