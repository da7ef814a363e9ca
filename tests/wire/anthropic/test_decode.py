"""Streams as Anthropic writes them, and as hosts that imitate it get them wrong."""

import json
import sys

import pytest

from rightcall.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
    ReasoningDelta,
    ReasoningEnd,
    ReplyEnd,
    TextDelta,
)
from rightcall.core.message import Citation, Reasoning, Reply, Unknown
from rightcall.core.parts import Call, Text, Usage
from rightcall.errors import ProtocolError, RightcallError, TruncatedStream, VendorError
from rightcall.wire import anthropic
from wire.recorded import assert_events_tell_the_reply, fed, reply_of, same_at_every_cut

START = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    },
}
PING = {"type": "ping"}
STOP = {"type": "message_stop"}
BAG = {"anthropic": {"id": "msg_1"}}
USAGE = Usage(input_tokens=10, output_tokens=7)


def begin(index, **block):
    return {"type": "content_block_start", "index": index, "content_block": block}


def tool(index, call_id, name, **more):
    return begin(index, type="tool_use", id=call_id, name=name, **{"input": {}, **more})


def delta(index, kind, **more):
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **more}}


def text(index, words):
    return delta(index, "text_delta", text=words)


def piece(index, words):
    return delta(index, "input_json_delta", partial_json=words)


def end(index):
    return {"type": "content_block_stop", "index": index}


def why(reason, **more):
    usage = {"output_tokens": 7}
    return {"type": "message_delta", "delta": {"stop_reason": reason, **more}, "usage": usage}


def frame(event) -> bytes:
    if isinstance(event, bytes):
        return event
    return f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()


def body(*events) -> bytes:
    return b"".join(map(frame, events))


def reply(*content, stop="calls", word="tool_use", vendor=BAG, usage=USAGE, citations=()):
    return Reply(content, stop, word, usage, "claude-x", vendor, citations=citations)


def call(number=0, arguments='{"a": 1}', **more):
    return Call(id=f"toolu_{number}", name="f", arguments=arguments, **more)


ONE = (tool(0, "toolu_0", "f"), piece(0, ""), piece(0, '{"a"'), piece(0, ": 1}"), end(0))
TWO = (tool(1, "toolu_1", "f"), piece(1, '{"b": "\u2028é😀"}'), end(1))
THOUGHT = (
    begin(0, type="thinking", thinking="", signature=""),
    delta(0, "thinking_delta", thinking="Hm"),
    delta(0, "thinking_delta", thinking="m."),
    delta(0, "signature_delta", signature="c2ln"),
    end(0),
)
REFUSED = {"type": "refusal", "category": "cyber", "explanation": None}

