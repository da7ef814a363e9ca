"""Serves tools over HTTP: the web application, who may call it, and a server that listens for it.

Clients have the one token, or a token of an authorization server.
"""

import asyncio
import hmac
import json
import threading
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from contextvars import Context
from functools import cached_property
from math import inf
from time import monotonic
from typing import Any, ClassVar
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, build_opener

import anyio
import jwt
import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
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
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rightcall.log import logger
from rightcall.mcp.server.serve_options import Bounds, Listen, OAuth
from rightcall.transport.http_server import Listener, listening_socket, url_of
from rightcall.transport.route import is_loopback

# A POST that holds one call of the newest protocol into its response, in the task of the request.
# The SDK's own entry takes a task group, two tasks and a stream for each request, in case the tool
# reports progress, or the client hangs up. Most calls end at once and need none of it: here the
# client is watched from the moment on that a call takes long. What the SDK would refuse, and
# whatever is not such a call, goes to its application untouched, so that every refusal is the
# SDK's. Its kernel (``serve_one``) validates and answers the rest.

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
        # Whoever serves the request reads its body from the start: what was received here to look at
        # it is given once more, to the SDK's application or to its checks.
        first: Message | None = await receive()

        async def again() -> Message:
            nonlocal first
            message = first
            first = None
            if message is None:
                return await receive()
            return message

        assert first is not None
        request = Request(scope, again)
        call = await self._parse_call(request, first)
        if call is None:
            await self._rest(scope, again, send)
            return
        message, route = call
        # The call holds the whole body: what is received from here on tells that the client hangs up.
        first = None
        exchange = DirectExchange(request, message, receive, send)
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
        versions = [value for name, value in scope["headers"] if name == b"mcp-protocol-version"]
        return len(versions) == 1 and versions[0] in _MODERN

    async def _parse_call(
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
        if isinstance(route, InboundModernRoute):
            return (message, route)
        return None

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
        if find is None or not isinstance(name, str):
            return False
        schema = find(name)
        if schema is None:
            return False
        known = self._annotated.get(name)
        if known is None or known[0] is not schema:
            known = self._annotated[name] = (schema, bool(x_mcp_header_map(schema)))
        return known[1]


class DirectExchange:
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
            # Ours, because the client is gone, ends here; any other cancellation, also one that came
            # beside ours, goes on to who cancelled.
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
            # From here on no notification may follow, nor a cancellation by the watcher.
            self._is_over = True
        text = _encode(reply)
        if self._is_stream:
            async with self._sending:
                await self._send({"type": "http.response.body", "body": _event(text)})
            return
        body = text.encode()
        headers = [(b"content-length", str(len(body)).encode()), (b"content-type", b"application/json")]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})

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
        message = JSONRPCNotification(jsonrpc="2.0", method=method, params=body)
        text = _encode(message.model_dump(mode="json", by_alias=True, exclude_none=True))
        await self._send_event(_event(text))

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Send the call's progress, if the client asked for it."""
        if self._token is None:
            return
        report: dict[str, Any] = {"progressToken": self._token, "progress": progress}
        if total is not None:
            report["total"] = total
        if message is not None:
            report["message"] = message
        await self.notify("notifications/progress", report)

    def _watch(self) -> None:
        self._watching = asyncio.get_running_loop().create_task(self._look_after())

    async def _look_after(self) -> None:
        """Keep the connection alive, and cancel the call when the client hangs up."""

        async def until_gone() -> None:
            while (await self._receive())["type"] != "http.disconnect":
                pass

        hanging_up = asyncio.ensure_future(until_gone())
        try:
            while not (await asyncio.wait({hanging_up}, timeout=self.silence))[0]:
                await self._send_event(b": ping\r\n\r\n")
        finally:
            hanging_up.cancel()
        if self._task is not None and not self._is_over:
            self._is_gone = True
            self._task.cancel()

    async def _send_event(self, event: bytes) -> None:
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


def _event(text: str) -> bytes:
    return f"event: message\r\ndata: {text}\r\n\r\n".encode()


def application(sdk: Server[Any], listen: Listen, bounds: Bounds, *, timed: bool = False) -> ASGIApp:
    """The SDK's application, behind our own checks. ``timed``: the web server limits a body's time."""
    oauth = listen.oauth
    auth = None
    if oauth is not None:
        # Parsed from text: building the URL first would add a slash at its end, and name another issuer.
        auth = AuthSettings.model_validate(
            {
                "issuer_url": oauth.issuer,
                "resource_server_url": oauth.resource,
                "required_scopes": list(oauth.scopes) or None,
                "validate_token_resource": True,
            }
        )
    inner = sdk.streamable_http_app(
        streamable_http_path=listen.path,
        max_request_body_size=bounds.message_bytes,
        session_idle_timeout=bounds.idle,
        max_sessions=bounds.sessions,
        transport_security=listen.security,
        host=listen.host,
        auth=auth,
        token_verifier=None if oauth is None else oauth.verifier or JwtVerifier(oauth),
    )
    # Tokens of an authorization server are the SDK's application's to check.
    direct = inner if oauth is not None else DirectCalls(sdk, inner, listen, bounds)
    outer = direct if timed else _BodyDeadline(direct, bounds.request)
    if listen.token is None:
        return outer
    return TokenAuth(outer, listen.token)


