"""The Transport port on aiohttp, which the first request imports.

Connections are reused, in one pool per event loop. A pool is shared by the transports that have sent on
its loop, and is closed with the last of them, with its loop, or when the program ends. Proxies come from
the environment (``HTTPS_PROXY``, ``NO_PROXY``), and so do certificates (``SSL_CERT_FILE``,
``SSL_CERT_DIR``). No redirect is followed, not even within an origin: the key, in whichever header, and
the conversation were meant for the requested address, and no vendor's API needs redirects.
"""

import asyncio
import atexit
import io
import re
import socket
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Self
from urllib.parse import urljoin, urlsplit
from weakref import WeakKeyDictionary, WeakSet

from rightcall.core.transport import Incoming, Timeouts
from rightcall.errors import TransportError, TransportTimeout, VendorError
from rightcall.platforms import after_fork

if TYPE_CHECKING:
    import aiohttp
    import yarl

_CONNECTIONS = 4096
_EXIT_SECONDS = 2.0
"""Seconds that the exit of the program waits for another thread's event loop to close its
connections."""
_REDIRECTS = range(300, 400)
_LONGEST_PLACE = 200
_LARGE_BODY = 2**20
_CLOSED = "closed before the reply was complete"
_WRITTEN = re.compile(r"[\w.~:/?#\[\]@!$&'()*+,;=%-]+", re.ASCII)
"""The characters of a URL (RFC 3986)."""


class AiohttpTransport:
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

    async def close(self) -> None:
        """End this transport's exchanges with a TransportError, and leave the pools.

        It can be used again, and then joins a pool again.
        """
        here = asyncio.get_running_loop()
        for loop, pool in list(_pools.items()):
            if loop is here:
                await pool.leave(self)
            elif self in pool.under_way and loop.is_running():
                # Not awaited: that loop may be waiting for this one.
                asyncio.run_coroutine_threadsafe(pool.leave(self), loop)


class _Pool:
    """The connections of one event loop."""

    def __init__(self) -> None:
        import aiohttp  # noqa: PLC0415 - light until used

        self.under_way: WeakKeyDictionary[AiohttpTransport, set[_Exchange]] = WeakKeyDictionary()
        """The transports that use the pool, with their exchanges; one that is garbage-collected drops
        out."""
        self._sockets: WeakSet[socket.socket] = WeakSet()
        connector = aiohttp.TCPConnector(
            limit=_CONNECTIONS, limit_per_host=0, socket_factory=self._socket
        )
        self.session = aiohttp.ClientSession(connector=connector, skip_auto_headers=["User-Agent"])
        self._keeper = self._keep()

    async def open(self) -> None:
        """Make the running event loop close the pool when it ends."""
        await anext(self._keeper)

    async def leave(self, transport: AiohttpTransport) -> None:
        """End a transport's exchanges here; the last transport to leave closes the pool."""
        if transport in self.under_way:
            for exchange in self.under_way.pop(transport):
                exchange.end()
            if not self.under_way:
                await self.close()

    async def close(self) -> None:
        """Close every connection."""
        await self._keeper.aclose()

    def abandon(self) -> None:
        """Drop the connections without their event loop, which is closed or, after a fork, the parent's.

        The sockets are closed first: a proper close, such as TLS's closing message, must not be sent on
        a connection that the parent still uses.
        """
        for each in list(self._sockets):
            each.close()
        connector = self.session.connector
        self.session.detach()
        with suppress(RuntimeError):  # in debug mode, event loops complain about other threads
            if connector is not None:
                connector.__exit__()  # the only way to close it without its event loop

    async def _keep(self) -> AsyncGenerator[None, None]:
        # Before it is closed, an event loop closes the asynchronous generators that were started on it
        # (loop.shutdown_asyncgens, which asyncio.run calls), and nothing else that was opened on it. So
        # this generator closes the pool.
        try:
            yield
        finally:
            _pools.pop(asyncio.get_running_loop(), None)
            for exchanges in list(self.under_way.values()):
                for exchange in list(exchanges):
                    exchange.end()
            await self.session.close()
            await asyncio.sleep(0)  # a callback closes asyncio's transports

    def _socket(self, place: "aiohttp.AddrInfoType") -> socket.socket:
        opened = socket.socket(*place[:3])
        self._sockets.add(opened)
        return opened


_pools: dict[asyncio.AbstractEventLoop, _Pool] = {}


async def _pool_here() -> _Pool:
    loop = asyncio.get_running_loop()
    pool = _pools.get(loop)
    if pool is None and "aiohttp" not in sys.modules:
        # Importing takes a tenth of a second, during which the loop's other tasks can run.
        await asyncio.to_thread(import_module, "aiohttp")
        pool = _pools.get(loop)
    if pool is None:
        for gone in [each for each in list(_pools) if each.is_closed()]:
            # Another thread may be doing the same.
            if (left := _pools.pop(gone, None)) is not None:
                left.abandon()
        # atexit calls the last registered first: so this runs before what stops the loop at exit.
        atexit.unregister(_close_all)
        atexit.register(_close_all)
        pool = _pools[loop] = _Pool()
        await pool.open()
    return pool


def _close_all() -> None:
    """Close the pools of loops that last until the exit of the program, such as that of ``run_sync``."""
    for loop, pool in list(_pools.items()):
        with suppress(Exception):  # the program ends anyway
            if loop.is_closed():
                pool.abandon()
            elif loop.is_running():
                asyncio.run_coroutine_threadsafe(pool.close(), loop).result(_EXIT_SECONDS)
            else:
                loop.run_until_complete(pool.close())


