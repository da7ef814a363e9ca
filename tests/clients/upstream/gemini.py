"""Gemini's generateContent, as the vendor's side of it: either case of the members, and signed calls."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from clients.upstream.exchange import Asked, Offered, RefusedError, Reply, only, pieces

_KNOWN = """
contents systemInstruction tools toolConfig generationConfig safetySettings cachedContent labels
model store serviceTier
"""
KNOWN = frozenset(_KNOWN.split())
FILLERS = {"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"}
"""What the vendor lets pass in place of a signature of its own."""
STANDARD = str.maketrans("-_", "+/")
USAGE = {
    "promptTokenCount": 120,
    "candidatesTokenCount": 30,
    "thoughtsTokenCount": 8,
    "totalTokenCount": 158,
}


def camel(value: Any) -> Any:
    """The same request with every member in camel case; schemas and arguments stay as they are."""
    if isinstance(value, list):
        return [camel(each) for each in value]
    if not isinstance(value, dict):
        return value
    named = {re.sub(r"_([a-z])", lambda m: m[1].upper(), name): each for name, each in value.items()}
    kept = {
        "parametersJsonSchema",
        "parameters",
        "args",
        "response",
        "responseSchema",
        "responseJsonSchema",
    }
    return {name: each if name in kept else camel(each) for name, each in named.items()}


def read(raw: Mapping[str, Any], model: str, streamed: bool) -> Asked:
    body = camel(dict(raw))
    only(body, KNOWN, 'Invalid JSON payload received. Unknown name "{}": Cannot find field.')
    results, returned = [], []
    said = [_text((body.get("systemInstruction") or {}).get("parts"))]
    waiting = 0
    for content in body["contents"]:
        parts = content.get("parts") or []
        if not parts:
            raise RefusedError("* GenerateContentRequest.contents: contents.parts must not be empty.")
        answers = [each["functionResponse"] for each in parts if "functionResponse" in each]
        if len(answers) != waiting:
            raise RefusedError(
                "Please ensure that the number of function response parts is equal to the number of "
                f"function call parts of the function call turn: {len(answers)} for {waiting}."
            )
        called = [each for each in parts if "functionCall" in each]
        waiting = len(called)
        if called and not called[0].get("thoughtSignature"):
            raise RefusedError("Function call is missing a thought_signature in functionCall parts.")
        # The vendor takes either alphabet of base64, and Google's own SDK for Python changes it.
        signed = [each["thoughtSignature"] for each in called if each.get("thoughtSignature")]
        returned += [each if each in FILLERS else each.translate(STANDARD) for each in signed]
        results += [json.dumps(each.get("response")) for each in answers]
        if content.get("role") != "model":
            said.append(_text(parts))
    config = body.get("generationConfig") or {}
    declared = [
        each for tool in body.get("tools") or () for each in tool.get("functionDeclarations") or ()
    ]
    schemas = [each.get("parametersJsonSchema") or each.get("parameters") or {} for each in declared]
    return Asked(
        model=model,
        streamed=streamed,
        tools=tuple(
            Offered(each["name"], schema) for each, schema in zip(declared, schemas, strict=True)
        ),
        results=tuple(results),
        text="\n".join(said),
        thinks=True,
        returned=tuple(returned),
        schema=config.get("responseJsonSchema") or config.get("responseSchema"),
    )


def _text(parts: Any) -> str:
    return "".join(part.get("text", "") for part in parts or ())


def _chunk(reply: Reply, asked: Asked, parts: list[dict[str, Any]], stop: str | None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if stop:
        candidate["finishReason"] = stop
    made = {"modelVersion": asked.model, "responseId": f"resp-{reply.number}"}
    return {"candidates": [candidate], "usageMetadata": USAGE, **made}


def _calls(reply: Reply) -> list[dict[str, Any]]:
    parts = [
        {"functionCall": {"id": call.id, "name": call.tool.name, "args": call.arguments}}
        for call in reply.calls
    ]
    return [{**parts[0], "thoughtSignature": reply.signature}, *parts[1:]] if parts else []


def whole(reply: Reply, asked: Asked) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"text": reply.text}] if reply.text else []
    return _chunk(reply, asked, [*parts, *_calls(reply)], _stop(reply))


def stream(reply: Reply, asked: Asked, body: Mapping[str, Any]) -> Iterator[bytes]:
    config = camel(dict(body)).get("generationConfig") or {}
    shows = (config.get("thinkingConfig") or {}).get("includeThoughts")
    thoughts = [{"text": each, "thought": True} for each in pieces(reply.thought)] if shows else []
    for part in [*thoughts, *({"text": each} for each in pieces(reply.text)), *_calls(reply)]:
        yield _data(_chunk(reply, asked, [part], None))
    yield _data(_chunk(reply, asked, [{"text": ""}], _stop(reply)))


def error(status: int, message: str, code: str | None = None) -> dict[str, Any]:
    words = {429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE"}
    return {
        "error": {"code": status, "message": message, "status": words.get(status, "INVALID_ARGUMENT")}
    }


def _stop(reply: Reply) -> str:
    return "MAX_TOKENS" if reply.cut else "STOP"


def _data(value: object) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\r\n\r\n"
