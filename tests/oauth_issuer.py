"""Authorization servers in memory, before servers of the SDK's own, on loopback."""

import asyncio
import secrets
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.request import urlopen

import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    ProviderTokenVerifier,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.routes import create_auth_routes
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from starlette.applications import Starlette
from starlette.responses import Response


@dataclass
class Issuer:
    """Grants whatever is asked for, and remembers it."""

    life: int | None = 3600
    clients: dict[str, OAuthClientInformationFull] = field(default_factory=dict)
    codes: dict[str, AuthorizationCode] = field(default_factory=dict)
    tokens: dict[str, AccessToken] = field(default_factory=dict)
    refreshing: dict[str, RefreshToken] = field(default_factory=dict)
    refuses: bool = False
    wants: str = ""
    """A scope without which a token is not enough, though it is good."""
    refreshed: int = 0
    logins: int = 0
    seen: list[tuple[str, str, str]] = field(default_factory=list)
    """Every request: the host, its method and its path."""

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client: OAuthClientInformationFull) -> None:
        self.clients[client.client_id] = client

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        target = str(params.redirect_uri)
        if self.refuses:
            return construct_redirect_uri(target, error="access_denied", state=params.state)
        code = secrets.token_hex(8)
        self.logins += 1
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return construct_redirect_uri(target, code=code, state=params.state)

    async def load_authorization_code(self, client: Any, code: str) -> AuthorizationCode | None:
        return self.codes.get(code)

    async def exchange_authorization_code(self, client: Any, code: AuthorizationCode) -> OAuthToken:
        del self.codes[code.code]
        return self._grant(client.client_id, code.scopes, code.resource)

    async def load_refresh_token(self, client: Any, token: str) -> RefreshToken | None:
        return self.refreshing.get(token)

    async def exchange_refresh_token(
        self, client: Any, token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        # Each serves once.
        del self.refreshing[token.token]
        self.refreshed += 1
        return self._grant(client.client_id, scopes, token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.tokens.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.tokens.pop(token.token, None)
        self.refreshing.pop(token.token, None)

    def _grant(self, client_id: str, scopes: list[str], resource: str | None) -> OAuthToken:
        until = None if self.life is None else int(time.time()) + self.life
        access = AccessToken(
            token=secrets.token_hex(8),
            client_id=client_id,
            scopes=scopes,
            expires_at=until,
            resource=resource,
        )
        again = RefreshToken(
            token=secrets.token_hex(8), client_id=client_id, scopes=scopes, resource=resource
        )
        self.tokens[access.token] = access
        self.refreshing[again.token] = again
        return OAuthToken(
            access_token=access.token,
            expires_in=self.life,
            scope=" ".join(scopes),
            refresh_token=again.token,
        )


class Watched:
    """An application whose requests are noted."""

    def __init__(self, app: Any, name: str, issuer: Issuer) -> None:
        self.app, self.name, self.issuer = app, name, issuer

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            self.issuer.seen.append((self.name, scope["method"], scope["path"]))
            token = dict(scope["headers"]).get(b"authorization", b"").decode()[len("Bearer ") :]
            access = self.issuer.tokens.get(token)
            wanted = self.issuer.wants
            if access is not None and wanted and wanted not in access.scopes:
                challenge = {"www-authenticate": f'Bearer error="insufficient_scope", scope="{wanted}"'}
                await Response(status_code=403, headers=challenge)(scope, receive, send)
                return
        await self.app(scope, receive, send)


@asynccontextmanager
async def listening(app: Any, listener: socket.socket) -> AsyncIterator[None]:
    config = uvicorn.Config(app, log_config=None, lifespan="on", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    serving = asyncio.ensure_future(server.serve(sockets=[listener]))
    try:
        while not server.started:
            await asyncio.sleep(0.01)
        yield
    finally:
        server.should_exit = True
        await serving


def free_socket() -> tuple[socket.socket, str]:
    listener = socket.create_server(("127.0.0.1", 0))
    return listener, f"http://127.0.0.1:{listener.getsockname()[1]}"


@asynccontextmanager
async def guarded(issuer: Issuer, *, separate: bool = False) -> AsyncIterator[str]:
    """A server that wants a token of the issuer, which is a server of its own if ``separate``."""
    listener, place = free_socket()
    other, elsewhere = free_socket()
    authority = elsewhere if separate else place
    settings = AuthSettings.model_validate(
        {
            "issuer_url": authority,
            "resource_server_url": f"{place}/mcp",
            "required_scopes": ["use"],
            "validate_token_resource": True,
            "client_registration_options": ClientRegistrationOptions(
                enabled=True, valid_scopes=["use", "more"]
            ),
            "revocation_options": RevocationOptions(enabled=True),
        }
    )
    if separate:
        server = MCPServer("guarded", auth=settings, token_verifier=ProviderTokenVerifier(issuer))
    else:
        server = MCPServer("guarded", auth=settings, auth_server_provider=issuer)

    @server.tool()
    async def slow(seconds: float) -> str:
        """Takes its time."""
        await asyncio.sleep(seconds)
        return "done"

    all_four = asyncio.Barrier(4)

    @server.tool()
    async def meet() -> str:
        """Returns once four calls of it are under way."""
        await all_four.wait()
        return "met"

    routes = create_auth_routes(
        issuer,
        settings.issuer_url,
        None,
        ClientRegistrationOptions(enabled=True, valid_scopes=["use", "more"]),
        RevocationOptions(enabled=True),
    )
    async with (
        listening(Watched(server.streamable_http_app(), "server", issuer), listener),
        listening(Watched(Starlette(routes=routes), "issuer", issuer), other),
    ):
        yield f"{place}/mcp"


def visit(url: str) -> bool:
    """What a browser does whose person agrees with everything."""
    with urlopen(url) as page:
        page.read()
    return True