def _begin_anew() -> None:
    """Forget the parent's connections: two processes on one would read each other's replies."""
    for pool in _pools.values():
        pool.abandon()
    _pools.clear()


after_fork(_begin_anew)


def _payload(body: bytes | None) -> bytes | io.BytesIO | None:
    # aiohttp warns about bytes this long, and wants a file that it can write in pieces.
    return body if body is None or len(body) <= _LARGE_BODY else io.BytesIO(body)


class _Exchange(AbstractAsyncContextManager[Incoming]):
    """One request and its reply."""

    def __init__(
        self,
        owner: AiohttpTransport,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        timeouts: Timeouts,
    ) -> None:
        self._owner = owner
        self._method = method
        self._url = url
        self._headers = headers
        self._body = body
        self._timeouts = timeouts
        self._pool: _Pool | None = None
        self._until_head: asyncio.Timeout | None = None
        self._response: aiohttp.ClientResponse | None = None
        self._was_ended = False

    async def __aenter__(self) -> Incoming:
        self._pool = pool = await _pool_here()
        pool.under_way.setdefault(self._owner, set()).add(self)
        try:
            async with asyncio.timeout(self._timeouts.first_byte) as self._until_head:
                self._response = response = await pool.session.request(
                    self._method,
                    _as_written(self._url),
                    headers=self._headers,
                    data=_payload(self._body),
                    allow_redirects=False,
                    timeout=_limits(self._timeouts),
                    proxy=proxy_for(self._url),
                )
        except BaseException as error:
            self._finished()
            if self._was_ended and isinstance(error, TimeoutError):
                raise TransportError(_CLOSED) from None
            if isinstance(error, TimeoutError) and self._is_late():
                raise TransportTimeout(f"no reply within {self._timeouts.first_byte:g} s") from error
            if isinstance(error, raised()):
                raise translated(error) from error
            raise
        if self._was_ended:
            # The reply arrived just as the exchange was ended, so the timeout had no effect.
            await self.__aexit__()
            raise TransportError(_CLOSED)
        if response.status in _REDIRECTS:
            await self.__aexit__()
            raise _redirected(self._url, response.status, response.headers.get("location", ""))
        self._body = None  # frees the memory: it may be large, and the reply may take long
        names = {name.lower(): value for name, value in response.headers.items()}
        return Incoming(response.status, names, _Chunks(response.content))

    async def __aexit__(self, *_: object) -> None:
        self._finished()
        response = self._response
        if response is not None:
            # The connection of a reply that was not read to its end cannot be reused.
            response.release() if response.content.at_eof() else response.close()

    def end(self) -> None:
        """Make whoever awaits the reply get a TransportError."""
        self._was_ended = True
        if self._response is not None:
            # Closing the connection alone would leave the reader waiting forever.
            self._response.content.set_exception(TransportError(_CLOSED))
            self._response.close()
        elif self._until_head is not None and not self._until_head.expired():
            self._until_head.reschedule(0)

    def _is_late(self) -> bool:
        return self._until_head is not None and self._until_head.expired()

    def _finished(self) -> None:
        if self._pool is not None:
            self._pool.under_way.get(self._owner, set()).discard(self)


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


class _Chunks:
    """The body of a reply, as it streams."""

    __slots__ = ("_read",)

    def __init__(self, content: "aiohttp.StreamReader") -> None:
        self._read = content.readany

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await self._read()
        except raised() as error:
            raise translated(error) from error
        if not chunk:
            raise StopAsyncIteration
        return chunk


@lru_cache(maxsize=64)
def _limits(timeouts: Timeouts) -> "aiohttp.ClientTimeout":
    import aiohttp  # noqa: PLC0415 - light until used

    return aiohttp.ClientTimeout(
        total=timeouts.whole, connect=timeouts.connect, sock_read=timeouts.between_chunks
    )


@lru_cache(maxsize=256)
def _as_written(url: str) -> "yarl.URL | str":
    """Returns the URL exactly as given: aiohttp would decode ``%3A``, and a signature would not match.

    A string with spaces or characters outside ASCII is not a URL yet, and is left to aiohttp.
    """
    import yarl  # noqa: PLC0415 - light until used

    return yarl.URL(url, encoded=True) if _WRITTEN.fullmatch(url) else url


@lru_cache(maxsize=256)
def proxy_for(url: str) -> str | None:
    """Returns the proxy for a URL from the environment; cached."""
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415 - light until used

    place = urlsplit(url)
    if proxy_bypass(place.hostname or ""):
        return None
    return getproxies().get(place.scheme)


@cache
def translations() -> tuple[tuple[type[BaseException], type[TransportError]], ...]:
    """Returns aiohttp's exceptions with ours; the first match counts."""
    import aiohttp  # noqa: PLC0415 - light until used

    return (
        (TimeoutError, TransportTimeout),
        (aiohttp.ServerTimeoutError, TransportTimeout),
        (aiohttp.ClientError, TransportError),
        (OSError, TransportError),
    )


@cache
def raised() -> tuple[type[BaseException], ...]:
    """Returns all exceptions that are translated."""
    return tuple(kind for kind, _ in translations())


def translated(error: BaseException) -> TransportError:
    """Returns an exception of aiohttp as one of ours, without secrets that it may hold."""
    for kind, ours in translations():
        if isinstance(error, kind):
            return ours(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
    raise AssertionError(f"{type(error).__name__} is in no row of the table")
