"""Streams of the Responses API, true to form and as hosts bend it."""

import json
from random import Random
from time import process_time

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
from rightcall.core.message import Reasoning, Reply, Unknown, user_text
from rightcall.core.parts import Call, Text, Usage
from rightcall.core.request import Request
from rightcall.errors import ProtocolError, TruncatedStream, VendorError
from rightcall.wire import openai_responses as dialect
from wire.recorded import assert_events_tell_the_reply, fed, reply_of, same_at_every_cut

NAME = dialect.name


def sse(*frames: dict, names: bool = True) -> bytes:
    lines = [
        (f"event: {frame['type']}\n" if names and "type" in frame else "")
        + f"data: {json.dumps(frame, ensure_ascii=False)}\n\n"
        for frame in frames
    ]
    return "".join(lines).encode()


def response(*output: dict, status: str = "completed", **more) -> dict:
    usage = {
        "input_tokens": 20,
        "input_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 4},
        "output_tokens": 10,
        "output_tokens_details": {"reasoning_tokens": 3},
        "total_tokens": 30,
    }
    return {
        "id": "resp_1",
        "model": "gpt-5",
        "status": status,
        "output": list(output),
        "usage": usage,
        **more,
    }


def call_item(at: int, arguments: str, *, status: str = "completed", name: str = "look") -> dict:
    return {
        "id": f"fc_{at}",
        "type": "function_call",
        "status": status,
        "arguments": arguments,
        "call_id": f"call_{at}",
        "name": name,
    }


def message_item(text: str, at: int = 0, **more) -> dict:
    part = {"type": "output_text", "annotations": [], "logprobs": [], "text": text}
    item = {"id": f"msg_{at}", "type": "message", "status": "completed", "role": "assistant"}
    return {**item, "content": [part], **more}


def added(at: int, item: dict) -> dict:
    empty = {**item, "status": "in_progress"}
    for member in ("arguments", "input"):
        if member in empty:
            empty[member] = ""
    if item["type"] == "message":
        empty["content"] = []
    return {"type": "response.output_item.added", "output_index": at, "item": empty}


def done(at: int, item: dict) -> dict:
    return {"type": "response.output_item.done", "output_index": at, "item": item}


def delta(kind: str, at: int, item: dict, text: str, **more) -> dict:
    event = {"type": f"response.{kind}.delta", "output_index": at, "item_id": item["id"], "delta": text}
    return {**event, **more}


def arguments(at: int, item: dict, *pieces: str) -> list[dict]:
    return [delta("function_call_arguments", at, item, piece) for piece in pieces]


CREATED = {"type": "response.created", "response": response(status="in_progress")}


def completed(*output: dict, **more) -> dict:
    return {"type": "response.completed", "response": response(*output, **more)}


def incomplete(reason: str, *output: dict) -> dict:
    details = {"reason": reason}
    return {
        "type": "response.incomplete",
        "response": response(*output, status="incomplete", incomplete_details=details),
    }


def told(events: list) -> list:
    """Events as values that compare."""
    return [(e.index, e.text) if isinstance(e, CallDelta) else e for e in events]


def call(at: int, text: str, **more) -> Call:
    bag = {NAME: {"id": f"fc_{at}", "type": "function_call", "status": more.pop("status", "completed")}}
    return Call(id=f"call_{at}", name=more.pop("name", "look"), arguments=text, vendor=bag, **more)


USAGE = Usage(
    input_tokens=20, output_tokens=10, cached_tokens=8, cache_written_tokens=4, reasoning_tokens=3
)


def reply(*content, stop="end", stop_word="completed", **bag) -> Reply:
    return Reply(
        content,
        stop=stop,
        stop_word=stop_word,
        usage=USAGE,
        model="gpt-5",
        vendor={NAME: {"id": "resp_1", **bag}},
    )


def shell(at: int, begin: int, **more) -> dict:
    """A message as its reply keeps it: everything but the text."""
    item = message_item("", at, **more)
    return {
        "at": begin,
        "item": {**item, "content": [{k: v for k, v in item["content"][0].items() if k != "text"}]},
    }


A, B = call_item(0, '{"a":1}'), call_item(1, '{"b":"x"}')


