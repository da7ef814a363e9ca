"""Decompresses a body as it comes, by its Content-Encoding, never more of it at once than asked for.

A few kilobytes can decompress to gigabytes; what nobody has taken yet stays compressed.
"""

import zlib

_GZIP = 16 + zlib.MAX_WBITS
_RAW = -zlib.MAX_WBITS
_ZLIB_HEADER = 0x78
_NAMES = {"gzip": "gzip", "x-gzip": "gzip", "deflate": "deflate"}
_OTHERS = frozenset({"br", "compress", "zstd"})
"""Compressions that a client of ours does not ask for."""


def unpacker(encoding: str) -> "Unpacker | None":
    """Returns what decompresses such a body; None if it is not compressed.

    Raises ValueError for a compression that was not asked for.
    """
    name = encoding.strip().lower()
    if name in _OTHERS or "," in name:
        raise ValueError("the reply is compressed in a way that was not asked for")
    known = _NAMES.get(name)
    return None if known is None else Unpacker(known)


class Unpacker:
    """Takes compressed pieces, and returns what they hold."""

    __slots__ = ("_data", "_encoding", "_is_full", "_stream")

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._stream: zlib._Decompress | None = None
        self._data = b""
        self._is_full = False
        """Whether the last take had all the room, so that there may be more without another piece."""

    @property
    def is_ended(self) -> bool:
        """Whether the body may end here."""
        return not (self._data or self._is_full) and (self._stream is None or self._stream.eof)

    def feed(self, data: bytes) -> None:
        """Add a piece."""
        self._data += data

    def take(self, room: int) -> bytes:
        """Returns at most ``room`` more bytes; empty if a piece is needed. Raises ValueError."""
        plain = b""
        try:
            while (self._data or self._is_full) and not plain:
                if self._stream is None:
                    self._stream = zlib.decompressobj(self._window(self._data[0]))
                plain = self._stream.decompress(self._data, room)
                self._is_full = len(plain) == room and not self._stream.eof
                if self._stream.eof:
                    self._next_member(self._stream.unused_data)
                else:
                    self._data = self._stream.unconsumed_tail
        except zlib.error:
            raise ValueError("the reply says it is compressed, and cannot be unpacked") from None
        return plain

    def _next_member(self, rest: bytes) -> None:
        # A body may be several gzip files in a row.
        if self._encoding == "gzip":
            self._stream, self._data = None, rest
        else:
            self._data = b""

    def _window(self, first: int) -> int:
        if self._encoding == "gzip":
            return _GZIP
        # Since HTTP/1.0 servers have sent deflate both with and without the zlib header.
        return zlib.MAX_WBITS if first & 0x7F == _ZLIB_HEADER else _RAW
