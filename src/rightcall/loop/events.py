"""The events that an agent's stream yields, and the stream of those of a run."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any, Generic, TypeAlias

from rightcall.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
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
from rightcall.errors import UsageError
from rightcall.loop.result import Out, RunEnd, RunResult

__all__ = [
    "CallDelta",
    "CallEnd",
    "CallProgress",
    "CallStart",
    "Event",
    "ModelChange",
    "ModelEvent",
    "ReasoningDelta",
    "ReasoningEnd",
    "ReplyEnd",
    "ResultEnd",
    "RetryStart",
    "RunEnd",
    "RunStream",
    "SubagentEvent",
    "TextDelta",
    "TurnStart",
]


Event: TypeAlias = StreamEvent | RunEnd[Any]
"""What ``agent.stream`` yields."""


class RunStream(Generic[Out]):
    """The events of a run, as they come; RunEnd is the last, and ``result`` is its result.

    A consumer that stops early cancels the run, and waits until all of it has stopped.
    """

    def __init__(self, start: Callable[[Emit], Coroutine[Any, Any, RunResult[Out]]]) -> None:
        self._channel: _Channel[Out] = _Channel()
        self._events = _iterate(start, self._channel)

    @property
    def result(self) -> RunResult[Out]:
        """The result, once the run is over."""
        if self._channel.result is None:
            raise UsageError("the run is not over: its result comes with the last event, RunEnd")
        return self._channel.result

    def __aiter__(self) -> AsyncGenerator[StreamEvent | RunEnd[Out], None]:
        return self._events

    async def __anext__(self) -> StreamEvent | RunEnd[Out]:
        return await anext(self._events)

    async def aclose(self) -> None:
        """Stop the run, unless it is over."""
        await self._events.aclose()


async def _iterate(
    start: Callable[[Emit], Coroutine[Any, Any, RunResult[Out]]], channel: "_Channel[Out]"
) -> AsyncGenerator[StreamEvent | RunEnd[Out], None]:
    """Yields the events of the run that ``start`` begins, as they come; RunEnd is the last."""
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
        channel.result = task.result()
        yield RunEnd(channel.result)
    finally:
        # The exception is retrieved either way, so that asyncio does not log it as never retrieved.
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        elif not task.cancelled():
            task.exception()


class _Channel(Generic[Out]):
    """Passes events from the run to its reader, with one wake-up for all that are there."""

    __slots__ = ("_waiting", "events", "result")

    def __init__(self) -> None:
        # A list: an empty deque takes 600 bytes, in each of a thousand runs that wait for their model.
        self.events: list[StreamEvent] = []
        self._waiting: asyncio.Future[None] | None = None
        self.result: RunResult[Out] | None = None

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
