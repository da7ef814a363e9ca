"""Decodes Anthropic's reply, streamed or whole, to events and a Reply.

A stream is one reply: it ends at ``message_stop``, and whatever follows is ignored.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from rightcall.core.events import CallDelta, ReasoningDelta, TextDelta
from rightcall.core.message import Reply
from rightcall.core.sse import ServerEvent
from rightcall.errors import ProtocolError
from rightcall.wire.anthropic.reply import ReplyBuilder
from rightcall.wire.anthropic.tables import NAME, is_refusal, parse_refusal
from rightcall.wire.decoders import SseReply, whole_object, whole_reply
from rightcall.wire.refusal import UNREADABLE, excerpt, is_bare_error


class Decoder(SseReply[ReplyBuilder]):
    """Decodes one streamed reply. Feed it bytes, split anywhere."""

    def __init__(self) -> None:
        super().__init__(NAME, ReplyBuilder(), _take, _take_whole, end="message_stop")


decoder = Decoder


def decode(body: bytes, /) -> Reply:
    """The reply in a body that was not streamed."""
    return whole_reply(ReplyBuilder(), _take_whole, body)


class _AnthropicDelta(Struct, gc=False):
    type: str = ""
    text: str | None = None
    partial_json: str | None = None
    thinking: str | None = None
    signature: str | None = None
    citation: Any = None


class _AnthropicEvent(Struct, gc=False):
    """The members of most events. Large and rare ones are parsed when they are needed."""

    type: str | None = None
    index: int | None = None
    delta: _AnthropicDelta | None = None
    content_block: Raw = Raw()
    message: Raw = Raw()
    error: Any = None


class _BlockInput(Struct):
    input: Raw = Raw()


class _BlockInputs(Struct):
    content: list[_BlockInput] = []


_frame = msgspec.json.Decoder(_AnthropicEvent).decode
_any = msgspec.json.Decoder().decode
_input = msgspec.json.Decoder(_BlockInput).decode
_inputs = msgspec.json.Decoder(_BlockInputs).decode


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
            raise parse_refusal(_any(event.data))
        elif frame.type is None and is_bare_error(value := _any(event.data)):
            raise parse_refusal(value)
    except RecursionError as problem:
        # Data that was skipped before is parsed now, which needs more stack.
        raise ProtocolError(f"{NAME}: an event nests too deeply to be read") from problem
    except UNREADABLE as problem:
        # What was skipped before is no text.
        raise ProtocolError(f"{NAME}: an event that cannot be read: {excerpt(event.data)}") from problem


def _take_odd(event: ServerEvent, problem: Exception) -> None:
    """Handle a malformed event: raise if it is an error, skip it if its type is unknown."""
    if event.name == "ping" or event.data.strip() in (b"", b"[DONE]"):
        return
    try:
        value = _any(event.data)
    except UNREADABLE:
        if event.name == "error":
            raise parse_refusal(event.data.decode(errors="replace")) from problem
        value = None
    if isinstance(value, dict) and (value.get("type") or event.name) not in _ON:
        if is_refusal(value):
            raise parse_refusal(value) from problem
        return
    raise ProtocolError(f"{NAME}: an event that cannot be read: {excerpt(event.data)}") from problem


def _take_whole(reply: ReplyBuilder, body: bytes) -> None:
    message = whole_object(NAME, body)
    if is_refusal(message):
        raise parse_refusal(message)
    if not isinstance(message.get("content", 0), list | str | None):
        # Gateways send their own errors with status 200: {"code": …, "message": "…"}.
        if isinstance(message.get("message"), str):
            raise parse_refusal(message)
        raise ProtocolError(f"{NAME}: the reply has no content: {excerpt(body)}")
    _open(reply, message, body)
    reply.end()


def _open(reply: ReplyBuilder, message: dict[str, Any], raw: bytes) -> None:
    """Begin a reply, which may already contain some or all of its blocks."""
    reply.update(message)
    content = message.get("content") or []
    if isinstance(content, str):
        blocks = [{"type": "text", "text": content}]
    else:
        blocks = content
    if not all(isinstance(block, dict) for block in blocks):
        raise ProtocolError(f"{NAME}: content that is not made of blocks: {excerpt(raw)}")
    inputs = _inputs(raw).content if any(block.get("input") for block in blocks) else ()
    for index, block in enumerate(blocks):
        reply.start(index, block, _input_text(inputs[index].input) if inputs else "{}")
        reply.stop(index)


def _message_start(reply: ReplyBuilder, frame: _AnthropicEvent, data: bytes) -> None:
    # Some gateways send it twice. It has content when programmatic tool calling answers a result.
    if not reply.blocks:
        _open(reply, _object(frame.message, data), bytes(frame.message))


def _block_start(reply: ReplyBuilder, frame: _AnthropicEvent, data: bytes) -> None:
    block = _object(frame.content_block, data)
    whole = "{}"
    if block.get("input"):
        whole = _input_text(_input(frame.content_block).input)
    reply.start(frame.index, block, whole)


def _block_delta(reply: ReplyBuilder, frame: _AnthropicEvent, data: bytes) -> None:
    delta = frame.delta
    if delta is None:
        raise ProtocolError(f"{NAME}: an event that lacks its content: {excerpt(data)}")
    # Nearly every event is a piece of text or arguments, so these are handled in place.
    index = frame.index
    block = reply.newest.get(index)
    match delta.type:
        case "input_json_delta":
            # The arguments of a call, or the input of one of the vendor's own tools.
            piece = delta.partial_json
            if not piece:
                return
            if reply.stopped_calls:
                reply.go_on()
            if block is None or block.kind in ("text", "thinking"):
                raise ProtocolError(f"{NAME}: arguments at index {index}, where no call has begun")
            if block.call >= 0:
                if not block.is_open:
                    raise ProtocolError(f"{NAME}: arguments at index {index}, where the call has ended")
                if not block.is_member:
                    reply.events.append(CallDelta(block.call, piece))
            block.pieces.append(piece)
        case "text_delta":
            if block is None or block.kind != "text" or reply.stopped_calls:
                block = reply.find_or_start(index, "text")
            if delta.text:
                block.pieces.append(delta.text)
                reply.events.append(TextDelta(delta.text))
        case "thinking_delta":
            if block is None or block.kind != "thinking" or reply.stopped_calls:
                block = reply.find_or_start(index, "thinking")
            if delta.thinking:
                block.pieces.append(delta.thinking)
                reply.events.append(ReasoningDelta(delta.thinking))
        case "signature_delta":
            reply.find_or_start(index, "thinking").fields["signature"] = delta.signature
        case "citations_delta":
            reply.add_citation(index, delta.citation)
        case _:
            reply.grow(index, _any(data)["delta"])


def _message_delta(reply: ReplyBuilder, _event: _AnthropicEvent, data: bytes) -> None:
    event = _any(data)
    reply.update(event)
    reply.update(event.get("delta") or {})


_ON: Mapping[str, Callable[[ReplyBuilder, _AnthropicEvent, bytes], None]] = {
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
    if text in ("", "null"):
        return "{}"
    return text
