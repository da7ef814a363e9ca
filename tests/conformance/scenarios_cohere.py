"""The scenarios as Cohere's Chat says them."""

import json
from typing import Any

from rightcall.core.message import Reply
from rightcall.core.parts import Text, Usage
from rightcall.core.ports import Dialect
from rightcall.wire import cohere

dialect: Dialect = cohere
MODEL = "command-a-reasoning-08-2025"
MARKS = ()
COUNTS: dict[str, Any] = {
    "billed_units": {"input_tokens": 9, "output_tokens": 8},
    "tokens": {"input_tokens": 20, "output_tokens": 10},
}
USAGE = Usage(input_tokens=20, output_tokens=10)
SOURCE = "tool_result_0f3a"

Event = dict[str, Any]


def stream(*events: Event) -> bytes:
    return b"".join(
        f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
        for event in events
    )


BEGIN: Event = {
    "id": "r-1",
    "type": "message-start",
    "delta": {"message": {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": []}},
}


def told(kind: str, member: str, value: Any, at: int | None = None) -> Event:
    index = {} if at is None else {"index": at}
    return {"type": kind, **index, "delta": {"message": {member: value}}}


def said(at: int, kind: str, *pieces: str) -> list[Event]:
    return [
        told("content-start", "content", {"type": kind, kind: ""}, at),
        *[told("content-delta", "content", {kind: piece}, at) for piece in pieces],
        {"type": "content-end", "index": at},
    ]


def use(at: int, id_: str, *pieces: str, name: str = "look") -> list[Event]:
    function = {"name": name, "arguments": ""}
    start = {"id": id_, "type": "function", "function": function}
    deltas = [{"function": {"arguments": piece}} for piece in pieces]
    return [
        told("tool-call-start", "tool_calls", start, at),
        *[told("tool-call-delta", "tool_calls", delta, at) for delta in deltas],
        {"type": "tool-call-end", "index": at},
    ]


def wire(
    events: list[Event], message: dict[str, Any], stop: str = "TOOL_CALL", usage: Any = COUNTS
) -> tuple[bytes, bytes]:
    last = {"type": "message-end", "delta": {"finish_reason": stop, "usage": usage}}
    whole = {
        "id": "r-1",
        "finish_reason": stop,
        "message": {"role": "assistant", **message},
        "usage": usage,
    }
    return stream(BEGIN, *events, last), json.dumps(whole, ensure_ascii=False).encode()


def used(id_: str, arguments: str, name: str = "look") -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def wrote(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


THOUGHT = {"type": "thinking", "thinking": "I must look."}
ODD = {"type": "mystery", "deep": [1, None]}
CITED = {"start": 0, "end": 6, "text": "Let me", "sources": [{"type": "tool", "id": SOURCE}]}
RAINS = {
    "start": 0,
    "end": 9,
    "text": "It rains.",
    "sources": [{"type": "document", "document": {"title": "A", "url": "https://a"}}],
}
FACE = "\N{GRINNING FACE}"
OPEN = stream(BEGIN, *said(0, "text", "Let me ", "look."), *use(0, "call_1", '{"q": "', 'x"}'))

WIRES: dict[str, tuple[bytes, bytes]] = {
    "single-call": wire(
        use(0, "call_1", '{"q": "', 'x"}'), {"tool_calls": [used("call_1", '{"q": "x"}')]}
    ),
    "parallel-calls": wire(
        [*use(0, "call_1", '{"q": "x"}'), *use(1, "call_2", '{"q":', ' "y"}')],
        {"tool_calls": [used("call_1", '{"q": "x"}'), used("call_2", '{"q": "y"}')]},
    ),
    "no-arguments": wire(
        use(0, "call_1", "{}", name="now"), {"tool_calls": [used("call_1", "{}", "now")]}
    ),
    "empty-arguments": wire(
        use(0, "call_1", "", name="now"), {"tool_calls": [used("call_1", "", "now")]}
    ),
    "unicode": wire(
        [
            *said(0, "text", "a\u2028b", FACE),
            *use(0, "call_1", '{"q": "\u2028é\\ud8', "3d\\ude", '00"}'),
        ],
        {
            "content": [wrote(f"a\u2028b{FACE}")],
            "tool_calls": [used("call_1", '{"q": "\u2028é\\ud83d\\ude00"}')],
        },
    ),
    "truncated-call": wire(
        [*said(0, "text", "Let me look."), *use(0, "call_1", '{"q":"', "par")],
        {"content": [wrote("Let me look.")], "tool_calls": [used("call_1", '{"q":"par')]},
        stop="MAX_TOKENS",
    ),
    "refusal": wire([], {"content": []}, stop="COMPLETE"),
    "unknown": wire(
        [
            *said(0, "text", "Hi"),
            {"type": "mystery-event", "x": {}},
            told("content-start", "content", ODD, 1),
        ],
        {"content": [wrote("Hi"), ODD]},
        stop="COMPLETE",
    ),
    "stop-sequence": wire(
        said(0, "text", "One, ", "two"), {"content": [wrote("One, two")]}, stop="STOP_SEQUENCE"
    ),
    "usage": wire(
        said(0, "text", "Hi"),
        {"content": [wrote("Hi")]},
        stop="COMPLETE",
        usage={"tokens": {"input_tokens": 100.0, "output_tokens": 50.0}, "cached_tokens": 60.0},
    ),
    "reasoning": wire(
        [
            *said(0, "thinking", "I must ", "look."),
            *said(1, "text", "Let me look."),
            told("citation-start", "citations", {**CITED, "content_index": 1}, 0),
            {"type": "citation-end", "index": 0},
            *use(0, "call_1", '{"q": "x"}'),
        ],
        {
            "content": [THOUGHT, wrote("Let me look.")],
            "citations": [{**CITED, "content_index": 1}],
            "tool_calls": [used("call_1", '{"q": "x"}')],
        },
    ),
    "cited": wire(
        [
            *said(0, "text", "It rains."),
            told("citation-start", "citations", RAINS, 0),
            {"type": "citation-end", "index": 0},
        ],
        {"content": [wrote("It rains.")], "citations": [RAINS]},
        stop="COMPLETE",
    ),
    "made": wire([], {"content": []}, stop="COMPLETE"),
    "error-mid-stream": (
        stream(
            BEGIN,
            *said(0, "text", "Hi"),
            {"type": "message-end", "delta": {"error": "Overloaded", "finish_reason": "ERROR"}},
        ),
        json.dumps({"id": "e", "status_code": 503, "message": "Overloaded"}).encode(),
    ),
}
SECRETS = (SOURCE.encode(),)
RETURNED: dict[str, list[Any]] = {
    "reasoning": [
        {
            "role": "assistant",
            "content": [THOUGHT, wrote("Let me look.")],
            "tool_calls": [used("call_1", '{"q": "x"}')],
            "citations": [{**CITED, "content_index": 1}],
        }
    ],
    "unknown": [{"role": "assistant", "content": [wrote("Hi"), ODD]}],
}
INSTEAD: dict[tuple[str, str], Any] = {
    (what, form): Reply((), "end", usage=USAGE)
    for what in ("refusal", "made")
    for form in ("streamed", "whole")
} | {
    ("usage", form): Reply(
        (Text("Hi"),), "end", usage=Usage(input_tokens=100, output_tokens=50, cached_tokens=60)
    )
    for form in ("streamed", "whole")
}

LOOK = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Look it up.",
        "parameters": {
            "type": "object",
            "properties": {
                "q": {"type": "string"},
                "limit": {"type": "integer", "description": "minimum: 1"},
            },
            "required": ["q"],
        },
    },
}
DEEP: dict[str, Any] = {"type": "string"}
for _name in ["end", *["inner"] * 9, "deep"]:
    DEEP = {"type": "object", "properties": {_name: DEEP}, "required": [_name]}
WIDE = {
    "type": "function",
    "function": {
        "name": "wide",
        "description": "More optional members than Anthropic takes, and deeper than OpenAI takes.",
        "parameters": {
            "type": "object",
            "properties": {
                **{f"p{at}": {"type": "string"} for at in range(25)},
                **DEEP["properties"],
            },
            "required": ["deep"],
        },
    },
}
SAID: dict[str, dict[str, Any] | str] = {
    "choice-auto": {},
    "choice-required": {"tool_choice": "REQUIRED"},
    "choice-none": {"tool_choice": "NONE"},
    "choice-named": {"tool_choice": "REQUIRED"},
    "parallel-off": {},
    "strict-on": {"tools": [LOOK], "strict_tools": True},
    "strict-too-much": {"tools": [LOOK, WIDE], "strict_tools": True},
    "structured-output": "output",
    "logprobs": "options.logprobs",
    "stop-sequences": {"stop_sequences": ["END", "\n\n"]},
}


def model_turn(body: dict[str, Any]) -> list[Any]:
    """What the model said, as it is given back."""
    return [message for message in body["messages"] if message["role"] == "assistant"]


def outline(body: dict[str, Any]) -> list[tuple[Any, ...]]:
    """An independent reading of a request: who said what, which call, which result."""
    found: list[tuple[Any, ...]] = []
    for message in body["messages"]:
        match message:
            case {"role": "tool", "content": content}:
                is_error = content.startswith("Error: ")
                words = content.removeprefix("Error: ")
                found.append(("result", message["tool_call_id"], words, is_error))
            case {"role": "user", "content": content}:
                found.append(("user", content))
            case {"role": "assistant"}:
                texts = [part["text"] for part in message.get("content", ()) if "text" in part]
                found += [("model", text) for text in texts]
                for call in message.get("tool_calls", ()):
                    function = call["function"]
                    arguments = json.loads(function["arguments"])
                    found.append(("call", call["id"], function["name"], arguments))
    return found
