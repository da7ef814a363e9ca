"""Converts Ollama's messages to a transcript."""

from collections.abc import Sequence
from typing import Any

from rightcall.core.jsontext import JsonObject
from rightcall.core.parts import Media, Part, Text, sniff
from rightcall.wire.history import (
    ChatHistory,
    HistoryReader,
    decode_base64,
    decode_reply,
    misread,
    others,
    string,
)
from rightcall.wire.ollama.tables import NAME
from rightcall.wire.payload import own_bag, string_in


def read(messages: Sequence[JsonObject]) -> ChatHistory:
    """The conversation."""
    reader = HistoryReader()
    for at, message in enumerate(messages):
        where = f"messages[{at}]"
        match message.get("role"):
            case "system":
                reader.instruct(string(message, "content", where))
            case "user":
                vendor = own_bag(NAME, others(message, "role", "content", "images"))
                reader.say(_parts(message, where), vendor=vendor)
            case "assistant":
                body: Any = {"message": message, "done": True, "done_reason": "stop"}
                reader.reply(decode_reply(NAME, body, where))
            case "tool":
                given = message.get("tool_call_id")
                name = message.get("tool_name")
                reader.result(
                    where, _parts(message, where), call_id=string_in(given), name=string_in(name)
                )
            case role:
                raise misread(f"{where}.role", f"{role!r} is no role of Ollama's")
    return reader.conversation()


def _parts(message: JsonObject, where: str) -> list[Part]:
    parts: list[Part] = [Text(string(message, "content", where))]
    images = message.get("images")
    for at, image in enumerate(images if isinstance(images, list) else ()):
        place = f"{where}.images[{at}]"
        if not isinstance(image, str):
            raise misread(place, f"base64, and not {type(image).__name__}")
        data = decode_base64(image, place)
        kind = sniff(data)
        parts.append(Media(data, kind if kind.startswith("image/") else "image/*"))
    return parts
