"""Perplexity's Agent API: Responses with searches of its own, as perplexityai 0.46.1 describes it."""

import json

import pytest

import rightcall as rc
from request.server import serving, streamed
from rightcall.core.message import Results, Unknown, user_text
from rightcall.core.parts import Result, Text
from rightcall.core.request import Request
from rightcall.errors import VendorError
from rightcall.transport.http import HttpTransport
from rightcall.wire import openai_responses as dialect
from wire.openai_responses.test_decode import sse
from wire.recorded import assert_events_tell_the_reply, fed, reply_of, same_at_every_cut

FOUND = {
    "id": 1,
    "snippet": "It rained.",
    "title": "Rome today",
    "url": "https://weather.example/rome",
    "date": "2026-11-16",
    "source": "web",
}
SEARCHED = {"type": "search_results", "queries": ["weather Rome"], "results": [FOUND]}
CITED = {
    "type": "url_citation",
    "start_index": 12,
    "end_index": 15,
    "title": "Rome today",
    "url": "https://weather.example/rome",
}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Rain in Rome[1].", "annotations": [CITED]}],
}
CALL = {
    "id": "fc_1",
    "type": "function_call",
    "call_id": "call_1",
    "name": "look",
    "arguments": '{"city":"Rome"}',
    "status": "completed",
    "thought_signature": "c2lnbmVk",
}
USAGE = {
    "input_tokens": 400,
    "output_tokens": 20,
    "total_tokens": 420,
    "input_tokens_details": {"cache_creation_input_tokens": 7, "cache_read_input_tokens": 90},
    "tool_calls_details": {"web_search": {"invocation": 1}},
    "cost": {
        "currency": "USD",
        "input_cost": 0.0004,
        "output_cost": 0.0001,
        "tool_calls_cost": 0.005,
        "total_cost": 0.0055,
    },
}


def response(*output: dict, status: str, **more) -> dict:
    return {
        "id": "resp_1",
        "created_at": 1,
        "model": "perplexity/sonar",
        "object": "response",
        "output": [*output],
        "status": status,
        **more,
    }


def numbered(*frames: dict) -> bytes:
    return sse(*[{**frame, "sequence_number": at} for at, frame in enumerate(frames)])


def begun() -> list[dict]:
    empty = response(status="in_progress")
    return [
        {"type": "response.created", "response": empty},
        {"type": "response.in_progress", "response": empty},
    ]


def item(kind: str, at: int, what: dict) -> dict:
    return {"type": f"response.output_item.{kind}", "output_index": at, "item": what}


def searching() -> list[dict]:
    return [
        {"type": "response.reasoning.started", "thought": "I need the weather."},
        {"type": "response.reasoning.search_queries", "queries": ["weather Rome"], "thought": ""},
        {"type": "response.reasoning.search_results", "results": [FOUND], "usage": USAGE},
        {"type": "response.reasoning.fetch_url_queries", "urls": [FOUND["url"]]},
        {
            "type": "response.reasoning.fetch_url_results",
            "contents": [{"snippet": "…", "title": "Rome", "url": FOUND["url"]}],
        },
        {"type": "response.skill.loaded", "name": "weather"},
        {"type": "response.reasoning.stopped", "thought": "Enough."},
        item("added", 0, SEARCHED),
        item("done", 0, SEARCHED),
    ]


def answer() -> bytes:
    place = {"item_id": "msg_1", "output_index": 1, "content_index": 0}
    text = MESSAGE["content"][0]["text"]
    return numbered(
        *begun(),
        *searching(),
        item("added", 1, {**MESSAGE, "content": [], "status": "in_progress"}),
        {"type": "response.output_text.delta", **place, "delta": text[:7]},
        {"type": "response.output_text.delta", **place, "delta": text[7:]},
        {"type": "response.output_text.done", **place, "text": text},
        item("done", 1, MESSAGE),
        {
            "type": "response.completed",
            "response": response(SEARCHED, MESSAGE, status="completed", usage=USAGE),
        },
    )


def calls(status: str) -> bytes:
    return numbered(
        *begun(),
        *searching(),
        item("added", 1, {**CALL, "arguments": "", "status": "in_progress"}),
        item("done", 1, CALL),
        {"type": "response.completed", "response": response(SEARCHED, CALL, status=status, usage=USAGE)},
    )


def test_an_answer_with_what_was_searched_and_what_it_cost():
    events = same_at_every_cut(dialect, answer())
    assert_events_tell_the_reply(events)
    reply = reply_of(events)
    assert (reply.text, reply.stop, reply.reasoning) == ("Rain in Rome[1].", "end", "")
    assert reply.content[0] == Unknown({dialect.name: SEARCHED})
    assert [(each.url, each.title) for each in reply.citations] == [(FOUND["url"], "Rome today")]
    usage = reply.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cost) == (400, 20, 0.0055)
    assert (usage.cached_tokens, usage.cache_written_tokens) == (90, 7)


@pytest.mark.parametrize("status", ["completed", "requires_action"])
def test_a_call_of_ours_beside_a_search_of_theirs(status):
    events = same_at_every_cut(dialect, calls(status))
    assert_events_tell_the_reply(events)
    reply = reply_of(events)
    (call,) = reply.calls
    assert (reply.stop, call.name, call.arguments, call.truncated) == (
        "calls",
        "look",
        '{"city":"Rome"}',
        False,
    )
    whole = dialect.decode(json.dumps(response(SEARCHED, CALL, status=status, usage=USAGE)).encode())
    assert whole == reply


def test_only_what_is_taken_goes_back():
    reply = reply_of(same_at_every_cut(dialect, calls("requires_action")))
    done = Result(call_id="call_1", name="look", outcome="returned", content=(Text("Rain."),))
    request = Request(messages=(user_text("Hi"), reply, Results((done,))))
    sent = json.loads(dialect.encode(request, model="m", stream=True).body)["input"]
    assert [each["type"] for each in sent] == ["message", "function_call", "function_call_output"]
    assert sent[1] == CALL
    assert sent[2] == {"type": "function_call_output", "call_id": "call_1", "output": "Rain."}


def test_what_fails_says_why_at_every_cut():
    error = {"message": "No credit left.", "code": "insufficient_quota", "type": "quota"}
    body = numbered(*begun(), {"type": "response.failed", "error": error})
    for at in range(len(body)):
        with pytest.raises(VendorError, match=r"No credit left\."):
            fed(dialect.decoder(), body[:at], body[at:])


async def test_a_run_goes_on_after_a_call_and_costs_what_perplexity_says():
    looked: list[str] = []

    @rc.tool
    def look(city: str) -> str:
        """Look out of the window."""
        looked.append(city)
        return "Rain."

    transport = HttpTransport()
    async with serving(streamed(calls("requires_action")), streamed(answer())) as server:
        url = f"{server.url}/v1"
        name = "perplexity:perplexity/sonar"
        model = rc.connect(name, base_url=url, api_key="k", transport=transport)
        result = await rc.Agent(model, [look]).run("Weather in Rome?")
        second = json.loads(server.requests[1][2])
    await transport.close()
    assert (looked, result.text, result.stop.reason) == (["Rome"], "Rain in Rome[1].", "end")
    assert result.usage.cost == pytest.approx(0.011)
    assert "search_results" not in [each["type"] for each in second["input"]]