def test_one_call_starts_grows_and_ends_at_its_done_event():
    body = sse(CREATED, added(0, A), *arguments(0, A, '{"a"', ":1}"), done(0, A), completed(A))
    assert told(same_at_every_cut(dialect, body)) == [
        CallStart(0, "look", "call_0"),
        (0, '{"a"'),
        (0, ":1}"),
        CallEnd(0, call(0, '{"a":1}')),
        ReplyEnd(reply(call(0, '{"a":1}'), stop="calls")),
    ]


def test_a_call_has_not_ended_because_its_text_parses():
    decoder = dialect.decoder()
    events = decoder.feed(sse(CREATED, added(0, A), *arguments(0, A, '{"a":1}')))
    assert not any(isinstance(e, CallEnd) for e in events)


INTERLEAVED = [
    added(0, A),
    added(1, B),
    arguments(0, A, '{"a"')[0],
    arguments(1, B, '{"b":')[0],
    arguments(0, A, ":1}")[0],
    arguments(1, B, '"x"}')[0],
]


def test_interleaved_calls_are_kept_apart():
    events = same_at_every_cut(
        dialect, sse(CREATED, *INTERLEAVED, done(1, B), done(0, A), completed(A, B))
    )
    assert_events_tell_the_reply(events)
    assert told(events)[-3:] == [
        CallEnd(1, call(1, '{"b":"x"}')),
        CallEnd(0, call(0, '{"a":1}')),
        ReplyEnd(reply(call(0, '{"a":1}'), call(1, '{"b":"x"}'), stop="calls")),
    ]


def without(key: str, frames: list[dict]) -> list[dict]:
    return [{k: v for k, v in frame.items() if k != key} for frame in frames]


def with_ids_that_change(frames: list[dict]) -> list[dict]:
    changed = []
    for at, frame in enumerate(frames):
        item = {**frame["item"], "id": f"x{at}"} if "item" in frame else None
        changed.append({**frame, "item_id": f"x{at}", **({"item": item} if item else {})})
    return changed


FRAMES = [*INTERLEAVED, done(0, A), done(1, B)]
IN_TURN = [
    added(0, A),
    *arguments(0, A, '{"a":1}'),
    done(0, A),
    added(1, B),
    *arguments(1, B, '{"b":"x"}'),
    done(1, B),
]

BENT = {
    "no output index": without("output_index", FRAMES),
    "every output index is 0": [{**frame, "output_index": 0} for frame in FRAMES],
    "no item ids": [
        {
            **without("item_id", [f])[0],
            **({"item": without("id", [f["item"]])[0]} if "item" in f else {}),
        }
        for f in FRAMES
    ],
    "another item id in every event": with_ids_that_change(FRAMES),
    "one item id for all": [
        {**f, "item_id": "fc", **({"item": {**f["item"], "id": "fc"}} if "item" in f else {})}
        for f in FRAMES
    ],
    "neither index nor id, in turn": [
        {
            **without("item_id", without("output_index", [f]))[0],
            **({"item": without("id", [f["item"]])[0]} if "item" in f else {}),
        }
        for f in IN_TURN
    ],
    "only done": [done(0, A), done(1, B)],
    "only the parts' done events": [
        added(0, A),
        added(1, B),
        {
            "type": "response.function_call_arguments.done",
            "item_id": "fc_0",
            "output_index": 0,
            "arguments": '{"a":1}',
        },
        {
            "type": "response.function_call_arguments.done",
            "item_id": "fc_1",
            "output_index": 1,
            "arguments": '{"b":"x"}',
        },
    ],
    "nothing but the response": [],
    "deltas before the item is announced": [
        *arguments(0, A, '{"a":1}'),
        added(0, A),
        done(0, A),
        *arguments(1, B, '{"b":"x"}'),
        done(1, B),
    ],
    "announced twice": [added(0, A), *FRAMES],
    "a null item is announced": [
        {"type": "response.output_item.added", "output_index": 0, "item": None},
        *FRAMES,
    ],
    "no status": [
        {**f, "item": without("status", [f["item"]])[0]} if "item" in f else f for f in FRAMES
    ],
}


