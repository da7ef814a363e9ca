"""What stands at which address, and what clients need besides answers."""

import asyncio
import base64
import json
import random
import re

import aiohttp
import pytest

from rightcall.core.message import Reasoning, User
from rightcall.core.parts import Call, Media, Text
from rightcall.errors import VendorError
from rightcall.serve.gateway.exchange import TokenHandles
from rightcall.serve.gateway.keys import Allowed, Keys, add_key
from rightcall.serve.gateway.settings import Bounds
from rightcall.testing.scripted_model import Break, ScriptedModel, Turn, call, reply
from rightcall.wire.relay_tokens import holds_tokens
from rightcall.wire.translation_losses import lost_members
from serve.gateway.kit import JSON, Host, chain, gateway, get, listening, place, post, served

ASK = {
    "openai_chat": (
        "/v1/chat/completions",
        {"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
    ),
    "openai_responses": ("/v1/responses", {"model": "m", "input": "Hi"}),
    "anthropic": (
        "/v1/messages",
        {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]},
    ),
    "gemini": ("/v1beta/models/m:generateContent", {"contents": [{"parts": [{"text": "Hi"}]}]}),
}
TOOLS = [{"name": "go", "description": "", "input_schema": {"type": "object", "properties": {}}}]


async def test_health_and_the_rest_need_no_body():
    async with gateway({"m": ScriptedModel(["Hi"])}) as (_, base):
        assert (await get(f"{base}/health"))[0] == 200
        async with aiohttp.ClientSession() as session, session.head(f"{base}/api/hello") as response:
            assert response.status == 200
        assert (await get(f"{base}/nowhere"))[0] == 404
        assert (await get(f"{base}/v1/chat/completions"))[0] == 405
        status, _, told = await get(f"{base}/metrics")
    assert status == 200
    assert b"# TYPE rightcall_requests_total counter" in told


