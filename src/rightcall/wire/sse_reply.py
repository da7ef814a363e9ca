"""What decoders of server-sent events share: frames, a body instead of a stream, and the end."""

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from rightcall.core.events import ModelEvent, ReplyEnd
from rightcall.core.message import Reply
from rightcall.core.sse import MAX_EVENT_BYTES, ServerEvent, SseDecoder
from rightcall.errors import ProtocolError, TruncatedStream


class Growing(Protocol):
    """A reply that is being received."""

    events: list[ModelEvent]
    """Events that were not yet returned."""
    is_done: bool


G = TypeVar("G", bound=Growing)


class SseReply(Generic[G]):
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
        self._name, self._reply, self._end = name, reply, end
        self._take, self._take_whole = take, take_whole
        self._began = False
        self._body: bytearray | None = None
        """The body so far, if a host answers without a stream."""

    def feed(self, data: bytes, /) -> tuple[ModelEvent, ...]:
        """The events that these bytes complete."""
        if not self._began and (start := data.lstrip()):
            self._began = True
            self._body = bytearray() if start.startswith((b"{", b"[")) else None
        if self._body is not None:
            self._body += data
            if len(self._body) > MAX_EVENT_BYTES:
                raise ProtocolError(f"{self._name}: a reply of more than {MAX_EVENT_BYTES:,} bytes")
            return ()
        take, reply = self._take, self._reply
        for event in self._sse.feed(data):
            take(reply, event)
        return self._told()

    def finish(self) -> tuple[ModelEvent, ...]:
        """The events that only the end of the stream completes."""
        if self._body is not None:
            body, self._body = bytes(self._body), None
            self._take_whole(self._reply, body)
        for event in self._sse.finish():
            try:
                self._take(self._reply, event)
            except ProtocolError as problem:
                where = "the stream ended in the middle of an event"
                raise TruncatedStream(f"{self._name}: {where}") from problem
        if not self._reply.is_done:
            raise TruncatedStream(f"{self._name}: the stream ended before {self._end}")
        return self._told()

    def _told(self) -> tuple[ModelEvent, ...]:
        events, self._reply.events = self._reply.events, []
        return tuple(events)


def whole_reply(reply: G, take_whole: Callable[[G, bytes], None], body: bytes) -> Reply:
    """The reply in a body that was not streamed."""
    take_whole(reply, body)
    end = reply.events[-1]
    assert isinstance(end, ReplyEnd)
    return end.reply
