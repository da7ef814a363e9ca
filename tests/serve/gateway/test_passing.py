"""Same dialect in and out: byte for byte, with only names, keys and addresses changed."""

import asyncio
import json
import re

import aiohttp
import pytest

from rightcall.serve.gateway.request_target import peek, rename_model
from rightcall.serve.gateway.settings import Place
from rightcall.wire.openai_chat import hosts
from serve.gateway.kit import JSON, SSE, Host, gateway, listening, place, post, served

PATHS = {
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/mine:generateContent",
}
STREAMS = {**PATHS, "gemini": "/v1beta/models/mine:streamGenerateContent?alt=sse"}
CHAT = b'{ "model":"mine",  "messages":[{"role":"user","content":"say \\"model\\":\\"mine\\""}],"odd":[1, 2.50]'


def chunk(delta, finish=None):
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    said = {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "up",
        "choices": [choice],
    }
    return b"data: " + json.dumps(said).encode() + b"\n\n"


WHOLE = {
    "openai_chat": b'{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"}'
    b',"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2},"new":1.50}',
    "openai_responses": b'{"id":"r","object":"response","status":"completed","output":[{"type":"message",'
    b'"id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hi",'
    b'"annotations":[]}]}],"usage":{"input_tokens":3,"output_tokens":2},"new":1.50}',
    "anthropic": b'{"id":"m","type":"message","role":"assistant","model":"up","content":[{"type":"text",'
    b'"text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":2},"new":1.50}',
    "gemini": b'{"candidates":[{"content":{"role":"model","parts":[{"text":"Hi"}]},"finishReason":"STOP"}]'
    b',"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2},"new":1.50}',
}
KEYS = {
    "openai_chat": ("authorization", "Bearer vendor-key"),
    "openai_responses": ("authorization", "Bearer vendor-key"),
    "anthropic": ("x-api-key", "vendor-key"),
    "gemini": ("x-goog-api-key", "vendor-key"),
}


@pytest.fixture(autouse=True)
def _vendor_key(monkeypatch):
    monkeypatch.setenv("UP_KEY", "vendor-key")


@pytest.mark.parametrize("dialect", PATHS)
async def test_a_request_and_its_answer_are_passed_as_they_are(dialect):
    host = Host(
        lambda *_: (200, {**JSON, "x-ratelimit-left": "7", "set-cookie": "a=b"}, [WHOLE[dialect]])
    )
    body = b'{ "model":"mine", "messages":[], "contents":[], "input":[], "odd" : [1, 2.50], "max_tokens":9 }'
    sent = {
        "authorization": "Bearer of-the-client",
        "x-api-key": "of-the-client",
        "anthropic-beta": "a-flag,another",
        "x-odd": "kept",
        "cookie": "secret",
        "openai-organization": "somebody-elses",
        "content-type": "application/json",
    }
    async with listening(host) as up:
        models = {"mine": served(place(dialect, up, key_env="UP_KEY"))}
        async with gateway(models) as (made, base):
            status, headers, came = await post(f"{base}{PATHS[dialect]}?beta=true", body, sent)
            spent = made.metrics.text()
    ((path, got, was),) = host.asked
    assert (status, came) == (200, WHOLE[dialect])
    assert headers["x-ratelimit-left"] == "7"
    assert "set-cookie" not in headers
    assert was == (body if dialect == "gemini" else body.replace(b'"mine"', b'"up-model"', 1))
    assert path.endswith("beta=true")
    assert (got["anthropic-beta"], got["x-odd"]) == ("a-flag,another", "kept")
    name, value = KEYS[dialect]
    assert got[name] == value
    assert "of-the-client" not in str(got)
    assert not {"cookie", "openai-organization"} & {*got}
    assert 'rightcall_tokens_total{model="mine",direction="input"} 3' in spent
    assert 'rightcall_tokens_total{model="mine",direction="output"} 2' in spent


async def test_a_stream_is_passed_as_it_is_wherever_it_was_cut():
    whole = (
        b": hello\r\n\r\n"
        + chunk({"role": "assistant", "content": "Hi"})
        + chunk({}, "stop")
        + b"data: [DONE]\n\n"
    )
    for size in (1, 7, 10_000):
        pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
        async with listening(Host(lambda *_, pieces=pieces: (200, SSE, pieces))) as up:
            async with gateway({"mine": served(place("openai_chat", up))}) as (_, base):
                _, _, came = await post(f"{base}/v1/chat/completions", CHAT + b',"stream":true}')
        assert came == whole


def test_only_the_name_of_the_model_changes():
    body = b'{"tools":[{"model":"mine"}],"text":"\\"model\\":\\"mine\\"", "model" : "mine","n":1}'
    assert rename_model(body, "mine", "yours") == body.replace(b'"model" : "mine"', b'"model" : "yours"')
    assert rename_model(body, "mine", "mine") is body
    escaped = b'{"mod\\u0065l":"mine","n":1.50}'
    assert rename_model(escaped, "mine", "yours") == b'{"model":"yours","n":1.50}'


