"""AWS: where credentials and the region come from, how requests are signed, what stays hidden."""

import asyncio
import json
import os
import threading
import time
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import rightcall as rc
from request.server import Answer, Server, serving, whole
from rightcall.core.message import user_text
from rightcall.core.request import PreparedRequest, Request
from rightcall.errors import MissingExtra, ProtocolError, TransportError, UsageError, VendorError
from rightcall.models.aws import BotocoreCredentials, configured_region, credential_source
from rightcall.request.retry import Retry
from rightcall.transport.http import HttpTransport
from rightcall.wire.bedrock.sigv4 import AwsCredentials, sign
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
def _botocore():
    pytest.importorskip("botocore", reason="botocore is not installed: pip install 'rightcall[aws]'")


with_botocore = pytest.mark.usefixtures("_botocore")


@pytest.fixture
def keys(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_SESSION_TOKEN", TOKEN)


def credentials(key: str = KEY_ID, secret: str = SECRET, token: str = "", **more: Any) -> AwsCredentials:
    return AwsCredentials(access_key_id=key, secret_access_key=secret, session_token=token, **more)


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
    request = PreparedRequest(
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


@with_botocore
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


@with_botocore
async def test_without_credentials_it_says_where_they_may_be():
    with pytest.raises(UsageError, match="AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and"):
        await exchange(hello())


def test_without_the_library_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("rightcall.core.optional_libraries.find_spec", lambda _name: None)
    with pytest.raises(MissingExtra, match=r"AWS_ACCESS_KEY_ID .*rightcall\[aws\]"):
        rc.connect(MODEL)


async def test_a_line_break_after_a_variable_is_no_part_of_it(monkeypatch, keys):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", f"{SECRET}\r\n")
    assert await credential_source()() == credentials(token=TOKEN)


def test_half_of_the_credentials_is_none(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    with pytest.raises(UsageError, match="AWS_SECRET_ACCESS_KEY is not set") as caught:
        credential_source()
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
[profile program]
credential_process = /bin/cat {{file}}
[profile broken]
credential_process = /bin/cat /nowhere/{SECRET}
[profile browser]
sso_session = corp
sso_account_id = 123456789012
sso_role_name = reader
[sso-session corp]
sso_region = eu-west-1
sso_start_url = https://corp.example/start
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
    program = {"Version": 1, "AccessKeyId": "PROGRAM", "SecretAccessKey": "program"}
    (folder / "program.json").write_text(json.dumps(program))
    (folder / "config").write_text(CONFIG.replace("{file}", str(folder / "program.json")))
    return folder


@with_botocore
async def test_profiles_hold_credentials_and_regions(monkeypatch, files):
    assert await credential_source()() == credentials(secret=f"{SECRET}%x")
    monkeypatch.delenv("AWS_REGION")
    for name, expected, region in (
        ("work", credentials("WORK", "work=secret", TOKEN), "us-west-2"),
        ("far", credentials("FAR", "far"), "ap-south-1"),
        ("program", credentials("PROGRAM", "program"), ""),
    ):
        monkeypatch.setenv("AWS_PROFILE", name)
        assert (await credential_source()(), configured_region()) == (expected, region)
    monkeypatch.setenv("AWS_PROFILE", "empty")
    assert configured_region() == "us-west-1"
    with pytest.raises(UsageError, match="no AWS credentials"):
        await credential_source()()


async def test_the_environment_goes_before_the_files(monkeypatch, files, keys):
    assert await credential_source()() == credentials(token=TOKEN)
    assert configured_region() == "eu-west-1"


@with_botocore
async def test_a_sign_in_that_is_over_says_so(monkeypatch, files):
    monkeypatch.setenv("AWS_PROFILE", "browser")
    with pytest.raises(UsageError, match=r"bedrock: .*(expired|SSO)"):
        await exchange(hello())


@with_botocore
async def test_files_that_cannot_be_used_are_named_and_not_quoted(monkeypatch, files):
    monkeypatch.setenv("AWS_PROFILE", "half")
    with pytest.raises(UsageError, match=r"Partial credentials found .*aws_secret_access_key"):
        await credential_source()()
    monkeypatch.setenv("AWS_PROFILE", "wrok")
    with pytest.raises(UsageError, match="wrok"):
        await credential_source()()
    monkeypatch.setenv("AWS_PROFILE", "broken")
    with pytest.raises(TransportError, match="cannot be fetched: CredentialRetrievalError") as caught:
        await credential_source()()
    assert SECRET not in f"{caught.value!r} {caught.value.__cause__!r}"
    monkeypatch.delenv("AWS_PROFILE")
    other = files / "other"
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(other))
    for text in (f"aws_secret_access_key = {SECRET}\n", f"[default]\n{SECRET}\n"):
        other.write_text(text)
        with pytest.raises(UsageError, match="a file of AWS profiles cannot be read") as caught:
            await credential_source()()
        assert SECRET not in f"{caught.value!r} {caught.value.__cause__!r}"
        assert caught.value.__suppress_context__


def answer(key: str = KEY_ID, seconds: float = 3600.0, **more: str) -> Answer:
    until = datetime.fromtimestamp(time.time() + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    told = {"AccessKeyId": key, "SecretAccessKey": SECRET, "Token": TOKEN, "Expiration": until, **more}
    return whole(json.dumps(told).encode())


@with_botocore
async def test_a_container_gives_credentials(monkeypatch, tmp_path):
    token = tmp_path / "token"
    token.write_text("let me in")
    async with serving(answer()) as endpoint:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{endpoint.url}/v2/x?id=1")
        monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(token))
        _, text = await exchange(hello(), check=accepts)
    assert text == "Hi."
    ((target, headers, _),) = endpoint.requests
    assert (target, headers["authorization"]) == ("/v2/x?id=1", "let me in")


@with_botocore
@pytest.mark.parametrize("url", ["http://evil.example/x", "http://10.0.0.1/"])
async def test_credentials_are_not_asked_for_elsewhere_without_tls(monkeypatch, url):
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url)
    with pytest.raises(UsageError, match=r"AWS credentials cannot be fetched: .*host"):
        await exchange(hello())


@with_botocore
async def test_a_token_with_a_line_break_is_not_sent(monkeypatch):
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/")
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "a\r\nX-Evil: b")
    with pytest.raises(UsageError, match="AWS credentials cannot be fetched"):
        await credential_source()()


