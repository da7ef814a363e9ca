"""AWS: where credentials and the region come from, how requests are signed, what stays hidden."""

import asyncio
import json
import os
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import rightcall as rc
from request.server import Answer, Server, dropped, serving, whole
from rightcall.core.message import said
from rightcall.core.request import Prepared, Request
from rightcall.errors import ProtocolError, TransportError, UsageError, VendorError
from rightcall.models.aws import profile
from rightcall.models.aws.credentials import CredentialStore, source
from rightcall.models.direct import fetch_directly
from rightcall.request.retry import Retry
from rightcall.transport.http import HttpTransport
from rightcall.wire.bedrock.sigv4 import Credentials, sign
from wire.bedrock.frames import exception, frame

KEY_ID, SECRET, TOKEN = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG", "IQoJb3JpZ2luX2VjEXAMPLE"
MODEL = "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0"
SOON = Retry(attempts=2, base=0.001)


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch, tmp_path):
    """No AWS settings at all, and no machine of AWS's to ask."""
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")


@pytest.fixture
def keys(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_SESSION_TOKEN", TOKEN)


def credentials(key: str = KEY_ID, secret: str = SECRET, token: str = "", **more: Any) -> Credentials:
    return Credentials(access_key_id=key, secret_access_key=secret, session_token=token, **more)


def hello(*frames: bytes) -> Answer:
    body = b"".join([
        frame("messageStart", {"role": "assistant"}),
        *(frames or [frame("contentBlockDelta", {"delta": {"text": "Hi."}, "contentBlockIndex": 0})]),
        frame("messageStop", {"stopReason": "end_turn"}),
        frame("metadata", {"usage": {"inputTokens": 10, "outputTokens": 2, "totalTokens": 12}}),
    ])  # fmt: skip
    return whole(body, kind="application/vnd.amazon.eventstream")


def accepts(method: str, target: str, headers: dict[str, str], body: bytes) -> bool:
    """What AWS makes of a request, from the bytes that reached it."""
    vouched = headers["authorization"]
    named = vouched.partition("SignedHeaders=")[2].partition(",")[0].split(";")
    when = datetime.strptime(headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()
    request = Prepared(
        method=method,
        url=f"http://{headers['host']}{target}",
        headers={name: headers[name] for name in named},
        body=body,
        time=when,
    )
    owner = credentials(token=headers.get("x-amz-security-token", ""))
    return abs(when - time.time()) < 60 and sign(request, owner, "eu-west-1")["authorization"] == vouched


async def exchange(*answers: Answer, check: Any = None, **how: Any) -> tuple[Server, str]:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(serving(*answers, check=check))
        settings = {"base_url": server.url, "retry": SOON, **how}
        model = await stack.enter_async_context(rc.connect(MODEL, **settings))
        result = await rc.Agent(model).run("Hello")
        return server, result.text


async def test_a_request_is_signed_as_it_is_sent(keys):
    server, text = await exchange(hello(), check=accepts, headers={"X-Team": "blue"})
    assert text == "Hi."
    ((target, headers, _),) = server.requests
    assert target == "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream"
    assert headers["x-amz-security-token"] == TOKEN
    assert "content-type;host;x-amz-date;x-amz-security-token;x-team" in headers["authorization"]


async def test_every_attempt_is_signed_anew_and_the_reply_may_come_whole(keys):
    refused = whole(b'{"message": "Slow down"}', 429, x_amzn_errortype="ThrottlingException")
    value = {"output": {"message": {"content": [{"text": "Whole."}]}}, "stopReason": "end_turn"}
    server, text = await exchange(
        refused, whole(json.dumps(value).encode()), check=accepts, streaming=False
    )
    assert (text, len(server.requests)) == ("Whole.", 2)
    assert server.requests[0][0].endswith("/converse")


async def test_a_prefix_in_the_address_is_signed_too(keys):
    async with (
        serving(hello(), check=accepts) as server,
        rc.connect(MODEL, base_url=f"{server.url}/a%20b/") as model,
    ):
        assert (await rc.Agent(model).run("Hello")).text == "Hi."
    assert server.requests[0][0].startswith("/a%20b/model/")


async def test_a_bedrock_key_is_carried_as_it_is(monkeypatch, keys):
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-1234")
    server, _ = await exchange(hello())
    _, headers, _ = server.requests[0]
    assert headers["authorization"] == "Bearer bedrock-api-key-1234"
    assert "x-amz-date" not in headers


async def test_credentials_may_be_given_as_the_key(monkeypatch):
    server, text = await exchange(hello(), check=accepts, api_key=f"{KEY_ID}:{SECRET}:{TOKEN}")
    assert text == "Hi."
    assert SECRET not in str(server.requests)


async def test_a_signature_by_another_is_refused(monkeypatch, keys):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    with pytest.raises(VendorError, match="not good"):
        await exchange(hello(), check=accepts)


async def test_an_agent_runs_tools_over_bedrock(keys):
    @rc.tool
    def double(n: int) -> int:
        """Twice the number."""
        return 2 * n

    call = [
        frame(
            "contentBlockStart",
            {"start": {"toolUse": {"toolUseId": "t1", "name": "double"}}, "contentBlockIndex": 0},
        ),
        frame("contentBlockDelta", {"delta": {"toolUse": {"input": '{"n":'}}, "contentBlockIndex": 0}),
        frame("contentBlockDelta", {"delta": {"toolUse": {"input": " 21}"}}, "contentBlockIndex": 0}),
        frame("contentBlockStop", {"contentBlockIndex": 0}),
    ]
    async with (
        serving(hello(*call), hello(), check=accepts) as server,
        rc.connect(MODEL, base_url=server.url) as model,
    ):
        result = await rc.Agent(model, tools=[double]).run("Twice 21?")
    assert (result.text, [record.result.text for record in result.calls]) == ("Hi.", ["42"])
    assert result.usage.cost is not None
    answered = json.loads(server.requests[1][2])["messages"][2]["content"][0]["toolResult"]
    assert answered == {"toolUseId": "t1", "content": [{"text": "42"}]}


async def test_an_exception_before_anything_came_is_tried_again(keys):
    broken = whole(
        exception("throttlingException", {"message": "Too many"}),
        kind="application/vnd.amazon.eventstream",
    )
    server, text = await exchange(broken, hello())
    assert (text, len(server.requests)) == ("Hi.", 2)


def test_the_address_has_the_region(monkeypatch, keys):
    assert "bedrock-runtime.eu-west-1.amazonaws.com'" in repr(rc.connect(MODEL))
    monkeypatch.delenv("AWS_REGION")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "cn-north-1")
    assert "bedrock-runtime.cn-north-1.amazonaws.com.cn'" in repr(rc.connect(MODEL))
    monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "https://other.example")
    assert "url='https://other.example'" in repr(rc.connect(MODEL))


