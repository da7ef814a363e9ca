"""Decodes a recorded event stream, and shows what each event became.

The bytes go line by line through the framing and a dialect's decoder, so the output of either belongs to
the event that the line completes.
"""

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.events import ModelEvent, ReplyEnd
from rightcall.core.message import Reply
from rightcall.core.ports import Decoder
from rightcall.core.sse import ServerEvent, SseDecoder
from rightcall.errors import ProtocolError, RightcallError
from rightcall.wire.dialects import DIALECTS, load

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_MOST_LOOKED_AT = 64
"""How many events are examined to detect the dialect."""

_SIGNS = [(name, re.compile(row.sign)) for name, row in DIALECTS.items()]


class Step(Struct, frozen=True, kw_only=True):
    """An event of the stream, and what it was decoded to."""

    offset: int
    """Its byte offset."""
    event: ServerEvent | None = None
    """The framed event; None for bytes outside of events that the decoder understood."""
    became: tuple[ModelEvent, ...] = ()
    is_end: bool = False
    """Whether only the end of the bytes completed it."""
    error: str = ""
    """The decoder's error message."""


def guess(data: bytes) -> str | None:
    """The dialect of the first events; None if they show no sign of any."""
    framed = SseDecoder()
    # A plain body instead of a stream, or Bedrock's messages, whose length prefix begins with a zero.
    found: list[bytes] = [data] if data.lstrip()[:1] in (b"{", b"[", b"\0") else []
    for line in _lines(data):
        found += [event.data for event in _framed(framed, line)]
        if len(found) > _MOST_LOOKED_AT:
            break
    else:
        found += [event.data for event in framed.finish()]
    for text in found:
        for name, sign in _SIGNS:
            if sign.search(text):
                return name
    return None


def walk(data: bytes, dialect: str | None) -> Iterator[Step]:
    """Every event with what it was decoded to. Without a dialect, events are not decoded."""
    framed, decoder = SseDecoder(), _Decoding(dialect)
    start, at = 0, 0
    for line in _lines(data):
        events, became = _framed(framed, line), decoder.feed(line)
        at += len(line)
        yield from _steps(start, events, became, decoder.take_news())
        if events or became or not line.strip(b"\r\n"):
            # Blank lines and comments before an event do not belong to it.
            start = at
    events, became = framed.finish(), decoder.finish()
    for step in _steps(start, events, became, decoder.take_news()):
        yield replace(step, is_end=True)


def reply_in(steps: Iterable[Step]) -> Reply | None:
    """The reply that the stream ended with."""
    ends = [each.reply for step in steps for each in step.became if isinstance(each, ReplyEnd)]
    return ends[-1] if ends else None


class _Decoding:
    """A dialect's decoder until its first error; later output would be unreliable."""

    def __init__(self, dialect: str | None) -> None:
        self._decoder: Decoder | None = None
        self.news = ""
        """The error, until it was reported."""
        if dialect is not None:
            self._decoder = load(dialect).decoder()

    def feed(self, data: bytes) -> tuple[ModelEvent, ...]:
        return () if self._decoder is None else self._try(self._decoder, data)

    def finish(self) -> tuple[ModelEvent, ...]:
        return () if self._decoder is None else self._try(self._decoder, None)

    def take_news(self) -> str:
        news, self.news = self.news, ""
        return news

    def _try(self, decoder: Decoder, data: bytes | None) -> tuple[ModelEvent, ...]:
        try:
            return decoder.finish() if data is None else decoder.feed(data)
        except RightcallError as error:
            self._decoder, self.news = None, str(error) or error.code
            return ()


def _steps(
    start: int, events: tuple[ServerEvent, ...], became: tuple[ModelEvent, ...], error: str
) -> Iterator[Step]:
    """A line completes at most one event."""
    if events or became or error:
        yield Step(offset=start, event=events[0] if events else None, became=became, error=error)


def _framed(framed: SseDecoder, line: bytes) -> tuple[ServerEvent, ...]:
    try:
        return framed.feed(line)
    except ProtocolError:
        # The dialect's decoder reports this, too.
        return ()


def _lines(data: bytes) -> Iterator[bytes]:
    return (found[0] for found in _LINE.finditer(data) if found[0])
