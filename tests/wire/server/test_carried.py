"""Ids, signatures and encrypted reasoning of any vendor come back through a client of any dialect."""

import json
import zlib
from base64 import b64encode, urlsafe_b64encode
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.core.events import reply_events
from rightcall.core.message import Reasoning, Reply, Results, user_text
from rightcall.core.parts import Call, Result, Text
from rightcall.core.request import ClientRequest, ReplyHeader, Request
from rightcall.errors import VendorError
from rightcall.wire.dialects import SERVED, load, load_server
from rightcall.wire.relay_tokens import (
    RelayToken,
    TokenDecoder,
    call_id,
    encode_token,
    holds_tokens,
    token_in_id,
)
from wire.server.sdks import HI, anthropic_at, google_at, openai_at

ANSWER = ReplyHeader(id="abc123", model="m", created=5)
ASKED = ClientRequest(request=Request(messages=(user_text("Hi"),)), model="m", stream=True)
SIGNATURE = "EqQBCgIYAhIM" + "x/+A9z" * 90 + "=="
THOUGHTS: dict[str, tuple[Any, ...]] = {
    "anthropic": (
        Reasoning("Hm\n", {"anthropic": {"type": "thinking", "signature": SIGNATURE}}),
        Reasoning("", {"anthropic": {"type": "redacted_thinking", "data": SIGNATURE}}),
        Text("So:"),
        Call(id="toolu_1", name="look", arguments='{"a":1}'),
        Call(id="toolu_2", name="find", arguments="{}"),
    ),
    "openai_responses": (
        Reasoning(
            "One",
            {
                "openai_responses": {
                    "type": "reasoning",
                    "id": "rs_1",
                    "summary": [{"type": "summary_text", "text": "One"}],
                    "encrypted_content": SIGNATURE,
                }
            },
        ),
        Call(id="call_1", name="look", arguments='{"a":1}'),
    ),
    "gemini": (
        Text("So:"),
        Call(id="", name="look", arguments="{}", vendor={"gemini": {"thoughtSignature": SIGNATURE}}),
        Call(id="", name="look", arguments='{"a":1}'),
    ),
    "openai_chat": (
        Reasoning("Hm", {"openai_chat": {"field": "reasoning_content"}}),
        Call(id="call_0", name="look", arguments='{"a":1}'),
    ),
}


def echoed(name: str, reply: Reply, *, stream: bool) -> bytes:
    """The client's next request: what it was told, as its SDK gives it back, and the results."""
    server = load_server(name)
    writer = server.writer(ASKED, ANSWER)
    pieces = [writer.write(event) for event in reply_events(reply, 4)]
    pieces = pieces if stream else [server.encode_reply(reply, ASKED, ANSWER)]
    return json.dumps(ECHOES[name](pieces, stream=stream)).encode()


def _chat(pieces: list[bytes], *, stream: bool) -> Any:
    client: Any = openai_at(pieces, stream=stream)
    if stream:
        with client.chat.completions.stream(model="m", messages=HI) as events:
            list(events)
            message = events.get_final_completion().choices[0].message
    else:
        message = client.chat.completions.create(model="m", messages=HI).choices[0].message
    # As most clients do, which give back nothing else.
    calls = [call.to_dict() for call in message.tool_calls]
    kept = {"role": "assistant", "content": message.content, "tool_calls": calls}
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "ok"} for call in calls]
    return {"model": "m", "messages": [*HI, kept, *results]}


def _responses(pieces: list[bytes], *, stream: bool) -> Any:
    client: Any = openai_at(pieces, stream=stream)
    if stream:
        with client.responses.stream(model="m", input="Hi") as events:
            list(events)
            output = events.get_final_response().output
    else:
        output = client.responses.create(model="m", input="Hi").output
    items = [item.to_dict() for item in output]
    results = [
        {"type": "function_call_output", "call_id": item["call_id"], "output": "ok"}
        for item in items
        if item["type"] == "function_call"
    ]
    # Codex gives a thought back with its content null.
    items = [{**item, "content": None} if item["type"] == "reasoning" else item for item in items]
    return {"model": "m", "input": [{"role": "user", "content": "Hi"}, *items, *results]}


