"""Decodes Bedrock's reply, streamed or whole, to events and a Reply.

``messageStop`` ends the model's output; the usage follows in ``metadata``. So the reply is emitted then,
or at the end of the bytes if there is no usage.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec
from msgspec import Raw, Struct

from rightcall.core.events import ModelEvent
from rightcall.core.message import Reply
from rightcall.core.sse import MAX_EVENT_BYTES
from rightcall.errors import ProtocolError, TruncatedStream
from rightcall.wire.bedrock.eventstream import EventStreamDecoder
from rightcall.wire.bedrock.reply import ReplyBuilder
from rightcall.wire.bedrock.tables import NAME, parse_refusal
from rightcall.wire.decoders import LenientDecoder, event_object, take_lenient, whole_object, whole_reply
from rightcall.wire.payload import mapping, number_in
from rightcall.wire.refusal import UNREADABLE, excerpt, readable


class _ToolUseDelta(Struct, gc=False):
    input: str | None = None


class _Thought(Struct, gc=False, rename="camel"):
    text: str | None = None
    signature: str | None = None
    redacted_content: str | None = None


class _ConverseDelta(Struct, gc=False, rename="camel"):
    text: str | None = None
    tool_use: _ToolUseDelta | None = None
    reasoning_content: _Thought | None = None


class _BlockDelta(Struct, gc=False, rename="camel"):
    """The members of most events. Others are parsed when they occur."""

    content_block_index: int | None = None
    delta: _ConverseDelta | None = None


class _WholeUse(Struct):
    input: Raw = Raw()


class _WholeBlock(Struct, rename="camel"):
    tool_use: _WholeUse | None = None


class _WholeMessage(Struct):
    content: list[_WholeBlock] = []


class _WholeOutput(Struct):
    message: _WholeMessage


class _ConverseReply(Struct):
    output: _WholeOutput


_BOM = b"\xef\xbb\xbf"
_delta = msgspec.json.Decoder(_BlockDelta).decode
_whole = msgspec.json.Decoder(_ConverseReply).decode


class Decoder(LenientDecoder):
    """Decodes one streamed reply. Feed it bytes, split anywhere."""

    def __init__(self) -> None:
        self._frames = EventStreamDecoder()
        self._reply = ReplyBuilder()
        self._began = False
        self._body: bytearray | None = None
        """The body so far, if a host answers without a stream."""

    def feed(self, data: bytes, /) -> tuple[ModelEvent, ...]:
        """The events that these bytes complete."""
        if not self._began and data:
            self._began = True
            self._body = bytearray() if data.startswith((b"{", _BOM)) else None
        if self._body is not None:
            self._body += data
            if len(self._body) > MAX_EVENT_BYTES:
                raise ProtocolError(f"{NAME}: a reply of more than {MAX_EVENT_BYTES:,} bytes")
            return ()
        reply = self._reply
        for message in self._frames.feed(data):
            if not reply.is_done:
                headers = message.headers
                payload = message.payload
                name = headers.get(":event-type", "")
                handler = _ON.get(name)
                if handler is not None and headers.get(":message-type") == "event":
                    try:
                        handler(reply, payload)
                    except (ProtocolError, *UNREADABLE):
                        handle = partial(_handle, reply, name)
                        if not self._take_mended(payload, handle):
                            handle(payload)
                elif headers.get(":message-type") == "exception":
                    raise parse_refusal(readable(payload), headers.get(":exception-type", ""))
                elif headers.get(":message-type") == "error":
                    told = headers.get(":error-message") or readable(payload)
                    raise parse_refusal(told, headers.get(":error-code", ""))
        return self._drain_events()

    def finish(self) -> tuple[ModelEvent, ...]:
        """The events that only the end of the stream completes."""
        if self._body is not None:
            body = bytes(self._body)
            self._body = None
            take_lenient(self._reply, _take_whole, body)
        if not self._frames.is_between:
            raise TruncatedStream(f"{NAME}: the stream ended in the middle of a message")
        if not self._reply.is_stopped:
            raise TruncatedStream(f"{NAME}: the stream ended before messageStop")
        self._reply.end()
        return self._drain_events()

    def _drain_events(self) -> tuple[ModelEvent, ...]:
        events = self._reply.events
        self._reply.events = []
        if self._halves is not None:
            return self._halves.join(events)
        return tuple(events)


decoder = Decoder


def decode(body: bytes, /) -> Reply:
    """The reply in a body that was not streamed."""
    return whole_reply(ReplyBuilder(), _take_whole, body)


def _take_whole(reply: ReplyBuilder, body: bytes) -> None:
    value = whole_object(NAME, body)
    output = value.get("output")
    message = mapping(output).get("message")
    content = mapping(message).get("content")
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        if isinstance(value.get("message") or value.get("error"), str | dict):
            raise parse_refusal(value)
        raise ProtocolError(f"{NAME}: the reply has no content: {excerpt(body)}")
    inputs = _inputs(body) if any(block.get("toolUse") for block in content) else ()
    for at, block in enumerate(content):
        reply.whole(at, block, inputs[at] if inputs else "")
    reply.stop(value)
    reply.update(value)
    reply.end()


def _inputs(body: bytes) -> list[str]:
    """The arguments of each block as the vendor wrote them."""
    try:
        blocks = _whole(body).output.message.content
    except UNREADABLE as problem:
        raise ProtocolError(f"{NAME}: a toolUse cannot be read: {excerpt(body)}") from problem
    return [bytes(block.tool_use.input).decode() if block.tool_use else "" for block in blocks]


def _block_start(reply: ReplyBuilder, payload: bytes) -> None:
    event = event_object(NAME, payload)
    start = event.get("start")
    if isinstance(start, dict):
        reply.start(_index(event), start)


def _block_delta(reply: ReplyBuilder, payload: bytes) -> None:
    event = _delta(payload)
    index = event.content_block_index
    delta = event.delta
    if delta is None:
        raise ProtocolError(f"{NAME}: an event that lacks its content: {excerpt(payload)}")
    if delta.text is not None:
        reply.say(index, "text", delta.text)
    elif delta.tool_use is not None:
        reply.json(index, delta.tool_use.input)
    elif (thought := delta.reasoning_content) is not None:
        reply.say(index, "reasoningContent", thought.text)
        reply.seal(index, thought.signature, thought.redacted_content)
    else:
        reply.grow(index, event_object(NAME, payload)["delta"])


def _metadata(reply: ReplyBuilder, payload: bytes) -> None:
    reply.update(event_object(NAME, payload))
    if reply.is_stopped:
        reply.end()


_ON: Mapping[str, Callable[[ReplyBuilder, bytes], None]] = {
    "contentBlockDelta": _block_delta,
    "contentBlockStart": _block_start,
    "contentBlockStop": lambda reply, payload: reply.close(_index(event_object(NAME, payload))),
    "messageStart": lambda _reply, _payload: None,
    "messageStop": lambda reply, payload: reply.stop(event_object(NAME, payload)),
    "metadata": _metadata,
}


def _handle(reply: ReplyBuilder, name: str, payload: bytes) -> None:
    try:
        _ON[name](reply, payload)
    except UNREADABLE as problem:
        raise ProtocolError(f"{NAME}: {name} cannot be read: {excerpt(payload)}") from problem


def _index(event: Mapping[str, Any]) -> int | None:
    return number_in(event.get("contentBlockIndex"))
