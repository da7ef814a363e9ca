"""Vertex AI: where its models are, and where tokens for them come from, all on this machine."""

import importlib
import json
import os
import time
from base64 import urlsafe_b64decode
from urllib.parse import parse_qs

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

import rightcall as rc
from request.server import Answer, Server, serving, whole
from rightcall.errors import MissingExtra, UsageError, VendorError
from rightcall.models import google as vertex

GEMINI = {"candidates": [{"content": {"parts": [{"text": "Hi."}]}, "finishReason": "STOP"}]}
CLAUDE = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "content": [{"type": "text", "text": "Hi."}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
PRIVATE = rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture
def _google_auth():
    pytest.importorskip(
        "google.auth", reason="google-auth is not installed: pip install 'rightcall[google]'"
    )


with_google_auth = pytest.mark.usefixtures("_google_auth")


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch, tmp_path):
    """No settings of Google's at all, and no machine of Google's to ask."""
    for name in list(os.environ):
        if name.startswith(("GOOGLE_", "GCE_", "CLOUD", "GCLOUD_", "ANTHROPIC_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "europe-west4")


def as_json(value: object, status: int = 200) -> Answer:
    return whole(json.dumps(value).encode(), status)


def pem(key) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()


def account(token_uri: str, **more: str) -> dict[str, str]:
    return {
        "type": "service_account",
        "project_id": "my-project",
        "private_key_id": "key-1",
        "private_key": pem(PRIVATE),
        "client_email": "me@my-project.iam.gserviceaccount.com",
        "token_uri": token_uri,
        **more,
    }


def part(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def is_signed(_method: str, _target: str, _headers: dict[str, str], body: bytes) -> bool:
    """What Google makes of an assertion: whose it is, whether it is signed, and until when it holds."""
    form = parse_qs(body.decode())
    head, claims, signature = form["assertion"][0].split(".")
    PRIVATE.public_key().verify(
        part(signature), f"{head}.{claims}".encode(), padding.PKCS1v15(), hashes.SHA256()
    )
    told, now = json.loads(part(claims)), time.time()
    assert json.loads(part(head)) == {"alg": "RS256", "typ": "JWT", "kid": "key-1"}
    assert told["iss"] == "me@my-project.iam.gserviceaccount.com"
    assert (told["scope"], told["aud"].endswith("/token")) == (
        "https://www.googleapis.com/auth/cloud-platform",
        True,
    )
    assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
    return told["iat"] - 5 < now < told["exp"] <= told["iat"] + 3600


async def asked(name: str, server: Server, **how) -> tuple[str, dict, dict]:
    settings = {"base_url": server.url, "streaming": False, **how}
    async with rc.connect(name, **settings) as model:
        assert (await rc.Agent(model).run("Hi")).text == "Hi."
    path, headers, body = server.requests[-1]
    return path, headers, json.loads(body)


@with_google_auth
async def test_a_service_account_signs_for_its_token(monkeypatch, tmp_path):
    token = {"access_token": "ya29.one", "expires_in": 3599, "token_type": "Bearer"}
    async with serving(as_json(token), check=is_signed) as google, serving(as_json(GEMINI)) as server:
        file = tmp_path / "account.json"
        file.write_text(json.dumps(account(f"{google.url}/token")))
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
        path, headers, _ = await asked("vertex:gemini-3-pro", server)
    assert headers["authorization"] == "Bearer ya29.one"
    models = "projects/my-project/locations/europe-west4/publishers/google/models"
    assert path == f"/v1beta1/{models}/gemini-3-pro:generateContent"


@with_google_auth
async def test_claude_is_asked_in_anthropics_form(monkeypatch, tmp_path):
    token = {"access_token": "ya29.user", "expires_in": 3599}
    user = {
        "type": "authorized_user",
        "client_id": "id",
        "client_secret": "hush-hush",
        "refresh_token": "1//refresh",
        "quota_project_id": "mine",
    }
    async with serving(as_json(token)) as google, serving(as_json(CLAUDE)) as server:
        folder = tmp_path / ".config" / "gcloud"
        folder.mkdir(parents=True)
        # The library asks Google, whatever the file says.
        monkeypatch.setattr("google.oauth2.credentials._GOOGLE_OAUTH2_TOKEN_ENDPOINT", google.url)
        (folder / "application_default_credentials.json").write_text(json.dumps(user))
        options = {"extra": {"top_k": 3}}
        async with rc.connect(
            "vertex-anthropic:claude-opus-4-8", base_url=f"{server.url}/v1", streaming=False
        ) as model:
            result = await rc.Agent(model, options=options).run("Hi")
    assert result.text == "Hi."
    path, headers, body = server.requests[0]
    sent = json.loads(body)
    models = "projects/mine/locations/europe-west4/publishers/anthropic/models"
    assert path == f"/v1/{models}/claude-opus-4-8:rawPredict"
    assert (headers["authorization"], headers["x-goog-user-project"]) == ("Bearer ya29.user", "mine")
    assert "anthropic-version" not in headers
    assert (sent["anthropic_version"], "model" in sent, sent["top_k"]) == (
        "vertex-2023-10-16",
        False,
        3,
    )
    ((_, _, form),) = google.requests
    assert parse_qs(form.decode())["refresh_token"] == ["1//refresh"]


async def test_a_stream_of_claudes_and_a_token_that_is_given(monkeypatch):
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
    events = [
        {"type": "message_start", "message": {**CLAUDE, "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    stream = b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events)
    async with serving(whole(stream, kind="text/event-stream")) as server:
        path, headers, body = await asked(
            "vertex-anthropic:claude@1", server, streaming=True, api_key="ya29.given"
        )
    assert path.endswith("/anthropic/models/claude%401:streamRawPredict")
    assert (headers["authorization"], body["stream"]) == ("Bearer ya29.given", True)


@with_google_auth
async def test_a_key_opens_the_door_without_a_project(monkeypatch):
    monkeypatch.setenv("GOOGLE_API_KEY", "AQ.key")
    async with serving(as_json(GEMINI)) as server:
        path, headers, _ = await asked("vertex:gemini-3-pro", server)
        assert path == "/v1beta1/publishers/google/models/gemini-3-pro:generateContent"
        assert (headers["x-goog-api-key"], "authorization" in headers) == ("AQ.key", False)
        # A project in the environment goes before a key there.
        monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
        with pytest.raises(UsageError, match="no credentials of Google Cloud"):
            rc.connect("vertex:gemini-3-pro")


@with_google_auth
async def test_the_machines_own_token(monkeypatch):
    monkeypatch.delenv("NO_GCE_CHECK")
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
    there = whole(b"p", kind="text/plain", metadata_flavor="Google")
    account = as_json({"email": "machine@p", "scopes": [], "aliases": ["default"]})
    token = as_json({"access_token": "ya29.machine", "expires_in": 1799, "token_type": "Bearer"})
    async with (
        serving(there, there, account, token) as machine,
        serving(as_json(GEMINI)) as server,
    ):
        # The library reads some of its variables when it is imported.
        metadata = importlib.import_module("google.auth.compute_engine._metadata")
        monkeypatch.setattr(metadata, "_NO_GCE_CHECK", False)
        monkeypatch.setattr(metadata, "_GCE_METADATA_HOST", machine.url.removeprefix("http://"))
        monkeypatch.setenv("GCE_METADATA_IP", machine.url.removeprefix("http://"))
        _, headers, _ = await asked("vertex:gemini-3-pro", server)
        monkeypatch.setenv("GCE_METADATA_IP", "127.0.0.1:1")
        with pytest.raises(UsageError, match="this machine has none either"):
            await asked("vertex:gemini-3-pro", server)
    assert headers["authorization"] == "Bearer ya29.machine"
    (path, asked_with, _) = machine.requests[-1]
    assert path.partition("?")[0] == "/computeMetadata/v1/instance/service-accounts/default/token"
    assert asked_with["metadata-flavor"] == "Google"


@with_google_auth
async def test_a_grant_that_was_taken_back_is_told(monkeypatch, tmp_path):
    refused = as_json({"error": "invalid_grant", "error_description": "Token has been revoked."}, 400)
    async with serving(refused) as google, serving(as_json(GEMINI)) as server:
        file = tmp_path / "account.json"
        file.write_text(json.dumps(account(google.url)))
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
        with pytest.raises(
            VendorError, match="Google Cloud: no token: invalid_grant: Token has been revoked"
        ) as caught:
            await asked("vertex:gemini-3-pro", server)
    assert (caught.value.kind, server.requests, len(google.requests)) == ("auth", [], 1)


EC = ec.generate_private_key(ec.SECP256R1())
WRONG = {
    "not JSON": ("-", "is not a valid json file"),
    "another cloud's": ({"type": "external_account"}, "Failed to load external account credentials"),
    "of no type": ({"type": "x"}, "does not have a valid type"),
    "half": ({"type": "service_account"}, "Failed to load service account credentials"),
}


@with_google_auth
@pytest.mark.parametrize(("held", "words"), WRONG.values(), ids=WRONG)
def test_a_file_that_is_no_use_says_why(held, words, monkeypatch, tmp_path):
    file = tmp_path / "adc.json"
    file.write_text(held if isinstance(held, str) else json.dumps(held))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    with pytest.raises(UsageError, match=words):
        rc.connect("vertex:gemini-3-pro")


@with_google_auth
async def test_a_key_that_cannot_sign_is_not_shown(monkeypatch, tmp_path):
    file = tmp_path / "adc.json"
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    kinds = {"not a key": "Failed to load service account", pem(EC): "is no RSA key"}
    for key, words in kinds.items():
        file.write_text(json.dumps(account("http://127.0.0.1:1", private_key=key)))
        with pytest.raises(UsageError, match=words) as caught:
            await rc.Agent(rc.connect("vertex:gemini-3-pro")).run("Hi")
        assert key not in str(caught.value)


def test_without_the_library_it_says_what_to_install(monkeypatch, tmp_path):
    file = tmp_path / "adc.json"
    file.write_text(json.dumps(account("https://example.com")))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    monkeypatch.setattr("rightcall.core.optional_libraries.find_spec", lambda _name: None)
    with pytest.raises(MissingExtra, match=r"rightcall\[google\]"):
        rc.connect("vertex:gemini-3-pro")


def test_endpoints_by_location(monkeypatch):
    hosts = {
        "global": "https://aiplatform.googleapis.com",
        "eu": "https://aiplatform.eu.rep.googleapis.com",
        "us-east5": "https://us-east5-aiplatform.googleapis.com",
    }
    assert {where: vertex.endpoint(where) for where in hosts} == hosts
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "evil.example/x")
    with pytest.raises(UsageError, match="can be no part of an address"):
        rc.connect("vertex:gemini-3-pro")
    monkeypatch.delenv("GOOGLE_CLOUD_LOCATION")
    assert vertex.location() == "global"
    assert vertex.gemini_path("endpoints/7", "eu", project="p") == "projects/p/locations/eu/endpoints/7"
    assert vertex.gemini_path("projects/q/x", "eu", project="p") == "projects/q/x"
    whole_path = "projects/q/locations/eu/publishers/google/models/m"
    model = rc.connect(f"vertex:{whole_path}", api_key="ya29.given")
    assert f"url='{hosts['eu']}', model='{whole_path}'" in repr(model)
    with pytest.raises(UsageError, match="vertex: no project; set GOOGLE_CLOUD_PROJECT"):
        rc.connect("vertex:gemini-3-pro", api_key="ya29.given")
