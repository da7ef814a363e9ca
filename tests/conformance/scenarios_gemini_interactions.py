"""The scenarios as Gemini's Interactions API says them."""

import json
from typing import Any

from rightcall.core.message import Reply
from rightcall.core.parts import Call, Text, Usage
from rightcall.core.ports import Dialect
from rightcall.wire import gemini_interactions
from wire.made import PNG, base64

dialect: Dialect = gemini_interactions
MODEL = "gemini-3.6-flash"
MARKS = ()
COUNTS = {"total_input_tokens": 20, "total_output_tokens": 10, "total_tokens": 30}
USAGE = Usage(input_tokens=20, output_tokens=10)
SIGNATURE = "EpoGCpcGAXLI2nx+Interaction/signature=="

Event = dict[str, Any]


def stream(*events: Event, escaped: bool = False) -> bytes:
    return b"".join(
        f"event: {event['event_type']}\ndata: {json.dumps(event, ensure_ascii=escaped)}\n\n".encode()
        for event in events
    )


def standing(kind: str, status: str, **more: Any) -> Event:
    interaction = {"id": "v1_a", "status": status, "object": "interaction", "model": MODEL, **more}
    return {"interaction": interaction, "event_type": f"interaction.{kind}"}


BEGIN = [
    standing("created", "in_progress"),
    {"interaction_id": "v1_a", "status": "in_progress", "event_type": "interaction.status_update"},
]


def step(at: int, begun: dict[str, Any], *deltas: dict[str, Any]) -> list[Event]:
    return [
        {"index": at, "step": begun, "event_type": "step.start"},
        *[{"index": at, "delta": delta, "event_type": "step.delta"} for delta in deltas],
        {"index": at, "event_type": "step.stop"},
    ]


def said(at: int, *pieces: str) -> list[Event]:
    return step(at, {"type": "model_output"}, *[{"text": each, "type": "text"} for each in pieces])


def use(at: int, id_: str, *pieces: str, name: str = "look") -> list[Event]:
    deltas = [{"arguments": piece, "type": "arguments_delta"} for piece in pieces]
    return step(at, used(id_, {}, name), *deltas)


def used(id_: str, arguments: Any, name: str = "look") -> dict[str, Any]:
    return {"type": "function_call", "id": id_, "name": name, "arguments": arguments}


def wrote(*content: Any) -> dict[str, Any]:
    told = [{"type": "text", "text": each} if isinstance(each, str) else each for each in content]
    return {"type": "model_output", "content": told}


def wire(
    events: list[Event], *steps: dict[str, Any], status: str = "requires_action", usage: Any = COUNTS
) -> tuple[bytes, bytes]:
    last = standing("completed", status, usage=usage)
    whole = {**last["interaction"], "steps": list(steps)}
    done = b"event: done\ndata: [DONE]\n\n"
    return stream(*BEGIN, *events, last) + done, json.dumps(whole, ensure_ascii=False).encode()


THOUGHT = {"type": "thought", "summary": [{"type": "text", "text": "I must look."}]}
SIGNED = {**THOUGHT, "signature": SIGNATURE}
ODD = {"type": "mystery_call", "id": "m", "deep": [1, None]}
FACE = "\N{GRINNING FACE}"
CITED = [
    {"type": "url_citation", "url": "https://a", "title": "A", "start_index": 0, "end_index": 9},
]
MADE = {"type": "image", "mime_type": "image/png", "data": base64(PNG)}
RICH = {
    "total_input_tokens": 100,
    "total_output_tokens": 30,
    "total_thought_tokens": 20,
    "total_cached_tokens": 60,
    "total_tokens": 150,
}
ERROR = {"error": {"message": "Overloaded", "code": "service_unavailable"}}
OPEN = stream(*BEGIN, *said(0, "Let me ", "look."), *use(1, "call_1", '{"q": "', 'x"}'))

