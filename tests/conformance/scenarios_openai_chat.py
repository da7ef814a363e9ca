"""The scenarios as Chat Completions say them; reasoning is OpenRouter's, as OpenAI gives none here."""

import json
from collections.abc import Mapping
from typing import Any

from rightcall.core.message import Reply
from rightcall.core.parts import Text, Usage
from rightcall.core.ports import Dialect
from rightcall.wire import openai_chat
from wire.made import PNG, base64

dialect: Dialect = openai_chat
MODEL = "gpt-4.1"
MARKS: tuple[bytes, ...] = ()
COUNTS = {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30}
SIGNATURE = "sig-openrouter-Zm9yd2FyZA=="
ENCRYPTED = "gAAAA-openrouter-ciphertext"


def chunk(delta: Mapping[str, Any] | None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": MODEL,
        "choices": choices,
        **more,
    }


def sse(*frames: Mapping[str, Any]) -> bytes:
    return "".join(f"data: {json.dumps(f, ensure_ascii=False)}\n\n" for f in frames).encode()


FIRST = chunk({"role": "assistant", "content": "", "refusal": None})


def wire(
    deltas: list[dict[str, Any]],
    finish: str = "tool_calls",
    usage: Mapping[str, Any] = COUNTS,
    **members: Any,
) -> tuple[bytes, bytes]:
    ends = [chunk({}, finish), chunk(None, usage=usage)]
    stream = sse(FIRST, *map(chunk, deltas), *ends) + b"data: [DONE]\n\n"
    whole = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": MODEL,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": None, "refusal": None, **members},
                "finish_reason": finish,
            }
        ],
        "usage": usage,
    }
    return stream, json.dumps(whole, ensure_ascii=False).encode()


def text(*pieces: str) -> list[dict[str, Any]]:
    return [{"content": piece} for piece in pieces]


def use(at: int, id_: str, *pieces: str, name: str = "look") -> list[dict[str, Any]]:
    start = {"index": at, "id": id_, "type": "function", "function": {"name": name, "arguments": ""}}
    more = [{"index": at, "function": {"arguments": piece}} for piece in pieces]
    return [{"tool_calls": [entry]} for entry in (start, *more)]


def used(id_: str, arguments: str, name: str = "look") -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


DETAILS = [
    {
        "type": "reasoning.text",
        "text": "I must look.",
        "signature": SIGNATURE,
        "format": "anthropic-claude-v1",
        "index": 0,
    },
    {"type": "reasoning.encrypted", "data": ENCRYPTED, "id": "r1", "index": 1},
]
ODD = {"type": "mystery_part", "payload": {"deep": [1, None]}}
SPLIT = ('{"q": "\u2028é\\ud8', "3d\\ude", '00"}')
RICH = {
    "prompt_tokens": 100,
    "completion_tokens": 50,
    "total_tokens": 150,
    "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
    "completion_tokens_details": {"reasoning_tokens": 20},
}
ERROR = {"error": {"message": "Overloaded", "type": "server_error", "param": None, "code": None}}
OPEN = sse(FIRST, *map(chunk, text("Let me ", "look.")), *map(chunk, use(0, "call_1", '{"q": "', 'x"}')))

