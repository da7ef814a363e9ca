"""The scenarios as Gemini's generateContent says them."""

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from rightcall.core.message import Reply
from rightcall.core.parts import Call, Text, Usage
from rightcall.core.ports import Dialect
from rightcall.wire import gemini
from wire.made import PNG, base64

dialect: Dialect = gemini
MODEL = "gemini-3-pro-preview"
MARKS: tuple[bytes, ...] = ()
COUNTS = {"promptTokenCount": 20, "candidatesTokenCount": 10, "totalTokenCount": 30}
SIGNATURE = "CuQBAXLI2nyGemini+thought/signature=="


def chunk(
    *parts: Mapping[str, Any], finish: str | None = None, usage: Mapping[str, Any] = COUNTS
) -> dict[str, Any]:
    candidate = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    said = candidate | ({"finishReason": finish} if finish else {})
    return {"candidates": [said], "usageMetadata": usage, "modelVersion": MODEL}


def sse(*chunks: Mapping[str, Any], escaped: bool = False) -> bytes:
    return "".join(f"data: {json.dumps(c, ensure_ascii=escaped)}\r\n\r\n" for c in chunks).encode()


def wire(
    chunks: list[dict[str, Any]],
    *parts: dict[str, Any],
    finish: str = "STOP",
    usage: Mapping[str, Any] = COUNTS,
) -> tuple[bytes, bytes]:
    last = chunk({"text": ""}, finish=finish, usage=usage)
    whole = chunk(*parts, finish=finish, usage=usage)
    return sse(*chunks, last), json.dumps(whole, ensure_ascii=False, indent=2).encode()


def used(id_: str, args: Mapping[str, Any] | str | None = None, name: str = "look") -> dict[str, Any]:
    said = {"id": id_, "name": name} | ({} if args is None else {"args": args})
    return {"functionCall": said}


def leaf(text: str, *, name: str | None = None) -> dict[str, Any]:
    """A piece of arguments, as Vertex streams them."""
    piece = {"jsonPath": "$.q", "stringValue": text, "willContinue": True}
    head = {"id": "call_1", "name": name} if name else {}
    return {"functionCall": {**head, "partialArgs": [piece], "willContinue": True}}


THOUGHT = {"text": "I must look.", "thought": True}
SIGNED = {**used("call_1", {"q": "x"}), "thoughtSignature": SIGNATURE}
ODD = {"mysteryPart": {"deep": [1, True]}}
FACE = "a\u2028b\N{GRINNING FACE}"
SPLIT = used("call_1", {"q": "\u2028é\N{GRINNING FACE}"})
RICH = {
    "promptTokenCount": 100,
    "cachedContentTokenCount": 60,
    "candidatesTokenCount": 30,
    "thoughtsTokenCount": 20,
    "totalTokenCount": 150,
}
ERROR = {"error": {"code": 503, "message": "Overloaded", "status": "UNAVAILABLE"}}
OPEN = sse(chunk({"text": "Let me "}), chunk({"text": "look."}), chunk(used("call_1", {"q": "x"})))

MADE = {"inlineData": {"mimeType": "image/png", "data": base64(PNG)}}


def cited(whole: dict[str, Any]) -> dict[str, Any]:
    """The chunk with where its words are from."""
    support = {"segment": {"endIndex": 9, "text": "It rains."}, "groundingChunkIndices": [0]}
    grounding = {
        "groundingChunks": [{"web": {"uri": "https://a", "title": "A"}}],
        "groundingSupports": [support],
    }
    (candidate,) = whole["candidates"]
    return {**whole, "candidates": [{**candidate, "groundingMetadata": grounding}]}


