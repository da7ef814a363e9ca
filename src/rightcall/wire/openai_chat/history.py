"""Converts Chat Completions messages to a transcript."""

from collections.abc import Sequence
from typing import Any

from rightcall.core.jsontext import JsonObject
from rightcall.core.parts import Media, Part, Text
from rightcall.wire.history import (
    UNTYPED,
    ChatHistory,
    HistoryReader,
    decode_base64,
    decode_reply,
    media_at,
    misread,
    objects,
    others,
    string,
    system_text,
)
from rightcall.wire.openai_chat.tables import AUDIO, NAME
from rightcall.wire.payload import own_bag, string_in


def read(messages: Sequence[JsonObject]) -> ChatHistory:
    """The conversation."""
    reader = HistoryReader()
    for at, message in enumerate(messages):
        where = f"messages[{at}]"
        match message.get("role"):
            case "system" | "developer":
                reader.instruct(system_text(_parts(message, where), where))
            case "user":
                vendor = own_bag(NAME, others(message, "role", "content"))
                reader.say(_parts(message, where), vendor=vendor)
            case "assistant":
                said: dict[str, Any] = {**message}
                called = message.get("function_call")
                if called and not message.get("tool_calls"):
                    # A call in the older form gets an id, as it has none.
                    call = {"id": f"call_{at}", "type": "function", "function": called}
                    said = {**others(message, "function_call"), "tool_calls": [call]}
                body: Any = {"choices": [{"message": said, "finish_reason": "stop"}]}
                reader.reply(decode_reply(NAME, body, where))
            case "tool":
                call_id = string(message, "tool_call_id", where)
                reader.result(where, _parts(message, where), call_id=call_id)
            case "function":
                reader.result(where, _parts(message, where), name=string(message, "name", where))
            case role:
                raise misread(f"{where}.role", f"{role!r} is no role of Chat's")
    return reader.conversation()


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
            return Text(string(part, "text", where), own_bag(NAME, others(part, "type", "text")))
        case "image_url":
            return _at(part, "image_url", "image/*", where)
        case "video_url":
            return _at(part, "video_url", "video/*", where)
        case "input_audio":
            return _audio_media(_inner(part, "input_audio", where), where)
        case "file":
            file = _inner(part, "file", where)
            name = file.get("filename")
            called = string_in(name)
            if file.get("file_id"):
                return Media(media_type=UNTYPED, name=called, id=string(file, "file_id", where))
            data = string(file, "file_data", f"{where}.file")
            if not data.startswith("data:"):
                # Bare base64, which OpenAI accepts as well.
                data = f"data:application/pdf;base64,{data}"
            return media_at(data, UNTYPED, f"{where}.file.file_data", called)
        case kind:
            raise misread(f"{where}.type", f"{kind!r} is no part of a message that is known here")


def _at(part: JsonObject, member: str, kind: str, where: str) -> Media:
    holder = part.get(member)
    if isinstance(holder, str):
        inner: Any = {"url": holder}
    else:
        inner = _inner(part, member, where)
    place = f"{where}.{member}"
    vendor = own_bag(NAME, others(inner, "url"))
    return media_at(string(inner, "url", place), kind, place, vendor=vendor)


def _audio_media(sound: JsonObject, where: str) -> Media:
    form = sound.get("format")
    kind = next((kind for kind, word in AUDIO.items() if word == form), f"audio/{form}")
    return Media(decode_base64(string(sound, "data", where), f"{where}.input_audio.data"), kind)


def _inner(part: JsonObject, member: str, where: str) -> JsonObject:
    ((_, inner),) = objects([part.get(member)], f"{where}.{member}")
    return inner
