"""Converts Anthropic's messages to a transcript."""

from collections.abc import Sequence
from typing import Any

from rightcall.core.jsontext import JsonObject
from rightcall.core.parts import Media, Part, Text
from rightcall.wire.anthropic.tables import NAME
from rightcall.wire.history import (
    UNTYPED,
    ChatHistory,
    HistoryReader,
    decode_base64,
    decode_reply,
    misread,
    objects,
    others,
    string,
)
from rightcall.wire.payload import own_bag, string_in


def read(messages: Sequence[JsonObject]) -> ChatHistory:
    """The conversation."""
    reader = HistoryReader()
    for at, message in enumerate(messages):
        where = f"messages[{at}]"
        blocks = _blocks(message, where)
        match message.get("role"):
            case "system":
                reader.instruct("".join([string(block, "text", place) for place, block in blocks]))
            case "user":
                _user(reader, blocks)
            case "assistant":
                calls = any(block.get("type") == "tool_use" for _, block in blocks)
                body: Any = {
                    "type": "message",
                    "role": "assistant",
                    "content": [block for _, block in blocks],
                    "stop_reason": "tool_use" if calls else "end_turn",
                }
                reader.reply(decode_reply(NAME, body, where))
            case role:
                raise misread(f"{where}.role", f"{role!r} is no role of Anthropic's")
    return reader.conversation()


def _blocks(message: JsonObject, where: str) -> list[tuple[str, JsonObject]]:
    content = message.get("content")
    place = f"{where}.content"
    if isinstance(content, str):
        return [(place, {"type": "text", "text": content})]
    return list(objects(content, place))


def _user(reader: HistoryReader, blocks: Sequence[tuple[str, JsonObject]]) -> None:
    """A user's turn: first the results, as the vendor requires, then the rest."""
    said: list[Part] = []
    own: list[JsonObject] = []
    for where, block in blocks:
        if block.get("type") == "tool_result":
            _result(reader, block, where)
        elif (part := _part(block, where)) is not None:
            said.append(part)
        else:
            # A block that only this vendor has.
            own.append(block)
    if said or own:
        reader.say(said, vendor=own_bag(NAME, own))


def _result(reader: HistoryReader, block: JsonObject, where: str) -> None:
    content: list[Part] = []
    given = block.get("content")
    inner = _blocks(block, where) if given is not None else []
    for place, each in inner:
        part = _part(each, place)
        if part is None:
            raise misread(f"{place}.type", f"{each.get('type')!r} in a result is not known here")
        content.append(part)
    reader.result(
        where,
        content or [Text("")],
        call_id=string(block, "tool_use_id", where),
        outcome="failed" if block.get("is_error") is True else "returned",
        vendor=own_bag(
            NAME, others(block, "type", "tool_use_id", "content", "is_error", "toolset_name")
        ),
    )


def _part(block: JsonObject, where: str) -> Part | None:
    match block.get("type"):
        case "text":
            return Text(string(block, "text", where), own_bag(NAME, others(block, "type", "text")))
        case "image":
            more = own_bag(NAME, others(block, "type", "source"))
            return _media(block, "image/*", where, vendor=more)
        case "document":
            source = block.get("source")
            if isinstance(source, dict) and source.get("type") == "content":
                return None
            title = block.get("title")
            name = string_in(title)
            more = own_bag(NAME, others(block, "type", "source", *(["title"] if name else [])))
            return _media(block, UNTYPED, where, name=name, vendor=more)
        case str():
            return None
        case kind:
            raise misread(f"{where}.type", f"{kind!r} is no block of a message")


def _media(block: JsonObject, kind: str, where: str, **more: Any) -> Media:
    ((_, source),) = objects([block.get("source")], f"{where}.source")
    place = f"{where}.source"
    match source.get("type"):
        case "base64":
            data = decode_base64(string(source, "data", place), f"{place}.data")
            return Media(data, string(source, "media_type", place), **more)
        case "text":
            return Media(string(source, "data", place).encode(), "text/plain", **more)
        case "url":
            # The vendor treats a document at a URL as a PDF.
            known = "application/pdf" if kind == UNTYPED else kind
            return Media(media_type=known, url=string(source, "url", place), **more)
        case "file":
            return Media(media_type=kind, id=string(source, "file_id", place), **more)
        case other:
            raise misread(f"{place}.type", f"{other!r} is no source that is known here")
