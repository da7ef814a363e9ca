"""The Transport port over HTTP/1.1, on httptools, which the first request imports.

Connections are reused, in one pool per event loop. Proxies come from the environment (``HTTPS_PROXY``,
``NO_PROXY``), and so do certificates (``SSL_CERT_FILE``, ``SSL_CERT_DIR``). No redirect is followed, not
even within an origin: the key, in whichever header, and the conversation were meant for the requested
address, and no vendor's API needs redirects.
"""

import asyncio
from collections.abc import Awaitable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple, Self
from urllib.parse import urljoin, urlsplit

from rightcall.core.transport import SENDING, StreamedResponse, Timeouts
from rightcall.errors import TransportError, TransportTimeout, VendorError
from rightcall.transport.pool import Pool, open_pools, pool_here
from rightcall.transport.route import ConnectionKey, route

if TYPE_CHECKING:
    from rightcall.transport.connection import HttpConnection
    from rightcall.transport.http1 import Unpacker

_REDIRECTS = range(300, 400)
_LONGEST_PLACE = 200
_CLOSED = "closed before the reply was complete"


class HttpTransport:
    """Sends requests for one owner; closing it does not affect others.

    A reply that unpacks to more than 1 MiB may unpack to ``unpack_ratio`` times its size at the most.
    """

    tells_sending = True

    def __init__(self, *, unpack_ratio: int = 100) -> None:
        self.unpack_ratio = unpack_ratio
        self._last: _PreparedHead | None = None

    def post(
        self, url: str, *, headers: Mapping[str, str], body: bytes, timeouts: Timeouts
    ) -> AbstractAsyncContextManager[StreamedResponse]:
        """POST a body, and return the reply while it streams."""
        return _Exchange(self, "POST", url, headers, body, timeouts)

    def get(
        self, url: str, *, headers: Mapping[str, str], timeouts: Timeouts
    ) -> AbstractAsyncContextManager[StreamedResponse]:
        """GET a URL, and return the reply while it streams."""
        return _Exchange(self, "GET", url, headers, None, timeouts)

    def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None,
        timeouts: Timeouts,
    ) -> AbstractAsyncContextManager[StreamedResponse]:
        """Send any request but HEAD, and return the reply as it comes: a redirect, or compressed."""
        return _Exchange(self, method, url, headers, body, timeouts, is_raw=True)

    def prepare(self, method: str, url: str, headers: Mapping[str, str]) -> "_PreparedHead":
        """Returns the connection that a request needs, and its head.

        Raises TransportError if the URL is none of HTTP, and UsageError for a header that is none.
        """
        last = self._last
        if last is None or last.url != url or last.headers != headers or last.method != method:
            way = route(url)
            all_headers = {**dict(way.extra), **headers}
            head = _http1().request_head(method, way.target, way.host, all_headers)
            last = self._last = _PreparedHead(method, url, dict(headers), way.key, head)
        return last

    async def close(self) -> None:
        """End this transport's exchanges with a TransportError, and leave the pools.

        It can be used again, and then joins a pool again.
        """
        here = asyncio.get_running_loop()
        for loop, pool in list(open_pools.items()):
            if loop is here:
                await pool.leave(self)
            elif self in pool.under_way and loop.is_running():
                # Not awaited: that loop may be waiting for this one.
                asyncio.run_coroutine_threadsafe(pool.leave(self), loop)


class _PreparedHead(NamedTuple):
    """The last request's head: a model is asked at one URL, with one key, most of the time."""

    method: str
    url: str
    headers: Mapping[str, str]
    key: ConnectionKey
    head: bytes