@pytest.mark.parametrize("frames", BENT.values(), ids=BENT)
def test_hosts_that_bend_the_form_give_the_same_calls(frames):
    events = same_at_every_cut(dialect, sse(CREATED, *frames, completed(A, B)))
    assert_events_tell_the_reply(events)
    assert reply_of(events) == reply(call(0, '{"a":1}'), call(1, '{"b":"x"}'), stop="calls")
    assert sorted((e.index, e.call.arguments) for e in events if isinstance(e, CallEnd)) == [
        (0, '{"a":1}'),
        (1, '{"b":"x"}'),
    ]
    pieces = [
        "".join(e.text for e in events if isinstance(e, CallDelta) and e.index == at) for at in (0, 1)
    ]
    assert pieces == ['{"a":1}', '{"b":"x"}']


LEFT_OUT = {
    "empty": {"output": []},
    "missing": {},
    "null": {"output": None},
    "only the first": {"output": [A]},
}


@pytest.mark.parametrize("end", LEFT_OUT.values(), ids=LEFT_OUT)
def test_items_that_the_last_event_leaves_out_are_those_of_the_stream(end):
    last = {"type": "response.completed", "response": {**without("output", [response()])[0], **end}}
    events = same_at_every_cut(dialect, sse(CREATED, *FRAMES, last))
    assert_events_tell_the_reply(events)
    assert reply_of(events) == reply(call(0, '{"a":1}'), call(1, '{"b":"x"}'), stop="calls")


def test_a_reply_is_put_together_from_deltas_alone():
    thought = {"id": "rs_0", "type": "reasoning", "summary": []}
    message = message_item("Hello")
    body = sse(
        CREATED,
        added(0, thought),
        delta("reasoning_text", 0, thought, "Hm", content_index=0),
        added(1, message),
        delta("output_text", 1, message, "Hel", content_index=0),
        delta("output_text", 1, message, "lo", content_index=0),
        added(2, A),
        *arguments(2, A, '{"a":1}'),
        {"type": "response.completed"},
    )
    events = same_at_every_cut(dialect, body)
    assert_events_tell_the_reply(events)
    found = reply_of(events)
    assert (found.reasoning, found.text, found.calls) == ("Hm", "Hello", (call(0, '{"a":1}'),))
    assert (found.stop, found.stop_word) == ("calls", "completed")


ARGUMENTS = {
    "none": "",
    "empty object": "{}",
    "spaces": '{ "a" : 1 }\n',
    "unicode": '{"a":"žluťoučký 🐎 \u2028\u2029 \\ud83d\\ude00"}',
    "not json": "look at this",
    "two objects": '{"a":1}{"b":2}',
}


@pytest.mark.parametrize("text", ARGUMENTS.values(), ids=ARGUMENTS)
def test_arguments_stay_the_text_they_were(text):
    item = call_item(0, text)
    body = sse(CREATED, added(0, item), *arguments(0, item, *text), done(0, item), completed(item))
    events = same_at_every_cut(dialect, body)
    assert_events_tell_the_reply(events)
    assert reply_of(events) == reply(call(0, text), stop="calls")
    assert [e.call for e in events if isinstance(e, CallEnd)] == [call(0, text)]


def test_arguments_that_are_sent_as_an_object_become_text():
    item = {**A, "arguments": {"a": [1, None]}}
    assert dialect.decode(json.dumps(response(item)).encode()).calls[0].arguments == '{"a":[1,null]}'


def test_calls_that_share_an_id_are_told_apart():
    same = {**B, "call_id": "call_0"}
    frames = [added(0, A), done(0, A), added(1, same), done(1, same)]
    events = same_at_every_cut(dialect, sse(CREATED, *frames, completed(A, same)))
    assert [e.id for e in events if isinstance(e, CallStart)] == ["call_0", "call_0_2"]
    assert [e.call.id for e in events if isinstance(e, CallEnd)] == ["call_0", "call_0_2"]
    assert [c.id for c in reply_of(events).calls] == ["call_0", "call_0_2"]


def test_a_call_without_any_id_gets_one():
    bare = without("id", without("call_id", [A]))[0]
    events = fed(dialect.decoder(), sse(CREATED, added(0, bare), done(0, bare), completed(bare)))
    assert [c.id for c in reply_of(events).calls] == ["call_0"]


