"""Converts a transcript to Ollama's messages, each encoded once and for all.

Thoughts are sent back only to the vendor they came from. A result has no error flag; its text says it.
"""

from collections.abc import Iterator, Sequence
from typing import Any, assert_never

from msgspec import Raw

from rightcall.core.call import Call
from rightcall.core.message import Message, Reasoning, Reply, Results, Unknown, User
from rightcall.core.parts import Media, Part, Result, Text
from rightcall.core.request import Request
from rightcall.errors import EncodeError
from rightcall.wire.encoding import EncodeCache, as_bytes, base64_raw, mapping, note_of, object_in
from rightcall.wire.media import check_taken, first_new, place_of
from rightcall.wire.ollama.tables import MEDIA, NAME

RAW_ARGUMENTS = "raw_arguments"
"""Arguments that are no JSON object are sent as text under this key."""


def messages_of(request: Request, cache: EncodeCache) -> list[Any]:
    """The messages, the system text first."""
    new = first_new(request.messages)

    def write(written: list[Raw], message: Message, at: int) -> None:
        written += [Raw(as_bytes(each, NAME)) for each in _messages(message, place_of(at, new))]

    written = cache.written(NAME, request.messages, list[Raw], write)
    if not written:
        raise EncodeError(NAME, "there is nothing to send; say something first.", where="messages")
    system = [{"role": "system", "content": request.system}] if request.system else []
    return [*system, *written]


def _messages(message: Message, where: str) -> Iterator[dict[str, Any]]:
    match message:
        case User():
            # Instructions in the middle of a conversation are system messages.
            role = "system" if message.author == "developer" else "user"
            said = {"role": role, **_said(message.content, where)}
            yield {**said, **mapping(message.vendor.get(NAME))}
        case Reply():
            yield _reply(message)
        case Results():
            yield from map(_result, message.results)
        case _:
            assert_never(message)


def _said(content: Sequence[Part], where: str = "") -> dict[str, Any]:
    """The text, and the images beside it."""
    words: list[str] = []
    images: list[Raw] = []
    for part in content:
        if isinstance(part, Text):
            words.append(part.text)
        elif not check_taken(part, MEDIA, NAME, where):
            words.append(note_of(part))
        elif part.kind == "text":
            text = part.data.decode(errors="replace")
            words.append(f"{part.name}:\n{text}" if part.name else text)
        else:
            images.append(base64_raw(part))
    return {"content": "\n".join(words), **({"images": images} if images else {})}


def _result(result: Result) -> dict[str, Any]:
    said = _said(result.content)
    if result.is_error and not said["content"].lower().startswith("error"):
        said["content"] = f"Error: {said['content']}"
    named = {"tool_name": result.name, **({"tool_call_id": result.call_id} if result.call_id else {})}
    return {"role": "tool", **named, **said}


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
    thinking = {"thinking": "".join(thoughts)} if thoughts else {}
    called = {"tool_calls": calls} if calls else {}
    return {"role": "assistant", "content": "".join(words), **thinking, **called}


def _call(call: Call) -> dict[str, Any]:
    text = call.as_json
    arguments: Raw | dict[str, Any] = {}
    if text.strip():
        arguments = {RAW_ARGUMENTS: text} if object_in(text) is None else Raw(text.encode())
    more = dict(mapping(call.vendor.get(NAME)))
    function = {"name": call.name, "arguments": arguments, **mapping(more.pop("function", None))}
    return {**({"id": call.id} if call.id else {}), "function": function, **more}
