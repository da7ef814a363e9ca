"""A studio as a web application: routes, files, errors, and access checks."""

import asyncio
import contextlib
import hmac
import re
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from secrets import token_urlsafe
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rightcall.agent import Agent
from rightcall.core.options import check_keywords
from rightcall.errors import RightcallError, UsageError
from rightcall.log import logger
from rightcall.serve.studio.http_messages import RefusedRequest, refusal_from_error, refusal_response
from rightcall.serve.studio.routes import ReadingRoutes, Studio, WritingRoutes
from rightcall.serve.studio.run_actions import NoAgent, NotFitting
from rightcall.serve.studio.run_reader import NoRun
from rightcall.serve.studio.sources import Place
from rightcall.transport.http_server import Listener, listening_socket, url_of
from rightcall.transport.route import is_anywhere, is_loopback

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)
_HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
CSRF = "x-studio-token"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?")
_READING = ("GET", "HEAD")
_FROM_HERE = ("", "same-origin", "none")


class AccessCheck:
    """Checks every request, and adds the security headers to every answer.

    A foreign page in the user's browser can send requests here. It cannot read the answers, as long as
    no other origin is allowed and every request names a host that is ours: a name that was made to point
    here (DNS rebinding) is not. Changes need more: the page's own origin, and a token that only a page
    that can read our answers knows.
    """

    def __init__(
        self, app: ASGIApp, *, hosts: Iterable[str], token: str | None, csrf: str, port: int = 0
    ) -> None:
        self._app = app
        self._hosts = frozenset(each.strip("[]").lower() for each in (*_LOOPBACK, *hosts))
        self._token = token
        self._csrf = csrf
        self._cookie = f"rightcall_studio_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""
        if scope["type"] != "http":
            # There is no WebSocket here; lifespan is handled by the application.
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        try:
            refused = self._look(scope, Headers(scope=scope))
        except RefusedRequest as error:
            refused = refusal_response(error)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if scope["path"].startswith("/api/"):
                    headers["cache-control"] = "no-store"
            await send(message)

        await (refused or self._app)(scope, receive, send_with_headers)

    def _look(self, scope: Scope, headers: Headers) -> Response | None:
        # Refuse a host name that is not ours, whatever it points to.
        given = headers.getlist("host")
        named = _HOST.fullmatch(given[0].lower()) if len(given) == 1 else None
        if named is None or named[1].strip("[]").rstrip(".") not in self._hosts:
            raise RefusedRequest(403, "forbidden", "The studio is not reached under this name.")
        method = scope["method"]
        origin = headers.get("origin")
        if origin is not None:
            page = urlsplit(origin)
            is_own = page.netloc.lower() == headers["host"].lower()
            if page.scheme not in ("http", "https") or not is_own:
                raise RefusedRequest(403, "forbidden", "This page may not ask the studio anything.")
        if self._token is not None and (entering := self._check_token(scope, headers)) is not None:
            return entering
        is_page = not scope["path"].startswith("/api/")
        if headers.get("sec-fetch-site", "") not in _FROM_HERE and not is_page:
            raise RefusedRequest(403, "forbidden", "Another site may not ask the studio anything.")
        if method not in _READING:
            if method != "POST":
                raise RefusedRequest(405, "bad_request", "The studio takes GET and POST.")
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                raise RefusedRequest(400, "bad_request", "Changes are sent as application/json.")
            if not _same(headers.get(CSRF, ""), self._csrf):
                raise RefusedRequest(
                    403, "forbidden", f"Changes need the header {CSRF}; /api/session tells it."
                )
        return None

    def _check_token(self, scope: Scope, headers: Headers) -> Response | None:
        """Look for the token: in the URL of the first visit, then in a cookie, or in a header."""
        assert self._token is not None
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = None
        others = []
        for name, value in query:
            if name != "token":
                others.append((name, value))
            elif given is None:
                given = value
        if given is not None and scope["method"] in _READING and _same(given, self._token):
            # Take the token out of the URL, so that it is in no history and no screenshot.
            rest = urlencode(others)
            # A path that begins with two slashes would name another host.
            path = "/" + scope["path"].lstrip("/\\")
            response = RedirectResponse(f"{path}?{rest}" if rest else path, status_code=303)
            response.set_cookie(self._cookie, self._token, httponly=True, samesite="strict", path="/")
            return response
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and _same(bearer.strip(), self._token):
            return None
        jar: SimpleCookie = SimpleCookie()
        with contextlib.suppress(CookieError):
            jar.load(headers.get("cookie", ""))
            if self._cookie in jar and _same(jar[self._cookie].value, self._token):
                return None
        words = "Open the studio by the address that it printed, with its token."
        raise RefusedRequest(401, "unauthorized", words)


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


