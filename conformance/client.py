"""rightcall's client, as the official MCP conformance suite wants to see it act.

The suite names a scenario in the environment and gives a server's address; what is done there is what a
user of rightcall would write. Only the login of an enterprise is the SDK's, handed to ``connect``.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable
from typing import Any, Literal
from urllib.parse import urlsplit
from urllib.request import urlopen

import httpx2
from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from rightcall.core.decision import Allow, FinalDecision, Rewrite
from rightcall.core.proposal import Proposal
from rightcall.errors import ToolFailure
from rightcall.mcp import ClientCredentials, Http, Login, Sampling, Server, connect
from rightcall.testing import ScriptedModel

CONTEXT: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
REVISION = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "2026-07-28")
PATIENCE = 120.0
"""Seconds to connect in: many clients are started at once, on a machine that may have other work."""
STUBS = {
    "string": "x",
    "integer": 0,
    "number": 0,
    "boolean": False,
    "object": {},
    "array": [],
    "null": None,
}


async def allow(_: Proposal) -> FinalDecision:
    return Allow()


async def confirm(_: Proposal) -> FinalDecision:
    return Rewrite({"confirmed": True})


def server_at(url: str, **options: Any) -> Server:
    """A server, spoken to in the revision that the suite runs at."""
    old = REVISION < "2026-07-28"
    return connect(
        url,
        name="suite",
        protocol="legacy" if old else "newest",
        suspicious="keep",
        connect_timeout=PATIENCE,
        **options,
    )


async def list_only(url: str) -> None:
    async with server_at(url) as server:
        print(server.names(), server.refused, file=sys.stderr)


async def add(url: str) -> None:
    async with server_at(url) as server:
        await server.call("add_numbers", {"a": 5, "b": 3})


async def add_with_everything(url: str) -> None:
    sampling = Sampling(model=ScriptedModel(["yes"] * 5))
    async with server_at(url, approve=allow, sampling=sampling, roots=["/"]) as server:
        await server.call("add_numbers", {"a": 5, "b": 3})


async def reconnect(url: str) -> None:
    async with server_at(url) as server:
        await server.call("test_reconnection")


async def echo_schema(url: str) -> None:
    async with server_at(url) as server:
        (focal,) = (each for each in server if each.name == "json_schema_2020_12_tool")
        await server.call("json_schema_echo", {"schema": focal.parameters})


async def call_all(url: str) -> None:
    async with server_at(url) as server:
        for tool in server:
            fields: Any = tool.parameters.get("properties", {})
            required: Any = tool.parameters.get("required", [])
            arguments = {name: STUBS.get(fields.get(name, {}).get("type"), "x") for name in required}
            await try_call(server, tool.name, arguments)


async def replay_calls(url: str) -> None:
    async with server_at(url) as server:
        for call in CONTEXT.get("toolCalls", []):
            if call["name"] in server.names():
                await try_call(server, call["name"], call.get("arguments") or {})


async def fill_in_defaults(url: str) -> None:
    async with server_at(url, approve=allow) as server:
        await server.call("test_client_elicitation_defaults")


async def keep_request_state(url: str) -> None:
    async with server_at(url, approve=confirm) as server:
        for name in ("echo_state", "unrelated", "no_state", "no_result_type"):
            await server.call(f"test_mrtr_{name}")


async def try_call(server: Server, name: str, arguments: dict[str, Any]) -> None:
    try:
        await server.call(name, arguments)
    except ToolFailure as failure:
        print(f"{name}: {failure}", file=sys.stderr)


def visit(url: str) -> bool:
    """What a browser does whose person agrees with everything."""
    with urlopen(url) as page:
        page.read()
    return True


async def authorize(url: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        login = Login(
            client_id=CONTEXT.get("client_id", ""),
            client_secret=CONTEXT.get("client_secret", ""),
            client_metadata_url="https://conformance-test.local/client-metadata.json",
            browser=visit,
            folder=folder,
        )
        await call_first(url, login)


async def issuer_of(url: str) -> str:
    """The authorization server of a server, which a program would know."""
    place = urlsplit(url)
    about = f"{place.scheme}://{place.netloc}/.well-known/oauth-protected-resource{place.path}"
    async with httpx2.AsyncClient() as client:
        return str((await client.get(about)).json()["authorization_servers"][0])


async def by_secret(url: str) -> None:
    credentials = ClientCredentials(
        issuer=await issuer_of(url),
        client_id=CONTEXT["client_id"],
        client_secret=CONTEXT["client_secret"],
    )
    await call_first(url, credentials)


async def by_signature(url: str) -> None:
    credentials = ClientCredentials(
        issuer=await issuer_of(url),
        client_id=CONTEXT["client_id"],
        private_key=CONTEXT["private_key_pem"],
        algorithm=CONTEXT.get("signing_algorithm", "ES256"),
    )
    await call_first(url, credentials)


class Tokens:
    """Keeps tokens for as long as the scenario takes."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


async def by_enterprise(url: str) -> None:
    issuer = await issuer_of(url)

    async def exchange(audience: str, resource: str) -> str:
        wanted = {
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
            "requested_token_type": "urn:ietf:params:oauth:token-type:id-jag",
            "subject_token": CONTEXT["idp_id_token"],
            "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
            "audience": audience,
            "resource": resource,
            "client_id": CONTEXT["idp_client_id"],
        }
        async with httpx2.AsyncClient() as client:
            answer = await client.post(CONTEXT["idp_token_endpoint"], data=wanted)
        return str(answer.raise_for_status().json()["access_token"])

    auth = IdentityAssertionOAuthProvider(
        server_url=url,
        storage=Tokens(),
        client_id=CONTEXT["client_id"],
        client_secret=CONTEXT["client_secret"],
        issuer=issuer,
        assertion_provider=exchange,
        token_endpoint_auth_method="client_secret_basic",
    )
    await call_first(url, auth)


async def call_first(url: str, auth: object) -> None:
    old = REVISION < "2026-07-28"
    target = Http(url=url, auth=auth)
    protocol: Literal["legacy", "newest"] = "legacy" if old else "newest"
    async with connect(target, name="suite", protocol=protocol, connect_timeout=PATIENCE) as server:
        for name in server.names()[:1]:
            await try_call(server, name, {})


SCENARIOS: dict[str, Callable[[str], Awaitable[None]]] = {
    "initialize": list_only,
    "tools_call": add,
    "sse-retry": reconnect,
    "request-metadata": add_with_everything,
    "elicitation-sep1034-client-defaults": fill_in_defaults,
    "sep-2322-client-request-state": keep_request_state,
    "http-standard-headers": add,
    "http-custom-headers": replay_calls,
    "http-invalid-tool-headers": call_all,
    "json-schema-ref-no-deref": list_only,
    "json-schema-2020-12-preservation": echo_schema,
    "auth/client-credentials-basic": by_secret,
    "auth/client-credentials-jwt": by_signature,
    "auth/enterprise-managed-authorization": by_enterprise,
}


async def main() -> None:
    scenario = os.environ["MCP_CONFORMANCE_SCENARIO"]
    default = authorize if scenario.startswith("auth/") else list_only
    await SCENARIOS.get(scenario, default)(sys.argv[1])
    # For run.py: the suite does not say which clients ended with an error.
    print("ended well")


if __name__ == "__main__":
    asyncio.run(main())
