"""The scenarios as Anthropic's Messages API says them."""

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from rightcall.core.message import Reply, Unknown
from rightcall.core.parts import Call, Media, Text, Usage
from rightcall.core.ports import Dialect
from rightcall.wire import anthropic
from wire.made import MADE

dialect: Dialect = anthropic
MODEL = "claude-sonnet-4-5"
MARKS = (b',"cache_control":{"type":"ephemeral"}',)
COUNTS = {"input_tokens": 20, "output_tokens": 10}
SIGNATURE = "EqQBCgIYAhIkYW50aHJvcGlj/+8="
REDACTED = "EmwKAhgBEgyXd2l0aGhlbGQ="


def sse(*frames: dict[str, Any]) -> bytes:
    lines = [f"event: {f['type']}\ndata: {json.dumps(f, ensure_ascii=False)}\n\n" for f in frames]
    return "".join(lines).encode()


def message(*content: dict[str, Any], stop: str | None, usage: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": list(content),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }


def begin(usage: Mapping[str, Any] = COUNTS) -> list[dict[str, Any]]:
    counts = {**usage, "output_tokens": 1}
    return [{"type": "message_start", "message": message(stop=None, usage=counts)}, {"type": "ping"}]


def block(at: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": at, "content_block": start},
        *[{"type": "content_block_delta", "index": at, "delta": delta} for delta in deltas],
        {"type": "content_block_stop", "index": at},
    ]


def text(at: int, *pieces: str) -> list[dict[str, Any]]:
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    return block(at, {"type": "text", "text": ""}, *deltas)


def use(at: int, id_: str, *pieces: str, name: str = "look") -> list[dict[str, Any]]:
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return block(at, {"type": "tool_use", "id": id_, "name": name, "input": {}}, *deltas)


def wire(
    frames: list[dict[str, Any]],
    *content: dict[str, Any],
    stop: str = "tool_use",
    usage: Mapping[str, Any] = COUNTS,
) -> tuple[bytes, bytes]:
    end = {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}}
    last: list[dict[str, Any]] = [
        {**end, "usage": {"output_tokens": usage["output_tokens"]}},
        {"type": "message_stop"},
    ]
    if "output_tokens_details" in usage:
        last[0]["usage"] = usage
    whole = message(*content, stop=stop, usage=usage)
    return sse(*begin(usage), *frames, *last), json.dumps(whole, ensure_ascii=False).encode()


