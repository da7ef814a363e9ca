"""Decodes Gemini's bytes, streamed and whole, to events and replies. Does no I/O.

Nothing marks the end of a stream. A chunk with a finish reason is the last, except for what may still be
added to it, so the reply is complete only when the bytes end. If they end before it, the stream was cut
off.

``alt=sse`` gives events; without it the same chunks, and errors, come as items of a JSON array. An error
may also stand bare among the events, over several lines, which look like no event's line: google-genai
reads it so (``_api_client.py``, ``_iter_response_stream``).
"""

import re
from typing import Any

import msgspec
from msgspec import Raw, Struct

from rightcall.core.events import ModelEvent, ReplyEnd
from rightcall.core.jsontext import JsonError, check_parts, dump, parse
from rightcall.core.message import Reply
from rightcall.core.sse import MAX_EVENT_BYTES, SseDecoder
from rightcall.errors import ProtocolError, TruncatedStream
from rightcall.wire.decoders import BLANK, LenientDecoder
from rightcall.wire.gemini.reply import ReplyBuilder
from rightcall.wire.gemini.tables import parse_refusal
from rightcall.wire.lenient_json import mend_json
from rightcall.wire.refusal import UNREADABLE, excerpt, is_bare_error

_NOTHING = frozenset([b"", b"[DONE]"])
"""Data without content: a keep-alive, and how hosts of other dialects end every stream."""

_OUTSIDE = re.compile(rb'["{}]')
_INSIDE = re.compile(rb'["\\]')
_RAW_LINES = (b"\n{", b"\n[", b"\r{", b"\r[")
"""How a bare line of JSON begins. Searching for four strings is far cheaper than for one pattern."""

_plain = msgspec.json.Decoder()
_list = msgspec.json.Decoder(list[msgspec.Raw])


class Decoder(LenientDecoder):
    """Decodes one stream. Feed it bytes, split anywhere; it returns the events that they complete."""

    def __init__(self) -> None:
        self._frames = _Frames()
        self._reply = ReplyBuilder()

    def feed(self, data: bytes) -> tuple[ModelEvent, ...]:
        """The events that these bytes complete. Raises VendorError for a refusal inside the stream."""
        events: list[ModelEvent] = []
        for frame in self._frames.feed(data):
            try:
                _take(self._reply, frame, events)
            except ProtocolError:
                if not self._take_mended(frame, lambda data: _take(self._reply, data, events)):
                    raise
        if self._halves is not None:
            return self._halves.join(events)
        return tuple(events)

    def finish(self) -> tuple[ModelEvent, ...]:
        """The last call's end and the reply. Raises TruncatedStream if the stream ended too soon."""
        events: list[ModelEvent] = []
        for frame in self._frames.finish():
            try:
                _take(self._reply, frame, events)
            except ProtocolError as error:
                if self._take_mended(frame, lambda data: _take(self._reply, data, events)):
                    continue
                raise TruncatedStream("the stream ended in the middle of a chunk") from error
        if not self._reply.is_ended:
            raise TruncatedStream("the stream ended without a finishReason")
        reply = self._reply.finish(events)
        events.append(ReplyEnd(reply))
        if self._halves is not None:
            return self._halves.join(events)
        return tuple(events)


decoder = Decoder


_MEMBERS = (b'"candidates"', b'"promptFeedback"', b'"usageMetadata"', b'"modelVersion"')
"""Members of a reply, even of an empty one; JSON without any of them is not a reply."""


def decode(body: bytes) -> Reply:
    """The reply in a body that was not streamed."""
    reply = ReplyBuilder()
    if not body.strip():
        raise ProtocolError("the body is empty")
    try:
        _take(reply, body, [])
    except ProtocolError:
        mended = mend_json(body)
        if mended is None:
            raise
        _take(reply, mended, [])
    if not reply.is_ended and b":" in body and not any(name in body for name in _MEMBERS):
        raise ProtocolError(f"a reply without candidates: {excerpt(body)}")
    return reply.finish([])


def _take(reply: ReplyBuilder, frame: bytes, events: list[ModelEvent]) -> None:
    if frame in _NOTHING:
        return
    check_parts(frame, "the reply")
    try:
        chunk: Any = _plain.decode(frame)
        if isinstance(chunk, list):
            items = _list.decode(frame)
        elif not isinstance(chunk, dict):
            raise ProtocolError(f"a chunk is not an object: {excerpt(frame)}")
        elif chunk.get("error") or ("candidates" not in chunk and is_bare_error(chunk)):
            raise parse_refusal(chunk)
        else:
            reply.take(chunk, _RawArguments(frame).of, events)
            return
    except UNREADABLE as error:
        raise ProtocolError(f"a chunk is not JSON ({error}): {excerpt(frame)}") from error
    for item in items:
        _take(reply, bytes(item), events)


