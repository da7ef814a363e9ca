r"""JSON that a strict parser refuses and vendors send: halves of characters, NaN, a byte order mark.

A host that counts in UTF-16 sends ``"\ud83d"`` in one delta and ``"\ude00"`` in the next.
"""

import json
import time
from importlib import import_module

import pytest

from rightcall.core.events import CallDelta, CallEnd, ReasoningDelta, ReplyEnd, TextDelta
from rightcall.core.message import Reasoning
from rightcall.core.parts import Text
from rightcall.errors import ProtocolError, VendorError
from rightcall.wire.lenient_json import HalfJoiner, mend_json
from wire.bedrock.frames import of_kind
from wire.streams import STREAMS, chat

HIGH = "\ud83d"
LOW = "\ude00"


SAID = {
    "in one piece": ('{"a": "', f"x{HIGH}{LOW}y", '"}'),
    "in two": ('{"a": "', f"x{HIGH}", f"{LOW}y", '"}'),
    "each alone": ('{"a": "', "x", HIGH, LOW, "y", '"}'),
    "a first half alone": ('{"a": "', f"x{HIGH}", "y", '"}'),
    "a second half alone": ('{"a": "', f"x{LOW}", "y", '"}'),
    "the wrong way round": ('{"a": "', f"x{LOW}{HIGH}y", '"}'),
    "two first halves": ('{"a": "', f"x{HIGH}", f"{HIGH}{LOW}y", '"}'),
    "a first half at the end": ('{"a": "', "x", '"}', HIGH),
    "twice": ('{"a": "', f"x{HIGH}", f"{LOW}{HIGH}", f"{LOW}y", '"}'),
}


@pytest.mark.parametrize("size", [None, 1])
@pytest.mark.parametrize("said", SAID.values(), ids=SAID)
@pytest.mark.parametrize(("dialect", "where"), STREAMS)
def test_a_character_that_was_cut_in_two_is_whole_again(dialect, where, said, size):
    body = b"".join(STREAMS[dialect, where](said))
    if dialect == "openai_chat":
        body += b"data: [DONE]\n\n"
    decoder = import_module(f"rightcall.wire.{dialect}").decoder()
    events = []
    for at in range(0, len(body), size or len(body)):
        events += decoder.feed(body[at : at + (size or len(body))])
    events += decoder.finish()
    reply = events[-1].reply
    expected = "".join(said).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    kind = {"text": TextDelta, "thought": ReasoningDelta, "arguments": CallDelta}[where]
    assert "".join(each.text for each in events if isinstance(each, kind)) == expected
    match where:
        case "text":
            assert reply.text == expected
        case "thought":
            assert reply.reasoning == expected
        case "arguments":
            assert [call.arguments for call in reply.calls] == [expected]
            ends = [each.call for each in events if isinstance(each, CallEnd)]
            assert ends in ([], list(reply.calls))


WHOLE = {
    "openai_chat": lambda text: {
        "choices": [{"message": {"content": text}, "finish_reason": "stop", "logprobs": None}]
    },
    "anthropic": lambda text: {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
    },
    "gemini": lambda text: {
        "candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}]
    },
    "openai_responses": lambda text: {
        "status": "completed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": text}]}],
    },
    "bedrock": lambda text: {
        "output": {"message": {"role": "assistant", "content": [{"text": text}]}},
        "stopReason": "end_turn",
    },
    "gemini_interactions": lambda text: {
        "status": "completed",
        "steps": [{"type": "model_output", "content": [{"type": "text", "text": text}]}],
    },
    "cohere": lambda text: {
        "id": "m",
        "message": {"content": [{"type": "text", "text": text}]},
        "finish_reason": "COMPLETE",
    },
    "ollama": lambda text: {"message": {"content": text}, "done": True, "done_reason": "stop"},
}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("dialect", WHOLE)
def test_a_whole_reply_is_mended(dialect, streamed):
    module = import_module(f"rightcall.wire.{dialect}")
    text = f'"NaN", {HIGH} \\ud83d [-Infinity'
    body = json.dumps(WHOLE[dialect](text))
    body = f'\ufeff{body[:-1]}, "odd": [NaN, -Infinity, Infinity]}}\n'.encode()
    if streamed:
        decoder = module.decoder()
        events = [*decoder.feed(body), *decoder.finish()]
        assert isinstance(events[-1], ReplyEnd)
        reply = events[-1].reply
    else:
        reply = module.decode(body)
    assert reply.text == text.replace(HIGH, "\ufffd")


@pytest.mark.parametrize("dialect", WHOLE)
def test_what_cannot_be_mended_is_refused(dialect):
    module = import_module(f"rightcall.wire.{dialect}")
    for body in (b"\xef\xbb\xbf{", b'{"a": NaN', b'{"a": "\\ud83d', b"NaN", b'{"a": nan}'):
        with pytest.raises(ProtocolError):
            module.decode(body)


