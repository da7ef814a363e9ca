"""What the table of secrets knows leaves through no journal, log, error or repr."""

import asyncio
import io
import json
import logging
import pickle
import re
import tempfile
import traceback
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rightcall as rc
from effort import often
from record.secret_forms import FORMLESS_KEYS, OTHER_KEYS, PROVIDER_KEYS, known_keys, named
from request.server import serving, streamed, whole
from rightcall.core.message import user_text
from rightcall.core.request import PreparedRequest, Request
from rightcall.core.secret_formats import redact_formats
from rightcall.errors import RightcallError
from rightcall.local.engines.remote import RemoteServer
from rightcall.mcp.client.endpoints import ClientCredentials, Http, Stdio
from rightcall.mcp.server.serve_options import Listen
from rightcall.models.providers import PROVIDERS
from rightcall.record.redact import redact_text
from rightcall.request.endpoint import Address
from rightcall.request.retry import Retry
from rightcall.testing import ScriptedModel, call, reply

SOURCE = Path(rc.__file__).parent
few = settings(max_examples=often(40), deadline=None, suppress_health_check=list(HealthCheck))

prose = st.sampled_from(["{}", "the key {} was refused.", "log:\n{}\n", "'{}'", "a, ({}), b"])
leaks = st.one_of(
    st.tuples(known_keys, prose).map(lambda two: (two[0], two[1].replace("{}", two[0]))),
    st.tuples(
        named,
        st.sampled_from(["{}={}", '{}="{}"', "export {}={}\nX=1", "{} = {}", "{}: {}", "?{}={}&x=1"]),
    ).map(lambda two: (two[0][1], two[1].replace("{}", two[0][0], 1).replace("{}", two[0][1], 1))),
)
"""A secret, and a text that holds it."""


def test_every_provider_with_a_key_has_its_form_here():
    assert set(PROVIDER_KEYS) == {name for name, provider in PROVIDERS.items() if provider.keys}
    assert all(PROVIDER_KEYS[name] or name in FORMLESS_KEYS for name in PROVIDER_KEYS)


@pytest.mark.parametrize("provider", PROVIDER_KEYS)
@given(st.data())
def test_the_keys_of_a_provider_are_known(provider, data):
    for form in PROVIDER_KEYS[provider]:
        key = data.draw(form)
        assert redact_text(f"use {key} here") == "use [redacted] here"
    for form in [*PROVIDER_KEYS[provider], *FORMLESS_KEYS.get(provider, [])]:
        key = data.draw(form)
        for variable in PROVIDERS[provider].keys:
            for text in (
                f"{variable}={key}",
                f"export {variable}='{key}'\n",
                f'{{"{variable}": "{key}"}}',
            ):
                assert redact_text(text) == text.replace(key, "[redacted]")
        for header in ("x-api-key: ", "Authorization: Bearer ", "api-key: "):
            assert redact_text(header + key) == header + "[redacted]"


@pytest.mark.parametrize("name", OTHER_KEYS)
@given(st.data())
def test_other_keys_are_known(name, data):
    key = data.draw(OTHER_KEYS[name])
    assert redact_text(f"use {key} here") == "use [redacted] here"


