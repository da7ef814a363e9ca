"""How replies end that are none: with an error in the stream, with nothing in it, or not yet."""

import json
from importlib import import_module

import pytest

from rightcall.core.events import TextDelta
from rightcall.errors import ProtocolError, VendorError
from wire.streams import STREAMS, chat, sse

TEXTS = [dialect for dialect, where in STREAMS if where == "text" and dialect != "bedrock"]
BARE = {
    "a number": {"message": "No upstream is left", "code": 503},
    "a number as text": {"message": "No upstream is left", "code": "503"},
    "a status": {"message": "No upstream is left", "status": 503},
    "more beside it": {"message": "No upstream is left", "code": 503, "param": None, "data": {}},
}
PROGRESS = [
    {"message": "searching"},
    {"message": "ok", "code": 0},
    {"message": "ok", "code": 200},
    {"message": "ok", "code": "success"},
    {"message": {"code": 503}},
    {"code": 503},
    {"message": "ok", "code": True},
]


def pieces_of(dialect, value):
    """A stream whose beginning says something, the value as its next event, and the rest."""
    pieces = [bytes(piece) for piece in STREAMS[dialect, "text"](["Hel", "LO"])]
    at = next(at for at, piece in enumerate(pieces) if b"LO" in piece)
    event = sse(value)
    if dialect == "ollama":
        event = json.dumps(value).encode() + b"\n"
    return pieces[:at], event, pieces[at:]


@pytest.mark.parametrize("value", BARE.values(), ids=BARE)
@pytest.mark.parametrize("dialect", TEXTS)
def test_an_error_after_some_text_keeps_its_message(dialect, value):
    begun, event, _ = pieces_of(dialect, value)
    decoder = import_module(f"rightcall.wire.{dialect}").decoder()
    said = [each for piece in begun for each in decoder.feed(piece)]
    assert [each.text for each in said if isinstance(each, TextDelta)] == ["Hel"]
    with pytest.raises(VendorError) as caught:
        decoder.feed(event)
    assert (caught.value.message, caught.value.kind) == ("No upstream is left", "overloaded")
    assert (caught.value.status, caught.value.retryable) == (503, True)


@pytest.mark.parametrize("value", PROGRESS)
@pytest.mark.parametrize("dialect", [name for name in TEXTS if name not in ("cohere", "ollama")])
def test_a_message_of_progress_is_no_error(dialect, value):
    begun, event, rest = pieces_of(dialect, value)
    decoder = import_module(f"rightcall.wire.{dialect}").decoder()
    events = []
    for piece in (*begun, event, *rest):
        events += decoder.feed(piece)
    events += decoder.finish()
    assert events[-1].reply.text == "HelLO"


def test_a_bare_error_in_place_of_a_reply_is_the_vendors():
    body = json.dumps(BARE["a number"]).encode()
    for name in ("openai_chat", "openai_responses", "gemini"):
        with pytest.raises(VendorError, match="No upstream is left"):
            import_module(f"rightcall.wire.{name}").decode(body)


USAGE = sse({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 0}})


@pytest.mark.parametrize("before", [b"", b": ping\n\n", USAGE], ids=["nothing", "a comment", "usage"])
@pytest.mark.parametrize("size", [1, 1000])
def test_a_stream_of_nothing_but_its_end_is_no_reply(before, size):
    decoder = import_module("rightcall.wire.openai_chat").decoder()
    body = before + b"data: [DONE]\n\n"
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    with pytest.raises(ProtocolError, match="no reply in it"):
        list(map(decoder.feed, pieces))


def test_an_empty_answer_is_one():
    for delta in ({"role": "assistant"}, {"content": ""}, {}):
        decoder = import_module("rightcall.wire.openai_chat").decoder()
        events = [*decoder.feed(chat(delta) + b"data: [DONE]\n\n"), *decoder.finish()]
        assert (events[-1].reply.text, events[-1].reply.stop) == ("", "end")


@pytest.mark.parametrize("status", ["queued", "in_progress"])
@pytest.mark.parametrize("more", [{}, {"output": []}, {"output": None}])
def test_a_response_that_is_still_worked_on_is_no_reply(status, more):
    dialect = import_module("rightcall.wire.openai_responses")
    body = json.dumps({"id": "resp_1", "object": "response", "status": status, **more}).encode()
    with pytest.raises(ProtocolError, match=f"the response is {status}, and there is no reply yet"):
        dialect.decode(body)
    decoder = dialect.decoder()
    decoder.feed(body)
    with pytest.raises(ProtocolError, match=f"the response is {status}, and there is no reply yet"):
        decoder.finish()