def test_how_a_conversation_begins_stays_the_same_while_it_grows():
    first = b'{"model":"m","system":"s","messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}'
    plain = first.replace(b',"cache_control":{"type":"ephemeral"}', b"")
    assert peek(first + b"]}").beginning == peek(plain + b"]}").beginning
    assert peek(plain + b"]}").beginning != peek(plain.replace(b'"a"', b'"x"') + b"]}").beginning


def test_one_content_may_stand_where_a_list_may():
    one = b'{"parts":{"text":"Hi"}}'
    alone, listed = peek(b'{"contents":%b}' % one), peek(b'{"contents":[%b]}' % one)
    assert alone == listed
    assert alone != peek(b"{}")


@pytest.mark.parametrize("dialect", PATHS)
async def test_a_refusal_is_passed_on_and_always_says_when_to_come_back(dialect):
    said = b'{"error":{"message":"slow down","type":"odd","code":429,"status":"RESOURCE_EXHAUSTED"}}'
    async with listening(Host(lambda *_: (429, JSON, [said]))) as up:
        async with gateway({"mine": served(place(dialect, up))}) as (_, base):
            status, headers, came = await post(f"{base}{PATHS[dialect]}", _asking(dialect))
    assert (status, came) == (429, said)
    assert float(headers["retry-after"]) > 0


async def test_what_a_vendor_says_of_the_gateways_key_is_nobodys_business():
    said = b'{"error":{"message":"Incorrect API key provided: vendor-key","code":"invalid_api_key"}}'
    host = Host(lambda *_: (401, JSON, [said]))
    async with listening(host) as up:
        async with gateway({"mine": served(place("openai_chat", up))}) as (_, base):
            status, _, came = await post(f"{base}/v1/chat/completions", _asking("openai_chat"))
    assert len(host.asked) == 1
    assert status == 500
    assert b"vendor-key" not in came
    assert b"operator" in came


async def test_a_stream_is_given_where_one_was_asked_for():
    async with listening(Host(lambda *_: (200, JSON, [WHOLE["openai_chat"]]))) as up:
        async with gateway({"mine": served(place("openai_chat", up))}) as (_, base):
            _, headers, came = await post(f"{base}/v1/chat/completions", CHAT + b',"stream":true}')
    assert headers["content-type"].startswith("text/event-stream")
    assert came.endswith(b"data: [DONE]\n\n")
    assert b'"finish_reason":"stop"' in came


ENDS = {
    "openai_chat": (chunk({"content": "Hi"}), b'data: {"error":'),
    "anthropic": (
        b'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message",'
        b'"role":"assistant","model":"up","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}\n\n'
        b'event: content_block_start\ndata: {"type":"content_block_start","index":0,'
        b'"content_block":{"type":"text","text":""}}\n\n'
        b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
        b'"delta":{"type":"text_delta","text":"Hi"}}\n\n',
        # The one type that Vercel's AI SDK tries again for inside a stream.
        b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"',
    ),
    "openai_responses": (
        b'event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":'
        b'{"id":"r","object":"response","status":"in_progress","output":[]}}\n\n'
        b'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","item_id":"m",'
        b'"output_index":0,"content_index":0,"sequence_number":1,"delta":"Hi"}\n\n',
        b"response.failed",
    ),
    "gemini": (
        b'data: {"candidates":[{"content":{"role":"model","parts":[{"text":"Hi"}]},"index":0}]}\r\n\r\n',
        b'"finishReason":"OTHER"',
    ),
}


@pytest.mark.parametrize("exact", [True, False], ids=["passed", "translated"])
@pytest.mark.parametrize("broken", [[b'data: {"half":', None], []], ids=["cut", "without an end"])
@pytest.mark.parametrize("dialect", ENDS)
async def test_a_stream_that_breaks_off_ends_with_an_error_and_not_as_if_it_were_whole(
    dialect, broken, exact
):
    begun, end = ENDS[dialect]
    async with listening(Host(lambda *_: (200, SSE, [begun, *broken]))) as up:
        async with gateway({"mine": served(place(dialect, up), exact=exact)}) as (_, base):
            came, is_cut = await _read(f"{base}{STREAMS[dialect]}", _asking(dialect, stream=True))
    # Gemini CLI notices only that.
    assert is_cut == (dialect == "gemini")
    if exact:
        assert came.startswith(begun)
    assert b'"half"' not in came
    assert end in came
    assert b'"type":"message_stop"' not in came
    assert b'"type":"response.completed"' not in came
    assert came.endswith((b"\n\n", b"\r\n\r\n"))


