"""A server, or its authorization server, that points elsewhere gets nothing of ours sent there."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx2
import pytest
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)

from rightcall.errors import RightcallError
from rightcall.mcp import Http, connect

SECRET = "k-0123456789"
STATUSES = [301, 302, 307, 308]
Answer = Callable[[str, str], tuple[int, str, bytes]]
"""A method and a path into a status, a header line and a body."""


class Place:
    """An HTTP server that notes everything it is sent."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.url = ""
        self.heard: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode().lower():
                size = [line[15:] for line in head.split("\r\n") if line.startswith("content-length:")]
                body = await reader.readexactly(int(size[0])) if size else b""
                self.heard.append(head + body.decode())
                status, line, answer = self.answer(*head.split()[:2])
                kind = "content-type: application/json\r\n"
                writer.write(f"HTTP/1.1 {status} X\r\n{kind}{line}".encode())
                writer.write(b"content-length: %d\r\n\r\n%s" % (len(answer), answer))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[Place]:
    place = Place(answer)
    listening = await asyncio.start_server(place.serve, "127.0.0.1", 0)
    place.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield place
    finally:
        listening.close()


def nothing(*_: str) -> tuple[int, str, bytes]:
    return 200, "", b"{}"


async def refused(target: Http) -> str:
    with pytest.raises(RightcallError) as caught:
        async with asyncio.timeout(20):
            await connect(target, name="shop", connect_timeout=10).open()
    return str(caught.value)


@pytest.mark.parametrize("status", STATUSES)
async def test_a_server_that_points_elsewhere_is_not_followed_there(status):
    async with serving(nothing) as other:
        pointer = (status, f"location: {other.url}/mcp?state=hidden\r\n", b"")
        async with serving(lambda *_: pointer) as asked:
            said = await refused(Http(url=f"{asked.url}/mcp", headers={"X-Key": SECRET}))
    assert SECRET in asked.heard[0]
    assert other.heard == []
    assert f"{other.url}/mcp" in said
    assert "hidden" not in said


class Login(httpx2.Auth):
    """Fetches a token with a secret, before the first request."""

    requires_response_body = True

    def __init__(self, url: str) -> None:
        self.url = url

    def auth_flow(self, request):
        yield httpx2.Request("POST", self.url, headers={"X-Secret": SECRET}, content=SECRET)
        yield request


@pytest.mark.parametrize("status", STATUSES)
async def test_what_signs_requests_is_not_led_elsewhere(status):
    async with serving(nothing) as other:
        pointer = (status, f"location: {other.url}/login\r\n", b"")
        async with serving(lambda *_: pointer) as asked:
            said = await refused(Http(url=f"{asked.url}/mcp", auth=Login(f"{asked.url}/login")))
    assert SECRET in asked.heard[0]
    assert other.heard == []
    assert other.url in said


class Stored:
    """A client that is registered, and was given a token that is over."""

    async def get_tokens(self) -> OAuthToken:
        return OAuthToken(access_token="old", refresh_token=SECRET, expires_in=-1)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        raise AssertionError(f"a token came from elsewhere: {tokens}")

    async def get_client_info(self) -> OAuthClientInformationFull:
        return OAuthClientInformationFull(
            client_id="us",
            client_secret=SECRET,
            redirect_uris=["http://127.0.0.1:1/back"],
            token_endpoint_auth_method="client_secret_post",
        )

    async def set_client_info(self, info: OAuthClientInformationFull) -> None:
        pass


def authorizing(own: Callable[[], str], to: str, status: int) -> Answer:
    """An MCP server and its authorization server, whose token endpoint points elsewhere."""

    def answer(_: str, path: str) -> tuple[int, str, bytes]:
        issuer = own()
        if path.startswith("/.well-known/oauth-protected-resource"):
            about = {"resource": f"{issuer}/mcp", "authorization_servers": [issuer]}
        elif path.startswith("/.well-known/"):
            about = {
                "issuer": issuer,
                "authorization_endpoint": f"{issuer}/authorize",
                "token_endpoint": f"{issuer}/token",
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
            }
        elif path.startswith("/token"):
            return status, f"location: {to}/token\r\n", b""
        else:
            return 401, "www-authenticate: Bearer\r\n", b""
        return 200, "", json.dumps(about).encode()

    return answer


@pytest.mark.parametrize("status", STATUSES)
async def test_the_secrets_of_oauth_are_not_led_elsewhere(status):
    state = ""

    async def show(url: str) -> None:
        nonlocal state
        state = str(httpx2.URL(url).params["state"])

    async def back() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(code="the-code", state=state)

    async with (
        serving(nothing) as other,
        serving(authorizing(lambda: asked.url, other.url, status)) as asked,
    ):
        auth = OAuthClientProvider(
            f"{asked.url}/mcp",
            OAuthClientMetadata(redirect_uris=["http://127.0.0.1:1/back"]),
            Stored(),
            redirect_handler=show,
            callback_handler=back,
        )
        said = await refused(Http(url=f"{asked.url}/mcp", auth=auth))
    assert any(SECRET in each and each.startswith("post /token") for each in asked.heard), asked.heard
    assert other.heard == []
    assert f"{other.url}/token" in said
