"""Azure: its addresses, its keys, and Entra's tokens, all asked for on this machine."""

import json
import os
import threading
import time
from types import SimpleNamespace
from typing import ClassVar, Self
from urllib.parse import parse_qs, urlsplit

import pytest

import rightcall as rc
from request.server import Answer, serving, whole
from rightcall.errors import MissingExtra, TransportError, UsageError, VendorError

CHAT = {"choices": [{"index": 0, "message": {"content": "Hi."}, "finish_reason": "stop"}]}
RESPONSE = {
    "id": "r",
    "object": "response",
    "status": "completed",
    "output": [
        {
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Hi.", "annotations": []}],
        }
    ],
}
KEY = "0123456789abcdef0123456789abcdef"


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch):
    for name in list(os.environ):
        if name.startswith(("AZURE_", "IDENTITY_", "OPENAI_")):
            monkeypatch.delenv(name)


def as_json(value: object) -> Answer:
    return whole(json.dumps(value).encode())


async def asked(name: str, monkeypatch, answer: object = CHAT, **how) -> tuple[str, dict, dict]:
    async with serving(as_json(answer)) as server:
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.url + "/")
        async with rc.connect(name, streaming=False, **how) as model:
            assert (await rc.Agent(model, max_tokens=9).run("Hi")).text == "Hi."
    path, headers, body = server.requests[-1]
    return path, headers, json.loads(body)


ADDRESSES = {
    "v1": ("azure:d", "", "/openai/v1/chat/completions"),
    "v1, said": ("azure:d", "v1", "/openai/v1/chat/completions"),
    "v1's preview": ("azure:d", "preview", "/openai/v1/chat/completions?api-version=preview"),
    "classic": (
        "azure:my d",
        "2024-10-21",
        "/openai/deployments/my%20d/chat/completions?api-version=2024-10-21",
    ),
    "Responses": ("azure-responses:d", "", "/openai/v1/responses"),
    "Responses, classic": (
        "azure-responses:d",
        "2025-04-01-preview",
        "/openai/responses?api-version=2025-04-01-preview",
    ),
}


@pytest.mark.parametrize(("name", "version", "expected"), ADDRESSES.values(), ids=ADDRESSES)
async def test_where_a_deployment_is_asked(name, version, expected, monkeypatch):
    monkeypatch.setenv("OPENAI_API_VERSION", version)
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
    answer = RESPONSE if "responses" in name else CHAT
    path, headers, body = await asked(name, monkeypatch, answer)
    assert (path, headers["api-key"], body["model"]) == (expected, KEY, name.partition(":")[2])
    # As Azure wants it, whatever the host is called.
    assert body.get("max_completion_tokens", body.get("max_output_tokens")) == 9


async def test_an_address_with_a_query_keeps_it():
    async with serving(as_json(CHAT)) as server:
        url = f"{server.url}/openai/deployments/d?api-version=2024-10-21"
        async with rc.connect("azure:d", base_url=url, api_key="eyJ0.e30.x", streaming=False) as model:
            await rc.Agent(model).run("Hi")
    path, headers, _ = server.requests[0]
    assert path == "/openai/deployments/d/chat/completions?api-version=2024-10-21"
    assert (headers["authorization"], "api-key" in headers) == ("Bearer eyJ0.e30.x", False)


class Entra:
    """In place of Microsoft's own: gives a token, or refuses."""

    refuses: Exception | None = None
    threads: ClassVar[list[bool]] = []
    scopes: ClassVar[list[str]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def get_token(self, scope: str) -> SimpleNamespace:
        self.threads.append(threading.current_thread() is threading.main_thread())
        self.scopes.append(scope)
        if self.refuses is not None:
            raise self.refuses
        return SimpleNamespace(token=f"entra-{len(self.scopes)}", expires_on=int(time.time()) + 3599)


@pytest.fixture
def identity():
    return pytest.importorskip(
        "azure.identity", reason="azure-identity is not installed: pip install 'rightcall[azure]'"
    )


@pytest.fixture
def principal(monkeypatch, identity) -> type[Entra]:
    """The variables of a service principal, and somebody who gives it tokens."""
    given = type("Entra", (Entra,), {"threads": [], "scopes": []})
    monkeypatch.setattr(identity, "DefaultAzureCredential", given)
    for name, value in {
        "AZURE_TENANT_ID": "tenant",
        "AZURE_CLIENT_ID": "client",
        "AZURE_CLIENT_SECRET": "hush-hush",
    }.items():
        monkeypatch.setenv(name, value)
    return given


async def test_a_service_principal_gets_a_token_once_and_in_a_thread(monkeypatch, principal):
    async with serving(as_json(CHAT)) as server:
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.url)
        async with rc.connect("azure:d", streaming=False) as model:
            for _ in range(2):
                await rc.Agent(model).run("Hi")
    assert [h["authorization"] for _, h, _ in server.requests] == ["Bearer entra-1"] * 2
    assert (principal.threads, principal.scopes) == (
        [False],
        ["https://cognitiveservices.azure.com/.default"],
    )