class _Frames:
    """Feed it bytes, split anywhere; it returns the JSON documents that are complete."""

    def __init__(self) -> None:
        self._sse = SseDecoder()
        self._items: _ObjectSplitter | None = None
        self._began = False
        self._last = b"\n"

    def feed(self, data: bytes) -> list[bytes]:
        """The documents that these bytes complete."""
        if self._items is not None:
            return self._items.feed(data)
        if not self._began:
            data = data.lstrip(BLANK)
            self._began = bool(data)
        seen = self._last + data
        raw = [at for at in map(seen.find, _RAW_LINES) if at >= 0]
        if not raw:
            self._last = seen[-1:]
            return self._sse.payloads(data)
        self._items, at = _ObjectSplitter(), min(raw)
        events = [*self._sse.feed(data[:at]), *self._sse.finish()]
        return [event.data for event in events] + self._items.feed(data[at:])

    def finish(self) -> list[bytes]:
        """The document that only the end of the stream completes."""
        if self._items is not None:
            return self._items.finish()
        return [event.data for event in self._sse.finish()]


class _ObjectSplitter:
    """Splits a JSON text into its outermost objects. Each byte is read once."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._held = 0
        self._depth = 0
        self._in_string = False
        self._escaped = False

    def feed(self, data: bytes) -> list[bytes]:
        found: list[bytes] = []
        start = 0
        at = 0
        if self._escaped and data:
            self._escaped = False
            at = 1
        while mark := (_INSIDE if self._in_string else _OUTSIDE).search(data, at):
            at = mark.end()
            match mark[0]:
                case b'"':
                    self._in_string = not self._in_string
                case b"\\":
                    self._escaped = at == len(data)
                    at += 1
                case b"{":
                    start = start if self._depth else mark.start()
                    self._depth += 1
                case _:
                    self._depth -= 1
                    if self._depth == 0:
                        found.append(b"".join([*self._pieces, data[start:at]]))
                        self._pieces = []
                        self._held = 0
                    elif self._depth < 0:
                        raise ProtocolError("a JSON stream closes an object that it did not open")
        if self._depth:
            piece = data[start:]
            self._held += len(piece)
            if self._held > MAX_EVENT_BYTES:
                raise ProtocolError(f"an item of a JSON stream is longer than {MAX_EVENT_BYTES:,} bytes")
            self._pieces.append(piece)
        return found

    def finish(self) -> list[bytes]:
        if self._depth:
            raise TruncatedStream("the stream ended in the middle of an object")
        return []


class _RawFunctionCall(Struct):
    args: Raw = Raw(b"")


class _RawPart(Struct):
    function_call: _RawFunctionCall | None = msgspec.field(default=None, name="functionCall")


class _RawContent(Struct):
    parts: list[_RawPart | None] | None = None


class _RawCandidate(Struct):
    content: _RawContent | None = None


class _RawChunk(Struct):
    candidates: list[_RawCandidate | None] | None = None


_raw = msgspec.json.Decoder(_RawChunk)


class _RawArguments:
    """The original text of the arguments of a chunk's calls, without white space."""

    def __init__(self, frame: bytes) -> None:
        self._frame = frame
        self._chunk: _RawChunk | None = None

    def of(self, candidate: int, place: int) -> str:
        """The arguments of the call in that part; empty if it has none."""
        if self._chunk is None:
            self._chunk = _raw.decode(self._frame)
        found = (self._chunk.candidates or ())[candidate]
        parts = (found and found.content and found.content.parts) or ()
        part = parts[place]
        if part and part.function_call:
            raw = bytes(part.function_call.args)
        else:
            raw = b""
        if raw in (b"", b"null"):
            return ""
        if raw.startswith(b'"'):
            # Some hosts send the object as a string, as OpenAI does.
            return str(msgspec.json.decode(raw))
        # The text without the escapes that Google adds for HTML; unchanged if that is not safe.
        text = msgspec.json.format(raw, indent=-1).decode()
        if "\\" not in text:
            return text
        try:
            return dump(parse(text))
        except JsonError:
            return text
