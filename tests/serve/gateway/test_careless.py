"""Upstreams that are careless, and what other proxies were seen to make of them."""

import json
import time

import pytest

from rightcall.serve.gateway.passthrough import Events
from serve.gateway.kit import JSON, SSE, Host, gateway, listening, place, post, served

TOOL = {"type": "object", "properties": {"city": {"type": "string"}}}
MESSAGES = {
    "model": "m",
    "max_tokens": 99,
    "stream": True,
    "messages": [{"role": "user", "content": "Hi"}],
    "tools": [{"name": "weather", "description": "", "input_schema": TOOL}],
}
RESPONSES = {
    "model": "m",
    "stream": True,
    "input": "Hi",
    "tools": [{"type": "function", "name": "weather", "parameters": TOOL, "strict": False}],
}


def chunk(finish=None, **delta):
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def piece(index, arguments, name=None, id_=None):
    function = {"arguments": arguments} | ({"name": name} if name else {})
    return {"index": index, "function": function} | ({"id": id_, "type": "function"} if id_ else {})


def stream(*chunks, end=True):
    said = [b"data: " + json.dumps(each).encode() + b"\n\n" for each in chunks]
    return (200, SSE, [*said, *([b"data: [DONE]\n\n"] if end else [])])


async def asked(answer, path, body):
    """What a client reads where a Chat upstream answers so."""
    async with listening(Host(lambda *_: answer)) as up:
        async with gateway({"m": served(place("openai_chat", up))}) as (_, base):
            return await post(f"{base}{path}", body)


def events(came):
    return [json.loads(line[6:]) for line in came.decode().splitlines() if line.startswith("data: {")]


def blocks(came):
    """The content blocks of a stream of Messages, put together as its client does."""
    found, at, opened = {}, None, []
    for event in events(came):
        if event["type"] == "content_block_start":
            assert at is None, "a block began inside another"
            at = event["index"]
            found[at] = dict(event["content_block"], said="")
            opened.append(at)
        elif event["type"] == "content_block_delta":
            assert event["index"] == at
            delta = event["delta"]
            found[at]["said"] += delta.get("text", "") + delta.get("partial_json", "")
        elif event["type"] == "content_block_stop":
            assert event["index"] == at
            at = None
    assert opened == list(range(len(opened)))
    return list(found.values())


INTERLEAVED = stream(
    chunk(role="assistant", content="See."),
    chunk(tool_calls=[piece(0, "", "weather", "call_0"), piece(1, "", "weather", "call_0")]),
    chunk(tool_calls=[piece(0, '{"city":')]),
    chunk(tool_calls=[piece(1, '{"city":'), piece(0, '"Paris"}')]),
    chunk(tool_calls=[piece(1, '"Rome"}')]),
    chunk("tool_calls"),
)


async def test_interleaved_calls_stay_apart_and_none_is_dropped():
    _, _, came = await asked(INTERLEAVED, "/v1/messages", MESSAGES)
    text, one, two = blocks(came)
    assert text["said"] == "See."
    assert [json.loads(each["said"]) for each in (one, two)] == [{"city": "Paris"}, {"city": "Rome"}]
    assert one["id"] != two["id"]
    last = [event for event in events(came) if event["type"] == "message_delta"]
    assert [event["delta"]["stop_reason"] for event in last] == ["tool_use"]


async def test_events_of_responses_are_numbered_without_a_gap():
    _, _, came = await asked(INTERLEAVED, "/v1/responses", RESPONSES)
    said = events(came)
    assert [event["sequence_number"] for event in said] == list(range(len(said)))
    done = [event["item"] for event in said if event["type"] == "response.output_item.done"]
    calls = [item for item in done if item["type"] == "function_call"]
    assert [json.loads(item["arguments"]) for item in calls] == [{"city": "Paris"}, {"city": "Rome"}]
    assert said[-1]["type"] == "response.completed"
    assert [item["id"] for item in said[-1]["response"]["output"]] == [item["id"] for item in done]


async def test_a_message_begins_with_how_much_was_asked():
    _, _, came = await asked(INTERLEAVED, "/v1/messages", MESSAGES)
    first = events(came)[0]
    assert first["type"] == "message_start"
    assert first["message"]["usage"]["input_tokens"] > 0


