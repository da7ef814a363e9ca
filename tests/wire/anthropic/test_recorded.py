"""What Anthropic really sent: streams as its SDK reads them, replies and requests as JSON."""

import json
import re
from typing import Any

import pytest

from rightcall.core.jsontext import parse
from rightcall.core.message import Reply, Results, User, user_text
from rightcall.core.parts import Result, Text, Usage
from rightcall.core.request import Request
from rightcall.core.tool import Spec
from rightcall.errors import VendorError
from rightcall.wire import anthropic
from wire.recorded import assert_events_tell_the_reply, fed, reply_of, rows, same_at_every_cut

API = "anthropic.messages"
STREAMS = 22
SEVERAL_REPLIES = 3
"""Recordings that hold the streams of a whole conversation, one after the other. The SDK, given them as
one, mixes up their blocks: of one call it lost all arguments, which came in seventeen pieces."""


def replies_in(body: bytes) -> list[bytes]:
    """The streams that follow each other in one body."""
    return [
        one for one in re.split(rb"(?<=\n\n)(?=event: message_start)", body) if b"message_stop" in one
    ]


def frames(body: bytes) -> list[dict[str, Any]]:
    lines = body.replace(b"\r\n", b"\n").split(b"\n")
    return [json.loads(line[5:]) for line in lines if line.startswith(b"data:")]


GROWING = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


def read_plainly(body: bytes) -> tuple[list[dict[str, Any]], str]:
    """The blocks and the stop reason of one stream, in the simplest way there is."""
    blocks: list[dict[str, Any]] = []
    stop = ""
    for event in frames(body):
        match event:
            case {"type": "message_start", "message": message}:
                blocks, stop = message["content"], message["stop_reason"] or ""
            case {"type": "content_block_start", "content_block": block}:
                blocks.append(block)
            case {"type": "content_block_delta", "index": index, "delta": delta}:
                grow_plainly(blocks[index], delta)
            case {"type": "message_delta", "delta": delta}:
                stop = delta["stop_reason"]
    for block in blocks:
        if given := block.pop("partial_json", ""):
            block["input"] = json.loads(given)
    return blocks, stop


def grow_plainly(block, delta):
    kind = delta["type"]
    if kind == "signature_delta":
        block["signature"] = delta["signature"]
    elif kind == "citations_delta":
        block.setdefault("citations", []).append(delta["citation"])
    else:
        block[GROWING[kind]] = block.get(GROWING[kind], "") + delta[GROWING[kind]]


def text_of(blocks):
    return "".join(block["text"] for block in blocks if block["type"] == "text")


def thoughts_of(blocks):
    return "".join(block["thinking"] for block in blocks if block["type"] == "thinking")