async def serve_http(
    sdk: Server[Any], listen: Listen, bounds: Bounds, started: Callable[[str], None]
) -> None:
    """Serve until cancelled; ``started`` is called with the address."""
    with listening_socket(listen.host, listen.port) as bound:
        from rightcall.transport.http_server import BoundedProtocol  # noqa: PLC0415 - on httptools

        seconds = bounds.request
        server = Listener(
            uvicorn.Config(
                application(sdk, listen, bounds, timed=True),
                http=type(
                    "Bounded", (BoundedProtocol,), {"header_seconds": seconds, "body_seconds": seconds}
                ),
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
        # Run until cancelled, and then until what is under way has ended, within bounds.
        serving = asyncio.ensure_future(server.serve(sockets=[bound]))
        try:
            await asyncio.wait({serving})
        except asyncio.CancelledError:
            server.should_exit = True
            await asyncio.wait({serving}, timeout=2 * bounds.grace + 1)
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


_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "ES512", "EdDSA"]
"""Public-key algorithms only: a token must not choose an algorithm whose key everybody knows."""
_LONGEST = 16 * 1024

SELDOM = 30.0
"""Seconds between two fetches of the keys: tokens with made-up key ids must not each cause one."""
OFTEN = 600.0
"""Seconds after which the keys are fetched again: a revoked key must not stay valid."""
_TIMEOUT = 10.0
_LARGEST = 1024 * 1024


class TokenAuth:
    """Accepts requests that carry the token, compared in constant time."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""
        may_pass = scope["type"] != "http"
        if not may_pass:
            scheme, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
            given = token.strip().encode("latin-1", "replace")
            may_pass = hmac.compare_digest(given, self._token) and scheme.lower() == "bearer"
        if may_pass:
            await self._app(scope, receive, send)
            return
        refusal = JSONResponse(
            {"error": "invalid_token"},
            status_code=401,
            headers={"www-authenticate": 'Bearer error="invalid_token"'},
        )
        await refusal(scope, receive, send)


class JwtVerifier:
    """Checks a token's signature, issuer, audience and expiry."""

    def __init__(self, oauth: OAuth) -> None:
        self._oauth = oauth
        self._keys = IssuerKeys(oauth.issuer)

    async def verify_token(self, token: str) -> AccessToken | None:
        """The verified token, with whom it stands for; None if it is not valid."""
        if len(token) > _LONGEST:
            return None
        try:
            claims = await asyncio.to_thread(self._claims_of, token)
        except jwt.PyJWTError as error:
            logger.info("a token was refused: %s", error)
            return None
        scope = claims.get("scope", "")
        return AccessToken(
            token=token,
            client_id=str(claims.get("client_id") or claims.get("azp") or claims["sub"]),
            scopes=scope.split() if isinstance(scope, str) else [],
            expires_at=int(claims["exp"]),
            resource=self._oauth.resource,
            subject=str(claims["sub"]),
            claims=claims,
        )

    def _claims_of(self, token: str) -> dict[str, Any]:
        key = self._keys.find(str(jwt.get_unverified_header(token).get("kid", "")))
        return jwt.decode(
            token,
            key,
            algorithms=_ALGORITHMS,
            audience=self._oauth.resource,
            issuer=self._oauth.issuer,
            options={"require": ["exp", "iss", "aud", "sub"]},
        )


class NoKey(jwt.PyJWTError):
    """The issuer has no such key, or does not answer."""


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


_opener = build_opener(_NoRedirects)


class IssuerKeys:
    """The keys of one issuer. Fetching them blocks; threads may share them."""

    def __init__(self, issuer: str) -> None:
        self._issuer = issuer
        self._lock = threading.Lock()
        self._known: dict[str, jwt.PyJWK] = {}
        self._looked: float | None = None

    def find(self, name: str) -> jwt.PyJWK:
        """The key of that id. Raises NoKey."""
        with self._lock:
            age = inf if self._looked is None else monotonic() - self._looked
            if age > (SELDOM if name not in self._known else OFTEN):
                self._looked = monotonic()
                try:
                    found = _get(self._metadata()["jwks_uri"])
                    keys = jwt.PyJWKSet.from_dict(found).keys
                except jwt.PyJWTError:
                    # An issuer that is away for a moment must not lock everybody out.
                    if not self._known:
                        raise
                else:
                    self._known = {key.key_id: key for key in keys if key.key_id is not None}
        if name not in self._known:
            raise NoKey(f"{self._issuer} has no key {name[:100]!r}")
        return self._known[name]

    def _metadata(self) -> dict[str, Any]:
        """The issuer's metadata (RFC 8414, or OpenID Connect Discovery)."""
        parts = urlsplit(self._issuer)
        path = parts.path.rstrip("/")
        root = f"{parts.scheme}://{parts.netloc}"
        for address in (
            f"{root}/.well-known/oauth-authorization-server{path}",
            f"{root}{path}/.well-known/openid-configuration",
        ):
            try:
                found = _get(address)
            except NoKey:
                continue
            if found.get("issuer") == self._issuer and isinstance(found.get("jwks_uri"), str):
                return found
        raise NoKey(f"{self._issuer} does not say where its keys are")


def _get(address: str) -> dict[str, Any]:
    parts = urlsplit(address)
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        raise NoKey(f"{address} is not an https address")
    try:
        with _opener.open(address, timeout=_TIMEOUT) as response:
            data = response.read(_LARGEST + 1)
        found = json.loads(data) if len(data) <= _LARGEST else None
    except (URLError, OSError, ValueError) as error:
        if isinstance(error, HTTPError):
            # The HTTPError is the response as well, and still open.
            error.close()
        raise NoKey(f"{address} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise NoKey(f"{address} does not hold what it should")
    return found
