"""A stream's bytes into its JSON documents, whether they come as events or as one long array.

``alt=sse`` gives events; without it the same chunks come as the items of a JSON array, and so do errors.
An error may also be written bare among the events, over several lines, which no event's line looks like:
google-genai reads it so (``_api_client.py``, ``_iter_response_stream``).
"""

import re

from rightcall.errors import ProtocolError, TruncatedStream
from rightcall.wire.sse import MAX_EVENT_BYTES, SseDecoder

_OUTSIDE = re.compile(rb'["{}]')
_INSIDE = re.compile(rb'["\\]')
_RAW_LINE = re.compile(rb"[\r\n](?=[{\[])")
_BLANK = b" \t\r\n\xef\xbb\xbf"


class Frames:
    """Feed it bytes, cut anywhere; it gives back the documents that are complete."""

    def __init__(self) -> None:
        self._sse = SseDecoder()
        self._items: _Items | None = None
        self._began = False
        self._last = b"\n"

    def feed(self, data: bytes) -> list[bytes]:
        """The documents that these bytes complete."""
        if self._items is not None:
            return self._items.feed(data)
        if not self._began:
            data = data.lstrip(_BLANK)
            self._began = bool(data)
        seen = self._last + data
        raw = _RAW_LINE.search(seen)
        if raw is None:
            self._last = seen[-1:]
            return [event.data for event in self._sse.feed(data)]
        self._items, at = _Items(), raw.start()
        events = [*self._sse.feed(data[:at]), *self._sse.finish()]
        return [event.data for event in events] + self._items.feed(data[at:])

    def finish(self) -> list[bytes]:
        """The document that only the end of the stream completes."""
        if self._items is not None:
            return self._items.finish()
        return [event.data for event in self._sse.finish()]


class _Items:
    """The outermost objects of a JSON text. Each byte is looked at once."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._held = 0
        self._depth = 0
        self._in_string = False
        self._escaped = False

    def feed(self, data: bytes) -> list[bytes]:
        found: list[bytes] = []
        start, at = 0, 0
        if self._escaped and data:
            self._escaped, at = False, 1
        while mark := (_INSIDE if self._in_string else _OUTSIDE).search(data, at):
            at = mark.end()
            match mark[0]:
                case b'"':
                    self._in_string = not self._in_string
                case b"\\":
                    self._escaped = at == len(data)
                    at += 1
                case b"{":
                    start = start if self._depth else mark.start()
                    self._depth += 1
                case _:
                    self._depth -= 1
                    if self._depth == 0:
                        found.append(b"".join([*self._pieces, data[start:at]]))
                        self._pieces, self._held = [], 0
                    elif self._depth < 0:
                        raise ProtocolError("a JSON stream closes an object that it did not open")
        if self._depth:
            self._hold(data[start:])
        return found

    def finish(self) -> list[bytes]:
        if self._depth:
            raise TruncatedStream("the stream ended in the middle of an object")
        return []

    def _hold(self, piece: bytes) -> None:
        self._held += len(piece)
        if self._held > MAX_EVENT_BYTES:
            raise ProtocolError(f"an item of a JSON stream is longer than {MAX_EVENT_BYTES:,} bytes")
        self._pieces.append(piece)
