"""The Transport port on aiohttp.

Proxies come from the environment (``HTTPS_PROXY``, ``NO_PROXY``), and so do certificates
(``SSL_CERT_FILE``, ``SSL_CERT_DIR``). Connections are kept and used again, per event loop.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from weakref import WeakKeyDictionary

import aiohttp

from toolwright.core.transport import Incoming, Timeouts
from toolwright.errors import TransportError, TransportTimeout

TRANSLATED: tuple[tuple[type[BaseException], type[TransportError]], ...] = (
    (TimeoutError, TransportTimeout),
    (aiohttp.ServerTimeoutError, TransportTimeout),
    (aiohttp.ClientError, TransportError),
    (OSError, TransportError),
)
"""What aiohttp raises, and what it is here; the first that fits."""


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
        return self._send("POST", url, headers, body, timeouts)

    def get(
        self, url: str, *, headers: Mapping[str, str], timeouts: Timeouts
    ) -> AbstractAsyncContextManager[Incoming]:
        """Ask for what is there, and give back the reply while it comes."""
        return self._send("GET", url, headers, None, timeouts)

    @asynccontextmanager
    async def _send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, timeouts: Timeouts
    ) -> AsyncIterator[Incoming]:
        limits = aiohttp.ClientTimeout(
            total=timeouts.whole, connect=timeouts.connect, sock_read=timeouts.between_chunks
        )
        response: aiohttp.ClientResponse | None = None
        try:
            async with asyncio.timeout(timeouts.first_byte):
                response = await self._session().request(
                    method, url, headers=headers, data=body, timeout=limits
                )
            names = {name.lower(): value for name, value in response.headers.items()}
            yield Incoming(response.status, names, _chunks(response))
        except tuple(kind for kind, _ in TRANSLATED) as error:
            raise translated(error) from error
        finally:
            if response is not None:
                # A reply that was not read to its end takes its connection with it.
                response.close() if not response.content.at_eof() else response.release()

    async def close(self) -> None:
        """Let go of the connections of this event loop."""
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()

    def _session(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None or session.closed:
            connector = aiohttp.TCPConnector(limit=self._connections, limit_per_host=0)
            session = aiohttp.ClientSession(
                connector=connector,
                trust_env=True,
                auto_decompress=True,
                skip_auto_headers=["User-Agent"],
            )
            self._sessions[loop] = session
        return session


async def _chunks(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    try:
        async for chunk in response.content.iter_any():
            yield chunk
    except tuple(kind for kind, _ in TRANSLATED) as error:
        raise translated(error) from error


def translated(error: BaseException) -> TransportError:
    """An error of aiohttp's as one of ours, without anything secret that it may hold."""
    for kind, ours in TRANSLATED:
        if isinstance(error, kind):
            return ours(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
    raise AssertionError(f"{type(error).__name__} is in no row of the table")