STREAMS = {
    "an answer": (
        (
            START,
            begin(0, type="text", text=""),
            PING,
            text(0, "He"),
            text(0, "llo"),
            end(0),
            why("end_turn"),
            STOP,
        ),
        reply(Text("Hello"), stop="end", word="end_turn"),
    ),
    "one call": ((START, *ONE, why("tool_use"), STOP), reply(call())),
    "two calls": (
        (START, *ONE, *TWO, why("tool_use"), STOP),
        reply(call(), call(1, '{"b": "\u2028é😀"}')),
    ),
    "two calls, interleaved": (
        (
            START,
            tool(0, "toolu_0", "f"),
            tool(1, "toolu_1", "f"),
            piece(1, '{"b":'),
            piece(0, '{"a"'),
            piece(1, "2}"),
            piece(0, ": 1}"),
            end(1),
            end(0),
            why("tool_use"),
            STOP,
        ),
        reply(call(), call(1, '{"b":2}')),
    ),
    "a call without arguments": (
        (START, tool(0, "toolu_0", "f"), end(0), why("tool_use"), STOP),
        reply(call(0, "{}")),
    ),
    "a call with empty arguments": (
        (START, tool(0, "toolu_0", "f"), piece(0, ""), end(0), why("tool_use"), STOP),
        reply(call(0, "{}")),
    ),
    "a call that begins with all of its input": (
        (START, tool(0, "toolu_0", "f", input={"a": 1.50}), end(0), why("tool_use"), STOP),
        reply(call(0, '{"a": 1.5}')),
    ),
    "arguments that are not JSON, as eager streaming may give": (
        (START, tool(0, "toolu_0", "f"), piece(0, '{"a": hello'), end(0), why("tool_use"), STOP),
        reply(call(0, '{"a": hello')),
    ),
    "thinking before a call": (
        (START, *THOUGHT, tool(1, "toolu_0", "f"), piece(1, '{"a": 1}'), end(1), why("tool_use"), STOP),
        reply(Reasoning("Hmm.", {"anthropic": {"type": "thinking", "signature": "c2ln"}}), call()),
    ),
    "redacted thinking, and thinking that is not shown": (
        (
            START,
            begin(0, type="redacted_thinking", data="abc"),
            end(0),
            begin(1, type="thinking", thinking="", signature=""),
            delta(1, "signature_delta", signature="c2ln"),
            end(1),
            begin(2, type="text", text="Yes"),
            end(2),
            why("end_turn"),
            STOP,
        ),
        reply(
            Reasoning("", {"anthropic": {"type": "redacted_thinking", "data": "abc"}}),
            Reasoning("", {"anthropic": {"type": "thinking", "signature": "c2ln"}}),
            Text("Yes"),
            stop="end",
            word="end_turn",
        ),
    ),
    "a call by code that runs at the vendor's": (
        (
            START,
            tool(0, "toolu_0", "f", caller={"type": "code", "tool_id": "s"}),
            end(0),
            why("tool_use"),
            STOP,
        ),
        reply(call(0, "{}", vendor={"anthropic": {"caller": {"type": "code", "tool_id": "s"}}})),
    ),
    "the vendor's own tool, and citations": (
        (
            START,
            begin(0, type="server_tool_use", id="srv_1", name="web_search", input={}),
            piece(0, '{"query":'),
            piece(0, ' "x"}'),
            end(0),
            begin(1, type="web_search_tool_result", tool_use_id="srv_1", content=[{"url": "u"}]),
            end(1),
            begin(2, type="text", text="", citations=[]),
            delta(2, "citations_delta", citation={"cited_text": "c"}),
            delta(2, "citations_delta", citation={"cited_text": "d"}),
            text(2, "So."),
            end(2),
            why("end_turn"),
            STOP,
        ),
        reply(
            Unknown(
                {
                    "anthropic": {
                        "type": "server_tool_use",
                        "id": "srv_1",
                        "name": "web_search",
                        "input": {"query": "x"},
                    }
                }
            ),
            Unknown(
                {
                    "anthropic": {
                        "type": "web_search_tool_result",
                        "tool_use_id": "srv_1",
                        "content": [{"url": "u"}],
                    }
                }
            ),
            Text("So.", {"anthropic": {"citations": [{"cited_text": "c"}, {"cited_text": "d"}]}}),
            stop="end",
            word="end_turn",
            citations=(Citation(start=0, end=3, quote="c"), Citation(start=0, end=3, quote="d")),
        ),
    ),
    "each text with what stands beside it, and nothing of its neighbour's": (
        (
            START,
            begin(0, type="text", text="", citations=None),
            begin(1, type="text", text="", mood="calm"),
            text(0, "It says"),
            text(1, " so"),
            delta(1, "citations_delta", citation={"cited_text": "c"}),
            delta(1, "hologram_delta", depth=1),
            end(0),
            end(1),
            begin(2, type="text", text=""),
            end(2),
            begin(3, type="text", text=""),
            delta(3, "citations_delta", citation={"cited_text": "d"}),
            end(3),
            why("end_turn"),
            STOP,
        ),
        reply(
            Text("It says"),
            Text(" so", {"anthropic": {"mood": "calm", "citations": [{"cited_text": "c"}], "depth": 1}}),
            Text("", {"anthropic": {"citations": [{"cited_text": "d"}]}}),
            stop="end",
            word="end_turn",
            citations=(Citation(start=7, end=10, quote="c"), Citation(start=10, end=10, quote="d")),
        ),
    ),
    "a block and deltas of kinds that nobody knows": (
        (
            START,
            begin(0, type="hologram", content=None, name="h"),
            delta(0, "hologram_delta", content="ab", depth=1, tags=["x"], hue=None),
            delta(0, "hologram_delta", content="cd", depth=2, name="i", tags=["y"]),
            delta(9, "hologram_delta", content="lost"),
            end(0),
            why("pause_turn"),
            STOP,
        ),
        reply(
            Unknown(
                {
                    "anthropic": {
                        "type": "hologram",
                        "content": "abcd",
                        "name": "hi",
                        "depth": 2,
                        "tags": ["x", "y"],
                        "hue": None,
                    }
                }
            ),
            stop="pause",
            word="pause_turn",
        ),
    ),
    "a pause": (
        (START, begin(0, type="text", text="Wait"), end(0), why("pause_turn"), STOP),
        reply(Text("Wait"), stop="pause", word="pause_turn"),
    ),
    "a refusal": (
        (START, begin(0, type="text", text=""), end(0), why("refusal", stop_details=REFUSED), STOP),
        reply(
            stop="refusal",
            word="refusal",
            vendor={"anthropic": {"id": "msg_1", "stop_details": REFUSED}},
        ),
    ),
    "a stop sequence": (
        (
            START,
            begin(0, type="text", text=""),
            text(0, "a"),
            end(0),
            why("stop_sequence", stop_sequence="b"),
            STOP,
        ),
        reply(
            Text("a"),
            stop="stop_sequence",
            word="stop_sequence",
            vendor={"anthropic": {"id": "msg_1", "stop_sequence": "b"}},
        ),
    ),
    "a full context window": (
        (START, begin(0, type="text", text="a"), end(0), why("model_context_window_exceeded"), STOP),
        reply(Text("a"), stop="length", word="model_context_window_exceeded"),
    ),
    "unknown events": (
        (
            START,
            {"type": "telemetry", "delta": "not an object", "index": "zero"},
            *ONE,
            {"type": "telemetry", "message": None},
            why("tool_use"),
            STOP,
        ),
        reply(call()),
    ),
}
"""What comes, and the reply that it means."""

