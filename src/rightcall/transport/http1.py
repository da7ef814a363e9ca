"""Turns requests into bytes and bytes into replies: HTTP/1.1, on httptools (llhttp).

It knows no socket, no clock and no event loop. The same bytes, cut anywhere, give the same reply.
"""

import re
from collections.abc import Mapping

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from rightcall.errors import TransportError, UsageError

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


def request_head(
    method: str, target: str, host: str, headers: Mapping[str, str], length: int | None
) -> bytes:
    """Returns the first bytes of a request. ``length`` is that of its body; None if it has none.

    Headers that the caller gives replace the usual ones. Raises UsageError for one that would end
    early and begin another, and for one that says where the body ends and is wrong.
    """
    fields = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    if fields.count("\n") != len(headers) or _FIELDS.fullmatch(fields) is None:
        raise UsageError(f"not a header: {_first_bad(headers)!r}; it holds what ends a name or a line")
    given = {name.lower(): value for name, value in headers.items()}
    usual = "" if "host" in given else f"host: {host}\r\n"
    if "accept" not in given:
        usual += "accept: */*\r\n"
    if "accept-encoding" not in given:
        usual += "accept-encoding: gzip, deflate\r\n"
    if "transfer-encoding" in given or given.get("content-length", f"{length}") != f"{length}":
        raise UsageError("content-length and transfer-encoding follow from the body; do not give them")
    if length is not None and "content-length" not in given:
        usual += f"content-length: {length}\r\n"
    return f"{method} {target} HTTP/1.1\r\n{usual}{fields}\r\n".encode()


def _first_bad(headers: Mapping[str, str]) -> str:
    """Returns the name of the first header that cannot be sent; its value may be secret."""
    bad = [
        name
        for name, value in headers.items()
        if f"{name}{value}".count("\n") or _FIELDS.fullmatch(f"{name}: {value}\r\n") is None
    ]
    return bad[0]


class Replies:
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
        "pieces",
        "status",
    )

    def __init__(self) -> None:
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
        self.pieces: list[bytes] = []
        """What has come of the body, and was not taken yet."""
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
        return _CUT if self.is_begun else _UNANSWERED

    def end(self) -> None:
        """The other side sends no more, which ends a reply without a length."""
        if self.is_begun and not self.is_complete and not self._has_length():
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

    def _has_length(self) -> bool:
        return (
            "content-length" in self.headers
            or "chunked" in self.headers.get("transfer-encoding", "").lower()
        )

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
            key, text = name.decode("latin-1").lower(), value.decode("latin-1").rstrip()
            if not text.isprintable():
                text = _CONTROLS.sub(" ", text)  # so that it cannot become two where it is passed on
            known = self.headers.get(key)
            if known is not None:
                text = f"{known}\n{text}" if key == "set-cookie" else f"{known}, {text}"
            self.headers[key] = text

    def on_headers_complete(self) -> None:
        """The reply begins, unless this is only the news that it will come."""
        assert self._parser is not None
        status = self._parser.get_status_code()
        if status < _FIRST_FINAL_STATUS:
            self.headers, self._count = {}, 0
            return
        coding = self.headers.get("transfer-encoding", "").lower()
        if not _CODINGS.issuperset(coding.replace(",", " ").split()):
            raise ValueError(f"its body is transferred as {coding[:_LONGEST_CODING]!r}")
        self.status = status
        self.is_begun = True
        self.keeps_alive = self._parser.should_keep_alive()

    def on_body(self, piece: bytes) -> None:
        """Keep a piece of the body."""
        self.pieces.append(piece)

    def on_message_complete(self) -> None:
        """The reply ends, unless this was only the news that it will come."""
        if self.is_begun:
            self.is_complete = True
            self.is_expected = False