async def test_a_websocket_is_answered_with_426():
    headers = {"connection": "upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
    async with gateway({"m": ScriptedModel([])}) as (_, base):
        status, _, _ = await get(f"{base}/v1/responses", headers)
    assert status == 426


@pytest.mark.parametrize("version", ["/v1", "/v1beta", ""])
async def test_gemini_is_served_under_every_version(version):
    async with gateway({"m": ScriptedModel(["Hi"])}) as (_, base):
        status, _, told = await post(f"{base}{version}/models/m:generateContent", ASK["gemini"][1])
    assert status == 200
    assert json.loads(told)["candidates"][0]["content"]["parts"][0]["text"] == "Hi"


async def test_models_are_listed_in_the_askers_shape():
    async with gateway({"m": ScriptedModel([]), "n-*": ScriptedModel([])}) as (_, base):
        chat = json.loads((await get(f"{base}/v1/models"))[2])
        messages = json.loads(
            (await get(f"{base}/v1/models?limit=9", {"anthropic-version": "2023-06-01"}))[2]
        )
        gemini = json.loads((await get(f"{base}/v1beta/models"))[2])
        one = json.loads((await get(f"{base}/v1/models/m"))[2])
        status, _, _ = await get(f"{base}/v1/models/other")
    assert [each["id"] for each in chat["data"]] == ["m"]
    assert chat["object"] == "list"
    assert messages["data"][0]["type"] == "model"
    assert messages["has_more"] is False
    assert gemini["models"][0]["name"] == "models/m"
    assert (one["id"], one["object"]) == ("m", "model")
    assert status == 404


async def test_tokens_are_counted_by_the_vendor_or_about():
    body = {"model": "m", "messages": [{"role": "user", "content": "word " * 100}], "tools": TOOLS}
    host = Host(lambda *_: (200, JSON, [b'{"input_tokens":1234}']))
    async with listening(host) as up:
        async with gateway({"m": served(place("anthropic", up)), "e": ScriptedModel([])}) as (_, base):
            counted = json.loads((await post(f"{base}/v1/messages/count_tokens?beta=true", body))[2])
            told = json.loads(
                (await post(f"{base}/v1/messages/count_tokens", {**body, "model": "e"}))[2]
            )
            contents = {"contents": [{"parts": [{"text": "word " * 100}]}]}
            about = json.loads((await post(f"{base}/v1beta/models/e:countTokens", contents))[2])
    assert counted == {"input_tokens": 1234}
    assert host.asked[0][0] == "/v1/messages/count_tokens?beta=true"
    assert 80 < told["input_tokens"] < 250
    assert 80 < about["totalTokens"] < 250


@pytest.mark.parametrize("dialect", ASK)
async def test_a_quiet_stream_is_kept_alive_in_the_clients_own_way(dialect):
    path, body = ASK[dialect]
    path = path.replace(":generateContent", ":streamGenerateContent?alt=sse")
    model = ScriptedModel([Turn(reply=reply("Hi"), delay=0.25)])
    async with gateway({"m": model}, bounds=Bounds(quiet_seconds=0.06)) as (_, base):
        _, _, came = await post(
            f"{base}{path}", {**body, "stream": True} if dialect != "gemini" else body
        )
    before = came[: came.index(b"Hi")]
    alive = {
        "openai_chat": b": keep-alive\n\n",
        "openai_responses": b": keep-alive\n\n",
        "anthropic": b"event: ping\n",
        "gemini": b'{"text":""}',
    }[dialect]
    assert before.count(alive) >= 2
    if dialect == "gemini":
        assert not any(line.startswith(b":") for line in came.splitlines())


OVERFLOW = VendorError("too long", kind="context_overflow", status=400)


@pytest.mark.parametrize("dialect", ASK)
async def test_an_overflow_is_said_in_the_clients_own_words(dialect):
    path, body = ASK[dialect]
    model = ScriptedModel(lambda _: Turn(breaks=Break(0, OVERFLOW)))
    async with gateway({"m": model}) as (_, base):
        status, _, told = await post(f"{base}{path}", body)
        codex = {"originator": "codex_exec", "user-agent": "codex_exec/0.166.0"}
        again = (
            await post(f"{base}{path}", {**body, "stream": True}, codex)
            if dialect == "openai_responses"
            else None
        )
    words = {
        "openai_chat": b"context_length_exceeded",
        "openai_responses": b"context_length_exceeded",
        "anthropic": b"prompt is too long",
        "gemini": b"INVALID_ARGUMENT",
    }[dialect]
    assert status == 400
    assert words in told
    if again is not None:
        assert again[0] == 200
        assert b"response.failed" in again[2]
        assert words in again[2]


async def test_ids_never_repeat_in_a_conversation():
    model = ScriptedModel(lambda _: reply(call("go", id="call_0"), call("go", id="call_0")))
    body = {**ASK["anthropic"][1], "tools": TOOLS}
    seen = []
    async with gateway({"m": model}) as (_, base):
        for _ in range(3):
            told = json.loads((await post(f"{base}/v1/messages", body))[2])
            seen += [told["id"], *(block["id"] for block in told["content"])]
    assert len(set(seen)) == 9


async def test_a_conversation_that_was_translated_is_translated_to_the_clients_own_vendor_too():
    body = {**ASK["anthropic"][1], "tools": TOOLS}
    said = {"id": "m", "type": "message", "role": "assistant", "content": [], "stop_reason": "end_turn"}
    host = Host(lambda *_: (200, JSON, [json.dumps({**said, "usage": {}}).encode()]))
    async with listening(host) as up:
        models = {
            "m": ScriptedModel([reply(call("go", id="call_0"))]),
            "n": served(place("anthropic", up)),
        }
        async with gateway(models) as (_, base):
            first = json.loads((await post(f"{base}/v1/messages", body))[2])
            (block,) = first["content"]
            results = [{"type": "tool_result", "tool_use_id": block["id"], "content": "done"}]
            history = [
                *body["messages"],
                {"role": "assistant", "content": first["content"]},
                {"role": "user", "content": results},
            ]
            await post(f"{base}/v1/messages", {**body, "model": "n", "messages": history})
    sent = json.loads(host.asked[0][2])
    assert block["id"] != "call_0"
    assert [message["content"][0].get("id") for message in sent["messages"][1:2]] == ["call_0"]
    assert sent["messages"][2]["content"][0]["tool_use_id"] == "call_0"


async def test_what_is_left_out_is_named():
    body = {**ASK["openai_chat"][1], "n": 2, "logit_bias": {"1": 2}}
    async with gateway({"m": ScriptedModel(["Hi"])}) as (made, base):
        _, headers, _ = await post(f"{base}/v1/chat/completions", body)
        told = made.metrics.text()
    assert "logit_bias" in headers["x-rightcall-left-out"]
    assert 'rightcall_left_out_total{model="m"}' in told


@pytest.mark.parametrize("observers", [(), (lambda *_: None,)], ids=["alone", "watched"])
async def test_items_that_a_client_of_responses_refers_to_are_remembered(observers):
    model = ScriptedModel([reply("One."), reply("Two.")])
    async with gateway({"m": model}, observers=observers) as (_, base):
        first = json.loads((await post(f"{base}/v1/responses", {"model": "m", "input": "Hi"}))[2])
        items = [
            {"role": "user", "content": "Hi"},
            {"type": "item_reference", "id": first["output"][0]["id"]},
            {"role": "user", "content": "And?"},
        ]
        status, _, _ = await post(f"{base}/v1/responses", {"model": "m", "input": items})
        items[1]["id"] = "msg_unknown"
        unknown, _, words = await post(f"{base}/v1/responses", {"model": "m", "input": items})
    assert status == 200
    assert [message.text for message in model.requests[1].messages] == ["Hi", "One.", "And?"]
    assert unknown == 404
    assert b"msg_unknown" in words


@pytest.mark.parametrize("dialect", ASK)
async def test_errors_have_the_clients_own_shape(dialect):
    path, body = ASK[dialect]
    path = path.replace("/m:", "/other:")
    async with gateway({"m": ScriptedModel([])}) as (_, base):
        status, _, told = await post(
            f"{base}{path}", {**body, "model": "other"} if dialect != "gemini" else body
        )
        broken, _, _ = await post(f"{base}{path}", b"{")
    error = json.loads(told)
    assert (status, broken) == (404, 400)
    assert "other" in error["error"]["message"]
    assert (dialect == "anthropic") == (error.get("type") == "error")
    assert (dialect == "gemini") == (error["error"].get("status") == "NOT_FOUND")


async def test_a_client_that_leaves_ends_what_was_done_for_it():
    left = asyncio.Event()

    class Slow(ScriptedModel):
        async def _play(self, turn):
            try:
                yield (await anext(super()._play(turn)))
                await asyncio.sleep(30)
            finally:
                left.set()

    async with gateway({"m": Slow([reply("Hello, you")])}) as (made, base):
        async with aiohttp.ClientSession() as session:
            body = {**ASK["openai_chat"][1], "stream": True}
            async with session.post(f"{base}/v1/chat/completions", json=body) as response:
                await response.content.readany()
        await asyncio.wait_for(left.wait(), 2)
        await asyncio.sleep(0.01)
        assert 'status="left"' in made.metrics.text()
        assert made.metrics.under_way == 0


async def test_the_next_request_of_a_connection_is_watched_while_the_last_is_cleaned_up():
    left = asyncio.Event()

    class Tidy(ScriptedModel):
        async def _play(self, turn):
            try:
                async for event in super()._play(turn):
                    yield event
                    if len(self.requests) > 1:
                        await asyncio.sleep(30)
            finally:
                if len(self.requests) > 1:
                    left.set()
                await asyncio.sleep(0.3)

    model = Tidy([reply("One"), reply("Two")])
    async with gateway({"m": model}) as (_, base):
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1)) as session:
            body = {**ASK["openai_chat"][1], "stream": True}
            async with session.post(f"{base}/v1/chat/completions", json=body) as response:
                await response.read()
            async with session.post(f"{base}/v1/chat/completions", json=body) as response:
                await response.content.readany()
                await asyncio.sleep(0.5)
        await asyncio.wait_for(left.wait(), 5)


