"""The recorded replies of vendors, and the ways a decoder is fed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rightcall.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
    ModelEvent,
    ReasoningDelta,
    ReplyEnd,
    TextDelta,
)
from rightcall.core.message import Reply
from rightcall.core.ports import Decoder, Dialect


def rows(shared_data: Path, api: str, *, stream: bool) -> list[dict[str, Any]]:
    """The rows of the manifest for one API; ``path`` is the file with the body."""
    manifest = (shared_data / "wire" / "manifest.jsonl").read_text().split("\n")
    found = [json.loads(line) for line in manifest if line]
    return [
        {**row, "path": shared_data / "wire" / row["body"]}
        for row in found
        if row["api"] == api and row["stream"] is stream
    ]


def fed(decoder: Decoder, *chunks: bytes) -> list[ModelEvent]:
    """Every event of a stream that comes in these chunks."""
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return [*events, *decoder.finish()]


def chunkings(body: bytes) -> Iterator[list[bytes]]:
    """The body whole, in small odd pieces, byte by byte, and cut in two (everywhere, if it is short)."""
    yield [body]
    yield [body[at : at + 7] for at in range(0, len(body), 7)]
    if len(body) < 20_000:
        yield [body[at : at + 1] for at in range(len(body))]
    step = max(len(body) // 200, 1)
    for at in range(0, len(body), step):
        yield [body[:at], body[at:]]


def reply_of(events: list[ModelEvent]) -> Reply:
    """The reply that a stream ended with; it must be the last event, and the only one of its kind."""
    ends = [event for event in events if isinstance(event, ReplyEnd)]
    assert len(ends) == 1
    assert events[-1] is ends[0]
    return ends[0].reply


def assert_events_tell_the_reply(events: list[ModelEvent]) -> None:
    """The deltas of a stream add up to its reply, and every call begins and ends once."""
    reply = reply_of(events)
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == reply.text
    assert "".join(e.text for e in events if isinstance(e, ReasoningDelta)) == reply.reasoning
    started = [e.index for e in events if isinstance(e, CallStart)]
    assert len(started) == len(set(started))
    ended = {e.index: e.call for e in events if isinstance(e, CallEnd)}
    complete = [call for call in reply.calls if not call.truncated]
    assert list(ended.values()) == complete or sorted(c.id for c in ended.values()) == sorted(
        c.id for c in complete
    )
    for index, call in ended.items():
        pieces = "".join(e.text for e in events if isinstance(e, CallDelta) and e.index == index)
        assert pieces in (call.arguments, "")


def same_at_every_cut(dialect: Dialect, body: bytes) -> list[ModelEvent]:
    """The events of a streamed body, which must not depend on how it is cut."""
    whole = fed(dialect.decoder(), body)
    for chunks in chunkings(body):
        again = fed(dialect.decoder(), *chunks)
        assert _plain(again) == _plain(whole)
    return whole


def _plain(events: list[ModelEvent]) -> list[object]:
    """Events as values that compare: a CallDelta compares by identity."""
    return [(e.index, e.text) if isinstance(e, CallDelta) else e for e in events]
