"""Tokens for the requests to a server: kept ones, refreshed ones, and those of a login in the browser.

The protocol is the SDK's: discovery, registration, PKCE, and every check of an answer. Ours is what it
leaves to its users (files, the browser, the address that it returns to, an end to waiting), and when it
runs: the SDK holds a lock until the server has answered, so that calls would wait for each other. Here a
request with a valid token takes no lock at all.
"""

import asyncio
import logging
import warnings
import webbrowser
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext, suppress
from typing import TypeAlias
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, OAuthFlowError
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.auth.utils import extract_field_from_www_auth
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, ValidationError

from rightcall.errors import RightcallError, TransportError, UsageError
from rightcall.mcp.client.endpoints import ClientCredentials, Http, Login
from rightcall.mcp.client.login_store import LoginStore, StoredLogin
from rightcall.mcp.client.sdk_client import http_client

Waits: TypeAlias = Callable[[], AbstractContextManager[None]]
"""A scope in which a person is waited for."""

_UNAUTHORIZED = 401
_FORBIDDEN = 403
_EARLY = 30.0
"""Seconds before its end in which a token is refreshed; a tenth of its life, if that is shorter."""
_LONG_AGO = 1.0
_CONNECT_SECONDS = 15.0
_LARGEST_REQUEST = 16 * 1024
_PATH = "/callback"
_FLOW_ERRORS = (OAuthFlowError, ValidationError, UsageError)
_DEAD = {400, 401}
"""Statuses by which a refresh token is refused for good (RFC 6749, 5.2)."""

# The SDK logs an error of a login that it also raises; without this, it would be on standard error.
logging.getLogger("mcp.client.auth.oauth2").addHandler(logging.NullHandler())