def test_a_region_that_is_none_says_what_to_do(monkeypatch, keys):
    monkeypatch.setenv("AWS_REGION", "evil.example/")
    with pytest.raises(UsageError, match="is no AWS region; set AWS_REGION"):
        rc.connect(MODEL)
    monkeypatch.delenv("AWS_REGION")
    with pytest.raises(UsageError, match="no region; set AWS_REGION"):
        rc.connect(MODEL)
    with pytest.raises(UsageError, match="set AWS_REGION"):
        rc.connect(MODEL, base_url="http://localhost:1")
    assert rc.connect(MODEL, base_url="https://bedrock-runtime.us-east-1.amazonaws.com")
    assert rc.connect(MODEL, base_url="http://localhost:1", api_key="ABSKkey")


def test_without_credentials_it_says_where_they_may_be():
    with pytest.raises(UsageError, match="AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and"):
        rc.connect(MODEL)


def test_a_line_break_after_a_variable_is_no_part_of_it(monkeypatch, keys):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", f"{SECRET}\r\n")
    assert source()() == credentials(token=TOKEN)


def test_half_of_the_credentials_is_none(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    with pytest.raises(UsageError, match="AWS_SECRET_ACCESS_KEY is not set") as caught:
        source()
    assert KEY_ID not in str(caught.value)


PROFILES = f"""\
[default]
aws_access_key_id = {KEY_ID}
aws_secret_access_key = {SECRET}%x
s3 =
    addressing_style = path

[work]
aws_access_key_id=WORK
aws_secret_access_key=work=secret
aws_session_token = {TOKEN}
[half]
aws_access_key_id = {KEY_ID}
"""
CONFIG = f"""\
[profile far]
region = ap-south-1
aws_access_key_id = FAR
aws_secret_access_key = far
[profile role]
role_arn = arn:aws:iam::1:role/x
source_profile = default
[profile program]
credential_process = /bin/cat {SECRET}
[profile browser]
sso_session = corp
[profile work]
region = us-west-2
[profile empty]
region = us-west-1
"""


@pytest.fixture
def files(tmp_path) -> Path:
    folder = tmp_path / ".aws"
    folder.mkdir()
    (folder / "credentials").write_text(PROFILES)
    (folder / "config").write_text(CONFIG)
    return folder


def test_profiles_hold_credentials_and_regions(monkeypatch, files):
    assert profile.credentials() == credentials(secret=f"{SECRET}%x")
    monkeypatch.delenv("AWS_REGION")
    for name, expected, region in (
        ("work", credentials("WORK", "work=secret", TOKEN), "us-west-2"),
        ("far", credentials("FAR", "far"), "ap-south-1"),
        ("empty", None, "us-west-1"),
    ):
        monkeypatch.setenv("AWS_PROFILE", name)
        assert (profile.credentials(), profile.region()) == (expected, region)


def test_the_environment_goes_before_the_files(monkeypatch, files, keys):
    assert source()() == credentials(token=TOKEN)
    assert profile.region() == "eu-west-1"


ELSEWHERE = {"role": "takes on a role", "program": "runs a program", "browser": "signs in at a browser"}


@pytest.mark.parametrize(("name", "words"), ELSEWHERE.items())
def test_a_profile_that_only_leads_to_credentials_says_what_to_do(monkeypatch, files, name, words):
    monkeypatch.setenv("AWS_PROFILE", name)
    with pytest.raises(UsageError, match=f"{words}.*export-credentials") as caught:
        rc.connect(MODEL)
    assert SECRET not in str(caught.value)


def test_files_that_cannot_be_used_are_named_and_not_quoted(monkeypatch, files):
    monkeypatch.setenv("AWS_PROFILE", "half")
    with pytest.raises(UsageError, match="half of its credentials"):
        profile.credentials()
    monkeypatch.setenv("AWS_PROFILE", "wrok")
    with pytest.raises(UsageError, match="no AWS profile 'wrok'"):
        profile.credentials()
    other = files / "other"
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(other))
    for text in (f"aws_secret_access_key = {SECRET}\n", f"[default]\n{SECRET}\n"):
        other.write_text(text)
        with pytest.raises(UsageError, match="other is not a file of AWS profiles") as caught:
            profile.credentials()
        assert SECRET not in f"{caught.value!r} {caught.value.__cause__!r}"
        assert caught.value.__suppress_context__
    monkeypatch.setenv("AWS_CONFIG_FILE", str(files))
    other.write_text("")
    with pytest.raises(UsageError, match="cannot be read"):
        profile.region() if os.environ.pop("AWS_REGION") else None


