"""The events that an agent's stream yields, and the stream of those of a run."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from typing import Any, Generic, TypeAlias

from rightcall.core.events import (
    AgentChange,
    CallDelta,
    CallEnd,
    CallStart,
    CompactionEnd,
    CompactionStart,
    Emit,
    MessageEnd,
    ModelChange,
    ModelEvent,
    OutputDelta,
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
from rightcall.core.lazy import pattern
from rightcall.core.partial import PartialJson, PartialOutput
from rightcall.core.request import RequiredOutput
from rightcall.declare.partial_output import PartialView
from rightcall.errors import UsageError
from rightcall.loop.result import CallRecord, Out, RunEnd, RunResult

__all__ = [
    "AgentChange",
    "CallDelta",
    "CallEnd",
    "CallProgress",
    "CallRecord",
    "CallStart",
    "CompactionEnd",
    "CompactionStart",
    "Event",
    "MessageEnd",
    "ModelChange",
    "ModelEvent",
    "OutputDelta",
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


Event: TypeAlias = StreamEvent | RunEnd
"""What ``agent.stream`` yields."""


class RunStream(Generic[Out]):
    """The events of a run, as they come; RunEnd is the last, and ``result`` is its result.

    A consumer that stops early cancels the run, and waits until all of it has stopped.
    """

    def __init__(self, start: Callable[[Emit], Coroutine[Any, Any, RunResult[Out]]]) -> None:
        self._channel: _Channel[Out] = _Channel()
        self._events = _iterate(start, self._channel)
        self._reader: object = None
        """Who reads now: a loop over the events, or over the outputs."""

    @property
    def result(self) -> RunResult[Out]:
        """The result, once the run is over."""
        if self._channel.result is None:
            raise UsageError("the run is not over: its result comes with the last event, RunEnd")
        return self._channel.result

    def __aiter__(self) -> AsyncIterator[StreamEvent | RunEnd[Out]]:
        self._reader = self._events
        return self._events

    async def __anext__(self) -> StreamEvent | RunEnd[Out]:
        self._reader = self._events
        return await anext(self._events)

    async def outputs(self) -> AsyncGenerator[Out, None]:
        """Yields the answer while it is written, and at last the whole, of its own type.

        Before that it is a part: what has not come yet is None. Raises NoOutput if there is none.
        """
        seen: tuple[PartialOutput | None, int] = (None, 0)
        reader = self._reader = object()
        try:
            async for event in self._events:
                if not isinstance(event, OutputDelta) or event.so_far is None:
                    continue
                partial = event.partial
                # A view is of now: several pieces that came at once show the same.
                at = (event.so_far, event.so_far.json.changes)
                if partial is not None and at != seen:
                    yield partial
                seen = at
        finally:
            # A loop that was left is closed only later, when another one may read on.
            if self._reader is reader:
                await self._events.aclose()
        yield self.result.output

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


class OutputEvents:
    """Passes a run's events on, with the answer's text as OutputDelta, the same for every model.

    An answer in text is an object from the first character that is no space or code fence; any other
    text is not an answer, and stays text.
    """

    def __init__(self, emit: Emit, wanted: RequiredOutput, view: PartialView) -> None:
        self._emit = emit
        self._view = view
        self._tool = wanted.tool if wanted.mode == "tool" else None
        self._call: int | None = None
        self._so_far: PartialOutput | None = None
        self._head: str | None = ""
        """The text before it is known what it is; None once that is known."""

    def change(self, wanted: RequiredOutput) -> None:
        """Have another agent go on, which may give the same output in another way."""
        self._tool = wanted.tool if wanted.mode == "tool" else None

    def __call__(self, event: StreamEvent) -> None:
        """Pass an event on."""
        match event:
            case TextDelta(text) if self._tool is None:
                self._take_text(event, text)
                return
            case TurnStart():
                self._so_far = None
                self._call = None
                self._head = ""
            case CallStart(index, name) if name == self._tool and self._so_far is None:
                self._call = index
            case ReplyEnd():
                self._flush()
            case _:
                pass
        self._emit(event)
        if type(event) is CallDelta and event.index == self._call:
            if self._so_far is None:
                assert event.so_far is not None
                self._so_far = PartialOutput(event.so_far, self._view)
            self._emit(OutputDelta(event.text, event.index, self._so_far))

    def _take_text(self, event: StreamEvent, text: str) -> None:
        so_far = self._so_far
        if so_far is None and self._head is None:
            self._emit(event)
            return
        if so_far is None:
            assert self._head is not None
            self._head += text
            if _UNDECIDED.fullmatch(self._head):
                return
            began = _ANSWER.match(self._head)
            if began is None:
                self._flush()
                return
            text = self._head[began.end() - 1 :]
            self._head = None
            so_far = self._so_far = PartialOutput(PartialJson(), self._view)
        so_far.json.feed(text)
        self._emit(OutputDelta(text, None, so_far))

    def _flush(self) -> None:
        """Pass on what was held back, as text: it is no answer."""
        if self._head:
            self._emit(TextDelta(self._head))
        self._head = None


_ANSWER = pattern(r"\s*+(?:```[A-Za-z]*+\n\s*+)?+\{")
"""The beginning of an answer, with a code fence around it or none."""
_UNDECIDED = pattern(r"\s*+(?:`{0,3}|```[A-Za-z]*+(?:\n\s*+)?)")
"""What may become the beginning of an answer."""


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