CITED = [
    {
        "type": "url_citation",
        "url_citation": {"start_index": 0, "end_index": 9, "url": "https://a", "title": "A"},
    }
]
MADE = [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{base64(PNG)}"}}]
WIRES: dict[str, tuple[bytes, bytes]] = {
    "single-call": wire(use(0, "call_1", '{"q": "', 'x"}'), tool_calls=[used("call_1", '{"q": "x"}')]),
    "parallel-calls": wire(
        [*use(0, "call_1", '{"q": "x"}'), *use(1, "call_2", '{"q":', ' "y"}')],
        tool_calls=[used("call_1", '{"q": "x"}'), used("call_2", '{"q": "y"}')],
    ),
    "no-arguments": wire(use(0, "call_1", "{}", name="now"), tool_calls=[used("call_1", "{}", "now")]),
    "empty-arguments": wire(use(0, "call_1", "", name="now"), tool_calls=[used("call_1", "", "now")]),
    "unicode": wire(
        [*text("a\u2028b", "\N{GRINNING FACE}"), *use(0, "call_1", *SPLIT)],
        content="a\u2028b\N{GRINNING FACE}",
        tool_calls=[used("call_1", "".join(SPLIT))],
    ),
    "truncated-call": wire(
        [*text("Let me look."), *use(0, "call_1", '{"q":"', "par")],
        "length",
        content="Let me look.",
        tool_calls=[used("call_1", '{"q":"par')],
    ),
    "refusal": wire([{"refusal": "I "}, {"refusal": "cannot."}], "stop", refusal="I cannot."),
    "unknown": (
        sse(FIRST, {"object": "mystery.event", "x": {}}, chunk({"content": "Hi"}))
        + b": a comment\n\n"
        + sse(chunk({"content": [ODD]}), chunk({}, "stop"), chunk(None, usage=COUNTS))
        + b"data: [DONE]\n\n",
        wire([], "stop", content=[{"type": "text", "text": "Hi"}, ODD])[1],
    ),
    "stop-sequence": wire(text("One, ", "two"), "stop", content="One, two"),
    "usage": wire(text("Hi"), "stop", RICH, content="Hi"),
    "reasoning": wire(
        [
            # The signature comes with the last piece of its text.
            {
                "reasoning": "I must ",
                "reasoning_details": [{**DETAILS[0], "text": "I must ", "signature": None}],
            },
            {"reasoning": "look.", "reasoning_details": [{**DETAILS[0], "text": "look."}]},
            {"reasoning_details": [DETAILS[1]]},
            *text("Let me look."),
            *use(0, "call_1", '{"q": "x"}'),
        ],
        reasoning="I must look.",
        reasoning_details=DETAILS,
        content="Let me look.",
        tool_calls=[used("call_1", '{"q": "x"}')],
    ),
    "cited": wire(
        [*text("It ", "rains."), {"annotations": CITED}], "stop", content="It rains.", annotations=CITED
    ),
    "made": wire([{"images": MADE}], "stop", images=MADE),
    "error-mid-stream": (sse(FIRST, chunk({"content": "Hi"}), ERROR), json.dumps(ERROR).encode()),
}
SECRETS = (SIGNATURE.encode(), ENCRYPTED.encode())
RETURNED: dict[str, list[Any]] = {
    "reasoning": [
        {
            "role": "assistant",
            "content": "Let me look.",
            "reasoning_details": DETAILS,
            "tool_calls": [used("call_1", '{"q": "x"}')],
        }
    ],
    "unknown": [{"role": "assistant", "content": [{"type": "text", "text": "Hi"}, ODD]}],
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
LOOK = {"name": "look", "description": "Look it up.", "parameters": STRICT, "strict": True}
SAID: dict[str, dict[str, Any] | str] = {
    "choice-auto": {},
    "choice-required": {"tool_choice": "required"},
    "choice-none": {"tool_choice": "none"},
    "choice-named": {"tool_choice": {"type": "function", "function": {"name": "look"}}},
    "parallel-off": {"parallel_tool_calls": False},
    "strict-on": {"tools": [{"type": "function", "function": LOOK}]},
    "structured-output": {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "output", "schema": ANSWER, "strict": True},
        }
    },
    "logprobs": {"logprobs": True, "top_logprobs": 2},
    "stop-sequences": {"stop": ["END", "\n\n"]},
}


def model_turn(body: dict[str, Any]) -> list[Any]:
    """What the model said, as it is given back."""
    return [message for message in body["messages"] if message["role"] == "assistant"]


def outline(body: dict[str, Any]) -> list[tuple[Any, ...]]:
    """An independent reading of a request: who said what, which call, which result."""
    told: list[tuple[Any, ...]] = []
    for message in body["messages"]:
        match message["role"]:
            case "user":
                told.append(("user", message["content"]))
            case "tool":
                words = message["content"]
                is_error = words.startswith("Error: ")
                words = words.removeprefix("Error: ")
                told.append(("result", message["tool_call_id"], words, is_error))
            case "assistant":
                if message["content"]:
                    told.append(("model", message["content"]))
                for call in message.get("tool_calls", ()):
                    function = call["function"]
                    told.append(
                        ("call", call["id"], function["name"], json.loads(function["arguments"]))
                    )
            case _:
                pass
    return told
