"""Show how each event of a recorded stream is decoded: the raw bytes of a model's reply.

The bytes go line by line through the framing and a dialect's decoder, so the output of either belongs
to the event that the line completes.
"""

import json
import re
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from rightcall.cli import NO_ANSWER, OK
from rightcall.cli.formatting import json_line, one_line, usage_words
from rightcall.cli.views import event_object, reply_object
from rightcall.cli.wiretap import BETWEEN
from rightcall.core.events import ModelEvent, ReplyEnd
from rightcall.core.jsontext import JsonObject
from rightcall.core.message import Reply
from rightcall.core.sanitize import printable
from rightcall.core.sse import ServerEvent, SseDecoder
from rightcall.errors import ProtocolError, RightcallError, UsageError
from rightcall.wire.dialects import DIALECTS, load

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_MOST_LOOKED_AT = 64
"""How many events are examined to detect the dialect."""

_SIGNS = [(name, re.compile(row.sign)) for name, row in DIALECTS.items()]


class StreamStep(Struct, frozen=True, kw_only=True):
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


def guess_dialect(data: bytes) -> str | None:
    """The dialect of the first events; None if they show no sign of any."""
    framed = SseDecoder()
    texts: list[bytes] = []
    # A plain body instead of a stream, or Bedrock's messages, whose length prefix begins with a zero.
    if data.lstrip()[:1] in (b"{", b"[", b"\0"):
        texts.append(data)
    for line in _lines(data):
        texts += [event.data for event in _feed_framing(framed, line)]
        if len(texts) > _MOST_LOOKED_AT:
            break
    else:
        texts += [event.data for event in framed.finish()]
    for text in texts:
        for name, sign in _SIGNS:
            if sign.search(text):
                return name
    return None


def decode_steps(data: bytes, dialect: str | None) -> Iterator[StreamStep]:
    """Every event with what it was decoded to. Without a dialect, events are not decoded."""
    framed = SseDecoder()
    decoder = _Decoding(dialect)
    start = 0
    at = 0
    for line in _lines(data):
        events = _feed_framing(framed, line)
        became = decoder.feed(line)
        at += len(line)
        yield from _steps(start, events, became, decoder.take_news())
        if events or became or not line.strip(b"\r\n"):
            # Blank lines and comments before an event do not belong to it.
            start = at
    events = framed.finish()
    became = decoder.feed(None)
    for step in _steps(start, events, became, decoder.take_news()):
        yield replace(step, is_end=True)


def reply_in(steps: Iterable[StreamStep]) -> Reply | None:
    """The reply that the stream ended with."""
    reply = None
    for step in steps:
        for each in step.became:
            if isinstance(each, ReplyEnd):
                reply = each.reply
    return reply


class _Decoding:
    """A dialect's decoder until its first error; later output would be unreliable."""

    def __init__(self, dialect: str | None) -> None:
        self._decoder = None
        self.news = ""
        """The error, until it was reported."""
        if dialect is not None:
            self._decoder = load(dialect).decoder()

    def feed(self, data: bytes | None) -> tuple[ModelEvent, ...]:
        """The events of these bytes; None for their end."""
        if self._decoder is None:
            return ()
        try:
            if data is None:
                return self._decoder.finish()
            return self._decoder.feed(data)
        except RightcallError as error:
            self._decoder = None
            self.news = str(error) or error.code
            return ()

    def take_news(self) -> str:
        news = self.news
        self.news = ""
        return news


def _steps(
    start: int, events: tuple[ServerEvent, ...], became: tuple[ModelEvent, ...], error: str
) -> Iterator[StreamStep]:
    """A line completes at most one event."""
    if events or became or error:
        event = next(iter(events), None)
        yield StreamStep(offset=start, event=event, became=became, error=error)


def _feed_framing(framed: SseDecoder, line: bytes) -> tuple[ServerEvent, ...]:
    try:
        return framed.feed(line)
    except ProtocolError:
        # The dialect's decoder reports this, too.
        return ()