PICTURE = "iVBORw0KGgo="
DOCUMENT = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
SAID_OF = {
    "openai_chat": (
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}", "detail": "low"}},
        {"anthropic": ["detail"], "gemini": ["detail"], "": ["detail"]},
    ),
    "openai_responses": (
        {"type": "input_image", "image_url": f"data:image/png;base64,{PICTURE}", "detail": "high"},
        {"anthropic": ["detail"], "gemini": ["detail"]},
    ),
    "anthropic": (
        {"type": "document", "title": "T", "citations": {"enabled": True}, "source": DOCUMENT},
        {"openai_chat": ["citations"], "gemini": ["citations", "title"]},
    ),
    "gemini": (
        {"inlineData": {"mimeType": "image/png", "data": PICTURE, "displayName": "n"}},
        {"openai_chat": ["displayName"], "anthropic": ["displayName"]},
    ),
}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("client", "target"),
    [(client, target) for client, (_, lost) in SAID_OF.items() for target in lost],
)
async def test_what_is_said_of_files_is_named_where_it_is_lost(client, target, stream):
    part, lost = SAID_OF[client]
    path, body = "/v1/messages", {"model": "m", "max_tokens": 9}
    if client == "gemini":
        path = "/v1beta/models/m:generateContent"
        body = {"contents": [{"role": "user", "parts": [part]}]}
        if stream:
            path = path.replace(":generate", ":streamGenerate")
    elif client == "openai_responses":
        path = "/v1/responses"
        body = {"model": "m", "input": [{"role": "user", "content": [part]}], "stream": stream}
    else:
        if client == "openai_chat":
            path = "/v1/chat/completions"
        body |= {"messages": [{"role": "user", "content": [part]}], "stream": stream}
    model = ScriptedModel(lambda _: "Hi")
    made = chain(target, model) if target else gateway({"m": model})
    async with made as (_, base):
        status, headers, _ = await post(base + path, body)
    assert status == 200
    assert headers["x-rightcall-left-out"] == ", ".join(
        f"messages[0].content[0].{name}" for name in lost[target]
    )


