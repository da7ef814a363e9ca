"""A server into a web application, and that into a listening server."""

import asyncio
import socket
from collections.abc import Callable
from contextvars import Context
from typing import Any

import uvicorn
from mcp.server.auth.settings import AuthSettings
from mcp.server.lowlevel.server import Server
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rightcall.mcp.server.auth import JwtVerifier, TokenAuth
from rightcall.mcp.server.direct_calls import DirectCalls
from rightcall.mcp.server.serve_options import Bounds, Listen, OAuth
from rightcall.transport.listening import Listener, listening, url_of


def application(sdk: Server[Any], listen: Listen, bounds: Bounds, *, timed: bool = False) -> ASGIApp:
    """The SDK's application, behind our own checks. ``timed``: the web server limits a body's time."""
    oauth = listen.oauth
    inner = sdk.streamable_http_app(
        streamable_http_path=listen.path,
        max_request_body_size=bounds.message_bytes,
        session_idle_timeout=bounds.idle,
        max_sessions=bounds.sessions,
        transport_security=listen.security,
        host=listen.host,
        auth=None if oauth is None else _settings(oauth),
        token_verifier=None if oauth is None else oauth.verifier or JwtVerifier(oauth),
    )
    # Tokens of an authorization server are the SDK's application's to check.
    direct = inner if oauth is not None else DirectCalls(sdk, inner, listen, bounds)
    outer = direct if timed else _BodyDeadline(direct, bounds.request)
    return outer if listen.token is None else TokenAuth(outer, listen.token)


def _settings(oauth: OAuth) -> AuthSettings:
    # Parsed from text: building the URL first would add a slash at its end, and so name another issuer.
    return AuthSettings.model_validate(
        {
            "issuer_url": oauth.issuer,
            "resource_server_url": oauth.resource,
            "required_scopes": list(oauth.scopes) or None,
            "validate_token_resource": True,
        }
    )


async def serve_http(
    sdk: Server[Any], listen: Listen, bounds: Bounds, started: Callable[[str], None]
) -> None:
    """Serve until cancelled; ``started`` is called with the address."""
    with listening(listen.host, listen.port) as bound:
        server = Listener(
            uvicorn.Config(
                application(sdk, listen, bounds, timed=True),
                http=_protocol(bounds.request),
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                limit_concurrency=bounds.connections,
                timeout_graceful_shutdown=max(1, round(bounds.grace)),
            )
        )
        host, port = bound.getsockname()[:2]
        started(f"{url_of(host, port)}{listen.path}")
        await _run(server, bound, bounds.grace)


async def _run(server: uvicorn.Server, bound: socket.socket, grace: float) -> None:
    """Run until cancelled, and then until what is under way has ended, within bounds."""
    serving = asyncio.ensure_future(server.serve(sockets=[bound]))
    try:
        await asyncio.wait({serving})
    except asyncio.CancelledError:
        server.should_exit = True
        await asyncio.wait({serving}, timeout=2 * grace + 1)
        serving.cancel()
        raise
    serving.result()


class _BodyDeadline:
    """Disconnects a request whose body does not arrive within so many seconds."""

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        self._app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, while its body arrives in time."""
        is_whole = scope["type"] != "http"
        until = asyncio.get_running_loop().time() + self._seconds

        async def receive_in_time() -> Message:
            nonlocal is_whole
            if is_whole:
                return await receive()
            try:
                async with asyncio.timeout(None) as time:
                    # In an empty context: a timer keeps its own alive for as long as it was set for.
                    Context().run(time.reschedule, until)
                    message = await receive()
            except TimeoutError:
                return {"type": "http.disconnect"}
            is_whole = message["type"] != "http.request" or not message.get("more_body", False)
            return message

        await self._app(scope, receive_in_time, send)


def _protocol(seconds: float) -> type[asyncio.Protocol]:
    """The HTTP protocol on httptools, with so many seconds for headers, and as many for a body."""
    from rightcall.transport.bounded_http import BoundedProtocol  # noqa: PLC0415 - on httptools

    return type("Bounded", (BoundedProtocol,), {"header_seconds": seconds, "body_seconds": seconds})
