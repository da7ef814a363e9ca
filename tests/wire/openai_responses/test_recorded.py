"""Recorded replies of the Responses API and its imitators."""

import json
import re

import pytest

from rightcall.core.events import CallEnd
from rightcall.core.jsontext import dump
from rightcall.core.message import Reasoning, Results, user_text
from rightcall.core.parts import Result, Text, Usage
from rightcall.core.request import Request
from rightcall.errors import VendorError
from rightcall.wire import openai_responses as dialect
from rightcall.wire.openai_responses.reply import is_call
from rightcall.wire.openai_responses.tables import OUTPUTS
from wire.recorded import assert_events_tell_the_reply, fed, reply_of, rows, same_at_every_cut

API = "openai.responses"

NOT_ADDING_UP = {
    "0c94be87c20867b6": "four responses of one conversation, one after another",
    "6068c7d0b4a0d4a1": "written by hand: its deltas say other words than its done events",
}
PATCHED = ("df441b10cb5b6655", "0a5d1e995a29a83f")
"""Streams with a call of ``apply_patch``, which those who recorded them did not count as a call."""


def responses_in(body: bytes) -> list[dict]:
    """The finished responses of a stream, read without our decoder."""
    frames = re.findall(rb"^data: ?(\{.*)$", body, re.MULTILINE)
    found = [json.loads(frame) for frame in frames]
    return [f["response"] for f in found if f["type"] in ("response.completed", "response.incomplete")]


def plain_text(response: dict) -> str:
    parts = [p for item in response["output"] if item["type"] == "message" for p in item["content"]]
    return "".join(p["text"] for p in parts if p["type"] == "output_text")


def plain_calls(response: dict) -> list[dict]:
    patches = [item for item in response["output"] if item["type"] == "apply_patch_call"]
    return [
        {"id": p["call_id"], "name": "apply_patch", "arguments": dump(p["operation"])} for p in patches
    ] + [
        {
            "id": item["call_id"],
            "name": item["name"],
            "arguments": item["input"] if item["type"] == "custom_tool_call" else item["arguments"],
        }
        for item in response["output"]
        if item["type"] in ("function_call", "custom_tool_call")
    ]


def plain_usage(response: dict) -> Usage:
    usage = response.get("usage") or {}
    into = usage.get("input_tokens_details") or {}
    return Usage(
        input_tokens=usage.get("input_tokens", 0),
        output_tokens=usage.get("output_tokens", 0),
        cached_tokens=into.get("cached_tokens", 0),
        cache_written_tokens=into.get("cache_write_tokens", 0),
        reasoning_tokens=(usage.get("output_tokens_details") or {}).get("reasoning_tokens", 0),
    )


def calls_of(reply) -> list[dict]:
    """The calls for us; what the vendor wants a yes to is none for the SDK."""
    return [
        {"id": c.id, "name": c.name, "arguments": c.arguments}
        for c in reply.calls
        if c.form != "approval"
    ]


def test_every_recorded_stream_agrees_with_the_sdk(shared_data):
    streams = rows(shared_data, API, stream=True)
    assert len(streams) >= 60
    for row in streams:
        body = row["path"].read_bytes()
        reply = reply_of(fed(dialect.decoder(), body))
        sdk = row["sdk"]
        calls = plain_calls(responses_in(body)[-1]) if row["id"] in PATCHED else sdk["tool_calls"]
        assert (reply.text, calls_of(reply), reply.stop_word) == (sdk["text"], calls, sdk["finish"]), (
            row["id"]
        )
        assert reply.stop == ("calls" if reply.calls else "end"), row["id"]


def test_the_deltas_of_every_recorded_stream_add_up(shared_data):
    for row in rows(shared_data, API, stream=True):
        if row["id"] not in NOT_ADDING_UP:
            events = fed(dialect.decoder(), row["path"].read_bytes())
            assert_events_tell_the_reply(events)
            assert [e.call for e in events if isinstance(e, CallEnd)] == list(reply_of(events).calls)


def test_the_reply_of_every_recorded_stream_is_that_of_its_last_response(shared_data):
    for row in rows(shared_data, API, stream=True):
        body = row["path"].read_bytes()
        response = responses_in(body)[-1]
        reply = reply_of(fed(dialect.decoder(), body))
        assert reply == dialect.decode(json.dumps(response).encode()), row["id"]
        assert reply.usage == plain_usage(response)


