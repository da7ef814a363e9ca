"""A vendor's error says what it is, over HTTP and inside of streams, in every dialect."""

import asyncio
import json
import logging
import traceback

import pytest
from httptools import HttpParserError

import rightcall as rc
from request.server import dropped, serving, streamed, whole
from rightcall.core.message import user_text
from rightcall.core.request import Request
from rightcall.errors import ProtocolError, RightcallError, TransportError, TruncatedStream, VendorError
from wire.bedrock.frames import exception, frame

KEY = "zz-no-form-9f"
PROVIDERS = ["anthropic", "bedrock", "gemini", "openai", "openai-responses"]
every_provider = pytest.mark.parametrize("provider", PROVIDERS)
ONCE = rc.models.Retry(attempts=1)


async def failure(provider, *answers, **options):
    async with serving(*answers) as server:
        settings = {"retry": ONCE, "api_key": KEY, **options}
        model = rc.connect(f"{provider}:m", base_url=server.url, **settings)
        async with model:
            with pytest.raises(RightcallError) as caught:
                async for _ in model.stream(Request(messages=(user_text("Hi"),))):
                    pass
    return caught.value


def said_no(message, **more):
    return json.dumps({"error": {"message": message, **more}}).encode()


@every_provider
async def test_an_error_says_who_what_when_and_which_request(provider):
    answer = whole(said_no(f"Slow down, {KEY}"), 429, retry_after="300", x_request_id="req_7")
    error = await failure(provider, answer)
    assert isinstance(error, VendorError)
    assert str(error) == f"{provider}: HTTP 429: Slow down, [key] (retry after 300 s; request req_7)"
    assert (error.kind, error.message, error.retry_after) == ("rate_limit", "Slow down, [key]", 300.0)
    assert (error.body, error.provider) == ('{"error":{"message":"Slow down, [key]"}}', provider)


@every_provider
@pytest.mark.parametrize("kind", ["text/html", "text/plain", "application/json", "text/event-stream"])
@pytest.mark.parametrize("streaming", [True, False])
async def test_a_login_page_in_place_of_a_reply_is_called_one(provider, kind, streaming):
    page = (
        b"<!DOCTYPE html>\n<html><head><title>Sign in &middot; Corp</title></head><body>x</body></html>"
    )
    error = await failure(provider, whole(page, 200, kind), streaming=streaming)
    assert isinstance(error, VendorError)
    assert str(error) == (
        f'{provider}: HTTP 200: a web page that says "Sign in · Corp"; '
        "this is no answer of an API: check the address"
    )
    assert (error.kind, error.retryable, error.body[:9]) == ("not_found", False, "<!DOCTYPE")


@every_provider
@pytest.mark.parametrize("streaming", [True, False])
async def test_a_page_with_a_status_is_reduced_to_its_title(provider, streaming):
    gone = b"<html><head><title>404 Not Found</title></head><body><center>nginx</center></body></html>"
    error = await failure(provider, whole(gone, 404, "text/html"), streaming=streaming)
    assert error.kind == "not_found"
    assert '"404 Not Found"; this is no answer of an API: check the address' in str(error)
    down = await failure(provider, whole(gone.replace(b"404 Not Found", b"502"), 502, "text/html"))
    assert (down.kind, down.retryable) == ("server", True)
    assert str(down) == f'{provider}: HTTP 502: a web page that says "502"'


@every_provider
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("body", [b'{"status": "ok"}', b"OK"])
async def test_what_is_no_answer_of_the_api_is_shown(provider, kind, body):
    error = await failure(provider, whole(body, 200, kind, x_request_id="req_8"))
    assert isinstance(error, ProtocolError)
    assert str(error).startswith(f"{provider}: what came is no answer of the ")
    assert str(error).endswith(f" API, but: {body.decode()}; check the address (request req_8)")
    assert error.kind == "protocol"


@every_provider
async def test_an_empty_reply_is_called_so_and_a_broken_one_is_not_misread(provider):
    assert str(await failure(provider, whole(b"", 200))) == f"{provider}: the reply is empty"
    for cut in (b'{"id": "1", "choices": [{"mess', b'data: {"id": 1, "cho'):
        assert "address" not in str(await failure(provider, whole(cut, 200)))


@every_provider
async def test_a_lost_connection_has_a_kind_and_a_name(provider):
    error = await failure(provider, dropped)
    assert isinstance(error, TransportError)
    assert (error.kind, str(error).partition(":")[0]) == ("connection", provider)


