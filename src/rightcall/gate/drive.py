"""A coroutine and a deadline into a value, without a task of its own.

The coroutine is driven in the caller's task, and only once it waits for something: a tool that never
does costs no timer and no turn of the event loop. It has its own context variables all the same. When
time is up it is cancelled; one that goes on regardless is set adrift in a task of its own after a
grace, and whoever waited for it goes on.
"""

import asyncio
import gc
import sys
from collections.abc import Coroutine, Generator
from contextlib import suppress
from contextvars import Context
from types import AsyncGeneratorType
from typing import Any

from rightcall.gate.threads import current, leave_if_forked

GRACE = 1.0
"""Seconds that a cancelled coroutine has to clean up."""

_GROUPS_FORGET = sys.version_info < (3, 13)
"""A task group that waits at its end when a child fails cancels its task and, before Python 3.13,
never takes that back (gh-116720). It must not pass for a cancellation from outside."""

_adrift: set[asyncio.Task[None]] = set()


class DeadlinePassed(Exception):
    """Time is up. ``abandoned`` when the work could not be stopped."""

    def __init__(self, *, abandoned: bool) -> None:
        super().__init__()
        self.abandoned = abandoned


class CancelledInside(Exception):
    """The coroutine ended as cancelled, though nobody cancelled whoever awaits it."""


def adrift() -> int:
    """How many coroutines that ignored their cancellation are still running."""
    return len(_adrift)


async def drive(
    coroutine: Coroutine[Any, Any, Any], context: Context, waiting: Any, seconds: float
) -> Any:
    """Run a coroutine that has taken its first step, in ``context``, and is waiting for something.

    Ends with its value, or after so many seconds with DeadlinePassed. When the caller is cancelled it
    ends as cancelled, whatever the coroutine made of that.
    """
    rest = _Rest(coroutine, context, waiting)
    try:
        async with asyncio.timeout(seconds) as deadline:
            rest.deadline = deadline
            value = await rest
    except (Exception, asyncio.CancelledError) as error:
        if rest.was_cancelled():
            raise asyncio.CancelledError from error
        if deadline.expired() and isinstance(error, TimeoutError | asyncio.CancelledError):
            raise DeadlinePassed(abandoned=rest.abandoned) from None
        if isinstance(error, asyncio.CancelledError):
            raise CancelledInside from error
        raise
    if rest.was_cancelled():
        raise asyncio.CancelledError
    return value


class _Rest:
    """What is left of a coroutine after its first step."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], context: Context, waiting: Any) -> None:
        self._coroutine = coroutine
        self._context = context
        self._waiting = waiting
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._cancellations = task.cancelling()
        self._left_standing = 0
        self._threads = current()
        self._last_call_made = False
        self.deadline: asyncio.Timeout | None = None
        self.abandoned = False

    def was_cancelled(self) -> bool:
        """Whether whoever drives was asked to stop since the coroutine began; asked at the end."""
        for _ in range(self._left_standing):
            self._task.uncancel()
        self._left_standing = 0
        return self._is_cancelled()

    def _is_cancelled(self) -> bool:
        return self._task.cancelling() > self._cancellations + self._left_standing

    def _must_end(self) -> bool:
        """Whether the coroutine has no right to go on.

        A task is cancelled by timeouts and task groups inside the coroutine too, which take that back
        once they have cleaned up, however long it takes. Only the deadline is surely not theirs.
        """
        return self._is_cancelled() if self.deadline is None else self.deadline.expired()

    def __await__(self) -> Generator[Any, Any, Any]:
        grace: asyncio.TimerHandle | None = None
        try:
            while True:
                try:
                    yield self._waiting
                except GeneratorExit:
                    self._coroutine.close()
                    raise
                except BaseException as error:  # noqa: BLE001 - it belongs to the coroutine
                    if _GROUPS_FORGET and _waits_for_a_failed_group(self._coroutine):
                        self._left_standing += 1
                    self._waiting = self._context.run(self._coroutine.throw, error)
                else:
                    self._waiting = self._context.run(self._coroutine.send, None)
                leave_if_forked(self._threads)
                if self._last_call_made:
                    self._abandon()
                    raise asyncio.CancelledError
                if grace is None and self._must_end():
                    # Cancelled, and still waiting for something: cleaning up, or ignoring us.
                    grace = asyncio.get_running_loop().call_later(GRACE, self._make_last_call)
        except StopIteration as stop:
            return stop.value
        finally:
            if grace is not None:
                grace.cancel()
            if self._last_call_made:
                self._task.uncancel()

    def _make_last_call(self) -> None:
        self._last_call_made = True
        self._task.cancel()

    def _abandon(self) -> None:
        self.abandoned = True
        task = asyncio.get_running_loop().create_task(self._drift(), name="rightcall: abandoned")
        _adrift.add(task)
        task.add_done_callback(_adrift.discard)

    async def _drift(self) -> None:
        """Let an abandoned coroutine come to its end, whatever that is; nobody listens any more."""
        with suppress(Exception):
            await _Rest(self._coroutine, self._context, self._waiting)


def _waits_for_a_failed_group(coroutine: Any) -> bool:
    """Whether a coroutine is at the end of a task group which has cancelled the task by itself."""
    inner = coroutine
    while inner is not None:
        if getattr(inner, "cr_code", None) is asyncio.TaskGroup.__aexit__.__code__:
            group = inner.cr_frame.f_locals["self"]
            return bool(group._parent_cancel_requested)  # noqa: SLF001 - nothing public tells
        for name in ("cr_await", "ag_await", "gi_yieldfrom"):
            if (awaited := getattr(inner, name, None)) is not None:
                break
        else:
            # What an async generator is awaited through names it nowhere else.
            found = (each for each in gc.get_referents(inner) if isinstance(each, AsyncGeneratorType))
            awaited = next(found, None)
        inner = awaited
    return False