def test_text_reasoning_and_their_bags_are_kept_apart():
    thought = {
        "id": "rs_0",
        "type": "reasoning",
        "encrypted_content": "gAAA==",
        "summary": [
            {"type": "summary_text", "text": "**One**"},
            {"type": "summary_text", "text": "**Two**"},
        ],
    }
    first = message_item("Let me see. ", 1, phase="commentary")
    last = message_item("It is\u2028so.", 2, phase="final_answer")
    body = sse(
        CREATED,
        added(0, {**thought, "encrypted_content": "gA", "summary": []}),
        delta("reasoning_summary_text", 0, thought, "**One", summary_index=0),
        delta("reasoning_summary_text", 0, thought, "**", summary_index=0),
        delta("reasoning_summary_text", 0, thought, "**Two**", summary_index=1),
        done(0, {**thought, "encrypted_content": "gAB="}),
        added(1, first),
        delta("output_text", 1, first, "Let me ", content_index=0),
        delta("output_text", 1, first, "see. ", content_index=0),
        done(1, first),
        added(2, last),
        delta("output_text", 2, last, "It is\u2028so.", content_index=0),
        done(2, last),
        completed(thought, first, last),
    )
    assert told(same_at_every_cut(dialect, body)) == [
        ReasoningDelta("**One"),
        ReasoningDelta("**"),
        ReasoningDelta("\n\n**Two**"),
        ReasoningEnd(Reasoning("**One**\n\n**Two**", {NAME: {**thought, "encrypted_content": "gAB="}})),
        TextDelta("Let me "),
        TextDelta("see. "),
        TextDelta("It is\u2028so."),
        ReplyEnd(
            reply(
                Reasoning("**One**\n\n**Two**", {NAME: thought}),
                Text("Let me see. "),
                Text("It is\u2028so."),
                messages=[shell(1, 1, phase="commentary"), shell(2, 2, phase="final_answer")],
            )
        ),
    ]


def test_reasoning_text_of_open_models_is_reasoning():
    thought = {
        "id": "rs_0",
        "type": "reasoning",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "Hmm."}],
    }
    body = sse(
        added(0, thought),
        delta("reasoning_text", 0, thought, "Hmm.", content_index=0),
        completed(thought),
    )
    assert told(same_at_every_cut(dialect, body)) == [
        ReasoningDelta("Hmm."),
        ReplyEnd(reply(Reasoning("Hmm.", {NAME: thought}))),
    ]


REFUSAL = {"type": "refusal", "refusal": "I can't help with that."}


@pytest.mark.parametrize("output", [True, False], ids=["in the response", "only in pieces"])
def test_a_refusal_is_kept_apart_from_the_answer(output):
    item = {**message_item(""), "content": [REFUSAL]}
    body = sse(
        CREATED,
        added(0, item),
        delta("refusal", 0, item, "I can't ", content_index=0),
        delta("refusal", 0, item, "help with that.", content_index=0),
        *([done(0, item), completed(item)] if output else [completed()]),
    )
    kept = {"at": 0, "item": {**item, "content": [{}]}}
    assert told(same_at_every_cut(dialect, body)) == [
        ReplyEnd(reply(Unknown({NAME: {"part": REFUSAL}}), stop="refusal", messages=[kept])),
    ]


def test_custom_tools_are_called_with_the_text_they_are_given():
    item = {
        "id": "ct_0",
        "type": "custom_tool_call",
        "call_id": "c",
        "name": "sql",
        "input": "SELECT 1",
        "status": "completed",
    }
    body = sse(
        added(0, item),
        delta("custom_tool_call_input", 0, item, "SELECT 1"),
        done(0, item),
        completed(item),
    )
    bag = {NAME: {"id": "ct_0", "type": "custom_tool_call", "status": "completed"}}
    made = Call(id="c", name="sql", arguments="SELECT 1", form="text", vendor=bag)
    assert told(same_at_every_cut(dialect, body)) == [
        CallStart(0, "sql", "c"),
        (0, "SELECT 1"),
        CallEnd(0, made),
        ReplyEnd(reply(made, stop="calls")),
    ]


