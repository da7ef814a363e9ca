"""What other gateways were seen to get wrong in a stream, each held here."""

import json
from typing import Any

import pytest

from later import Later
from rightcall.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
    ReasoningDelta,
    ReasoningEnd,
    ReplyEnd,
    TextDelta,
    reply_events,
)
from rightcall.core.message import Citation, Reasoning, Reply, Token, Unknown, user_text
from rightcall.core.parts import Call, Media, Text, Usage
from rightcall.core.request import ClientRequest, ReplyHeader, Request
from rightcall.core.sse import SseDecoder
from rightcall.core.tool import Spec
from rightcall.errors import TransportError, TruncatedStream, VendorError
from rightcall.wire.dialects import SERVED, load, load_server
from wire.recorded import fed
from wire.server.sdks import SDKS, anthropic_at, google_at, openai_at

anthropic_sdk = Later("anthropic")
openai = Later("openai")
google_errors = Later("google.genai.errors")

ANSWER = ReplyHeader(id="abc123", model="m", created=5)
ASKED = ClientRequest(
    request=Request(messages=(user_text("What is the weather like?"),)), model="m", stream=True
)
USAGE = Usage(input_tokens=9, output_tokens=4)
every_dialect = pytest.mark.parametrize("name", SERVED)


def call(at: int, arguments: str, **more: Any) -> Call:
    return Call(id=f"c{at}", name="look", arguments=arguments, **more)


def written(name: str, *events: Any, asked: ClientRequest = ASKED) -> list[bytes]:
    writer = load_server(name).writer(asked, ANSWER)
    return [piece for event in events if (piece := writer.write(event))]


def frames(pieces: list[bytes]) -> list[Any]:
    """The JSON of each event."""
    sse = SseDecoder()
    events = [event for piece in pieces for event in sse.feed(piece)]
    return [json.loads(event.data) for event in events if event.data != b"[DONE]"]


MIXED = (
    CallStart(0, "look", "c0"),
    CallStart(1, "look", "c1"),
    CallDelta(0, '{"a"'),
    CallDelta(1, '{"b"'),
    TextDelta("Both."),
    ReasoningDelta("Hm."),
    ReasoningEnd(Reasoning("Hm.", {"anthropic": {"type": "thinking", "signature": "s"}})),
    CallDelta(0, ":1}"),
    CallDelta(1, ":2}"),
    CallEnd(1, call(1, '{"b":2}')),
    CallEnd(0, call(0, '{"a":1}')),
)


@every_dialect
def test_calls_that_come_mixed_stay_apart(name):
    reply = Reply((Text("Both."), call(0, '{"a":1}'), call(1, '{"b":2}')), "calls", usage=USAGE)
    pieces = written(name, *MIXED, ReplyEnd(reply))
    heard = SDKS[name](pieces, stream=True)
    assert sorted(heard.calls, key=str) == [("look", {"a": 1}), ("look", {"b": 2})]
    assert heard.text == "Both."
    last = fed(load(name).decoder(), *pieces)[-1]
    assert isinstance(last, ReplyEnd)
    assert last.reply.reasoning == "Hm."


def test_blocks_of_messages_never_overlap():
    reply = Reply((Text("Both."), call(0, '{"a":1}'), call(1, '{"b":2}')), "calls", usage=USAGE)
    found = [
        (frame["type"], frame["index"])
        for frame in frames(written("anthropic", *MIXED, ReplyEnd(reply)))
        if "index" in frame
    ]
    order = [index for _, index in found]
    assert order == sorted(order)
    assert [kind for kind, _ in found if kind.endswith("_start")] == ["content_block_start"] * 4


@every_dialect
def test_two_calls_that_are_complete_at_once_are_both_told(name):
    reply = Reply((call(0, '{"a":1}'), call(1, "{}")), "calls", usage=USAGE)
    assert SDKS[name](written(name, *reply_events(reply)), stream=True).calls == (
        ("look", {"a": 1}),
        ("look", {}),
    )


def test_a_message_starts_with_what_the_request_is_about():
    (start, *_) = frames(written("anthropic", TextDelta("Hi"), ReplyEnd(Reply((Text("Hi"),)))))
    assert start["message"]["usage"]["input_tokens"] > 5
    answer = ReplyHeader(id="a", model="m", input_tokens=77)
    (start,) = frames([load_server("anthropic").writer(ASKED, answer).start()])
    assert start["message"]["usage"]["input_tokens"] == 77


@every_dialect
def test_arguments_that_were_cut_off_end_the_reply_and_not_the_stream(name):
    cut = call(0, '{"city": "Ro', truncated=True)
    reply = Reply((Text("So"), cut), "length", usage=USAGE)
    pieces = written(name, *reply_events(reply, 3))
    heard = SDKS[name](pieces, stream=True)
    assert heard.text == "So"
    assert heard.stop in ("length", "max_output_tokens", "max_tokens", "MAX_TOKENS")
    assert len(heard.calls) == (0 if name == "gemini" else 1)
    whole = load(name).decode(load_server(name).encode_reply(reply, ASKED, ANSWER))
    assert whole.stop == "length"


