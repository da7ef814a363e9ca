"""A POST that holds one call of the newest protocol into its response, in the task of the request.

The SDK's own entry takes a task group, two tasks and a stream for each request, in case the tool reports
progress, or the client hangs up. Most calls end at once and need none of it: here the client is watched
from the moment on that a call takes long. What the SDK would refuse, and whatever is not such a call,
goes to its application untouched, so that every refusal is the SDK's. Its kernel (``serve_one``)
validates and answers the rest.
"""

import asyncio
import json
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from contextvars import Context
from functools import cached_property
from typing import Any, ClassVar

import anyio
from mcp.server.connection import Connection
from mcp.server.lowlevel.server import Server
from mcp.server.runner import modern_error_data, serve_one
from mcp.server.streamable_http import check_accept_headers
from mcp.server.transport_security import TransportSecurityMiddleware
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    InboundModernRoute,
    classify_inbound_request,
    x_mcp_header_map,
)
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rightcall.mcp.server.serve_options import Bounds, Listen

_MOST_WELCOME = 256
_OK = 200
_EVENTS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"connection", b"keep-alive"),
    (b"x-accel-buffering", b"no"),
]
_MODERN = frozenset([version.encode() for version in MODERN_PROTOCOL_VERSIONS])
_encode = json.JSONEncoder(separators=(",", ":")).encode


class DirectCalls:
    """Answers calls of the newest protocol; ``rest`` is the SDK's application, for everything else."""

    def __init__(self, sdk: Server[Any], rest: ASGIApp, listen: Listen, bounds: Bounds) -> None:
        self._sdk = sdk
        self._rest = rest
        self._path = listen.path
        self._most = bounds.message_bytes
        self._security = TransportSecurityMiddleware(listen.security)
        self._welcome: set[tuple[str | None, ...]] = set()
        """What accepted requests had in the headers that decide whether a client may speak to us."""
        self._annotated: dict[str, tuple[Mapping[str, Any], bool]] = {}
        """By tool: its schema, and whether that wants arguments repeated in headers."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if not self._may_hold_a_call(scope):
            await self._rest(scope, receive, send)
            return
        first: Message | None = await receive()

        async def again() -> Message:
            nonlocal first
            message, first = first, None
            return await receive() if message is None else message

        assert first is not None
        request = Request(scope, again)
        call = await self._accepted(request, first)
        if call is None:
            await self._rest(scope, again, send)
            return
        message, route = call
        first = None
        exchange = Exchange(request, message, receive, send)
        connection = Connection.from_envelope(
            route.protocol_version, route.client_info, route.client_capabilities
        )
        await exchange.run(
            serve_one(
                self._sdk,
                exchange,
                message.method,
                message.params,
                connection=connection,
                lifespan_state={},
            )
        )

    def _may_hold_a_call(self, scope: Scope) -> bool:
        if scope["type"] != "http" or scope["method"] != "POST":
            return False
        if scope["path"] != scope.get("root_path", "") + self._path:
            return False
        version = [value for name, value in scope["headers"] if name == b"mcp-protocol-version"]
        return len(version) == 1 and version[0] in _MODERN

    async def _accepted(
        self, request: Request, first: Message
    ) -> tuple[JSONRPCRequest, InboundModernRoute] | None:
        """The call, and what its envelope says; None if it must be refused, or is no whole call."""
        body: bytes = first.get("body", b"")
        if first["type"] != "http.request" or first.get("more_body", False) or len(body) > self._most:
            return None
        raw = request.scope["headers"]
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in raw}
        if len(headers) != len(raw) or not await self._is_welcome(request, headers):
            return None
        try:
            decoded = json.loads(body)
            message = JSONRPCRequest.model_validate(decoded)
        except (ValueError, RecursionError):  # pydantic's ValidationError is a ValueError
            return None
        if message.method != "tools/call" or self._wants_headers(message):
            return None
        route = classify_inbound_request(decoded, headers=headers)
        return (message, route) if isinstance(route, InboundModernRoute) else None

    async def _is_welcome(self, request: Request, headers: Mapping[str, str]) -> bool:
        """Whether a client with such headers may be answered, by the SDK's rules."""
        given = tuple([headers.get(name) for name in ("content-type", "accept", "host", "origin")])
        if given in self._welcome:
            return True
        refusal = await self._security.validate_request(request, is_post=True)
        if refusal is not None or check_accept_headers(request) != (True, True):
            return False
        if len(self._welcome) >= _MOST_WELCOME:
            self._welcome.clear()
        self._welcome.add(given)
        return True

    def _wants_headers(self, message: JSONRPCRequest) -> bool:
        """Whether the tool's schema has arguments repeated in headers, which the SDK's entry checks."""
        name = (message.params or {}).get("name")
        find = self._sdk.get_tool_input_schema
        schema = None if find is None or not isinstance(name, str) else find(name)
        if schema is None or not isinstance(name, str):
            return False
        known = self._annotated.get(name)
        if known is None or known[0] is not schema:
            known = self._annotated[name] = (schema, bool(x_mcp_header_map(schema)))
        return known[1]


