"""Decodes a Chat Completions reply, streamed or whole, to events and a reply.

A reply is over at ``[DONE]``, or at the end of a stream that has given a ``finish_reason``. A host that
sends ``[DONE]`` without a reason (OpenRouter and others do) has finished as well; a stream that just
ends has not. Of several choices only the first is read.
"""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from rightcall.core.events import ModelEvent, ReplyEnd, reply_events
from rightcall.core.jsontext import check_parts
from rightcall.core.message import Reply
from rightcall.core.sse import MAX_EVENT_BYTES, SseDecoder
from rightcall.errors import ProtocolError, TruncatedStream
from rightcall.wire.decoders import BLANK, LenientDecoder
from rightcall.wire.lenient_json import mend_json
from rightcall.wire.openai_chat.fragments import Fragment
from rightcall.wire.openai_chat.reply import ReplyBuilder
from rightcall.wire.openai_chat.tables import NAME, find_refusal
from rightcall.wire.payload import mapping
from rightcall.wire.refusal import UNREADABLE, excerpt, readable

_KEPT = ("citations", "search_results")
"""Members that Perplexity sends beside the choices, and that belong to the answer."""


class _ChunkChoice(Struct, gc=False):
    index: int | None = 0
    delta: dict[str, Any] | None = None
    message: Any = None
    finish_reason: str | None = None
    stop_reason: Any = None
    error: Any = None
    logprobs: Any = None


class _ChatChunk(Struct, gc=False):
    id: Any = ""
    model: Any = ""
    choices: list[_ChunkChoice] | None = None
    usage: Any = None
    error: Any = None
    object: Any = None
    type: Any = None
    detail: Any = None
    x_groq: Any = None
    citations: Any = None
    search_results: Any = None


_chunk = msgspec.json.Decoder(_ChatChunk, strict=False).decode


class _Arguments(Struct, gc=False, forbid_unknown_fields=True):
    arguments: str = ""
    name: str | None = None


class _CallFragment(Struct, gc=False, forbid_unknown_fields=True):
    index: int
    function: _Arguments
    type: str | None = None
    id: str | None = None


class _UsualDelta(Struct, gc=False, forbid_unknown_fields=True):
    content: str | None = None
    tool_calls: tuple[_CallFragment] | None = None
    role: str | None = None
    channel: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: None = None
    function_call: None = None


class _UsualChoice(Struct, gc=False):
    delta: _UsualDelta
    index: Literal[0] = 0
    finish_reason: str | None = None
    stop_reason: None = None
    error: None = None
    logprobs: None = None


class _UsualChunk(Struct, gc=False):
    """The form of nearly every chunk: more text, thoughts, or a piece of one call."""

    choices: tuple[_UsualChoice]
    usage: None = None
    error: None = None
    x_groq: None = None
    citations: None = None
    search_results: None = None


_usual = msgspec.json.Decoder(_UsualChunk).decode
_MOST_UNUSUAL = 8
"""After this many other chunks in a row, the fast path for usual chunks is no longer tried."""


