"""Converts Gemini's contents to a transcript."""

from collections.abc import Mapping, Sequence
from typing import Any

from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.parts import Media, Part, Text
from rightcall.wire.gemini.tables import NAME
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
from rightcall.wire.payload import mapping, own_bag, string_in

_WIRE_NAMES = {
    "function_call": "functionCall",
    "function_response": "functionResponse",
    "inline_data": "inlineData",
    "file_data": "fileData",
    "file_uri": "fileUri",
    "mime_type": "mimeType",
    "display_name": "displayName",
    "thought_signature": "thoughtSignature",
    "video_metadata": "videoMetadata",
    "media_resolution": "mediaResolution",
    "executable_code": "executableCode",
    "code_execution_result": "codeExecutionResult",
}
"""Wire names of members, by their names in Python's SDK."""
_AS_GIVEN = ("args", "response")
"""Members that contain the developer's own names."""


def read(contents: Sequence[JsonObject]) -> ChatHistory:
    """The conversation."""
    reader = HistoryReader()
    for at, content in enumerate(contents):
        where = f"messages[{at}]"
        parts = [
            (place, on_the_wire(part)) for place, part in objects(content.get("parts"), f"{where}.parts")
        ]
        match content.get("role", "user"):
            case "user" | "function":
                _user(reader, parts)
            case "system":
                reader.instruct("".join([string(part, "text", place) for place, part in parts]))
            case "model":
                said: Any = {"role": "model", "parts": [part for _, part in parts]}
                body = {"candidates": [{"content": said, "finishReason": "STOP"}]}
                reader.reply(decode_reply(NAME, body, where))
            case role:
                raise misread(f"{where}.role", f"{role!r} is no role of Gemini's")
    return reader.conversation()


def on_the_wire(value: Any) -> Any:
    """The value with its members renamed to their wire names."""
    if isinstance(value, list):
        return [on_the_wire(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    return {
        _WIRE_NAMES.get(key, key): each if key in _AS_GIVEN else on_the_wire(each)
        for key, each in value.items()
    }


def _user(reader: HistoryReader, parts: Sequence[tuple[str, JsonObject]]) -> None:
    said: list[Part] = []
    own: list[Any] = []
    for where, part in parts:
        if isinstance(part.get("functionResponse"), Mapping):
            place = f"{where}.functionResponse"
            ((_, answer),) = objects([part["functionResponse"]], place)
            response = answer.get("response")
            fields = mapping(response)
            content: list[Part] = [Text(_response_text(fields))]
            nested = answer.get("parts")
            for inside, each in objects(nested, f"{place}.parts") if nested else ():
                media = _part(each, inside)
                if not isinstance(media, Media):
                    raise misread(inside, "only media stand in a response's parts")
                content.append(media)
            call_id = answer.get("id")
            # The response is sent back as it came.
            more = others(answer, "id", "name", "parts")
            reader.result(
                place,
                content,
                call_id=string_in(call_id),
                name=string(answer, "name", place),
                outcome="failed" if "error" in fields else "returned",
                vendor=own_bag(NAME, more),
            )
        elif (known := _part(part, where)) is not None:
            said.append(known)
        else:
            own.append(part)
    if said or own:
        reader.say(said, vendor=own_bag(NAME, {"parts": own} if own else {}))


def _response_text(response: JsonObject) -> str:
    if len(response) == 1:
        (value,) = response.values()
        if isinstance(value, str) and next(iter(response)) in ("result", "output", "error"):
            return value
    return dump(response)


def _part(part: JsonObject, where: str) -> Part | None:
    if isinstance(part.get("text"), str) and not part.get("thought"):
        return Text(string(part, "text", where), own_bag(NAME, others(part, "text")))
    for member in ("inlineData", "fileData"):
        if isinstance(part.get(member), Mapping):
            ((_, inner),) = objects([part[member]], f"{where}.{member}")
            return _media(inner, others(part, member), f"{where}.{member}")
    if not part:
        raise misread(where, "a part that says nothing")
    return None


def _media(inner: JsonObject, more: Mapping[str, Any], where: str) -> Media:
    kind = inner.get("mimeType")
    media_type = kind if isinstance(kind, str) else UNTYPED
    name = inner.get("displayName")
    called = string_in(name)
    if "data" in inner:
        data = decode_base64(string(inner, "data", where), f"{where}.data")
        return Media(data, media_type, called, own_bag(NAME, more))
    return Media(
        media_type=media_type,
        name=called,
        vendor=own_bag(NAME, more),
        url=string(inner, "fileUri", where),
    )