class Exchange:
    """One call's way back to its client: JSON at the end, or events from the first notification on.

    It is what the SDK's kernel calls a dispatch context. Since 2026-07-28 nothing can be asked of the
    client in the meantime.
    """

    short: ClassVar[float] = 0.05
    """Seconds after which a call takes long, and its client is watched for hanging up."""
    silence: ClassVar[float] = 15.0
    """Seconds after which the client is sent a comment: proxies cut silent connections."""
    can_send_request = False

    def __init__(self, request: Request, message: JSONRPCRequest, receive: Receive, send: Send) -> None:
        self.transport = TransportContext(
            kind="streamable-http", can_send_request=False, headers=request.headers
        )
        self.request_id = message.id
        self.message_metadata = ServerMessageMetadata(request_context=request)
        self._token = progress_token_from_params(message.params)
        self._receive = receive
        self._send = send
        self._sending = asyncio.Lock()
        self._is_stream = False
        self._is_over = False
        self._is_gone = False
        self._task: asyncio.Task[Any] | None = None
        self._watching: asyncio.Task[None] | None = None

    @cached_property
    def cancel_requested(self) -> anyio.Event:
        """Never set: a client of this protocol cancels by hanging up."""
        return anyio.Event()

    async def run(self, answer: Coroutine[Any, Any, dict[str, Any]]) -> None:
        """Send the answer, unless the client hangs up before; then its coroutine is cancelled."""
        self._task = asyncio.current_task()
        assert self._task is not None
        # A timer keeps its context alive for a while, even if it is cancelled.
        timer = asyncio.get_running_loop().call_later(self.short, self._watch, context=Context())
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": self.request_id}
        status = _OK
        try:
            reply["result"] = await answer
        except asyncio.CancelledError:
            if not self._is_gone or self._task.uncancel():
                raise
            return
        except Exception as error:  # noqa: BLE001 - the SDK has words for all of them
            failure = JSONRPCError(jsonrpc="2.0", id=self.request_id, error=modern_error_data(error))
            reply = failure.model_dump(mode="json", by_alias=True, exclude_none=True)
            status = ERROR_CODE_HTTP_STATUS.get(failure.error.code, _OK)
        finally:
            timer.cancel()
            if self._watching is not None:
                self._watching.cancel()
            self._is_over = True
        await self._finish(_encode(reply), status)

    async def send_raw_request(
        self, method: str, _: Mapping[str, Any] | None, __: CallOptions | None = None
    ) -> dict[str, Any]:
        """Refuse: the protocol has no such requests."""
        raise NoBackChannelError(method)

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, _: CallOptions | None = None
    ) -> None:
        """Send a notification that belongs to the call."""
        body = None if params is None else dict(params)
        told = JSONRPCNotification(jsonrpc="2.0", method=method, params=body)
        await self._tell(_event(_encode(told.model_dump(mode="json", by_alias=True, exclude_none=True))))

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Send the call's progress, if the client asked for it."""
        if self._token is None:
            return
        said = {"progress": progress, "total": total, "message": message}
        known = {name: value for name, value in said.items() if value is not None}
        await self.notify("notifications/progress", {"progressToken": self._token, **known})

    def _watch(self) -> None:
        self._watching = asyncio.get_running_loop().create_task(self._look_after())

    async def _look_after(self) -> None:
        """Keep the connection alive, and cancel the call when the client hangs up."""
        hanging_up = asyncio.ensure_future(self._until_gone())
        try:
            while not (await asyncio.wait({hanging_up}, timeout=self.silence))[0]:
                await self._tell(b": ping\r\n\r\n")
        finally:
            hanging_up.cancel()
        if self._task is not None and not self._is_over:
            self._is_gone = True
            self._task.cancel()

    async def _until_gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _tell(self, event: bytes) -> None:
        """Send an event, the first of which makes the response a stream."""
        # A client that is gone is noticed by whoever watches it.
        with suppress(OSError):
            async with self._sending:
                if self._is_over:
                    return
                if not self._is_stream:
                    self._is_stream = True
                    await self._send({"type": "http.response.start", "status": _OK, "headers": _EVENTS})
                await self._send({"type": "http.response.body", "body": event, "more_body": True})

    async def _finish(self, text: str, status: int) -> None:
        if self._is_stream:
            async with self._sending:
                await self._send({"type": "http.response.body", "body": _event(text)})
            return
        body = text.encode()
        headers = [
            (b"content-length", str(len(body)).encode()),
            (b"content-type", b"application/json"),
        ]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})


def _event(text: str) -> bytes:
    return f"event: message\r\ndata: {text}\r\n\r\n".encode()
