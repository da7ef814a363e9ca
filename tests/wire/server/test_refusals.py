"""Errors, counts and lists in each client's own shape; what is lost between dialects, as data."""

import json
from typing import Any, get_args

import pytest

from rightcall.core.message import user_text
from rightcall.core.request import (
    ANY_OBJECT,
    MODEL_OPTIONS,
    ClientRequest,
    ListedModel,
    ReplyHeader,
    Request,
)
from rightcall.errors import (
    EncodeError,
    ErrorKind,
    LimitReached,
    TransportTimeout,
    TruncatedStream,
    UsageError,
    VendorError,
)
from rightcall.wire.client_request import tokens_of
from rightcall.wire.dialects import DIALECTS, SERVED, load, load_server
from rightcall.wire.translation_losses import UNREAD_MEMBERS, UNSUPPORTED_SETTINGS, fit, rows
from wire.server.sdks import anthropic_at, google_at, openai_at

REQUEST = Request(messages=(user_text("Hi"),))
ASKED = ClientRequest(request=REQUEST, model="m", stream=True)
CODEX = ClientRequest(request=REQUEST, model="m", stream=True, client="codex")
TOO_LONG = VendorError(
    "This endpoint's window is 8192 tokens; you asked for 9001", kind="context_overflow", status=400
)
every_dialect = pytest.mark.parametrize("name", SERVED)


@every_dialect
@pytest.mark.parametrize("kind", get_args(ErrorKind))
def test_our_client_half_understands_every_refusal(name, kind):
    refused = load_server(name).encode_error(VendorError("No.", kind=kind))
    error = load(name).error(refused.status, refused.headers, refused.body)
    assert "No." in error.message
    alike: dict[str, tuple[str, ...]] = {
        "quota": ("quota", "rate_limit"),
        "filtered": ("filtered", "bad_request"),
        "cancelled": ("server", "cancelled"),
        "connection": ("server", "overloaded"),
        "protocol": ("server",),
        "context_overflow": ("context_overflow", "bad_request"),
    }
    assert error.kind in alike.get(kind, (kind,))


@every_dialect
@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UsageError("messages[0]: odd"), 400),
        (EncodeError("m", "cannot be said"), 400),
        (LimitReached("the day's dollars are spent"), 429),
        (TransportTimeout("too slow"), 504),
        (TruncatedStream("ended"), 502),
    ],
)
def test_our_own_errors_have_a_status(name, error, status):
    refused = load_server(name).encode_error(error)
    assert refused.status == status
    assert str(error) in json.loads(refused.body)["error"]["message"]


@every_dialect
@pytest.mark.parametrize("kind", ["rate_limit", "overloaded", "quota"])
def test_whoever_is_to_wait_is_told_how_long(name, kind):
    refused = load_server(name).encode_error(VendorError("Wait.", kind=kind))
    assert refused.headers["retry-after"] == "1"
    refused = load_server(name).encode_error(VendorError("Wait.", kind=kind, retry_after=7.2))
    assert refused.headers["retry-after"] == "8"


def test_a_prompt_that_is_too_long_is_said_in_the_words_that_clients_look_for():
    bodies = {name: load_server(name).encode_error(TOO_LONG, ASKED).body for name in SERVED}
    said_by = {name: json.loads(body)["error"] for name, body in bodies.items()}
    assert said_by["anthropic"]["message"].startswith("prompt is too long: 9001 tokens > 8192 maximum")
    for name in ("openai_chat", "openai_responses"):
        assert said_by[name]["code"] == "context_length_exceeded"
        assert "maximum context length" in said_by[name]["message"]
    assert {load_server(name).encode_error(TOO_LONG, ASKED).status for name in SERVED} == {400}


def test_codex_is_told_within_a_stream():
    refused = load_server("openai_responses").encode_error(TOO_LONG, CODEX)
    assert (refused.status, refused.headers["content-type"]) == (200, "text/event-stream")
    last = json.loads(refused.body.split(b"data: ")[-1])
    assert last["type"] == "response.failed"
    assert last["response"]["error"]["code"] == "context_length_exceeded"
    limited = VendorError("Wait.", kind="rate_limit")
    assert load_server("openai_responses").encode_error(limited, CODEX).status == 429