WIRES: dict[str, tuple[bytes, bytes]] = {
    "single-call": wire(use(0, "call_1", '{"q": "', 'x"}'), used("call_1", {"q": "x"})),
    "parallel-calls": wire(
        [*use(0, "call_1", '{"q": "x"}'), *use(1, "call_2", '{"q":', ' "y"}')],
        used("call_1", {"q": "x"}),
        used("call_2", {"q": "y"}),
    ),
    "no-arguments": wire(use(0, "call_1", "{}", name="now"), used("call_1", {}, "now")),
    "empty-arguments": wire(use(0, "call_1", name="now"), used("call_1", {}, "now")),
    "unicode": wire(
        [*said(0, "a\u2028b", FACE), *use(1, "call_1", '{"q": "\u2028é\\ud8', "3d\\ude", '00"}')],
        wrote(f"a\u2028b{FACE}"),
        used("call_1", {"q": f"\u2028é{FACE}"}),
    ),
    "truncated-call": wire(
        [*said(0, "Let me look."), *use(1, "call_1", '{"q":"', "par")],
        wrote("Let me look."),
        used("call_1", {}),
        status="incomplete",
    ),
    "refusal": wire([], status="completed"),
    "unknown": wire(
        [*said(0, "Hi"), {"event_type": "mystery.event", "x": {}}, *step(1, ODD)],
        wrote("Hi"),
        ODD,
        status="completed",
    ),
    "stop-sequence": wire(said(0, "One, ", "two"), wrote("One, two"), status="completed"),
    "usage": wire(said(0, "Hi"), wrote("Hi"), status="completed", usage=RICH),
    "reasoning": wire(
        [
            *step(
                0,
                {"type": "thought", "summary": [{"type": "text", "text": "I must "}]},
                {"type": "thought_summary", "content": {"type": "text", "text": "look."}},
                {"type": "thought_signature", "signature": SIGNATURE},
            ),
            *said(1, "Let me look."),
            *use(2, "call_1", '{"q": "x"}'),
        ],
        SIGNED,
        wrote("Let me look."),
        used("call_1", {"q": "x"}),
    ),
    "cited": wire(
        step(
            0,
            {"type": "model_output"},
            {"type": "text", "text": "It "},
            {"type": "text", "text": "rains."},
            {"type": "text_annotation_delta", "annotations": CITED},
        ),
        wrote({"type": "text", "text": "It rains.", "annotations": CITED}),
        status="completed",
    ),
    "made": wire(step(0, {"type": "model_output"}, MADE), wrote(MADE), status="completed"),
    "error-mid-stream": (
        stream(*BEGIN, *said(0, "Hi"), {**ERROR, "event_type": "error"}),
        json.dumps(ERROR).encode(),
    ),
}
SECRETS = (SIGNATURE.encode(),)
RETURNED: dict[str, list[Any]] = {
    "reasoning": [SIGNED, wrote("Let me look."), used("call_1", {"q": "x"})],
    "unknown": [wrote("Hi"), ODD],
}
INSTEAD: dict[tuple[str, str], Any] = {
    ("truncated-call", "whole"): Reply(
        (Text("Let me look."), Call(id="call_1", name="look", arguments="{}", truncated=True)),
        "length",
        usage=USAGE,
    )
}
for _form in ("streamed", "whole"):
    INSTEAD |= {
        ("empty-arguments", _form): Reply(
            (Call(id="call_1", name="now", arguments="{}"),), "calls", usage=USAGE
        ),
        ("refusal", _form): Reply((), "end", usage=USAGE),
        ("stop-sequence", _form): Reply((Text("One, two"),), "end", usage=USAGE),
        ("usage", _form): Reply(
            (Text("Hi"),),
            usage=Usage(input_tokens=100, output_tokens=50, cached_tokens=60, reasoning_tokens=20),
        ),
    }


def config(**more: Any) -> dict[str, Any]:
    return {"generation_config": {"max_output_tokens": 100, **more}}


VALIDATED = config(tool_choice="validated")
ANSWER = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
SAID: dict[str, dict[str, Any] | str] = {
    "choice-auto": {},
    "choice-required": config(tool_choice="any"),
    "choice-none": config(tool_choice="none"),
    "choice-named": config(tool_choice={"allowed_tools": {"mode": "any", "tools": ["look"]}}),
    "parallel-off": {},
    "strict-on": VALIDATED,
    "strict-too-much": VALIDATED,
    "strict-open": VALIDATED,
    "structured-output": {
        "response_format": {"type": "text", "mime_type": "application/json", "schema": ANSWER}
    },
    "logprobs": "options.logprobs",
    "stop-sequences": config(stop_sequences=["END", "\n\n"]),
}


def model_turn(body: dict[str, Any]) -> list[Any]:
    """What the model said, as it is given back."""
    given = ("user_input", "function_result")
    return [each for each in body["input"] if each["type"] not in given]


def outline(body: dict[str, Any]) -> list[tuple[Any, ...]]:
    """An independent reading of a request: who said what, which call, which result."""
    found: list[tuple[Any, ...]] = []
    for each in body["input"]:
        match each["type"]:
            case "user_input":
                found += [("user", part["text"]) for part in each["content"]]
            case "model_output":
                found += [("model", part["text"]) for part in each["content"]]
            case "function_call":
                found.append(("call", each["id"], each["name"], each["arguments"]))
            case "function_result":
                (part,) = each["result"]
                found.append(("result", each["call_id"], part["text"], each.get("is_error", False)))
            case _:
                pass
    return found
