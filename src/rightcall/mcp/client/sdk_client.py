"""Makes the SDK's client for a connection: its transport, its callbacks, and the meaning of its errors.

This is the boundary: no error of the SDK passes it, and nothing from a server that was not checked. The
SDK writes and signs its HTTP requests and follows redirects with httpx2. They are sent over the same
connections as those to models, with the proxies and certificates that the environment names. An answer
is looked at here before the SDK gets it, and is bounded.
"""

import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Self

import httpx2

# Private to the SDK, but the only names for the types that its Client takes as a transport. Nothing else
# here, and no other file, relies on the module.
from mcp.client._transport import ReadStream, TransportStreams
from mcp.client.auth import OAuthFlowError
from mcp.client.client import Client
from mcp.client.session import IncomingMessage
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import (
    Implementation,
    JSONRPCResponse,
    LoggingMessageNotificationParams,
    ResourceUpdatedNotification,
    ToolListChangedNotification,
)
from msgspec import Struct

from rightcall.core.handler import ignore
from rightcall.core.jsontext import shorten
from rightcall.core.lazy import own_version
from rightcall.core.transport import StreamedResponse, Timeouts
from rightcall.errors import ProtocolError, RightcallError, TransportError, TransportTimeout
from rightcall.mcp.client.callbacks import Elicitation, Sampler, list_roots
from rightcall.mcp.client.endpoints import (
    Endpoint,
    Http,
    directory_of,
    environment_of,
    program_of,
)
from rightcall.mcp.client.note_log import NoteLog
from rightcall.mcp.client.remote_tasks import TasksExtension
from rightcall.mcp.client.settings import ConnectionSettings
from rightcall.mcp.client.stdio_client import stdio_streams
from rightcall.mcp.client.tool_list import filter_tools
from rightcall.mcp.jsonrpc_lines import MessageStream
from rightcall.transport.http import HttpTransport

_SESSION = "mcp-session-id"
_NOT_FOUND = 404
_COOKIE = "set-cookie"
_BLANK_LINE = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_BREAK = 3


class SdkTransport(httpx2.AsyncBaseTransport):
    """Sends the requests of one connection to a server.

    ``answered`` is called with the status of each message sent, ``forgotten`` when the server no longer
    knows our session. Events of a stream are bounded here only if ``bounds_events``: the SDK's client
    of the current transport does so itself, that of the older one does not.
    """

    def __init__(
        self,
        *,
        max_message_bytes: int,
        forgotten: Callable[[], object],
        answered: Callable[[int], object],
        bounds_events: bool = False,
    ) -> None:
        self._most = max_message_bytes
        self._bounds_events = bounds_events
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
        stream = _Body(exchange, incoming, self._most, bounds_events=self._bounds_events)
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
    """The body of an answer, which raises an error when it, or one event of a stream, is too long."""

    def __init__(
        self,
        exchange: AbstractAsyncContextManager[StreamedResponse],
        incoming: StreamedResponse,
        most: int,
        *,
        bounds_events: bool,
    ) -> None:
        self._exchange = exchange
        self._chunks = incoming.chunks
        self._most = most
        self._is_stream = incoming.headers.get("content-type", "").startswith("text/event-stream")
        self._is_bounded = bounds_events or not self._is_stream
        self._size = 0
        self._last = b""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await anext(self._chunks)
        except TransportError as error:
            raise _to_httpx_error(error) from error
        if self._is_bounded:
            if self._is_stream and _BLANK_LINE.search(self._last + chunk):
                # A blank line ends an event.
                self._size = 0
            self._last = chunk[-_BREAK:]
            self._size += len(chunk)
            if self._size > self._most:
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


_LONGEST_LOG = 1000
_CONNECT_SECONDS = 15.0
_READ_SECONDS = 300.0
_UNAUTHORIZED = 401
_LEAST_ERROR = 400


class ClientEvents(Struct, frozen=True, kw_only=True, eq=False):
    """Whom a client tells of what happens beside its answers."""

    ended: Callable[[str], None]
    """No more can come from the server; with the reason."""
    forgotten: Callable[[], None]
    """The server no longer knows our session."""
    answered: Callable[[int], None]
    """The HTTP status of a message that was sent."""
    changed: Callable[[], None]
    """The tools may have changed."""
    updated: Callable[[str], None]
    """A resource did."""


