"""OpenAI Responses, as the vendor's side of it."""

import json
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from clients.upstream.exchange import Asked, Call, Offered, RefusedError, Reply, only, paired, pieces

_KNOWN = """
model input instructions stream stream_options tools tool_choice parallel_tool_calls temperature
top_p max_output_tokens max_tool_calls text reasoning include store metadata previous_response_id
prompt_cache_key prompt_cache_retention safety_identifier service_tier truncation user background
conversation prompt top_logprobs client_metadata context_management
"""
KNOWN = frozenset(_KNOWN.split())
USAGE = {
    "input_tokens": 120,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 30,
    "output_tokens_details": {"reasoning_tokens": 8},
    "total_tokens": 150,
}
CALLS = {"function_call", "custom_tool_call"}


def read(body: Mapping[str, Any], kept: Mapping[str, Mapping[str, Any]]) -> Asked:
    only(body, KNOWN, "Unknown parameter: '{}'.")
    items = body["input"]
    items = [{"role": "user", "content": items}] if isinstance(items, str) else items
    items = [_referred(item, kept) for item in items]
    calls, answered, results, returned = [], [], [], []
    said = [body.get("instructions") or ""]
    tools = list(body.get("tools") or ())
    for item in items:
        match item.get("type", "message"):
            case "message":
                if item["role"] != "assistant":
                    said.append(_text(item["content"]))
            case "function_call" | "custom_tool_call":
                calls.append(item["call_id"])
            case "function_call_output" | "custom_tool_call_output":
                answered.append(item["call_id"])
                results.append(_text(item["output"]))
            case "reasoning":
                returned.append(item.get("encrypted_content") or "")
            case "additional_tools":
                tools += item["tools"]
            case other:
                raise RefusedError(f"Invalid value: '{other}'. Supported values are: 'message', ...")
    paired(calls, answered, "No tool output found for function call")
    form = (body.get("text") or {}).get("format") or {}
    return Asked(
        model=body["model"],
        streamed=bool(body.get("stream")),
        tools=tuple(each for tool in tools for each in _offered(tool)),
        results=tuple(results),
        text="\n".join(said),
        thinks="reasoning.encrypted_content" in (body.get("include") or ()),
        returned=tuple(returned),
        schema=form.get("schema"),
    )


def _referred(item: Mapping[str, Any], kept: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    if item.get("type") != "item_reference":
        return item
    if item["id"] not in kept:
        raise RefusedError(f"Item with id '{item['id']}' not found.")
    return kept[item["id"]]


def _offered(tool: Mapping[str, Any]) -> list[Offered]:
    match tool["type"]:
        case "function":
            return [Offered(tool["name"], tool.get("parameters") or {})]
        case "custom":
            return [Offered(tool["name"], freeform=True)]
        case "namespace":
            inner = [each for inside in tool["tools"] for each in _offered(inside)]
            return [Offered(each.name, each.schema, each.freeform, tool["name"]) for each in inner]
        case "web_search" | "tool_search" | "image_generation" | "local_shell" | "mcp":
            return []
        case other:
            raise RefusedError(f"Invalid value: '{other}'. Supported values are: 'function', ...")


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or ())


def _items(reply: Reply) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    at = count()
    if reply.signature:
        summary = [{"type": "summary_text", "text": reply.thought}]
        made = {"id": f"rs_{reply.number}_{next(at)}", "type": "reasoning", "summary": summary}
        items.append({**made, "encrypted_content": reply.signature})
    if reply.text:
        part = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
        made = {"id": f"msg_{reply.number}_{next(at)}", "type": "message", "role": "assistant"}
        items.append({**made, "status": "completed", "content": [part]})
    return items + [_call(call, f"{reply.number}_{next(at)}") for call in reply.calls]


def _call(call: Call, ending: str) -> dict[str, Any]:
    named = {"call_id": call.id, "name": call.tool.name, "status": "completed"}
    if call.tool.namespace:
        named["namespace"] = call.tool.namespace
    if isinstance(call.arguments, str):
        return {"id": f"ctc_{ending}", "type": "custom_tool_call", **named, "input": call.arguments}
    arguments = json.dumps(call.arguments)
    return {"id": f"fc_{ending}", "type": "function_call", **named, "arguments": arguments}


def _response(reply: Reply, asked: Asked, status: str) -> dict[str, Any]:
    return {
        "id": f"resp_{reply.number:08d}",
        "object": "response",
        "created_at": 1763280000,
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "instructions": None,
        "model": asked.model,
        "output": [],
        "parallel_tool_calls": True,
        "store": False,
        "tool_choice": "auto",
        "tools": [],
        "temperature": 1.0,
        "top_p": 1.0,
        "truncation": "disabled",
        "metadata": {},
        "usage": None,
    }


def whole(reply: Reply, asked: Asked) -> dict[str, Any]:
    status = "incomplete" if reply.cut else "completed"
    return {**_response(reply, asked, status), "output": _items(reply), "usage": USAGE}


def stream(reply: Reply, asked: Asked, body: Mapping[str, Any]) -> Iterator[bytes]:
    numbers = count()

    def event(kind: str, **members: object) -> bytes:
        data = {"type": kind, "sequence_number": next(numbers), **members}
        return f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode()

    begun = _response(reply, asked, "in_progress")
    yield event("response.created", response=begun)
    yield event("response.in_progress", response=begun)
    for at, item in enumerate(_items(reply)):
        where = {"output_index": at, "item_id": item["id"]}
        yield event("response.output_item.added", output_index=at, item=_empty(item))
        for kind, members in _deltas(item):
            yield event(f"response.{kind}", **where, **members)
        yield event("response.output_item.done", output_index=at, item=item)
    done = whole(reply, asked)
    yield event(f"response.{done['status']}", response=done)


def _empty(item: dict[str, Any]) -> dict[str, Any]:
    blank: dict[str, Any] = {
        "reasoning": {"summary": [], "encrypted_content": None},
        "message": {"content": [], "status": "in_progress"},
        "function_call": {"arguments": "", "status": "in_progress"},
        "custom_tool_call": {"input": "", "status": "in_progress"},
    }[item["type"]]
    return {**item, **blank}


def _deltas(item: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    match item["type"]:
        case "reasoning":
            part, where = item["summary"][0], {"summary_index": 0}
            yield "reasoning_summary_part.added", {**where, "part": {**part, "text": ""}}
            for each in pieces(part["text"]):
                yield "reasoning_summary_text.delta", {**where, "delta": each}
            yield "reasoning_summary_text.done", {**where, "text": part["text"]}
            yield "reasoning_summary_part.done", {**where, "part": part}
        case "message":
            part, where = item["content"][0], {"content_index": 0}
            yield "content_part.added", {**where, "part": {**part, "text": ""}}
            for each in pieces(part["text"]):
                yield "output_text.delta", {**where, "delta": each, "logprobs": []}
            yield "output_text.done", {**where, "text": part["text"], "logprobs": []}
            yield "content_part.done", {**where, "part": part}
        case "function_call":
            for each in pieces(item["arguments"]):
                yield "function_call_arguments.delta", {"delta": each}
            yield "function_call_arguments.done", {"name": item["name"], "arguments": item["arguments"]}
        case "custom_tool_call":
            for each in pieces(item["input"]):
                yield "custom_tool_call_input.delta", {"delta": each}
            yield "custom_tool_call_input.done", {"input": item["input"]}


def error(status: int, message: str, code: str | None = None) -> dict[str, Any]:
    kind = {429: "rate_limit_error", 500: "server_error"}.get(status, "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}
