"""Fetches a page over HTTP within limits; each redirect is checked like the first URL.

A few kilobytes can decompress to gigabytes, so decompression stops at a limit, even midway.
"""

import asyncio
import zlib
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus

import aiohttp
from msgspec import Struct
from yarl import URL

from rightcall.builtin.net.readable import Page, read
from rightcall.builtin.net.ssrf import Resolve, WebGrant, follow, guarded, locate, system_resolve
from rightcall.core.jsontext import shorten
from rightcall.errors import ToolFailure

_GZIP = 16 + zlib.MAX_WBITS
_RAW = -zlib.MAX_WBITS
_ZLIB_HEADER = 0x78


class Unpacker:
    """Decompresses the chunks of a body according to its Content-Encoding."""

    def __init__(self, encoding: str) -> None:
        """Raises ToolFailure for an encoding that was not requested."""
        name = encoding.strip().lower()
        self._encoding = {"": "identity", "x-gzip": "gzip"}.get(name, name)
        if self._encoding not in {"identity", "gzip", "deflate"}:
            raise ToolFailure("The reply is compressed in a way that was not asked for.")
        self._stream: zlib._Decompress | None = None

    def feed(self, data: bytes, room: int) -> bytes:
        """At most ``room`` more decompressed bytes. The excess is lost, so feed nothing after that."""
        if self._encoding == "identity":
            return data[:room]
        plain = b""
        try:
            while data and len(plain) < room:
                if self._stream is None:
                    self._stream = zlib.decompressobj(self._window(data[0]))
                plain += self._stream.decompress(data, room - len(plain))
                if not self._stream.eof:
                    break
                # A body may be several gzip files in a row.
                data = self._stream.unused_data if self._encoding == "gzip" else b""
                self._stream = None if self._encoding == "gzip" else self._stream
        except zlib.error:
            raise ToolFailure("The reply says it is compressed, and cannot be unpacked.") from None
        return plain

    def _window(self, first: int) -> int:
        if self._encoding == "gzip":
            return _GZIP
        # Since HTTP/1.0 servers have sent deflate both with and without the zlib header.
        return zlib.MAX_WBITS if first & 0x7F == _ZLIB_HEADER else _RAW


_CHUNK = 64 * 1024
_CONNECT_SECONDS = 10.0
_PAUSE_SECONDS = 10.0
"""Seconds for which a server may be silent."""
_AGENT = "rightcall"


class Response(Struct, frozen=True, kw_only=True):
    """A response."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    is_cut: bool = False
    """The body was longer than the limit."""

    @property
    def words(self) -> str:
        """The status code with its meaning."""
        with suppress(ValueError):
            return f"{self.status} {HTTPStatus(self.status).phrase}"
        return str(self.status)


async def exchange(
    url: URL,
    *,
    max_bytes: int,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    connector: aiohttp.TCPConnector | None = None,
) -> Response:
    """Send one request. Raises ToolFailure for any failure.

    No more than ``max_bytes`` is read, compressed or decompressed. The connector is closed afterwards.
    The caller sets the timeout.
    """
    limits = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS, sock_read=_PAUSE_SECONDS)
    sent = {"Accept-Encoding": "gzip, deflate", "User-Agent": _AGENT, **(headers or {})}
    try:
        async with (
            aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                auto_decompress=False,
                timeout=limits,
            ) as session,
            session.request(method, url, headers=sent, data=body, allow_redirects=False) as response,
        ):
            return await _answer(response, max_bytes)
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise _failure(url, error) from error


async def _answer(response: aiohttp.ClientResponse, most: int) -> Response:
    unpack = Unpacker(response.headers.get("Content-Encoding", ""))
    body = bytearray()
    arrived = 0
    is_cut = False
    async for chunk in response.content.iter_chunked(_CHUNK):
        arrived += len(chunk)
        # One byte more than the limit, to know whether there was more.
        body += unpack.feed(chunk, most + 1 - len(body))
        if len(body) > most or arrived > most:
            is_cut = True
            break
    return Response(
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


_MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_LATER = frozenset({408, 425, 429, 500, 502, 503, 504})
_SUCCESS = range(200, 300)
_ACCEPTED = "text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.9,*/*;q=0.1"


class Fetched(Struct, frozen=True, kw_only=True):
    """A page, and its final URL."""

    url: str
    page: Page
    is_cut: bool


class Fetcher(Struct, frozen=True, kw_only=True):
    """Fetches pages that the grant allows."""

    grant: WebGrant
    seconds: float
    max_bytes: int
    resolve: Resolve = system_resolve

    async def fetch(self, address: str) -> Fetched:
        """The page at a URL. Raises ToolFailure, with a message for the model."""
        url = locate(address, self.grant)
        try:
            async with asyncio.timeout(self.seconds):
                url, answer = await self._follow(url)
                page = await read(answer.body, answer.headers.get("content-type", ""), str(url))
        except TimeoutError:
            raise ToolFailure(
                f"{shorten(str(url))} did not arrive within {self.seconds:g} s.", retryable=True
            ) from None
        return Fetched(url=str(url), page=page, is_cut=answer.is_cut)

    async def _follow(self, url: URL) -> tuple[URL, Response]:
        for _ in range(_MOST_REDIRECTS + 1):
            connector = await guarded(url, self.grant, self.resolve)
            headers = {"Accept": _ACCEPTED}
            answer = await exchange(url, max_bytes=self.max_bytes, headers=headers, connector=connector)
            location = answer.headers.get("location")
            if answer.status not in _REDIRECTS or location is None:
                return url, _successful(url, answer)
            url = follow(url, location, self.grant)
        raise ToolFailure(f"More than {_MOST_REDIRECTS} redirects; the last one to {shorten(str(url))}.")


def _successful(url: URL, answer: Response) -> Response:
    if answer.status in _SUCCESS:
        return answer
    raise ToolFailure(
        f"{shorten(str(url), 200)} answered {answer.words}.", retryable=answer.status in _LATER
    )