def _anthropic(pieces: list[bytes], *, stream: bool) -> Any:
    client: Any = anthropic_at(pieces, stream=stream)
    if stream:
        with client.messages.stream(model="m", messages=HI, max_tokens=9) as events:
            list(events)
            content = events.get_final_message().content
    else:
        content = client.messages.create(model="m", messages=HI, max_tokens=9).content
    blocks = [block.to_dict() for block in content]
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": "ok"}
        for block in blocks
        if block["type"] == "tool_use"
    ]
    told = [{"role": "assistant", "content": blocks}, {"role": "user", "content": results}]
    return {"model": "m", "max_tokens": 9, "messages": [*HI, *told]}


def _gemini(pieces: list[bytes], *, stream: bool) -> Any:
    client: Any = google_at(pieces, stream=stream)
    if stream:
        chunks = list(client.models.generate_content_stream(model="m", contents="Hi"))
    else:
        chunks = [client.models.generate_content(model="m", contents="Hi")]
    parts = [
        part.model_dump(mode="json", by_alias=True, exclude_none=True)
        for chunk in chunks
        for part in chunk.candidates[0].content.parts
        # Google's CLI gives no thoughts back, and nobody gives back what is empty.
        if not part.thought and (part.text or part.function_call)
    ]
    results = [
        {"functionResponse": {"name": part["functionCall"]["name"], "response": {"result": "ok"}}}
        for part in parts
        if "functionCall" in part
    ]
    contents = [{"role": "model", "parts": parts}, {"role": "user", "parts": results}]
    return {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}, *contents]}


ECHOES = {
    "openai_chat": _chat,
    "openai_responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
}


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("vendor", THOUGHTS)
@pytest.mark.parametrize("name", SERVED)
def test_what_a_vendor_wants_back_comes_back(name, vendor, stream):
    reply = Reply(THOUGHTS[vendor], "calls")
    body = echoed(name, reply, stream=stream)
    asked = load_server(name).parse_request(body, path="/v1beta/models/m:generateContent", headers={})
    _, back, results = asked.request.messages
    assert isinstance(back, Reply)
    assert isinstance(results, Results)
    assert [part for part in back.content if isinstance(part, Reasoning)] == [
        part for part in reply.content if isinstance(part, Reasoning)
    ]
    assert back.text == reply.text
    for call, was, result in zip(back.calls, reply.calls, results.results, strict=True):
        assert (call.name, json.loads(call.arguments)) == (was.name, json.loads(was.arguments))
        assert (call.vendor.get(vendor) or None) == was.vendor.get(vendor)
        assert call.id == (was.id or call.id)
        assert result.call_id == call.id
    assert len({call.id for call in back.calls}) == len(reply.calls)
    # And the vendor's own client half sends what the vendor wants.
    sent = load(vendor).encode(asked.request, model="gemini-3-pro", stream=True).body
    if vendor != "openai_chat":
        assert SIGNATURE.encode() in sent
    else:
        assert (
            b'"reasoning_content":"Hm"'
            in load(vendor, "http://localhost/v1").encode(asked.request, model="m", stream=True).body
        )


FILLER = "skip_thought_signature_validator"


@pytest.mark.parametrize("filler", [FILLER, b64encode(FILLER.encode()).decode()])
def test_what_stands_for_a_signature_is_not_forwarded(filler):
    call = {"functionCall": {"name": "look", "args": {}}, "thoughtSignature": filler}
    contents = [
        {"role": "user", "parts": [{"text": "Hi"}]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"output": "1"}}}]},
    ]
    body = json.dumps({"contents": contents}).encode()
    asked = load_server("gemini").parse_request(body, path="/models/m:generateContent", headers={})
    (made,) = asked.request.messages[1].calls
    assert made.vendor == {}
    assert made.id == "call_1"