class Decoder(LenientDecoder):
    """Decodes one streamed reply. Feed it bytes, split anywhere."""

    def __init__(self) -> None:
        self._frames = SseDecoder()
        self._reply = ReplyBuilder()
        self._is_over = False
        self._has_choice = False
        self._body: bytearray | None = None
        self._began = False
        self._may_be_usual = False
        self._unusual = 0

    def feed(self, data: bytes) -> tuple[ModelEvent, ...]:
        """The events that these bytes complete."""
        if not self._began and (start := data.lstrip(BLANK)):
            self._began = True
            if start.startswith(b"{"):
                # No field of an event stream begins like this: the host did not stream.
                self._body = bytearray()
        if self._body is not None:
            self._body += data
            if len(self._body) > MAX_EVENT_BYTES:
                raise ProtocolError(f"{NAME}: a reply of more than {MAX_EVENT_BYTES:,} bytes")
            return ()
        events: list[ModelEvent] = []
        for frame in self._frames.payloads(data):
            if not (self._may_be_usual and self._goes_on(frame, events)):
                self._frame(frame, events)
        if self._halves is not None:
            return self._halves.join(events)
        return tuple(events)

    def _goes_on(self, data: bytes, events: list[ModelEvent]) -> bool:
        """Handle a usual chunk; returns whether it was one."""
        reply = self._reply
        try:
            choice = _usual(data).choices[0]
        except UNREADABLE:
            self._unusual += 1
            return False
        self._unusual = 0
        delta = choice.delta
        if choice.finish_reason:
            reply.word = choice.finish_reason
            reply.stop_string = False
            self._may_be_usual = False
        thought = delta.reasoning_content or delta.reasoning
        if delta.tool_calls is None:
            if not thought:
                return reply.goes_on("content", delta.content, events)
            field = "reasoning"
            if delta.reasoning_content:
                field = "reasoning_content"
            return not delta.content and reply.goes_on(field, thought, events)
        if delta.content or thought:
            return False
        going = delta.tool_calls[0]
        function = going.function
        if not function.name and not going.id:
            return reply.calls.goes_on(going.index, function.arguments, events)
        fragment = Fragment(going.index, going.id or "", function.name or "", function.arguments)
        reply.read_fragment(fragment, events)
        return True

    def finish(self) -> tuple[ModelEvent, ...]:
        """The events that only the end of the stream completes."""
        if self._body is not None:
            return tuple(reply_events(decode(bytes(self._body))))
        events: list[ModelEvent] = []
        for frame in self._frames.finish():
            self._frame(frame.data, events, is_last=True)
        if not self._is_over:
            if not self._reply.word:
                raise TruncatedStream(
                    "the stream ended before the reply did: no finish_reason, no [DONE]"
                )
            self._end(events)
        if self._halves is not None:
            return self._halves.join(events)
        return tuple(events)

    def _frame(self, data: bytes, events: list[ModelEvent], *, is_last: bool = False) -> None:
        if self._is_over or not data:
            return
        if data.startswith(b"[") and data.strip() == b"[DONE]":
            if not self._has_choice:
                raise ProtocolError(f"{NAME}: the stream has no reply in it, only its end")
            self._end(events)
            return
        try:
            chunk = _chunk(data)
        except UNREADABLE as error:
            if self._take_mended(data, lambda mended: self._frame(mended, events, is_last=is_last)):
                return
            value = readable(data)
            if not is_last or not isinstance(value, str):
                words = f"{NAME}: not a chunk ({error}): {excerpt(data)}"
                raise (find_refusal(value) or ProtocolError(words)) from None
            if not self._reply.word:
                raise TruncatedStream("the stream ended in the middle of an event") from None
            return
        self._read(chunk, data, events)
        # After the reason to stop come the usage and the end.
        reply = self._reply
        self._may_be_usual = reply.is_known and not reply.word and self._unusual <= _MOST_UNUSUAL

    def _read(self, chunk: _ChatChunk, data: bytes, events: list[ModelEvent]) -> None:
        reply = self._reply
        if chunk.error or chunk.choices is None:
            _refuse(readable(data))
        if not reply.model and chunk.model:
            reply.model = str(chunk.model)
        if not reply.id and chunk.id:
            reply.id = str(chunk.id)
        if chunk.usage:
            reply.usage = chunk.usage
        elif chunk.x_groq and not reply.usage and isinstance(chunk.x_groq, Mapping):
            reply.usage = chunk.x_groq.get("usage")
        if chunk.citations or chunk.search_results:
            reply.extra |= {name: found for name in _KEPT if (found := getattr(chunk, name))}
        for choice in chunk.choices or ():
            self._has_choice = True
            if choice.index:
                continue
            if choice.error:
                _refuse({"error": choice.error})
            if choice.delta is None:
                delta = choice.message
            else:
                delta = choice.delta
            if delta and isinstance(delta, dict):
                reply.delta(delta, events)
            reply.likely(choice.logprobs)
            if choice.finish_reason:
                reply.word = choice.finish_reason
                reply.stop_string = isinstance(choice.stop_reason, str)

    def _end(self, events: list[ModelEvent]) -> None:
        self._is_over = True
        self._may_be_usual = False
        self._reply.end(events)


decoder = Decoder


def decode(body: bytes) -> Reply:
    """The reply in a body that was not streamed."""
    check_parts(body, "the reply")
    try:
        value = msgspec.json.decode(body)
    except UNREADABLE as error:
        mended = mend_json(body)
        if mended is not None:
            return decode(mended)
        raise ProtocolError(f"{NAME}: not JSON ({error}): {excerpt(body)}") from None
    _refuse(value)
    choices = mapping(value).get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise ProtocolError(f"{NAME}: a reply without choices: {excerpt(body)}")
    choice = choices[0]
    if choice.get("error"):
        _refuse({"error": choice["error"]})
    reply = ReplyBuilder()
    reply.id, reply.model = str(value.get("id") or ""), str(value.get("model") or "")
    reply.usage = value.get("usage")
    reply.extra |= {name: value[name] for name in _KEPT if value.get(name)}
    reply.word = str(choice.get("finish_reason") or "")
    reply.stop_string = isinstance(choice.get("stop_reason"), str)
    reply.likely(choice.get("logprobs"))
    message = choice.get("message")
    events: list[ModelEvent] = []
    reply.whole(mapping(message), events)
    reply.end(events)
    last = events[-1]
    assert isinstance(last, ReplyEnd)
    return last.reply


def _refuse(value: Any) -> None:
    refusal = find_refusal(value)
    if refusal is not None:
        raise refusal