class OAuthSession(httpx2.Auth):
    """Puts a token on every request to one server, and gets one when it has to.

    A login that fails leaves the request without a token; ``failure`` then says why.
    """

    def __init__(self, url: str, how: Login | ClientCredentials, waits: Waits = nullcontext) -> None:
        self.failure = ""
        self._url = url
        self._waits = waits
        self._login: Login | None = None
        self._store: LoginStore | None = None
        self._provider: OAuthClientProvider
        if isinstance(how, Login):
            self._login = how
            self._store = LoginStore(how.folder)
            self._provider = self._provider_for(how)
        else:
            self._provider = _machine_provider(url, how, self)
        self._context = self._provider.context
        self._lock = asyncio.Lock()
        self._is_loaded = False
        self._callback: CallbackServer | None = None

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """The requests to send in place of one: usually that one, with the token."""
        if not self._is_loaded:
            self._is_loaded = True
            self._take_stored()
        response: httpx2.Response | None = None
        for stage in ("refresh", "refresh anyway", "log in"):
            needed = self._needs(stage, response)
            if needed:
                getting = self._get_token(stage, request, response)
                try:
                    sending = await anext(getting)
                    while True:
                        sending = await getting.asend((yield sending))
                except StopAsyncIteration:
                    pass
                finally:
                    await getting.aclose()
            if needed or response is None:
                if self._context.is_token_valid() and self._context.current_tokens is not None:
                    request.headers["Authorization"] = _header(self._context.current_tokens)
                response = yield request
        if response is not None and response.status_code not in {_UNAUTHORIZED, _FORBIDDEN}:
            self.failure = ""

    def _needs(self, stage: str, response: httpx2.Response | None) -> bool:
        if stage == "refresh":
            return not self._context.is_token_valid() and self._context.can_refresh_token()
        if response is None:
            return False
        if stage == "refresh anyway":
            # Servers forget tokens, and some do not say when a token expires.
            return response.status_code == _UNAUTHORIZED and self._context.can_refresh_token()
        return response.status_code == _UNAUTHORIZED or _wants_more(response)

    async def _get_token(
        self, stage: str, request: httpx2.Request, response: httpx2.Response | None
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Refresh or log in, by the requests that the SDK's provider makes around this one."""
        context = self._context
        async with self._lock, self._held():
            carried = request.headers.get("Authorization")
            self._take_stored()
            before = context.current_tokens
            registered = context.client_info
            if context.is_token_valid() and before is not None and _header(before) != carried:
                # Another request, or another program, was quicker.
                return
            is_login = stage == "log in"
            if is_login and self.failure:
                # Nobody is asked twice.
                return
            if not is_login and not context.can_refresh_token():
                return
            if not is_login:
                context.token_expiry_time = _LONG_AGO
            flow = self._provider.async_auth_flow(request)
            status = 0
            try:
                async with self._listening(response) if is_login else nullcontext():
                    sending = await anext(flow)
                    if sending is request and response is not None and is_login:
                        # What it would be answered is known.
                        sending = await flow.asend(response)
                    while sending is not request:
                        answer = yield sending
                        status = answer.status_code
                        sending = await flow.asend(answer)
            except StopAsyncIteration:
                pass
            except _FLOW_ERRORS as error:
                self.failure = str(error) or type(error).__name__
                context.client_info = context.client_info or registered
            finally:
                await flow.aclose()
            if is_login or context.is_token_valid():
                return
            if status in _DEAD:
                # The refresh token is no longer accepted, and must not be tried again.
                self._keep()
            else:
                # Perhaps the old one is still accepted.
                context.current_tokens = before
                self.failure = f"the authorization server answers HTTP {status}"

    @asynccontextmanager
    async def _held(self) -> AsyncIterator[None]:
        if self._store is None:
            yield
            return
        async with self._store.hold(self._url):
            yield

    @asynccontextmanager
    async def _listening(self, response: httpx2.Response | None) -> AsyncIterator[None]:
        """Listen at the address that the browser returns to; machines need none."""
        login = self._login
        if login is None:
            yield
            return
        if not login.interactive:
            raise OAuthFlowError(f"log in first: rightcall mcp login {self._url}")
        context = self._context
        registered = context.client_info
        port = login.port
        if not port and registered is not None and registered.redirect_uris:
            # Servers compare the whole address, so its port belongs to the registration.
            port = registered.redirect_uris[0].port or 0
        async with CallbackServer.listen(port, must=bool(login.port)) as callback:
            self._callback = callback
            context.client_metadata.redirect_uris = [AnyUrl(callback.address)]
            # Some servers grant no more scopes than a client was registered with.
            is_wider = response is not None and _wants_more(response)
            if not login.client_id and (is_wider or callback.port != port):
                context.client_info = None
            with self._waits():
                yield

    def _provider_for(self, login: Login) -> OAuthClientProvider:
        metadata = OAuthClientMetadata(
            client_name="rightcall", redirect_uris=[AnyUrl(f"http://localhost{_PATH}")]
        )
        return OAuthClientProvider(
            self._url,
            metadata,
            self,
            redirect_handler=self._show_page,
            callback_handler=self._wait_for_code,
            client_metadata_url=login.client_metadata_url,
        )

    async def _show_page(self, url: str) -> None:
        assert self._callback is not None
        assert self._login is not None
        self._callback.expect(parse_qs(urlsplit(url).query).get("state", [""])[0])
        if self._login.paste is not None:
            self._callback.take_pasted(self._login.paste, url)
        elif not await asyncio.to_thread(self._login.browser or webbrowser.open, url):
            raise OAuthFlowError(
                f"no browser can be opened here; rightcall mcp login {self._url} --paste needs none"
            )

    async def _wait_for_code(self) -> AuthorizationCodeResult:
        assert self._callback is not None
        assert self._login is not None
        try:
            async with asyncio.timeout(self._login.timeout):
                return await self._callback.result
        except TimeoutError as error:
            raise OAuthFlowError(f"nobody logged in within {self._login.timeout:g} s") from error

    # What the SDK calls a token storage. What is kept is put into its context, and read from there.

    async def get_tokens(self) -> OAuthToken | None:
        """The current tokens."""
        return self._context.current_tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep new tokens."""
        until = self._context.token_expiry_time
        if until is not None and tokens.expires_in is not None:
            self._context.token_expiry_time = until - min(_EARLY, tokens.expires_in / 10)
        self.failure = ""
        self._keep()

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Our registration."""
        return self._context.client_info

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep our registration."""
        self._context.client_info = client_info
        self._keep()

    def _keep(self) -> None:
        if self._store is None:
            return
        context = self._context
        self._store.write(
            StoredLogin(
                url=self._url,
                tokens=_to_json(context.current_tokens),
                expires_at=context.token_expiry_time,
                client=_to_json(context.client_info),
                issuer=_to_json(context.oauth_metadata),
                resource=_to_json(context.protected_resource_metadata),
            )
        )

    def _take_stored(self) -> None:
        """Take what is kept, which another program may have changed."""
        if self._store is None or self._login is None:
            return
        context = self._context
        if self._login.client_id:
            secret = self._login.client_secret
            context.client_info = OAuthClientInformationFull(
                client_id=self._login.client_id,
                client_secret=secret or None,
                token_endpoint_auth_method="client_secret_basic" if secret else "none",
            )
        stored = self._store.read(self._url)
        if stored is None:
            return
        try:
            if stored.client and not self._login.client_id:
                context.client_info = OAuthClientInformationFull.model_validate(stored.client)
            if stored.issuer:
                context.oauth_metadata = OAuthMetadata.model_validate(stored.issuer)
            if stored.resource:
                about = ProtectedResourceMetadata.model_validate(stored.resource)
                context.protected_resource_metadata = about
                context.auth_server_url = str(about.authorization_servers[0])
            context.current_tokens = None
            if stored.tokens:
                context.current_tokens = OAuthToken.model_validate(stored.tokens)
        except ValidationError as error:
            file = self._store.file_of(self._url)
            raise UsageError(f"{file} is not a kept login; delete it and log in") from error
        context.token_expiry_time = stored.expires_at


def _header(tokens: OAuthToken) -> str:
    return f"Bearer {tokens.access_token}"


def _to_json(
    found: OAuthToken | OAuthClientInformationFull | OAuthMetadata | ProtectedResourceMetadata | None,
) -> dict[str, object]:
    if found is None:
        return {}
    return found.model_dump(mode="json", exclude_none=True)


def _wants_more(response: httpx2.Response) -> bool:
    """Whether the token is good, but not for this."""
    if response.status_code != _FORBIDDEN:
        return False
    return extract_field_from_www_auth(response, "error") == "insufficient_scope"


def _machine_provider(
    url: str, how: ClientCredentials, storage: OAuthSession
) -> ClientCredentialsOAuthProvider | PrivateKeyJWTOAuthProvider:
    scope = how.scope or None
    with warnings.catch_warnings():
        # The deprecation of a missing issuer: ours is always given.
        warnings.simplefilter("ignore")
        if not how.private_key:
            return ClientCredentialsOAuthProvider(
                url, storage, how.client_id, how.client_secret, scope=scope, issuer=how.issuer
            )
        signed = SignedJWTParameters(
            issuer=how.client_id,
            subject=how.client_id,
            signing_key=how.private_key,
            signing_algorithm=how.algorithm,
        )
        assertion = signed.create_assertion_provider()
        return PrivateKeyJWTOAuthProvider(
            url, storage, how.client_id, assertion, scope=scope, issuer=how.issuer
        )


class CallbackServer:
    """The address on this machine that the authorization server sends the browser back to."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.address = f"http://localhost:{port}{_PATH}"
        self.result: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()
        self._state = ""
        self._pasting: asyncio.Task[None] | None = None

    @classmethod
    @asynccontextmanager
    async def listen(cls, port: int, *, must: bool) -> "AsyncIterator[CallbackServer]":
        """Listen at a port; at any other if it is taken, unless it must be that one."""
        opened: list[CallbackServer] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await opened[0].answer(reader, writer)

        try:
            server = await asyncio.start_server(serve, "127.0.0.1", port, limit=_LARGEST_REQUEST)
        except OSError as error:
            if must or not port:
                raise UsageError(f"login: port {port} cannot be used: {error.strerror}") from error
            server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=_LARGEST_REQUEST)
        callback = cls(server.sockets[0].getsockname()[1])
        opened.append(callback)
        async with server:
            try:
                yield callback
            finally:
                if callback._pasting is not None:
                    callback._pasting.cancel()
                callback.result.cancel()

    def expect(self, state: str) -> None:
        """Take only answers with this state: any program on this machine can send one."""
        self._state = state

    def take_pasted(self, paste: Callable[[str], Awaitable[str]], url: str) -> None:
        """Let a person paste the address as well."""

        async def wait() -> None:
            try:
                pasted = await paste(url)
                while not self._take(pasted.strip()):
                    pasted = await paste("")
            except RightcallError as error:
                self._fail(str(error))

        self._pasting = asyncio.get_running_loop().create_task(wait())

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        with suppress(OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(_CONNECT_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                target = head.split(b" ", 2)[1].decode("latin-1")
                is_taken = self._take(target)
                words = "You are logged in, or were refused; the program says which. Close this page."
                status = "200 OK"
                if not is_taken:
                    words = "There is nothing here."
                    status = "404 Not Found"
                body = words.encode()
                writer.write(
                    f"HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\n"
                    f"content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode()
                    + body
                )
                await writer.drain()
        writer.close()

    def _take(self, address: str) -> bool:
        """Take the address that the browser was sent to; False if it is not the expected one."""
        parts = urlsplit(address)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path != _PATH or not self._state or query.get("state") != self._state:
            return False
        if self.result.done():
            return True
        if "code" in query:
            found = AuthorizationCodeResult(
                code=query["code"], state=query["state"], iss=query.get("iss")
            )
            self.result.set_result(found)
        else:
            said = query.get("error_description") or query.get("error") or "it says nothing"
            self._fail(f"the authorization server refused: {said[:500]}")
        return True

    def _fail(self, words: str) -> None:
        if not self.result.done():
            self.result.set_exception(OAuthFlowError(words))


def authorization_for(target: Http, waits: Waits = nullcontext) -> httpx2.Auth | None:
    """What signs the requests to a server."""
    auth = target.auth
    if auth == "oauth":
        auth = Login()
    if isinstance(auth, Login | ClientCredentials):
        return OAuthSession(target.url, auth, waits)
    given: httpx2.Auth | None = auth
    return given


def has_login(url: str) -> bool:
    """Whether a login at this server is kept."""
    stored = LoginStore().read(url)
    return stored is not None and bool(stored.tokens)


async def log_in(url: str, login: Login) -> None:
    """Log in at a server now, and keep the login. Raises TransportError."""
    session = OAuthSession(url, login)
    async with http_client(auth=session) as client:
        try:
            # What is refused without a token is refused before it is read.
            ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            accept = {"accept": "application/json, text/event-stream"}
            async with client.stream("POST", url, json=ping, headers=accept) as answer:
                status = answer.status_code
        except httpx2.HTTPError as error:
            raise TransportError(f"{url} cannot be reached: {error}") from error
    if session.failure:
        raise TransportError(f"the login at {url} failed: {session.failure}")
    if status == _UNAUTHORIZED:
        raise TransportError(f"{url} refuses the new token, too")
    if await session.get_tokens() is None:
        raise TransportError(f"{url} asks for no login")


async def log_out(url: str, folder: str | None = None) -> bool:
    """Revoke the tokens of a kept login, if the server can, and forget it. False if there was none."""
    store = LoginStore(folder)
    stored = store.read(url)
    if stored is None:
        return False
    endpoint = stored.issuer.get("revocation_endpoint")
    token = stored.tokens.get("refresh_token") or stored.tokens.get("access_token")
    if endpoint and token:
        data = {"token": token, "client_id": stored.client.get("client_id", "")}
        if secret := stored.client.get("client_secret"):
            data["client_secret"] = secret
        async with http_client() as client:
            with suppress(httpx2.HTTPError):
                await client.post(endpoint, data=data)
    store.remove(url)
    return True
