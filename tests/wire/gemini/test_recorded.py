"""What Gemini really sent: agrees with its own SDK, whole and streamed, and goes back as it came."""

import json

import pytest

from rightcall.core.jsontext import parse
from rightcall.core.message import Results, user_text
from rightcall.core.parts import Result, Text, Usage
from rightcall.core.request import Request
from rightcall.wire import gemini
from wire.recorded import assert_events_tell_the_reply, fed, reply_of, rows, same_at_every_cut

API = "gemini.generateContent"


def chunks_of(body):
    text = body.decode()
    if text.lstrip()[:1] in "[{":
        found = json.loads(text)
        return found if isinstance(found, list) else [found]
    return [json.loads(line[5:]) for line in text.splitlines() if line.startswith("data:")]


def parts_of(chunk):
    return (chunk.get("candidates") or [{}])[0].get("content", {}).get("parts", [])


def usage_of(chunks):
    said = {}
    for chunk in chunks:
        if "promptTokenCount" in chunk.get("usageMetadata", {}):
            said = chunk["usageMetadata"]
    thoughts = said.get("thoughtsTokenCount", 0)
    return Usage(
        input_tokens=said.get("promptTokenCount", 0) + said.get("toolUsePromptTokenCount", 0),
        output_tokens=said.get("candidatesTokenCount", 0) + thoughts,
        cached_tokens=said.get("cachedContentTokenCount", 0),
        reasoning_tokens=thoughts,
    )


def sdk_calls(row):
    """The SDK gives every piece of a streamed call as a call; only those with a name are calls."""
    return [
        (call["id"] or "", call["name"], json.loads(call["arguments"]))
        for call in row["sdk"]["tool_calls"]
        if call["name"]
    ]


def returned(reply):
    """The model's parts, as the next request gives them back."""
    results = tuple(
        Result(call_id=call.id, name=call.name, outcome="returned", content=(Text("ok"),))
        for call in reply.calls
    )
    messages = (user_text("hello"), reply, *([Results(results)] if results else []))
    body = json.loads(gemini.encode(Request(messages=messages), model="gemini-3-pro", stream=True).body)
    return body["contents"][1]["parts"]


def signatures(parts):
    return [part["thoughtSignature"] for part in parts if "thoughtSignature" in part]


def test_every_stream_agrees_with_the_vendors_sdk(shared_data):
    found = rows(shared_data, API, stream=True)
    assert len(found) >= 9
    for row in found:
        body = row["path"].read_bytes()
        events = same_at_every_cut(gemini, body)
        assert_events_tell_the_reply(events)
        reply, chunks = reply_of(events), chunks_of(body)
        assert reply.text == (row["sdk"]["text"] or ""), row["id"]
        assert f"FinishReason.{reply.stop_word}" == row["sdk"]["finish"], row["id"]
        assert reply.usage == usage_of(chunks), row["id"]
        assert reply.model == chunks[-1]["modelVersion"], row["id"]
        streamed = any(
            "partialArgs" in part.get("functionCall", {}) for c in chunks for part in parts_of(c)
        )
        ours = [(call.id, call.name, parse(call.arguments)) for call in reply.calls]
        expected = sdk_calls(row)
        if streamed:
            assert [call[:2] for call in ours] == [call[:2] for call in expected], row["id"]
        else:
            assert ours == [(i, n, a or {}) for i, n, a in expected], row["id"]
        assert reply.stop == ("calls" if ours else "end"), row["id"]


def test_every_streamed_leaf_is_in_the_arguments(shared_data):
    for row in rows(shared_data, API, stream=True):
        body = row["path"].read_bytes()
        leaves = {}
        for chunk in chunks_of(body):
            for part in parts_of(chunk):
                for leaf in part.get("functionCall", {}).get("partialArgs", []):
                    leaves[leaf["jsonPath"]] = leaves.get(leaf["jsonPath"], "") + leaf["stringValue"]
        if leaves:
            call = reply_of(fed(gemini.decoder(), body)).calls[0]
            value = parse(call.arguments)
            for path, text in leaves.items():
                found = value
                for step in path[2:].replace("[", ".").replace("]", "").split("."):
                    found = found[int(step)] if step.isdigit() else found[step]
                assert found == text


def test_every_whole_reply_agrees_with_a_plain_reading(shared_data):
    found = [row for row in rows(shared_data, API, stream=False) if row["status"] == 200]
    assert len(found) >= 65
    for row in found:
        body = row["path"].read_bytes()
        raw = json.loads(body)
        candidate = raw["candidates"][0]
        parts = candidate["content"]["parts"]
        reply = gemini.decode(body)
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        spoken = [part for part in parts if "text" in part]
        assert reply.text == "".join(part["text"] for part in spoken if not part.get("thought"))
        assert reply.reasoning == "".join(part["text"] for part in spoken if part.get("thought"))
        assert [(call.id, call.name, parse(call.arguments)) for call in reply.calls] == [
            (call.get("id", ""), call["name"], call.get("args", {})) for call in calls
        ]
        assert reply.stop_word == candidate["finishReason"]
        assert reply.stop == ("calls" if calls else "end")
        assert reply.usage == usage_of([raw])
        assert reply.model == raw["modelVersion"]
        assert reply.vendor["gemini"]["responseId"] == raw["responseId"]


def test_a_whole_reply_is_the_reply_of_a_stream_of_one_chunk(shared_data):
    for row in rows(shared_data, API, stream=False):
        if row["status"] == 200:
            body = row["path"].read_bytes()
            events = fed(gemini.decoder(), b"data: " + json.dumps(json.loads(body)).encode() + b"\n\n")
            assert_events_tell_the_reply(events)
            assert reply_of(events) == gemini.decode(body)


@pytest.mark.parametrize("stream", [True, False])
def test_every_part_goes_back_as_it_came(shared_data, stream):
    for row in rows(shared_data, API, stream=stream):
        if row["status"] != 200:
            continue
        body = row["path"].read_bytes()
        parts = [part for chunk in chunks_of(body) for part in parts_of(chunk)]
        reply = reply_of(fed(gemini.decoder(), body)) if stream else gemini.decode(body)
        back = returned(reply)
        assert signatures(back) == signatures(parts), row["id"]
        for kind in ("toolCall", "toolResponse", "executableCode", "codeExecutionResult"):
            assert [p for p in back if kind in p] == [p for p in parts if kind in p], row["id"]
        if not any("partialArgs" in p.get("functionCall", {}) for p in parts):
            calls = [p for p in parts if "functionCall" in p]
            assert [p for p in back if "functionCall" in p] == calls, row["id"]
        if not stream:
            assert back == [part for part in parts if part != {"text": ""}], row["id"]


def test_every_refusal_becomes_an_error(shared_data):
    found = [row for row in rows(shared_data, API, stream=False) if row["status"] != 200]
    assert found
    for row in found:
        body = row["path"].read_bytes()
        error = gemini.error(row["status"], {"X-Request-Id": "r1"}, body)
        facts = json.loads(body)
        facts = (facts[0] if isinstance(facts, list) else facts)["error"]
        assert (error.message, error.status, error.vendor_code, error.request_id) == (
            facts["message"],
            row["status"],
            facts["status"],
            "r1",
        )
        assert error.retryable == (row["status"] in {408, 429, 500, 502, 503, 504})
