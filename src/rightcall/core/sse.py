"""Parses the bytes of an event stream into events, as the HTML standard says.

Lines end at CR, LF or CRLF and nowhere else: U+2028 inside data is data. The cost of a chunk depends
only on its own bytes, however long the stream has been.
"""

import re

from msgspec import Struct

from rightcall.core.jsontext import check_parts
from rightcall.errors import ProtocolError

MAX_EVENT_BYTES = 64 * 1024 * 1024
"""A longer single event is an attack or a fault, and is refused instead of buffered."""

_MOST_UNREAD = 64 * 1024
"""Bytes of an event that are held before its lines are read."""
_BOM = b"\xef\xbb\xbf"
_CR, _LF = b"\r\n"
_COLON = b":"[0]
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
        self._unread = 0
        """Bytes of an event that are held and whose lines were not read yet."""
        self._is_begun = False
        """Whether lines of an event were read before its end has come."""
        self._data: list[bytes] = []
        self._name = ""
        self._id: str | None = None
        self.retry: int | None = None
        """The reconnection time that the stream asked for, in milliseconds."""

    def feed(self, chunk: bytes) -> tuple[ServerEvent, ...]:
        """Returns the events that these bytes complete."""
        text = self._whole_blocks(chunk)
        if text:
            return tuple(self._events(text))
        return ()

    def payloads(self, chunk: bytes) -> list[bytes]:
        """Returns the data of the events that these bytes complete, where their names mean nothing."""
        text = self._whole_blocks(chunk)
        alone = None if self._is_begun else _alone(text)
        if alone is None:
            return [event.data for event in self._events(text)]
        return alone

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
        ends_event = b"\n\n" in chunk
        if not ends_event and chunk.startswith(b"\n") and self._pieces:
            # A blank line that was cut in two.
            ends_event = self._pieces[-1].endswith(b"\n")
        if not ends_event:
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
        if not (self._pieces or self._is_begun):
            return ()
        last = self._lines(self._take(b""))
        if last is None:
            return ()
        return (last,)

    def _take(self, chunk: bytes) -> bytes:
        """Returns the buffered bytes with these appended."""
        text = chunk
        if self._pieces:
            text = b"".join([*self._pieces, chunk])
            check_parts(text, "an event of the stream")
            self._pieces = []
            self._held = 0
            self._unread = 0
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
            self._unread += len(piece)
            if self._unread > _MOST_UNREAD and _LF in piece:
                self._read_held_lines()

    def _read_held_lines(self) -> None:
        """Read the lines of an event that goes on: all at its end, they could take seconds.

        The last one is held, as what comes next may be a blank line.
        """
        held = self._held
        text = self._take(b"")
        last = text.rfind(b"\n", 0, -1) + 1
        if last:
            self._is_begun = True
            self._add_lines(text[: last - 1])
        self._pieces = [text[last:]]
        self._held = held

    def _events(self, text: bytes) -> list[ServerEvent]:
        """Returns the events of whole blocks."""
        # Fast path: vendors' events have one line of data, and either all or none have a name.
        last = self._id
        is_usual = not self._is_begun
        if is_usual and (alone := _alone(text)) is not None:
            return [ServerEvent(data, "", last) for data in alone]
        if is_usual and text.startswith(b"event: "):
            named = _NAMED.findall(text)
            if text.count(b"\n") == 3 * len(named):
                return [ServerEvent(data, name.decode(errors="replace"), last) for name, data in named]
        events = []
        for block in text.split(b"\n\n"):
            # Nothing, or one line of comment: a stream may consist of millions of those.
            if block and (block[0] != _COLON or _LF in block or self._is_begun):
                event = self._lines(block)
                if event is not None:
                    events.append(event)
        return events

    def _lines(self, block: bytes) -> ServerEvent | None:
        """Returns one event from its lines; None if it has no data."""
        self._add_lines(block)
        data = self._data
        if data:
            self._data = []
        name = self._name
        self._name = ""
        self._is_begun = False
        if data:
            return ServerEvent(b"\n".join(data), name, self._id)
        return None

    def _add_lines(self, text: bytes) -> None:
        data: list[bytes] = []
        for line in text.split(b"\n"):
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            match field:
                case b"data":
                    data.append(value)
                case b"event":
                    self._name = value.decode(errors="replace")
                case b"id" if b"\0" not in value:
                    self._id = value.decode(errors="replace")
                case b"retry" if value.isdigit():
                    self.retry = int(value)
                case _:
                    pass
        if data:
            self._data.append(b"\n".join(data))


def _alone(text: bytes) -> list[bytes] | None:
    """Returns the data of blocks that all are a single line of data; None if any block is not."""
    if not text.startswith(b"data: ") or not text.endswith(b"\n\n"):
        return None
    # A long separator is searched for in long steps: a pattern takes twice as long.
    found = text[6:-2].split(b"\n\ndata: ")
    if _LF in b"".join(found):
        return None
    return found