_STATIC = Path(__file__).parent / "static"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}


@check_keywords("studio_app")
def studio_app(
    journal: Place,
    *,
    agents: Mapping[str, Agent[Any, Any]] | Sequence[Agent[Any, Any]] | Agent[Any, Any] = (),
    write: bool = False,
    token: str | None = None,
    hosts: Sequence[str] = (),
    port: int = 0,
    cache: Path | None = None,
) -> ASGIApp:
    """The studio of a journal, for an ASGI server of your own.

    ``agents`` continue runs and can be tried, if ``write`` allows that. A studio that other machines can
    reach must require a ``token``; ``hosts`` are its names besides those of this machine. ``cache`` is
    the folder for the index; without one it is kept in memory.
    """
    studio = Studio(journal, agents=agents, can_write=write, cache=cache)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        watching = asyncio.create_task(studio.watcher.watch(), name="studio watcher")
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            await studio.close()

    routes = [
        *ReadingRoutes(studio).routes(),
        *WritingRoutes(studio).routes(),
        Route("/api/{path:path}", _no_route, methods=["GET", "POST"]),
        Route("/favicon.ico", _no_icon),
        Route("/static/{path:path}", _file),
        Route("/{path:path}", _page),
    ]
    handlers: dict[Any, Any] = dict.fromkeys(
        (RefusedRequest, NoRun, NoAgent, NotFitting, RightcallError), _answer_error
    )
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    app.add_middleware(_LastResort)
    return AccessCheck(app, hosts=hosts, token=token, csrf=studio.csrf, port=port)


async def _answer_error(_: Request, error: Exception) -> Response:
    refusal = refusal_from_error(error)
    assert refusal is not None
    return refusal_response(refusal)


class _LastResort:
    """Handles unexpected errors: they are logged, and the client learns only that there was one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        begun = False

        async def sending(message: Any) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception:
            if scope["type"] != "http" or begun:
                raise
            logger.exception("the studio failed at %s", scope["path"])
            failed = refusal_response(
                RefusedRequest(500, "failed", "The studio failed at this; its log says more.")
            )
            await failed(scope, receive, send)


async def _no_route(_: Request) -> Response:
    return refusal_response(RefusedRequest(404, "not_found", "There is nothing under this address."))


async def _no_icon(_: Request) -> Response:
    return Response(status_code=204)


async def _file(request: Request) -> Response:
    """A file of the pages; nothing else can be reached, whatever the path says."""
    for path in _files():
        if path.relative_to(_STATIC).as_posix() == request.path_params["path"]:
            return await _send_file(path)
    return await _no_route(request)


def _files() -> list[Path]:
    return [path for path in _STATIC.rglob("*") if path.suffix in _TYPES and path.is_file()]


async def _page(_: Request) -> Response:
    return await _send_file(_STATIC / "index.html")


async def _send_file(path: Path) -> Response:
    data = await asyncio.to_thread(path.read_bytes)
    return Response(data, media_type=_TYPES[path.suffix], headers={"cache-control": "no-cache"})


@check_keywords("studio.serve")
def serve(
    journal: Place,
    *,
    agents: Mapping[str, Agent[Any, Any]] | Sequence[Agent[Any, Any]] | Agent[Any, Any] = (),
    write: bool = False,
    host: str = "127.0.0.1",
    port: int = 0,
    names: Sequence[str] = (),
    started: Callable[[str], None] | None = None,
    cache: Path | None = None,
) -> None:
    """Show a journal in the browser until SIGINT or SIGTERM; ``started`` is called with the address.

    On any host but this machine's own, the address contains a token, and requests without it are
    refused. ``names`` are the host names under which it is then reached.
    """
    token = None if is_loopback(host) else token_urlsafe(24)
    if is_anywhere(host) and not names:
        raise UsageError(f"with {host or 'every address'}, say under which name it is reached: --name")
    with listening_socket(host, port) as listener:
        at, number = listener.getsockname()[:2]
        app = studio_app(
            journal,
            agents=agents,
            write=write,
            token=token,
            hosts=names if is_anywhere(host) else (host, *names),
            port=number,
            cache=cache,
        )
        address = f"{url_of(names[0] if names else at, number)}/"
        if token:
            address = f"{address}?token={token}"
        if started is not None:
            started(address)
        else:
            logger.info("the studio is at %s", address)
        asyncio.run(_run(app, listener))


async def _run(app: Any, listener: socket.socket) -> None:
    config = uvicorn.Config(
        app,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        # Event streams do not end by themselves.
        timeout_graceful_shutdown=1,
    )
    server = Listener(config)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        # Windows' event loop has no signal handlers, nor does a thread that is not the main one.
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, server.end)
    await server.serve(sockets=[listener])
