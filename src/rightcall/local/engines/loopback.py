"""The least of HTTP that the model's process needs: one request a connection, on this machine.

The processor's caches belong to the model, so all Python around its first token runs cold. A client for
any server, which looks up host names and parses heads as mail, took a third of that time.
"""

import socket
from collections.abc import Iterator
from types import TracebackType
from typing import Self

import msgspec

from rightcall.core.jsontext import JsonObject

_AT_ONCE = 65_536
_LONGEST_LINE = 65_536
_END_OF_HEAD = b"\r\n\r\n"
_END_OF_LINE = b"\r\n"
_CHUNKED = b"\r\ntransfer-encoding: chunked\r\n"
_LENGTH = b"\r\ncontent-length:"
_STATUS = slice(9, 12)
"""Where the status is in ``HTTP/1.1 200 OK``."""


class Malformed(Exception):
    """An answer that is not HTTP."""


class Answer:
    """The answer to one request, and its connection. Closing it disconnects."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._unread = b""
        head = self._until(_END_OF_HEAD)
        self._fields = head[head.find(_END_OF_LINE) :].lower() + _END_OF_LINE
        self.status = _number(head[_STATUS], 10)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def pieces(self) -> Iterator[bytes]:
        """The body, as it arrives. Raises OSError if the connection ends before the body does."""
        if _CHUNKED not in self._fields:
            length = self._fields.partition(_LENGTH)[2].partition(_END_OF_LINE)[0]
            yield self._exactly(_number(length, 10))
            return
        while size := _number(self._until(_END_OF_LINE), 16):
            yield self._exactly(size)
            self._exactly(len(_END_OF_LINE))

    def _until(self, mark: bytes) -> bytes:
        while (end := self._unread.find(mark)) < 0:
            if len(self._unread) > _LONGEST_LINE:
                raise Malformed("a line has no end")
            self._receive()
        found, self._unread = self._unread[:end], self._unread[end + len(mark) :]
        return found

    def _exactly(self, size: int) -> bytes:
        while len(self._unread) < size:
            self._receive()
        found, self._unread = self._unread[:size], self._unread[size:]
        return found

    def _receive(self) -> None:
        received = self._connection.recv(_AT_ONCE)
        if not received:
            raise ConnectionResetError("it closed the connection")
        self._unread += received


class Loopback:
    """A server on this machine, by an address in numbers. May be used from any thread."""

    def __init__(self, host: str, port: int, key: str, patience: float) -> None:
        self._place = (host, port)
        self._patience = patience
        self._head = (
            f" HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n"
        ).encode()

    def ask(self, path: str, body: JsonObject | None = None) -> Answer:
        """Send a request: GET, or POST if there is a body. Raises OSError or Malformed."""
        connection = socket.socket(socket.AF_INET)
        connection.settimeout(self._patience)
        try:
            connection.connect(self._place)
            connection.sendall(self._request(path, body))
            return Answer(connection)
        except BaseException:
            connection.close()
            raise

    def _request(self, path: str, body: JsonObject | None) -> bytes:
        if body is None:
            return b"GET %b%b\r\n" % (path.encode(), self._head)
        raw = msgspec.json.encode(body)
        kind = b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(raw)
        return b"POST %b%b%b%b" % (path.encode(), self._head, kind, raw)


def _number(raw: bytes, base: int) -> int:
    try:
        return int(raw, base)
    except ValueError:
        raise Malformed(f"{raw[:20]!r} is not a number") from None