@pytest.mark.parametrize("streams", [True, False])
async def test_a_call_that_was_cut_off_is_told_as_cut_off(streams):
    call = {"id": "x", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Par'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    whole = {"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "length"}]}
    answer = stream(chunk(tool_calls=[piece(0, '{"city": "Par', "weather", "x")]), chunk("length"))
    if not streams:
        answer = (200, JSON, [json.dumps(whole).encode()])
    status, _, came = await asked(answer, "/v1/messages", {**MESSAGES, "stream": streams})
    assert status == 200
    assert b'"max_tokens"' in came


async def test_a_refusal_is_heard():
    answer = stream(chunk(role="assistant", refusal="I will"), chunk(refusal=" not."), chunk("stop"))
    _, _, messages = await asked(answer, "/v1/messages", MESSAGES)
    _, _, responses = await asked(answer, "/v1/responses", RESPONSES)
    assert "".join(block["said"] for block in blocks(messages)) == "I will not."
    assert b'"stop_reason":"refusal"' in messages
    assert b"I will not." in responses


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/responses"])
async def test_what_was_said_before_a_connection_dropped_is_kept_and_the_end_is_an_error(path):
    body = MESSAGES if path.endswith("messages") else RESPONSES
    answer = (200, SSE, [b"data: " + json.dumps(chunk(content="So far")).encode() + b"\n\n", None])
    _, _, came = await asked(answer, path, body)
    assert b"So far" in came
    last = events(came)[-1]
    assert last["type"] in ("error", "response.failed")


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/responses", "/v1/chat/completions"])
async def test_a_stream_without_a_reason_to_stop_is_no_clean_stop(path):
    body = {"/v1/messages": MESSAGES, "/v1/responses": RESPONSES}.get(path)
    body = body or {"model": "m", "stream": True, "messages": MESSAGES["messages"]}
    _, _, came = await asked(stream(chunk(content="Half"), end=False), path, body)
    assert b"Half" in came
    assert b"end_turn" not in came
    assert b'"type":"response.completed"' not in came
    assert b'"finish_reason":"stop"' not in came
    assert b"error" in came


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/responses", "/v1/chat/completions"])
async def test_when_to_come_back_is_said_under_its_own_name(path):
    body = {"/v1/messages": MESSAGES, "/v1/responses": RESPONSES}.get(path)
    body = body or {"model": "m", "messages": MESSAGES["messages"]}
    answer = (
        429,
        {**JSON, "retry-after": "17"},
        [b'{"error":{"message":"busy","code":"rate_limit_exceeded"}}'],
    )
    status, headers, _ = await asked(answer, path, body)
    assert (status, headers["retry-after"]) == (429, "17")


@pytest.mark.parametrize(
    "extra", [b'data: {"type":"ping"}\n\n', b": comment\n\n", b"event: odd\ndata: {}\n\n"]
)
async def test_nothing_that_a_client_does_not_know_comes_through_a_translation(extra):
    status, headers, pieces = stream(chunk(content="Hi"), chunk("stop"))
    _, _, came = await asked((status, headers, [extra, *pieces]), "/v1/responses", RESPONSES)
    known = (
        "response.created",
        "response.in_progress",
        "response.output_item",
        "response.content_part",
        "response.output_text",
        "response.completed",
    )
    assert all(event["type"].startswith(known) for event in events(came))
    assert events(came)[-1]["type"] == "response.completed"


CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
INSIDE = b'{"error":{"message":"inside","code":503}}'


@pytest.mark.parametrize(
    ("kind", "said", "stream"),
    [
        (JSON, INSIDE, False),
        (SSE, b"data: " + INSIDE + b"\n\n", True),
        (JSON, b"", False),
        (JSON, b"[1]", False),
        ({"content-type": "text/html"}, b"<html>a portal</html>", False),
        ({"content-type": "text/html"}, b"<html>a portal</html>", True),
    ],
)
async def test_a_200_that_is_no_answer_is_not_passed_on_as_one(kind, said, stream):
    status, headers, came = await asked(
        (200, kind, [said]), "/v1/chat/completions", CHAT | {"stream": stream}
    )
    assert status >= 500
    assert headers["content-type"] == "application/json"
    assert json.loads(came)["error"]["message"]


async def test_another_place_answers_for_one_that_fails_inside_a_200():
    good = stream(chunk(content="Hi"), chunk("stop"))
    answers = {"bad": (200, SSE, [b"data: " + INSIDE + b"\n\n"]), "good": good}
    async with (
        listening(Host(lambda *_: answers["bad"])) as bad,
        listening(Host(lambda *_: answers["good"])) as up,
    ):
        models = {
            "m": served(place("openai_chat", bad), fallback=("other",)),
            "other": served(place("openai_chat", up)),
        }
        async with gateway(models) as (_, base):
            status, _, came = await post(f"{base}/v1/chat/completions", CHAT | {"stream": True})
    assert (status, came) == (200, b"".join(good[2]))


async def test_half_an_event_at_the_end_is_an_error_and_a_whole_one_is_not():
    said = b"data: " + json.dumps(chunk(content="Hi")).encode() + b"\n\n"
    body = CHAT | {"stream": True}
    _, _, came = await asked((200, SSE, [said, b'data: {"choi']), "/v1/chat/completions", body)
    assert b'{"choi' not in came
    assert "in the middle" in events(came)[-1]["error"]["message"]
    end = b"data: " + json.dumps(chunk("stop")).encode() + b"\n\ndata: [DONE]"
    _, _, came = await asked((200, SSE, [said, end]), "/v1/chat/completions", body)
    assert came == said + end + b"\n\n"


async def test_where_a_vendor_points_to_is_no_clients_to_read():
    answer = (307, {**JSON, "location": "http://10.0.0.7/inner"}, [b""])
    for path, body in (("/v1/chat/completions", CHAT), ("/v1/messages", CHAT | {"max_tokens": 9})):
        status, _, came = await asked(answer, path, body)
        assert status >= 500
        assert b"10.0.0.7" not in came


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
def test_events_are_cut_at_their_ends_wherever_the_chunks_are(end):
    data = end.join([b"data: a", b"data: bc", b"data: d"]) + end + b"data: e"
    for size in range(1, len(data) + 1):
        cut = Events()
        ready = [cut.feed(data[at : at + size]) for at in range(0, len(data), size)]
        assert b"".join(ready) + cut.rest() == data
        assert all(each.endswith(end) for each in ready if each)
        assert cut.rest() == b"data: e"


def test_a_long_event_is_looked_at_once():
    cut = Events()
    began = time.process_time()
    for _ in range(20_000):
        assert cut.feed(b"x" * 1000) == b""
    assert time.process_time() - began < 2.0
    assert len(cut.feed(b"\n\n")) == 20_000_002