def _lines(data: bytes) -> Iterator[bytes]:
    for line in _LINE.finditer(data):
        if line[0]:
            yield line[0]


MAX_BYTES = 256 * 1024 * 1024
"""The largest dump that is read, in bytes."""
_WIDTH = 160


def run(options: Namespace) -> int:
    """Decode the dump, and print it."""
    data = _read(options.file)
    at = 0
    code = OK
    # ask --raw writes a separator between replies; after it another reply begins.
    parts = data.split(BETWEEN)
    for number, part in enumerate(parts, 1):
        if len(parts) > 1 and not options.json:
            print(f"reply {number} of {len(parts)}")
        dialect: str | None = options.dialect or guess_dialect(part)
        error = ""
        steps = []
        for each in decode_steps(part, dialect):
            step = replace(each, offset=each.offset + at)
            if options.json:
                _tell_json(step)
            else:
                _tell(step)
            steps.append(step)
            error = error or step.error
        reply = reply_in(steps)
        if dialect is None:
            error = "these events are in no known dialect; name it with --dialect"
        if options.json:
            described = None
            if reply is not None:
                described = reply_object(reply)
            ending: JsonObject = {"dialect": dialect, "reply": described, "error": error or None}
            sys.stdout.write(json_line(ending))
        else:
            _end(dialect, reply, error)
        if reply is None or error:
            code = NO_ANSWER
        at += len(part) + len(BETWEEN)
    return code


def _read(file: str) -> bytes:
    try:
        if file == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(file).open("rb") as opened:
                data = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise UsageError(f"{file} holds more than {MAX_BYTES:,} bytes")
    return data


def _tell(step: StreamStep) -> None:
    event = step.event
    if event is not None:
        text = event.data[: 8 * _WIDTH].decode(errors="replace")
        if event.id is not None:
            text = f"id={event.id} {text}"
        if event.name:
            text = f"{event.name} {text}"
        text = one_line(text, _WIDTH)
    elif step.is_end:
        text = "(the end)"
    else:
        text = "(bytes outside of events)"
    print(f"{step.offset:>8}  {text}")
    for became in _became(step):
        # The reply itself is printed at the end.
        if became["event"] != "reply_end":
            left_out = {"event"}
        else:
            left_out = became.keys() - {"stop"}
        facts = {}
        for key, value in became.items():
            if key not in left_out:
                facts[key] = value
        print(f"{'':>8}  -> {became['event']} {one_line(json.dumps(facts, ensure_ascii=False), _WIDTH)}")
    if step.error:
        print(f"{'':>8}  !! {one_line(step.error, 4 * _WIDTH)}")


def _end(dialect: str | None, reply: Reply | None, error: str) -> None:
    print(f"\ndialect: {dialect or 'unknown'}")
    if reply is not None:
        word = ""
        if reply.stop_word:
            word = f" ({one_line(reply.stop_word, _WIDTH)})"
        print(f"stop: {reply.stop}{word}\nusage: {usage_words(reply.usage)}")
        for call in reply.calls:
            print(printable(f"call: {call.name} {call.arguments}"))
        if reply.text:
            print(printable(f"text: {reply.text}"))
    if error:
        print(f"no reply: {one_line(error, 4 * _WIDTH)}")


def _tell_json(step: StreamStep) -> None:
    facts: JsonObject = {"name": None, "id": None, "data": None}
    if step.event is not None:
        data = step.event.data.decode(errors="replace")
        facts = {"name": step.event.name, "id": step.event.id, "data": data}
    described = {"offset": step.offset, **facts, "became": _became(step), "error": step.error or None}
    sys.stdout.write(json_line(described))


def _became(step: StreamStep) -> list[JsonObject]:
    objects = []
    for event in step.became:
        described = event_object(event)
        if described is not None:
            objects.append(described)
    return objects
