"""The time limits that the requests and calls of one run share."""

import asyncio
from types import TracebackType
from typing import Self

from rightcall.blank_context import BLANK


class TimeLimits:
    """The time limits of one run, which share one timer of the event loop.

    Each request and each call has a limit, and hardly any is reached. Those of a run end at about the
    same time, so that the first one's timer serves them all. ``asyncio.timeout`` makes a timer and two
    coroutines each time, which takes twice as long.
    """

    __slots__ = ("_active", "_timer")

    def __init__(self) -> None:
        self._active: list[TimeLimit] = []
        self._timer: asyncio.TimerHandle | None = None

    def of(self, seconds: float | None) -> "TimeLimit":
        """Returns a limit for what is done in its context; None for none."""
        return TimeLimit(self, seconds)

    def add(self, limit: "TimeLimit", loop: asyncio.AbstractEventLoop) -> None:
        """Watch a limit that begins."""
        self._active.append(limit)
        self._wake_at(limit.end, loop)

    def remove(self, limit: "TimeLimit") -> None:
        """Stop watching a limit. The timer stays, for the next one."""
        self._active.remove(limit)

    def close(self) -> None:
        """Cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wake_at(self, end: float, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer is not None:
            if self._timer.when() <= end:
                return
            self._timer.cancel()
        # A timer keeps its context alive for a while, even if it is cancelled.
        self._timer = loop.call_at(end, self._look, context=BLANK.context)

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        # The event loop may call a little early, by the resolution of its clock.
        assert self._timer is not None
        now = max(loop.time(), self._timer.when())
        self._timer = None
        for limit in self._active:
            if limit.end <= now:
                limit.expire()
        later = [limit.end for limit in self._active if not limit.expired]
        if later:
            self._wake_at(min(later), loop)


class TimeLimit:
    """Cancels its body when time is up, and raises TimeoutError in place of that cancellation."""

    __slots__ = ("_before", "_limits", "_seconds", "_task", "end", "expired")

    def __init__(self, limits: TimeLimits, seconds: float | None) -> None:
        self._limits = limits
        self._seconds = seconds
        self._task: asyncio.Task[object] | None = None
        self._before = 0
        """How often the task had been cancelled before, which is not for this to answer."""
        self.end = 0.0
        """When time is up, by the event loop's clock."""
        self.expired = False
        """Whether time was up before the body ended."""

    def __enter__(self) -> Self:
        if self._seconds is not None:
            loop = asyncio.get_running_loop()
            task = self._task = asyncio.current_task(loop)
            assert task is not None
            self._before = task.cancelling()
            self.end = loop.time() + self._seconds
            self._limits.add(self, loop)
        return self

    def expire(self) -> None:
        """Cancel the body: time is up."""
        if self._task is not None and not self.expired:
            self.expired = True
            self._task.cancel()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        task = self._task
        self._task = None
        if task is None:
            return
        self._limits.remove(self)
        # Another cancellation of the same task must still reach it.
        if self.expired and task.uncancel() <= self._before and kind is asyncio.CancelledError:
            raise TimeoutError from error