def client_of(
    settings: ConnectionSettings,
    notes: NoteLog,
    sampler: Sampler | None,
    auth: httpx2.Auth | None,
    events: ClientEvents,
) -> Client:
    """The SDK's client, not opened yet. ``auth`` signs HTTP requests."""

    async def log(params: LoggingMessageNotificationParams) -> None:
        source = f"{params.logger}: " if params.logger else ""
        text = params.data if isinstance(params.data, str) else shorten(params.data, _LONGEST_LOG)
        notes.add("log", f"{params.level}: {source}{text}")

    async def hear(message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            events.changed()
        elif isinstance(message, ResourceUpdatedNotification):
            events.updated(str(message.params.uri))
        elif isinstance(message, Exception):
            notes.add("garbage", str(message))

    elicitation = None
    if settings.approve is not None:
        elicitation = Elicitation(settings.name, settings.approve, notes)
    return Client(
        _streams(settings, notes, auth, events),
        mode="legacy" if settings.protocol == "legacy" else "auto",
        read_timeout_seconds=settings.connect_timeout,
        sampling_callback=sampler,
        elicitation_callback=elicitation,
        list_roots_callback=list_roots(settings.roots) if settings.roots else None,
        logging_callback=log,
        log_level="info",
        message_handler=hear,
        extensions=[TasksExtension()],
        client_info=Implementation(name="rightcall", version=own_version()),
        # A list is requested when it may have changed, so it must not come from a cache.
        cache=None,
    )


def http_client(
    auth: httpx2.Auth | None = None,
    headers: Mapping[str, str] | None = None,
    *,
    max_message_bytes: int = 1024 * 1024,
    forgotten: Callable[[], object] = dict,
    answered: Callable[[int], object] = ignore,
    bounds_events: bool = False,
) -> httpx2.AsyncClient:
    """The SDK's HTTP client, over our own connections."""
    return httpx2.AsyncClient(
        headers={"accept-encoding": "identity", **(headers or {})},
        auth=auth,
        timeout=httpx2.Timeout(_CONNECT_SECONDS, read=_READ_SECONDS),
        transport=SdkTransport(
            max_message_bytes=max_message_bytes,
            forgotten=forgotten,
            answered=answered,
            bounds_events=bounds_events,
        ),
    )


@asynccontextmanager
async def _streams(
    settings: ConnectionSettings,
    notes: NoteLog,
    auth: httpx2.Auth | None,
    events: ClientEvents,
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
            client = http_client(
                auth,
                target.headers,
                max_message_bytes=most,
                forgotten=events.forgotten,
                answered=events.answered,
                bounds_events=target.transport == "sse",
            )
            if target.transport == "sse":
                opening = sse_client(target.url, httpx_client_factory=lambda *_, **__: client)
            else:
                await stack.enter_async_context(client)
                opening = streamable_http_client(target.url, http_client=client, max_sse_event_size=most)
        elif sys.platform == "win32":
            # The SDK's knows how Windows starts and ends programs; it does not bound what they send.
            notes.add("garbage", "the length of its messages is not bounded on Windows")
            program = StdioServerParameters(
                command=program_of(target),
                args=list(target.arguments),
                env=environment_of(target),
                cwd=directory_of(target),
            )
            opening = stdio_client(program)
        else:
            opening = stdio_streams(
                target,
                max_message_bytes=most,
                ended=events.ended,
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
    cause = next(leaves(error), error)
    name = settings.name
    if isinstance(cause, RightcallError):
        return cause
    if why:
        found: RightcallError = TransportError(f"the server {name} {why}")
    elif isinstance(cause, TimeoutError | httpx2.HTTPStatusError) and status >= _LEAST_ERROR:
        found = ProtocolError(f"the server {name} refused the connection: HTTP {status}")
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
            refusal = _login_advice(settings.target)
        elif status >= _LEAST_ERROR:
            refusal = f"HTTP {status}: {refusal}"
        found = ProtocolError(f"the server {name} refused the connection: {refusal}")
    else:
        found = ProtocolError(f"the server {name} does not speak MCP as agreed: {words_of(cause)}")
    found.__cause__ = error
    return found


def _login_advice(target: Endpoint) -> str:
    """What to do about a server that wants to know who asks."""
    if not isinstance(target, Http):
        return "HTTP 401"
    if target.headers or target.auth is not None:
        return "HTTP 401: it does not accept this token, or this login"
    return (
        f'HTTP 401: the token is missing. Log in: auth="oauth" in Python, rightcall mcp login '
        f'{target.url} in a shell; or give a token as a header: headers={{"Authorization": "Bearer '
        'TOKEN"}'
    )


def leaves(error: BaseException) -> Iterator[Exception]:
    """The exceptions in groups of them."""
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from leaves(each)
    elif isinstance(error, Exception):
        yield error


def words_of(error: Exception) -> str:
    """An error's message, truncated."""
    return str(error)[:500] or type(error).__name__
