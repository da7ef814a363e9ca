"""Uvicorn's HTTP protocol, which waits for headers only for a while, and takes only so many of them.

Without that, whoever sends a byte of a header now and then holds a connection for good. It stands on
httptools, which takes a third of h11's time; whoever serves without it has to do with uvicorn's own.
"""

import asyncio
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_TOO_MUCH = b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
_TOO_LATE = b"HTTP/1.1 408 Request Timeout\r\n"
_AROUND = len(": \r\n")
"""Bytes around a header's name and value: thousands of empty headers are many bytes, too."""
_LOOK_SECONDS = 0.02
_CLOSE = b"content-length: 0\r\nconnection: close\r\n\r\n"


class BoundedProtocol(HttpToolsProtocol):
    """Counts what comes before the headers are complete, and how long that takes."""

    header_bytes: ClassVar[int] = 64 * 1024
    header_seconds: ClassVar[float] = 30.0
    _size = 0
    _read = 0
    """Bytes of the read that is looked at now."""
    _is_too_much = False
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first headers."""
        super().connection_made(transport)
        self._wait_for_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._headers_came()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take the next bytes, unless they are too many for headers."""
        if self._timer is None and getattr(self.cycle, "response_complete", True):
            self._wait_for_headers()
        self._read = len(data)
        super().data_received(data)
        if self._timer is not None:
            self._size += len(data)
            if self._size > self.header_bytes:
                self._refuse(_TOO_MUCH)

    def on_headers_complete(self) -> None:
        """Wait for no more of them. Headers that came whole, in one read, are counted here."""
        if self._size + self._read > self.header_bytes and self._length() > self.header_bytes:
            self._is_too_much = True
            # The parser ends with it, and nothing that follows in the same read is a request.
            raise ValueError("too many bytes of headers")
        self._headers_came()
        super().on_headers_complete()

    def _length(self) -> int:
        around = _AROUND * len(self.headers)
        return len(self.url) + around + sum(len(name) + len(value) for name, value in self.headers)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, and what was found to be too much on the way."""
        if self._is_too_much:
            self._refuse(_TOO_MUCH)
        else:
            super().send_400_response(msg)

    def _wait_for_headers(self) -> None:
        self._size = 0
        self._timer = self.loop.call_later(self.header_seconds, self._give_up)

    def _headers_came(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        # A busy event loop calls timers before it reads: what came in time may not have been looked at.
        self._timer = self.loop.call_later(_LOOK_SECONDS, self._end)

    def _end(self) -> None:
        if self._size:
            self._refuse(_TOO_LATE)
        else:
            # Whoever has asked for nothing expects no answer.
            self._headers_came()
            self.transport.close()

    def _refuse(self, why: bytes) -> None:
        self._headers_came()
        if not self.transport.is_closing():
            self.transport.write(why + _CLOSE)
            self.transport.close()