SETTINGS = [
    ("password=hunter2", "password=[redacted]"),
    ("the config says password=hunter2, I think", "the config says password=[redacted], I think"),
    ("config: password=hunter2", "config: password=[redacted]"),
    ("aws_secret_access_key=wJalr/K7MDENG+x", "aws_secret_access_key=[redacted]"),
    ("aws_secret_access_key = wJalr/K7MDENG+x\n", "aws_secret_access_key = [redacted]\n"),
    ("A=1\nexport DB_PASSWORD='it is me'\nB=2", "A=1\nexport DB_PASSWORD='[redacted]'\nB=2"),
    ("https://h/a?page=1&api_key=abc&x=1#y", "https://h/a?page=1&api_key=[redacted]&x=1#y"),
    ("url=https://h/?token=abc", "url=https://h/?token=[redacted]"),
    ("Server=a;Password=b,c;Port=1", "Server=a;Password=[redacted];Port=1"),
    ("{'password': 'a b', 'n': 1}", "{'password': '[redacted]', 'n': 1}"),
    ("x-api-key: 0123456789abcdef", "x-api-key: [redacted]"),
    ("mysql --password=abc.", "mysql --password=[redacted]."),
    (r"say \"token=\\\"ab cd\\\"\"", r"say \"token=\\\"[redacted]\\\"\""),
    ("token=" + "a1" * 5_000 + " end", "token=[redacted] end"),
]
NO_SETTINGS = [
    "f(token=token, password=self.password, api_key=os.environ['X'], secret=load())",
    "password=$PASSWORD token=${TOKEN} secret=<yours> api_key={{ key }} password=*** secret=%s",
    "def f(password: str, token: str = None): pass",
    "password=None, token=null, secret=false, token=42, max_tokens=5, next_page_token=abc",
    "if secret == 'abc' or token => x: pass",
    "password: at least 8 characters. token: the smallest unit. Secret: unknown",
    "password = forgotten; cookie: 2 weeks; password=",
]


@pytest.mark.parametrize(("text", "expected"), SETTINGS)
def test_what_is_set_under_a_telling_name_is_known(text, expected):
    assert redact_text(text) == expected
    assert redact_text(expected) == expected


@pytest.mark.parametrize("text", NO_SETTINGS)
def test_what_only_names_a_secret_stays(text):
    assert redact_text(text) == text


def test_many_names_cost_no_more_than_their_length():
    for text in ("password=" * 20_000, "token:" * 20_000, "a='" * 50_000, "token" + " " * 100_000 + "="):
        redact_formats(text)


@few
@given(leaks, st.sampled_from([rc.record.JsonLinesJournal, rc.record.SqliteJournal]))
def test_no_journal_holds_it(leak, kind):
    secret, text = leak

    @rc.tool(effect="read")
    def read(path: str) -> str:
        """Read a file."""
        if path == text:
            raise ValueError(text)
        return text

    model = ScriptedModel([reply(text, call("read", path="x"), call("read", path=text)), text])
    with tempfile.TemporaryDirectory() as folder:
        with kind(Path(folder) / "runs") as journal:
            rc.Agent(model, tools=[read], journal=journal, instructions=text).run_sync(text)
        for file in Path(folder).iterdir():
            assert secret.encode() not in file.read_bytes()
            assert json.dumps(secret)[1:-1].encode() not in file.read_bytes()


@few
@given(leaks)
def test_no_log_holds_it(leak):
    secret, text = leak
    for name in logger_names():
        written = io.StringIO()
        handler = logging.StreamHandler(written)
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        try:
            logger.error("the server says: %s", text)
            logger.error("a tool failed", exc_info=ValueError(text))
        finally:
            logger.removeHandler(handler)
        assert secret not in written.getvalue()
        assert "the server says" in written.getvalue()
        assert "ValueError" in written.getvalue()


@few
@given(leaks, st.sampled_from(["neutral", "words"]))
def test_no_log_of_a_run_and_no_record_of_a_call_holds_it(leak, errors):
    secret, text = leak

    @rc.tool(effect="read", errors=errors)
    def read(path: str) -> str:
        """Read a file."""
        raise ValueError(text)

    model = ScriptedModel([reply(text, call("read", path=text)), text])
    written = io.StringIO()
    handler, logger = logging.StreamHandler(written), logging.getLogger("rightcall")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        result = rc.Agent(model, tools=[read], instructions=text).run_sync(text)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
    (record,) = result.calls
    assert secret not in f"{written.getvalue()} {record.error} {record.result.text}"
    assert "read raised ValueError" in written.getvalue()
    assert record.error.startswith("ValueError")


