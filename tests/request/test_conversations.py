"""A model remembers what it has sent of a conversation, for as long as there is one."""

import gc
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from weakref import ref

import pytest

import rightcall as rc
from request.test_faults import DONE, HELLO, chunk
from rightcall.core.message import Message, Reply, Transcript, user_text
from rightcall.core.parts import Text
from rightcall.core.request import Conversation, Request
from rightcall.core.transport import StreamedResponse, Timeouts
from rightcall.request.endpoint import Address
from rightcall.request.wire_model import WireModel
from rightcall.wire.dialects import DIALECTS, load
from rightcall.wire.payload import EncodeCache
from wire.bedrock.frames import frame

CALLED = '{"place": "Rome"}'
LINES = {
    "openai_chat": (*HELLO, DONE),
    "anthropic": (
        b'data: {"type": "message_start", "message": {}}\n\ndata: {"type": "message_stop"}\n\n',
    ),
    "openai_responses": (b'data: {"type": "response.completed", "response": {"output": []}}\n\n',),
    "bedrock": (frame("messageStop", {"stopReason": "end_turn"}),),
    "cohere": (b'data: {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}}\n\n',),
    "ollama": (b'{"message": {"content": "Hi"}, "done": true}\n',),
    "gemini_interactions": (
        b'data: {"event_type": "interaction.completed", "interaction": {"status": "completed"}}\n\n',
    ),
    "gemini": (b'data: {"candidates": [{"finishReason": "STOP"}]}\n\n',),
}


class Recorder:
    """A transport that keeps what it was sent, and answers the same for ever, after some firsts."""

    def __init__(self, dialect: str, *firsts: tuple[bytes, ...]) -> None:
        self.bodies: list[bytes] = []
        self._answers = [*firsts, LINES[dialect]]

    @asynccontextmanager
    async def post(
        self, url: str, /, *, headers: Mapping[str, str], body: bytes, timeouts: Timeouts
    ) -> AsyncIterator[StreamedResponse]:
        self.bodies.append(body)
        yield StreamedResponse(200, {"content-type": "text/event-stream"}, self._chunks())

    get: Any = None

    async def _chunks(self) -> AsyncIterator[bytes]:
        for line in self._answers[min(len(self.bodies), len(self._answers)) - 1]:
            yield line

    async def close(self) -> None:
        pass


@pytest.fixture
def written(monkeypatch) -> list[Message]:
    """The messages that were written, each time they were."""
    seen: list[Message] = []
    genuine = EncodeCache.write_messages

    def counted(cache: EncodeCache, key: str, messages: Transcript, begin: Any, write: Any) -> Any:
        def count(writer: Any, message: Message, at: int) -> None:
            seen.append(message)
            write(writer, message, at)

        return genuine(cache, key, messages, begin, count)

    monkeypatch.setattr(EncodeCache, "write_messages", counted)
    return seen


def model_of(dialect: str) -> tuple[WireModel, Recorder]:
    recorder = Recorder(dialect)
    return WireModel(load(dialect), recorder, Address(url="http://x", model="gemini-3")), recorder


async def ask(model: WireModel, talk: Transcript, conversation: Conversation) -> None:
    async for _ in model.stream(Request(messages=talk, conversation=conversation)):
        pass


def talk_of(turns: int) -> list[Message]:
    return [user_text(f"{n}") if n % 2 == 0 else Reply((Text(f"{n}"),)) for n in range(2 * turns - 1)]


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_each_message_of_a_hundred_turns_is_encoded_once(dialect, written):
    (model, sent), conversation = model_of(dialect), Conversation()
    talk = talk_of(100)
    for end in range(1, len(talk) + 1, 2):
        await ask(model, tuple(talk[:end]), conversation)
    assert written == talk
    alone, sent_alone = model_of(dialect)
    await ask(alone, tuple(talk), Conversation())
    assert sent.bodies[-1] == sent_alone.bodies[0]


async def test_conversations_are_remembered_apart(written):
    model, _ = model_of("openai_chat")
    talk, first, second = tuple(talk_of(2)), Conversation(), Conversation()
    for conversation in (first, second, first, second):
        await ask(model, talk, conversation)
    assert written == [*talk] * 2


async def test_two_models_in_one_conversation_remember_for_themselves(written):
    talk, conversation = tuple(talk_of(2)), Conversation()
    for dialect in ("anthropic", "gemini"):
        model, _ = model_of(dialect)
        await ask(model, talk, conversation)
        await ask(model, talk, conversation)
    assert written == [*talk] * 2


def test_which_conversation_it_is_says_nothing_of_what_is_asked():
    talk = tuple(talk_of(2))
    assert Request(messages=talk) == Request(messages=talk, conversation=Conversation())
    assert Conversation() != "another"
    assert len({Conversation(), Conversation()}) == 1
    assert repr(Conversation()) == "Conversation()"


async def test_what_is_remembered_goes_with_the_conversation():
    made: list[Any] = []
    dialect = load("anthropic")
    model, _ = model_of("anthropic")

    class Watched:
        name, decoder, error = dialect.name, dialect.decoder, dialect.error

        @staticmethod
        def encoder() -> Any:
            def encode(request: Request, /, *, model: str, stream: bool) -> Any:
                return dialect.encode(request, model=model, stream=stream)

            made.append(ref(encode))
            return encode

    model.dialect = Watched  # the model's own caches are what is looked at
    conversation = Conversation()
    await ask(model, tuple(talk_of(2)), conversation)
    assert made[0]() is not None
    del conversation
    gc.collect()
    assert made[0]() is None


async def test_an_agent_has_each_message_of_a_run_encoded_once(written):
    @rc.tool
    def look(place: str) -> str:
        return place

    asked = {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "look", "arguments": CALLED}}]}
    recorder = Recorder("openai_chat", *[(chunk(asked), chunk({}, "tool_calls"), DONE)] * 3)
    model = WireModel(load("openai_chat"), recorder, Address(url="http://x", model="m"))
    result = await rc.Agent(model, [look]).run("Hi.")
    assert (result.text, len(recorder.bodies)) == ("Hello.", 4)
    assert tuple(written) == result.transcript[:-1]
