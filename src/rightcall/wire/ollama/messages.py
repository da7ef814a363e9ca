"""Converts a transcript to Ollama's messages, each encoded once and for all.

Thoughts are sent back only to the vendor they came from. A result has no error flag; its text says it.
"""

from collections.abc import Iterator, Sequence
from typing import Any, assert_never

from msgspec import Raw

from rightcall.core.message import Message, Reasoning, Reply, Results, Unknown, User
from rightcall.core.parts import Call, Media, Part, Result, Text
from rightcall.core.request import Request
from rightcall.core.sanitize import break_tokens
from rightcall.errors import EncodeError
from rightcall.wire.media import check_taken, first_new, place_of
from rightcall.wire.ollama.tables import MEDIA, NAME
from rightcall.wire.payload import (
    EncodeCache,
    as_bytes,
    base64_raw,
    mapping,
    named_text,
    note_of,
    object_in,
)

RAW_ARGUMENTS = "raw_arguments"
"""Arguments that are no JSON object are sent as text under this key."""


def messages_of(request: Request, cache: EncodeCache) -> list[Any]:
    """The messages, the system text first."""
    new = first_new(request.messages)

    def write(written: list[Raw], message: Message, at: int) -> None:
        written += [Raw(as_bytes(each, NAME)) for each in _messages(message, place_of(at, new))]

    written = cache.write_messages(NAME, request.messages, list[Raw], write)
    if not written:
        raise EncodeError(NAME, "there is nothing to send; say something first.", where="messages")
    if request.system:
        return [{"role": "system", "content": request.system}, *written]
    return [*written]


def _messages(message: Message, where: str) -> Iterator[dict[str, Any]]:
    match message:
        case User():
            # Instructions in the middle of a conversation are system messages.
            role = "system" if message.author == "developer" else "user"
            said = {"role": role, **_encode_content(message.content, where)}
            yield {**said, **mapping(message.vendor.get(NAME))}
        case Reply():
            yield _reply(message)
        case Results():
            yield from map(_result, message.results)
        case _:
            assert_never(message)


def _encode_content(content: Sequence[Part], where: str = "") -> dict[str, Any]:
    """The text, and the images beside it."""
    words: list[str] = []
    images: list[Raw] = []
    for part in content:
        if isinstance(part, Text):
            words.append(part.text)
        elif not check_taken(part, MEDIA, NAME, where):
            words.append(note_of(part))
        elif part.kind == "text":
            words.append(named_text(part))
        else:
            images.append(base64_raw(part))
    members: dict[str, Any] = {"content": "\n".join(words)}
    if images:
        members["images"] = images
    return members


def _result(result: Result) -> dict[str, Any]:
    content = _encode_content(result.content)
    if result.is_error and not content["content"].lower().startswith("error"):
        content["content"] = f"Error: {content['content']}"
    content["content"] = break_tokens(content["content"])
    message = {"role": "tool", "tool_name": result.name}
    if result.call_id:
        message["tool_call_id"] = result.call_id
    return message | content


def _reply(reply: Reply) -> dict[str, Any]:
    words: list[str] = []
    thoughts: list[str] = []
    calls: list[dict[str, Any]] = []
    for part in reply.content:
        match part:
            case Text(text):
                words.append(text)
            case Reasoning(text):
                if NAME in part.vendor:
                    thoughts.append(text)
            case Call():
                calls.append(_call(part))
            case Media():
                words.append(note_of(part))
            case Unknown():
                pass
            case _:
                assert_never(part)
    message: dict[str, Any] = {"role": "assistant", "content": "".join(words)}
    if thoughts:
        message["thinking"] = "".join(thoughts)
    if calls:
        message["tool_calls"] = calls
    return message


def _call(call: Call) -> dict[str, Any]:
    text = call.as_json
    arguments: Raw | dict[str, Any] = {}
    if text.strip():
        if object_in(text) is None:
            arguments = {RAW_ARGUMENTS: text}
        else:
            arguments = Raw(text.encode())
    more = dict(mapping(call.vendor.get(NAME)))
    function = {"name": call.name, "arguments": arguments, **mapping(more.pop("function", None))}
    if call.id:
        return {"id": call.id, "function": function, **more}
    return {"function": function, **more}