HOSTS = {
    "no event names": (
        body(START, *ONE, why("tool_use"), STOP).replace(b"event: ", b"x: "),
        reply(call()),
    ),
    "only event names": (
        b"".join(
            frame(e).replace(json.dumps({"type": e["type"]}).encode()[1:-1] + b", ", b"")
            for e in (START, *ONE, why("tool_use"))
        )
        + b"event: message_stop\ndata: {}\n\n",
        reply(call()),
    ),
    "OpenAI's end marker": (
        body(START, *ONE, why("tool_use"), STOP) + b"data: [DONE]\n\n",
        reply(call()),
    ),
    "OpenAI's end marker first": (
        body(START, *ONE, why("tool_use"), b"data: [DONE]\n\n", STOP),
        reply(call()),
    ),
    "a ping that is no JSON": (
        body(START, b"event: ping\ndata: ping\n\n", *ONE, why("tool_use"), STOP),
        reply(call()),
    ),
    "message_start twice": (body(START, START, *ONE, why("tool_use"), STOP), reply(call())),
    "message_start twice, late": (body(START, *ONE, START, why("tool_use"), STOP), reply(call())),
    "a second reply after the first": (
        body(START, *ONE, why("tool_use"), STOP, START, *TWO, why("end_turn"), STOP),
        reply(call()),
    ),
    "garbage after the end": (
        body(START, *ONE, why("tool_use"), STOP) + b"data: {oops\n\n",
        reply(call()),
    ),
    "one index for all calls": (
        body(START, *ONE, tool(0, "toolu_1", "f"), piece(0, "{}"), end(0), why("tool_use"), STOP),
        reply(call(), call(1, "{}")),
    ),
    "one index and no ends": (
        body(START, *ONE[:-1], tool(0, "toolu_1", "f"), piece(0, "{}"), why("tool_use"), STOP),
        reply(call(), call(1, "{}")),
    ),
    "the same id twice": (
        body(START, *ONE, tool(1, "toolu_0", "f"), piece(1, "{}"), end(1), why("tool_use"), STOP),
        reply(call(), call(0, "{}")),
    ),
    "no index": (
        body(
            START,
            *[{k: v for k, v in e.items() if k != "index"} for e in ONE],
            why("tool_use"),
            STOP,
        ),
        reply(call()),
    ),
    "no ids": (
        body(START, begin(0, type="tool_use", name="f"), end(0), why("tool_use"), STOP),
        reply(Call(id="", name="f", arguments="{}")),
    ),
    "a delta without its block": (
        body(START, text(0, "Hi"), delta(1, "thinking_delta", thinking="?"), why("end_turn"), STOP),
        reply(
            Text("Hi"), Reasoning("?", {"anthropic": {"type": "thinking"}}), stop="end", word="end_turn"
        ),
    ),
    "a delta of another kind than its block": (
        body(
            START, begin(0, type="thinking", thinking="?"), text(0, "Hi"), end(0), why("end_turn"), STOP
        ),
        reply(
            Reasoning("?", {"anthropic": {"type": "thinking"}}), Text("Hi"), stop="end", word="end_turn"
        ),
    ),
    "nulls": (
        body(START, begin(0, type="text", text=None), text(0, None), end(0), why("end_turn"), STOP),
        reply(stop="end", word="end_turn"),
    ),
    "the wrong word beside calls": (
        body(START, *ONE, why("end_turn"), STOP),
        reply(call(), word="end_turn"),
    ),
    "an unknown word": (body(START, *ONE, why("because"), STOP), reply(call(), word="because")),
    "no word at all": (
        body(START, *ONE, STOP),
        reply(call(), word="", usage=Usage(input_tokens=10, output_tokens=1)),
    ),
    "OpenAI's words": (
        body(START, begin(0, type="text", text="a"), why("content_filter"), STOP),
        reply(Text("a"), stop="filtered", word="content_filter"),
    ),
    "input as a string": (
        body(START, tool(0, "toolu_0", "f", input='{"a": 1}'), end(0), why("tool_use"), STOP),
        reply(call()),
    ),
    "input whole and in pieces": (
        body(
            START,
            tool(0, "toolu_0", "f", input={"a": 1}),
            piece(0, '{"a": 1}'),
            end(0),
            why("tool_use"),
            STOP,
        ),
        reply(call()),
    ),
    "a whole body in place of a stream": (
        json.dumps(
            {
                **START["message"],
                "content": [{"type": "text", "text": "Hi"}],
                "stop_reason": "end_turn",
                "usage": {"input_tokens": 10, "output_tokens": 7},
            }
        ).encode(),
        reply(Text("Hi"), stop="end", word="end_turn"),
    ),
}


