"""Gemini's streams, made by hand but true to form: what they mean, whole, cut, and broken."""

import json
from importlib import import_module

import pytest

from rightcall.core.events import CallDelta, CallEnd, CallStart, ReasoningDelta, ReplyEnd, TextDelta
from rightcall.core.message import Reasoning, Reply, Unknown
from rightcall.core.parts import Call, Media, Text, Usage
from rightcall.errors import ProtocolError, TruncatedStream, VendorError
from rightcall.wire import gemini
from rightcall.wire.gemini.reply import ArgumentsText, steps
from rightcall.wire.gemini.tables import STOPS, UNSAID
from wire.recorded import assert_events_tell_the_reply, chunkings, fed, reply_of, same_at_every_cut


def chunk(*parts, finish=None, **more):
    candidate = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    return {"candidates": [candidate | ({"finishReason": finish} if finish else {})], **more}


def sse(*chunks, end="\r\n\r\n"):
    frames = [c if isinstance(c, str) else json.dumps(c, ensure_ascii=False) for c in chunks]
    return "".join(f"data: {frame}{end}" for frame in frames).encode()


def call(name, args=None, **more):
    return {"functionCall": {"name": name} | ({} if args is None else {"args": args}), **more}


def a_call(name, arguments, *, id="", truncated=False, **bag):  # noqa: A002
    return Call(id=id, name=name, arguments=arguments, truncated=truncated, vendor={"gemini": bag})


def leaf(path, *, goes_on=False, **value):
    return {"jsonPath": path, **value, **({"willContinue": True} if goes_on else {})}


def streamed(*leaves, name=None, goes_on=True, **more):
    said = {"name": name} if name else {}
    said |= {"partialArgs": list(leaves)} if leaves else {}
    return chunk({"functionCall": said | ({"willContinue": True} if goes_on else {})}, **more)


