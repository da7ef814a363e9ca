"""One connection to a server: writes requests, and reads the reply to each, under its timeouts.

A reader that is slow pauses the socket. No piece needs a timer: the connection has one, which looks,
when it rings, whether somebody has waited for too long. It is set only if it is not, or would ring too
late.
"""

import asyncio
import math
import select
import sys
from typing import TYPE_CHECKING, NamedTuple

from rightcall.blank_context import BLANK
from rightcall.core.transport import Timeouts
from rightcall.errors import TransportError, TransportTimeout
from rightcall.transport.http1 import ResponseParser
from rightcall.transport.route import ConnectionKey

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_UNREAD = 256 * 1024
"""Bytes. If more have come than were read, the socket is paused."""
_MOST_READ = 64 * 1024
"""Bytes that are read at once: decoding them takes time, in which others have to wait."""
_PIECE = 256 * 1024
"""Bytes of a request that are written before it is seen whether the socket takes more."""

_TURNS_TO_READ = 2
"""Turns of the event loop: in the first it sees that something has come, in the second it reads that. A
write first, to a server that has refused the request and closed, would lose the refusal."""


class _Failure(NamedTuple):
    """Why no more comes. An exception would refer to its frames, and they to the connection."""

    kind: type[TransportError]
    words: str
    cause: BaseException | None


