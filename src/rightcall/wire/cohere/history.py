"""Converts Cohere's messages to a transcript."""

from collections.abc import Iterator, Sequence
from typing import Any

from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.parts import Part, Text
from rightcall.wire.cohere.tables import NAME
from rightcall.wire.history import (
    HistoryReader,
    Said,
    bag,
    media_at,
    misread,
    objects,
    others,
    replied,
    string,
)


def read(messages: Sequence[JsonObject]) -> Said:
    """The conversation."""
    reader = HistoryReader()
    for at, message in enumerate(messages):
        where = f"messages[{at}]"
        match message.get("role"):
            case "system":
                reader.instruct("".join(_texts(message, where)))
            case "user":
                vendor = bag(NAME, others(message, "role", "content"))
                reader.say(_parts(message, where), vendor=vendor)
            case "assistant":
                body: Any = {"message": message, "finish_reason": "COMPLETE"}
                reader.reply(replied(NAME, body, where))
            case "tool":
                call_id = string(message, "tool_call_id", where)
                reader.result(where, _parts(message, where), call_id=call_id)
            case role:
                raise misread(f"{where}.role", f"{role!r} is no role of Cohere's")
    return reader.said()


def _texts(message: JsonObject, where: str) -> Iterator[str]:
    for part in _parts(message, where):
        if not isinstance(part, Text):
            raise misread(f"{where}.content", "system text is text only")
        yield part.text


def _parts(message: JsonObject, where: str) -> list[Part]:
    content = message.get("content")
    if isinstance(content, str):
        return [Text(content)]
    return [_part(part, place) for place, part in objects(content, f"{where}.content")]


def _part(part: JsonObject, where: str) -> Part:
    match part.get("type"):
        case "text":
            return Text(string(part, "text", where))
        case "image_url":
            place = f"{where}.image_url"
            ((_, inner),) = objects([part.get("image_url")], place)
            vendor = bag(NAME, others(inner, "url"))
            return media_at(string(inner, "url", place), "image/*", place, vendor=vendor)
        case "document":
            # A document that a tool found, which the model reads as text, too.
            return Text(dump(part.get("document")))
        case kind:
            raise misread(f"{where}.type", f"{kind!r} is no part of a message that is known here")
