"""A whole run with a picture said and a picture returned, over HTTP, in every dialect."""

import json
from pathlib import Path

import pytest

import rightcall as rc
from request.server import serving, streamed
from rightcall.errors import EncodeError
from rightcall.models.providers import PROVIDERS
from rightcall.wire.dialects import DIALECTS
from wire.bedrock.frames import frame

PNG = b"\x89PNG\r\n\x1a\n"
B64 = "iVBORw0KGgo="


def frames(*values: object) -> bytes:
    return b"".join(b"data: " + json.dumps(value).encode() + b"\n\n" for value in values)


def chat(delta: dict[str, object], stop: str) -> bytes:
    return frames({"choices": [{"index": 0, "delta": delta, "finish_reason": stop}]})


def block(start: dict[str, object], delta: dict[str, object], stop: str) -> bytes:
    return frames(
        {"type": "message_start", "message": {}},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop}},
        {"type": "message_stop"},
    )


def completed(item: dict[str, object]) -> bytes:
    return frames({"type": "response.completed", "response": {"status": "completed", "output": [item]}})


def candidate(part: dict[str, object]) -> bytes:
    return frames({"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]})


def interaction(step: dict[str, object]) -> bytes:
    over = {"status": "completed", "id": "v1"}
    return frames(
        {"event_type": "step.start", "index": 0, "step": step},
        {"event_type": "step.stop", "index": 0},
        {"event_type": "interaction.completed", "interaction": over},
    )


CALL = {"id": "c1", "index": 0, "type": "function", "function": {"name": "see", "arguments": "{}"}}
CONVERSE_USE = {"toolUseId": "c1", "name": "see"}
USE = {"type": "tool_use", "id": "c1", "name": "see", "input": {}}
REPLIES = {
    "bedrock": (
        frame("contentBlockStart", {"start": {"toolUse": CONVERSE_USE}, "contentBlockIndex": 0})
        + frame("messageStop", {"stopReason": "tool_use"}),
        frame("contentBlockDelta", {"delta": {"text": "A cat."}, "contentBlockIndex": 0})
        + frame("messageStop", {"stopReason": "end_turn"}),
    ),
    "cohere": (
        frames(
            {"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": CALL}}},
            {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL"}},
        ),
        frames(
            {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "A cat."}}}},
            {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}},
        ),
    ),
    "openai_chat": (
        chat({"tool_calls": [CALL]}, "tool_calls") + b"data: [DONE]\n\n",
        chat({"content": "A cat."}, "stop") + b"data: [DONE]\n\n",
    ),
    "anthropic": (
        block(USE, {"type": "input_json_delta", "partial_json": "{}"}, "tool_use"),
        block({"type": "text", "text": ""}, {"type": "text_delta", "text": "A cat."}, "end_turn"),
    ),
    "openai_responses": (
        completed({"type": "function_call", "call_id": "c1", "name": "see", "arguments": "{}"}),
        completed(
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "A cat."}],
            }
        ),
    ),
    "ollama": (
        b'{"message": {"tool_calls": [{"function": {"name": "see", "arguments": {}}}]}, "done": true}\n',
        b'{"message": {"content": "A cat."}, "done": true}\n',
    ),
    "gemini_interactions": (
        interaction({"type": "function_call", "id": "c1", "name": "see", "arguments": {}}),
        interaction({"type": "model_output", "content": [{"type": "text", "text": "A cat."}]}),
    ),
    "gemini": (
        candidate({"functionCall": {"name": "see", "args": {}}}),
        candidate({"text": "A cat."}),
    ),
}


@pytest.mark.parametrize("name", DIALECTS)
async def test_a_picture_said_and_one_returned_reach_the_vendor(name, tmp_path):
    picture = tmp_path / "a.png"
    picture.write_bytes(PNG)

    @rc.tool(effect="read")
    def see() -> rc.models.Media:
        """Look."""
        return rc.image(picture)

    first, second = REPLIES[name]
    provider = next(key for key, each in PROVIDERS.items() if each.dialect == name)
    async with serving(streamed(first), streamed(second)) as server:
        place = f"{provider}:gemini-3-pro"
        async with rc.connect(place, base_url=server.url, api_key="k") as model:
            agent = rc.Agent(model, [see])
            result = await agent.run(["What is this?", Path(picture)])
            assert result.text == "A cat."
            sent = [body.decode() for _, _, body in server.requests]
            assert [body.count(B64) for body in sent] == [1, 2]
            # What it cannot take never leaves.
            with pytest.raises(EncodeError, match="cannot be sent"):
                await agent.run(["?", rc.file(b"\0\1\2")], history=result.transcript)
            assert len(server.requests) == 2
