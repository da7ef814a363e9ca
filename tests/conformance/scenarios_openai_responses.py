"""The scenarios as OpenAI's Responses API says them."""

import json
from collections.abc import Mapping
from typing import Any

from rightcall.core.message import Reply
from rightcall.core.parts import Text, Usage
from rightcall.core.ports import Dialect
from rightcall.wire import openai_responses
from wire.made import PNG, base64

dialect: Dialect = openai_responses
MODEL = "gpt-5"
MARKS: tuple[bytes, ...] = ()
COUNTS = {"input_tokens": 20, "output_tokens": 10, "total_tokens": 30}
ENCRYPTED = "gAAAAABo-responses-ciphertext=="


def sse(*frames: Mapping[str, Any]) -> bytes:
    lines = [f"event: {f['type']}\ndata: {json.dumps(f, ensure_ascii=False)}\n\n" for f in frames]
    return "".join(lines).encode()


def response(*output: Mapping[str, Any], status: str, **more: Any) -> dict[str, Any]:
    return {"id": "resp_1", "model": MODEL, "status": status, "output": list(output), **more}


CREATED = {"type": "response.created", "response": response(status="in_progress")}


def wire(
    frames: list[dict[str, Any]],
    *output: dict[str, Any],
    status: str = "completed",
    usage: Mapping[str, Any] = COUNTS,
    **more: Any,
) -> tuple[bytes, bytes]:
    whole = response(*output, status=status, usage=usage, **more)
    end = {"type": f"response.{status}", "response": whole}
    return sse(CREATED, *frames, end), json.dumps(whole, ensure_ascii=False).encode()


def wrote(words: str, kind: str = "output_text") -> dict[str, Any]:
    part: dict[str, Any] = {"type": kind, "refusal": words}
    if kind == "output_text":
        part = {"type": kind, "annotations": [], "logprobs": [], "text": words}
    head = {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant"}
    return {**head, "content": [part]}


def used(id_: str, arguments: str, name: str = "look", *, status: str = "completed") -> dict[str, Any]:
    return {
        "id": f"fc_{id_}",
        "type": "function_call",
        "status": status,
        "arguments": arguments,
        "call_id": id_,
        "name": name,
    }


def item(at: int, whole: dict[str, Any], kind: str, *pieces: str) -> list[dict[str, Any]]:
    """The events of one item, whose text comes in pieces."""
    hollow = {"arguments": "", "content": [], "summary": []}
    empty = {**whole, **{key: hollow[key] for key in hollow if key in whole}, "status": "in_progress"}
    where = {"output_index": at, "item_id": whole.get("id"), "content_index": 0, "summary_index": 0}
    deltas = [{"type": f"response.{kind}.delta", **where, "delta": piece} for piece in pieces]
    return [
        {"type": "response.output_item.added", "output_index": at, "item": empty},
        *deltas,
        {"type": "response.output_item.done", "output_index": at, "item": whole},
    ]


def text(at: int, *pieces: str) -> list[dict[str, Any]]:
    return item(at, wrote("".join(pieces)), "output_text", *pieces)


def use(
    at: int, id_: str, *pieces: str, name: str = "look", status: str = "completed"
) -> list[dict[str, Any]]:
    whole = used(id_, "".join(pieces), name, status=status)
    return item(at, whole, "function_call_arguments", *pieces)


SPLIT = ('{"q": "\u2028é\\ud8', "3d\\ude", '00"}')
FACE = "a\u2028b\N{GRINNING FACE}"
THOUGHT = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "I must look."}],
    "encrypted_content": ENCRYPTED,
}
ODD = {"id": "my_1", "type": "mystery_item", "payload": {"deep": [1, None]}}
RICH = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
    "output_tokens": 50,
    "output_tokens_details": {"reasoning_tokens": 20},
    "total_tokens": 150,
}
FAILED = {"code": "server_error", "message": "Overloaded"}
OPEN = sse(CREATED, *text(0, "Let me ", "look."), *use(1, "call_1", '{"q": "', 'x"}'))

