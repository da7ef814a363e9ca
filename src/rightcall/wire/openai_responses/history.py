"""Converts input items of the Responses API to a transcript."""

from collections.abc import Sequence
from re import compile as pattern
from typing import Any

from rightcall.core.decision import APPROVED
from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.parts import Media, Part, Text
from rightcall.wire.history import (
    UNTYPED,
    ChatHistory,
    HistoryReader,
    decode_reply,
    media_at,
    misread,
    objects,
    others,
    string,
)
from rightcall.wire.openai_responses.tables import APPROVAL, NAME, OUTPUTS
from rightcall.wire.payload import own_bag, string_in

_OUTPUTS = frozenset(OUTPUTS.values())
_MADE = pattern(r"reasoning|compaction|item_reference|mcp_\w+|tool_search_output|\w+_call")
"""The types of items made by a model or by the vendor's own tools."""


def is_item(kind: str) -> bool:
    """Whether items of that type can be read here."""
    return kind == "message" or kind in _OUTPUTS or bool(_MADE.fullmatch(kind))


def read(items: Sequence[JsonObject]) -> ChatHistory:
    """The conversation. Consecutive items of the model are one reply."""
    reader = HistoryReader()
    made: list[JsonObject] = []
    first = 0
    for at, item in enumerate(items):
        where = f"messages[{at}]"
        kind = item.get("type", "message")
        role = item.get("role")
        if not isinstance(kind, str):
            raise misread(f"{where}.type", f"{kind!r} is no item that is known here")
        is_said = kind == "message" and role != "assistant"
        # Results of the vendor's own search belong to the vendor.
        is_output = kind in _OUTPUTS and item.get("execution") != "server"
        if not is_said and not is_output:
            first = first if made else at
            if kind == "message":
                # In the form of the model's output.
                content = item.get("content")
                if isinstance(content, str):
                    parts: list[Any] = [{"type": "output_text", "text": content, "annotations": []}]
                else:
                    parts = [part for _, part in objects(content, f"{where}.content")]
                made.append({**item, "type": "message", "content": parts})
                continue
            if not _MADE.fullmatch(kind):
                raise misread(f"{where}.type", f"{kind!r} is no item that is known here")
            made.append(item)
            continue
        _reply(reader, made, first)
        made = []
        if is_output:
            _result(reader, item, where)
        elif role in ("system", "developer"):
            reader.instruct("".join([part.text for part in _texts(item, where)]))
        elif role == "user":
            reader.say(_parts(item.get("content"), f"{where}.content"))
        else:
            raise misread(f"{where}.role", f"{role!r} is no role of a message")
    _reply(reader, made, first)
    return reader.conversation()


def _reply(reader: HistoryReader, made: list[JsonObject], first: int) -> None:
    if made:
        body: Any = {"object": "response", "status": "completed", "output": made}
        reader.reply(decode_reply(NAME, body, f"messages[{first}]"))


def _result(reader: HistoryReader, item: JsonObject, where: str) -> None:
    kind = item.get("type")
    if kind == OUTPUTS["tool_search_call"]:
        output = item.get("tools")
    else:
        output = item.get("output")
    known = ["type", "call_id", "output", "id", "status", "max_output_length", "tools", "execution"]
    names = ["call_id", "id"]
    is_yes = kind != OUTPUTS[APPROVAL] or item.get("approve") is True
    if kind in ("function_call_output", "custom_tool_call_output"):
        content: list[Part] = _parts(output, f"{where}.output")
    elif kind == OUTPUTS[APPROVAL]:
        known += ["approval_request_id", "approve", "reason"]
        names = ["approval_request_id"]
        content = [Text(APPROVED if is_yes else str(item.get("reason") or ""))]
    else:
        # The output of a shell has its own form.
        content = [Text(output if isinstance(output, str) else dump(output))]
    name = next((each for each in names if item.get(each)), names[0])
    reader.result(
        where,
        content,
        call_id=string(item, name, where),
        outcome="failed" if item.get("status") == "failed" else "returned" if is_yes else "denied",
        vendor=own_bag(NAME, others(item, *known)),
    )


def _texts(item: JsonObject, where: str) -> list[Text]:
    parts = _parts(item.get("content"), f"{where}.content")
    if not all(isinstance(part, Text) for part in parts):
        raise misread(f"{where}.content", "system text is text only")
    return [part for part in parts if isinstance(part, Text)]


def _parts(content: object, where: str) -> list[Part]:
    if isinstance(content, str):
        return [Text(content)]
    return [_part(part, place) for place, part in objects(content, where)]


def _part(part: JsonObject, where: str) -> Part:
    match part.get("type"):
        case "input_text" | "output_text" | "text":
            return Text(string(part, "text", where))
        case "input_image":
            vendor = own_bag(NAME, others(part, "type", "image_url", "file_id"))
            if part.get("file_id"):
                return Media(media_type="image/*", id=string(part, "file_id", where), vendor=vendor)
            place = f"{where}.image_url"
            return media_at(string(part, "image_url", where), "image/*", place, vendor=vendor)
        case "input_file":
            return _file(part, where)
        case kind:
            raise misread(f"{where}.type", f"{kind!r} is no part of a message that is known here")


def _file(part: JsonObject, where: str) -> Media:
    name = part.get("filename")
    called = string_in(name)
    known = ("type", "filename", "file_id", "file_url", "file_data")
    vendor = own_bag(NAME, others(part, *known))
    if part.get("file_id"):
        return Media(media_type=UNTYPED, name=called, id=string(part, "file_id", where), vendor=vendor)
    if part.get("file_url"):
        url = string(part, "file_url", where)
        return Media(media_type=UNTYPED, name=called, url=url, vendor=vendor)
    data = string(part, "file_data", where)
    if not data.startswith("data:"):
        data = f"data:application/pdf;base64,{data}"
    return media_at(data, UNTYPED, f"{where}.file_data", called, vendor=vendor)
