"""A thought of which its vendor wants something back is told of, complete, before what follows it."""

import pytest

from rightcall.core.events import CallStart, ReasoningEnd, reply_events
from rightcall.core.message import Reasoning, Reply, user_text
from rightcall.core.parts import Call
from rightcall.core.request import ClientRequest, ReplyHeader, Request
from rightcall.wire.bedrock.reply import ReplyBuilder as BedrockReply
from rightcall.wire.dialects import load, load_server
from rightcall.wire.gemini_interactions.reply import ReplyBuilder as InteractionReply
from wire.recorded import fed

SIGNED = {"anthropic": {"type": "thinking", "signature": "sig"}}


@pytest.mark.parametrize("name", ["anthropic", "openai_responses", "openai_chat"])
def test_a_thought_ends_before_the_call_after_it(name):
    reply = Reply((Reasoning("Hm", SIGNED), Call(id="c", name="look", arguments="{}")), "calls")
    asked = ClientRequest(request=Request(messages=(user_text("Hi"),)), model="m", stream=True)
    writer = load_server(name).writer(asked, ReplyHeader(id="a1", model="m"))
    events = fed(load(name).decoder(), *[writer.write(event) for event in reply_events(reply)])
    kinds = [type(event) for event in events]
    ended = next(event for event in events if isinstance(event, ReasoningEnd))
    assert kinds.index(ReasoningEnd) < kinds.index(CallStart)
    assert ended.reasoning == events[-1].reply.content[0]
    assert kinds.count(ReasoningEnd) == 1


def test_a_thought_of_bedrocks_ends_with_its_signature():
    reply = BedrockReply()
    reply.say(0, "reasoningContent", "Hm")
    reply.seal(0, "sig", None)
    reply.close(0)
    reply.close(0)
    thought = Reasoning("Hm", {"bedrock": {"signature": "sig"}})
    assert reply.events[1:] == [ReasoningEnd(thought)]


def test_a_thought_of_an_interaction_ends_with_its_signature():
    reply = InteractionReply()
    reply.start(0, {"type": "thought"})
    reply.add(0, {"type": "thought_signature", "signature": "sig"})
    reply.close(0)
    reply.start(1, {"type": "function_call", "id": "c", "name": "look", "signature": "s"})
    thought = Reasoning("", {"gemini_interactions": {"signature": "sig"}})
    call = CallStart(0, "look", "c", {"gemini_interactions": {"signature": "s"}})
    assert reply.events == [ReasoningEnd(thought), call]


def test_a_call_of_geminis_begins_with_its_signature():
    part = b'{"functionCall":{"name":"look","args":{}},"thoughtSignature":"c2ln"}'
    chunk = b'data: {"candidates":[{"content":{"parts":[' + part + b']},"finishReason":"STOP"}]}\n\n'
    events = fed(load("gemini").decoder(), chunk)
    assert events[0] == CallStart(0, "look", "", {"gemini": {"thoughtSignature": "c2ln"}})