@every_dialect
@pytest.mark.parametrize("words", ["I will not.", ""])
def test_a_refusal_is_told_with_its_words(name, words):
    parts = (Unknown({"openai_chat": {"refusal": words}}),) if words else ()
    reply = Reply(parts, "refusal", usage=USAGE)
    pieces = written(name, *reply_events(reply))
    assert SDKS[name](pieces, stream=True).stop in ("refusal", "SAFETY")
    assert words.encode() in b"".join(pieces)
    assert words.encode() in load_server(name).encode_reply(reply, ASKED, ANSWER)


@every_dialect
@pytest.mark.parametrize(
    "error",
    [
        TruncatedStream("the stream ended before the reply did"),
        TransportError("the connection was lost"),
        VendorError("Overloaded", kind="overloaded", status=529),
    ],
    ids=["ended", "lost", "overloaded"],
)
def test_a_reply_that_breaks_off_keeps_its_text_and_ends_with_an_error(name, error):
    writer = load_server(name).writer(ASKED, ANSWER)
    pieces = [writer.write(TextDelta("Half of")), writer.fail(error)]
    assert b"Half of" in b"".join(pieces)
    with pytest.raises((VendorError, TruncatedStream)):
        fed(load(name).decoder(), *pieces)
    raised = (openai.APIError, anthropic_sdk.APIError, google_errors.APIError)
    if name == "openai_responses":
        ends = list(openai_at(pieces, stream=True).responses.create(model="m", input="Hi", stream=True))
        assert ends[-1].type == "response.failed"
    else:
        with pytest.raises(raised):
            SDKS[name](pieces, stream=True)


@every_dialect
def test_a_reply_without_a_reason_is_no_clean_stop(name):
    reply = Reply((Text("Half of"),), "error", "", usage=USAGE)
    pieces = written(name, *reply_events(reply))
    with pytest.raises(VendorError):
        fed(load(name).decoder(), *pieces)
    with pytest.raises(VendorError, match="broke off"):
        load_server(name).encode_reply(reply, ASKED, ANSWER)


def test_every_event_of_responses_has_the_next_number():
    reply = Reply(
        (Reasoning("Hm", {"x": {}}), Text("So"), call(0, "{}"), call(1, "")), "calls", usage=USAGE
    )
    events = frames(written("openai_responses", *reply_events(reply, 1)))
    assert [event["sequence_number"] for event in events] == list(range(len(events)))


def test_nothing_but_the_vendors_events_is_in_a_stream_of_responses():
    known = {member.type for member in _event_types()}
    reply = Reply((Reasoning("Hm", {"x": {}}), Text("So"), call(0, "{}")), "refusal", usage=USAGE)
    events = frames(written("openai_responses", *reply_events(reply, 1)))
    assert {event["type"] for event in events} <= known


def _event_types() -> list[Any]:
    from typing import get_args  # noqa: PLC0415

    from openai.types.responses import ResponseStreamEvent  # noqa: PLC0415

    class Named:
        def __init__(self, kind: str) -> None:
            self.type = kind

    union = get_args(ResponseStreamEvent)[0]
    return [Named(get_args(each.model_fields["type"].annotation)[0]) for each in get_args(union)]


@every_dialect
def test_a_keep_alive_changes_nothing(name):
    reply = Reply((Text("So"), call(0, '{"a":1}')), "calls", usage=USAGE)
    writer = load_server(name).writer(ASKED, ANSWER)
    pieces = [writer.start()]
    for event in reply_events(reply, 1):
        pieces += [writer.keep_alive(), writer.write(event)]
    plain = SDKS[name](written(name, *reply_events(reply, 1)), stream=True)
    assert SDKS[name](pieces, stream=True) == plain
    if name == "gemini":
        assert not any(piece.startswith(b":") for piece in pieces)


def test_gemini_without_sse_is_an_array_of_chunks():
    asked = ClientRequest(request=ASKED.request, model="m", stream=True, framing="array")
    reply = Reply((Text("So"),), usage=USAGE)
    body = b"".join(written("gemini", *reply_events(reply, 1), asked=asked))
    chunks = json.loads(body)
    assert [chunk["candidates"][0]["content"]["parts"][0]["text"] for chunk in chunks] == ["S", "o", ""]
    writer = load_server("gemini").writer(asked, ANSWER)
    failed = json.loads(writer.write(TextDelta("S")) + writer.fail(TransportError("lost")))
    assert "error" in failed[1]


GRAMMAR = Spec(
    name="patch", description="", parameters={"type": "object"}, input="text", grammar={"lark": "x"}
)


