"""httpx2's transport port over rightcall's own HTTP, for the SDK's client.

The SDK writes and signs its requests and follows redirects with httpx2. They are sent over the same
connections as those to models, with the proxies and certificates that the environment names. An answer
is looked at here before the SDK gets it, and is bounded.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Self

import httpx2

from rightcall.core.transport import Incoming, Timeouts
from rightcall.errors import TransportError, TransportTimeout
from rightcall.transport.http import HttpTransport

_SESSION = "mcp-session-id"
_NOT_FOUND = 404
_COOKIE = "set-cookie"


class SdkTransport(httpx2.AsyncBaseTransport):
    """Sends the requests of one connection to a server.

    ``answered`` is called with the status of each message sent, ``forgotten`` when the server no longer
    knows our session.
    """

    def __init__(
        self,
        *,
        max_message_bytes: int,
        forgotten: Callable[[], None],
        answered: Callable[[int], None],
    ) -> None:
        self._most = max_message_bytes
        self._forgotten = forgotten
        self._answered = answered
        self._transport = HttpTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, and return its answer while it streams."""
        body, headers = await request.aread(), dict(request.headers.items())
        # The whole body is here, however it was given.
        headers.pop("transfer-encoding", None)
        exchange = self._transport.request(
            request.method,
            str(request.url),
            headers=headers,
            body=body if body or "content-length" in headers else None,
            timeouts=_timeouts(request),
        )
        try:
            incoming = await exchange.__aenter__()
        except TransportError as error:
            raise _translated(error) from error
        stream = _Body(exchange, incoming, self._most)
        try:
            self._look_at(incoming, request)
        except BaseException:
            await stream.aclose()
            raise
        return httpx2.Response(incoming.status, headers=_headers(incoming), stream=stream)

    async def aclose(self) -> None:
        """Close the connections that nobody else uses."""
        await self._transport.close()

    def _look_at(self, incoming: Incoming, request: httpx2.Request) -> None:
        if request.method == "POST":
            self._answered(incoming.status)
        if incoming.status == _NOT_FOUND and _SESSION in request.headers:
            self._forgotten()
        if incoming.headers.get("content-encoding", "identity") != "identity":
            # We did not ask for compression, and a few compressed bytes can become any number.
            raise httpx2.StreamError("an answer that is compressed")


class _Body(httpx2.AsyncByteStream):
    """The body of an answer, which raises an error when it is longer than a message may be.

    The events of a stream are each bounded by who reads them.
    """

    def __init__(
        self, exchange: AbstractAsyncContextManager[Incoming], incoming: Incoming, most: int
    ) -> None:
        self._exchange = exchange
        self._chunks = incoming.chunks
        self._most = most
        self._is_bounded = not incoming.headers.get("content-type", "").startswith("text/event-stream")
        self._size = 0

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await anext(self._chunks)
        except TransportError as error:
            raise _translated(error) from error
        self._size += len(chunk)
        if self._is_bounded and self._size > self._most:
            raise httpx2.StreamError(f"an answer of more than {self._most:,} bytes")
        return chunk

    async def aclose(self) -> None:
        """End the exchange. A connection on which more would come is closed."""
        await self._exchange.__aexit__(None, None, None)


def _headers(incoming: Incoming) -> list[tuple[str, str]]:
    headers = list(incoming.headers.items())
    if _COOKIE in incoming.headers:
        headers = [each for each in headers if each[0] != _COOKIE]
        headers += [(_COOKIE, cookie) for cookie in incoming.headers[_COOKIE].split("\n")]
    return headers


def _timeouts(request: httpx2.Request) -> Timeouts:
    given = request.extensions.get("timeout", {})
    read = given.get("read")
    return Timeouts(connect=given.get("connect"), first_byte=read, between_chunks=read)


def _translated(error: TransportError) -> httpx2.TransportError:
    kind = httpx2.ReadTimeout if isinstance(error, TransportTimeout) else httpx2.ReadError
    return kind(str(error))
