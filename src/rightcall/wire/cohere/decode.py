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
from rightcall.wire.cohere.reply import PLAN, ReplyBuilder
from rightcall.wire.cohere.tables import NAME, parse_refusal
from rightcall.wire.decoders import SseReply, event_object, whole_object, whole_reply
from rightcall.wire.payload import items_in, mapping, number_in, text_in
from rightcall.wire.refusal import UNREADABLE, excerpt


class _ContentPiece(Struct, gc=False):
    text: str | None = None
    thinking: str | None = None


class _ContentMessage(Struct, gc=False):
    content: _ContentPiece | None = None


class _ContentDelta(Struct, gc=False):
    message: _ContentMessage | None = None


class _ContentEvent(Struct, gc=False):
    """The members of most events. Others are parsed when they occur."""

    type: str = ""
    index: int | None = None
    delta: _ContentDelta | None = None


_more = msgspec.json.Decoder(_ContentEvent).decode


class Decoder(SseReply[ReplyBuilder]):
    """Decodes one streamed reply. Feed it bytes, split anywhere."""

    def __init__(self) -> None:
        super().__init__(NAME, ReplyBuilder(), _take, _take_whole, end="message-end")


decoder = Decoder


def decode(body: bytes, /) -> Reply:
    """The reply in a body that was not streamed."""
    return whole_reply(ReplyBuilder(), _take_whole, body)


def _take(reply: ReplyBuilder, event: ServerEvent) -> None:
    data = event.data
    if reply.is_done or not data or data.strip() == b"[DONE]":
        return
    if b'"content-delta"' in data and _take_usual_event(reply, data):
        return
    value = event_object(NAME, data)
    kind = value.get("type") or event.name
    handler = _ON.get(kind) if isinstance(kind, str) else None
    if handler is not None:
        handler(reply, value)
    elif "type" not in value and isinstance(value.get("message"), str):
        raise parse_refusal(value)


def _take_usual_event(reply: ReplyBuilder, data: bytes) -> bool:
    """Add an event that extends a text or a thought, as most do; returns whether it was one."""
    try:
        event = _more(data)
    except UNREADABLE:
        return False
    if event.type != "content-delta" or event.delta is None or event.delta.message is None:
        return False
    content = event.delta.message.content
    if content is None or (content.text is None and content.thinking is None):
        return False
    reply.grow(event.index, content.text, content.thinking)
    return True


def _take_whole(reply: ReplyBuilder, body: bytes) -> None:
    value = whole_object(NAME, body)
    message = value.get("message")
    if not isinstance(message, dict):
        if isinstance(message or value.get("error"), str | dict):
            raise parse_refusal(value)
        raise ProtocolError(f"{NAME}: the reply has no message: {excerpt(body)}")
    reply.name(value.get("id"))
    reply.plan(text_in(message.get(PLAN)))
    content = message.get("content")
    parts = items_in(content)
    if isinstance(content, str):
        parts = [{"type": "text", "text": content}]
    for at, part in enumerate(parts):
        reply.start(at, part)
    for at, call in enumerate(items_in(message.get("tool_calls"))):
        reply.call(at, call)
        reply.close(at)
    for citation in items_in(message.get("citations")):
        reply.cite(citation)
    reply.end(text_in(value.get("finish_reason")), mapping(value.get("usage")))


def _begin(reply: ReplyBuilder, event: Mapping[str, Any]) -> None:
    reply.name(event.get("id"))


def _content_start(reply: ReplyBuilder, event: Mapping[str, Any]) -> None:
    reply.start(number_in(event.get("index")), mapping(_message(event).get("content")))


def _content_delta(reply: ReplyBuilder, event: Mapping[str, Any]) -> None:
    reply.add(number_in(event.get("index")), mapping(_message(event).get("content")))


def _plan(reply: ReplyBuilder, event: Mapping[str, Any]) -> None:
    reply.plan(text_in(_message(event).get(PLAN)))


def _call_start(reply: ReplyBuilder, event: Mapping[str, Any]) -> None:
    for call in _object_list(_message(event).get("tool_calls")):
        reply.call(number_in(event.get("index")), call)


def _call_delta(reply: ReplyBuilder, event: Mapping[str, Any]) -> None:
    for call in _object_list(_message(event).get("tool_calls")):
        piece = text_in(mapping(call.get("function")).get("arguments"))
        reply.json(number_in(event.get("index")), piece)


def _cite(reply: ReplyBuilder, event: Mapping[str, Any]) -> None:
    for citation in _object_list(_message(event).get("citations")):
        reply.cite(citation)


def _end(reply: ReplyBuilder, event: Mapping[str, Any]) -> None:
    delta = mapping(event.get("delta"))
    word = text_in(delta.get("finish_reason"))
    if told := delta.get("error"):
        raise parse_refusal({"message": told, "finish_reason": word or "ERROR"})
    reply.end(word, mapping(delta.get("usage")))


_ON: Mapping[str, Callable[[ReplyBuilder, Mapping[str, Any]], None]] = {
    "message-start": _begin,
    "content-start": _content_start,
    "content-delta": _content_delta,
    "tool-plan-delta": _plan,
    "tool-call-start": _call_start,
    "tool-call-delta": _call_delta,
    "tool-call-end": lambda reply, event: reply.close(number_in(event.get("index"))),
    "citation-start": _cite,
    "message-end": _end,
}


def _message(event: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(mapping(event.get("delta")).get("message"))


def _object_list(value: object) -> list[dict[str, Any]]:
    """An object, or a list of objects, as a list: Cohere streams an object, and its types allow both."""
    if isinstance(value, dict):
        return [value]
    return items_in(value)