def test_recorded_streams_are_the_same_at_every_cut(shared_data):
    for row in rows(shared_data, API, stream=True):
        same_at_every_cut(dialect, row["path"].read_bytes())


def test_every_recorded_whole_reply_is_read_as_its_json_says(shared_data):
    whole = [row for row in rows(shared_data, API, stream=False) if row["status"] == 200]
    assert len(whole) >= 45
    for row in whole:
        body = row["path"].read_bytes()
        response = json.loads(body)
        reply = dialect.decode(body)
        assert (
            reply.text,
            calls_of(reply),
            reply.stop_word,
            reply.usage,
            reply.model,
            len(reply.content),
        ) == (
            plain_text(response),
            plain_calls(response),
            response["status"],
            plain_usage(response),
            response["model"],
            sum(len(i["content"]) if i["type"] == "message" else 1 for i in response["output"]),
        ), row["id"]
        assert reply.stop == ("calls" if reply.calls else "end")
        assert not any(call.truncated for call in reply.calls)


def test_every_recorded_refusal_is_a_vendor_error(shared_data):
    refused = [row for row in rows(shared_data, API, stream=False) if row["status"] != 200]
    assert refused
    for row in refused:
        told = json.loads(row["path"].read_bytes())["error"]
        error = dialect.error(row["status"], {"X-Request-Id": "req_1"}, row["path"].read_bytes())
        assert isinstance(error, VendorError)
        assert (error.message, error.status, error.vendor_code, error.retryable, error.request_id) == (
            told["message"],
            row["status"],
            told["code"] or told["type"],
            False,
            "req_1",
        )
        with pytest.raises(VendorError, match=re.escape(told["message"][:40])):
            dialect.decode(row["path"].read_bytes())


def test_every_recorded_reply_goes_back_item_for_item(shared_data):
    checked = 0
    for stream in (True, False):
        for row in rows(shared_data, API, stream=stream):
            if row["status"] != 200:
                continue
            body = row["path"].read_bytes()
            response = responses_in(body)[-1] if stream else json.loads(body)
            reply = reply_of(fed(dialect.decoder(), body)) if stream else dialect.decode(body)
            results = tuple(
                Result(call_id=c.id, name=c.name, outcome="returned", content=(Text("ok"),))
                for c in reply.calls
            )
            messages = (
                (user_text("hi"), reply, Results(results))
                if results
                else (user_text("hi"), reply, user_text("on"))
            )
            request = Request(messages=messages, options={"vendor_tools": [{"type": "apply_patch"}]})
            sent = json.loads(dialect.encode(request, model="m", stream=True).body)
            items = sent["input"][1 : -len(results) or -1]
            expected = response["output"]
            if any(isinstance(p, Reasoning) and not has_state(p) for p in reply.content):
                expected = [
                    {k: v for k, v in item.items() if k != "id" or item["type"] in UNTOUCHED(item)}
                    for item in expected
                    if item["type"] != "reasoning"
                    or item.get("encrypted_content")
                    or item.get("content")
                ]
            while expected and expected[-1]["type"] == "reasoning":
                expected = expected[:-1]
            assert items == expected, row["id"]
            outputs = [
                (i["type"], i.get("call_id"), i.get("output"))
                if "approve" not in i
                else (i["type"], i["approval_request_id"], i["approve"])
                for i in sent["input"][1 + len(items) :]
                if results
            ]
            kinds = [i["type"] for i in expected if is_call(i)]
            assert outputs == [
                (OUTPUTS[kind], call.id, "ok" if call.form != "approval" else False)
                for kind, call in zip(kinds, reply.calls, strict=True)
            ]
            checked += 1
    assert checked >= 100


def has_state(part: Reasoning) -> bool:
    item = part.vendor[dialect.name]
    return bool(item.get("encrypted_content") or item.get("content"))


def UNTOUCHED(item: dict) -> tuple[str, ...]:  # noqa: N802
    """The items that keep their ids even where reasoning was left out."""
    return () if item["type"] in ("message", "function_call", "custom_tool_call") else (item["type"],)
