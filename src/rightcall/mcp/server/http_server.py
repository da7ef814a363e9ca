"""Serves tools over HTTP: the web application, who may call it, and a server that listens for it.

Clients have the one token, or a token of an authorization server.
"""

import asyncio
import hmac
import json
import threading
from collections.abc import Callable
from contextvars import Context
from math import inf
from time import monotonic
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, build_opener

import jwt
import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.lowlevel.server import Server
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rightcall.log import logger
from rightcall.mcp.server.resumption import RecentEvents, SessionNames
from rightcall.mcp.server.serve_options import Bounds, Listen, OAuth
from rightcall.transport.http_server import Listener, listening_socket, url_of
from rightcall.transport.route import is_loopback


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
    events = RecentEvents(bounds.replay_bytes)
    inner = sdk.streamable_http_app(
        streamable_http_path=listen.path,
        max_request_body_size=bounds.message_bytes,
        event_store=events,
        retry_interval=_RETRY,
        session_idle_timeout=bounds.idle,
        max_sessions=bounds.sessions,
        transport_security=listen.security,
        host=listen.host,
        auth=auth,
        token_verifier=None if oauth is None else oauth.verifier or JwtVerifier(oauth),
    )
    named = SessionNames(inner, events, 2 * bounds.sessions)
    outer: ASGIApp = named if timed else _BodyDeadline(named, bounds.request)
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

_RETRY = 1000
"""Milliseconds after which a client whose connection broke comes back."""
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