def test_items_parts_and_events_that_nobody_knows_are_kept_and_break_nothing():
    item = {"id": "zz_0", "type": "telepathy_call", "status": "completed", "thought": [1]}
    message = message_item("Hi")
    message["content"].append({"type": "smell", "data": "AA=="})
    body = sse(
        CREATED,
        {"type": "keepalive", "sequence_number": 3},
        added(0, item),
        {"type": "response.telepathy_call.delta", "output_index": 0, "delta": {"deep": []}},
        {"type": "response.mcp_call.failed", "error": "nobody home", "output_index": 0},
        done(0, item),
        done(1, message),
        completed(item, message, unheard_of=True),
    )
    found = reply_of(same_at_every_cut(dialect, body + b"data: [DONE]\n\n"))
    bare = {**message, "content": [{"type": "output_text", "annotations": [], "logprobs": []}, {}]}
    assert found == reply(
        Unknown({NAME: item}),
        Text("Hi"),
        Unknown({NAME: {"part": {"type": "smell", "data": "AA=="}}}),
        messages=[{"at": 1, "item": bare}],
    )


CUT = call_item(1, '{"b":"x', status="incomplete")

CUT_OFF = {
    "as the vendor says it": (incomplete("max_output_tokens", A, CUT), "incomplete"),
    "labelled completed": (
        incomplete("max_output_tokens", A, {**CUT, "status": "completed"}),
        "completed",
    ),
    "still in progress": (
        incomplete("max_output_tokens", A, {**CUT, "status": "in_progress"}),
        "in_progress",
    ),
    "in a response called completed": (completed(A, CUT), "incomplete"),
}


@pytest.mark.parametrize(("end", "status"), CUT_OFF.values(), ids=CUT_OFF)
def test_a_call_that_the_limit_cut_off_is_marked_and_never_ends(end, status):
    item = {**CUT, "status": status}
    frames = [added(0, A), done(0, A), added(1, item), *arguments(1, item, '{"b":', '"x'), done(1, item)]
    events = same_at_every_cut(dialect, sse(CREATED, *frames, end))
    assert [e.call for e in events if isinstance(e, CallEnd)] == [call(0, '{"a":1}')]
    found = reply_of(events)
    assert found.calls == (call(0, '{"a":1}'), call(1, '{"b":"x', truncated=True, status=status))
    assert found.stop == ("calls" if end["type"] == "response.completed" else "length")
    assert found == dialect.decode(json.dumps(end["response"]).encode())


REASONS = {
    "max_output_tokens": "length",
    "content_filter": "filtered",
    "something new": "error",
}


@pytest.mark.parametrize(("reason", "stop"), REASONS.items())
def test_why_a_response_is_incomplete_is_why_it_stopped(reason, stop):
    events = fed(dialect.decoder(), sse(CREATED, incomplete(reason, message_item("Hel"))))
    details = {"incomplete_details": {"reason": reason}}
    assert reply_of(events) == reply(
        Text("Hel"), stop=stop, stop_word="incomplete", **details, messages=[shell(0, 0)]
    )


WHOLE_STREAM = sse(CREATED, *FRAMES, completed(A, B))


def test_a_stream_cut_anywhere_is_truncated_and_ends_no_call_too_soon():
    whole = reply(call(0, '{"a":1}'), call(1, '{"b":"x"}'), stop="calls")
    for at in range(len(WHOLE_STREAM)):
        decoder = dialect.decoder()
        events = []
        try:
            events += decoder.feed(WHOLE_STREAM[:at])
            events += decoder.finish()
        except ProtocolError:
            assert not any(isinstance(e, ReplyEnd) for e in events)
        else:
            assert reply_of(events) == whole
            assert at >= len(WHOLE_STREAM) - 2
        for event in events:
            if isinstance(event, CallEnd):
                assert event.call == whole.calls[event.index]


@pytest.mark.parametrize(
    "body", [b"", b": hi\n\n", sse(CREATED), sse(CREATED, *FRAMES) + b"data: [DONE]\n\n"]
)
def test_a_stream_without_its_last_event_is_truncated(body):
    with pytest.raises(TruncatedStream):
        fed(dialect.decoder(), body)


