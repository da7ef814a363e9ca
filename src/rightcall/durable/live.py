"""Live events of a run: sent by the process that executes it, read by watchers, and stored nowhere.

Each carries its run, segment, attempt and number. A process that took a run over begins a new attempt,
and later events of the earlier attempt are dropped. Pieces of text that come within a moment are sent as
one. Nothing of this is in the journal, from which a run's result is read when it has ended.
"""

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import Self

from msgspec import Struct, json
from msgspec.structs import asdict, replace

from rightcall.core.events import (
    CallDelta,
    OutputDelta,
    ReasoningDelta,
    StreamEvent,
    SubagentEvent,
    TextDelta,
)
from rightcall.durable.engine import LiveChannel, SegmentJob, encodable
from rightcall.log import run_logger
from rightcall.loop.events import RunEnd

PAUSE = 0.04
"""Seconds for which events are collected before they are sent."""


class Live(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An event of a run, in any process."""

    run: str
    segment: int
    attempt: int
    """The number of the segment's execution: more than 1 after a process died."""
    seq: int
    """Its number within the attempt; a missing number is an event that was lost."""
    event: StreamEvent | RunEnd


class _Sent(Struct, frozen=True, kw_only=True):
    """A live event as it is sent."""

    segment: int
    attempt: int
    seq: int
    event: StreamEvent


_SENT: json.Decoder[_Sent] = json.Decoder(_Sent)
_ENCODER = json.Encoder()


class Publisher:
    """Sends the events of one segment, in batches."""

    def __init__(self, channel: LiveChannel, job: SegmentJob, attempt: int) -> None:
        self._channel = channel
        self._run = job.run
        self._segment = job.segment
        self._attempt = attempt
        self._events: list[StreamEvent] = []
        self._wake = asyncio.Event()
        self._seq = 0
        self._task: asyncio.Task[None] | None = None
        self._over = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._task = asyncio.get_running_loop().create_task(self._send())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        self._over.set()
        self._wake.set()
        assert self._task is not None
        if kind is not None:
            self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def show(self, event: StreamEvent) -> None:
        """Send an event with the next batch."""
        if self._events and (merged := _together(self._events[-1], event)) is not None:
            self._events[-1] = merged
        else:
            self._events.append(event)
        self._wake.set()

    async def _send(self) -> None:
        while self._events or not self._over.is_set():
            await self._wake.wait()
            self._wake.clear()
            events = self._events
            self._events = []
            if events:
                first = self._seq
                self._seq = self._seq + len(events)
                sent = [
                    _Sent(
                        segment=self._segment, attempt=self._attempt, seq=first + n, event=_plain(event)
                    )
                    for n, event in enumerate(events, 1)
                ]
                try:
                    texts = [encodable(_ENCODER, each).decode() for each in sent]
                    await self._channel.publish(self._run, texts)
                except Exception:
                    # Watching does not affect the run: it goes on, and its end is read from the store.
                    run_logger.exception("run %s: live events were not sent", self._run)
            with suppress(TimeoutError):
                async with asyncio.timeout(PAUSE):
                    await self._over.wait()


class Latest:
    """Reads a run's events from a channel, and drops those of superseded attempts."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._last = (-1, 0, 0)

    def read(self, text: str) -> Live | None:
        """The event; None if a later attempt has begun, or if it was read before."""
        sent = _SENT.decode(text)
        at = (sent.segment, sent.attempt, sent.seq)
        if at <= self._last:
            return None
        self._last = at
        return Live(run=self._run, **asdict(sent))

    def last(self, segment: int, end: RunEnd) -> Live:
        """The end of a run, as it is stored."""
        attempt, seq = self._last[1:] if self._last[0] == segment else (1, 0)
        return Live(run=self._run, segment=segment, attempt=max(attempt, 1), seq=seq + 1, event=end)


def _together(last: StreamEvent, event: StreamEvent) -> StreamEvent | None:
    """Two deltas of the same text, merged; None if they cannot be merged."""
    match last, event:
        case TextDelta(before), TextDelta(text):
            return TextDelta(before + text)
        case ReasoningDelta(before), ReasoningDelta(text):
            return ReasoningDelta(before + text)
        case OutputDelta(text=before, index=same), OutputDelta(text, index) if same == index:
            return OutputDelta(before + text, index)
        case CallDelta(index=same, text=before), CallDelta(index=index, text=text) if same == index:
            return CallDelta(index, before + text)
        case _:
            return None


def _plain(event: StreamEvent) -> StreamEvent:
    """The event without what cannot be encoded: a view of arguments that are still being written."""
    match event:
        case CallDelta(index, text):
            return CallDelta(index, text)
        case OutputDelta(text, index):
            return OutputDelta(text, index)
        case SubagentEvent(event=inside):
            return replace(event, event=_plain(inside))
        case _:
            return event