async def _read(url, body):
    """What comes of a stream, and whether the connection was closed in the middle of it."""
    came = bytearray()
    async with aiohttp.ClientSession() as http, http.post(url, json=body) as response:
        try:
            async for piece in response.content.iter_any():
                came += piece
        except aiohttp.ClientPayloadError:
            return bytes(came), True
    return bytes(came), False


def _asking(dialect, **more):
    said = {"role": "user", "content": "Hi"}
    if dialect == "gemini":
        return {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    if dialect == "openai_responses":
        return {"model": "mine", "input": [said], **more}
    return {"model": "mine", "messages": [said], "max_tokens": 50, **more}


COUNTS = [
    b'data: {"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":"a ,\\"usage\\":null b"}}],'
    b'"usage":null}\n\n',
    b'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage": null,"x":1}\n\n',
    b'data: {"usage":null, "id":"c","choices":[{"index":0,"delta":{"content":"\\"usage\\":null,"}}]}\n\n',
    b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"\\"usage\\":{"}}],"usage": {"total_tokens":9,'
    b'"prompt_tokens_details":{"cached_tokens":1}},"y":{"usage":{}}}\n\n',
    b'data: {"usage":{"total_tokens":9},"choices":[{"index":0,"delta":{}}]}\n\n',
    b'data: {"id":"c","choices":[],"usage":{"prompt_tokens":70,"completion_tokens":7,"total_tokens":77}}\n\n',
    b"data: [DONE]\n\n",
]
UNCOUNTED = [
    b'data: {"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":"a ,\\"usage\\":null b"}}]'
    b"}\n\n",
    b'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x":1}\n\n',
    b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"\\"usage\\":null,"}}]}\n\n',
    b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"\\"usage\\":{"}}],"y":{"usage":{}}}\n\n',
    b'data: {"choices":[{"index":0,"delta":{}}]}\n\n',
    b"data: [DONE]\n\n",
]


@pytest.mark.parametrize("size", [7, 100, 10_000])
@pytest.mark.parametrize("options", [b"", b',"stream_options":{"include_usage":true}'])
async def test_a_chat_stream_is_counted_and_the_client_given_what_it_asked_for(
    monkeypatch, options, size
):
    monkeypatch.setattr(hosts, "HOSTS", {"127.0.0.1": hosts.OPENAI})
    said = b"".join(COUNTS)
    pieces = [said[at : at + size] for at in range(0, len(said), size)]
    host = Host(lambda *_: (200, SSE, pieces))
    async with listening(host) as up:
        async with gateway({"mine": served(place("openai_chat", up))}) as (made, base):
            body = CHAT + b',"stream":true' + options + b"}"
            _, _, came = await post(f"{base}/v1/chat/completions", body)
            counted = made.metrics.text()
    assert 'rightcall_tokens_total{model="mine",direction="input"} 70' in counted
    assert 'rightcall_tokens_total{model="mine",direction="output"} 7' in counted
    sent = host.asked[0][2]
    assert sent.count(b'"stream_options":{"include_usage":true}') == 1
    assert json.loads(sent)["messages"]
    assert came == (said if options else b"".join(UNCOUNTED))


async def test_a_host_that_nobody_knows_is_sent_a_chat_request_as_it_came():
    host = Host(lambda *_: (200, SSE, COUNTS))
    async with listening(host) as up:
        async with gateway({"mine": served(place("openai_chat", up))}) as (_, base):
            _, _, came = await post(f"{base}/v1/chat/completions", CHAT + b',"stream":true}')
    assert b"stream_options" not in host.asked[0][2]
    assert came == b"".join(COUNTS)


@pytest.mark.parametrize("leaves", [True, False])
async def test_what_was_said_before_a_stream_broke_off_is_paid_for(monkeypatch, leaves):
    """Or a client that hangs up before the count comes would have its answers for nothing."""
    monkeypatch.setattr(hosts, "HOSTS", {"127.0.0.1": hosts.OPENAI})
    long = b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"%s"}}]}\n\n' % (b"word " * 8000)
    host = Host(lambda *_: (200, SSE, [long, 30.0 if leaves else 0.1, None]))
    async with listening(host) as up:
        priced = Place(use="openai:gpt-4o", base_url=up + "/v1")
        async with gateway({"mine": served(priced)}) as (made, base):
            async with aiohttp.ClientSession() as session:
                body = CHAT + b',"stream":true}'
                async with session.post(f"{base}/v1/chat/completions", data=body) as response:
                    await response.content.readuntil(b"\n\n")
                    if not leaves:
                        await response.read()
            while "tokens_total{" not in (counted := made.metrics.text()):
                await asyncio.sleep(0.01)
    assert 'rightcall_tokens_total{model="mine",direction="output"} 10000' in counted
    assert float(re.findall(r'rightcall_dollars_total\{model="mine"\} (\S+)', counted)[0]) > 0.05
