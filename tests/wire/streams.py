"""Streams of every dialect that say these pieces as vendors write them, by dialect and what is said."""

import json

from wire.bedrock.frames import of_kind


def sse(value) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def chat(delta, reason=None):
    return sse({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})


def chat_call(text):
    first = {"index": 0, "id": "c", "function": {"name": "f", "arguments": ""}}
    yield chat({"tool_calls": [first]})
    for piece in text:
        yield chat({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    yield chat({}, "tool_calls")


def anthropic(block, delta, pieces):
    yield sse({"type": "message_start", "message": {"role": "assistant", "content": []}})
    yield sse({"type": "content_block_start", "index": 0, "content_block": block})
    for piece in pieces:
        yield sse({"type": "content_block_delta", "index": 0, "delta": {**delta, list(delta)[1]: piece}})
    yield sse({"type": "content_block_stop", "index": 0})
    yield sse({"type": "message_delta", "delta": {"stop_reason": "end_turn"}})
    yield sse({"type": "message_stop"})


def gemini(part):
    content = {"role": "model", "parts": [part]}
    return sse({"candidates": [{"content": content}]})


def responses(kind, pieces):
    item = {"type": "message", "id": "i", "role": "assistant", "content": []}
    if kind == "function_call_arguments":
        item = {"type": "function_call", "id": "i", "call_id": "c", "name": "f", "arguments": ""}
    elif kind == "reasoning_text":
        item = {"type": "reasoning", "id": "i", "summary": []}
    yield sse({"type": "response.output_item.added", "output_index": 0, "item": item})
    for piece in pieces:
        told = {"output_index": 0, "item_id": "i", "delta": piece}
        yield sse({"type": f"response.{kind}.delta", **told})
    yield sse({"type": "response.completed", "response": {"status": "completed", "output": []}})


def bedrock(start, delta, pieces):
    def frame(name, value):
        return of_kind("event", name, json.dumps(value).encode())

    yield frame("messageStart", {"role": "assistant"})
    if start:
        yield frame("contentBlockStart", {"contentBlockIndex": 0, "start": start})
    for piece in pieces:
        yield frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": delta(piece)})
    yield frame("contentBlockStop", {"contentBlockIndex": 0})
    yield frame("messageStop", {"stopReason": "end_turn"})


def interactions(kind, step, delta, pieces):
    yield sse({"event_type": "step.start", "index": 0, "step": step})
    for piece in pieces:
        yield sse({"event_type": "step.delta", "index": 0, "delta": {"type": kind, **delta(piece)}})
    yield sse({"event_type": "step.stop", "index": 0})
    yield sse({"event_type": "interaction.completed", "interaction": {"status": "completed"}})


def cohere(kind, content, pieces):
    yield sse({"type": "message-start", "id": "m", "delta": {"message": {"role": "assistant"}}})
    yield sse({"type": f"{kind}-start", "index": 0, "delta": {"message": content("")}})
    for piece in pieces:
        yield sse({"type": f"{kind}-delta", "index": 0, "delta": {"message": content(piece)}})
    yield sse({"type": f"{kind}-end", "index": 0})
    yield sse({"type": "message-end", "delta": {"finish_reason": "COMPLETE"}})


def ollama(member, pieces):
    for piece in pieces:
        yield json.dumps({"message": {"role": "assistant", member: piece}}).encode() + b"\n"
    yield b'{"message": {}, "done": true, "done_reason": "stop"}\n'


CALLED = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
STREAMS = {
    ("openai_chat", "text"): lambda said: [*[chat({"content": p}) for p in said], chat({}, "stop")],
    ("openai_chat", "thought"): lambda said: [
        *[chat({"reasoning_content": p}) for p in said],
        chat({}, "stop"),
    ],
    ("openai_chat", "arguments"): chat_call,
    ("anthropic", "text"): lambda said: anthropic(
        {"type": "text", "text": ""}, {"type": "text_delta", "text": ""}, said
    ),
    ("anthropic", "thought"): lambda said: anthropic(
        {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": ""}, said
    ),
    ("anthropic", "arguments"): lambda said: anthropic(
        CALLED, {"type": "input_json_delta", "partial_json": ""}, said
    ),
    ("gemini", "text"): lambda said: [*[gemini({"text": p}) for p in said], GEMINI_END],
    ("gemini", "thought"): lambda said: [
        *[gemini({"text": p, "thought": True}) for p in said],
        GEMINI_END,
    ],
    ("openai_responses", "text"): lambda said: responses("output_text", said),
    ("openai_responses", "thought"): lambda said: responses("reasoning_text", said),
    ("openai_responses", "arguments"): lambda said: responses("function_call_arguments", said),
    ("bedrock", "text"): lambda said: bedrock(None, lambda p: {"text": p}, said),
    ("bedrock", "thought"): lambda said: bedrock(
        None, lambda p: {"reasoningContent": {"text": p}}, said
    ),
    ("bedrock", "arguments"): lambda said: bedrock(
        {"toolUse": {"toolUseId": "c", "name": "f"}}, lambda p: {"toolUse": {"input": p}}, said
    ),
    ("gemini_interactions", "text"): lambda said: interactions(
        "text", {"type": "model_output"}, lambda p: {"text": p}, said
    ),
    ("gemini_interactions", "thought"): lambda said: interactions(
        "thought_summary",
        {"type": "thought"},
        lambda p: {"content": {"type": "text", "text": p}},
        said,
    ),
    ("gemini_interactions", "arguments"): lambda said: interactions(
        "arguments_delta",
        {"type": "function_call", "id": "c", "name": "f"},
        lambda p: {"arguments": p},
        said,
    ),
    ("cohere", "text"): lambda said: cohere(
        "content", lambda p: {"content": {"type": "text", "text": p}}, said
    ),
    ("cohere", "thought"): lambda said: cohere(
        "content", lambda p: {"content": {"type": "thinking", "thinking": p}}, said
    ),
    ("cohere", "arguments"): lambda said: cohere(
        "tool-call",
        lambda p: {"tool_calls": {"id": "c", "function": {"name": "f", "arguments": p}}},
        said,
    ),
    ("ollama", "text"): lambda said: ollama("content", said),
    ("ollama", "thought"): lambda said: ollama("thinking", said),
}
GEMINI_END = sse({"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]})
