"""The settings of a connection into the SDK's client: its transport, its callbacks, and its errors.

This is the boundary: no error of the SDK passes it, and nothing from a server that was not checked.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx2

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
from rightcall.core.version import own_version
from rightcall.errors import ProtocolError, RightcallError, TransportError, TransportTimeout
from rightcall.mcp.client.callbacks import Elicitation, Sampler, list_roots
from rightcall.mcp.client.endpoints import Http
from rightcall.mcp.client.http_transport import SdkTransport
from rightcall.mcp.client.listing import filter_tools
from rightcall.mcp.client.note_log import NoteLog
from rightcall.mcp.client.settings import Settings
from rightcall.mcp.client.sse_streams import sse_streams
from rightcall.mcp.client.stdio_client import stdio_streams
from rightcall.mcp.framing import MessageStream

_LONGEST_LOG = 1000
_CONNECT_SECONDS = 15.0
_READ_SECONDS = 300.0
_UNAUTHORIZED = 401
_LEAST_ERROR = 400


def client_of(
    settings: Settings,
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
    settings: Settings,
    notes: NoteLog,
    ended: Callable[[str], None],
    forgotten: Callable[[], None],
    answered: Callable[[int], None],
) -> AsyncIterator[TransportStreams]:
    target, most = settings.target, settings.max_message_bytes
    opening: AbstractAsyncContextManager[TransportStreams]
    if isinstance(target, Http):
        if target.is_exposed:
            notes.add(
                "garbage", f"{target.url} is not encrypted: headers and tokens can be read on the way"
            )
        opening = _http_streams(
            target, max_message_bytes=most, ended=ended, forgotten=forgotten, answered=answered
        )
    else:
        opening = stdio_streams(
            target,
            max_message_bytes=most,
            ended=ended,
            garbage=lambda line: notes.add("garbage", f"a line that is no message: {line}"),
        )
    async with opening as (incoming, outgoing):
        yield FilteredStream(incoming), outgoing


@asynccontextmanager
async def _http_streams(
    target: Http,
    *,
    max_message_bytes: int,
    ended: Callable[[str], None],
    forgotten: Callable[[], None],
    answered: Callable[[int], None],
) -> AsyncIterator[TransportStreams]:
    """Speak to a server by HTTP, with the older transport or the current one.

    ``ended`` is called when a stream of events is over, ``forgotten`` when the server no longer knows
    our session, ``answered`` with the status of each message sent.
    """
    # The SDK (from 2.3, the minimum here) sends every request, including those of ``auth``, so that
    # redirects are followed within the origin only, whatever the client here would do.
    client = httpx2.AsyncClient(
        headers={"accept-encoding": "identity", **target.headers},
        auth=target.auth,
        timeout=httpx2.Timeout(_CONNECT_SECONDS, read=_READ_SECONDS),
        transport=SdkTransport(
            max_message_bytes=max_message_bytes, forgotten=forgotten, answered=answered
        ),
    )
    speaking: AbstractAsyncContextManager[TransportStreams] = (
        sse_streams(client, target.url, max_message_bytes=max_message_bytes, ended=ended)
        if target.transport == "sse"
        else streamable_http_client(target.url, http_client=client, max_sse_event_size=max_message_bytes)
    )
    async with client, speaking as streams:
        yield streams


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
        return _filtered(await self._stream.receive())

    async def aclose(self) -> None:
        """Close the wrapped stream."""
        await self._stream.aclose()


def _filtered(item: SessionMessage | Exception) -> SessionMessage | Exception:
    if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCResponse):
        result = item.message.result
        # The protocol reads a result without a type as complete. The SDK refuses it where a server
        # speaks 2026-07-28, and with it the answer of a call that has done its work.
        result.setdefault("resultType", "complete")
        # Of all results only a list of tools has this member.
        if isinstance(result.get("tools"), list):
            filter_tools(result)
    return item


def explain(error: Exception, settings: Settings, why: str, status: int = 0) -> RightcallError:
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
        found = ProtocolError(f"the server {name} refused the connection: {_refusal(cause, status)}")
    else:
        found = ProtocolError(f"the server {name} does not speak MCP as agreed: {words_of(cause)}")
    found.__cause__ = error
    return found


def _refusal(cause: Exception, status: int) -> str:
    if status == _UNAUTHORIZED:
        return (
            "HTTP 401: the token is missing or wrong. Give it as a header: "
            'headers={"Authorization": "Bearer TOKEN"}'
        )
    return f"HTTP {status}: {words_of(cause)}" if status >= _LEAST_ERROR else words_of(cause)


def _leaves(error: BaseException) -> Iterator[Exception]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    elif isinstance(error, Exception):
        yield error


def words_of(error: Exception) -> str:
    """An error's message, truncated."""
    return str(error)[:500] or type(error).__name__