WIRES: dict[str, tuple[bytes, bytes]] = {
    "single-call": wire([chunk(used("call_1", {"q": "x"}))], used("call_1", {"q": "x"})),
    "parallel-calls": wire(
        [chunk(used("call_1", {"q": "x"}), used("call_2", {"q": "y"}))],
        used("call_1", {"q": "x"}),
        used("call_2", {"q": "y"}),
    ),
    "no-arguments": wire([chunk(used("call_1", {}, "now"))], used("call_1", name="now")),
    "empty-arguments": wire([chunk(used("call_1", "", "now"))], used("call_1", "", "now")),
    "unicode": (
        sse(chunk({"text": "a\u2028b"}), chunk({"text": "\N{GRINNING FACE}"}))
        + sse(chunk(SPLIT), chunk({"text": ""}, finish="STOP"), escaped=True),
        wire([], {"text": FACE}, SPLIT)[1],
    ),
    "truncated-call": wire(
        [chunk({"text": "Let me look."}), chunk(leaf("p", name="look")), chunk(leaf("ar"))],
        {"text": "Let me look."},
        used("call_1", {}),
        finish="MAX_TOKENS",
    ),
    "refusal": wire([], finish="SAFETY"),
    "unknown": wire(
        [chunk({"text": "Hi"}), {"mysteryEvent": {"x": 1}}, chunk(ODD)], {"text": "Hi"}, ODD
    ),
    "stop-sequence": wire([chunk({"text": "One, "}), chunk({"text": "two"})], {"text": "One, two"}),
    "usage": wire([chunk({"text": "Hi"}, usage=RICH)], {"text": "Hi"}, usage=RICH),
    "reasoning": wire(
        [
            chunk({"text": "I must ", "thought": True}),
            chunk({"text": "look.", "thought": True}),
            chunk({"text": "Let me look."}),
            chunk(SIGNED),
        ],
        THOUGHT,
        {"text": "Let me look."},
        SIGNED,
    ),
    "cited": (
        sse(chunk({"text": "It "}), cited(chunk({"text": "rains."}, finish="STOP"))),
        json.dumps(cited(chunk({"text": "It rains."}, finish="STOP"))).encode(),
    ),
    "made": wire([chunk(MADE)], MADE),
    "error-mid-stream": (sse(chunk({"text": "Hi"}), ERROR), json.dumps(ERROR).encode()),
}
SECRETS = (SIGNATURE.encode(),)
RETURNED: dict[str, list[Any]] = {
    "reasoning": [THOUGHT, {"text": "Let me look."}, SIGNED],
    "unknown": [{"text": "Hi"}, ODD],
}
_PLAIN = Usage(input_tokens=20, output_tokens=10)
INSTEAD: dict[tuple[str, str], Any] = {
    ("truncated-call", "whole"): Reply(
        (Text("Let me look."), Call(id="call_1", name="look", arguments="{}", truncated=True)),
        "length",
        usage=_PLAIN,
    )
}
for _form in ("streamed", "whole"):
    INSTEAD |= {
        ("empty-arguments", _form): Reply(
            (Call(id="call_1", name="now", arguments="{}"),), "calls", usage=_PLAIN
        ),
        ("refusal", _form): Reply((), "filtered", usage=_PLAIN),
        ("stop-sequence", _form): Reply((Text("One, two"),), "end", usage=_PLAIN),
        ("usage", _form): Reply(
            (Text("Hi"),),
            usage=Usage(input_tokens=100, output_tokens=50, cached_tokens=60, reasoning_tokens=20),
        ),
    }

VALIDATED = {"toolConfig": {"functionCallingConfig": {"mode": "VALIDATED"}}}
ANSWER = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
SAID: dict[str, dict[str, Any] | str] = {
    "choice-auto": {},
    "choice-required": {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}},
    "choice-none": {"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}},
    "choice-named": {
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["look"]}}
    },
    "parallel-off": {},
    "strict-on": VALIDATED,
    "strict-too-much": VALIDATED,
    "strict-open": VALIDATED,
    "structured-output": {
        "generationConfig": {
            "maxOutputTokens": 100,
            "responseMimeType": "application/json",
            "responseJsonSchema": ANSWER,
        }
    },
    "logprobs": {"generationConfig": {"maxOutputTokens": 100, "responseLogprobs": True, "logprobs": 2}},
    "stop-sequences": {"generationConfig": {"maxOutputTokens": 100, "stopSequences": ["END", "\n\n"]}},
}


def model_turn(body: dict[str, Any]) -> list[Any]:
    """What the model said, as it is given back."""
    return [part for turn in body["contents"] if turn["role"] == "model" for part in turn["parts"]]


def outline(body: dict[str, Any]) -> list[tuple[Any, ...]]:
    """An independent reading of a request: who said what, which call, which result."""
    roles = [turn["role"] for turn in body["contents"]]
    assert all(one != other for one, other in pairwise(roles)), "roles take turns"
    return [
        _told(turn["role"], part)
        for turn in body["contents"]
        for part in turn["parts"]
        if not part.get("thought")
    ]


def _told(role: str, part: dict[str, Any]) -> tuple[Any, ...]:
    if "functionCall" in part:
        call = part["functionCall"]
        return ("call", call["id"], call["name"], call["args"])
    if "functionResponse" in part:
        said = part["functionResponse"]
        ((member, words),) = said["response"].items()
        return ("result", said["id"], words, member == "error")
    return (role, part["text"])
