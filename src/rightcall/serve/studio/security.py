"""Who may reach the studio, and what a browser may do with its answers.

A foreign page in the user's browser can send requests here. It cannot read the answers, as long as no
other origin is allowed and every request names a host that is ours: a name that was made to point here
(DNS rebinding) is not. Changes need more: the page's own origin, and a token that only a page that can
read our answers knows.
"""

import hmac
import re
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rightcall.serve.studio.answers import Refused, refusal

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
    """Checks every request, and adds the security headers to every answer."""

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
        except Refused as error:
            refused = refusal(error)
        await (refused or self._app)(scope, receive, _with_headers(scope, send))

    def _look(self, scope: Scope, headers: Headers) -> Response | None:
        self._check_host(headers)
        method = scope["method"]
        origin = headers.get("origin")
        if origin is not None and not self._is_ours(origin, headers["host"]):
            raise Refused(403, "forbidden", "This page may not ask the studio anything.")
        if self._token is not None and (entering := self._check_token(scope, headers)) is not None:
            return entering
        is_page = not scope["path"].startswith("/api/")
        if headers.get("sec-fetch-site", "") not in _FROM_HERE and not is_page:
            raise Refused(403, "forbidden", "Another site may not ask the studio anything.")
        if method not in _READING:
            self._check_change(scope, headers)
        return None

    def _check_host(self, headers: Headers) -> None:
        """Refuse a host name that is not ours, whatever it points to."""
        given = headers.getlist("host")
        named = _HOST.fullmatch(given[0].lower()) if len(given) == 1 else None
        if named is None or named[1].strip("[]").rstrip(".") not in self._hosts:
            raise Refused(403, "forbidden", "The studio is not reached under this name.")

    def _is_ours(self, origin: str, host: str) -> bool:
        parts = urlsplit(origin)
        return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()

    def _check_token(self, scope: Scope, headers: Headers) -> Response | None:
        """Look for the token: in the URL of the first visit, then in a cookie, or in a header."""
        assert self._token is not None
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = next((value for name, value in query if name == "token"), None)
        if given is not None and scope["method"] in _READING and _same(given, self._token):
            return self._enter(scope, query)
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and _same(bearer.strip(), self._token):
            return None
        if _same(self._from_cookie(headers), self._token):
            return None
        words = "Open the studio by the address that it printed, with its token."
        raise Refused(401, "unauthorized", words)

    def _enter(self, scope: Scope, query: list[tuple[str, str]]) -> Response:
        """Take the token out of the URL, so that it is in no history and no screenshot."""
        rest = urlencode([pair for pair in query if pair[0] != "token"])
        # A path that begins with two slashes would name another host.
        path = "/" + scope["path"].lstrip("/\\")
        response = RedirectResponse(f"{path}?{rest}" if rest else path, status_code=303)
        assert self._token is not None
        response.set_cookie(self._cookie, self._token, httponly=True, samesite="strict", path="/")
        return response

    def _from_cookie(self, headers: Headers) -> str:
        jar: SimpleCookie = SimpleCookie()
        try:
            jar.load(headers.get("cookie", ""))
        except CookieError:
            return ""
        return jar[self._cookie].value if self._cookie in jar else ""

    def _check_change(self, scope: Scope, headers: Headers) -> None:
        if scope["method"] != "POST":
            raise Refused(405, "bad_request", "The studio takes GET and POST.")
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Refused(400, "bad_request", "Changes are sent as application/json.")
        if not _same(headers.get(CSRF, ""), self._csrf):
            raise Refused(403, "forbidden", f"Changes need the header {CSRF}; /api/session tells it.")


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def _with_headers(scope: Scope, send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            if scope["path"].startswith("/api/"):
                headers["cache-control"] = "no-store"
        await send(message)

    return sending