@pytest.mark.parametrize(
    "frame",
    [b"{", b'{"type":', b"<html>", b"[1]", b'"x"', b"7", b'{"type":"response.created"}}', b"\xff"],
)
def test_a_frame_that_is_not_json_breaks_the_protocol(frame):
    with pytest.raises(ProtocolError, match="not JSON as the Responses API sends it") as caught:
        dialect.decoder().feed(b"data: " + frame + b"\n\n")
    assert len(str(caught.value)) < 500


STRANGE = [
    {"type": "response.output_item.added", "output_index": "x", "item": 3},
    {"type": "response.output_item.done", "output_index": [1], "item": {"type": None, "id": 7}},
    {"type": "response.output_text.delta", "delta": {"text": "x"}, "output_index": {}, "item_id": []},
    {"type": "response.function_call_arguments.delta", "delta": 5},
    {"type": "response.function_call_arguments.done", "arguments": None},
    {"type": 5},
    {},
    {"type": None, "error": None},
]


def test_values_of_the_wrong_kind_are_passed_over():
    events = same_at_every_cut(dialect, sse(CREATED, *STRANGE, *FRAMES, completed(A, B), names=False))
    assert reply_of(events).calls == (call(0, '{"a":1}'), call(1, '{"b":"x"}'))


def damaged(value, chance: Random):
    """The value with some of its insides left out, or of another kind."""
    if chance.random() < 0.04:
        return chance.choice([None, 5, "x", True, [], {}, [None], {"type": {}}])
    if isinstance(value, dict):
        return {k: damaged(v, chance) for k, v in value.items() if chance.random() > 0.03}
    return [damaged(item, chance) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("seed", range(40))
def test_damaged_streams_end_in_a_reply_or_in_our_own_errors(seed):
    chance = Random(seed)
    thought = {"id": "rs", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}]}
    message = message_item("Hi", 9)
    frames = [CREATED, done(2, thought), done(3, message), *FRAMES, completed(A, B, thought, message)]
    for _ in range(25):
        kept = [made for f in frames if isinstance(made := damaged(f, chance), dict)]
        try:
            found = reply_of(fed(dialect.decoder(), sse(*kept, names=False)))
        except (ProtocolError, VendorError):
            continue
        request = Request(messages=(user_text("Hi"), found, user_text("Go on")))
        assert dialect.encode(request, model="m", stream=True).body


ERRORS = {
    "the vendor's": (
        {"type": "error", "code": "server_error", "message": "Oops", "param": None},
        (None, "server_error", True),
    ),
    "nested": (
        {
            "type": "error",
            "error": {"type": "invalid_request_error", "code": "invalid_prompt", "message": "Oops"},
        },
        (None, "invalid_prompt", False),
    ),
    "without a type": (
        {"error": {"message": "Oops", "type": "overloaded_error"}},
        (None, "overloaded_error", True),
    ),
    "with a status": ({"type": "error", "error": {"code": 502, "message": "Oops"}}, (502, "502", True)),
    "failed": (
        {
            "type": "response.failed",
            "response": response(
                status="failed", error={"code": "rate_limit_exceeded", "message": "Oops"}
            ),
        },
        (None, "rate_limit_exceeded", True),
    ),
    "out of money": (
        {"type": "error", "code": "insufficient_quota", "message": "Oops"},
        (None, "insufficient_quota", False),
    ),
}


@pytest.mark.parametrize(("frame", "expected"), ERRORS.values(), ids=ERRORS)
def test_an_error_inside_a_stream_is_the_vendors(frame, expected):
    decoder = dialect.decoder()
    assert decoder.feed(sse(CREATED, added(0, A)))
    with pytest.raises(VendorError, match="Oops") as caught:
        decoder.feed(sse(frame))
    assert (caught.value.status, caught.value.vendor_code, caught.value.retryable) == expected


def test_a_failure_without_words_still_says_what_happened():
    with pytest.raises(VendorError, match="did not say why"):
        fed(dialect.decoder(), sse({"type": "response.failed", "response": {"status": "failed"}}))