class HttpConnection(asyncio.BufferedProtocol):
    """A connection that carries one exchange at a time."""

    __slots__ = (
        "_began", "_buffer", "_due", "_failure", "_is_full", "_is_more_left", "_is_paused", "_loop",
        "_on_lost", "_timeouts", "_timer", "_transport", "_unread", "_waiter", "_was_sent",
        "idle_until", "key", "replies",
    )  # fmt: skip

    def __init__(
        self, key: ConnectionKey, buffer: memoryview, on_lost: "Callable[[HttpConnection], None]"
    ) -> None:
        self.key = key
        self.replies = ResponseParser()
        self.idle_until = 0.0
        self._loop = asyncio.get_running_loop()
        self._buffer = buffer
        """Where bytes are received. All connections of a loop share it, as each is parsed at once."""
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._failure: _Failure | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timeouts = Timeouts()
        self._began = 0.0
        self._due = math.inf
        """When the present wait is too long."""
        self._unread = 0
        self._is_more_left = False
        """Whether the last read left a part of what had come."""
        self._is_paused = self._is_full = False
        """Whether no more of the reply is read; whether the socket takes no more of the request."""
        self._was_sent = True

    @property
    def is_open(self) -> bool:
        """Whether the other side has not closed it, as far as is known."""
        return self._transport is not None and not self._transport.is_closing()

    @property
    def is_stale(self) -> bool:
        """Whether it is closed, or something has come since the event loop looked: the end, most often.

        A loop that was kept busy, by a tool for example, has not seen that the server closed it.
        """
        if not self.is_open:
            return True
        assert self._transport is not None
        place = self._transport.get_extra_info("socket")
        if place is None:
            return False
        if sys.platform == "win32":  # has no poll, and select takes a socket of any number there
            return bool(select.select([place], [], [], 0)[0])
        poll = select.poll()
        poll.register(place, select.POLLIN)
        return bool(poll.poll(0))

    @property
    def is_reusable(self) -> bool:
        """Whether another request can follow."""
        return (
            self.replies.keeps_alive
            and self.replies.is_complete
            and self._transport is not None
            and not self._transport.is_closing()
            and self._was_sent
            and not self._transport.get_write_buffer_size()
        )

    async def send(self, head: bytes, body: bytes | None, timeouts: Timeouts, began: float) -> None:
        """Write a request, whose reply may come before all is written. ``head`` lacks the length."""
        assert self._transport is not None
        self._timeouts = timeouts
        self._began = began
        self.replies.expect()
        self._unread = 0
        self._is_more_left = False
        self._must_come_within(timeouts.first_byte)
        if body is None:
            self._transport.write(head + b"\r\n")
        elif len(body) <= _PIECE:
            self._transport.write(b"%bcontent-length: %d\r\n\r\n%b" % (head, len(body), body))
        else:
            self._transport.write(b"%bcontent-length: %d\r\n\r\n" % (head, len(body)))
            await self._write_large(body)

    def news(self) -> "asyncio.Future[None]":
        """Returns what to await until something has come, or has changed.

        Raises TransportError if nothing will.
        """
        if self._failure is not None:
            raise self._error()
        if self._due < (math.inf if self._timer is None else self._timer.when()):
            self._set_timer()
        self._waiter = self._loop.create_future()
        return self._waiter

    async def read(self) -> bytes:
        """Returns more of the body, 64 KiB at most.

        Raises StopAsyncIteration at its end, and TransportError.
        """
        replies = self.replies
        if self._is_more_left:
            # No wait for the socket, so that others would not get their turn.
            await asyncio.sleep(0)
        if self._timeouts.whole is not None:
            self.check_whole_time()
        while not replies.pieces:
            if replies.is_complete:
                raise StopAsyncIteration
            self._must_come_within(self._timeouts.between_chunks)
            await self.news()
        body = replies.take()
        self._is_more_left = len(body) > _MOST_READ
        self._unread = 0
        if self._is_more_left:
            replies.pieces.append(body[_MOST_READ:])
            self._unread = len(body) - _MOST_READ
            body = body[:_MOST_READ]
        if self._is_paused and self._unread <= _MOST_UNREAD:
            self._is_paused = False
            if self._transport is not None:
                self._transport.resume_reading()
        return body

    def check_whole_time(self) -> None:
        """Raise TransportTimeout if the exchange has taken longer than it may."""
        limit = self._timeouts.whole
        if limit is not None and self._loop.time() > self._began + limit:
            self._give_up()
            raise self._error()

    def fail(self, kind: type[TransportError], words: str, cause: BaseException | None = None) -> None:
        """Close the connection; whoever waits for the reply, or will, gets this error."""
        if self._failure is None:
            self._failure = _Failure(kind, words, cause)
        self.abort()
        self._wake()

    def abort(self) -> None:
        """Close the connection at once."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._transport is not None:
            self._transport.abort()

    async def _write_large(self, body: bytes) -> None:
        assert self._transport is not None
        self._was_sent = False
        view = memoryview(body)
        for start in range(0, len(body), _PIECE):
            for _ in range(_TURNS_TO_READ):
                await asyncio.sleep(0)
            while self._is_full and not self.replies.is_begun:
                await self.news()
            if self.replies.is_begun:
                return  # the reply does not depend on the rest, or refuses it
            if self._failure is not None:
                raise self._error()
            self._transport.write(view[start : start + _PIECE])
            self._must_come_within(self._timeouts.first_byte)
        self._was_sent = True

    def _must_come_within(self, seconds: float | None) -> None:
        now = self._loop.time()
        self._due = math.inf if seconds is None else now + seconds
        if self._timeouts.whole is not None:
            self._due = min(self._due, self._began + self._timeouts.whole)

    def _wake(self) -> None:
        waiter = self._waiter
        self._waiter = None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def _error(self) -> TransportError:
        assert self._failure is not None
        error = self._failure.kind(self._failure.words)
        error.__cause__ = self._failure.cause
        return error

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        # It outlasts the exchange that set it, and is not to keep that one's context.
        self._timer = self._loop.call_at(self._due, self._look, context=BLANK.context)

    def _look(self) -> None:
        self._timer = None
        if self._waiter is None or self._waiter.done():
            return  # nobody waits, or something has just come; the next wait sets it
        if self._loop.time() < self._due:
            self._set_timer()
        else:
            self._give_up()

    def _give_up(self) -> None:
        limits = self._timeouts
        if limits.whole is not None and self._loop.time() >= self._began + limits.whole:
            words = f"the reply was not complete within {limits.whole:g} s"
        elif self.replies.is_begun:
            words = f"no more of the reply within {limits.between_chunks:g} s"
        else:
            words = f"no reply within {limits.first_byte:g} s"
        self.fail(TransportTimeout, words)

    # What follows is called by the event loop.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The connection is there."""
        self._transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - the event loop's
        """Returns where to put bytes. A view, because slices of it must not be copies."""
        return self._buffer

    def buffer_updated(self, count: int) -> None:
        """Bytes have come."""
        replies = self.replies
        if not replies.is_expected:
            # Nobody asked for them: whose would they be, on a connection that is reused?
            replies.keeps_alive = False
            self.abort()
            return
        try:
            replies.feed(self._buffer[:count])
        except TransportError as error:
            self.fail(TransportError, str(error), error.__cause__)
            return
        self._unread += count
        if self._unread > _MOST_UNREAD and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()
        if replies.is_begun:
            self._wake()

    def eof_received(self) -> None:
        """The other side sends no more, which ends a reply without a length."""
        self.replies.end()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is closed, by whomever."""
        if self.replies.is_expected:
            words = self.replies.lost
            if exc is not None:
                words += f": {exc}"
            self.fail(TransportError, words, exc)
        self.abort()
        self._transport = None
        self.replies.close()
        self._on_lost(self)

    def pause_writing(self) -> None:
        """The socket takes no more."""
        self._is_full = True

    def resume_writing(self) -> None:
        """It takes more."""
        self._is_full = False
        self._wake()