@pytest.mark.parametrize(("events", "expected"), STREAMS.values(), ids=STREAMS)
def test_a_stream_is_its_reply_at_every_cut(events, expected):
    told = same_at_every_cut(anthropic, body(*events))
    assert_events_tell_the_reply(told)
    assert reply_of(told) == expected


@pytest.mark.parametrize(("sent", "expected"), HOSTS.values(), ids=HOSTS)
def test_what_hosts_get_wrong_is_understood_at_every_cut(sent, expected):
    told = same_at_every_cut(anthropic, sent)
    assert_events_tell_the_reply(told)
    assert reply_of(told) == expected


def test_events_come_in_order_as_the_stream_goes():
    told = fed(anthropic.Decoder(), body(START, *THOUGHT, text(1, "So:"), *ONE, why("tool_use"), STOP))
    assert [(e.index, e.text) if isinstance(e, CallDelta) else e for e in told] == [
        ReasoningDelta("Hm"),
        ReasoningDelta("m."),
        ReasoningEnd(told[-1].reply.content[0]),
        TextDelta("So:"),
        CallStart(0, "f", "toolu_0"),
        (0, '{"a"'),
        (0, ": 1}"),
        CallEnd(0, call()),
        ReplyEnd(told[-1].reply),
    ]


def test_a_call_ends_as_soon_as_the_model_goes_on():
    decoder = anthropic.Decoder()
    assert [type(e) for e in decoder.feed(body(START, *ONE))] == [CallStart, CallDelta, CallDelta]
    assert decoder.feed(body(TWO[0])) == (CallEnd(0, call()), CallStart(1, "f", "toolu_1"))


@pytest.mark.parametrize(
    "reason", ["max_tokens", "model_context_window_exceeded", "refusal", "stop_sequence"]
)
def test_a_call_that_was_cut_off_never_ends_though_its_block_does(reason):
    told = fed(anthropic.Decoder(), body(START, *ONE, *TWO, why(reason), STOP))
    assert_events_tell_the_reply(told)
    assert [e.call for e in told if isinstance(e, CallEnd)] == [call()]
    assert reply_of(told).calls == (call(), call(1, '{"b": "\u2028é😀"}', truncated=True))


