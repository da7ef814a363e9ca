"""An authorization server on loopback, and tokens that are its own, or not."""

import asyncio
import time
from contextlib import asynccontextmanager

import httpx2
import jwt
import pytest
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import rsa
from mcp.client.streamable_http import streamable_http_client

import rightcall as rc
from mcp import Client
from rightcall.mcp.server.http_server import JwtVerifier
from rightcall.mcp.server.remote_client import caller
from rightcall.mcp.server.serve_options import Listen, OAuth
from rightcall.mcp.server.tool_server import ToolServer

RESOURCE = "https://tools.example.org/mcp"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER = rsa.generate_private_key(public_exponent=65537, key_size=2048)


@asynccontextmanager
async def issuing(place="openid-configuration", asked=None, **changes):
    """An issuer that publishes the key; gives its address, and notes when it is asked for it."""
    published = jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key(), as_dict=True)

    async def keys(_):
        (asked if asked is not None else []).append("keys")
        return web.json_response({"keys": [{**published, "kid": "one", "use": "sig"}]})

    async def metadata(request):
        root = f"http://{request.host}"
        return web.json_response({"issuer": root, "jwks_uri": f"{root}/keys", **changes})

    app = web.Application()
    app.router.add_get("/keys", keys)
    app.router.add_get(f"/.well-known/{place}", metadata)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def token(issuer, *, key=KEY, algorithm="RS256", kid="one", **changes):
    now = int(time.time())
    claims = {"iss": issuer, "aud": RESOURCE, "sub": "bob", "exp": now + 60, "scope": "read write"}
    claims = {name: value for name, value in {**claims, **changes}.items() if value is not None}
    return jwt.encode(claims, key, algorithm=algorithm, headers={"kid": kid})


async def test_a_token_of_the_issuer_says_who_calls():
    async with issuing() as issuer:
        access = await JwtVerifier(OAuth(issuer=issuer, resource=RESOURCE)).verify_token(
            token(issuer, client_id="app")
        )
    assert (access.client_id, access.subject, access.scopes) == ("app", "bob", ["read", "write"])
    assert access.resource == RESOURCE


@pytest.mark.parametrize(
    "changes",
    [
        {"key": OTHER},
        {"iss": "https://evil.example.org"},
        {"aud": "https://other.example.org"},
        {"exp": 1},
        {"exp": None},
        {"aud": None},
        {"sub": None},
        {"key": "a-secret-that-everybody-could-know", "algorithm": "HS256"},
        {"key": None, "algorithm": "none"},
    ],
    ids=[
        "key",
        "issuer",
        "audience",
        "expired",
        "no end",
        "no audience",
        "nobody",
        "shared key",
        "unsigned",
    ],
)
async def test_a_token_that_is_not_to_be_trusted_is_refused(changes):
    async with issuing() as issuer:
        verifier = JwtVerifier(OAuth(issuer=issuer, resource=RESOURCE))
        assert await verifier.verify_token(token(issuer, **changes)) is None


@pytest.mark.parametrize(
    "text", ["", "nonsense", "a.b.c", "x" * 100_000], ids=["empty", "text", "dots", "long"]
)
async def test_what_is_no_token_is_refused(text):
    async with issuing() as issuer:
        assert await JwtVerifier(OAuth(issuer=issuer, resource=RESOURCE)).verify_token(text) is None


async def test_an_issuer_that_is_not_there_lets_nobody_in():
    oauth = OAuth(issuer="http://127.0.0.1:9", resource=RESOURCE)
    assert await JwtVerifier(oauth).verify_token(token(oauth.issuer)) is None


@pytest.mark.parametrize("place", ["openid-configuration", "oauth-authorization-server"])
async def test_keys_are_found_where_issuers_publish_them(place):
    async with issuing(place) as issuer:
        assert await JwtVerifier(OAuth(issuer=issuer, resource=RESOURCE)).verify_token(token(issuer))