async def test_what_entra_refuses_is_told_without_the_secret(monkeypatch, principal):
    exceptions = pytest.importorskip("azure.core.exceptions")
    principal.refuses = exceptions.ClientAuthenticationError(message="bad secret hush-hush")
    with pytest.raises(
        VendorError, match=r"Microsoft Entra gave no token; bad secret \[secret\]"
    ) as caught:
        await asked("azure:d", monkeypatch)
    assert caught.value.kind == "auth"
    principal.refuses = exceptions.ServiceRequestError("hush-hush")
    with pytest.raises(TransportError, match=r"gave no token \(ServiceRequestError") as lost:
        await asked("azure:d", monkeypatch, retry=rc.models.Retry(attempts=1))
    assert "hush" not in f"{lost.value!r} {lost.value.__cause__!r}"


async def test_an_address_of_entras_that_is_none_is_the_developers_mistake(monkeypatch, identity):
    for name in ("AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("AZURE_AUTHORITY_HOST", "http://evil.example")
    with pytest.raises(UsageError, match=r"azure: .*https"):
        await asked("azure:d", monkeypatch)


def test_without_the_library_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("rightcall.core.optional_libraries.find_spec", lambda _name: None)
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://me.openai.azure.com")
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "prod")
    with pytest.raises(MissingExtra, match=r"rightcall\[azure\]"):
        rc.connect("azure:d")


async def test_the_identity_of_an_app_and_of_a_machine(monkeypatch, identity):
    token = {
        "access_token": "managed",
        "expires_on": "4102444800",
        "expires_in": "86400",
        "resource": "x",
        "token_type": "Bearer",
    }
    async with serving(as_json(token)) as endpoint:
        monkeypatch.setenv("IDENTITY_ENDPOINT", f"{endpoint.url}/msi/token")
        monkeypatch.setenv("IDENTITY_HEADER", "app-secret")
        _, headers, _ = await asked("azure:d", monkeypatch)
        assert headers["authorization"] == "Bearer managed"
        (app, app_headers, _) = endpoint.requests[-1]
        monkeypatch.delenv("IDENTITY_ENDPOINT")
        monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "ManagedIdentityCredential")
        monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", endpoint.url)
        monkeypatch.setenv("AZURE_CLIENT_ID", "mine")
        await asked("azure:d", monkeypatch)
    (machine, machine_headers, _) = endpoint.requests[-1]
    resource = ["https://cognitiveservices.azure.com"]
    assert parse_qs(urlsplit(app).query) == {"api-version": ["2019-08-01"], "resource": resource}
    assert app_headers["x-identity-header"] == "app-secret"
    assert urlsplit(machine).path == "/metadata/identity/oauth2/token"
    assert parse_qs(urlsplit(machine).query)["client_id"] == ["mine"]
    assert machine_headers["metadata"] == "true"


async def test_a_machine_without_an_identity_says_so(monkeypatch, identity):
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "ManagedIdentityCredential")
    none = whole(b'{"error": "invalid_request"}', 400)
    async with serving(none) as endpoint:
        monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", endpoint.url)
        with pytest.raises(VendorError, match="ManagedIdentityCredential") as caught:
            await asked("azure:d", monkeypatch)
    assert caught.value.kind == "auth"


async def test_a_token_as_it_is_and_one_from_a_function(monkeypatch):
    monkeypatch.setenv("AZURE_OPENAI_AD_TOKEN", "as-it-is")
    _, headers, _ = await asked("azure:d", monkeypatch)
    assert headers["authorization"] == "Bearer as-it-is"
    _, headers, _ = await asked("azure:d", monkeypatch, api_key=lambda: "from-a-function")
    assert headers["authorization"] == "Bearer from-a-function"


def test_what_is_missing_is_said(monkeypatch):
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://me.openai.azure.com")
    with pytest.raises(UsageError, match="azure: no key; set AZURE_OPENAI_API_KEY; or for Entra"):
        rc.connect("azure:d")