def test_interleaved_calls_that_were_cut_off_are_all_truncated():
    events = (
        tool(0, "toolu_0", "f"),
        tool(1, "toolu_1", "f"),
        piece(0, "{}"),
        piece(1, "{}"),
        end(0),
        end(1),
    )
    told = fed(anthropic.Decoder(), body(START, *events, why("max_tokens"), STOP))
    assert reply_of(told).calls == (call(0, "{}", truncated=True), call(1, "{}", truncated=True))


def test_a_call_cut_off_before_its_first_argument_has_none():
    told = fed(
        anthropic.Decoder(), body(START, tool(0, "toolu_0", "f"), end(0), why("max_tokens"), STOP)
    )
    assert reply_of(told) == reply(call(0, "", truncated=True), stop="length", word="max_tokens")


def test_text_after_a_call_shows_that_the_call_was_complete():
    told = fed(anthropic.Decoder(), body(START, *ONE, text(1, "and"), why("max_tokens"), STOP))
    assert reply_of(told) == reply(call(), Text("and"), stop="length", word="max_tokens")


def test_a_stream_cut_at_any_byte_is_no_reply_and_ends_no_unfinished_call():
    sent = body(START, *THOUGHT, *ONE, *TWO, why("tool_use"), STOP)
    complete = [call(), call(1, '{"b": "\u2028é😀"}')]
    for cut in range(len(sent) - 2):
        decoder = anthropic.Decoder()
        told = list(decoder.feed(sent[:cut]))
        try:
            told += decoder.finish()
        except (TruncatedStream, ProtocolError):
            assert not any(isinstance(e, ReplyEnd) for e in told)
        else:
            # The last event may lack only its closing brackets' line ends.
            assert sent[cut:].strip() == b""
        assert [e.call for e in told if isinstance(e, CallEnd)] in (complete[:0], complete[:1], complete)


def test_a_whole_body_cut_at_any_byte_is_no_reply():
    sent = json.dumps({**START["message"], "content": [{"type": "text", "text": "é"}]}).encode()
    for cut in range(len(sent)):
        decoder = anthropic.Decoder()
        decoder.feed(sent[:cut])
        with pytest.raises(ProtocolError):
            decoder.finish()


ERRORS = {
    "overloaded": ({"type": "overloaded_error", "message": "Overloaded"}, 529, True),
    "the server's fault": ({"type": "api_error", "message": "Oh"}, 500, True),
    "too fast": ({"type": "rate_limit_error", "message": "Slow"}, 429, True),
    "too slow": ({"type": "timeout_error", "message": "Late"}, 504, True),
    "wrong": ({"type": "invalid_request_error", "message": "No"}, 400, False),
    "unheard of": ({"type": "moon_phase_error", "message": "Full"}, None, False),
}


@pytest.mark.parametrize(("told", "status", "retryable"), ERRORS.values(), ids=ERRORS)
def test_an_error_in_the_stream_is_the_vendors_refusal(told, status, retryable):
    sent = body(START, *ONE, {"type": "error", "error": told, "request_id": "req_1"})
    with pytest.raises(VendorError) as caught:
        fed(anthropic.Decoder(), sent)
    error = caught.value
    assert error.message == told["message"]
    assert (error.status, error.vendor_code, error.retryable) == (status, told["type"], retryable)
    assert error.request_id == "req_1"


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (b'data: {"error": {"message": "no credit", "code": 402}}\n\n', "no credit"),
        (b'event: error\ndata: {"message": "gone"}\n\n', "gone"),
        (b"event: error\ndata: upstream died\n\n", "upstream died"),
        (b'data: {"error": "bad key"}\n\n', "bad key"),
        (b'data: {"error": "bad delta", "delta": 5}\n\n', "bad delta"),
        (b'{"type":"error","error":{"type":"api_error","message":"whole"}}', "whole"),
        (b'{"error":{"message":"whole"}}', "whole"),
        (b'{"code":"Throttling","message":"whole"}', "whole"),
    ],
)
def test_errors_in_other_forms_are_refusals_too(sent, message):
    with pytest.raises(VendorError, match=message):
        fed(anthropic.Decoder(), sent)


