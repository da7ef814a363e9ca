"""Converts the steps of interactions to a transcript."""

from collections.abc import Sequence
from typing import Any

from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.parts import Media, Part, Text
from rightcall.wire.gemini_interactions.tables import NAME
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
from rightcall.wire.payload import own_bag

_MEDIA = ("image", "audio", "video", "document")


def read(steps: Sequence[JsonObject]) -> ChatHistory:
    """The conversation."""
    reader = HistoryReader()
    own: list[Any] = []
    begun = ""

    def close() -> None:
        if own:
            body: Any = {"status": "completed", "steps": list(own)}
            reader.reply(decode_reply(NAME, body, begun))
            own.clear()

    for at, step in enumerate(steps):
        where = f"messages[{at}]"
        match step.get("type"):
            case "user_input":
                close()
                reader.say(_parts(step.get("content"), f"{where}.content"))
            case "function_result":
                close()
                given = step.get("result")
                more: dict[str, Any] = {}
                if isinstance(given, str):
                    content: list[Part] = [Text(given)]
                elif isinstance(given, list):
                    content = _parts(given, f"{where}.result")
                else:
                    # An object is sent back as it came.
                    content = [Text(dump(given))]
                    more = {"result": given}
                more |= others(step, "type", "call_id", "name", "result", "is_error")
                reader.result(
                    where,
                    content,
                    call_id=string(step, "call_id", where),
                    outcome="failed" if step.get("is_error") else "returned",
                    vendor=own_bag(NAME, more),
                )
            case str():
                begun = begun if own else where
                own.append(step)
            case kind:
                raise misread(f"{where}.type", f"{kind!r} is no step")
    close()
    return reader.conversation()


def _parts(content: object, where: str) -> list[Part]:
    return [_part(part, place) for place, part in objects(content, where)]


def _part(part: JsonObject, where: str) -> Part:
    kind = part.get("type")
    if kind == "text":
        return Text(string(part, "text", where), own_bag(NAME, others(part, "type", "text")))
    if kind not in _MEDIA:
        raise misread(f"{where}.type", f"{kind!r} is no content that is known here")
    given = part.get("mime_type")
    if isinstance(given, str):
        media_type = given
    elif kind == "document":
        media_type = UNTYPED
    else:
        media_type = f"{kind}/*"
    vendor = own_bag(NAME, others(part, "type", "mime_type", "data", "uri"))
    if "data" in part:
        data = decode_base64(string(part, "data", where), f"{where}.data")
        return Media(data, media_type, vendor=vendor)
    return Media(media_type=media_type, vendor=vendor, url=string(part, "uri", where))
