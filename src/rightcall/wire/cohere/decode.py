"""Decodes Cohere's reply, streamed or whole, to events and a Reply.

A stream is one reply: it ends at ``message-end``, and whatever follows is ignored.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from rightcall.core.message import Reply
from rightcall.core.sse import ServerEvent
from rightcall.errors import ProtocolError
from rightcall.wire.cohere.errors import refused
from rightcall.wire.cohere.reply import PLAN, ReplyBuilder
from rightcall.wire.cohere.tables import NAME
from rightcall.wire.json_objects import event_object, whole_object
from rightcall.wire.refusal import UNREADABLE, excerpt
from rightcall.wire.sse_reply import SseReply, whole_reply


class _Content(Struct, gc=False):
    text: str | None = None
    thinking: str | None = None


class _ContentMessage(Struct, gc=False):
    content: _Content | None = None


class _ContentDelta(Struct, gc=False):
    message: _ContentMessage | None = None


class _More(Struct, gc=False):
    """The members of most events. Others are parsed when they occur."""

    type: str = ""
    index: int | None = None
    delta: _ContentDelta | None = None


_more = msgspec.json.Decoder(_More).decode


class Decoder(SseReply[ReplyBuilder]):
    """Decodes one streamed reply. Feed it bytes, split anywhere."""

    def __init__(self) -> None:
        super().__init__(NAME, ReplyBuilder(), _take, _take_whole, end="message-end")


def decoder() -> Decoder:
    """A decoder for one streamed reply."""
    return Decoder()


def decode(body: bytes, /) -> Reply:
    """The reply in a body that was not streamed."""
    return whole_reply(ReplyBuilder(), _take_whole, body)


def _take(reply: ReplyBuilder, event: ServerEvent) -> None:
    data = event.data
    if reply.is_done or not data or data.strip() == b"[DONE]":
        return
    if b'"content-delta"' in data and _grown(reply, data):
        return
    value = event_object(NAME, data)
    kind = value.get("type") or event.name
    handler = _ON.get(kind) if isinstance(kind, str) else None
    if handler is not None:
        handler(reply, value)
    elif "type" not in value and isinstance(value.get("message"), str):
        raise refused(value)


def _grown(reply: ReplyBuilder, data: bytes) -> bool:
    """Add an event that extends a text or a thought, as most do; returns whether it was one."""
    try:
        event = _more(data)
    except UNREADABLE:
        return False
    message = event.delta.message if event.delta is not None else None
    content = message.content if message is not None else None
    if event.type != "content-delta" or content is None:
        return False
    if content.text is None and content.thinking is None:
        return False
    reply.grow(event.index, content.text, content.thinking)
    return True


def _take_whole(reply: ReplyBuilder, body: bytes) -> None:
    value = whole_object(NAME, body)
    message = value.get("message")
    if not isinstance(message, dict):
        if isinstance(message or value.get("error"), str | dict):
            raise refused(value)
        raise ProtocolError(f"{NAME}: the reply has no message: {excerpt(body)}")
    reply.name(value.get("id"))
    plan = message.get(PLAN)
    reply.plan(plan if isinstance(plan, str) else "")
    content = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else _objects(content)
    for at, part in enumerate(parts):
        reply.start(at, part)
    for at, call in enumerate(_objects(message.get("tool_calls"))):
        reply.call(at, call)
        reply.close(at)
    for citation in _objects(message.get("citations")):
        reply.cite(citation)
    reply.end(_word(value), _object(value.get("usage")))


def _begin(reply: ReplyBuilder, event: Mapping[str, Any]) -> None:
    reply.name(event.get("id"))


def _content_start(reply: ReplyBuilder, event: Mapping[str, Any]) -> None:
    reply.start(_index(event), _object(_message(event).get("content")))


def _content_delta(reply: ReplyBuilder, event: Mapping[str, Any]) -> None:
    reply.add(_index(event), _object(_message(event).get("content")))


def _plan(reply: ReplyBuilder, event: Mapping[str, Any]) -> None:
    piece = _message(event).get(PLAN)
    reply.plan(piece if isinstance(piece, str) else "")


def _call_start(reply: ReplyBuilder, event: Mapping[str, Any]) -> None:
    for call in _listed(_message(event).get("tool_calls")):
        reply.call(_index(event), call)


def _call_delta(reply: ReplyBuilder, event: Mapping[str, Any]) -> None:
    for call in _listed(_message(event).get("tool_calls")):
        piece = _object(call.get("function")).get("arguments")
        reply.json(_index(event), piece if isinstance(piece, str) else "")


def _cite(reply: ReplyBuilder, event: Mapping[str, Any]) -> None:
    for citation in _listed(_message(event).get("citations")):
        reply.cite(citation)


def _end(reply: ReplyBuilder, event: Mapping[str, Any]) -> None:
    delta = _object(event.get("delta"))
    if told := delta.get("error"):
        raise refused({"message": told, "finish_reason": _word(delta) or "ERROR"})
    reply.end(_word(delta), _object(delta.get("usage")))


_ON: Mapping[str, Callable[[ReplyBuilder, Mapping[str, Any]], None]] = {
    "message-start": _begin,
    "content-start": _content_start,
    "content-delta": _content_delta,
    "tool-plan-delta": _plan,
    "tool-call-start": _call_start,
    "tool-call-delta": _call_delta,
    "tool-call-end": lambda reply, event: reply.close(_index(event)),
    "citation-start": _cite,
    "message-end": _end,
}


def _message(event: Mapping[str, Any]) -> Mapping[str, Any]:
    return _object(_object(event.get("delta")).get("message"))


def _index(event: Mapping[str, Any]) -> int | None:
    index = event.get("index")
    return index if isinstance(index, int) else None


def _word(value: Mapping[str, Any]) -> str:
    word = value.get("finish_reason")
    return word if isinstance(word, str) else ""


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _listed(value: object) -> list[dict[str, Any]]:
    """An object, or a list of objects, as a list: Cohere streams an object, and its types allow both."""
    return [value] if isinstance(value, dict) else _objects(value)
