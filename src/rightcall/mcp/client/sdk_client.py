"""Makes the SDK's client for a connection: its transport, its callbacks, and the meaning of its errors.

This is the boundary: no error of the SDK passes it, and nothing from a server that was not checked. The
SDK writes and signs its HTTP requests and follows redirects with httpx2. They are sent over the same
connections as those to models, with the proxies and certificates that the environment names. An answer
is looked at here before the SDK gets it, and is bounded.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from typing import Any, Self, TypeAlias

import anyio
import httpx2
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

# Private to the SDK, but the only names for the types that its Client takes as a transport. Nothing else
# here, and no other file, relies on the module.
from mcp.client._transport import ReadStream, TransportStreams
from mcp.client.auth import OAuthFlowError
from mcp.client.client import Client
from mcp.client.session import IncomingMessage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import (
    Implementation,
    JSONRPCResponse,
    LoggingMessageNotificationParams,
    ToolListChangedNotification,
)

from rightcall.core.jsontext import shorten
from rightcall.core.lazy import own_version
from rightcall.core.secret_formats import redact_formats
from rightcall.core.sse import ServerEvent, SseDecoder
from rightcall.core.transport import StreamedResponse, Timeouts
from rightcall.errors import ProtocolError, RightcallError, TransportError, TransportTimeout
from rightcall.mcp.client.callbacks import Elicitation, Sampler, list_roots
from rightcall.mcp.client.endpoints import Http
from rightcall.mcp.client.note_log import NoteLog
from rightcall.mcp.client.settings import ConnectionSettings
from rightcall.mcp.client.stdio_client import stdio_streams
from rightcall.mcp.client.tool_list import filter_tools
from rightcall.mcp.jsonrpc_lines import MessageStream, decode_message, encode_message
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
        self, *, max_message_bytes: int, forgotten: Callable[[], None], answered: Callable[[int], None]
    ) -> None:
        self._most = max_message_bytes
        self._forgotten = forgotten
        self._answered = answered
        self._transport = HttpTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, and return its answer while it streams."""
        body = await request.aread()
        headers = dict(request.headers.items())
        # The whole body is here, however it was given.
        headers.pop("transfer-encoding", None)
        length = headers.pop("content-length", None)
        given = request.extensions.get("timeout", {})
        read = given.get("read")
        exchange = self._transport.request(
            request.method,
            str(request.url),
            headers=headers,
            body=body if body or length is not None else None,
            timeouts=Timeouts(connect=given.get("connect"), first_byte=read, between_chunks=read),
        )
        try:
            incoming = await exchange.__aenter__()
        except TransportError as error:
            raise _to_httpx_error(error) from error
        stream = _Body(exchange, incoming, self._most)
        try:
            if request.method == "POST":
                self._answered(incoming.status)
            if incoming.status == _NOT_FOUND and _SESSION in request.headers:
                self._forgotten()
            if incoming.headers.get("content-encoding", "identity") != "identity":
                # We did not ask for compression, and a few compressed bytes can become any number.
                raise httpx2.StreamError("an answer that is compressed")  # noqa: TRY301 - closed below
        except BaseException:
            await stream.aclose()
            raise
        return httpx2.Response(incoming.status, headers=_headers(incoming), stream=stream)

    async def aclose(self) -> None:
        """Close the connections that nobody else uses."""
        await self._transport.close()