def used(id_: str, name: str = "look", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": name, "input": given}


def wrote(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


THOUGHT = {"type": "thinking", "thinking": "I must look.", "signature": SIGNATURE}
HIDDEN = {"type": "redacted_thinking", "data": REDACTED}
ODD = {"type": "mystery_block", "payload": {"deep": [1, None]}}
RICH = {
    "input_tokens": 30,
    "cache_read_input_tokens": 60,
    "cache_creation_input_tokens": 10,
    "output_tokens": 50,
    "output_tokens_details": {"thinking_tokens": 20},
}
ERROR = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
OPEN = sse(*begin(), *text(0, "Let me ", "look."), *use(1, "call_1", '{"q": "', 'x"}'))

CITED = {"type": "web_search_result_location", "url": "https://a", "title": "A", "encrypted_index": "x"}
(RAN,) = MADE["anthropic"][0]["content"]
WIRES: dict[str, tuple[bytes, bytes]] = {
    "single-call": wire(use(0, "call_1", "", '{"q": "', 'x"}'), used("call_1", q="x")),
    "parallel-calls": wire(
        [*use(0, "call_1", '{"q": "x"}'), *use(1, "call_2", '{"q":', ' "y"}')],
        used("call_1", q="x"),
        used("call_2", q="y"),
    ),
    "no-arguments": wire(use(0, "call_1", name="now"), used("call_1", "now")),
    "empty-arguments": wire(use(0, "call_1", "", name="now"), used("call_1", "now")),
    "unicode": wire(
        [
            *text(0, "a\u2028b", "\N{GRINNING FACE}"),
            *use(1, "call_1", '{"q": "\u2028é\\ud8', "3d\\ude", '00"}'),
        ],
        wrote("a\u2028b\N{GRINNING FACE}"),
        used("call_1", q="\u2028é\N{GRINNING FACE}"),
    ),
    "truncated-call": wire(
        [*text(0, "Let me look."), *use(1, "call_1", '{"q":"', "par")],
        wrote("Let me look."),
        used("call_1"),
        stop="max_tokens",
    ),
    "refusal": wire([], stop="refusal"),
    "unknown": wire(
        [*text(0, "Hi"), {"type": "mystery_event", "index": 7, "x": {}}, *block(1, ODD)],
        wrote("Hi"),
        ODD,
        stop="end_turn",
    ),
    "stop-sequence": wire(text(0, "One, ", "two"), wrote("One, two"), stop="stop_sequence"),
    "usage": wire(text(0, "Hi"), wrote("Hi"), stop="end_turn", usage=RICH),
    "reasoning": wire(
        [
            *block(
                0,
                {"type": "thinking", "thinking": "", "signature": ""},
                {"type": "thinking_delta", "thinking": "I must "},
                {"type": "thinking_delta", "thinking": "look."},
                {"type": "signature_delta", "signature": SIGNATURE},
            ),
            *block(1, HIDDEN),
            *text(2, "Let me look."),
            *use(3, "call_1", '{"q": "x"}'),
        ],
        THOUGHT,
        HIDDEN,
        wrote("Let me look."),
        used("call_1", q="x"),
    ),
    "cited": wire(
        block(
            0,
            {"type": "text", "text": "", "citations": []},
            {"type": "citations_delta", "citation": CITED},
            {"type": "text_delta", "text": "It rains."},
        ),
        {**wrote("It rains."), "citations": [CITED]},
        stop="end_turn",
    ),
    "made": wire(block(0, RAN), RAN, stop="end_turn"),
    "error-mid-stream": (
        sse(*begin(), *text(0, "Hi"), ERROR),
        json.dumps(ERROR).encode(),
    ),
}
SECRETS = (SIGNATURE.encode(), REDACTED.encode())
RETURNED: dict[str, list[Any]] = {
    "reasoning": [THOUGHT, HIDDEN, wrote("Let me look."), used("call_1", q="x")],
    "unknown": [wrote("Hi"), ODD],
}
INSTEAD: dict[tuple[str, str], Any] = (
    {
        ("empty-arguments", form): Reply(
            (Call(id="call_1", name="now", arguments="{}"),),
            "calls",
            usage=Usage(input_tokens=20, output_tokens=10),
        )
        for form in ("streamed", "whole")
    }
    | {
        ("truncated-call", "whole"): Reply(
            (Text("Let me look."), Call(id="call_1", name="look", truncated=True)),
            "length",
            usage=Usage(input_tokens=20, output_tokens=10),
        ),
        ("refusal", "streamed"): Reply((), "refusal", usage=Usage(input_tokens=20, output_tokens=10)),
        ("refusal", "whole"): Reply((), "refusal", usage=Usage(input_tokens=20, output_tokens=10)),
    }
    | {
        ("made", form): Reply(
            (Unknown({}), Media(id="file_1")), "end", usage=Usage(input_tokens=20, output_tokens=10)
        )
        for form in ("streamed", "whole")
    }
)

STRICT = {
    "type": "object",
    "properties": {
        "q": {"type": "string"},
        "limit": {"type": "integer", "description": "minimum: 1"},
    },
    "required": ["q"],
    "additionalProperties": False,
}
ANSWER = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
SAID: dict[str, dict[str, Any] | str] = {
    "choice-auto": {},
    "choice-required": {"tool_choice": {"type": "any"}},
    "choice-none": {"tool_choice": {"type": "none"}},
    "choice-named": {"tool_choice": {"type": "tool", "name": "look"}},
    "parallel-off": {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
    "strict-on": {
        "tools": [{"name": "look", "description": "Look it up.", "input_schema": STRICT, "strict": True}]
    },
    "structured-output": {"output_config": {"format": {"type": "json_schema", "schema": ANSWER}}},
    "logprobs": "options.logprobs",
    "stop-sequences": {"stop_sequences": ["END", "\n\n"]},
}


def model_turn(body: dict[str, Any]) -> list[Any]:
    """What the model said, as it is given back."""
    return [
        block for turn in body["messages"] if turn["role"] == "assistant" for block in turn["content"]
    ]


def outline(body: dict[str, Any]) -> list[tuple[Any, ...]]:
    """An independent reading of a request: who said what, which call, which result."""
    roles = [turn["role"] for turn in body["messages"]]
    assert all(one != other for one, other in pairwise(roles)), "roles take turns"
    return [
        _told(turn["role"], block)
        for turn in body["messages"]
        for block in turn["content"]
        if block["type"] not in ("thinking", "redacted_thinking")
    ]


def _told(role: str, block: dict[str, Any]) -> tuple[Any, ...]:
    match block["type"]:
        case "tool_use":
            return ("call", block["id"], block["name"], block["input"])
        case "tool_result":
            words = "".join(part["text"] for part in block["content"])
            return ("result", block["tool_use_id"], words, block.get("is_error", False))
        case _:
            return ("user" if role == "user" else "model", block["text"])
