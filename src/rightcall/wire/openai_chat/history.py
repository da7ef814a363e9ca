"""Converts Chat Completions messages to a transcript."""

from collections.abc import Iterator, Sequence
from typing import Any

from rightcall.core.jsontext import JsonObject
from rightcall.core.parts import Media, Part, Text
from rightcall.wire.history import (
    UNTYPED,
    HistoryReader,
    Said,
    bag,
    decoded,
    media_at,
    misread,
    objects,
    others,
    replied,
    string,
)
from rightcall.wire.openai_chat.tables import AUDIO, NAME


def read(messages: Sequence[JsonObject]) -> Said:
    """The conversation."""
    reader = HistoryReader()
    for at, message in enumerate(messages):
        where = f"messages[{at}]"
        match message.get("role"):
            case "system" | "developer":
                reader.instruct("".join(_texts(message, where)))
            case "user":
                vendor = bag(NAME, others(message, "role", "content"))
                reader.say(_parts(message, where), vendor=vendor)
            case "assistant":
                body: Any = {"choices": [{"message": _made_whole(message, at), "finish_reason": "stop"}]}
                reader.reply(replied(NAME, body, where))
            case "tool":
                call_id = string(message, "tool_call_id", where)
                reader.result(where, _parts(message, where), call_id=call_id)
            case "function":
                reader.result(where, _parts(message, where), name=string(message, "name", where))
            case role:
                raise misread(f"{where}.role", f"{role!r} is no role of Chat's")
    return reader.said()


def _made_whole(message: JsonObject, at: int) -> JsonObject:
    """An assistant's message; a call in the older form gets an id, as it has none."""
    called = message.get("function_call")
    if not called or message.get("tool_calls"):
        return message
    call = {"id": f"call_{at}", "type": "function", "function": called}
    return {**others(message, "function_call"), "tool_calls": [call]}


def _texts(message: JsonObject, where: str) -> Iterator[str]:
    for part in _parts(message, where):
        if not isinstance(part, Text):
            raise misread(f"{where}.content", "system text is text only")
        yield part.text


def _parts(message: JsonObject, where: str) -> list[Part]:
    content = message.get("content")
    if isinstance(content, str):
        return [Text(content)]
    if content is None:
        return [Text("")]
    return [_part(part, place) for place, part in objects(content, f"{where}.content")]


def _part(part: JsonObject, where: str) -> Part:
    match part.get("type"):
        case "text":
            return Text(string(part, "text", where), bag(NAME, others(part, "type", "text")))
        case "image_url":
            return _at(part, "image_url", "image/*", where)
        case "video_url":
            return _at(part, "video_url", "video/*", where)
        case "input_audio":
            return _sound(_inner(part, "input_audio", where), where)
        case "file":
            return _file(_inner(part, "file", where), where)
        case kind:
            raise misread(f"{where}.type", f"{kind!r} is no part of a message that is known here")


def _at(part: JsonObject, member: str, kind: str, where: str) -> Media:
    holder = part.get(member)
    inner: Any = {"url": holder} if isinstance(holder, str) else _inner(part, member, where)
    place = f"{where}.{member}"
    vendor = bag(NAME, others(inner, "url"))
    return media_at(string(inner, "url", place), kind, place, vendor=vendor)


def _sound(sound: JsonObject, where: str) -> Media:
    form = sound.get("format")
    kind = next((kind for kind, word in AUDIO.items() if word == form), f"audio/{form}")
    return Media(decoded(string(sound, "data", where), f"{where}.input_audio.data"), kind)


def _file(file: JsonObject, where: str) -> Media:
    name = file.get("filename")
    called = name if isinstance(name, str) else None
    if file.get("file_id"):
        return Media(media_type=UNTYPED, name=called, id=string(file, "file_id", where))
    data = string(file, "file_data", f"{where}.file")
    if not data.startswith("data:"):
        # Bare base64, which OpenAI accepts as well.
        data = f"data:application/pdf;base64,{data}"
    return media_at(data, UNTYPED, f"{where}.file.file_data", called)


def _inner(part: JsonObject, member: str, where: str) -> JsonObject:
    ((_, inner),) = objects([part.get(member)], f"{where}.{member}")
    return inner