def event(name, value):
    return f"event: {name}\ndata: {json.dumps(value)}\n\n".encode()


OVERLOADED = {"message": "Overloaded", "type": "overloaded_error", "code": "overloaded_error"}
TOO_LONG = {"message": "Too long", "code": "context_length_exceeded", "status": "INVALID_ARGUMENT"}
INSIDE = {
    "bedrock": lambda error: exception("validationException", error),
    "anthropic": lambda error: event("error", {"type": "error", "error": error}),
    "gemini": lambda error: b"data: " + json.dumps({"error": error}).encode() + b"\n\n",
    "openai": lambda error: b"data: " + json.dumps({"error": error}).encode() + b"\n\n",
    "openai-responses": lambda error: event(
        "response.failed",
        {"type": "response.failed", "response": {"status": "failed", "error": error}},
    ),
}


@every_provider
async def test_an_error_inside_of_a_stream_has_the_same_kind(provider):
    error = await failure(provider, streamed(INSIDE[provider](OVERLOADED)))
    assert (type(error), error.kind, error.provider) == (VendorError, "overloaded", provider)
    assert "Overloaded" in error.body
    if provider != "anthropic":
        assert (await failure(provider, streamed(INSIDE[provider](TOO_LONG)))).kind == "context_overflow"


async def test_amazons_request_is_named_and_its_events_are_not_taken_for_words():
    answer = whole(b"{}", 503, x_amzn_requestid="req_9", x_amzn_errortype="ServiceUnavailableException")
    error = await failure("bedrock", answer)
    assert (error.kind, error.request_id) == ("overloaded", "req_9")
    began = frame("messageStart", {"role": "assistant"})
    for cut in (began, began[:9]):
        error = await failure("bedrock", streamed(cut))
        assert type(error) is TruncatedStream
        assert str(error).startswith("bedrock: the stream ended ")


async def test_what_the_host_behind_openrouter_said_is_kept():
    raw = json.dumps(
        {"error": {"message": "prompt is too long: 9 > 8", "type": "invalid_request_error"}}
    )
    wrapped = said_no(
        "Provider returned error", code=400, metadata={"raw": raw, "provider_name": "Acme"}
    )
    error = await failure("openrouter", whole(wrapped, 400))
    assert error.message == "Provider returned error (Acme: prompt is too long: 9 > 8)"
    assert error.kind == "context_overflow"
    text = said_no("Provider returned error", code=502, metadata={"raw": "upstream died"})
    assert (await failure("openrouter", whole(text, 502))).message.endswith("(upstream died)")


async def test_what_a_model_wrote_in_place_of_a_call_is_kept():
    wrote = '<function=weather>{"city": "Paris"'
    body = said_no("Failed to call a function.", code="tool_use_failed", failed_generation=wrote)
    error = await failure("groq", whole(body, 400))
    assert error.message == f"Failed to call a function. (the model wrote: {wrote})"
    assert str(error).startswith("groq: HTTP 400 tool_use_failed: Failed to call")
    assert json.loads(error.body)["error"]["failed_generation"] == wrote


async def test_a_long_body_is_kept_in_part_and_no_half_of_a_key_with_it():
    long = said_no("x" * 16_300 + KEY * 2000)
    error = await failure("openai", whole(long, 400))
    assert len(error.body) <= 16_384
    assert len(str(error)) < 2100
    assert KEY[:6] not in f"{error} {error.body}"


@every_provider
@pytest.mark.parametrize("key", ["x", "e", "k", "no", "error", "message", "code"])
@pytest.mark.parametrize("inside", [False, True])
async def test_a_dummy_key_changes_no_word_of_an_error(provider, key, inside):
    words = "Maximum context length exceeded by next text"
    error = {"message": words, "code": "context_length_exceeded", "type": "context_length_exceeded"}
    answer = whole(said_no(**error), 400)
    if inside:
        answer = streamed(INSIDE[provider](error))
    found = await failure(provider, answer, api_key=key)
    assert (type(found), found.kind, found.message) == (VendorError, "context_overflow", words)
    assert found.vendor_code in ("context_length_exceeded", "ValidationException")


