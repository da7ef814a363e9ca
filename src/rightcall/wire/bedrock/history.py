"""Converts Converse's messages to a transcript.

A block is an object with one member, whose name is its kind. Bytes are base64 on the wire, and raw where
Amazon's SDK takes or returns them.
"""

from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any

from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.parts import Media, Part, Text
from rightcall.wire.bedrock.messages import MARK
from rightcall.wire.bedrock.tables import DOCUMENTS, IMAGES, NAME, SOUNDS, VIDEOS
from rightcall.wire.history import (
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

_FORMATS: Mapping[str, Mapping[str, str]] = {
    # If several types have the same name, the first counts.
    member: {form: kind for kind, form in reversed(list(table.items()))}
    for member, table in (
        ("image", IMAGES),
        ("document", DOCUMENTS),
        ("video", VIDEOS),
        ("audio", SOUNDS),
    )
}
"""Media types by Converse's names for them."""


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
                said = {"role": "assistant", "content": [block for _, block in blocks]}
                body: Any = {"output": {"message": said}, "stopReason": "end_turn"}
                reader.reply(decode_reply(NAME, body, where))
            case role:
                raise misread(f"{where}.role", f"{role!r} is no role of Bedrock's")
    return reader.conversation()


def with_bytes(messages: Any) -> list[Any]:
    """Wire-format messages with bytes decoded, as Amazon's SDK takes them."""
    return [{**message, "content": list(map(_with_bytes, message["content"]))} for message in messages]


def _with_bytes(block: dict[str, Any]) -> dict[str, Any]:
    return {member: _of_sdk(member, inner) for member, inner in block.items()}


def _of_sdk(member: str, inner: Any) -> Any:
    if not isinstance(inner, dict):
        return inner
    if member == "toolResult":
        return {**inner, "content": list(map(_with_bytes, inner["content"]))}
    if member == "reasoningContent" and "redactedContent" in inner:
        return {**inner, "redactedContent": _bytes(inner["redactedContent"])}
    source = inner.get("source")
    if member in _FORMATS and isinstance(source, dict) and "bytes" in source:
        return {**inner, "source": {**source, "bytes": _bytes(source["bytes"])}}
    return inner


def _bytes(text: str) -> bytes | str:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        # It was not base64 when it came.
        return text


def _blocks(message: JsonObject, where: str) -> list[tuple[str, JsonObject]]:
    content = message.get("content")
    place = f"{where}.content"
    if isinstance(content, str):
        return [(place, {"text": content})]
    return list(objects(content, place))


def _user(reader: HistoryReader, blocks: Sequence[tuple[str, JsonObject]]) -> None:
    """A user's turn: first the results, as the vendor requires, then the rest."""
    said: list[Part] = []
    own: list[Any] = []
    for at, (where, block) in enumerate(blocks):
        if MARK in block and at:
            # It belongs to the block before it.
            continue
        mark: dict[str, Any] = {}
        if at + 1 < len(blocks) and MARK not in block and MARK in blocks[at + 1][1]:
            mark = {MARK: blocks[at + 1][1][MARK]}
        if isinstance(block.get("toolResult"), Mapping):
            _result(reader, block, mark, f"{where}.toolResult")
        elif (part := _part(block, mark, where)) is not None:
            said.append(part)
        else:
            # A block that only this vendor has.
            own.append(block)
            if mark:
                own.append(mark)
    if said or own:
        reader.say(said, vendor=own_bag(NAME, own))


def _result(reader: HistoryReader, block: JsonObject, mark: dict[str, Any], where: str) -> None:
    ((_, answer),) = objects([block["toolResult"]], where)
    content: list[Part] = []
    is_own = False
    blocks = [] if answer.get("content") is None else _blocks(answer, where)
    for place, each in blocks:
        part = _part(each, {}, place)
        if part is None:
            # An object, or search results: text for other vendors, unchanged for Bedrock.
            is_own = True
            value = each.get("json", each)
            part = Text(value if isinstance(value, str) else dump(value))
        content.append(part)
    failed = answer.get("status") == "error"
    known = ["toolUseId"]
    if not is_own:
        known.append("content")
    if failed:
        known.append("status")
    reader.result(
        where,
        content or [Text("")],
        call_id=string(answer, "toolUseId", where),
        outcome="failed" if failed else "returned",
        vendor=own_bag(NAME, {**others(answer, *known), **mark}),
    )


def _part(block: JsonObject, mark: dict[str, Any], where: str) -> Part | None:
    if "text" in block:
        return Text(string(block, "text", where), own_bag(NAME, mark))
    for member, formats in _FORMATS.items():
        if member in block:
            ((_, inner),) = objects([block[member]], f"{where}.{member}")
            return _media(inner, formats, mark, f"{where}.{member}")
    if not block or not any(isinstance(value, Mapping) for value in block.values()):
        raise misread(where, "no block of a message")
    return None


def _media(
    inner: JsonObject, formats: Mapping[str, str], mark: dict[str, Any], where: str
) -> Media | None:
    """Media; None if they are in a form that only this vendor has."""
    kind = formats.get(str(inner.get("format")))
    place = f"{where}.source"
    ((_, source),) = objects([inner.get("source")], place)
    name = inner.get("name")
    called = string_in(name)
    more = {**others(inner, "format", "name", "source"), **mark}
    location = source.get("s3Location")
    if kind is None or not {"bytes", "text", "s3Location"} & set(source):
        return None
    if isinstance(location, Mapping):
        if others(location, "uri"):
            # The bucket's owner is sent back with it.
            more["source"] = source
        return Media(
            media_type=kind, name=called, vendor=own_bag(NAME, more), url=string(location, "uri", place)
        )
    if "text" in source:
        return Media(string(source, "text", place).encode(), kind, called, own_bag(NAME, more))
    data = decode_base64(string(source, "bytes", place), f"{place}.bytes")
    return Media(data, kind, called, own_bag(NAME, more))