class _Body(httpx2.AsyncByteStream):
    """The body of an answer, which raises an error when it is longer than a message may be.

    The events of a stream are each bounded by who reads them.
    """

    def __init__(
        self,
        exchange: AbstractAsyncContextManager[StreamedResponse],
        incoming: StreamedResponse,
        most: int,
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
            raise _to_httpx_error(error) from error
        self._size += len(chunk)
        if self._is_bounded and self._size > self._most:
            raise httpx2.StreamError(f"an answer of more than {self._most:,} bytes")
        return chunk

    async def aclose(self) -> None:
        """End the exchange. A connection on which more would come is closed."""
        await self._exchange.__aexit__(None, None, None)


def _headers(incoming: StreamedResponse) -> list[tuple[str, str]]:
    headers = list(incoming.headers.items())
    if _COOKIE in incoming.headers:
        headers = [each for each in headers if each[0] != _COOKIE]
        headers += [(_COOKIE, cookie) for cookie in incoming.headers[_COOKIE].split("\n")]
    return headers


def _to_httpx_error(error: TransportError) -> httpx2.TransportError:
    kind = httpx2.ReadTimeout if isinstance(error, TransportTimeout) else httpx2.ReadError
    return kind(str(error))


# The older HTTP transport of MCP into the pair of streams that the SDK's session uses. A GET opens
# a stream of events. The first names the URL that messages are posted to; the answers come as
# events. The SDK's own client waits without end if that URL is on another host; so this one is
# ours. It is opened and closed by one task.

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
    response = await _open_stream(client, httpx2.URL(url))
    received, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](0)

    async def read(events: AsyncIterator[ServerEvent]) -> None:
        """Pass the server's messages on, until no more can come."""
        reason = "closed its stream of events"
        async with received:
            try:
                async for event in events:
                    # Other events are only keep-alives.
                    if event.name in {"", "message"} and event.data.strip():
                        try:
                            message: SessionMessage | Exception = decode_message(event.data)
                        except ValueError as error:
                            message = error
                        await received.send(message)
            except httpx2.HTTPError as error:
                reason = f"was lost: {str(error) or type(error).__name__}"
            except ProtocolError as error:
                reason = str(error)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                reason = "was let go of"
            ended(reason)

    async def write(address: httpx2.URL) -> None:
        """Post our messages to the server, until the stream is closed or the server refuses one."""
        async with to_send:
            async for message in to_send:
                content = encode_message(message)
                try:
                    answer = await client.post(
                        address, content=content, headers=_JSON, follow_redirects=False
                    )
                except httpx2.HTTPError as error:
                    ended(f"cannot be written to: {str(error) or type(error).__name__}")
                    break
                if not answer.is_success:
                    ended(f"refused a message with status {answer.status_code}")
                    break
            else:
                return
            # A waiter for an answer to it would wait for ever.
            received.close()

    try:
        async with aclosing(_events(response, max_message_bytes)) as events:
            address = await _address(events, response.url)
            async with anyio.create_task_group() as group:
                group.start_soon(read, events)
                group.start_soon(write, address)
                try:
                    yield incoming, outgoing
                finally:
                    group.cancel_scope.cancel()
    finally:
        for stream in (incoming, outgoing, received, to_send):
            stream.close()
        with anyio.CancelScope(shield=True):
            await response.aclose()


async def _open_stream(client: httpx2.AsyncClient, url: httpx2.URL) -> httpx2.Response:
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
    framed = SseDecoder()
    size = 0
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


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _kind(response: httpx2.Response) -> str:
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower()


_LONGEST_LOG = 1000
_CONNECT_SECONDS = 15.0
_READ_SECONDS = 300.0
_UNAUTHORIZED = 401
_LEAST_ERROR = 400


