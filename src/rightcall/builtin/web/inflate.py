"""A body's compressed bytes into plain ones, never more than asked for.

A few kilobytes can unpack to gigabytes, so what is unpacked stops at a limit, in the middle if need be.
"""

import zlib
from typing import Protocol

from rightcall.errors import ToolFailure

_GZIP = 16 + zlib.MAX_WBITS
_RAW = -zlib.MAX_WBITS
_ZLIB_HEADER = 0x78


class Unpacker(Protocol):
    """Takes a body's bytes as they come."""

    def feed(self, data: bytes, room: int, /) -> bytes:
        """At most ``room`` plain bytes more. Raises ToolFailure for bytes that cannot be unpacked."""
        ...


class Plain:
    """A body that is not compressed."""

    def feed(self, data: bytes, room: int) -> bytes:
        """The same bytes."""
        return data[:room]


class Inflated:
    """A body in gzip or deflate."""

    def __init__(self, *, gzip: bool) -> None:
        self._gzip = gzip
        self._stream: zlib._Decompress | None = zlib.decompressobj(_GZIP) if gzip else None

    def feed(self, data: bytes, room: int) -> bytes:
        """What the bytes unpack to. Whatever would not fit is lost, so feed no more after that."""
        plain = b""
        try:
            while data and len(plain) < room:
                if self._stream is None:
                    # Deflate has come with and without the header of zlib since the days of HTTP/1.0.
                    self._stream = zlib.decompressobj(
                        zlib.MAX_WBITS if data[0] & 0x7F == _ZLIB_HEADER else _RAW
                    )
                plain += self._stream.decompress(data, room - len(plain))
                if not self._stream.eof:
                    break
                # One gzip file may follow another, and make one body.
                data = self._stream.unused_data if self._gzip else b""
                self._stream = zlib.decompressobj(_GZIP) if self._gzip else self._stream
        except zlib.error:
            raise ToolFailure("The reply says it is compressed, and cannot be unpacked.") from None
        return plain


def unpacker(encoding: str) -> Unpacker:
    """For a Content-Encoding. Raises ToolFailure for one that was not asked for."""
    match encoding.strip().lower():
        case "" | "identity":
            return Plain()
        case "gzip" | "x-gzip":
            return Inflated(gzip=True)
        case "deflate":
            return Inflated(gzip=False)
        case _:
            raise ToolFailure("The reply is compressed in a way that was not asked for.")