BODIES = {
    "an error": (b'{"error": {"message": "Oops", "code": "server_error"}}', VendorError),
    "an error as text": (b'{"error": "Oops"}', VendorError),
    "a failed response": (
        json.dumps(
            response(status="failed", error={"code": "server_error", "message": "Oops"})
        ).encode(),
        VendorError,
    ),
    "a detail": (b'{"detail": "Oops"}', VendorError),
    "html": (b"<html>Oops</html>", ProtocolError),
    "a list": (b'["Oops"]', ProtocolError),
    "half": (b'{"output": [{"Oops', ProtocolError),
    "something else": (b'{"choices": "Oops"}', ProtocolError),
}


@pytest.mark.parametrize(("body", "kind"), BODIES.values(), ids=BODIES)
def test_a_body_that_is_no_response_is_an_error(body, kind):
    with pytest.raises(kind, match="Oops"):
        dialect.decode(body)


def test_a_response_that_has_not_ended_is_not_relied_on():
    found = dialect.decode(
        json.dumps(response({**A, "status": "in_progress"}, status="in_progress")).encode()
    )
    assert (found.stop, found.stop_word) == ("error", "in_progress")
    assert [c.truncated for c in found.calls] == [True]


def test_nothing_counts_after_the_end_and_the_reply_comes_once():
    decoder = dialect.decoder()
    message = message_item("Hi")
    decoder.feed(
        sse(CREATED, done(0, message), completed(message), delta("output_text", 0, message, " there"))
    )
    assert decoder.finish() == (ReplyEnd(reply(Text("Hi"), messages=[shell(0, 0)])),)
    assert decoder.finish() == ()


def test_a_host_that_does_not_stream_gives_the_same_events():
    body = json.dumps(response(message_item("Hi"), A), indent=1).encode()
    events = same_at_every_cut(dialect, b"\n " + body)
    assert_events_tell_the_reply(events)
    assert reply_of(events) == dialect.decode(body)
    assert told(events)[:-1] == [
        TextDelta("Hi"),
        CallStart(0, "look", "call_0"),
        (0, '{"a":1}'),
        CallEnd(0, call(0, '{"a":1}')),
    ]


def test_a_refusal_in_place_of_a_stream_is_the_vendors():
    decoder = dialect.decoder()
    assert (
        decoder.feed(b'{"error": {"message": "Oops", ')
        == decoder.feed(b'"code": "server_error"}}')
        == ()
    )
    with pytest.raises(VendorError, match="Oops"):
        decoder.finish()


def test_a_character_that_was_cut_in_two_breaks_nothing():
    message = message_item("a😀b")
    halves = [delta("output_text", 0, message, text) for text in ("a\ud83d", "\ude00b")]
    frames = [added(0, message), *halves, done(0, message), completed(message)]
    body = "".join(f"data: {json.dumps(frame)}\n\n" for frame in frames).encode()
    events = fed(dialect.decoder(), body)
    assert reply_of(events).text == "a😀b"
    assert [e.text for e in events if isinstance(e, TextDelta)] == ["a", "😀b"]


USAGES = {
    "as chat completions": (
        {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}},
        Usage(input_tokens=5, output_tokens=2, cached_tokens=1),
    ),
    "with a price": (
        {"input_tokens": 5, "output_tokens": 2, "cost": 0.25},
        Usage(input_tokens=5, output_tokens=2, cost=0.25),
    ),
    "none": (None, Usage()),
    "nulls": ({"input_tokens": None, "input_tokens_details": None}, Usage()),
}


@pytest.mark.parametrize(("usage", "expected"), USAGES.values(), ids=USAGES)
def test_usage_is_read_wherever_it_stands(usage, expected):
    assert dialect.decode(json.dumps({**response(), "usage": usage}).encode()).usage == expected


def test_the_cost_of_a_delta_does_not_grow():
    item = call_item(0, "x" * 4_000_000)
    decoder = dialect.decoder()
    decoder.feed(sse(CREATED, added(0, item)))
    frame = sse(*arguments(0, item, "x" * 200))
    spent = []
    for _ in range(4):
        began = process_time()
        for _ in range(5_000):
            assert len(decoder.feed(frame)) == 1
        spent.append(process_time() - began)
    events = [*decoder.feed(sse(done(0, item), completed(item))), *decoder.finish()]
    assert [type(e) for e in events] == [CallEnd, ReplyEnd]
    # Were the buffer read again at every delta, each round would cost seconds, and more than the last.
    assert spent[-1] < 5 * spent[0]
