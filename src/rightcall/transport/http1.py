"""Turns requests into bytes and bytes into replies: HTTP/1.1, on httptools (llhttp).

It knows no socket, no clock and no event loop. The same bytes, cut anywhere, give the same reply.
"""

import re
import zlib
from collections.abc import Mapping

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from rightcall.errors import ProtocolError, TransportError, UsageError

_FIRST_FINAL_STATUS = 200
_MOST_OVERHEAD = 128 * 1024
"""Bytes. A longer head, or more than this between two pieces of a body, is an attack or a fault."""
_MOST_HEADERS = 256
_LONGEST_CODING = 50
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]+")
_CODINGS = frozenset({"chunked", "identity"})
"""How a body may be transferred; to be asked for another, a client has to offer it."""
_FIELDS = re.compile(r"(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+: [^\r\n\0]*\r\n)*")
_CUT = "the connection was closed in the middle of the reply"
_UNANSWERED = "the connection was closed before a reply"


def request_head(method: str, target: str, host: str, headers: Mapping[str, str]) -> bytes:
    """Returns the first bytes of a request, after which only the length of its body is missing.

    Headers that the caller gives replace the usual ones. Raises UsageError for one that would end
    early and begin another, and for one that says where the body ends.
    """
    fields = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    if fields.count("\n") != len(headers) or _FIELDS.fullmatch(fields) is None:
        for name, value in headers.items():
            if f"{name}{value}".count("\n") or _FIELDS.fullmatch(f"{name}: {value}\r\n") is None:
                # Its value may be secret.
                raise UsageError(f"not a header: {name!r}; it holds what ends a name or a line")
    given = {name.lower() for name in headers}
    usual = "" if "host" in given else f"host: {host}\r\n"
    if "accept" not in given:
        usual += "accept: */*\r\n"
    if "accept-encoding" not in given:
        usual += "accept-encoding: gzip, deflate\r\n"
    if "transfer-encoding" in given or "content-length" in given:
        raise UsageError("content-length and transfer-encoding follow from the body; do not give them")
    return f"{method} {target} HTTP/1.1\r\n{usual}{fields}".encode()