GARBAGE = {
    "half a JSON": b'data: {"type":"content_block_delta","index":0,"del\n\n',
    "no JSON": b"data: <html>\n\n",
    "not UTF-8": b'data: {"type":"ping","x":"\xff"}\n\n',
    "no object": b"data: [1]\n\n",
    "wrong types": frame(
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": 5}}
    ),
    "no delta": frame({"type": "content_block_delta", "index": 0}),
    "no block": frame({"type": "content_block_start", "index": 0}),
    "no message": frame({"type": "message_start"}),
    "content that is none": frame({"type": "message_start", "message": {"content": [1]}}),
    "arguments without a call": frame(piece(3, "{}")),
    "arguments in a text": body(begin(0, type="text", text=""), piece(0, "{}")),
    "arguments after the end": body(*ONE, *TWO, piece(0, "{}")),
    "bottomless": b'data: {"type":"x","a":' + b"[" * 100_000 + b"\n\n",
}


@pytest.mark.parametrize("sent", GARBAGE.values(), ids=GARBAGE)
def test_garbage_is_a_protocol_error_with_a_short_excerpt(sent):
    with pytest.raises(ProtocolError) as caught:
        fed(anthropic.Decoder(), sent)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    "sent", [b"", b"\n\n", b": hi\n\n", b"<html>no</html>", body(START), body(*ONE)]
)
def test_a_stream_without_its_end_is_truncated(sent):
    with pytest.raises(TruncatedStream):
        fed(anthropic.Decoder(), sent)


def test_a_body_without_end_is_refused_and_not_held(monkeypatch):
    monkeypatch.setattr(sys.modules["rightcall.wire.decoders"], "MAX_EVENT_BYTES", 100)
    decoder = anthropic.Decoder()
    decoder.feed(b'{"a": "')
    with pytest.raises(ProtocolError, match="more than 100 bytes"):
        decoder.feed(b"x" * 100)


def test_counts_are_totals_and_input_contains_what_was_cached():
    start = json.loads(json.dumps(START))
    start["message"]["usage"] = {
        "input_tokens": 3,
        "cache_creation_input_tokens": 5,
        "cache_read_input_tokens": 100,
        "output_tokens": 2,
    }
    late = why("end_turn")
    late["usage"] = {
        "input_tokens": 4,
        "cache_creation_input_tokens": None,
        "cache_read_input_tokens": 0,
        "output_tokens": 50,
        "output_tokens_details": {"thinking_tokens": 30},
    }
    told = fed(anthropic.Decoder(), body(start, late, STOP))
    assert reply_of(told).usage == Usage(
        input_tokens=109,
        output_tokens=50,
        cached_tokens=100,
        cache_written_tokens=5,
        reasoning_tokens=30,
    )


def test_many_small_deltas_cost_no_more_each_than_a_few():
    """A decoder that joined its buffer every time would need minutes here."""
    pieces = [piece(0, f'"{number:06}",') for number in range(100_000)]
    sent = body(START, tool(0, "toolu_0", "f"), *pieces, end(0), why("tool_use"), STOP)
    assert len(reply_of(fed(anthropic.Decoder(), sent)).calls[0].arguments) == 900_000


WHOLE = {
    "type": "message",
    "role": "assistant",
    "id": "msg_1",
    "model": "claude-x",
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 10, "output_tokens": 7},
    "content": [
        {"type": "thinking", "thinking": "Hmm.", "signature": "c2ln"},
        {"type": "tool_use", "id": "toolu_0", "name": "f", "input": {"a": 1}},
    ],
}


def test_a_whole_body_gives_the_reply_that_its_stream_gives():
    streamed = fed(
        anthropic.Decoder(),
        body(
            START, *THOUGHT, tool(1, "toolu_0", "f"), piece(1, '{"a": 1}'), end(1), why("tool_use"), STOP
        ),
    )
    assert anthropic.decode(json.dumps(WHOLE).encode()) == reply_of(streamed)


def test_arguments_in_a_whole_body_stay_as_the_vendor_wrote_them():
    sent = (
        json.dumps(WHOLE)
        .encode()
        .replace(b'{"a": 1}', b'{"a":1.10, "n":123456789012345678901234567890}')
    )
    assert anthropic.decode(sent).calls[0].arguments == '{"a":1.10, "n":123456789012345678901234567890}'


def test_the_last_call_of_a_whole_body_is_truncated_by_the_limit():
    got = anthropic.decode(json.dumps({**WHOLE, "stop_reason": "max_tokens"}).encode())
    assert got.calls == (call(truncated=True),)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([], ()),
        (None, ()),
        ("Hi", (Text("Hi"),)),
        ([{"type": "text", "text": "", "citations": None}], ()),
        (
            [{"type": "text", "text": "Hi", "citations": [{"cited_text": "c"}], "mood": "calm"}],
            (Text("Hi", {"anthropic": {"citations": [{"cited_text": "c"}], "mood": "calm"}}),),
        ),
    ],
)
def test_content_in_odd_forms_is_understood(content, expected):
    assert anthropic.decode(json.dumps({**WHOLE, "content": content}).encode()).content == expected