def client_of(
    settings: ConnectionSettings,
    notes: NoteLog,
    sampler: Sampler | None,
    *,
    ended: Callable[[str], None],
    forgotten: Callable[[], None],
    answered: Callable[[int], None],
    changed: Callable[[], None],
) -> Client:
    """The SDK's client, not opened yet.

    ``ended`` is called when no more can come from the server, with the reason; ``forgotten`` when the
    server no longer knows our session; ``answered`` with the HTTP status of each message sent;
    ``changed`` when the tools may have changed.
    """

    async def log(params: LoggingMessageNotificationParams) -> None:
        source = f"{params.logger}: " if params.logger else ""
        text = params.data if isinstance(params.data, str) else shorten(params.data, _LONGEST_LOG)
        notes.add("log", f"{params.level}: {source}{text}")

    async def hear(message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            changed()
        elif isinstance(message, Exception):
            notes.add("garbage", str(message))

    # A server of the older transport only knows the handshake of its time.
    is_old = isinstance(settings.target, Http) and settings.target.transport == "sse"
    elicitation = None
    if settings.approve is not None:
        elicitation = Elicitation(settings.name, settings.approve, notes)
    return Client(
        _streams(settings, notes, ended, forgotten, answered),
        mode="legacy" if is_old else settings.protocol,
        read_timeout_seconds=settings.connect_timeout,
        sampling_callback=sampler,
        elicitation_callback=elicitation,
        list_roots_callback=list_roots(settings.roots) if settings.roots else None,
        logging_callback=log,
        log_level="info",
        message_handler=hear,
        client_info=Implementation(name="rightcall", version=own_version()),
        # A list is requested when it may have changed, so it must not come from a cache.
        cache=None,
    )


@asynccontextmanager
async def _streams(
    settings: ConnectionSettings,
    notes: NoteLog,
    ended: Callable[[str], None],
    forgotten: Callable[[], None],
    answered: Callable[[int], None],
) -> AsyncIterator[TransportStreams]:
    """Open the transport: a program, or HTTP with the older transport or the current one."""
    target = settings.target
    most = settings.max_message_bytes
    async with AsyncExitStack() as stack:
        opening: AbstractAsyncContextManager[TransportStreams]
        if isinstance(target, Http):
            if target.is_exposed:
                exposed = "is not encrypted: headers and tokens can be read on the way"
                notes.add("garbage", f"{target.url} {exposed}")
            # The SDK (from 2.3, the minimum here) sends every request, including those of ``auth``, so
            # that redirects are followed within the origin only, whatever the client here would do.
            client = httpx2.AsyncClient(
                headers={"accept-encoding": "identity", **target.headers},
                auth=target.auth,
                timeout=httpx2.Timeout(_CONNECT_SECONDS, read=_READ_SECONDS),
                transport=SdkTransport(max_message_bytes=most, forgotten=forgotten, answered=answered),
            )
            await stack.enter_async_context(client)
            if target.transport == "sse":
                opening = sse_streams(client, target.url, max_message_bytes=most, ended=ended)
            else:
                opening = streamable_http_client(target.url, http_client=client, max_sse_event_size=most)
        else:
            opening = stdio_streams(
                target,
                max_message_bytes=most,
                ended=ended,
                garbage=lambda line: notes.add("garbage", f"a line that is no message: {line}"),
            )
        incoming, outgoing = await stack.enter_async_context(opening)
        yield FilteredStream(incoming), outgoing


class FilteredStream(MessageStream):
    """A stream of messages in which lists of tools contain only usable entries, and results a type."""

    def __init__(self, stream: ReadStream[SessionMessage | Exception]) -> None:
        self._stream = stream

    @property
    def last_context(self) -> Any:
        """The sender's context variables, if the wrapped stream carries them."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """The next message."""
        item = await self._stream.receive()
        if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCResponse):
            result = item.message.result
            # The protocol reads a result without a type as complete. The SDK refuses it where a server
            # speaks 2026-07-28, and with it the answer of a call that has done its work.
            result.setdefault("resultType", "complete")
            # Of all results only a list of tools has this member.
            if isinstance(result.get("tools"), list):
                filter_tools(result)
        return item

    async def aclose(self) -> None:
        """Close the wrapped stream."""
        await self._stream.aclose()


def explain(error: Exception, settings: ConnectionSettings, why: str, status: int = 0) -> RightcallError:
    """The error for a server that could not be connected to, or was lost.

    ``why`` is what the transport knows of it, ``status`` that of the last HTTP answer, if there was one.
    """
    cause = next(_leaves(error), error)
    name = settings.name
    if isinstance(cause, RightcallError):
        return cause
    if why:
        found: RightcallError = TransportError(f"the server {name} {why}")
    elif isinstance(cause, TimeoutError):
        found = TransportTimeout(
            f"the server {name} was not ready within {settings.connect_timeout:g} s; "
            "connect_timeout= gives it longer"
        )
    elif isinstance(cause, httpx2.HTTPError | OAuthFlowError | OSError):
        found = TransportError(f"the server {name} cannot be reached: {words_of(cause)}")
    elif isinstance(cause, MCPError):
        refusal = words_of(cause)
        if status == _UNAUTHORIZED:
            refusal = (
                "HTTP 401: the token is missing or wrong. Give it as a header: "
                'headers={"Authorization": "Bearer TOKEN"}'
            )
        elif status >= _LEAST_ERROR:
            refusal = f"HTTP {status}: {refusal}"
        found = ProtocolError(f"the server {name} refused the connection: {refusal}")
    else:
        found = ProtocolError(f"the server {name} does not speak MCP as agreed: {words_of(cause)}")
    found.__cause__ = error
    return found


def _leaves(error: BaseException) -> Iterator[Exception]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    elif isinstance(error, Exception):
        yield error


def words_of(error: Exception) -> str:
    """An error's message, truncated."""
    return str(error)[:500] or type(error).__name__
