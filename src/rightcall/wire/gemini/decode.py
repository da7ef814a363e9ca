"""Gemini's bytes into events and replies, streamed and whole. Does no I/O.

Nothing marks the end of a stream: a chunk that says why generation stopped is the last but for what may
still be added to it, so the reply is known when the bytes end. Bytes that end before it are cut off.
"""

from typing import Any

import msgspec

from rightcall.core.events import ModelEvent, ReplyEnd
from rightcall.core.message import Reply
from rightcall.errors import ProtocolError, TruncatedStream
from rightcall.wire.gemini.draft import Arguments, Draft
from rightcall.wire.gemini.errors import refused
from rightcall.wire.gemini.frames import Frames
from rightcall.wire.refusal import UNREADABLE, excerpt

_NOTHING = frozenset([b"", b"[DONE]"])
"""Data that says nothing: a sign of life, and how hosts of other dialects end every stream."""

_plain = msgspec.json.Decoder()
_list = msgspec.json.Decoder(list[msgspec.Raw])


class Decoder:
    """Feed it a stream's bytes, cut anywhere; it gives back the events that they complete."""

    def __init__(self) -> None:
        self._frames = Frames()
        self._draft = Draft()

    def feed(self, data: bytes) -> tuple[ModelEvent, ...]:
        """The events that these bytes complete. A refusal inside the stream is a VendorError."""
        events: list[ModelEvent] = []
        for frame in self._frames.feed(data):
            _take(self._draft, frame, events)
        return tuple(events)

    def finish(self) -> tuple[ModelEvent, ...]:
        """The last call's end and the reply; TruncatedStream if the stream ended too soon."""
        events: list[ModelEvent] = []
        for frame in self._frames.finish():
            try:
                _take(self._draft, frame, events)
            except ProtocolError as error:
                raise TruncatedStream("the stream ended in the middle of a chunk") from error
        if not self._draft.is_ended:
            raise TruncatedStream("the stream ended without a finishReason")
        reply = self._draft.finish(events)
        return (*events, ReplyEnd(reply))


def decode(body: bytes) -> Reply:
    """The reply in a body that was not streamed."""
    draft = Draft()
    if not body.strip():
        raise ProtocolError("the body is empty")
    _take(draft, body, [])
    return draft.finish([])


def _take(draft: Draft, frame: bytes, events: list[ModelEvent]) -> None:
    if frame in _NOTHING:
        return
    try:
        chunk: Any = _plain.decode(frame)
        if isinstance(chunk, list):
            items = _list.decode(frame)
        elif not isinstance(chunk, dict):
            raise ProtocolError(f"a chunk is not an object: {excerpt(frame)}")
        elif chunk.get("error"):
            raise refused(chunk)
        else:
            draft.take(chunk, Arguments(frame), events)
            return
    except UNREADABLE as error:
        raise ProtocolError(f"a chunk is not JSON ({error}): {excerpt(frame)}") from error
    for item in items:
        _take(draft, bytes(item), events)
