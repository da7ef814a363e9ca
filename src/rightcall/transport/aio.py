"""The Transport port on aiohttp.

Proxies come from the environment (``HTTPS_PROXY``, ``NO_PROXY``), and so do certificates
(``SSL_CERT_FILE``, ``SSL_CERT_DIR``). Connections are kept and used again, per event loop.
"""

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from functools import lru_cache
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass
from weakref import WeakKeyDictionary

import aiohttp

from rightcall.core.transport import Incoming, Timeouts
from rightcall.errors import TransportError, TransportTimeout

TRANSLATED: tuple[tuple[type[BaseException], type[TransportError]], ...] = (
    (TimeoutError, TransportTimeout),
    (aiohttp.ServerTimeoutError, TransportTimeout),
    (aiohttp.ClientError, TransportError),
    (OSError, TransportError),
)
"""What aiohttp raises, and what it is here; the first that fits."""
RAISED = tuple(kind for kind, _ in TRANSLATED)


class AiohttpTransport:
    """Keeps a pool of connections for every event loop that it is used on."""

    def __init__(self, *, connections: int = 1000) -> None:
        self._connections = connections
        self._sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, aiohttp.ClientSession] = (
            WeakKeyDictionary()
        )

    def post(
        self, url: str, *, headers: Mapping[str, str], body: bytes, timeouts: Timeouts
    ) -> AbstractAsyncContextManager[Incoming]:
        """Send a body, and give back the reply while it comes."""
        return _Exchange(self._session(), "POST", url, headers, body, timeouts)

    def get(
        self, url: str, *, headers: Mapping[str, str], timeouts: Timeouts
    ) -> AbstractAsyncContextManager[Incoming]:
        """Ask for what is there, and give back the reply while it comes."""
        return _Exchange(self._session(), "GET", url, headers, None, timeouts)

    async def close(self) -> None:
        """Let go of the connections of this event loop."""
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()

    def _session(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None or session.closed:
            session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._connections, limit_per_host=0),
                skip_auto_headers=["User-Agent"],
            )
            self._sessions[loop] = session
        return session


class _Exchange(AbstractAsyncContextManager[Incoming]):
    """One request and the reply to it."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        timeouts: Timeouts,
    ) -> None:
        self._session = session
        self._method = method
        self._url = url
        self._headers = headers
        self._body = body
        self._timeouts = timeouts
        self._response: aiohttp.ClientResponse | None = None

    async def __aenter__(self) -> Incoming:
        try:
            async with asyncio.timeout(self._timeouts.first_byte):
                self._response = response = await self._session.request(
                    self._method,
                    self._url,
                    headers=self._headers,
                    data=self._body,
                    timeout=_limits(self._timeouts),
                    proxy=proxy_for(self._url),
                )
        except RAISED as error:
            raise translated(error) from error
        self._body = None  # it may be long, and so may the reply take
        names = {name.lower(): value for name, value in response.headers.items()}
        return Incoming(response.status, names, _Chunks(response.content))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        response = self._response
        if response is not None:
            # A reply that was not read to its end takes its connection with it.
            response.release() if response.content.at_eof() else response.close()


class _Chunks:
    """The body of a reply, as it comes."""

    __slots__ = ("_read",)

    def __init__(self, content: aiohttp.StreamReader) -> None:
        self._read = content.readany

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await self._read()
        except RAISED as error:
            raise translated(error) from error
        if not chunk:
            raise StopAsyncIteration
        return chunk


@lru_cache(maxsize=64)
def _limits(timeouts: Timeouts) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(
        total=timeouts.whole, connect=timeouts.connect, sock_read=timeouts.between_chunks
    )


@lru_cache(maxsize=256)
def proxy_for(url: str) -> str | None:
    """The proxy that the environment names for an address; looked up once."""
    place = urlsplit(url)
    if proxy_bypass(place.hostname or ""):
        return None
    return getproxies().get(place.scheme)


def translated(error: BaseException) -> TransportError:
    """An error of aiohttp's as one of ours, without anything secret that it may hold."""
    for kind, ours in TRANSLATED:
        if isinstance(error, kind):
            return ours(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
    raise AssertionError(f"{type(error).__name__} is in no row of the table")
