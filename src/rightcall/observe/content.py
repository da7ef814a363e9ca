"""Messages and their parts as OpenTelemetry attributes, redacted and truncated.

The shapes are those of the JSON schemas published with the conventions of 1.41.1. The bytes of media are
never included, only their type and size.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from rightcall.core.call import Call
from rightcall.core.message import Message, Reasoning, Reply, Results, Transcript, User
from rightcall.core.parts import Media, Result, Text
from rightcall.core.sanitize import encodable
from rightcall.core.tool import Spec
from rightcall.observe.conventions import FINISHES

Redact: TypeAlias = Callable[[object], object]
Part: TypeAlias = Mapping[str, Any]

LONGEST = 32_000
"""Characters of one text that are sent: a trace is not an archive."""


def written(value: object, redact: Redact) -> str:
    """Content as an attribute's text, with secrets removed: a text as it is, anything else as JSON."""
    if isinstance(value, str):
        return str(redact(value))
    return encodable(json.dumps(redact(value), ensure_ascii=False, separators=(",", ":")))


def instructions(system: str) -> list[Part]:
    """The system text of a request."""
    return [_text(system)] if system else []


def definitions(specs: Iterable[Spec]) -> list[Part]:
    """The tool definitions of a request."""
    return [
        {
            "type": "function",
            "name": spec.name,
            "description": _cut(spec.description),
            "parameters": spec.parameters,
        }
        for spec in specs
    ]


def messages(said: Transcript) -> list[Part]:
    """The messages of a request."""
    return [shaped for message in said for shaped in _shaped(message)]


def output(replies: Iterable[Reply]) -> list[Part]:
    """A model's reply, and why it stopped."""
    return [
        {
            "role": "assistant",
            "parts": _reply_parts(reply),
            "finish_reason": FINISHES.get(reply.stop, reply.stop),
        }
        for reply in replies
    ]


def arguments(call: Call) -> object:
    """A call's arguments: an object if they parse as one, otherwise the text that the model wrote."""
    if len(call.arguments) > LONGEST:
        return _cut(call.arguments)
    try:
        return json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return _cut(call.arguments)


def response(result: Result) -> object:
    """The result of a call as the model read it."""
    parts = [_media(part) for part in result.content if isinstance(part, Media)]
    return [_text(result.text), *parts] if parts else _cut(result.text)


def _shaped(message: Message) -> Iterable[Part]:
    match message:
        case User():
            yield {"role": "user", "parts": [_part(part) for part in message.content]}
        case Reply():
            yield {"role": "assistant", "parts": _reply_parts(message)}
        case Results(results):
            parts = [
                {"type": "tool_call_response", "id": each.call_id, "response": response(each)}
                for each in results
            ]
            yield {"role": "tool", "parts": parts}


def _reply_parts(reply: Reply) -> list[Part]:
    parts: list[Part] = []
    for part in reply.content:
        match part:
            case Call(id=call_id, name=name):
                asked = {"type": "tool_call", "id": call_id, "name": name}
                parts.append({**asked, "arguments": arguments(part)})
            case Reasoning(text):
                if text:
                    parts.append({"type": "reasoning", "content": _cut(text)})
            case Text() | Media():
                parts.append(_part(part))
            case _:
                # Parts that only the vendor can read are of no use to an operator.
                continue
    return parts


def _part(part: Text | Media) -> Part:
    return _text(part.text) if isinstance(part, Text) else _media(part)


def _text(text: str) -> Part:
    return {"type": "text", "content": _cut(text)}


def _media(media: Media) -> Part:
    about = {"modality": str(media.kind), "mime_type": media.media_type}
    if media.id is not None:
        return {"type": "file", **about, "file_id": media.id}
    if media.url is not None and not media.url.startswith("data:"):
        return {"type": "uri", **about, "uri": _cut(media.url)}
    return {"type": "media", **about, "bytes": len(media.data)}


def _cut(text: str) -> str:
    text = encodable(text)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,} characters)"
