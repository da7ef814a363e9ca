"""OpenAI Chat Completions, as the vendor's side of it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from clients.upstream.exchange import Asked, Call, Offered, RefusedError, Reply, only, paired, pieces

_KNOWN = """
model messages stream stream_options tools tool_choice parallel_tool_calls temperature top_p
max_tokens max_completion_tokens response_format reasoning_effort n stop seed user metadata store
logprobs top_logprobs frequency_penalty presence_penalty verbosity prompt_cache_key
safety_identifier service_tier modalities prompt_cache_retention
"""
KNOWN = frozenset(_KNOWN.split())
USAGE = {"prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150}


def read(body: Mapping[str, Any]) -> Asked:
    only(body, KNOWN, "Unrecognized request argument supplied: {}")
    results, said = [], []
    open_calls: list[str] = []
    answered: list[str] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            results.append(_text(message["content"]))
            answered.append(message["tool_call_id"])
            continue
        _closed(open_calls, answered)
        open_calls, answered = [each["id"] for each in message.get("tool_calls") or ()], []
        if message["role"] != "assistant":
            said.append(_text(message["content"]))
        elif message.get("content") is None and not message.get("tool_calls"):
            raise RefusedError("Invalid value for 'content': expected a string, got null.")
    _closed(open_calls, answered)
    form = body.get("response_format") or {}
    return Asked(
        model=body["model"],
        streamed=bool(body.get("stream")),
        tools=tuple(_offered(tool) for tool in body.get("tools") or ()),
        results=tuple(results),
        text="\n".join(said),
        schema=form["json_schema"]["schema"] if form.get("type") == "json_schema" else None,
    )


def _closed(calls: list[str], answered: list[str]) -> None:
    paired(calls, answered, "An assistant message with 'tool_calls' must be followed by tool messages")


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or ())


def _offered(tool: Mapping[str, Any]) -> Offered:
    if tool["type"] == "custom":
        return Offered(tool["custom"]["name"], freeform=True)
    if tool["type"] != "function":
        raise RefusedError(
            f"Invalid value: '{tool['type']}'. Supported values are: 'function' and 'custom'."
        )
    function = tool["function"]
    return Offered(function["name"], function.get("parameters") or {})


def whole(reply: Reply, asked: Asked) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "refusal": None}
    if reply.calls:
        message["tool_calls"] = [_call(call) for call in reply.calls]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _stop(reply)}
    return {**_head(reply, asked, "chat.completion"), "choices": [choice], "usage": USAGE}


def stream(reply: Reply, asked: Asked, body: Mapping[str, Any]) -> Iterator[bytes]:
    head = _head(reply, asked, "chat.completion.chunk")

    def chunk(delta: Mapping[str, Any], stop: str | None = None) -> bytes:
        return _data({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": stop}]})

    yield chunk({"role": "assistant", "content": "" if reply.text else None, "refusal": None})
    for piece in pieces(reply.text):
        yield chunk({"content": piece})
    for at, call in enumerate(reply.calls):
        whole_call = _call(call)
        kind = whole_call["type"]
        member = "input" if kind == "custom" else "arguments"
        written = whole_call[kind].pop(member)
        yield chunk(
            {"tool_calls": [{"index": at, **whole_call, kind: {**whole_call[kind], member: ""}}]}
        )
        for piece in pieces(written):
            yield chunk({"tool_calls": [{"index": at, kind: {member: piece}}]})
    yield chunk({}, _stop(reply))
    if (body.get("stream_options") or {}).get("include_usage"):
        yield _data({**head, "choices": [], "usage": USAGE})
    yield b"data: [DONE]\n\n"


def error(status: int, message: str, code: str | None = None) -> dict[str, Any]:
    kind = {429: "rate_limit_error", 500: "server_error"}.get(status, "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _head(reply: Reply, asked: Asked, kind: str) -> dict[str, Any]:
    made = {"id": f"chatcmpl-{reply.number}", "object": kind, "created": 1763280000}
    return {**made, "model": asked.model, "service_tier": "default", "system_fingerprint": "fp_1"}


def _call(call: Call) -> dict[str, Any]:
    if isinstance(call.arguments, str):
        return {
            "id": call.id,
            "type": "custom",
            "custom": {"name": call.tool.name, "input": call.arguments},
        }
    function = {"name": call.tool.name, "arguments": json.dumps(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _stop(reply: Reply) -> str:
    return "length" if reply.cut else "tool_calls" if reply.calls else "stop"


def _data(value: object) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"
