"""Decodes Anthropic's reply, streamed or whole, to events and a Reply.

A stream is one reply: it ends at ``message_stop``, and whatever follows is ignored.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from rightcall.core.message import Reply
from rightcall.core.sse import ServerEvent
from rightcall.errors import ProtocolError
from rightcall.wire.anthropic.errors import is_refusal, refused
from rightcall.wire.anthropic.reply import ReplyBuilder
from rightcall.wire.anthropic.tables import NAME
from rightcall.wire.json_objects import whole_object
from rightcall.wire.refusal import UNREADABLE, excerpt
from rightcall.wire.sse_reply import SseReply, whole_reply


class _Delta(Struct, gc=False):
    type: str = ""
    text: str | None = None
    partial_json: str | None = None
    thinking: str | None = None
    signature: str | None = None
    citation: Any = None


class _Frame(Struct, gc=False):
    """The members of most events. Large and rare ones are parsed when they are needed."""

    type: str | None = None
    index: int | None = None
    delta: _Delta | None = None
    content_block: Raw = Raw()
    message: Raw = Raw()
    error: Any = None


class _Input(Struct):
    input: Raw = Raw()


class _Inputs(Struct):
    content: list[_Input] = []


_frame = msgspec.json.Decoder(_Frame).decode
_any = msgspec.json.Decoder().decode
_input = msgspec.json.Decoder(_Input).decode
_inputs = msgspec.json.Decoder(_Inputs).decode


class Decoder(SseReply[ReplyBuilder]):
    """Decodes one streamed reply. Feed it bytes, split anywhere."""

    def __init__(self) -> None:
        super().__init__(NAME, ReplyBuilder(), _take, _take_whole, end="message_stop")


def decoder() -> Decoder:
    """A decoder for one streamed reply."""
    return Decoder()


def decode(body: bytes, /) -> Reply:
    """The reply in a body that was not streamed."""
    return whole_reply(ReplyBuilder(), _take_whole, body)


def _take(reply: ReplyBuilder, event: ServerEvent) -> None:
    if reply.is_done:
        return
    try:
        frame = _frame(event.data)
    except UNREADABLE as problem:
        _take_odd(event, problem)
        return
    kind = frame.type or event.name
    handler = _ON.get(kind)
    try:
        if handler is not None:
            handler(reply, frame, event.data)
        elif kind == "error" or frame.error:
            raise refused(_any(event.data))
    except RecursionError as problem:
        # Data that was skipped before is parsed now, which needs more stack.
        raise ProtocolError(f"{NAME}: an event nests too deeply to be read") from problem


def _take_odd(event: ServerEvent, problem: Exception) -> None:
    """Handle a malformed event: raise if it is an error, skip it if its type is unknown."""
    if event.name == "ping" or event.data.strip() in (b"", b"[DONE]"):
        return
    try:
        value = _any(event.data)
    except UNREADABLE:
        if event.name == "error":
            raise refused(event.data.decode(errors="replace")) from problem
        value = None
    if isinstance(value, dict) and (value.get("type") or event.name) not in _ON:
        if is_refusal(value):
            raise refused(value) from problem
        return
    raise ProtocolError(f"{NAME}: an event that cannot be read: {excerpt(event.data)}") from problem


def _take_whole(reply: ReplyBuilder, body: bytes) -> None:
    message = whole_object(NAME, body)
    if is_refusal(message):
        raise refused(message)
    if not isinstance(message.get("content", 0), list | str | None):
        # Gateways send their own errors with status 200: {"code": …, "message": "…"}.
        if isinstance(message.get("message"), str):
            raise refused(message)
        raise ProtocolError(f"{NAME}: the reply has no content: {excerpt(body)}")
    _open(reply, message, body)
    reply.end()


def _open(reply: ReplyBuilder, message: dict[str, Any], raw: bytes) -> None:
    """Begin a reply, which may already contain some or all of its blocks."""
    reply.update(message)
    content = message.get("content") or []
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not all(isinstance(block, dict) for block in blocks):
        raise ProtocolError(f"{NAME}: content that is not made of blocks: {excerpt(raw)}")
    inputs = _inputs(raw).content if any(block.get("input") for block in blocks) else ()
    for index, block in enumerate(blocks):
        reply.start(index, block, _input_text(inputs[index].input) if inputs else "{}")
        reply.stop(index)


def _message_start(reply: ReplyBuilder, frame: _Frame, data: bytes) -> None:
    # Some gateways send it twice. It has content when programmatic tool calling answers a result.
    if not reply.blocks:
        _open(reply, _object(frame.message, data), bytes(frame.message))


def _block_start(reply: ReplyBuilder, frame: _Frame, data: bytes) -> None:
    block = _object(frame.content_block, data)
    whole = _input_text(_input(frame.content_block).input) if block.get("input") else "{}"
    reply.start(frame.index, block, whole)


def _block_delta(reply: ReplyBuilder, frame: _Frame, data: bytes) -> None:
    delta = frame.delta
    if delta is None:
        raise ProtocolError(f"{NAME}: an event that lacks its content: {excerpt(data)}")
    match delta.type:
        case "input_json_delta":
            reply.json(frame.index, delta.partial_json)
        case "text_delta":
            reply.say(frame.index, "text", delta.text)
        case "thinking_delta":
            reply.say(frame.index, "thinking", delta.thinking)
        case "signature_delta":
            reply.signature(frame.index, delta.signature)
        case "citations_delta":
            reply.citation(frame.index, delta.citation)
        case _:
            reply.grow(frame.index, _any(data)["delta"])


def _message_delta(reply: ReplyBuilder, _event: _Frame, data: bytes) -> None:
    event = _any(data)
    reply.update(event)
    reply.update(event.get("delta") or {})


_ON: Mapping[str, Callable[[ReplyBuilder, _Frame, bytes], None]] = {
    "message_start": _message_start,
    "content_block_start": _block_start,
    "content_block_delta": _block_delta,
    "content_block_stop": lambda reply, frame, _: reply.stop(frame.index),
    "message_delta": _message_delta,
    "message_stop": lambda reply, _frame, _data: reply.end(),
    "ping": lambda _reply, _frame, _data: None,
}


def _object(raw: Raw, data: bytes) -> dict[str, Any]:
    value = _any(raw) if bytes(raw) else None
    if not isinstance(value, dict):
        raise ProtocolError(f"{NAME}: an event that lacks its content: {excerpt(data)}")
    return value


def _input_text(raw: Raw) -> str:
    """The input as the vendor wrote it; a host may send it as a string of JSON."""
    text = bytes(raw).decode()
    if text.startswith('"'):
        return str(_any(text))
    return "{}" if text in ("", "null") else text