class ResponseParser:
    """Reads the replies of one connection, one at a time, each after ``expect``."""

    __slots__ = (
        "_count",
        "_overhead",
        "_parser",
        "headers",
        "is_begun",
        "is_complete",
        "is_expected",
        "keeps_alive",
        "on_body",
        "pieces",
        "status",
    )

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        """What has come of the body, and was not taken yet."""
        self.on_body = self.pieces.append
        """Called by the parser with each piece."""
        self._parser: HttpResponseParser | None = HttpResponseParser(self)
        # As clients have to (RFC 9112): lines of a head that end without CR or are folded, and spaces
        # after the size of a chunk. Where a body ends is as certain as without.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True,
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
        )
        self.is_expected = False
        """Whether a request was sent whose reply is not complete."""
        self.expect()
        self.is_expected = False

    def expect(self) -> None:
        """Begin with the next reply: its request is being sent."""
        self.is_expected = True
        self.is_begun = self.is_complete = self.keeps_alive = False
        self.status = self._overhead = self._count = 0
        self.headers: dict[str, str] = {}
        """By lower-case name; of two with one name, the values are joined: by a comma, or by a line feed
        for cookies, which may contain commas."""
        self.pieces.clear()

    def feed(self, data: memoryview) -> None:
        """Read the next bytes. Raises TransportError if they are no HTTP."""
        assert self._parser is not None
        taken = len(self.pieces)
        try:
            self._parser.feed_data(data)
        except HttpParserError as error:
            if not self.is_complete:
                # What a callback of ours raised says more than that it raised something.
                raise TransportError(f"the reply is not HTTP: {error.__context__ or error}") from error
            # Bytes after a reply are nobody's; the reply itself is good.
            self.keeps_alive = False
        except HttpParserUpgrade as error:
            raise TransportError("the reply is not HTTP: it changes to another protocol") from error
        if len(self.pieces) > taken or self.is_complete:
            self._overhead = 0
        else:
            self._overhead += len(data)
            if self._overhead > _MOST_OVERHEAD:
                words = f"more than {_MOST_OVERHEAD:,} bytes of headers"
                raise TransportError(f"the reply is not HTTP: {words}") from ValueError(words)

    @property
    def lost(self) -> str:
        """What it means if the connection is lost now."""
        if self.is_begun:
            return _CUT
        return _UNANSWERED

    def end(self) -> None:
        """The other side sends no more, which ends a reply without a length."""
        is_chunked = "chunked" in self.headers.get("transfer-encoding", "").lower()
        has_length = is_chunked or "content-length" in self.headers
        if self.is_begun and not self.is_complete and not has_length:
            self.on_message_complete()

    def take(self) -> bytes:
        """Returns what has come of the body since the last time; empty if nothing has."""
        pieces = self.pieces
        body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        pieces.clear()
        return body

    def close(self) -> None:
        """Let go of the parser, which refers back to this."""
        self._parser = None

    # What follows is called by the parser.

    def on_message_begin(self) -> None:
        """Refuse a reply that nobody asked for."""
        if not self.is_expected:
            raise ValueError("a reply without a request")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; one after the body is not kept."""
        if not self.is_begun:
            self._count += 1
            if self._count > _MOST_HEADERS:
                raise ValueError(f"more than {_MOST_HEADERS} headers")
            key = name.decode("latin-1").lower()
            text = value.decode("latin-1").rstrip()
            if not text.isprintable():
                text = _CONTROLS.sub(" ", text)  # so that it cannot become two where it is passed on
            known = self.headers.get(key)
            if known is not None:
                if key == "set-cookie":
                    text = f"{known}\n{text}"
                else:
                    text = f"{known}, {text}"
            self.headers[key] = text

    def on_headers_complete(self) -> None:
        """The reply begins, unless this is only the news that it will come."""
        assert self._parser is not None
        status = self._parser.get_status_code()
        if status < _FIRST_FINAL_STATUS:
            self.headers = {}
            self._count = 0
            return
        coding = self.headers.get("transfer-encoding", "").lower()
        if not _CODINGS.issuperset(coding.replace(",", " ").split()):
            raise ValueError(f"its body is transferred as {coding[:_LONGEST_CODING]!r}")
        self.status = status
        self.is_begun = True
        self.keeps_alive = self._parser.should_keep_alive()

    def on_message_complete(self) -> None:
        """The reply ends, unless this was only the news that it will come."""
        if self.is_begun:
            self.is_complete = True
            self.is_expected = False


_GZIP = 16 + zlib.MAX_WBITS
_RAW = -zlib.MAX_WBITS
_ZLIB_HEADER = 0x78
_NAMES = {"gzip": "gzip", "x-gzip": "gzip", "deflate": "deflate"}
_OTHERS = frozenset({"br", "compress", "zstd"})
"""Compressions that a client of ours does not ask for."""
_STEP = 64 * 1024
"""Bytes that a step reads, and those that it gives, at most."""
_ANY_RATIO = 1024 * 1024
"""Bytes that a body may unpack to, however few they come from."""


def unpacker(encoding: str, ratio: int | None) -> "Unpacker | None":
    """Returns what decompresses such a body; None if it is not compressed.

    It may unpack to ``ratio`` times its size; None for whoever counts what is unpacked.

    Raises ValueError for a compression that was not asked for.
    """
    name = encoding.strip().lower()
    if name in _OTHERS or "," in name:
        raise ValueError("the reply is compressed in a way that was not asked for")
    known = _NAMES.get(name)
    if known is None:
        return None
    return Unpacker(known, ratio)


class Unpacker:
    """Takes compressed pieces, and returns what they hold.

    Each step is bounded in what it reads and in what it gives. What nobody has taken yet stays
    compressed.
    """

    __slots__ = ("_at", "_data", "_encoding", "_given", "_is_full", "_ratio", "_read", "_stream")

    def __init__(self, encoding: str, ratio: int | None) -> None:
        self._encoding = encoding
        self._ratio = ratio
        self._stream: zlib._Decompress | None = None
        self._data = b""
        self._at = 0
        """How much of the data was read. It is not cut off each time: that would copy all the rest."""
        self._is_full = False
        """Whether the last step gave all it may, so that there may be more without another piece."""
        self._read = self._given = 0

    @property
    def has_more(self) -> bool:
        """Whether there is another step to take before another piece is needed."""
        return self._is_full or self._at < len(self._data)

    @property
    def is_ended(self) -> bool:
        """Whether the body may end here."""
        return not self.has_more and (self._stream is None or self._stream.eof)

    def feed(self, data: bytes) -> None:
        """Add a piece."""
        self._data = self._data[self._at :] + data
        self._at = 0

    def take(self) -> bytes:
        """Take a step, and return what it gives, if anything.

        Raises ValueError if nothing can be unpacked, and ProtocolError if it would be too much.
        """
        if self._stream is None:
            self._stream = zlib.decompressobj(self._window())
        stream = self._stream
        step = memoryview(self._data)[self._at : self._at + _STEP]
        try:
            plain = stream.decompress(step, _STEP)
        except zlib.error:
            raise ValueError("the reply says it is compressed, and cannot be unpacked") from None
        used = len(step) - len(stream.unconsumed_tail) - len(stream.unused_data)
        self._at += used
        self._read += used
        self._given += len(plain)
        if self._ratio is not None and self._given > max(_ANY_RATIO, self._ratio * self._read):
            raise ProtocolError(
                f"the reply unpacks to more than {self._ratio:,} times its size: {self._given:,} bytes "
                f"from {self._read:,} so far; HttpTransport(unpack_ratio=...) sets another bound"
            )
        self._is_full = len(plain) == _STEP and not stream.eof
        if stream.eof and self._encoding == "gzip":
            # A body may be several gzip files in a row.
            self._stream = None
        elif stream.eof:
            self._at = len(self._data)
        return plain

    def _window(self) -> int:
        if self._encoding == "gzip":
            return _GZIP
        if self._data[0] & 0x7F != _ZLIB_HEADER:
            # Since HTTP/1.0 servers have sent deflate both with and without its header.
            return _RAW
        return zlib.MAX_WBITS