STREAMS = {
    "text in pieces is one part": (
        [chunk({"text": "Hel"}), chunk({"text": "lo"}), chunk({"text": ""}, finish="STOP")],
        Reply((Text("Hello"),), stop="end", stop_word="STOP"),
    ),
    "one call": (
        [chunk(call("f", {"a": 1}), finish="STOP")],
        Reply((a_call("f", '{"a":1}'),), stop="calls", stop_word="STOP"),
    ),
    "a call with an id keeps it": (
        [chunk({"functionCall": {"id": "x1", "name": "f", "args": {}}}, finish="STOP")],
        Reply((a_call("f", "{}", id="x1"),), stop="calls", stop_word="STOP"),
    ),
    "parallel calls in one chunk, the first one signed": (
        [chunk(call("f", {"a": 1}, thoughtSignature="s"), call("f", {"a": 2}), finish="STOP")],
        Reply(
            (a_call("f", '{"a":1}', thoughtSignature="s"), a_call("f", '{"a":2}')),
            stop="calls",
            stop_word="STOP",
        ),
    ),
    "parallel calls in chunks of their own": (
        [chunk(call("f", {})), chunk(call("g", {})), chunk({"text": ""}, finish="STOP")],
        Reply((a_call("f", "{}"), a_call("g", "{}")), stop="calls", stop_word="STOP"),
    ),
    "no arguments at all": (
        [chunk(call("f"), finish="STOP")],
        Reply((a_call("f", "{}"),), stop="calls", stop_word="STOP"),
    ),
    "arguments sent as a string": (
        [chunk(call("f", '{"a": 1}'), call("g", ""), finish="STOP")],
        Reply((a_call("f", '{"a": 1}'), a_call("g", "{}")), stop="calls", stop_word="STOP"),
    ),
    "two calls with the same id": (
        [chunk(*[{"functionCall": {"id": "x", "name": "f", "args": {}}}] * 2, finish="STOP")],
        Reply((a_call("f", "{}", id="x"), a_call("f", "{}", id="x")), stop="calls", stop_word="STOP"),
    ),
    "text between calls": (
        [chunk({"text": "a"}, call("f", {}), {"text": "b"}, call("g", {}), finish="STOP")],
        Reply(
            (Text("a"), a_call("f", "{}"), Text("b"), a_call("g", "{}")), stop="calls", stop_word="STOP"
        ),
    ),
    "line separators, emoji and escapes": (
        [chunk({"text": "a\u2028b\U0001f600"}, call("f", {"ü\u2029": 'é"\n'}), finish="STOP")],
        Reply(
            (Text("a\u2028b\U0001f600"), a_call("f", '{"ü\u2029":"é\\"\\n"}')),
            stop="calls",
            stop_word="STOP",
        ),
    ),
    "thoughts are reasoning": (
        [
            chunk({"text": "Let ", "thought": True}),
            chunk({"text": "me see", "thought": True}),
            chunk({"text": "Yes", "thought": False}, finish="STOP"),
        ],
        Reply((Reasoning("Let me see", {"gemini": {}}), Text("Yes")), stop="end", stop_word="STOP"),
    ),
    "a signed piece stays a part of its own": (
        [
            chunk({"text": "a"}),
            chunk({"text": "b", "thoughtSignature": "s1"}),
            chunk({"text": "c"}),
            chunk({"text": "t", "thought": True, "thoughtSignature": "s2"}),
            chunk({"text": "", "thoughtSignature": "s3"}, finish="STOP"),
        ],
        Reply(
            (
                Text("a"),
                Text("b", {"gemini": {"thoughtSignature": "s1"}}),
                Text("c"),
                Reasoning("t", {"gemini": {"thoughtSignature": "s2"}}),
                Text("", {"gemini": {"thoughtSignature": "s3"}}),
            ),
            stop="end",
            stop_word="STOP",
        ),
    ),
    "pictures, and parts that nobody knows": (
        [
            chunk({"inlineData": {"mimeType": "image/png", "data": "aGk="}, "thoughtSignature": "s"}),
            chunk({"inlineData": {"mimeType": "image/png", "data": "not base64"}}),
            chunk({"executableCode": {"code": "1"}}, {"aNewThing": [1]}, {}, finish="STOP"),
        ],
        Reply(
            (
                Media(b"hi", "image/png", vendor={"gemini": {"thoughtSignature": "s"}}),
                Unknown({"gemini": {"inlineData": {"mimeType": "image/png", "data": "not base64"}}}),
                Unknown({"gemini": {"executableCode": {"code": "1"}}}),
                Unknown({"gemini": {"aNewThing": [1]}}),
            ),
            stop="end",
            stop_word="STOP",
        ),
    ),
    "the last call of a reply that ran out of tokens is cut off": (
        [chunk(call("f", {}), call("g", {"a": 1})), chunk({"text": ""}, finish="MAX_TOKENS")],
        Reply(
            (a_call("f", "{}"), a_call("g", '{"a":1}', truncated=True)),
            stop="length",
            stop_word="MAX_TOKENS",
        ),
    ),
    "a call that text follows is whole": (
        [chunk(call("f", {}), {"text": "and"}, finish="MAX_TOKENS")],
        Reply((a_call("f", "{}"), Text("and")), stop="length", stop_word="MAX_TOKENS"),
    ),
    "nothing but thinking before the tokens ran out": (
        [{"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}]}],
        Reply((), stop="length", stop_word="MAX_TOKENS"),
    ),
    "a blocked prompt has no candidates": (
        [{"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "modelVersion": "m"}],
        Reply(
            (),
            stop="filtered",
            stop_word="PROHIBITED_CONTENT",
            model="m",
            vendor={"gemini": {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}},
        ),
    ),
    "a malformed call": (
        [{"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "print(f())"}]}],
        Reply(
            (),
            stop="error",
            stop_word="MALFORMED_FUNCTION_CALL",
            vendor={"gemini": {"finishMessage": "print(f())"}},
            fault='Your last reply held a tool call that could not be read: "print(f())". Make the call '
            "again, with its arguments as one JSON object, or give your answer.",
        ),
    ),
    "a reply to be continued": (
        [{"candidates": [{"finishReason": "CONTINUATION", "continuationToken": "t"}]}],
        Reply((), stop="pause", stop_word="CONTINUATION", vendor={"gemini": {"continuationToken": "t"}}),
    ),
    "the old habit of a finishReason in every chunk": (
        [chunk({"text": "a"}, finish="STOP"), chunk({"text": "b"}, finish="STOP")],
        Reply((Text("ab"),), stop="end", stop_word="STOP"),
    ),
    "usage, model and grounding; the last full counts stand": (
        [
            chunk({"text": "a"}, usageMetadata={"promptTokenCount": 169, "candidatesTokenCount": 9}),
            chunk({"text": "b"}, usageMetadata={"trafficType": "ON_DEMAND"}),
            {
                "candidates": [{"finishReason": "STOP", "groundingMetadata": {"x": 1}}],
                "usageMetadata": {
                    "promptTokenCount": 10,
                    "cachedContentTokenCount": 4,
                    "candidatesTokenCount": 3,
                    "thoughtsTokenCount": 2,
                    "toolUsePromptTokenCount": 5,
                },
                "modelVersion": "gemini-x",
                "responseId": "r",
            },
            {"candidates": [{"groundingMetadata": {}}]},
        ],
        Reply(
            (Text("ab"),),
            stop="end",
            stop_word="STOP",
            usage=Usage(input_tokens=15, output_tokens=5, cached_tokens=4, reasoning_tokens=2),
            model="gemini-x",
            vendor={"gemini": {"groundingMetadata": {"x": 1}, "responseId": "r"}},
        ),
    ),
    "hosts that write null, [DONE], other candidates and unknown members": (
        [
            {"candidates": None, "usageMetadata": None, "modelVersion": None, "promptFeedback": None},
            chunk({"text": "a", "functionCall": None, "thought": None}, None),
            {
                "candidates": [
                    {"index": 1, "content": {"parts": [{"text": "no"}]}, "finishReason": "SAFETY"}
                ]
            },
            {"candidates": [{"content": None, "finishReason": "FINISH_REASON_UNSPECIFIED"}]},
            {"keepalive": True},
            chunk({"text": "b"}, finish="STOP"),
            "[DONE]",
        ],
        Reply((Text("ab"),), stop="end", stop_word="STOP", vendor={"gemini": {"keepalive": True}}),
    ),
    "arguments in leaves": (
        [
            streamed(name="f"),
            streamed(leaf("$.a", stringValue="x", goes_on=True)),
            streamed(leaf("$.a", stringValue='y"\n', goes_on=True), leaf("$.a", stringValue="")),
            streamed(leaf("$.b[0].c", numberValue=5.0), leaf("$.b[0].d", boolValue=False)),
            streamed(),
            streamed(leaf("$.b[1].c", nullValue=None), leaf("$['e.f']", numberValue=0.5)),
            chunk({"functionCall": {}}, finish="STOP"),
        ],
        Reply(
            (a_call("f", '{"a":"xy\\"\\n","b":[{"c":5,"d":false},{"c":null}],"e.f":0.5}'),),
            stop="calls",
            stop_word="STOP",
        ),
    ),
    "two calls in leaves, the second without any": (
        [
            streamed(leaf("$.a", boolValue=True), name="f"),
            streamed(goes_on=False),
            streamed(name="g"),
            chunk({"functionCall": {}}),
            chunk({"functionCall": {}}, finish="STOP"),
        ],
        Reply((a_call("f", '{"a":true}'), a_call("g", "{}")), stop="calls", stop_word="STOP"),
    ),
    "leaves in one chunk are a whole call": (
        [streamed(leaf("$.a", stringValue="x"), name="f", goes_on=False, finish="STOP")],
        Reply((a_call("f", '{"a":"x"}'),), stop="calls", stop_word="STOP"),
    ),
    "leaves that end with the reply instead of a marker": (
        [streamed(leaf("$.a", stringValue="x"), name="f"), {"candidates": [{"finishReason": "STOP"}]}],
        Reply((a_call("f", '{"a":"x"}'),), stop="calls", stop_word="STOP"),
    ),
    "leaves that stop in the middle of a string": (
        [
            streamed(leaf("$.a", stringValue="x", goes_on=True), name="f"),
            chunk({"text": ""}, finish="STOP"),
        ],
        Reply((a_call("f", '{"a":"x"}', truncated=True),), stop="calls", stop_word="STOP"),
    ),
    "leaves cut off by the tokens": (
        [streamed(leaf("$.a", stringValue="x"), name="f"), chunk({"text": ""}, finish="MAX_TOKENS")],
        Reply((a_call("f", '{"a":"x"', truncated=True),), stop="length", stop_word="MAX_TOKENS"),
    ),
    "leaves of a call that another interrupts": (
        [streamed(leaf("$.a", stringValue="x"), name="f"), chunk(call("g", {}), finish="STOP")],
        Reply(
            (a_call("f", '{"a":"x"', truncated=True), a_call("g", "{}")), stop="calls", stop_word="STOP"
        ),
    ),
    "a leaf that goes back is not guessed at": (
        [
            streamed(leaf("$.a.b", numberValue=1), leaf("$.c", numberValue=2), name="f"),
            streamed(leaf("$.a.d", numberValue=3), goes_on=False, finish="STOP"),
        ],
        Reply((a_call("f", '{"a":{"b":1},"c":2}', truncated=True),), stop="calls", stop_word="STOP"),
    ),
}


@pytest.mark.parametrize(("chunks", "expected"), STREAMS.values(), ids=STREAMS)
def test_a_stream_means_the_same_at_every_cut(chunks, expected):
    body = sse(*chunks)
    events = same_at_every_cut(gemini, body)
    assert_events_tell_the_reply(events)
    assert reply_of(events) == expected


@pytest.mark.parametrize(("chunks", "expected"), STREAMS.values(), ids=STREAMS)
def test_a_json_array_means_the_same_as_events(chunks, expected):
    documents = [c for c in chunks if not isinstance(c, str)]
    body = json.dumps(documents, indent=2).encode()
    assert reply_of(same_at_every_cut(gemini, body)) == expected
    assert gemini.decode(body) == expected


def test_events_come_in_order_and_a_call_ends_when_something_follows_it():
    body = [
        sse(chunk({"text": "hm", "thought": True})),
        sse(chunk(call("f", {"a": 1}))),
        sse(chunk({"text": "so"}, call("g", {}), finish="STOP")),
    ]
    decoder = gemini.decoder()
    f, g = a_call("f", '{"a":1}'), a_call("g", "{}")
    fed_one_by_one = [plain(decoder.feed(piece)) for piece in body] + [plain(decoder.finish())]
    assert fed_one_by_one == [
        [ReasoningDelta("hm")],
        [CallStart(0, "f"), (0, '{"a":1}')],
        [CallEnd(0, f), TextDelta("so"), CallStart(1, "g"), (1, "{}")],
        [
            CallEnd(1, g),
            ReplyEnd(
                Reply(
                    (Reasoning("hm", {"gemini": {}}), f, Text("so"), g), stop="calls", stop_word="STOP"
                )
            ),
        ],
    ]


def plain(events):
    return [(e.index, e.text) if isinstance(e, CallDelta) else e for e in events]


def test_arguments_keep_the_text_they_came_in():
    body = b'{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":%s}}]}}]}'
    for sent, text in (
        (b'{ "a" : 1.50, "b": 12345678901234567890123 }', '{"a":1.50,"b":12345678901234567890123}'),
        (b'{"a": 1, "a": 2}', '{"a":1,"a":2}'),
        (b'{"a": "\\u003cb\\u003e"}', '{"a":"<b>"}'),
    ):
        assert gemini.decode(body % sent).calls[0].arguments == text


CUTS = {
    "text": sse(chunk({"text": "a"}), chunk({"text": "b"}, finish="STOP")),
    "calls": sse(chunk(call("f", {"a": "x"})), chunk(call("g", {"b": [1]})), chunk(finish="STOP")),
    "leaves": sse(
        streamed(leaf("$.a", stringValue="x", goes_on=True), name="f"),
        streamed(leaf("$.a", stringValue="y")),
        chunk({"functionCall": {}}, finish="STOP"),
    ),
    "array": json.dumps([chunk(call("f", {"a": "}x{"})), chunk(finish="STOP")]).encode(),
}


@pytest.mark.parametrize("body", CUTS.values(), ids=CUTS)
def test_a_stream_cut_anywhere_is_never_taken_for_whole(body):
    last = body.rindex(b"}") + 1
    whole = reply_of(fed(gemini.decoder(), body)).calls
    for at in range(last):
        decoder = gemini.decoder()
        ended = [e.call for e in decoder.feed(body[:at]) if isinstance(e, CallEnd)]
        assert ended == list(whole[: len(ended)])
        with pytest.raises(TruncatedStream):
            decoder.finish()


REFUSAL = {
    "error": {
        "code": 429,
        "message": "Slow down.",
        "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}],
    }
}


@pytest.mark.parametrize(
    "body",
    [
        sse(REFUSAL),
        sse(chunk({"text": "a"}), REFUSAL),
        sse([REFUSAL]),
        json.dumps([chunk({"text": "a"}), REFUSAL], indent=2).encode(),
        json.dumps(REFUSAL, indent=2).encode(),
        b"\xef\xbb\xbf\r\n " + json.dumps([REFUSAL]).encode(),
        sse(chunk({"text": "a"})) + json.dumps(REFUSAL, indent=2).encode(),
        sse(chunk({"text": "a"}), end="\n") + json.dumps([REFUSAL], indent=2).encode() + b"\n",
    ],
    ids=[
        "first",
        "in the middle",
        "as a list",
        "in an array",
        "instead of a stream",
        "after blanks",
        "bare after an event",
        "bare after an event without its blank line",
    ],
)
def test_a_refusal_inside_a_stream_is_an_error_at_every_cut(body):
    for pieces in chunkings(body):
        with pytest.raises(VendorError, match="Slow down") as caught:
            fed(gemini.decoder(), *pieces)
        error = caught.value
        assert (error.status, error.vendor_code, error.retryable, error.retry_after) == (
            429,
            "RESOURCE_EXHAUSTED",
            True,
            34.5,
        )


def test_events_before_a_bare_refusal_are_given_and_half_of_one_is_a_cut():
    decoder = gemini.decoder()
    assert decoder.feed(sse(chunk({"text": "a"}), end="\n") + b'{"error": {') == (TextDelta("a"),)
    with pytest.raises(TruncatedStream):
        decoder.finish()


def test_a_whole_body_may_be_a_refusal_or_nothing():
    with pytest.raises(VendorError, match="Slow down"):
        gemini.decode(json.dumps(REFUSAL).encode())
    for body in (b"", b" \n"):
        with pytest.raises(ProtocolError, match="empty"):
            gemini.decode(body)
    assert gemini.decode(b"{}") == Reply((), stop="error")
    with pytest.raises(ProtocolError, match=r'a reply without candidates: \{"status": "ok"\}'):
        gemini.decode(b'{"status": "ok"}')
    assert gemini.decode(json.dumps(chunk({"text": "a"})).encode()) == Reply((Text("a"),))


@pytest.mark.parametrize(
    "frame",
    [
        "{oops",
        '"text"',
        "<html>",
        '{"candidates": [}',
    ],
)
def test_garbage_is_a_protocol_error_that_shows_it(frame):
    with pytest.raises(ProtocolError, match="a chunk is not") as caught:
        fed(gemini.decoder(), sse(frame, chunk(finish="STOP")))
    assert frame[:5] in str(caught.value)
    with pytest.raises(ProtocolError):
        gemini.decode(frame.encode())


@pytest.mark.parametrize(
    "body", [b"", b"\r\n", b": hi\n\n", b"]", sse(chunk({"text": "a"})), sse({"candidates": []})]
)
def test_a_stream_without_an_end_is_truncated(body):
    with pytest.raises(TruncatedStream):
        fed(gemini.decoder(), body)


def test_brackets_out_of_nowhere_are_refused():
    with pytest.raises(ProtocolError, match="did not open"):
        gemini.decoder().feed(b"[}")


WORDS = {
    "STOP": "end",
    "MAX_TOKENS": "length",
    "SAFETY": "filtered",
    "RECITATION": "filtered",
    "BLOCKLIST": "filtered",
    "PROHIBITED_CONTENT": "filtered",
    "SPII": "filtered",
    "LANGUAGE": "filtered",
    "IMAGE_SAFETY": "filtered",
    "OTHER": "error",
    "UNEXPECTED_TOOL_CALL": "error",
    "TOO_MANY_TOOL_CALLS": "error",
    "A_WORD_OF_TOMORROW": "error",
}


@pytest.mark.parametrize(("word", "stop"), WORDS.items())
def test_the_reason_for_stopping_is_translated_and_kept(word, stop):
    reply = gemini.decode(json.dumps(chunk({"text": "a"}, finish=word)).encode())
    assert (reply.stop, reply.stop_word) == (stop, word)


def test_the_sdks_words_are_all_known():
    types = import_module("google.genai.types")
    assert {word.value for word in types.FinishReason} <= set(STOPS) | UNSAID


PATHS = {
    "$.a": ["a"],
    "$.a.b[0].c": ["a", "b", 0, "c"],
    "$['a b']": ["a b"],
    '$["a\\"b"][12]': ['a"b', 12],
    "$": None,
    "a.b": None,
    "$.*": ["*"],
    "$..a": None,
    "$[?x]": None,
    "": None,
}


@pytest.mark.parametrize(("path", "expected"), PATHS.items())
def test_json_paths_that_name_one_place_are_read(path, expected):
    assert steps(path) == expected


@pytest.mark.parametrize(
    "leaves",
    [
        [leaf("$[0]", numberValue=1)],
        [leaf("$.a[1]", numberValue=1)],
        [leaf("$.a[0]", numberValue=1), leaf("$.a[2]", numberValue=1)],
        [leaf("$.a", numberValue=1), leaf("$.a", numberValue=2)],
        [leaf("$.a", numberValue=1), leaf("$.a.b", numberValue=2)],
        [leaf("$.a.b", numberValue=1), leaf("$.a[0]", numberValue=2)],
        [leaf("nonsense", numberValue=1)],
    ],
)
def test_leaves_that_do_not_follow_each_other_break_the_call(leaves):
    text = ArgumentsText()
    for each in leaves:
        text.write(each)
    assert text.is_broken
    assert text.write(leaf("$.z", numberValue=1)) == ""


def test_the_cost_of_a_long_stream_is_that_of_its_chunks():
    pieces = [sse(streamed(leaf("$.a", stringValue="xy ", goes_on=True))) for _ in range(20_000)]
    decoder = gemini.decoder()
    decoder.feed(sse(streamed(name="f")))
    for piece in pieces:
        assert len(decoder.feed(piece)) == 1
    decoder.feed(sse(streamed(leaf("$.a", stringValue="")), chunk({"functionCall": {}}, finish="STOP")))
    reply = reply_of(list(decoder.finish()))
    assert reply.calls[0].arguments == '{"a":"' + "xy " * 20_000 + '"}'


ERRORS = {
    "a plain refusal": (
        400,
        {},
        b'{"error":{"code":400,"message":"Bad.","status":"INVALID_ARGUMENT"}}',
        ("Bad.", "INVALID_ARGUMENT", False, None, ""),
    ),
    "a list": (
        503,
        {"Retry-After": "7"},
        b'[{"error":{"code":503,"message":"Overloaded.","status":"UNAVAILABLE"}}]',
        ("Overloaded.", "UNAVAILABLE", True, 7.0, ""),
    ),
    "milliseconds and a request id": (
        429,
        {"Retry-After-Ms": "1500", "retry-after": "9", "X-Goog-Request-Id": "q"},
        b'{"error":{"message":"Slow.","status":"RESOURCE_EXHAUSTED"}}',
        ("Slow.", "RESOURCE_EXHAUSTED", True, 1.5, "q"),
    ),
    "a date": (
        503,
        {"Retry-After": "Wed, 21 Oct 2026 07:28:30 GMT", "Date": "Wed, 21 Oct 2026 07:28:00 GMT"},
        b"",
        ("HTTP 503, and the vendor did not say why", "", True, 30.0, ""),
    ),
    "a date and no clock": (
        503,
        {"Retry-After": "Wed, 21 Oct 2026 07:28:30 GMT"},
        b"",
        ("HTTP 503, and the vendor did not say why", "", True, None, ""),
    ),
    "a quota for the day": (
        429,
        {},
        json.dumps(
            {
                "error": {
                    "code": 429,
                    "message": "Quota.",
                    "status": "RESOURCE_EXHAUSTED",
                    "details": [
                        {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}]},
                        {"retryDelay": "12s"},
                        {"requestId": "abc"},
                    ],
                }
            }
        ).encode(),
        ("Quota.", "RESOURCE_EXHAUSTED", False, 12.0, "abc"),
    ),
    "html": (
        502,
        {},
        b"<html><style>p{}</style><title>502</title><p>Bad\ngateway</p></html>",
        ('a web page that says "502"', "", True, None, ""),
    ),
    "an oauth refusal": (
        401,
        {},
        b'{"error":"invalid_grant","error_description":"Token expired."}',
        ("Token expired.", "invalid_grant", False, None, ""),
    ),
    "json of another kind": (500, {}, b'{"a":1}', ('{"a":1}', "", True, None, "")),
    "an empty list": (500, {}, b"[]", ("HTTP 500, and the vendor did not say why", "", True, None, "")),
    "bytes that are no text": (500, {}, b"\xff\xfe", ("\ufffd\ufffd", "", True, None, "")),
}


@pytest.mark.parametrize(("status", "headers", "body", "expected"), ERRORS.values(), ids=ERRORS)
def test_a_refusal_by_http_becomes_an_error(status, headers, body, expected):
    error = gemini.error(status, headers, body)
    assert error.status == status
    assert expected == (
        error.message,
        error.vendor_code,
        error.retryable,
        error.retry_after,
        error.request_id,
    )