def answer(key: str = KEY_ID, seconds: float = 3600.0, **more: str) -> Answer:
    until = datetime.fromtimestamp(time.time() + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    told = {"AccessKeyId": key, "SecretAccessKey": SECRET, "Token": TOKEN, "Expiration": until, **more}
    return whole(json.dumps(told).encode())


async def test_a_container_gives_credentials(monkeypatch, tmp_path):
    token = tmp_path / "token"
    token.write_text("let me in\n")
    async with serving(answer()) as endpoint:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{endpoint.url}/v2/x?id=1")
        monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(token))
        _, text = await exchange(hello(), check=accepts)
    assert text == "Hi."
    ((target, headers, _),) = endpoint.requests
    assert (target, headers["authorization"]) == ("/v2/x?id=1", "let me in")


def test_a_relative_address_is_the_containers_own(monkeypatch):
    asked: list[tuple[str, str, Mapping[str, str]]] = []

    def fetch(method: str, url: str, headers: Mapping[str, str]) -> bytes:
        asked.append((method, url, headers))
        return json.dumps({"AccessKeyId": "a", "SecretAccessKey": "b"}).encode()

    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials/x")
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "t")
    assert source(fetch)() == credentials("a", "b")
    assert asked == [("GET", "http://169.254.170.2/v2/credentials/x", {"authorization": "t"})]


@pytest.mark.parametrize(
    "url", ["http://evil.example/x", "http://10.0.0.1/", "file:///etc/passwd", "ftp://127.0.0.1/"]
)
def test_credentials_are_not_asked_for_elsewhere_without_tls(monkeypatch, url):
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url)
    with pytest.raises(UsageError, match="AWS_CONTAINER_CREDENTIALS_FULL_URI must begin with https"):
        rc.connect(MODEL)


def test_a_token_with_a_line_break_is_not_sent(monkeypatch):
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/")
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "a\r\nX-Evil: b")
    with pytest.raises(UsageError, match="line break"):
        source()()
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/nowhere/at/all")
    with pytest.raises(UsageError, match="cannot be read"):
        source()()


