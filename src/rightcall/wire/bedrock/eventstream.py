"""Decodes ``application/vnd.amazon.eventstream`` to messages, from bytes split anywhere.

A message is a prelude (its length, its headers' length, a checksum of both), headers, a payload and a
checksum of all that: https://smithy.io/2.0/aws/amazon-eventstream.html. Each byte is read once.
"""

import struct
from collections.abc import Iterator
from zlib import crc32

from msgspec import Struct

from rightcall.errors import ProtocolError

MAX_HEADERS = 128 * 1024
MAX_MESSAGE = 16 * 1024 * 1024 + MAX_HEADERS + 16
"""The largest message that the format allows, in bytes. A greater length is invalid."""

_PRELUDE = struct.Struct(">III")
_NUMBER = struct.Struct(">I")
_SHORT = struct.Struct(">H")
_AFTER = _NUMBER.size
"""The size of the checksum that ends a message."""
_LEAST = _PRELUDE.size + _AFTER
_KNOWN_HEADERS = 64
"""The size of the cache of parsed headers. A stream repeats a handful."""
_TEXT = 7
_BYTES = 6
_FIXED = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""The sizes of header values that are not strings, by type: booleans, numbers, times, UUIDs."""


class StreamMessage(Struct, frozen=True, gc=False):
    """One message: the headers that are strings, and the payload."""

    headers: dict[str, str]
    payload: bytes


class EventStreamDecoder:
    """Feed it bytes, split anywhere; it returns the messages that are complete."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._held = 0
        self._needed = _PRELUDE.size
        """How many bytes must have arrived before parsing can go on."""
        self._known: dict[bytes, dict[str, str]] = {}

    @property
    def is_between(self) -> bool:
        """Whether the bytes so far end at a message boundary."""
        return not self._held

    def feed(self, chunk: bytes) -> list[StreamMessage]:
        """The messages that these bytes complete."""
        self._pieces.append(chunk)
        self._held += len(chunk)
        if self._held < self._needed:
            return []
        if len(self._pieces) > 1:
            data = b"".join(self._pieces)
        else:
            data = chunk
        found: list[StreamMessage] = []
        rest = self._messages(data, found)
        self._pieces = [data[rest:]] if rest < len(data) else []
        self._held = len(data) - rest
        return found

    def _messages(self, data: bytes, found: list[StreamMessage]) -> int:
        """Parse the complete messages; returns where the rest begins."""
        view = memoryview(data)
        at = 0
        end = len(data)
        known = self._known
        while end - at >= _PRELUDE.size:
            length, header_length, checksum = _PRELUDE.unpack_from(data, at)
            body = at + _PRELUDE.size + header_length
            close = at + length - _AFTER
            if crc32(view[at : at + 8]) != checksum:
                raise ProtocolError("event stream: the checksum of a message's lengths is wrong")
            if length > MAX_MESSAGE or header_length > MAX_HEADERS or body > close:
                raise ProtocolError(
                    f"event stream: a message of {length:,} bytes with {header_length:,} of headers; it "
                    f"has {_LEAST} at the least, {MAX_MESSAGE:,} and {MAX_HEADERS:,} at the most"
                )
            if length > end - at:
                self._needed = length
                return at
            # The checksum of a message continues that of its first eight bytes.
            if crc32(view[at + 8 : close], checksum) != _NUMBER.unpack_from(data, close)[0]:
                raise ProtocolError("event stream: the checksum of a message is wrong")
            raw = data[at + _PRELUDE.size : body]
            headers = known.get(raw)
            found.append(StreamMessage(headers or self._read(raw), data[body:close]))
            at += length
        self._needed = _PRELUDE.size
        return at

    def _read(self, raw: bytes) -> dict[str, str]:
        headers = dict(_headers(raw))
        if len(self._known) < _KNOWN_HEADERS:
            self._known[raw] = headers
        return headers


def _headers(raw: bytes) -> Iterator[tuple[str, str]]:
    """The headers that are strings; others are skipped."""
    at = 0
    try:
        while at < len(raw):
            name_end = at + 1 + raw[at]
            kind = raw[name_end]
            value = name_end + 1
            if kind in (_TEXT, _BYTES):
                start = value + _SHORT.size
                end = start + _SHORT.unpack_from(raw, value)[0]
            else:
                start = value
                end = value + _FIXED[kind]
            _ = raw[end - 1]
            if kind == _TEXT:
                yield raw[at + 1 : name_end].decode(), raw[start:end].decode()
            at = end
    except (IndexError, KeyError, UnicodeError, struct.error) as problem:
        raise ProtocolError("event stream: the headers of a message cannot be read") from problem
