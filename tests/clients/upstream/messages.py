"""Anthropic Messages, as the vendor's side of it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from clients.upstream.exchange import Asked, Offered, RefusedError, Reply, only, paired, pieces

_KNOWN = """
model messages max_tokens system stream tools tool_choice temperature top_p top_k stop_sequences
metadata thinking output_config output_format context_management service_tier container
mcp_servers cache_control betas speed inference_geo
"""
KNOWN = frozenset(_KNOWN.split())
USAGE = {
    "input_tokens": 120,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 30,
    "service_tier": "standard",
}


def read(body: Mapping[str, Any]) -> Asked:
    only(body, KNOWN, "{}: Extra inputs are not permitted")
    if not isinstance(body.get("max_tokens"), int):
        raise RefusedError("max_tokens: Field required")
    thinks = (body.get("thinking") or {}).get("type") in {"enabled", "adaptive"}
    results, said, returned = [], [_text(body.get("system") or "")], []
    open_calls: list[str] = []
    for message in body["messages"]:
        blocks = message["content"]
        blocks = [{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks
        answers = [each for each in blocks if each["type"] == "tool_result"]
        if message["role"] != "system":
            answered = [each["tool_use_id"] for each in answers]
            paired(open_calls, answered, "`tool_use` ids without `tool_result` blocks immediately after")
            open_calls = [each["id"] for each in blocks if each["type"] == "tool_use"]
        results += [_text(each.get("content") or "") for each in answers]
        returned += [each["signature"] for each in blocks if each["type"] == "thinking"]
        if message["role"] != "assistant":
            said.append(_text(blocks))
        elif thinks and open_calls and not _thought(blocks[0]):
            raise RefusedError("Expected `thinking` or `redacted_thinking`, but found `tool_use`")
        for block in blocks:
            if block["type"] == "text" and not block["text"].strip():
                raise RefusedError("messages: text content blocks must contain non-whitespace text")
    paired(open_calls, [], "`tool_use` ids without `tool_result` blocks immediately after")
    form = (body.get("output_config") or {}).get("format") or body.get("output_format") or {}
    return Asked(
        model=body["model"],
        streamed=bool(body.get("stream")),
        tools=tuple(
            Offered(tool["name"], tool.get("input_schema") or {})
            for tool in body.get("tools") or ()
            if tool.get("type", "custom") == "custom"
        ),
        results=tuple(results),
        text="\n".join(said),
        thinks=thinks,
        returned=tuple(returned),
        schema=form.get("schema"),
    )


def _thought(block: Mapping[str, Any]) -> bool:
    return block["type"] in {"thinking", "redacted_thinking"}


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content)


def _blocks(reply: Reply) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if reply.signature:
        blocks.append({"type": "thinking", "thinking": reply.thought, "signature": reply.signature})
    if reply.text:
        blocks.append({"type": "text", "text": reply.text})
    blocks += [
        {"type": "tool_use", "id": call.id, "name": call.tool.name, "input": call.arguments}
        for call in reply.calls
    ]
    return blocks


def _message(reply: Reply, asked: Asked) -> dict[str, Any]:
    made = {
        "id": f"msg_{reply.number:08d}",
        "type": "message",
        "role": "assistant",
        "model": asked.model,
    }
    return {**made, "content": [], "stop_reason": None, "stop_sequence": None}


def whole(reply: Reply, asked: Asked) -> dict[str, Any]:
    stopped = {"stop_reason": _stop(reply), "content": _blocks(reply), "usage": USAGE}
    return {**_message(reply, asked), **stopped}


def stream(reply: Reply, asked: Asked, body: Mapping[str, Any]) -> Iterator[bytes]:
    yield _event(
        "message_start", message={**_message(reply, asked), "usage": {**USAGE, "output_tokens": 1}}
    )
    for at, block in enumerate(_blocks(reply)):
        start, deltas = _parts(block)
        yield _event("content_block_start", index=at, content_block=start)
        if at == 0:
            yield _event("ping")
        for delta in deltas:
            yield _event("content_block_delta", index=at, delta=delta)
        yield _event("content_block_stop", index=at)
    stop = {"stop_reason": _stop(reply), "stop_sequence": None}
    yield _event("message_delta", delta=stop, usage={"output_tokens": USAGE["output_tokens"]})
    yield _event("message_stop")


def _parts(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    if block["type"] == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": each} for each in pieces(block["thinking"])]
        signed = {"type": "signature_delta", "signature": block["signature"]}
        return {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signed]
    if block["type"] == "text":
        return {"type": "text", "text": ""}, [
            {"type": "text_delta", "text": each} for each in pieces(block["text"])
        ]
    written = pieces(json.dumps(block["input"]))
    deltas = [{"type": "input_json_delta", "partial_json": each} for each in ["", *written]]
    return {**block, "input": {}}, deltas


def error(status: int, message: str, code: str | None = None) -> dict[str, Any]:
    kinds = {
        429: "rate_limit_error",
        500: "api_error",
        529: "overloaded_error",
        413: "request_too_large",
    }
    kind = kinds.get(status, "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def _stop(reply: Reply) -> str:
    return "max_tokens" if reply.cut else "tool_use" if reply.calls else "end_turn"


def _event(kind: str, **members: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **members})}\n\n".encode()