ANNOTATION = {"type": "url_citation", "start_index": 0, "end_index": 9, "url": "https://a", "title": "A"}
CITED = wrote("It rains.")
CITED["content"][0]["annotations"] = [ANNOTATION]
MADE = {
    "id": "ig_1",
    "type": "image_generation_call",
    "status": "completed",
    "output_format": "png",
    "result": base64(PNG),
}
WIRES: dict[str, tuple[bytes, bytes]] = {
    "single-call": wire(use(0, "call_1", '{"q": "', 'x"}'), used("call_1", '{"q": "x"}')),
    "parallel-calls": wire(
        [*use(0, "call_1", '{"q": "x"}'), *use(1, "call_2", '{"q":', ' "y"}')],
        used("call_1", '{"q": "x"}'),
        used("call_2", '{"q": "y"}'),
    ),
    "no-arguments": wire(use(0, "call_1", "{}", name="now"), used("call_1", "{}", "now")),
    "empty-arguments": wire(use(0, "call_1", "", name="now"), used("call_1", "", "now")),
    "unicode": wire(
        [*text(0, "a\u2028b", "\N{GRINNING FACE}"), *use(1, "call_1", *SPLIT)],
        wrote(FACE),
        used("call_1", "".join(SPLIT)),
    ),
    "truncated-call": wire(
        [*text(0, "Let me look."), *use(1, "call_1", '{"q":"', "par", status="incomplete")],
        wrote("Let me look."),
        used("call_1", '{"q":"par', status="incomplete"),
        status="incomplete",
        incomplete_details={"reason": "max_output_tokens"},
    ),
    "refusal": wire(
        item(0, wrote("I cannot.", "refusal"), "refusal", "I ", "cannot."),
        wrote("I cannot.", "refusal"),
    ),
    "unknown": wire(
        [*text(0, "Hi"), {"type": "response.mystery", "x": {}}, *item(1, ODD, "mystery")],
        wrote("Hi"),
        ODD,
    ),
    "stop-sequence": wire(text(0, "One, ", "two"), wrote("One, two")),
    "usage": wire(text(0, "Hi"), wrote("Hi"), usage=RICH),
    "reasoning": wire(
        [
            *item(0, THOUGHT, "reasoning_summary_text", "I must ", "look."),
            *text(1, "Let me look."),
            *use(2, "call_1", '{"q": "x"}'),
        ],
        THOUGHT,
        wrote("Let me look."),
        used("call_1", '{"q": "x"}'),
    ),
    "cited": wire([*item(0, CITED, "output_text", "It ", "rains.")], CITED),
    "made": wire([*item(0, MADE, "image_generation_call")], MADE),
    "error-mid-stream": (
        sse(CREATED, *text(0, "Hi"), {"type": "error", **FAILED, "param": None}),
        json.dumps(response(status="failed", error=FAILED)).encode(),
    ),
}
SECRETS = (ENCRYPTED.encode(),)
RETURNED: dict[str, list[Any]] = {
    "reasoning": [THOUGHT, wrote("Let me look."), used("call_1", '{"q": "x"}')],
    "unknown": [wrote("Hi"), ODD],
}
INSTEAD: dict[tuple[str, str], Any] = {
    ("stop-sequence", form): Reply(
        (Text("One, two"),), "end", usage=Usage(input_tokens=20, output_tokens=10)
    )
    for form in ("streamed", "whole")
}

STRICT = {
    "type": "object",
    "properties": {"q": {"type": "string"}, "limit": {"type": ["integer", "null"], "minimum": 1}},
    "required": ["q", "limit"],
    "additionalProperties": False,
}
ANSWER = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
LOOK = {
    "type": "function",
    "name": "look",
    "description": "Look it up.",
    "parameters": STRICT,
    "strict": True,
}
SAID: dict[str, dict[str, Any] | str] = {
    "choice-auto": {},
    "choice-required": {"tool_choice": "required"},
    "choice-none": {"tool_choice": "none"},
    "choice-named": {"tool_choice": {"type": "function", "name": "look"}},
    "parallel-off": {"parallel_tool_calls": False},
    "strict-on": {"tools": [LOOK]},
    "structured-output": {
        "text": {"format": {"type": "json_schema", "name": "answer", "strict": True, "schema": ANSWER}}
    },
    "logprobs": {
        "include": ["reasoning.encrypted_content", "message.output_text.logprobs"],
        "top_logprobs": 2,
    },
    "stop-sequences": "stop",
}


def model_turn(body: dict[str, Any]) -> list[Any]:
    """What the model said, as it is given back."""
    return [
        each
        for each in body["input"]
        if each.get("role") != "user" and each["type"] != "function_call_output"
    ]


def outline(body: dict[str, Any]) -> list[tuple[Any, ...]]:
    """An independent reading of a request: who said what, which call, which result."""
    return [_told(each) for each in body["input"] if each["type"] != "reasoning"]


def _told(each: dict[str, Any]) -> tuple[Any, ...]:
    match each["type"]:
        case "function_call":
            return ("call", each["call_id"], each["name"], json.loads(each["arguments"]))
        case "function_call_output":
            # The API has no mark for an error, so words in front of the text have to do.
            is_error = each["output"].startswith("Error: ")
            return ("result", each["call_id"], each["output"].removeprefix("Error: "), is_error)
        case _:
            content = each["content"]
            words = content if isinstance(content, str) else "".join(part["text"] for part in content)
            return ("user" if each["role"] == "user" else "model", words)