@pytest.mark.parametrize(
    ("wish", "lost"), [("auto", "truncation: auto"), ("disabled", None), (None, None)]
)
async def test_that_nothing_is_truncated_is_said_to_those_who_wish_it(wish, lost):
    body = {"model": "m", "input": "Hi", "truncation": wish}
    async with gateway({"m": ScriptedModel(lambda _: "Hi")}) as (_, base):
        status, headers, _ = await post(f"{base}/v1/responses", body)
    assert (status, headers.get("x-rightcall-left-out")) == (200, lost)


def test_marks_and_defaults_are_no_loss():
    picture = Media(b"x", "image/png", vendor={"openai_chat": {"detail": "auto"}})
    marked = Text("Hi", {"anthropic": {"cache_control": {"type": "ephemeral"}}})
    messages = (User((picture, marked)),)
    assert [*lost_members(messages, "openai_chat", "anthropic")] == []
    assert [*lost_members(messages, "anthropic", "openai_chat")] == []


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("/v1/messages/nothing", {"type": "error"}),
        ("/v1beta/nothing", {"error": {"status": "NOT_FOUND"}}),
        ("/v1/nothing", {"error": {"type": "invalid_request_error", "code": None}}),
    ],
)
async def test_an_address_with_nothing_is_said_in_its_dialects_shape(path, shape):
    async with gateway({"m": ScriptedModel(lambda _: "Hi")}) as (_, base):
        status, _, told = await post(base + path, {})
        wrong, _, words = await get(f"{base}/v1beta/models/m:generateContent")
    answer = json.loads(told)
    assert status == 404
    assert shape.items() <= answer.items() or shape["error"].items() <= answer["error"].items()
    assert path in answer["error"]["message"]
    # All of what follows models/ is a name, for a GET.
    assert wrong == 404
    assert json.loads(words)["error"]["code"] == 404


async def test_a_wrong_method_is_said_in_the_dialects_shape():
    async with gateway({"m": ScriptedModel(lambda _: "Hi")}) as (_, base):
        told = [await get(f"{base}{path}") for path in ("/v1/messages", "/v1/chat/completions")]
        posted, _, words = await post(f"{base}/v1beta/models", {})
    assert [status for status, _, _ in told] == [405, 405]
    assert json.loads(told[0][2])["type"] == "error"
    assert (posted, json.loads(words)["error"]["code"]) == (405, 405)


async def test_models_of_a_pattern_are_found_and_listed():
    keys, text = add_key(Keys(), "alice", Allowed(models=("c-ok", "c-a*", "m")), "2026-11-16")
    model = ScriptedModel(lambda _: "Hi")
    headers = {"authorization": f"Bearer {text}"}
    async with gateway({"c-*": model, "m": model}, keys=keys) as (_, base):

        async def listed(**more):
            found = json.loads((await get(f"{base}/v1/models", headers | more))[2])
            return [each["id"] for each in found["data"]]

        before = await listed()
        for name in ("c-abc", "c-other"):
            body = {"model": name, "messages": [{"role": "user", "content": "Hi"}]}
            await post(f"{base}/v1/chat/completions", body, headers)
        after = await listed(**{"anthropic-version": "2023-06-01"})
        found = [(await get(f"{base}/v1/models/{name}", headers))[0] for name in ("c-ok", "c-x", "x")]
        _, _, google = await get(f"{base}/v1beta/models/c-ok", headers)
    assert before == ["m", "c-ok"]
    assert after == ["m", "c-ok", "c-abc"]
    assert found == [200, 404, 404]
    assert json.loads(google)["name"] == "models/c-ok"


SIGNATURE = base64.b64encode(random.Random(5).randbytes(6_450)).decode()
THOUGHT = Reasoning("Hm", {"anthropic": {"type": "thinking", "signature": SIGNATURE}})
CHAT_TOOL = {"type": "function", "function": {"name": "go", "parameters": {"type": "object"}}}


