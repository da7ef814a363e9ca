"""The older HTTP transport of MCP into the pair of streams that the SDK's session uses.

A GET opens a stream of events. The first names the URL that messages are posted to; the answers come as
events. The SDK's own client waits without end if that URL is on another host; so this one is ours. It is
opened and closed by one task.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import TypeAlias

import anyio
import httpx2
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from rightcall.core.secret import redact_formats
from rightcall.core.sse import ServerEvent, SseDecoder
from rightcall.errors import ProtocolError, TransportError
from rightcall.mcp.framing import decode, encode

MOST_REDIRECTS = 3
_ACCEPT = {"accept": "text/event-stream", "cache-control": "no-store"}
_JSON = {"content-type": "application/json"}

Streams: TypeAlias = tuple[
    MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]
]


@asynccontextmanager
async def sse_streams(
    client: httpx2.AsyncClient, url: str, *, max_message_bytes: int, ended: Callable[[str], None]
) -> AsyncIterator[Streams]:
    """Open the stream of events and the session's streams. ``ended`` gets the reason when it is over."""
    response = await _opened(client, httpx2.URL(url))
    try:
        async with aclosing(_events(response, max_message_bytes)) as events:
            address = await _address(events, response.url)
            link = _Link(client, address, ended)
            async with anyio.create_task_group() as group:
                group.start_soon(link.read, events)
                group.start_soon(link.write)
                try:
                    yield link.incoming, link.outgoing
                finally:
                    group.cancel_scope.cancel()
            link.close()
    finally:
        with anyio.CancelScope(shield=True):
            await response.aclose()


async def _opened(client: httpx2.AsyncClient, url: httpx2.URL) -> httpx2.Response:
    """The answer to the GET. Redirects are followed within the origin only: the headers are for it."""
    request = client.build_request("GET", url, headers=_ACCEPT)
    for _ in range(MOST_REDIRECTS + 1):
        response = await client.send(request, stream=True, follow_redirects=False)
        following = response.next_request
        if following is None or _origin(following.url) != _origin(url):
            break
        await response.aclose()
        request = following
    if response.status_code == httpx2.codes.OK and _kind(response) == "text/event-stream":
        return response
    await response.aclose()
    where = redact_formats(str(url))
    pointed = f", which points to {following.url.host}" if following is not None else ""
    raise TransportError(
        f"{where} gives no stream of events: status {response.status_code}, "
        f"{_kind(response) or 'no content type'}{pointed}"
    )


async def _events(response: httpx2.Response, most: int) -> AsyncGenerator[ServerEvent, None]:
    framed, size = SseDecoder(), 0
    async for chunk in response.aiter_raw():
        size += len(chunk)
        if size > most:
            raise ProtocolError("sent a message that is too long")
        for event in framed.feed(chunk):
            size = 0
            yield event


async def _address(events: AsyncIterator[ServerEvent], url: httpx2.URL) -> httpx2.URL:
    """The URL for messages, from the first event; never on another host."""
    async for event in events:
        if event.name == "endpoint":
            address = url.join(event.data.decode(errors="replace").strip())
            if _origin(address) != _origin(url) or address.userinfo != url.userinfo:
                raise ProtocolError(
                    f"the server wants its messages sent to another host, {address.host}"
                )
            return address
    raise ProtocolError("the server's stream of events ended before it named an address for messages")


class _Link:
    """The streams between an event stream and a session, and the two tasks that copy messages."""

    def __init__(
        self, client: httpx2.AsyncClient, address: httpx2.URL, ended: Callable[[str], None]
    ) -> None:
        self._client = client
        self._address = address
        self._ended = ended
        self._received, self.incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        self.outgoing, self._sent = anyio.create_memory_object_stream[SessionMessage](0)

    async def read(self, events: AsyncIterator[ServerEvent]) -> None:
        """Pass the server's messages on, until no more can come."""
        async with self._received:
            self._ended(await self._read(events))

    async def _read(self, events: AsyncIterator[ServerEvent]) -> str:
        try:
            async for event in events:
                # Other events are only keep-alives.
                if event.name in {"", "message"} and event.data.strip():
                    await self._received.send(_message(event.data))
        except httpx2.HTTPError as error:
            return f"was lost: {str(error) or type(error).__name__}"
        except ProtocolError as error:
            return str(error)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return "was let go of"
        return "closed its stream of events"

    async def write(self) -> None:
        """Post our messages to the server, until the stream is closed or the server refuses one."""
        async with self._sent:
            async for message in self._sent:
                if refusal := await self._post(message):
                    self._ended(refusal)
                    # A waiter for an answer to it would wait for ever.
                    self._received.close()
                    return

    async def _post(self, message: SessionMessage) -> str:
        """Why a message was not accepted; empty if it was."""
        try:
            response = await self._client.post(
                self._address, content=encode(message), headers=_JSON, follow_redirects=False
            )
        except httpx2.HTTPError as error:
            return f"cannot be written to: {str(error) or type(error).__name__}"
        return "" if response.is_success else f"refused a message with status {response.status_code}"

    def close(self) -> None:
        """Close the streams."""
        for stream in (self.incoming, self.outgoing, self._received, self._sent):
            stream.close()


def _message(data: bytes) -> SessionMessage | Exception:
    try:
        return decode(data)
    except ValueError as error:
        return error


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _kind(response: httpx2.Response) -> str:
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower()
