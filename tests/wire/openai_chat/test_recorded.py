"""What hosts really sent: decoded as their SDKs do, and sent back as it came."""

import json

import msgspec
import pytest

from rightcall.core.message import Reasoning, Results, user_text
from rightcall.core.parts import Result, Text
from rightcall.core.request import Request
from rightcall.errors import VendorError
from rightcall.wire import openai_chat as dialect
from wire.recorded import assert_events_tell_the_reply, fed, reply_of, rows, same_at_every_cut

API = "openai.chat"


@pytest.fixture
def streams(shared_data):
    return rows(shared_data, API, stream=True)


@pytest.fixture
def bodies(shared_data):
    return rows(shared_data, API, stream=False)


def frames(body: bytes) -> list[dict]:
    lines = body.replace(b"\r\n", b"\n").split(b"\n")
    data = [line[5:].strip() for line in lines if line.startswith(b"data:")]
    return [json.loads(item) for item in data if item != b"[DONE]"]


def test_streams_mean_what_the_sdk_makes_of_them(streams):
    agreed = 0
    for row in streams:
        body, sdk = row["path"].read_bytes(), row["sdk"]
        if "sdk_error" in sdk or any(c["index"] for f in frames(body) for c in f["choices"]):
            continue
        reply = reply_of(fed(dialect.decoder(), body))
        calls = [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in reply.calls]
        assert reply.text == sdk["text"], row["id"]
        assert reply.reasoning == sdk["reasoning"], row["id"]
        assert calls == sdk["tool_calls"], row["id"]
        assert reply.stop_word == (sdk["finish"] or ""), row["id"]
        assert not any(call.truncated for call in reply.calls), row["id"]
        agreed += 1
    assert agreed >= 27


def test_of_several_choices_the_first_is_the_reply(streams):
    several = [
        r
        for r in streams
        if any(c["index"] for f in frames(r["path"].read_bytes()) for c in f["choices"])
    ]
    for row in several:
        body = row["path"].read_bytes()
        first = [c for f in frames(body) for c in f["choices"] if c["index"] == 0]
        text = "".join(c["delta"].get("content") or "" for c in first)
        assert reply_of(fed(dialect.decoder(), body)).text == text


def test_an_error_inside_of_a_stream_is_raised(streams):
    broken = [row for row in streams if "APIError" in row["sdk"].get("sdk_error", "")]
    assert broken
    for row in broken:
        with pytest.raises(VendorError) as caught:
            fed(dialect.decoder(), row["path"].read_bytes())
        assert caught.value.message in row["sdk"]["sdk_error"]
        assert (caught.value.status, caught.value.vendor_code) == (400, "400")


def test_content_in_parts_is_read_where_the_sdk_fails(streams):
    for row in streams:
        if "TypeError" in row["sdk"].get("sdk_error", ""):
            body = row["path"].read_bytes()
            deltas = [c["delta"].get("content") or "" for f in frames(body) for c in f["choices"]]
            text = "".join(d for d in deltas if isinstance(d, str))
            thought = "".join(
                t["text"] for d in deltas if isinstance(d, list) for p in d for t in p["thinking"]
            )
            reply = reply_of(fed(dialect.decoder(), body))
            assert (reply.text, reply.reasoning) == (text, thought)


def test_events_add_up_and_are_the_same_at_every_cut(streams):
    for row in streams:
        body = row["path"].read_bytes()
        if "APIError" in row["sdk"].get("sdk_error", ""):
            continue
        if len(body) > 8_000:
            whole = fed(dialect.decoder(), body)
            pieces = fed(dialect.decoder(), *[body[at : at + 7] for at in range(0, len(body), 7)])
            assert reply_of(pieces) == reply_of(whole)
        else:
            whole = same_at_every_cut(dialect, body)
        assert_events_tell_the_reply(whole)


def test_streamed_usage_is_the_last_that_was_sent(streams):
    for row in streams:
        body = row["path"].read_bytes()
        if "APIError" in row["sdk"].get("sdk_error", ""):
            continue
        hidden = [f["x_groq"]["usage"] for f in frames(body) if (f.get("x_groq") or {}).get("usage")]
        sent = [f["usage"] for f in frames(body) if f.get("usage")] or hidden
        usage = reply_of(fed(dialect.decoder(), body)).usage
        assert usage.input_tokens == (sent[-1]["prompt_tokens"] if sent else 0)
        if sent:
            assert usage.output_tokens == sent[-1]["total_tokens"] - sent[-1]["prompt_tokens"]