async def test_a_machine_of_aws_gives_credentials_for_a_token(monkeypatch):
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
    answers = (whole(b"SESSION", kind="text/plain"), whole(b"my role", kind="text/plain"), answer())
    async with serving(*answers) as machine:
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", f"{machine.url}/")
        _, text = await exchange(hello(), check=accepts)
    assert text == "Hi."
    token, roles, role = machine.requests
    assert (token[0], token[1]["x-aws-ec2-metadata-token-ttl-seconds"]) == ("/latest/api/token", "21600")
    assert roles[0] == "/latest/meta-data/iam/security-credentials/"
    assert role[0] == f"{roles[0]}my"
    assert {each[1]["x-aws-ec2-metadata-token"] for each in (roles, role)} == {"SESSION"}


async def test_a_machine_that_is_none_of_awss_is_not_asked_twice(monkeypatch):
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
    async with serving(dropped) as machine:
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", machine.url)
        with pytest.raises(UsageError, match=r"no AWS credentials; set .*this machine has none either"):
            await exchange(hello())
    assert machine.connections == 1


async def test_credentials_are_fetched_again_before_they_pass():
    now, given = [1000.0], []

    def fetch() -> Credentials:
        given.append(credentials(f"key {len(given)}", expires=now[0] + 1000))
        return given[-1]

    store = CredentialStore(fetch, clock=lambda: now[0])
    first = await asyncio.gather(*[store.current() for _ in range(8)])
    assert first == given * 8
    now[0] += 699
    assert await store.current() is given[0]
    now[0] += 2
    assert (await store.current()).access_key_id == "key 1"


async def test_credentials_that_still_hold_outlive_an_endpoint_that_does_not():
    now, broken = [0.0], False

    def fetch() -> Credentials:
        if broken:
            raise TransportError("gone")
        return credentials(expires=now[0] + 1000)

    store = CredentialStore(fetch, clock=lambda: now[0])
    held = await store.current()
    broken, now[0] = True, 900.0
    assert await store.current() is held
    now[0] = 1001.0
    with pytest.raises(TransportError, match="gone"):
        await store.current()


BAD = [
    b"",
    b"[]",
    b'{"AccessKeyId": "a"}',
    b'{"AccessKeyId": "a", "SecretAccessKey": 1}',
    b"[" * 100_000,
]


@pytest.mark.parametrize("body", [*BAD, json.dumps({"Code": "Failed", "Message": SECRET}).encode()])
async def test_an_answer_that_is_none_is_not_quoted(monkeypatch, body):
    async with serving(whole(body)) as endpoint:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", endpoint.url)
        with pytest.raises(ProtocolError, match="gave none") as caught:
            await exchange(hello())
    assert SECRET not in f"{caught.value!r} {caught.value.__cause__!r}"


async def test_an_endpoint_that_refuses_is_tried_again_as_the_network_is(monkeypatch):
    async with serving(whole(SECRET.encode(), 500), answer()) as endpoint:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", endpoint.url)
        _, text = await exchange(hello(), check=accepts)
        assert text == "Hi."
        assert len(endpoint.requests) == 2
    with pytest.raises(TransportError, match=r"credentials from 127\.0\.0\.1: HTTP 500") as caught:
        async with serving(whole(SECRET.encode(), 500)) as endpoint:
            await asyncio.to_thread(fetch_directly, "GET", endpoint.url, {})
    assert SECRET not in str(caught.value)


async def test_what_the_vendor_quotes_is_taken_out(keys, tmp_path):
    """AWS repeats what it signed where signatures differ: the key's id, and the session token."""
    words = (
        f"The request signature we calculated does not match. The Canonical String should have been "
        f"'POST\n/model\n\nhost:h\nx-amz-security-token:{TOKEN}\n' for Credential={KEY_ID}/2026"
    )
    refusal = whole(json.dumps({"message": words}).encode(), 403)
    journal = rc.record.JsonLinesJournal(tmp_path / "runs")
    async with serving(refusal) as server, rc.connect(MODEL, base_url=server.url) as model:
        assert KEY_ID not in repr(model)
        with pytest.raises(VendorError) as caught:
            await rc.Agent(model, journal=journal).run("Hello")
    kept = "".join(path.read_text() for path in (tmp_path / "runs").rglob("*") if path.is_file())
    for secret in (KEY_ID, TOKEN, SECRET):
        assert secret not in f"{caught.value} {caught.value!r} {vars(caught.value)} {kept}"


async def test_a_model_that_is_closed_closes_what_it_wraps(keys):
    async with serving(hello()) as server:
        model = rc.connect(MODEL, base_url=server.url, transport=HttpTransport())
        _ = [event async for event in model.stream(Request(messages=(said("Hi"),)))]
        assert server.open == 1
        await model.close()
        for _ in range(100):
            await asyncio.sleep(0.01)
            if not server.open:
                break
        assert server.open == 0
