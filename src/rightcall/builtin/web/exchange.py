"""One request over HTTP into its answer, within bounds. Follows nothing and keeps nothing."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus

import aiohttp
from msgspec import Struct, field
from yarl import URL

from rightcall.builtin.web.inflate import unpacker
from rightcall.core.jsontext import shorten
from rightcall.errors import ToolFailure

_CHUNK = 64 * 1024
_CONNECT_SECONDS = 10.0
_PAUSE_SECONDS = 10.0
"""How long a server may be silent."""
_AGENT = "rightcall"


class Outgoing(Struct, frozen=True, kw_only=True):
    """What is asked for."""

    url: URL
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    max_bytes: int
    """The most that is read, packed or unpacked."""


class Answer(Struct, frozen=True, kw_only=True):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    is_cut: bool = False
    """There was more than would be read."""

    @property
    def words(self) -> str:
        """The status, with what it means."""
        with suppress(ValueError):
            return f"{self.status} {HTTPStatus(self.status).phrase}"
        return str(self.status)


async def exchange(outgoing: Outgoing, connector: aiohttp.TCPConnector | None = None) -> Answer:
    """Ask for something once. Raises ToolFailure for whatever goes wrong on the way.

    The connector is closed afterwards. The caller keeps the time.
    """
    limits = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS, sock_read=_PAUSE_SECONDS)
    headers = {"Accept-Encoding": "gzip, deflate", "User-Agent": _AGENT, **outgoing.headers}
    try:
        async with (
            aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                auto_decompress=False,
                timeout=limits,
            ) as session,
            session.request(
                outgoing.method,
                outgoing.url,
                headers=headers,
                data=outgoing.body,
                allow_redirects=False,
            ) as response,
        ):
            return await _answer(response, outgoing.max_bytes)
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise _failure(outgoing.url, error) from error


async def _answer(response: aiohttp.ClientResponse, most: int) -> Answer:
    unpack = unpacker(response.headers.get("Content-Encoding", ""))
    body = bytearray()
    arrived = 0
    is_cut = False
    async for chunk in response.content.iter_chunked(_CHUNK):
        arrived += len(chunk)
        # One byte more than is kept, to know whether there was more.
        body += unpack.feed(chunk, most + 1 - len(body))
        if len(body) > most or arrived > most:
            is_cut = True
            break
    return Answer(
        status=response.status,
        headers={name.lower(): value for name, value in response.headers.items()},
        body=bytes(body[:most]),
        is_cut=is_cut,
    )


def _failure(url: URL, error: Exception) -> ToolFailure:
    where = shorten(f"{url.scheme}://{url.raw_authority}")
    match error:
        case aiohttp.ServerTimeoutError() | asyncio.TimeoutError():
            return ToolFailure(f"{where} did not answer in time.", retryable=True)
        case aiohttp.ClientSSLError():
            return ToolFailure(
                f"{where} cannot be reached securely: it has no certificate, or none to trust."
            )
        case aiohttp.ClientConnectorError():
            return ToolFailure(f"{where} cannot be connected to.", retryable=True)
        case aiohttp.ClientPayloadError() | aiohttp.ServerDisconnectedError():
            return ToolFailure(f"{where} broke off in the middle of its answer.", retryable=True)
        case _:
            return ToolFailure(f"{where} did not answer as a web server does.")
