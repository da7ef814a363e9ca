"""What is written for a client is what the model said, to our decoder and to the vendor's own SDK."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import often
from rightcall.core.events import ReplyEnd, reply_events
from rightcall.core.message import Reasoning, Reply, user_text
from rightcall.core.parts import Call, Text, Usage
from rightcall.core.request import ClientRequest, ReplyHeader, Request
from rightcall.wire.dialects import SERVED, load, load_server
from wire.recorded import fed
from wire.server.sdks import SDKS, STOPS, expected

ANSWER = ReplyHeader(id="abc123", model="m", created=5)
ASKED = ClientRequest(request=Request(messages=(user_text("Hi"),)), model="m", stream=True)
SIGNED = {"anthropic": {"type": "thinking", "signature": "sig"}}
every_dialect = pytest.mark.parametrize("name", SERVED)

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
arguments = st.sampled_from(
    ['{"city":"Rome"}', "{}", '{"a":[1,2.5,null],"b":"\u2028\\"é"}', '{"n":{"m":1}}']
)
calls = st.lists(st.tuples(st.sampled_from(["look", "find"]), arguments), max_size=3)
usages = st.builds(
    Usage,
    input_tokens=st.integers(100, 200),
    output_tokens=st.integers(50, 99),
    cached_tokens=st.integers(0, 50),
    reasoning_tokens=st.integers(0, 50),
)


@st.composite
def replies(draw: st.DrawFn) -> Reply:
    """A thought, text, calls: what any model may say."""
    thought = [
        Reasoning(text, draw(st.sampled_from([{}, SIGNED])))
        for text in draw(st.lists(texts, max_size=1))
    ]
    words = [Text(text) for text in draw(st.lists(texts, max_size=1))]
    called = [
        Call(id=f"toolu_{at}", name=name, arguments=written)
        for at, (name, written) in enumerate(draw(calls))
    ]
    stop = "calls" if called else draw(st.sampled_from(["end", "length", "filtered"]))
    return Reply((*thought, *words, *called), stop, usage=draw(usages))


def streamed(
    name: str, reply: Reply, fragment: int | None = None, asked: ClientRequest = ASKED
) -> list[bytes]:
    """The pieces that a reply is written as."""
    writer = load_server(name).writer(asked, ANSWER)
    pieces = [writer.start(), *[writer.write(event) for event in reply_events(reply, fragment)]]
    return [piece for piece in pieces if piece]


@every_dialect
@settings(max_examples=often(25))
@given(reply=replies(), fragment=st.sampled_from([None, 1, 3]))
def test_our_decoder_reads_what_was_written(name, reply, fragment):
    pieces = streamed(name, reply, fragment)
    body = b"".join(pieces)
    asked = ClientRequest(request=ASKED.request, model="m")
    whole = load(name).decode(load_server(name).encode_reply(reply, asked, ANSWER))
    for chunks in (pieces, [body], [body[at : at + 7] for at in range(0, len(body), 7)]):
        last = fed(load(name).decoder(), *chunks)[-1]
        assert isinstance(last, ReplyEnd)
        assert [call.arguments for call in last.reply.calls] == [c.arguments for c in reply.calls]
        for read in (last.reply, whole):
            assert (read.text, read.reasoning) == (reply.text, reply.reasoning)
            assert [(c.name, json.loads(c.arguments), c.truncated) for c in read.calls] == [
                (c.name, json.loads(c.arguments), False) for c in reply.calls
            ]
            assert read.usage == reply.usage
            assert read.model == "m"
            filtered = name == "anthropic" and reply.stop == "filtered"
            assert read.stop == ("refusal" if filtered else reply.stop)


SAID = (
    Reply((Text("Hello"),), usage=Usage(input_tokens=9, output_tokens=4, cached_tokens=3)),
    Reply((Reasoning("Hm"), Text("é\u2028\u0085<b>")), usage=Usage(input_tokens=9, output_tokens=4)),
    Reply(
        (
            Reasoning("Hm", SIGNED),
            Text("So:"),
            Call(id="toolu_0", name="look", arguments='{"a":[1,2.5,null],"b":"\u2028\\"é"}'),
            Call(id="toolu_0", name="find", arguments=""),
            Call(id="", name="look", arguments='{"n":{"m":1}}'),
        ),
        "calls",
        usage=Usage(input_tokens=90, output_tokens=40, reasoning_tokens=7),
    ),
    Reply((), usage=Usage(input_tokens=9)),
)


@every_dialect
@pytest.mark.parametrize("reply", SAID, ids=["text", "thought", "calls", "nothing"])
def test_the_vendors_sdk_reads_what_was_written(name, reply):
    heard = SDKS[name](streamed(name, reply, 3), stream=True)
    assert heard._replace(ids=()) == expected(reply, name)
    assert len(set(heard.ids)) == len(reply.calls)
    whole = load_server(name).encode_reply(reply, ASKED, ANSWER)
    assert SDKS[name]([whole], stream=False) == heard


@every_dialect
@pytest.mark.parametrize("stop", list(STOPS["openai_chat"]))
def test_every_reason_is_told_in_the_clients_words(name, stop):
    called = (Call(id="c", name="look", arguments="{}"),) if stop == "calls" else ()
    reply = Reply((Text("So"), *called), stop, usage=Usage(input_tokens=9, output_tokens=4))
    assert SDKS[name](streamed(name, reply), stream=True)._replace(ids=()) == expected(reply, name)


@every_dialect
def test_a_stream_cut_anywhere_reads_the_same_to_the_vendors_sdk(name):
    reply = Reply(
        (Reasoning("Hm", SIGNED), Text("é\u2028"), Call(id="c", name="look", arguments='{"a":"é"}')),
        "calls",
        usage=Usage(input_tokens=9, output_tokens=4),
    )
    body = b"".join(streamed(name, reply, 1))
    step = len(body) // 12
    for at in range(1, len(body), step):
        heard = SDKS[name]([body[:at], body[at:]], stream=True)
        assert heard._replace(ids=()) == expected(reply, name)
