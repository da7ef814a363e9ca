"""What decoders of server-sent events share: frames, a body instead of a stream, and the end."""

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from rightcall.core.events import ModelEvent, ReplyEnd
from rightcall.core.jsontext import check_parts
from rightcall.core.message import Reply
from rightcall.core.sse import MAX_EVENT_BYTES, ServerEvent, SseDecoder
from rightcall.errors import ProtocolError, TruncatedStream, VendorError
from rightcall.wire.lenient_json import HalfJoiner, mend_json
from rightcall.wire.refusal import UNREADABLE, excerpt


class Growing(Protocol):
    """A reply that is being received."""

    events: list[ModelEvent]
    """Events that were not yet returned."""
    is_done: bool


G = TypeVar("G", bound=Growing)

BLANK = b" \t\r\n\xef\xbb\xbf"
"""White space and the bytes of a byte order mark, with which a body may begin."""


class LenientDecoder:
    """A decoder of streams that reads again, mended, what a strict parser has refused."""

    _halves: HalfJoiner | None = None
    """Joins halves of characters in the events, once there was one."""

    def _take_mended(self, data: bytes, take: Callable[[bytes], None]) -> bool:
        """Take data that could not be read, mended; returns whether it could be."""
        mended = mend_json(data, mark=True)
        if mended is None:
            return False
        if self._halves is None:
            self._halves = HalfJoiner()
        try:
            take(mended)
        except VendorError:
            # A refusal: its words are shown as they are, without marks for the joiner.
            take(mend_json(data) or b"")
            raise
        return True


class SseReply(LenientDecoder, Generic[G]):
    """Decodes one streamed reply, which ends with an explicit event. Feed it bytes, split anywhere.

    ``take`` adds an event to the reply, ``take_whole`` a body that came instead of a stream. ``end``
    names the event that ends a stream, for the error if it is missing.
    """

    def __init__(
        self,
        name: str,
        reply: G,
        take: Callable[[G, ServerEvent], None],
        take_whole: Callable[[G, bytes], None],
        *,
        end: str,
    ) -> None:
        self._sse = SseDecoder()
        self._name = name
        self._reply = reply
        self._end = end
        self._take = take
        self._take_whole = take_whole
        self._began = False
        self._body: bytearray | None = None
        """The body so far, if a host answers without a stream."""

    def feed(self, data: bytes, /) -> tuple[ModelEvent, ...]:
        """The events that these bytes complete."""
        if not self._began and (start := data.lstrip(BLANK)):
            self._began = True
            if start.startswith((b"{", b"[")):
                self._body = bytearray()
            else:
                self._body = None
        if self._body is not None:
            self._body += data
            if len(self._body) > MAX_EVENT_BYTES:
                raise ProtocolError(f"{self._name}: a reply of more than {MAX_EVENT_BYTES:,} bytes")
            return ()
        take = self._take
        reply = self._reply
        for event in self._sse.feed(data):
            try:
                take(reply, event)
            except ProtocolError:
                if not self._take_mended_event(event):
                    raise
        return self._drain_events()

    def finish(self) -> tuple[ModelEvent, ...]:
        """The events that only the end of the stream completes."""
        if self._body is not None:
            body = bytes(self._body)
            self._body = None
            take_lenient(self._reply, self._take_whole, body)
        for event in self._sse.finish():
            try:
                self._take(self._reply, event)
            except ProtocolError as problem:
                if self._take_mended_event(event):
                    continue
                where = "the stream ended in the middle of an event"
                raise TruncatedStream(f"{self._name}: {where}") from problem
        if not self._reply.is_done:
            raise TruncatedStream(f"{self._name}: the stream ended before {self._end}")
        return self._drain_events()

    def _take_mended_event(self, event: ServerEvent) -> bool:
        def take(data: bytes) -> None:
            self._take(self._reply, ServerEvent(data, event.name, event.id))

        return self._take_mended(event.data, take)

    def _drain_events(self) -> tuple[ModelEvent, ...]:
        events = self._reply.events
        self._reply.events = []
        if self._halves is not None:
            return self._halves.join(events)
        return tuple(events)


def take_lenient(reply: G, take_whole: Callable[[G, bytes], None], body: bytes) -> None:
    """Add a body that was not streamed; mended, if it cannot be read as it is."""
    check_parts(body, "the reply")
    try:
        take_whole(reply, body)
    except ProtocolError:
        mended = mend_json(body)
        if mended is None:
            raise
        take_whole(reply, mended)


def whole_reply(reply: G, take_whole: Callable[[G, bytes], None], body: bytes) -> Reply:
    """The reply in a body that was not streamed."""
    take_lenient(reply, take_whole, body)
    end = reply.events[-1]
    assert isinstance(end, ReplyEnd)
    return end.reply


_any = msgspec.json.Decoder().decode


def whole_object(name: str, body: bytes) -> dict[str, Any]:
    """The object in a body that was not streamed. Raises TruncatedStream if it is incomplete."""
    try:
        value = _any(body)
    except UNREADABLE as problem:
        kind = TruncatedStream if "truncated" in str(problem) else ProtocolError
        raise kind(f"{name}: the reply is not JSON: {excerpt(body)}") from problem
    if not isinstance(value, dict):
        raise ProtocolError(f"{name}: the reply is not an object: {excerpt(body)}")
    return value


def event_object(name: str, data: bytes) -> dict[str, Any]:
    """The object in a stream's event."""
    try:
        value = _any(data)
    except UNREADABLE as problem:
        raise ProtocolError(f"{name}: an event that cannot be read: {excerpt(data)}") from problem
    if not isinstance(value, dict):
        raise ProtocolError(f"{name}: an event is not an object: {excerpt(data)}")
    return value


def parsed_input(text: str, unparsed: str) -> dict[str, Any]:
    """The input of a vendor's own tool, for its bag; a text that is no object under ``unparsed``."""
    try:
        value = _any(text)
    except UNREADABLE:
        value = None
    return value if isinstance(value, dict) else {unparsed: text}


def arguments_in(raw: bytes) -> str:
    """The original JSON text of a call's arguments, without white space."""
    if raw in (b"", b"null"):
        return ""
    if raw.startswith(b'"'):
        # Some hosts send the object as a string, as OpenAI does.
        return str(_any(raw))
    return msgspec.json.format(raw, indent=-1).decode()
