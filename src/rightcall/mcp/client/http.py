"""An address into the pair of streams that the SDK's session speaks over, with bounded answers."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client

from rightcall.mcp.client.target import Http

_CONNECT_SECONDS = 15.0
_READ_SECONDS = 300.0
_SESSION = "mcp-session-id"
_NOT_FOUND = 404


@asynccontextmanager
async def http_streams(
    target: Http, *, max_message_bytes: int, forgotten: Callable[[], None]
) -> AsyncIterator[TransportStreams]:
    """Speak to a server by HTTP. ``forgotten`` is told when it does not know our session any more."""

    async def look(response: httpx2.Response) -> None:
        if response.status_code == _NOT_FOUND and _SESSION in response.request.headers:
            forgotten()
        if response.headers.get("content-encoding", "identity") != "identity":
            # Not asked for, and a few bytes of it can become any number.
            raise httpx2.StreamError("an answer that is compressed")
        kind = response.headers.get("content-type", "")
        if not kind.startswith("text/event-stream"):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _Bounded(response.stream, max_message_bytes)

    client = httpx2.AsyncClient(
        headers={"accept-encoding": "identity", **target.headers},
        auth=target.auth,
        timeout=httpx2.Timeout(_CONNECT_SECONDS, read=_READ_SECONDS),
        event_hooks={"response": [look]},
    )
    async with (
        client,
        streamable_http_client(
            target.url, http_client=client, max_sse_event_size=max_message_bytes
        ) as streams,
    ):
        yield streams


class _Bounded(httpx2.AsyncByteStream):
    """A body that breaks off when it is longer than a message may be."""

    def __init__(self, body: httpx2.AsyncByteStream, most: int) -> None:
        self._body = body
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._body:
            size += len(chunk)
            if size > self._most:
                raise httpx2.StreamError(f"an answer of more than {self._most:,} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._body.aclose()
