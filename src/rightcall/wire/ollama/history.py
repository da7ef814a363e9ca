"""Converts Ollama's messages to a transcript."""

from collections.abc import Sequence
from typing import Any

from rightcall.core.jsontext import JsonObject
from rightcall.core.media_type import sniff
from rightcall.core.parts import Media, Part, Text
from rightcall.wire.history import HistoryReader, Said, bag, decoded, misread, others, replied, string
from rightcall.wire.ollama.tables import NAME


def read(messages: Sequence[JsonObject]) -> Said:
    """The conversation."""
    reader = HistoryReader()
    for at, message in enumerate(messages):
        where = f"messages[{at}]"
        match message.get("role"):
            case "system":
                reader.instruct(string(message, "content", where))
            case "user":
                vendor = bag(NAME, others(message, "role", "content", "images"))
                reader.say(_parts(message, where), vendor=vendor)
            case "assistant":
                body: Any = {"message": message, "done": True, "done_reason": "stop"}
                reader.reply(replied(NAME, body, where))
            case "tool":
                given, name = message.get("tool_call_id"), message.get("tool_name")
                reader.result(
                    where,
                    _parts(message, where),
                    call_id=given if isinstance(given, str) else None,
                    name=name if isinstance(name, str) else None,
                )
            case role:
                raise misread(f"{where}.role", f"{role!r} is no role of Ollama's")
    return reader.said()


def _parts(message: JsonObject, where: str) -> list[Part]:
    parts: list[Part] = [Text(string(message, "content", where))]
    images = message.get("images")
    for at, image in enumerate(images if isinstance(images, list) else ()):
        place = f"{where}.images[{at}]"
        if not isinstance(image, str):
            raise misread(place, f"base64, and not {type(image).__name__}")
        data = decoded(image, place)
        kind = sniff(data)
        parts.append(Media(data, kind if kind.startswith("image/") else "image/*"))
    return parts
