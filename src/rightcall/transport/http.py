"""The Transport port over HTTP/1.1, on httptools, which the first request imports.

Connections are reused, in one pool per event loop. Proxies come from the environment (``HTTPS_PROXY``,
``NO_PROXY``), and so do certificates (``SSL_CERT_FILE``, ``SSL_CERT_DIR``). No redirect is followed, not
even within an origin: the key, in whichever header, and the conversation were meant for the requested
address, and no vendor's API needs redirects.
"""

import asyncio
from collections.abc import Awaitable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Self
from urllib.parse import urljoin, urlsplit

from rightcall.core.transport import Incoming, Timeouts
from rightcall.errors import TransportError, TransportTimeout, VendorError
from rightcall.transport.pool import Pool, pool_here, pools
from rightcall.transport.route import Route, route

if TYPE_CHECKING:
    from rightcall.transport.connection import Connection
    from rightcall.transport.encoding import Unpacker

_REDIRECTS = range(300, 400)
_LONGEST_PLACE = 200
_UNPACKED = 256 * 1024
"""Bytes that are decompressed at once."""
_CLOSED = "closed before the reply was complete"


class HttpTransport:
    """Sends requests for one owner; closing it does not affect others."""

    def post(
        self, url: str, *, headers: Mapping[str, str], body: bytes, timeouts: Timeouts
    ) -> AbstractAsyncContextManager[Incoming]:
        """POST a body, and return the reply while it streams."""
        return _Exchange(self, "POST", url, headers, body, timeouts)

    def get(
        self, url: str, *, headers: Mapping[str, str], timeouts: Timeouts
    ) -> AbstractAsyncContextManager[Incoming]:
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
    ) -> AbstractAsyncContextManager[Incoming]:
        """Send any request but HEAD, and return the reply as it comes: a redirect, or compressed."""
        return _Exchange(self, method, url, headers, body, timeouts, is_raw=True)

    async def close(self) -> None:
        """End this transport's exchanges with a TransportError, and leave the pools.

        It can be used again, and then joins a pool again.
        """
        here = asyncio.get_running_loop()
        for loop, pool in pools():
            if loop is here:
                await pool.leave(self)
            elif self in pool.under_way and loop.is_running():
                # Not awaited: that loop may be waiting for this one.
                asyncio.run_coroutine_threadsafe(pool.leave(self), loop)


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
        self._connection: Connection | None = None
        self._opening: asyncio.Timeout | None = None
        self._unpacker: Unpacker | None = None
        self._is_raw = is_raw
        self._is_ended = self._is_read = False

    async def __aenter__(self) -> Incoming:
        self._pool = pool = await pool_here()
        pool.under_way.setdefault(self._owner, set()).add(self)
        try:
            return await self._exchanged(pool)
        except BaseException:
            self._finish()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._finish()

    def __aiter__(self) -> Self:
        return self

    def __anext__(self) -> Awaitable[bytes]:
        if self._connection is None or self._is_ended:
            return self._left()
        return self._connection.read() if self._unpacker is None else self._unpacked(self._unpacker)

    def end(self) -> None:
        """Make whoever awaits the reply get a TransportError."""
        self._is_ended = True
        if self._connection is not None:
            self._connection.fail(TransportError, _CLOSED)
        elif self._opening is not None and not self._opening.expired():
            self._opening.reschedule(0)

    async def _exchanged(self, pool: Pool) -> Incoming:
        began = asyncio.get_running_loop().time()
        way = route(self._url)
        head = self._head(way)
        self._connection = connection = pool.idle(way.key) or await self._opened(pool, way)
        await connection.send(head, self._body, self._timeouts, began)
        # The request may be large, and the reply may take long.
        del head
        self._headers, self._body = {}, None
        await connection.begin()
        if self._is_ended:
            raise TransportError(_CLOSED)
        replies = connection.replies
        if not self._is_raw:
            if replies.status in _REDIRECTS:
                raise _redirected(self._url, replies.status, replies.headers.get("location", ""))
            if "content-encoding" in replies.headers:
                self._unpacker = _unpacker(replies.headers["content-encoding"])
        return Incoming(replies.status, replies.headers, self)

    def _head(self, way: Route) -> bytes:
        from rightcall.transport.http1 import request_head  # noqa: PLC0415 - light until used

        headers = {**dict(way.extra), **self._headers} if way.extra else self._headers
        length = None if self._body is None else len(self._body)
        return request_head(self._method, way.target, way.host, headers, length)

    async def _opened(self, pool: Pool, way: Route) -> "Connection":
        limits = [each for each in (self._timeouts.connect, self._timeouts.whole) if each is not None]
        limit = min(limits, default=None)
        try:
            async with asyncio.timeout(limit) as self._opening:
                connection = await pool.open(way.key)
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

    async def _unpacked(self, unpacker: "Unpacker") -> bytes:
        assert self._connection is not None
        try:
            while not (plain := unpacker.take(_UNPACKED)):
                unpacker.feed(await self._connection.read())
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
        connection, self._connection = self._connection, None
        if connection is not None and self._pool is not None:
            self._is_read = connection.replies.is_complete and not connection.replies.pieces
            self._pool.put_back(connection)


def _unpacker(encoding: str) -> "Unpacker | None":
    from rightcall.transport.encoding import unpacker  # noqa: PLC0415 - light until used

    try:
        return unpacker(encoding)
    except ValueError as error:
        raise TransportError(str(error)) from error


def _redirected(url: str, status: int, location: str) -> VendorError:
    """Returns the error for a redirect. Parts of its target that may be secret are left out."""
    try:
        place = urlsplit(urljoin(url, location))
        host = place.netloc.rpartition("@")[2]
        where = f"{place.scheme}://{host}{place.path}"[:_LONGEST_PLACE] if location else "nowhere"
    except ValueError:
        where = "something that is no address"
    return VendorError(
        f"HTTP {status} points to {where}, and redirects are not followed; "
        "if that is the right place, give it as the address",
        status=status,
    )