def test_whole_replies_hold_what_their_json_holds(bodies):
    count = 0
    for row in bodies:
        if row["status"] != 200:
            continue
        raw = row["path"].read_bytes()
        value = json.loads(raw)
        message, reply = value["choices"][0]["message"], dialect.decode(raw)
        assert reply.text == (message.get("content") or ""), row["id"]
        thought = message.get("reasoning_content") or message.get("reasoning") or ""
        assert reply.reasoning == thought, row["id"]
        assert [(c.id, c.name, c.arguments) for c in reply.calls] == [
            (c["id"], c["function"]["name"], c["function"].get("arguments", ""))
            for c in message.get("tool_calls") or []
        ], row["id"]
        assert reply.stop_word == value["choices"][0]["finish_reason"]
        assert reply.stop == ("calls" if reply.calls else "end")
        assert reply.model == value["model"]
        usage = value["usage"]
        assert reply.usage.input_tokens == usage["prompt_tokens"]
        assert reply.usage.output_tokens == usage["total_tokens"] - usage["prompt_tokens"]
        details = usage.get("completion_tokens_details") or {}
        assert reply.usage.reasoning_tokens == details.get("reasoning_tokens", 0)
        cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or usage.get(
            "num_cached_tokens", 0
        )
        assert reply.usage.cached_tokens == cached
        count += 1
    assert count >= 46


def test_a_whole_body_gives_the_reply_of_the_same_in_one_chunk(bodies):
    for row in bodies:
        if row["status"] == 200:
            value = json.loads(row["path"].read_bytes())
            for choice in value["choices"]:
                choice["delta"] = choice.pop("message")
                for at, call in enumerate(choice["delta"].get("tool_calls") or []):
                    call["index"] = at
            body = b"data: " + json.dumps(value).encode() + b"\n\ndata: [DONE]\n\n"
            assert reply_of(fed(dialect.decoder(), body)) == dialect.decode(row["path"].read_bytes())


def test_a_body_where_a_stream_was_asked_for_is_read_all_the_same(bodies):
    row = next(row for row in bodies if row["status"] == 200)
    body = row["path"].read_bytes()
    events = same_at_every_cut(dialect, body)
    assert reply_of(events) == dialect.decode(body)
    assert_events_tell_the_reply(events)


def test_error_bodies_become_vendor_errors(bodies):
    refused = [row for row in bodies if row["status"] != 200]
    assert refused
    for row in refused:
        body = row["path"].read_bytes()
        error = dialect.error(row["status"], {"X-Request-Id": "req_1"}, body)
        sent = json.loads(body)["error"]
        assert (error.message, error.status, error.vendor_code) == (
            sent["message"],
            row["status"],
            sent["code"],
        )
        assert (error.retryable, error.retry_after, error.request_id) == (False, None, "req_1")
        with pytest.raises(VendorError, match=r"."):
            dialect.decode(body)


def test_a_reply_goes_back_with_its_ids_arguments_and_reasoning(bodies, streams):
    for row in bodies + streams:
        if row["status"] != 200 or "APIError" in row.get("sdk", {}).get("sdk_error", ""):
            continue
        raw = row["path"].read_bytes()
        reply = reply_of(fed(dialect.decoder(), raw)) if row["stream"] else dialect.decode(raw)
        reply = msgspec.json.decode(msgspec.json.encode(reply), type=type(reply))
        results = tuple(
            Result(call_id=c.id, name=c.name, outcome="returned", content=(Text("ok"),))
            for c in reply.calls
        )
        request = Request(messages=(user_text("Hi"), reply, Results(results)))
        _, sent, *answers = json.loads(dialect.encode(request, model="m", stream=False).body)["messages"]
        ids = [call["id"] for call in sent.get("tool_calls", [])]
        assert ids == [call.id for call in reply.calls] == [answer["tool_call_id"] for answer in answers]
        assert [call["function"]["arguments"] for call in sent.get("tool_calls", [])] == [
            call.arguments or "{}" for call in reply.calls
        ]
        for part in reply.content:
            if isinstance(part, Reasoning):
                field = part.vendor["openai_chat"]["field"]
                back = sent["content"][0]["thinking"][0]["text"] if field == "part" else sent[field]
                assert back == part.text