@pytest.mark.parametrize(
    "changes",
    [
        {"issuer": "https://evil.example.org"},
        {"jwks_uri": "http://192.0.2.1/keys"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": 3},
    ],
    ids=["of another", "not safe", "a file", "no address"],
)
async def test_an_issuer_that_says_what_it_should_not_lets_nobody_in(changes):
    async with issuing(**changes) as issuer:
        verifier = JwtVerifier(OAuth(issuer=issuer, resource=RESOURCE))
        assert await verifier.verify_token(token(issuer)) is None


async def test_made_up_keys_do_not_have_the_issuer_asked_again_and_again():
    asked = []
    async with issuing(asked=asked) as issuer:
        verifier = JwtVerifier(OAuth(issuer=issuer, resource=RESOURCE))
        for number in range(20):
            assert await verifier.verify_token(token(issuer, kid=f"made-up-{number}")) is None
        assert await verifier.verify_token(token(issuer)) is not None
    assert asked == ["keys"]


@asynccontextmanager
async def serving(issuer, *scopes, **settings):
    @rc.tool(effect="pure")
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    oauth = OAuth(issuer=issuer, resource=RESOURCE, scopes=scopes)
    address = asyncio.get_running_loop().create_future()
    serve = ToolServer([add], **settings).http(Listen(port=0, oauth=oauth), started=address.set_result)
    task = asyncio.ensure_future(serve)
    try:
        yield await asyncio.wait_for(address, 30)
    finally:
        task.cancel()
        await asyncio.wait({task}, timeout=30)


async def test_a_client_is_told_where_to_get_a_token_and_let_in_with_one():
    async with issuing() as issuer, serving(issuer, "read") as address, httpx2.AsyncClient() as plain:
        refused = await plain.post(address, json={})
        described = await plain.get(address.replace("/mcp", "/.well-known/oauth-protected-resource/mcp"))
        weak = await plain.post(
            address, json={}, headers={"authorization": f"Bearer {token(issuer, scope='write')}"}
        )
        headers = {"authorization": f"Bearer {token(issuer)}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(address, http_client=http), mode="legacy") as client,
        ):
            result = await client.call_tool("add", {"a": 1, "b": 1})
    assert result.structured_content == {"result": 2}
    assert (refused.status_code, weak.status_code) == (401, 403)
    assert "/.well-known/oauth-protected-resource/mcp" in refused.headers["www-authenticate"]
    metadata = described.json()
    assert (metadata["resource"], metadata["authorization_servers"]) == (RESOURCE, [issuer])


async def test_a_session_belongs_to_whoever_opened_it():
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "tester", "version": "1"},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    accept = {"accept": "application/json, text/event-stream"}
    async with (
        issuing() as issuer,
        serving(issuer) as address,
        httpx2.AsyncClient(headers=accept) as http,
    ):
        mine, theirs = ({"authorization": f"Bearer {token(issuer, sub=who)}"} for who in ("bob", "eve"))
        opened = await http.post(address, json=body, headers=mine)
        session = {"mcp-session-id": opened.headers["mcp-session-id"]}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        own = await http.post(address, json=ping, headers={**mine, **session})
        other = await http.post(address, json=ping, headers={**theirs, **session})
    assert (opened.status_code, own.status_code, other.status_code) == (200, 200, 404)


async def test_policies_and_the_record_know_for_whom_a_call_is():
    def only_bob(_):
        return None if caller().user == "bob" else rc.Deny(f"not for {caller().user}")

    journal = rc.record.MemoryJournal()
    words = []
    async with issuing() as issuer, serving(issuer, policy=only_bob, journal=journal) as address:
        for who in ("bob", "eve"):
            headers = {"authorization": f"Bearer {token(issuer, sub=who)}"}
            async with (
                httpx2.AsyncClient(headers=headers) as http,
                Client(streamable_http_client(address, http_client=http)) as client,
            ):
                words.append((await client.call_tool("add", {"a": 1, "b": 1})).content[0].text)
    assert words == ["2", "add was not run; permission was denied: not for eve"]
    askers = [journal.entries(run)[1].reply.model for run in journal.runs()]
    assert [each.rpartition(" for ")[2] for each in askers] == ["bob", "eve"]
