"""Ollama's reply, streamed or whole, into events and a Reply. Does no I/O.

A stream is one JSON object a line; the last says that it is ``done``. A whole reply is one such object.
"""

from functools import partial

import msgspec
from msgspec import Raw, Struct

from rightcall.core.events import ModelEvent, ReplyEnd
from rightcall.core.message import Reply
from rightcall.core.sse import MAX_EVENT_BYTES
from rightcall.errors import ProtocolError, TruncatedStream
from rightcall.wire.decoders import LenientDecoder, arguments_in, take_lenient
from rightcall.wire.ollama.reply import ReplyBuilder
from rightcall.wire.ollama.tables import NAME, REFUSALS, parse_refusal
from rightcall.wire.payload import mapping, sequence
from rightcall.wire.refusal import UNREADABLE, excerpt, is_bare_error


class _RawFunction(Struct):
    arguments: Raw = Raw(b"")


class _RawToolCall(Struct):
    function: _RawFunction | None = None


class _RawMessage(Struct):
    tool_calls: list[_RawToolCall | None] | None = None


class _RawLine(Struct):
    message: _RawMessage | None = None


_any = msgspec.json.Decoder().decode
_raw = msgspec.json.Decoder(_RawLine).decode


class Decoder(LenientDecoder):
    """Decodes one streamed reply. Feed it bytes, split anywhere."""

    def __init__(self) -> None:
        self._reply = ReplyBuilder()
        self._held: list[bytes] = []
        """Pieces of a line that has not ended."""
        self._size = 0

    def feed(self, data: bytes, /) -> tuple[ModelEvent, ...]:
        """The events that these bytes complete."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._take(line)
        if rest:
            self._held.append(rest)
            self._size += len(rest)
            if self._size > MAX_EVENT_BYTES:
                raise ProtocolError(f"{NAME}: a line of more than {MAX_EVENT_BYTES:,} bytes")
        return self._drain_events()

    def finish(self) -> tuple[ModelEvent, ...]:
        """The events that only the end of the stream completes."""
        try:
            self._take(b"")
        except ProtocolError as problem:
            raise TruncatedStream(f"{NAME}: the stream ended in the middle of a line") from problem
        if not self._reply.is_done:
            raise TruncatedStream(f"{NAME}: the stream ended before it was done")
        return self._drain_events()

    def _take(self, end: bytes) -> None:
        if self._held:
            line = b"".join((*self._held, end)).strip()
        else:
            line = end.strip()
        self._held = []
        self._size = 0
        if not line or self._reply.is_done:
            return
        try:
            _take(self._reply, line)
        except ProtocolError:
            if not self._take_mended(line, partial(_take, self._reply)):
                raise

    def _drain_events(self) -> tuple[ModelEvent, ...]:
        events = self._reply.events
        self._reply.events = []
        if self._halves is not None:
            return self._halves.join(events)
        return tuple(events)


decoder = Decoder


def decode(body: bytes, /) -> Reply:
    """The reply in a body that was not streamed."""
    reply = ReplyBuilder()
    take_lenient(reply, _take, body)
    if not reply.is_done:
        raise ProtocolError(f"{NAME}: a reply that is not done: {excerpt(body)}")
    end = reply.events[-1]
    assert isinstance(end, ReplyEnd)
    return end.reply


def _take(reply: ReplyBuilder, line: bytes) -> None:
    try:
        value = _any(line)
        raw = _raw(line) if b'"tool_calls"' in line else _RawLine()
    except UNREADABLE as problem:
        kind = TruncatedStream if "truncated" in str(problem) else ProtocolError
        raise kind(f"{NAME}: a line that cannot be read: {excerpt(line)}") from problem
    if not isinstance(value, dict):
        raise ProtocolError(f"{NAME}: a line is not an object: {excerpt(line)}")
    if value.get("error"):
        raise parse_refusal(value)
    if is_bare_error(value):
        raise REFUSALS.inside(value)
    message = mapping(value.get("message"))
    if thought := message.get("thinking"):
        reply.think(str(thought))
    if text := message.get("content"):
        reply.text(str(text))
    calls = sequence(message.get("tool_calls"))
    texts = raw.message.tool_calls if raw.message is not None and raw.message.tool_calls else ()
    for call, text in zip(calls, texts, strict=True):
        function = None if text is None else text.function
        reply.call(mapping(call), "" if function is None else arguments_in(bytes(function.arguments)))
    if likely := value.get("logprobs"):
        reply.weigh(likely)
    if value.get("done") is True:
        reply.end(value)