class _Exchange:
    """One request and its reply, whose body it is, too."""

    __slots__ = (
        "_body", "_connection", "_headers", "_is_ended", "_is_raw", "_is_read", "_method", "_opening",
        "_owner", "_pool", "_timeouts", "_unpacker", "_url",
    )  # fmt: skip

    def __init__(
        self,
        owner: HttpTransport,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        timeouts: Timeouts,
        *,
        is_raw: bool = False,
    ) -> None:
        self._owner = owner
        self._method = method
        self._url = url
        self._headers = headers
        self._body = body
        self._timeouts = timeouts
        self._pool: Pool | None = None
        self._connection: HttpConnection | None = None
        self._opening: asyncio.Timeout | None = None
        self._unpacker: Unpacker | None = None
        self._is_raw = is_raw
        self._is_ended = self._is_read = False

    async def __aenter__(self) -> StreamedResponse:
        loop = asyncio.get_running_loop()
        began = loop.time()
        pool = self._pool = open_pools.get(loop) or await pool_here()
        pool.under_way.setdefault(self._owner, set()).add(self)
        try:
            prepared = self._owner.prepare(self._method, self._url, self._headers)
            connection = pool.idle(prepared.key) or await self._open(pool, prepared.key)
            self._connection = connection
            if (note := SENDING.get()) is not None:
                note()
            await connection.send(prepared.head, self._body, self._timeouts, began)
            # The request may be large, and the reply may take long.
            self._headers = {}
            self._body = None
            replies = connection.replies
            while not replies.is_begun:
                await connection.news()
            if self._is_ended:
                raise TransportError(_CLOSED)  # noqa: TRY301 - finished below, as after any other
            headers = replies.headers
            if not self._is_raw:
                if replies.status in _REDIRECTS:
                    raise _redirect_error(self._url, replies.status, headers.get("location", ""))  # noqa: TRY301
                if "content-encoding" in headers:
                    ratio = self._owner.unpack_ratio
                    self._unpacker = _unpacker(headers["content-encoding"], ratio)
        except BaseException:
            self._finish()
            raise
        return StreamedResponse(replies.status, headers, self)

    async def __aexit__(self, *_: object) -> None:
        self._finish()

    def __aiter__(self) -> Self:
        return self

    def __anext__(self) -> Awaitable[bytes]:
        if self._connection is None or self._is_ended:
            return self._left()
        if self._unpacker is None:
            return self._connection.read()
        return self._read_unpacked(self._unpacker)

    def end(self) -> None:
        """Make whoever awaits the reply get a TransportError."""
        self._is_ended = True
        if self._connection is not None:
            self._connection.fail(TransportError, _CLOSED)
        elif self._opening is not None and not self._opening.expired():
            self._opening.reschedule(0)

    async def _open(self, pool: Pool, key: ConnectionKey) -> "HttpConnection":
        limits = [each for each in (self._timeouts.connect, self._timeouts.whole) if each is not None]
        limit = min(limits, default=None)
        try:
            async with asyncio.timeout(limit) as self._opening:
                connection = await pool.open(key)
        except TimeoutError:
            if not self._is_ended:
                raise TransportTimeout(f"no connection within {limit:g} s") from None
            raise TransportError(_CLOSED) from None
        finally:
            self._opening = None
        if self._is_ended:
            # The connection was there just as the exchange was ended, so the timeout had no effect.
            pool.put_back(connection)
            raise TransportError(_CLOSED)
        return connection

    async def _read_unpacked(self, unpacker: "Unpacker") -> bytes:
        connection = self._connection
        assert connection is not None
        plain = b""
        try:
            while not plain:
                if unpacker.has_more:
                    # It may be the next of thousands: timers, cancellations and others get their turn.
                    await asyncio.sleep(0)
                    connection.check_whole_time()
                else:
                    unpacker.feed(await connection.read())
                plain = unpacker.take()
        except ValueError as error:
            raise TransportError(str(error)) from error
        except StopAsyncIteration:
            if not unpacker.is_ended:
                raise TransportError("the reply ends in the middle of what is compressed") from None
            raise
        return plain

    async def _left(self) -> bytes:
        """What somebody reads who reads on after the end."""
        if self._is_read:
            raise StopAsyncIteration
        raise TransportError(_CLOSED)

    def _finish(self) -> None:
        if self._pool is not None:
            self._pool.under_way.get(self._owner, set()).discard(self)
        connection = self._connection
        self._connection = None
        if connection is not None and self._pool is not None:
            self._is_read = connection.replies.is_complete and not connection.replies.pieces
            self._pool.put_back(connection)


def _unpacker(encoding: str, ratio: int) -> "Unpacker | None":
    try:
        found: Unpacker | None = _http1().unpacker(encoding, ratio)
    except ValueError as error:
        raise TransportError(str(error)) from error
    return found


@cache
def _http1() -> ModuleType:
    """What bytes mean: it loads llhttp, which most programs need only with the first request."""
    from rightcall.transport import http1  # noqa: PLC0415 - light until used

    return http1


def _redirect_error(url: str, status: int, location: str) -> VendorError:
    """Returns the error for a redirect. Parts of its target that may be secret are left out."""
    try:
        place = urlsplit(urljoin(url, location))
        host = place.netloc.rpartition("@")[2]
        where = f"{place.scheme}://{host}{place.path}"[:_LONGEST_PLACE]
        if not location:
            where = "nowhere"
    except ValueError:
        where = "something that is no address"
    return VendorError(
        f"HTTP {status} points to {where}, and redirects are not followed; "
        "if that is the right place, give it as the address",
        status=status,
    )
