"""Calls start while the reply still streams in every dialect, whatever marks the end of a call there."""

import asyncio
import json

import pytest

from loop import virtual
from rightcall import Agent
from rightcall.core.request import Profile
from rightcall.declare.function import tool
from rightcall.testing import ScriptedModel
from rightcall.wire import anthropic, gemini, openai_chat, openai_responses

ARGUMENTS = ['{"pla', 'ce": "a', ' {}"', "}"]


def sse(*events: object) -> list[bytes]:
    return [f"data: {json.dumps(event)}\n\n".encode() for event in events]


def chat() -> list[bytes]:
    def delta(**fields: object) -> object:
        return {"id": "r", "choices": [{"index": 0, "delta": fields}]}

    def piece(text: str) -> object:
        return delta(tool_calls=[{"index": 0, "function": {"arguments": text}}])

    start = {"index": 0, "id": "c", "type": "function", "function": {"name": "look", "arguments": ""}}
    return sse(delta(role="assistant", tool_calls=[start]), *map(piece, ARGUMENTS))


def messages() -> list[bytes]:
    def piece(text: str) -> object:
        delta = {"type": "input_json_delta", "partial_json": text}
        return {"type": "content_block_delta", "index": 0, "delta": delta}

    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "m", "role": "assistant", "content": [], "usage": usage}
    block = {"type": "tool_use", "id": "c", "name": "look", "input": {}}
    return sse(
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *map(piece, ARGUMENTS),
    )


def responses() -> list[bytes]:
    item = {"type": "function_call", "id": "fc", "call_id": "c", "name": "look", "arguments": ""}
    at = {"output_index": 0, "item_id": "fc"}
    return sse(
        {"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        *({"type": "response.function_call_arguments.delta", "delta": text, **at} for text in ARGUMENTS),
    )


def generate_content() -> list[bytes]:
    call = {"name": "look", "args": json.loads("".join(ARGUMENTS)), "id": "c"}
    content = {"role": "model", "parts": [{"functionCall": call}]}
    return sse({"candidates": [{"index": 0, "content": content}]})


DIALECTS = [
    pytest.param(openai_chat, chat(), id="chat"),
    pytest.param(openai_responses, responses(), id="responses"),
    pytest.param(anthropic, messages(), id="messages"),
    pytest.param(gemini, generate_content(), id="gemini"),
]


@pytest.mark.parametrize(("dialect", "chunks"), DIALECTS)
def test_a_call_starts_with_the_bytes_that_close_its_arguments(dialect, chunks):
    started: list[float] = []

    class Wire:
        """Sends the chunks, then nothing for a second, then breaks off."""

        profile = Profile()

        async def stream(self, request):
            decoder = dialect.decoder()
            if len(request.messages) > 1:
                async for event in ScriptedModel(["Done."]).stream(request):
                    yield event
                return
            for chunk in chunks:
                for event in decoder.feed(chunk):
                    yield event
                await asyncio.sleep(0.01)
            await asyncio.sleep(1.0)

    async def look(place: str) -> str:
        """Look."""
        started.append(asyncio.get_running_loop().time())
        await asyncio.sleep(0.5)
        return place

    async def main() -> float:
        begun = asyncio.get_running_loop().time()
        await Agent(Wire(), [tool(look, effect="read")]).run("Go.")
        return begun

    begun = virtual.run(main())
    # The stream goes on for a second more.
    assert [0.0 <= at - begun <= 0.5 for at in started] == [True]
