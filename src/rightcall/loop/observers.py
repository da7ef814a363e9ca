"""Calls observers around runs, model requests and tool calls; an observer that fails does no harm."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, ClassVar, Protocol, Self

from msgspec.structs import replace

from rightcall.core.entry import RunResumed, RunStarted
from rightcall.core.message import Reply
from rightcall.core.parts import Usage
from rightcall.core.ports import AroundObserver, CallEnd, End, Lasting, RunSegment, SegmentEnd, Watch
from rightcall.gate.execution import Execution
from rightcall.log import logger
from rightcall.loop.settings import Setup
from rightcall.loop.state import State, total_usage
from rightcall.record.steps import recorded_entry


class ObservedSpan(Protocol):
    """A run, request or call that observers are around, as the code that carries it out sees it."""

    @property
    def trace(self) -> str:
        """The observers' id for it outside this process."""
        ...

    def set_end(self, end: End, /) -> None:
        """Set how it ended. Observers are told when the context is left."""
        ...


class _UnobservedSpan:
    """Stands in when there are no observers."""

    trace = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def set_end(self, _: End) -> None:
        """Does nothing."""


_UNWATCHED = _UnobservedSpan()


class _ObserverSpan:
    """Calls the observers on entry and exit, in one task, so that context they set is reset."""

    __slots__ = ("_end", "_lasting", "_observers", "_watches", "trace")
    _failed: ClassVar[set[tuple[type, type]]] = set()
    """Types of observers and of errors that are logged already: one that fails each time would fill the
    log."""

    def __init__(self, observers: Sequence[AroundObserver], lasting: Lasting) -> None:
        self._observers = observers
        self._lasting = lasting
        self._watches: list[tuple[AroundObserver, Watch]] = []
        self._end: End | None = None
        self.trace = ""

    def __enter__(self) -> Self:
        for observer in self._observers:
            try:
                watch = observer.around(self._lasting)
                if watch is not None:
                    self._watches.append((observer, watch))
                    self.trace = self.trace or watch.trace
            except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - harms nobody
                # An observer's CancelledError does not mean that the run is cancelled.
                self._log(observer, error)
        return self

    def __exit__(
        self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None
    ) -> None:
        for observer, watch in reversed(self._watches):
            try:
                watch.end(self._end, error)
            except (Exception, asyncio.CancelledError) as failure:  # noqa: BLE001 - harms nobody
                self._log(observer, failure)

    def set_end(self, end: End) -> None:
        """Keep how it ended, for the observers when the context is left."""
        self._end = end

    def _log(self, observer: AroundObserver, error: BaseException) -> None:
        failure = type(observer), type(error)
        if failure not in self._failed:
            self._failed.add(failure)
            lasting = type(self._lasting).__name__
            logger.error("an observer around a %s failed", lasting, exc_info=error)


def around(
    observers: Sequence[AroundObserver], make: Callable[..., Lasting], *given: Any
) -> AbstractContextManager[ObservedSpan]:
    """Returns a context with the observers around it; calls ``make`` only if there are any."""
    if observers:
        return _ObserverSpan(observers, make(*given))
    return _UNWATCHED


def with_outer_observers(setup: Setup, outer: Setup) -> Setup:
    """Returns the setup of an inner run with the observers of the outer run before its own."""
    own = setup.around
    outer_only = [each for each in outer.around if each not in own]
    if not outer_only:
        return setup
    return replace(setup, around=(*outer_only, *own))


def segment(
    setup: Setup, state: State, first: RunStarted | RunResumed | None
) -> AbstractContextManager[ObservedSpan]:
    """Returns the context of a run from here to its end or its next pause."""
    traces = state.traces
    if isinstance(first, RunStarted):
        # A durable engine that repeats a run from its start has the first trace id on record.
        before = recorded_entry(setup.steps, "run.started")
        if isinstance(before, RunStarted) and before.trace:
            traces = (before.trace,)
        else:
            traces = ()
    return _ObserverSpan(
        setup.around,
        RunSegment(
            run=setup.run,
            agent=setup.agent,
            model=setup.model,
            messages=state.messages,
            system=setup.system,
            specs=setup.specs,
            options=setup.options,
            max_tokens=setup.max_tokens,
            wants_output=state.wanted is not None,
            traces=traces,
        ),
    )


def segment_end(before: State, after: State, stop: object) -> SegmentEnd:
    """Returns what happened in a segment that went from one state to the other."""
    said = after.messages[len(before.messages) :]
    return SegmentEnd(
        stop=stop,  # type: ignore[arg-type]
        usage=_spent(total_usage(before), total_usage(after)),
        replies=tuple([message for message in said if isinstance(message, Reply)]),
        calls=after.progress.calls - before.progress.calls,
    )


def _spent(before: Usage, after: Usage) -> Usage:
    if before.tokens:
        return after - before
    return after


def call_end(execution: Execution) -> CallEnd:
    """Returns a call's end as observers get it."""
    return CallEnd(execution.outcome, execution.result, execution.seconds, execution.attempts)


def with_trace(first: RunStarted | RunResumed | None, trace: str) -> RunStarted | RunResumed | None:
    """Returns a segment's first entry with the observers' trace id."""
    if first is None or not trace:
        return first
    return replace(first, trace=trace)
