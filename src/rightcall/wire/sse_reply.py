"""What decoders of server-sent events share: the frames, a body in a stream's place, and the end."""

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from rightcall.core.events import ModelEvent, ReplyEnd
from rightcall.core.message import Reply
from rightcall.core.sse import MAX_EVENT_BYTES, ServerEvent, SseDecoder
from rightcall.errors import ProtocolError, TruncatedStream


class Growing(Protocol):
    """A reply in the making."""

    events: list[ModelEvent]
    """What has happened and was not yet told."""
    is_done: bool


G = TypeVar("G", bound=Growing)


class SseReply(Generic[G]):
    """One streamed reply, which ends with an event that says so. Feed it bytes, cut anywhere.

    ``take`` has the reply grow by an event, ``take_whole`` by a body that came in place of a stream.
    ``end`` names what a stream ends with, for the error of one that does not.
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
        """Where a host answers with one instead of a stream."""

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
