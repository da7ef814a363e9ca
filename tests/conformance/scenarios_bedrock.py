"""The scenarios as Bedrock's Converse says them."""

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from rightcall.core.message import Reply
from rightcall.core.parts import Call, Text, Usage
from rightcall.core.ports import Dialect
from rightcall.wire import bedrock
from wire.bedrock.frames import exception, frame
from wire.made import PNG, base64

dialect: Dialect = bedrock
MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
MARKS = (b',{"cachePoint":{"type":"default"}}',)
COUNTS = {"inputTokens": 20, "outputTokens": 10, "totalTokens": 30}
SIGNATURE = "EqQBCgIYAhIkYmVkcm9jaw/+8="
REDACTED = "EmwKAhgBEgyYmVkcm9jaw=="
USAGE = Usage(input_tokens=20, output_tokens=10)

Event = tuple[str, dict[str, Any]]


def stream(*events: Event) -> bytes:
    return b"".join(frame(name, {**payload, "p": "abcd"}) for name, payload in events)


BEGIN: Event = ("messageStart", {"role": "assistant"})


def block(at: int, start: dict[str, Any] | None, *deltas: dict[str, Any]) -> list[Event]:
    return [
        *([("contentBlockStart", {"start": start, "contentBlockIndex": at})] if start else []),
        *[("contentBlockDelta", {"delta": delta, "contentBlockIndex": at}) for delta in deltas],
        ("contentBlockStop", {"contentBlockIndex": at}),
    ]


def text(at: int, *pieces: str) -> list[Event]:
    return block(at, None, *[{"text": piece} for piece in pieces])


def use(at: int, id_: str, *pieces: str, name: str = "look") -> list[Event]:
    start = {"toolUse": {"toolUseId": id_, "name": name}}
    return block(at, start, *[{"toolUse": {"input": piece}} for piece in pieces])


def wire(
    events: list[Event],
    *content: dict[str, Any],
    stop: str = "tool_use",
    usage: Mapping[str, Any] = COUNTS,
) -> tuple[bytes, bytes]:
    counted = {"usage": usage, "metrics": {"latencyMs": 7}}
    last: list[Event] = [("messageStop", {"stopReason": stop}), ("metadata", counted)]
    message = {"role": "assistant", "content": list(content)}
    whole = {"output": {"message": message}, "stopReason": stop, **counted}
    return stream(BEGIN, *events, *last), json.dumps(whole, ensure_ascii=False).encode()


def used(id_: str, name: str = "look", **given: Any) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": id_, "name": name, "input": given}}


def wrote(words: str) -> dict[str, Any]:
    return {"text": words}


THOUGHT = {"reasoningContent": {"reasoningText": {"text": "I must look.", "signature": SIGNATURE}}}
HIDDEN = {"reasoningContent": {"redactedContent": REDACTED}}
ODD = {"mysteryBlock": {"deep": [1, None]}}
RICH = {
    "inputTokens": 30,
    "cacheReadInputTokens": 60,
    "cacheWriteInputTokens": 10,
    "outputTokens": 50,
    "totalTokens": 150,
}
ERROR = {"message": "Overloaded"}
OPEN = stream(BEGIN, *text(0, "Let me ", "look."), *use(1, "call_1", '{"q": "', 'x"}'))

CITED = {"title": "A", "location": {"web": {"url": "https://a"}}}
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
        [*text(0, "Hi"), ("mysteryEvent", {"x": {}}), *block(1, ODD)],
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
                None,
                {"reasoningContent": {"text": "I must "}},
                {"reasoningContent": {"text": "look."}},
                {"reasoningContent": {"signature": SIGNATURE}},
            ),
            *block(1, None, {"reasoningContent": {"redactedContent": REDACTED}}),
            *text(2, "Let me look."),
            *use(3, "call_1", '{"q": "x"}'),
        ],
        THOUGHT,
        HIDDEN,
        wrote("Let me look."),
        used("call_1", q="x"),
    ),
    "cited": wire(
        block(0, None, {"text": "It rains."}, {"citation": CITED}),
        {"citationsContent": {"content": [{"text": "It rains."}], "citations": [CITED]}},
        stop="end_turn",
    ),
    "made": wire(
        block(0, {"image": {"format": "png"}}, {"image": {"source": {"bytes": base64(PNG)}}}),
        {"image": {"format": "png", "source": {"bytes": base64(PNG)}}},
        stop="end_turn",
    ),
    "error-mid-stream": (
        stream(BEGIN, *text(0, "Hi")) + exception("serviceUnavailableException", ERROR),
        json.dumps({"__type": "ServiceUnavailableException", **ERROR}).encode(),
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
            (Call(id="call_1", name="now", arguments="{}"),), "calls", usage=USAGE
        )
        for form in ("streamed", "whole")
    }
    | {("refusal", form): Reply((), "refusal", usage=USAGE) for form in ("streamed", "whole")}
    | {
        ("usage", form): Reply(
            (Text("Hi"),),
            "end",
            usage=Usage(input_tokens=100, output_tokens=50, cached_tokens=60, cache_written_tokens=10),
        )
        for form in ("streamed", "whole")
    }
    | {
        ("truncated-call", "whole"): Reply(
            (Text("Let me look."), Call(id="call_1", name="look", truncated=True)), "length", usage=USAGE
        ),
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
LOOSE = {
    "type": "object",
    "properties": {"q": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
    "required": ["q"],
}
ANSWER = (
    '{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"],'
    '"additionalProperties":false}'
)


def tool(schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    told = {"name": "look", "description": "Look it up.", "inputSchema": {"json": schema}}
    return {"toolSpec": {**told, **more}}


def choosing(choice: dict[str, Any]) -> dict[str, Any]:
    return {"toolConfig": {"toolChoice": choice, "tools": [tool(LOOSE)]}}


SAID: dict[str, dict[str, Any] | str] = {
    "choice-auto": {},
    "choice-required": choosing({"any": {}}),
    "choice-none": {"toolConfig": None},
    "choice-named": choosing({"tool": {"name": "look"}}),
    "parallel-off": {
        "additionalModelRequestFields": {
            "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}
        }
    },
    "strict-on": {"toolConfig": {"tools": [tool(STRICT, strict=True)]}},
    "structured-output": {
        "outputConfig": {
            "textFormat": {
                "type": "json_schema",
                "structure": {"jsonSchema": {"name": "output", "schema": ANSWER}},
            }
        }
    },
    "logprobs": "options.logprobs",
    "stop-sequences": {"inferenceConfig": {"maxTokens": 100, "stopSequences": ["END", "\n\n"]}},
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
        if "reasoningContent" not in block
    ]


def _told(role: str, block: dict[str, Any]) -> tuple[Any, ...]:
    match block:
        case {"toolUse": call}:
            return ("call", call["toolUseId"], call["name"], call["input"])
        case {"toolResult": result}:
            words = "".join(part["text"] for part in result["content"])
            return ("result", result["toolUseId"], words, result.get("status") == "error")
        case _:
            return ("user" if role == "user" else "model", block["text"])
