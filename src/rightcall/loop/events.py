"""The events that an agent's stream yields, and an iterator over those of a run."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, TypeAlias

from rightcall.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
    CompactionEnd,
    CompactionStart,
    Emit,
    ModelChange,
    ModelEvent,
    ReasoningDelta,
    ReasoningEnd,
    ReplyEnd,
    ResultEnd,
    RetryStart,
    StreamEvent,
    SubagentEvent,
    TextDelta,
    TurnStart,
)
from rightcall.core.handler import CallProgress
from rightcall.loop.result import RunEnd, RunResult

__all__ = [
    "CallDelta",
    "CallEnd",
    "CallProgress",
    "CallStart",
    "CompactionEnd",
    "CompactionStart",
    "Event",
    "ModelChange",
    "ModelEvent",
    "ReasoningDelta",
    "ReasoningEnd",
    "ReplyEnd",
    "ResultEnd",
    "RetryStart",
    "RunEnd",
    "SubagentEvent",
    "TextDelta",
    "TurnStart",
]


Event: TypeAlias = StreamEvent | RunEnd
"""What ``agent.stream`` yields."""


async def events_of(
    start: Callable[[Emit], Coroutine[Any, Any, RunResult[Any]]],
) -> AsyncIterator[Event]:
    """Yields the events of the run that ``start`` begins, as they come; RunEnd is the last.

    A consumer that stops early cancels the run, and waits until all of it has stopped.
    """
    channel = _Channel()
    task = asyncio.get_running_loop().create_task(start(channel.put))
    del start
    task.add_done_callback(channel.wake)
    try:
        while True:
            while channel.events:
                for event in channel.take():
                    yield event
            if task.done():
                break
            await channel.news()
        yield RunEnd(task.result())
    finally:
        # The exception is retrieved either way, so that asyncio does not log it as never retrieved.
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        elif not task.cancelled():
            task.exception()


class _Channel:
    """Passes events from the run to its reader, with one wake-up for all that are there."""

    __slots__ = ("_waiting", "events")

    def __init__(self) -> None:
        # A list: an empty deque takes 600 bytes, in each of a thousand runs that wait for their model.
        self.events: list[StreamEvent] = []
        self._waiting: asyncio.Future[None] | None = None

    def put(self, event: StreamEvent) -> None:
        self.events.append(event)
        if self._waiting is not None:
            self.wake()

    def take(self) -> list[StreamEvent]:
        events = self.events
        self.events = []
        return events

    def wake(self, _: object = None) -> None:
        waiting = self._waiting
        self._waiting = None
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    def news(self) -> "asyncio.Future[None]":
        self._waiting = asyncio.get_running_loop().create_future()
        return self._waiting