@with_botocore
async def test_a_machine_of_aws_gives_credentials_for_a_token(monkeypatch):
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
    answers = (
        whole(b"SESSION", kind="text/plain"),
        whole(b"my-role", kind="text/plain"),
        answer(Code="Success"),
    )
    async with serving(*answers) as machine:
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", f"{machine.url}/")
        _, text = await exchange(hello(), check=accepts)
    assert text == "Hi."
    token, roles, role = machine.requests
    assert (token[0], token[1]["x-aws-ec2-metadata-token-ttl-seconds"]) == ("/latest/api/token", "21600")
    assert roles[0] == "/latest/meta-data/iam/security-credentials/"
    assert role[0] == f"{roles[0]}my-role"
    assert {each[1]["x-aws-ec2-metadata-token"] for each in (roles, role)} == {"SESSION"}


class Passing:
    """Credentials that botocore would renew: how often, and on which thread, is written down."""

    def __init__(self) -> None:
        self.renewed: list[bool] = []
        self.is_good = False

    def get_credentials(self) -> "Passing":
        return self

    def refresh_needed(self) -> bool:
        return not self.is_good

    def get_frozen_credentials(self) -> SimpleNamespace:
        if not self.is_good:
            time.sleep(0.02)  # as a request would take
            self.renewed.append(threading.current_thread() is threading.main_thread())
            self.is_good = True
        return SimpleNamespace(access_key=f"key {len(self.renewed)}", secret_key=SECRET, token=None)


@with_botocore
async def test_credentials_are_renewed_in_a_thread_and_once_for_all_that_wait(monkeypatch):
    passing = Passing()
    monkeypatch.setattr("botocore.session.Session", lambda: passing)
    store = BotocoreCredentials()
    first = await asyncio.gather(*[store.current() for _ in range(8)])
    assert first == [credentials("key 1")] * 8
    assert (await store.current()).access_key_id == "key 1"
    passing.is_good = False
    assert (await store.current()).access_key_id == "key 2"
    assert passing.renewed == [False, False]


BAD = [b"[]", b'{"AccessKeyId": "a"}', json.dumps({"Code": "Failed", "Message": SECRET}).encode()]


@with_botocore
@pytest.mark.parametrize("body", BAD)
async def test_an_answer_that_is_none_is_not_quoted(monkeypatch, body):
    monkeypatch.setattr("botocore.utils.ContainerMetadataFetcher.SLEEP_TIME", 0)
    async with serving(*[whole(body)] * 3) as endpoint:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", endpoint.url)
        with pytest.raises(ProtocolError, match="gave none") as caught:
            await credential_source()()
    assert SECRET not in f"{caught.value!r} {caught.value.__cause__!r}"


@with_botocore
async def test_an_endpoint_that_refuses_is_tried_again_as_the_network_is(monkeypatch):
    monkeypatch.setattr("botocore.utils.ContainerMetadataFetcher.SLEEP_TIME", 0)
    async with serving(whole(SECRET.encode(), 500), answer()) as endpoint:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", endpoint.url)
        _, text = await exchange(hello(), check=accepts)
        assert text == "Hi."
        assert len(endpoint.requests) == 2
    async with serving(*[whole(SECRET.encode(), 500)] * 9) as endpoint:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", endpoint.url)
        with pytest.raises(TransportError, match="cannot be fetched") as caught:
            await credential_source()()
    assert SECRET not in f"{caught.value!r} {caught.value.__cause__!r}"


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
        _ = [event async for event in model.stream(Request(messages=(user_text("Hi"),)))]
        assert server.open == 1
        await model.close()
        for _ in range(100):
            await asyncio.sleep(0.01)
            if not server.open:
                break
        assert server.open == 0