@pytest.mark.parametrize("dialect", WHOLE)
def test_an_event_that_cannot_be_mended_is_refused(dialect):
    decoder = import_module(f"rightcall.wire.{dialect}").decoder()
    broken = b'{"type": "content-delta", "a": NaN, "b": "\\ud83d", c}'
    body = b"data: " + broken + b"\n\n"
    if dialect == "bedrock":
        body = of_kind("event", "contentBlockDelta", broken)
    elif dialect == "ollama":
        body = broken + b"\n"
    with pytest.raises(ProtocolError):
        decoder.feed(body)


def test_numbers_that_are_none_in_log_probabilities_refuse_no_reply():
    likely = b'{"content": [{"token": "Hi", "logprob": NaN, "bytes": [72], "top_logprobs": []}]}'
    chunk = b'data: {"choices": [{"delta": {"content": "Hi"}, "logprobs": %s}]}\n\n' % likely
    body = chunk + chat({}, "stop") + b"data: [DONE]\n\n"
    decoder = import_module("rightcall.wire.openai_chat").decoder()
    events = [*decoder.feed(body), *decoder.finish()]
    assert events[-1].reply.text == "Hi"


def test_a_refusal_with_half_a_character_is_one():
    chat_dialect = import_module("rightcall.wire.openai_chat")
    body = json.dumps({"error": {"message": f"too long {HIGH}", "code": "context_length_exceeded"}})
    for prefix in ("", "\ufeff"):
        error = chat_dialect.error(400, {}, (prefix + body).encode())
        assert (error.message, error.kind) == ("too long \ufffd", "context_overflow")
    decoder = chat_dialect.decoder()
    with pytest.raises(VendorError, match="too long \ufffd"):
        decoder.feed(b"data: " + body.encode() + b"\n\n")


MENDED = {
    "nothing": (b'{"a": 1}', None),
    "a whole pair": (b'"\\ud83d\\ude00"', None),
    "no escape": (b'"\\\\ud83d"', None),
    "an escape after one": (b'"\\\\\\ud83d"', b'"\\\\\xef\xbf\xbd"'),
    "in capitals": (b'"\\uD83D\\uDE00 \\uDE00"', b'"\\uD83D\\uDE00 \xef\xbf\xbd"'),
    "another escape": (b'"\\u00e9\\udE00"', b'"\\u00e9\xef\xbf\xbd"'),
    "a name": (b'{"\\ud83d": 1}', b'{"\xef\xbf\xbd": 1}'),
    "a number that is none": (b"[NaN,-NaN, Infinity ,-Infinity]", b"[null,null, null ,null]"),
    "words in texts": (b'["NaN", "\\"NaN", NaN]', b'["NaN", "\\"NaN", null]'),
    "words that begin alike": (b"[Na, Inf, -1, N, NaN]", b"[Na, Inf, -1, N, null]"),
    "a text that does not end": (b'["NaN', b'["null'),
    "a byte order mark": (b"\xef\xbb\xbf{}", b"{}"),
    "no JSON": (b"\\", None),
    "half an escape": (b'"\\ud83', None),
}


@pytest.mark.parametrize(("data", "expected"), MENDED.values(), ids=MENDED)
def test_only_what_is_wrong_is_mended(data, expected):
    assert mend_json(data) == expected


@pytest.mark.parametrize(
    "piece", [b"\\ud83d", b"NaN,", b'"', b"-", b"\\", b"\\u", b"N", b'"NaN" ', b"I", b"\\ud83d\\ude00"]
)
def test_mending_takes_time_in_proportion(piece):
    data = b'[NaN, "\\ud83d", ' + piece * (2_000_000 // len(piece))
    began = time.process_time()
    mend_json(data, mark=True)
    assert time.process_time() - began < 1


def test_a_half_waits_only_for_its_other_half():
    joiner = HalfJoiner()
    mark = chr(0x100000 + 0xD83D)
    assert joiner.join([TextDelta(f"a{mark}")]) == (TextDelta("a"),)
    assert joiner.join([ReasoningDelta("b")]) == (TextDelta("\ufffd"), ReasoningDelta("b"))
    assert [each.text for each in joiner.join([CallDelta(0, mark), CallDelta(1, "x")])] == ["x"]
    other = chr(0x100000 + 0xDE00)
    assert [each.text for each in joiner.join([CallDelta(0, other)])] == ["\U0001f600"]


def test_a_reply_that_needs_no_mending_is_passed_on_as_it_is():
    decoder = import_module("rightcall.wire.openai_chat").decoder()
    private = "\U0010d83d\U0010de00"
    body = chat({"content": private}) + chat({}, "stop") + b"data: [DONE]\n\n"
    events = [*decoder.feed(body), *decoder.finish()]
    assert events[-1].reply.content == (Text(private),)
    assert not any(isinstance(part, Reasoning) for part in events[-1].reply.content)
