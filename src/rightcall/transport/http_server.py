"""The base of servers: a listening socket, and a uvicorn that leaves signals to the caller."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rightcall.errors import UsageError

_BACKLOG = 128


@contextmanager
def listening_socket(host: str, port: int) -> Iterator[socket.socket]:
    """Returns a listening socket. Raises UsageError if it cannot bind: uvicorn would end the process."""
    plain = host.strip("[]")
    family = socket.AF_INET6 if ":" in plain else socket.AF_INET
    # asyncio turns off Nagle's algorithm only if the socket's protocol is given, and create_server gives
    # none; with Nagle, every second response waits 40 ms for an acknowledgement.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((plain, port))
        except (OSError, OverflowError) as error:
            words = getattr(error, "strerror", None) or str(error)
            raise UsageError(f"cannot listen on {host}:{port}: {words}") from error
        bound.listen(_BACKLOG)
        yield bound


def url_of(host: str, port: int) -> str:
    """Returns the URL for a browser."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


class Listener(uvicorn.Server):
    """A server that the owner of the event loop ends.

    uvicorn's own would end the process with the signal that it got, before the rest was written.
    """

    should_exit = False

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture no signals."""
        yield

    def end(self) -> None:
        """Accept no more requests, and let streams end; on the second call, do not wait for them."""
        self.force_exit = self.should_exit
        self.should_exit = True


_TOO_MUCH = b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
_TOO_LATE = b"HTTP/1.1 408 Request Timeout\r\n"
_AROUND = len(": \r\n")
"""Bytes around a header's name and value: thousands of empty headers are many bytes too."""
_LOOK_SECONDS = 0.02
_CLOSE = b"content-length: 0\r\nconnection: close\r\n\r\n"


class BoundedProtocol(HttpToolsProtocol):
    """Counts the bytes before the headers are complete, and the time that they and the body take.

    Without these limits on uvicorn's protocol, a client that sends a byte of a header now and then
    holds a connection forever. It is based on httptools, which takes a third of h11's time.
    """

    header_bytes: ClassVar[int] = 64 * 1024
    header_seconds: ClassVar[float] = 30.0
    body_seconds: ClassVar[float | None] = None
    """Seconds for a body that did not come with its headers; None if somebody else limits them."""
    drop_bytes: ClassVar[int] = 256 * 1024 * 1024
    """The most bytes of a body that are read and dropped once its request is answered, as with 413: a
    client that is cut off while it sends does not read its answer."""
    drop_seconds: ClassVar[float] = 60.0
    """How long they may take."""
    _size = 0
    _is_in_message = False
    """Whether a request's headers have come, and its body has not come to its end."""
    _dropped = 0
    _drop_timer: asyncio.TimerHandle | None = None
    _read = 0
    """Bytes of the current read."""
    _is_too_much = False
    _timer: asyncio.TimerHandle | None = None
    _body_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer for the first headers."""
        super().connection_made(transport)
        self._wait_for_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._headers_came()
        self._body_came()
        self._drop_ended()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Process the next bytes, unless they are too many for headers."""
        self._read = len(data)
        if self._timer is None and getattr(self.cycle, "response_complete", True):
            if self._is_in_message:
                self._drop(data)
                return
            self._wait_for_headers()
        super().data_received(data)
        if self._timer is not None:
            self._size += len(data)
            if self._size > self.header_bytes:
                self._refuse(_TOO_MUCH)
        elif (
            self.body_seconds is not None
            and self._body_timer is None
            and getattr(self.cycle, "more_body", False)
        ):
            # Nearly every body comes with its headers, and needs no timer.
            self._body_timer = self.loop.call_later(self.body_seconds, self._look_for_body)

    def on_message_complete(self) -> None:
        """Stop the timers for the body."""
        self._is_in_message = False
        self._body_came()
        self._drop_ended()
        super().on_message_complete()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header without the whitespace after its value, which is no part of it (RFC 9110)."""
        super().on_header(name, value.rstrip(b" \t"))

    def on_headers_complete(self) -> None:
        """Stop the timer. Headers that arrived in one read are counted here."""
        if self._size + self._read > self.header_bytes:
            size = len(self.url) + _AROUND * len(self.headers)
            size += sum(len(name) + len(value) for name, value in self.headers)
            if size > self.header_bytes:
                self._is_too_much = True
                # Stops the parser, so that nothing that follows in the same read counts as a request.
                raise ValueError("too many bytes of headers")
        self._headers_came()
        self._is_in_message = True
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, and headers that were found to be too large."""
        if self._is_too_much:
            self._refuse(_TOO_MUCH)
        else:
            super().send_400_response(msg)

    def _drop(self, data: bytes) -> None:
        """Read more of a body whose request was answered before it had come."""
        if self._drop_timer is None:
            self._dropped = 0
            self._drop_timer = self.loop.call_later(self.drop_seconds, self.transport.close)
        self._dropped += len(data)
        if self._dropped > self.drop_bytes:
            self.transport.close()
            return
        super().data_received(data)
        if not self._is_in_message and self._timer is None:
            # The next request may have begun in the same read.
            self._wait_for_headers()

    def _drop_ended(self) -> None:
        if self._drop_timer is not None:
            self._drop_timer.cancel()
            self._drop_timer = None

    def _wait_for_headers(self) -> None:
        self._size = 0
        self._timer = self.loop.call_later(self.header_seconds, self._give_up)

    def _headers_came(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _body_came(self) -> None:
        if self._body_timer is not None:
            self._body_timer.cancel()
            self._body_timer = None

    def _look_for_body(self) -> None:
        # The client is not late while nobody reads: the application takes its time, or an earlier
        # request on this connection is still being answered.
        if self.flow.read_paused and self.body_seconds is not None:
            self._body_timer = self.loop.call_later(self.body_seconds, self._look_for_body)
        else:
            self._body_timer = self.loop.call_later(_LOOK_SECONDS, self._end_body)

    def _end_body(self) -> None:
        self._body_came()
        if self.cycle.response_started:
            self.transport.close()
        else:
            self._refuse(_TOO_LATE)

    def _give_up(self) -> None:
        # A busy event loop calls timers before it reads: bytes that came in time may still be unread.
        self._timer = self.loop.call_later(_LOOK_SECONDS, self._end)

    def _end(self) -> None:
        if self._size:
            self._refuse(_TOO_LATE)
        else:
            # A client that has sent nothing expects no answer.
            self._headers_came()
            self.transport.close()

    def _refuse(self, why: bytes) -> None:
        self._headers_came()
        if not self.transport.is_closing():
            self.transport.write(why + _CLOSE)
            self.transport.close()
