"""Converts Cohere's messages to a transcript."""

from collections.abc import Sequence
from typing import Any

from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.parts import Part, Text
from rightcall.wire.cohere.tables import NAME
from rightcall.wire.history import (
    ChatHistory,
    HistoryReader,
    decode_reply,
    media_at,
    misread,
    objects,
    others,
    string,
    system_text,
)
from rightcall.wire.payload import own_bag


def read(messages: Sequence[JsonObject]) -> ChatHistory:
    """The conversation."""
    reader = HistoryReader()
    for at, message in enumerate(messages):
        where = f"messages[{at}]"
        match message.get("role"):
            case "system":
                reader.instruct(system_text(_parts(message, where), where))
            case "user":
                vendor = own_bag(NAME, others(message, "role", "content"))
                reader.say(_parts(message, where), vendor=vendor)
            case "assistant":
                body: Any = {"message": message, "finish_reason": "COMPLETE"}
                reader.reply(decode_reply(NAME, body, where))
            case "tool":
                call_id = string(message, "tool_call_id", where)
                reader.result(where, _parts(message, where), call_id=call_id)
            case role:
                raise misread(f"{where}.role", f"{role!r} is no role of Cohere's")
    return reader.conversation()


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
            vendor = own_bag(NAME, others(inner, "url"))
            return media_at(string(inner, "url", place), "image/*", place, vendor=vendor)
        case "document":
            # A document that a tool found, which the model reads as text, too.
            return Text(dump(part.get("document")))
        case kind:
            raise misread(f"{where}.type", f"{kind!r} is no part of a message that is known here")