async def test_a_dummy_key_is_redacted_where_it_stands_alone():
    error = await failure("openai", whole(said_no("no key 'k' of kin"), 401), api_key="k")
    assert error.message == "no key '[key]' of kin"
    assert error.body == '{"error":{"message":"no key \'[key]\' of kin"}}'


@every_provider
async def test_a_key_that_is_a_word_of_the_format_does_not_change_the_kind(provider):
    key = "context_length_exceeded"
    body = said_no("too big", code=key, type=key)
    error = await failure(provider, whole(body, 400), api_key=key)
    assert error.kind == "context_overflow"
    assert key not in f"{error} {error.body}"


@pytest.mark.parametrize("before", [0, 1, 180, 196, 1960, 1990, 1996])
async def test_half_a_key_is_redacted_where_a_message_was_cut(before):
    for text in (b"x" * before + KEY.encode() * 500, b" " * before * 4 + KEY.encode() * 900):
        for body in (text, said_no(text.decode())):
            error = await failure("openai", whole(body, 400, "text/plain"))
            assert KEY[:4] not in f"{error} {error.body}"


@pytest.mark.parametrize("provider", ["cohere", "ollama", "openai", "openai-responses"])
async def test_a_traceback_shows_no_key_that_was_in_a_reply(provider):
    body = json.dumps({"type": KEY, "content": KEY}).encode()
    error = await failure(provider, whole(body, 200), streaming=False)
    assert isinstance(error.__cause__, ProtocolError)
    assert KEY not in "".join(traceback.format_exception(error))


OK = b'data: {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'


async def test_a_retry_is_told_in_the_stream_and_in_the_log(caplog):
    busy = whole(said_no("Busy"), 529, x_request_id="r1")
    async with serving(busy, busy, streamed(OK)) as server:
        model = rc.connect(
            "openai:m", base_url=server.url, api_key=KEY, retry=rc.models.Retry(base=0.001)
        )
        async with rc.Agent(model) as agent, model:
            events = [each async for each in agent.stream("Hi")]
    told = [each for each in events if isinstance(each, rc.events.RetryStart)]
    reason = "openai: HTTP 529: Busy (request r1)"
    assert [(each.attempt, each.kind, each.reason) for each in told] == [
        (2, "overloaded", reason),
        (3, "overloaded", reason),
    ]
    assert events[-1].result.text == "Hi"
    lines = [each.getMessage() for each in caplog.records if each.name == "rightcall.request"]
    assert lines == [f"{reason}; retrying in 0.0 s (attempt {number} of 4)" for number in (2, 3)]


async def test_requests_are_logged_without_keys_and_bodies(caplog):
    caplog.set_level(logging.DEBUG, "rightcall")
    async with serving(streamed(OK)) as server:
        url = f"{server.url}/v1?sig=s3cret"
        model = rc.connect("openai:m", base_url=url, api_key=KEY, headers={"x-own": "h1dden"})
        async with model:
            async for _ in model.stream(Request(messages=(user_text("the words"),))):
                pass
    lines = [each.getMessage() for each in caplog.records]
    place = f"{server.url}/v1"
    assert lines[0].startswith(f"POST {place}")
    assert ": model m, 1 messages, " in lines[0]
    assert lines[1] == f"{place}: HTTP 200, request -"
    assert not [each for each in (KEY, "s3cret", "h1dden", "the words") if each in str(lines)]


async def test_a_reply_that_breaks_off_is_logged_with_what_broke_it(caplog):
    begun = b'data: {"choices": [{"delta": {"content": "Hel"}}]}\n\n'
    async with serving(streamed(begun, INSIDE["openai"](OVERLOADED), pause=0.05)) as server:
        model = rc.connect("openai:m", base_url=server.url, api_key=KEY)
        async with model:
            result = await rc.Agent(model).run("Hi", run="r1")
    words = "vendor: openai: overloaded_error: Overloaded"
    assert result.stop == rc.record.Stop("error", detail=words)
    assert [each.getMessage() for each in caplog.records] == [
        "run r1, t1.model: the reply broke off: openai: overloaded_error: Overloaded"
    ]


async def garbled(writer: asyncio.StreamWriter) -> None:
    writer.write(b"SSH-2.0-OpenSSH_9.6\r\n")
    await writer.drain()


async def test_an_error_that_is_sent_again_keeps_its_cause():
    async with asyncio.timeout(10):
        error = await failure("openai", garbled)
    assert isinstance(error.__cause__, HttpParserError)