def calls_of(blocks):
    return [(b["id"], b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"]


def our_calls(reply: Reply):
    return [(call.id, call.name, parse(call.arguments)) for call in reply.calls]


def sent_back(reply: Reply) -> list[dict[str, Any]]:
    """The blocks of a reply as the next request holds them."""
    outcomes = [
        Result(call_id=call.id, name=call.name, outcome="returned", content=()) for call in reply.calls
    ]
    after = Results(tuple(outcomes)) if outcomes else user_text("And?")
    request = Request(messages=(user_text("Hi"), reply, after), options={"cache": False})
    messages = json.loads(anthropic.encode(request, model="m", stream=False).body)["messages"]
    return messages[1]["content"] if messages[1:] else []


def returnable(blocks):
    """The blocks that may go back: none that say nothing, and no members that do."""
    kept = [block for block in blocks if block["type"] != "text" or block["text"].strip()]
    return [{key: value for key, value in b.items() if key != "citations" or value} for b in kept]


def test_every_recorded_stream_agrees_with_the_vendors_sdk(shared_data):
    agreed = 0
    for row in rows(shared_data, API, stream=True):
        body = row["path"].read_bytes()
        if len(replies_in(body)) > 1:
            continue
        told = same_at_every_cut(anthropic, body)
        assert_events_tell_the_reply(told)
        reply, sdk = reply_of(told), row["sdk"]
        assert reply.text == sdk["text"], row["id"]
        assert our_calls(reply) == [
            (call["id"], call["name"], json.loads(call["arguments"])) for call in sdk["tool_calls"]
        ], row["id"]
        assert reply.stop_word == sdk["finish"], row["id"]
        assert reply.reasoning == (sdk.get("reasoning") or thoughts_of(read_plainly(body)[0])), row["id"]
        agreed += 1
    assert agreed == STREAMS - SEVERAL_REPLIES


def test_of_several_recorded_replies_in_one_body_each_is_read_by_itself(shared_data):
    several = 0
    for row in rows(shared_data, API, stream=True):
        body = row["path"].read_bytes()
        parts = replies_in(body)
        if len(parts) == 1:
            continue
        several += 1
        assert fed(anthropic.Decoder(), body)[-1] == fed(anthropic.Decoder(), parts[0])[-1]
        for part in parts:
            told = same_at_every_cut(anthropic, part)
            assert_events_tell_the_reply(told)
            reply, (blocks, stop) = reply_of(told), read_plainly(part)
            assert (reply.text, reply.stop_word) == (text_of(blocks), stop)
            assert our_calls(reply) == calls_of(blocks)
    assert several == SEVERAL_REPLIES


def test_what_was_recorded_goes_back_exactly_as_it_came(shared_data):
    for row in rows(shared_data, API, stream=True):
        for body in replies_in(row["path"].read_bytes()):
            reply = reply_of(fed(anthropic.Decoder(), body))
            assert sent_back(reply) == returnable(read_plainly(body)[0]), row["id"]
    for row in rows(shared_data, API, stream=False):
        if row["status"] == 200:
            body = row["path"].read_bytes()
            assert sent_back(anthropic.decode(body)) == returnable(json.loads(body)["content"]), row[
                "id"
            ]


def test_every_recorded_citation_is_with_the_text_that_it_stands_beside(shared_data):
    cited = 0
    for row in rows(shared_data, API, stream=True):
        for body in replies_in(row["path"].read_bytes()):
            reply = reply_of(fed(anthropic.Decoder(), body))
            ours = [
                (part.text, part.vendor.get("anthropic", {}).get("citations"))
                for part in reply.content
                if isinstance(part, Text)
            ]
            theirs = [
                (block["text"], block.get("citations") or None)
                for block in read_plainly(body)[0]
                if block["type"] == "text" and (block["text"] or block.get("citations"))
            ]
            assert ours == theirs, row["id"]
            cited += sum(citations is not None for _, citations in ours)
    assert cited > 0


def test_every_recorded_reply_is_what_its_json_says(shared_data):
    read = 0
    for row in rows(shared_data, API, stream=False):
        if row["status"] != 200:
            continue
        message = json.loads(row["path"].read_bytes())
        reply = anthropic.decode(row["path"].read_bytes())
        usage = message["usage"]
        cached, written = usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"]
        assert reply.text == text_of(message["content"])
        assert reply.reasoning == thoughts_of(message["content"])
        assert our_calls(reply) == calls_of(message["content"])
        assert (reply.stop, reply.stop_word) == ("calls", message["stop_reason"])
        assert reply.model == message["model"]
        assert reply.usage == Usage(
            input_tokens=usage["input_tokens"] + cached + written,
            output_tokens=usage["output_tokens"],
            cached_tokens=cached,
            cache_written_tokens=written,
            reasoning_tokens=(usage.get("output_tokens_details") or {}).get("thinking_tokens", 0),
        )
        read += 1
    assert read == 42


def test_every_recorded_refusal_keeps_its_facts(shared_data):
    refusals = [row for row in rows(shared_data, API, stream=False) if row["status"] != 200]
    assert len(refusals) == 1
    for row in refusals:
        body = row["path"].read_bytes()
        told = json.loads(body)
        error = anthropic.error(row["status"], {}, body)
        assert error.message == told["error"]["message"]
        assert (error.status, error.vendor_code) == (row["status"], told["error"]["type"])
        assert (error.request_id, error.retryable) == (told["request_id"], False)
        with pytest.raises(VendorError):
            anthropic.decode(body)


def test_every_recorded_stream_that_is_cut_short_is_no_reply(shared_data):
    for row in rows(shared_data, API, stream=True):
        body = replies_in(row["path"].read_bytes())[0].rstrip()
        for cut in range(0, len(body), max(len(body) // 100, 1)):
            decoder = anthropic.Decoder()
            decoder.feed(body[:cut])
            with pytest.raises(Exception, match="anthropic: ") as caught:
                decoder.finish()
            assert type(caught.value).__name__ in ("TruncatedStream", "ProtocolError")


def as_blocks(content):
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def as_message(message):
    """One recorded message as ours."""
    blocks = as_blocks(message["content"])
    if message["role"] == "assistant":
        return [anthropic.decode(json.dumps({"content": blocks}).encode())]
    results = [as_result(block) for block in blocks if block["type"] == "tool_result"]
    texts = tuple(Text(block["text"]) for block in blocks if block["type"] == "text")
    other = [block for block in blocks if block["type"] not in ("tool_result", "text")]
    spoken = [User(texts, vendor={"anthropic": other} if other else {})] if texts or other else []
    return [*([Results(tuple(results))] if results else []), *spoken]


def as_result(block):
    content = as_blocks(block["content"])
    is_text = all(part["type"] == "text" for part in content)
    return Result(
        call_id=block["tool_use_id"],
        name="",
        outcome="failed" if block.get("is_error") else "returned",
        content=tuple(Text(part["text"]) for part in content) if is_text else (),
        vendor={} if is_text else {"anthropic": {"content": content}},
    )


COVERED = {"name", "description", "input_schema"}
CHOICES = {"auto": "auto", "any": "required", "none": "none"}
EXTRA = ("cache_control", "container", "context_management")


def as_request(body) -> Request:
    """A recorded request as ours."""
    tools = body.get("tools", [])
    options: dict[str, Any] = {
        "strict": False,
        "cache": False,
        "vendor_tools": [tool for tool in tools if tool.keys() - COVERED],
        "extra": {key: body[key] for key in EXTRA if key in body},
    }
    thinking = body.get("thinking", {})
    if thinking.get("type") == "enabled":
        options["reasoning"] = thinking["budget_tokens"]
    elif thinking.get("type") == "adaptive":
        options["reasoning"] = body["output_config"]["effort"]
    system = body.get("system") or ""
    return Request(
        messages=tuple(ours for message in body["messages"] for ours in as_message(message)),
        system=system if isinstance(system, str) else "".join(block["text"] for block in system),
        specs=tuple(
            Spec(name=t["name"], description=t["description"], parameters=t["input_schema"])
            for t in tools
            if not t.keys() - COVERED
        ),
        choice=CHOICES[body.get("tool_choice", {"type": "auto"})["type"]],
        output=body.get("output_config", {}).get("format", {}).get("schema"),
        max_tokens=body["max_tokens"],
        options=options,
    )


MEANINGLESS = [("is_error", False), ("description", "")]


def normal(value):
    """A body without the differences that mean nothing."""
    if isinstance(value, list):
        return [normal(item) for item in value]
    if not isinstance(value, dict):
        return value
    plain = {key: normal(item) for key, item in value.items() if key != "cache_control"}
    if plain.get("type") == "tool_result" or "role" in plain:
        plain["content"] = as_blocks(plain.get("content", []))
    return {key: item for key, item in plain.items() if (key, item) not in MEANINGLESS}


def normal_body(body):
    plain = normal(body)
    plain["tools"] = sorted(plain.get("tools", []), key=lambda tool: tool["name"])
    plain["system"] = "".join(block["text"] for block in as_blocks(plain.get("system", [])))
    if plain.get("tool_choice") == {"type": "auto"}:
        del plain["tool_choice"]
    if plain.get("stream") is False:
        del plain["stream"]
    return plain


def test_every_recorded_request_can_be_said_and_means_the_same(shared_data):
    same = skipped = 0
    every = [*rows(shared_data, API, stream=True), *rows(shared_data, API, stream=False)]
    for row in every:
        if row["request"] is None:
            continue
        body = json.loads((shared_data / "wire" / row["request"]).read_text())
        if any(message["role"] == "system" for message in body["messages"]):
            # A beta that our messages have no word for.
            skipped += 1
            continue
        ours = anthropic.encode(as_request(body), model=body["model"], stream=body.get("stream", False))
        assert normal_body(json.loads(ours.body)) == normal_body(body), row["id"]
        same += 1
    assert (same, skipped) == (52, 1)