@few
@given(leaks, st.sampled_from(["anthropic", "gemini", "openai", "openai-responses"]))
def test_no_log_of_a_request_holds_it(leak, provider):
    secret, text = leak
    written = io.StringIO()
    handler, logger = logging.StreamHandler(written), logging.getLogger("rightcall")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    error = json.dumps({"error": {"message": text, "type": text}, "request_id": text}).encode()
    try:
        asyncio.run(failure(provider, whole(error, 500), key=secret, attempts=2))
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
    assert secret not in written.getvalue()
    assert "retrying in" in written.getvalue()
    assert "HTTP 500" in written.getvalue()


def logger_names() -> set[str]:
    """The name of every logger of ours that is asked for anywhere."""
    asks = re.compile(r'(?:getLogger|_logger)\("(rightcall[\w.]*)"\)')
    return {name for file in SOURCE.rglob("*.py") for name in asks.findall(file.read_text())}


def test_every_logger_is_found():
    assert logger_names() == {
        "rightcall",
        "rightcall.mcp",
        "rightcall.request",
        "rightcall.local",
        "rightcall.loop",
        "rightcall.gate",
        "rightcall.serve.gateway",
    }


@few
@given(leaks, st.sampled_from(["anthropic", "gemini", "openai", "openai-responses"]), st.integers(0, 3))
def test_no_error_holds_it(leak, provider, form):
    secret, text = leak
    error = {"error": {"message": text, "type": text, "code": text, "status": text}, "request_id": text}
    answers = [
        whole(json.dumps(error).encode(), 400),
        whole(f"<html>{'x' * 150} {text}".encode(), 502, "text/html"),
        streamed(b"data: " + json.dumps({"odd": ["x" * 100, text]}).encode() + b"\n\n"),
        streamed(b"data: {" + f"{text} {text}".encode().replace(b"\n", b" ") + b"\n\n"),
    ]
    caught = asyncio.run(failure(provider, answers[form], key="none-of-these"))
    shown = f"{caught} {caught!r} {vars(caught)} {''.join(traceback.format_exception(caught))}"
    assert secret not in shown
    assert secret not in str(pickle.loads(pickle.dumps(caught)))


@few
@given(st.one_of(*[form for forms in FORMLESS_KEYS.values() for form in forms]))
def test_no_error_holds_the_key_that_was_refused_whatever_its_form(key):
    error = {"error": {"message": f"no: {key}", "code": key}, "request_id": key}
    caught = asyncio.run(failure("mistral", whole(json.dumps(error).encode(), 401), key=key))
    assert key not in f"{caught} {caught!r} {vars(caught)}"


async def failure(provider, answer, key, attempts=1) -> RightcallError:
    async with serving(answer) as server:
        retry = Retry(attempts=attempts, base=0.0)
        model = rc.connect(f"{provider}:m", base_url=server.url, api_key=key, retry=retry)
        async with model:
            with pytest.raises(RightcallError) as caught:
                async for _ in model.stream(Request(messages=(user_text("Hi"),))):
                    pass
    return caught.value


@few
@given(known_keys)
def test_no_repr_holds_it(key):
    headers = {"authorization": key, "x-own": key}
    url = f"https://me:{key}@example.org/?k={key}"
    shown = [
        Address(url=url, model="m", key=key, headers=headers),
        rc.connect("openai:m", base_url=url.replace(f"me:{key}@", ""), api_key=key, headers=headers),
        PreparedRequest(method="POST", url=url, headers=headers, body=key.encode(), time=0.0),
        RemoteServer(url, None, key=key, timeouts=rc.models.Timeouts(), refuse=None),
        Http(url=url, headers=headers, auth="oauth"),
        ClientCredentials(issuer="https://example.org", client_id="me", client_secret=key),
        Stdio(command="npx", arguments=("--key", key), environment={"KEY": key}),
        Listen(port=0, token=key),
    ]
    assert [each for each in shown if key in repr(each)] == []