def test_models_are_listed_as_each_sdk_reads_them():
    models = [ListedModel(name="one", created=5, context_window=8192), ListedModel(name="two")]
    listed = {name: load_server(name).encode_model_list(models) for name in SERVED}
    for name in ("openai_chat", "openai_responses"):
        found = openai_at([listed[name]], stream=False).models.list()
        assert [each.id for each in found] == ["one", "two"]
    infos = list(anthropic_at([listed["anthropic"]], stream=False).models.list())
    assert [(each.id, each.max_input_tokens) for each in infos] == [("one", 8192), ("two", None)]
    shown = list(google_at([listed["gemini"]], stream=False).models.list())
    assert [(each.name, each.input_token_limit) for each in shown] == [
        ("models/one", 8192),
        ("models/two", None),
    ]
    for name in SERVED:
        assert json.loads(load_server(name).encode_model_list([]))


def test_tokens_are_counted_in_each_shape():
    tokens = tokens_of(ASKED)
    assert tokens > 5
    counted = {name: json.loads(load_server(name).encode_token_count(tokens)) for name in SERVED}
    assert counted["anthropic"] == {"input_tokens": tokens}
    assert counted["gemini"] == {"totalTokens": tokens}
    assert counted["openai_responses"]["input_tokens"] == tokens


EVERY: dict[str, Any] = {
    "temperature": 0.5,
    "top_p": 0.9,
    "seed": 7,
    "stop": ["END"],
    "parallel": False,
    "reasoning": "high",
    "user": "u",
    "cache_key": "k",
    "logprobs": 2,
}


@pytest.mark.parametrize("name", DIALECTS)
def test_what_fits_can_be_sent(name):
    request = Request(messages=(user_text("Hi"),), options=EVERY, output=ANY_OBJECT, max_tokens=4096)
    fitted = fit(request, name)
    model = "anthropic.claude-opus-4-6-v1" if name == "bedrock" else "m"
    load(name).encode(fitted.request, model=model, stream=True)
    lost = [word.partition(":")[0] for word in fitted.left_out]
    assert set(lost) >= set(UNSUPPORTED_SETTINGS[name])
    assert set(UNSUPPORTED_SETTINGS[name]) <= set(MODEL_OPTIONS.kinds)
    assert fit(Request(messages=(user_text("Hi"),), options={"parallel": True}), name).left_out == ()


def test_a_budget_is_made_to_fit_and_warmth_left_out_for_claude():
    options = {"reasoning": 8192, "temperature": 1.5}
    fitted = fit(Request(messages=(user_text("Hi"),), options=options, max_tokens=4096), "anthropic")
    assert {**fitted.request.options} == {"reasoning": 2048}
    assert [word.partition(":")[0] for word in fitted.left_out] == ["temperature", "reasoning"]
    load("anthropic").encode(fitted.request, model="m", stream=True)
    warm = fit(Request(messages=(user_text("Hi"),), options={"temperature": 1.5}), "anthropic")
    assert {**warm.request.options} == {"temperature": 1.0}


BODIES: dict[str, dict[str, Any]] = {
    "openai_chat": {"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
    "openai_responses": {"model": "m", "input": "Hi"},
    "anthropic": {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]},
    "gemini": {"contents": [{"parts": [{"text": "Hi"}]}]},
}


LOST = [(name, member) for name, members in UNREAD_MEMBERS.items() for member in members]


@pytest.mark.parametrize(("name", "member"), LOST)
def test_what_is_said_to_be_lost_is_named_when_it_is(name, member):
    outer, _, inner = member.partition(".")
    body = {**BODIES[name], outer: {inner: 3} if inner else 3}
    server = load_server(name)
    asked = server.parse_request(json.dumps(body).encode(), path="/models/m:generateContent", headers={})
    assert [word.partition(":")[0] for word in asked.left_out] == [member]


def test_every_dialect_has_rows_of_what_is_lost():
    found = list(rows())
    assert {row.dialect for row in found} >= set(SERVED)
    assert len(found) == len({(row.dialect, row.side, row.what) for row in found})


def test_an_answer_needs_no_more_than_an_id():
    writer = load_server("openai_chat").writer(ASKED, ReplyHeader(id="a1", model="m"))
    assert b'"id":"chatcmpl-a1"' in writer.start()