def test_a_vendors_own_signature_is_kept_for_that_vendor():
    blocks = [
        {"type": "thinking", "thinking": "Hm", "signature": SIGNATURE},
        {"type": "text", "text": "So"},
    ]
    messages = [*HI, {"role": "assistant", "content": blocks}, *HI]
    body = json.dumps({"model": "m", "max_tokens": 9, "messages": messages}).encode()
    asked = load_server("anthropic").parse_request(body, headers={})
    thought = asked.request.messages[1].content[0]
    assert thought == Reasoning("Hm", {"anthropic": {"type": "thinking", "signature": SIGNATURE}})


@pytest.mark.parametrize("name", SERVED)
def test_ids_that_a_model_repeats_are_told_apart(name):
    reply = Reply((Call(id="call_0", name="look", arguments="{}"),), "calls")
    ids = set()
    for number in range(3):
        answer = ReplyHeader(id=f"answer{number}", model="m")
        whole = load(name).decode(load_server(name).encode_reply(reply, ASKED, answer))
        ids.add(whole.calls[0].id)
    assert len(ids) == 3


@given(st.builds(RelayToken, st.text(max_size=40), st.just({"gemini": {"thoughtSignature": SIGNATURE}})))
def test_a_token_holds_what_was_put_into_it(carried):
    assert TokenDecoder().decode(encode_token(carried)) == carried
    assert TokenDecoder().decode(token_in_id(call_id("call_", "a1", 3, carried))) == carried


@given(st.text(max_size=60) | st.text("abcMmxX0123456789_-=", max_size=40).map("cmMx".__add__))
def test_what_is_no_token_is_none(text):
    found = TokenDecoder().decode(text)
    assert found is None or isinstance(found, RelayToken)


def test_a_token_cannot_be_blown_up():
    bomb = b"rc11" + zlib.compress(b"\x00" * (64 * 1024 * 1024), 9)
    assert TokenDecoder().decode(urlsafe_b64encode(bomb).decode()) is None


def test_the_tokens_of_a_request_cannot_be_blown_up_together():
    token = encode_token(RelayToken("x", {}, (Reasoning("a" * 3_000_000),)))
    calls = [
        {"id": f"call_a_{at}_{token}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        for at in range(3)
    ]
    for given_calls, refused in ((calls[:2], None), (calls, 413)):
        body = {"model": "m", "messages": [{"role": "assistant", "tool_calls": given_calls}]}
        status = None
        try:
            load_server("openai_chat").parse_request(
                json.dumps(body).encode(), path="/v1/chat/completions", query="", headers={}
            )
        except VendorError as error:
            status = error.status
        assert status == refused


@pytest.mark.parametrize("mark", ["_cmMxM", "_cmMxM=", '\\"cmMxMa'])
def test_marks_without_end_take_no_longer_than_their_length(mark):
    """Looked at from each mark to the end of the text, they would take many seconds."""
    many = mark * 100_000
    begun = process_time()
    assert not holds_tokens(f'{{"a":"{many} "}}'.encode())
    assert token_in_id(f"{many} ") == ""
    assert process_time() - begun < 2


@pytest.mark.parametrize("name", SERVED)
def test_a_body_that_must_not_be_passed_on_as_it_is_is_known(name):
    reply = Reply(THOUGHTS["anthropic"], "calls")
    assert holds_tokens(echoed(name, reply, stream=False))
    assert not holds_tokens(b'{"messages":[{"role":"user","content":"cmMxMXic and \\"cmMx"}]}')


@pytest.mark.parametrize("url", ["http://localhost:9000/v1", "https://api.openai.com/v1"])
def test_our_own_client_gives_ids_back_to_servers_of_ours_alone(url):
    made = load("openai_chat").decode(
        load_server("openai_chat").encode_reply(Reply(THOUGHTS["anthropic"], "calls"), ASKED, ANSWER)
    )
    results = [
        Result(call_id=call.id, name=call.name, outcome="returned", content=(Text("ok"),))
        for call in made.calls
    ]
    request = Request(messages=(user_text("Hi"), made, Results(tuple(results))))
    sent = load("openai_chat", url).encode(request, model="m", stream=True).body
    back = load_server("openai_chat").parse_request(sent, headers={}).request.messages[1]
    assert isinstance(back, Reply)
    is_signed = any("anthropic" in part.vendor for part in back.content)
    assert is_signed is ("localhost" in url)
    assert len(back.calls) == 2