async def ask_for_call(url, stream):
    """The message with a call that a client of Chat gets."""
    body = {**ASK["openai_chat"][1], "tools": [CHAT_TOOL], "stream": stream}
    _, _, came = await post(url, body)
    if not stream:
        return json.loads(came)["choices"][0]["message"]["tool_calls"][0]["id"]
    return re.search(rb'"id":"(call_[^"]*)"', came)[1].decode()


def with_result(identity):
    function = {"name": "go", "arguments": "{}"}
    asked = {"role": "assistant", "content": None}
    asked["tool_calls"] = [{"id": identity, "type": "function", "function": function}]
    told = {"role": "tool", "tool_call_id": identity, "content": "done"}
    body = ASK["openai_chat"][1]
    return {**body, "tools": [CHAT_TOOL], "messages": [*body["messages"], asked, told]}


@pytest.mark.parametrize("stream", [True, False])
async def test_a_long_thought_comes_back_by_a_short_handle(stream):
    model = ScriptedModel([reply(THOUGHT, call("go", id="toolu_1")), reply("Done.")])
    async with gateway({"m": model}) as (_, base):
        url = f"{base}/v1/chat/completions"
        identity = await ask_for_call(url, stream)
        status, headers, _ = await post(url, with_result(identity))
    asked = model.requests[1].messages[1]
    assert len(identity) < 64
    assert status == 200
    assert asked.content == (THOUGHT, Call(id="toolu_1", name="go", arguments="{}"))
    assert model.requests[1].messages[2].results[0].call_id == "toolu_1"
    assert "whose handles" not in headers.get("x-rightcall-left-out", "")


async def test_where_nothing_may_be_kept_the_thought_is_in_the_id():
    model = ScriptedModel([reply(THOUGHT, call("go", id="toolu_1")), reply("Done.")])
    async with gateway({"m": model}, bounds=Bounds(handle_bytes=0)) as (_, base):
        identity = await ask_for_call(f"{base}/v1/chat/completions", stream=False)
    assert len(identity) > 6_000
    async with gateway({"m": model}) as (_, base):
        await post(f"{base}/v1/chat/completions", with_result(identity))
    assert model.requests[1].messages[1].content[0] == THOUGHT


@pytest.mark.parametrize("bounds", [Bounds(), Bounds(handle_bytes=1)])
async def test_a_handle_that_is_not_known_is_an_id_without_a_thought(bounds):
    """After a restart, at another gateway, or when there were too many."""
    model = ScriptedModel([reply(THOUGHT, call("go", id="toolu_1")), reply("Done.")])
    async with gateway({"m": model}, bounds=bounds) as (made, base):
        identity = await ask_for_call(f"{base}/v1/chat/completions", stream=False)
        if bounds.handle_bytes == 1:
            assert made._handles._tokens == {}
    async with gateway({"m": model}) as (_, base):
        status, headers, _ = await post(f"{base}/v1/chat/completions", with_result(identity))
    asked, told = model.requests[1].messages[1:]
    assert status == 200
    assert [type(part) for part in asked.content] == [Call]
    assert told.results[0].call_id == asked.calls[0].id
    assert "whose handles are not known here" in headers["x-rightcall-left-out"]


@pytest.mark.parametrize("stream", [True, False])
async def test_a_handle_of_another_gateway_goes_back_to_it(stream):
    model = ScriptedModel([reply(THOUGHT, call("go", id="toolu_1")), reply("Done.")])
    async with chain("openai_chat", model) as (_, base):
        url = f"{base}/v1/chat/completions"
        identity = await ask_for_call(url, stream)
        status, _, _ = await post(url, with_result(identity))
    assert (len(identity) < 100, status) == (True, 200)
    assert model.requests[1].messages[1].content[0] == THOUGHT


def test_handles_are_a_keys_own_and_cannot_make_a_request_grow_without_end():
    handles = TokenHandles()
    handle = handles.add("alice", 10_000, "x" * 5_000)
    body = f'{{"a":"call_1_0_{handle}","b":"call_1_0_{handle}"}}'.encode()
    assert handles.expand("bob", body, 10_000) == body
    assert holds_tokens(body)
    with pytest.raises(VendorError, match="10,000 bytes"):
        handles.expand("alice", body, 10_000)
    assert handles.expand("alice", body, 20_000).count(b"x" * 5_000) == 2
    handles.add("alice", 10_000, "y" * 5_001)
    assert handles.expand("alice", body, 20_000) == body