@pytest.mark.parametrize("name", ["openai_chat", "openai_responses"])
@pytest.mark.parametrize(
    "made",
    [
        Call(id="c", name="patch", arguments="*** Begin\n", form="text"),
        Call(id="c", name="patch", arguments='{"input": "*** Begin\\n"}'),
    ],
    ids=["text", "json"],
)
def test_a_tool_that_takes_text_is_given_text_whoever_wrote_it(name, made):
    asked = ClientRequest(
        request=Request(messages=(user_text("Hi"),), specs=(GRAMMAR,)),
        model="m",
        stream=True,
        forms={"patch": {"type": "custom_tool_call", "name": "patch", "namespace": "functions"}},
    )
    reply = Reply((made,), "calls", usage=USAGE)
    pieces = written(name, *reply_events(reply, 3), asked=asked)
    whole = load_server(name).encode_reply(reply, asked, ANSWER)
    # By our decoder: OpenAI's helper for Chat streams fails on its own custom tools.
    last = fed(load(name).decoder(), *pieces)[-1]
    assert isinstance(last, ReplyEnd)
    for read in (last.reply, load(name).decode(whole)):
        assert [(c.name, c.arguments, c.form) for c in read.calls] == [("patch", "*** Begin\n", "text")]
    assert SDKS[name]([whole], stream=False).calls == (("patch", "*** Begin\n"),)


def test_refusals_over_http_are_raised_by_the_sdks():
    limited = VendorError("Slow down", kind="rate_limit", status=429, retry_after=2.5)
    for name, at, error in (
        ("openai_chat", openai_at, openai.RateLimitError),
        ("anthropic", anthropic_at, anthropic_sdk.RateLimitError),
        ("gemini", google_at, google_errors.ClientError),
    ):
        refused = load_server(name).encode_error(limited)
        assert (refused.status, refused.headers["retry-after"]) == (429, "3")
        client: Any = at([refused.body], stream=False, status=refused.status)
        with pytest.raises(error, match="Slow down"):
            _ask(client, name)


def _ask(client: Any, name: str) -> None:
    if name == "gemini":
        client.models.generate_content(model="m", contents="Hi")
    elif name == "anthropic":
        client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "Hi"}])
    else:
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}])


def test_a_search_of_the_clients_is_called_as_the_client_has_it():
    search = Spec(name="tool_search", description="", parameters={"type": "object"})
    asked = ClientRequest(
        request=Request(messages=(user_text("Hi"),), specs=(search,)),
        model="m",
        stream=True,
        forms={"tool_search": {"type": "tool_search_call", "name": "tool_search"}},
    )
    reply = Reply((Call(id="c", name="tool_search", arguments='{"query":"x"}'),), "calls", usage=USAGE)
    streamed = frames(written("openai_responses", *reply_events(reply, 3), asked=asked))
    whole = json.loads(load_server("openai_responses").encode_reply(reply, asked, ANSWER))
    (item,) = whole["output"]
    assert item == streamed[-1]["response"]["output"][0]
    assert (item["type"], item["execution"], item["arguments"]) == (
        "tool_search_call",
        "client",
        {"query": "x"},
    )


def test_what_chat_and_gemini_have_places_for_is_told():
    picture = Media(b"\x89PNG\r\n\x1a\n", "image/png")
    likely = Token("So", -0.5, (("So", -0.5), ("No", -1.5)))
    reply = Reply(
        (Text("So"), picture, Media(b"RIFF", "audio/wav")),
        usage=USAGE,
        citations=(Citation(start=0, end=2, url="https://x", title="X"),),
        logprobs=(likely,),
    )
    told: dict[str, Reply] = {}
    left: dict[str, list[str]] = {}
    for name in SERVED:
        writer = load_server(name).writer(ASKED, ANSWER)
        last = fed(load(name).decoder(), *[writer.write(event) for event in reply_events(reply)])[-1]
        assert isinstance(last, ReplyEnd)
        told[name], left[name] = last.reply, list(writer.left_out)
    assert [part.data for part in told["openai_chat"].media] == [picture.data]
    assert told["openai_chat"].citations == reply.citations
    assert told["openai_chat"].logprobs == told["gemini"].logprobs == reply.logprobs
    assert [part.media_type for part in told["gemini"].media] == ["image/png", "audio/wav"]
    neither = ["image/png made by the model", "audio/wav made by the model", "citations", "logprobs"]
    assert left == {
        "openai_chat": ["audio/wav made by the model"],
        "gemini": ["citations"],
        "openai_responses": neither,
        "anthropic": neither,
    }


@every_dialect
def test_what_only_repeats_what_a_call_is_is_not_carried(name):
    own = {"openai_responses": {"type": "function_call", "id": "fc_1"}, "gemini": {}}
    reply = Reply((call(0, "{}", vendor=own),), "calls", usage=USAGE)
    streamed = b"".join(written(name, *reply_events(reply)))
    for body in (streamed, load_server(name).encode_reply(reply, ASKED, ANSWER)):
        found = [word for word in (b"fc_1", b"redacted", b"rs_abc123", b"Signature") if word in body]
        assert found == []