@pytest.mark.parametrize(
    "sent", [b"", b"<html>", b"[]", b"{}", b'{"content": 5}', b'{"content": [5]}', b"\xff"]
)
def test_a_body_that_is_no_reply_is_a_protocol_error(sent):
    with pytest.raises(ProtocolError):
        anthropic.decode(sent)


@pytest.mark.parametrize(
    "sent", [b'{"type":"error","error":{"type":"overloaded_error","message":"no"}}']
)
def test_an_error_in_a_body_that_came_with_200_is_a_refusal(sent):
    with pytest.raises(VendorError) as caught:
        anthropic.decode(sent)
    assert (caught.value.status, caught.value.retryable) == (529, True)


HTTP_ERRORS = {
    "the agreed form": (
        429,
        {"Request-Id": "req_h", "Retry-After": "7"},
        b'{"type":"error","error":{"type":"rate_limit_error","message":"Slow"},"request_id":"req_b"}',
        ("Slow", 429, "rate_limit_error", True, 7.0, "req_h"),
    ),
    "milliseconds": (
        529,
        {"retry-after-ms": "1500", "retry-after": "2"},
        b'{"type":"error","error":{"type":"overloaded_error","message":"Full"},"request_id":"req_b"}',
        ("Full", 529, "overloaded_error", True, 1.5, "req_b"),
    ),
    "a date": (
        503,
        {"Retry-After": "Sun, 15 Nov 2026 05:00:30 GMT", "Date": "Sun, 15 Nov 2026 05:00:00 GMT"},
        b"",
        ("HTTP 503, and the vendor did not say why", 503, "", True, 30.0, ""),
    ),
    "a date without a clock": (
        503,
        {"retry-after": "Sun, 15 Nov 2026 05:00:30 GMT"},
        b"{}",
        ("HTTP 503, and the vendor did not say why", 503, "", True, None, ""),
    ),
    "HTML": (
        502,
        {},
        b"<html>\n <b>Bad</b>  gateway</html>",
        ('a web page that says "Bad gateway"', 502, "", True, None, ""),
    ),
    "the vendor says do not retry": (
        500,
        {"x-should-retry": "false", "retry-after": "soon"},
        b'{"error":{"type":"api_error","message":"Oh"}}',
        ("Oh", 500, "api_error", False, None, ""),
    ),
    "the vendor says retry": (400, {"x-should-retry": "true"}, b'"no"', ("no", 400, "", True, None, "")),
    "a limit that waiting does not lift": (
        429,
        {},
        b'{"error":{"type":"rate_limit_error","message":"Spent","details":{"error_code":"enforced_spend_limit_reached"}}}',
        ("Spent", 429, "rate_limit_error", False, None, ""),
    ),
    "a host's own form": (
        422,
        {"x-request-id": "x"},
        b'{"detail":"bad","code":17}',
        ("bad", 422, "17", False, None, "x"),
    ),
    "not UTF-8": (500, {"retry-after": "-1"}, b"\xff", ("\ufffd", 500, "", True, None, "")),
}


@pytest.mark.parametrize(
    ("status", "headers", "sent", "expected"), HTTP_ERRORS.values(), ids=HTTP_ERRORS
)
def test_a_refusal_over_http_keeps_its_facts(status, headers, sent, expected):
    error = anthropic.error(status, headers, sent)
    assert isinstance(error, RightcallError)
    assert (
        error.message,
        error.status,
        error.vendor_code,
        error.retryable,
        error.retry_after,
        error.request_id,
    ) == expected


def test_a_long_page_in_place_of_an_error_is_shortened():
    assert len(anthropic.error(502, {}, b"x" * 10_000).message) == 200


def test_a_block_whose_type_is_no_text_is_kept_as_unknown():
    block = {"type": True, "x": 1}
    message = {"type": "message", "role": "assistant", "content": [block], "stop_reason": "end_turn"}
    assert anthropic.decode(json.dumps(message).encode()).content == (Unknown({"anthropic": block}),)
