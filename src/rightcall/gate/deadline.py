"""Runs a coroutine under a deadline, in a task of its own.

When time is up the task is cancelled. One that ignores its cancellation is abandoned after a grace
period, and the caller goes on.
"""

import asyncio
import os
import signal
import threading
from collections.abc import Coroutine, Generator
from traceback import walk_tb
from typing import Any, TypeAlias

from rightcall.blank_context import blank_context
from rightcall.core.handler import unwrap

GRACE = 1.25
"""Seconds that a cancelled coroutine has to clean up: more than the 1 second that a command has to
end."""

Task: TypeAlias = asyncio.Task[Any]
_adrift: set[Task] = set()
_ORDINARY = (Exception, asyncio.CancelledError)
"""What a task may end with, and the event loop goes on. StopIteration is one: it ends every call."""


class DeadlinePassed(Exception):
    """The deadline passed. ``abandoned`` is true when the work could not be stopped."""

    def __init__(self, *, abandoned: bool) -> None:
        super().__init__()
        self.abandoned = abandoned


class CancelledInside(Exception):
    """The coroutine raised CancelledError, though its caller was not cancelled."""


class WrappedBaseException(Exception):
    """Wraps an exception of a tool that is not a subclass of Exception; that one is the cause.

    asyncio lets some of those stop the event loop, and everything else that runs on it.
    """

    def __init__(self) -> None:
        super().__init__("raised by the tool")


def adrift() -> int:
    """Returns how many coroutines that ignored their cancellation are still running."""
    return len(_adrift)


async def within(seconds: float, coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Await a coroutine and return its value; raise DeadlinePassed after so many seconds.

    If the caller is cancelled, the coroutine is cancelled too and has the rest of its time to clean up.
    The caller then raises CancelledError, whatever the coroutine did with its own.
    """
    work = _Work(coroutine)
    task = asyncio.get_running_loop().create_task(work)
    cancelled: asyncio.CancelledError | None = None
    try:
        cancelled = await _wait(task, work, seconds)
        expired = not task.done()
        if expired:
            again = await _stop(task, work)
            cancelled = cancelled or again
            del again
        if cancelled is not None and not _leaves(task):
            # The caller's own CancelledError: anyio's cancel scopes recognise theirs by its message.
            raise cancelled
        return _result(task, expired=expired)
    finally:
        # The task's exception refers to this frame; without these references there is no cycle.
        del task, cancelled


def _result(task: Task, *, expired: bool) -> Any:
    try:
        if not task.done():
            raise DeadlinePassed(abandoned=True)
        return task.result()
    except (TimeoutError, asyncio.CancelledError) as error:
        if expired:
            raise DeadlinePassed(abandoned=False) from None
        if isinstance(error, asyncio.CancelledError):
            raise CancelledInside from error
        raise
    except _Leaves as leaving:
        raise leaving.error from None
    finally:
        del task


async def _wait(task: Task, work: "_Work", seconds: float) -> asyncio.CancelledError | None:
    """Wait until a task ends or time is up; if the caller is cancelled, cancel the task.

    Returns the caller's CancelledError, if any. asyncio.wait handles several tasks and costs twice as
    much, which every tool call would pay.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    cancelled: asyncio.CancelledError | None = None
    try:
        while True:
            waiter = work.waiter = loop.create_future()
            # A cancelled timer stays with the event loop for a while, and with it its context.
            timer = loop.call_at(end, work.wake, context=blank_context())
            try:
                await waiter
            except asyncio.CancelledError as error:
                cancelled = cancelled or error
                task.cancel()
            except GeneratorExit:
                task.cancel()
                raise
            finally:
                timer.cancel()
            if task.done() or loop.time() >= end:
                return cancelled
    finally:
        del cancelled  # its traceback refers to this frame


async def _stop(task: Task, work: "_Work") -> asyncio.CancelledError | None:
    """Cancel a task, or abandon it; returns the caller's CancelledError, if it was cancelled."""
    cancelled: asyncio.CancelledError | None = None
    try:
        for grace in (GRACE, GRACE / 20):
            # Some tasks stop only at the second cancellation.
            task.cancel()
            again = await _wait(task, work, grace)
            cancelled = cancelled or again
            del again
            if task.done():
                return cancelled
        _set_adrift(task, work)
        return cancelled
    finally:
        del cancelled


def _set_adrift(task: Task, work: "_Work") -> None:
    work.adrift = True
    task.set_name("rightcall: abandoned")
    _adrift.add(task)
    task.add_done_callback(_adrift.discard)
    task.add_done_callback(_take_exception)


def _take_exception(task: Task) -> None:
    """Retrieve the exception, so that asyncio does not log it as never retrieved."""
    if task.done() and not task.cancelled():
        task.exception()


def _leaves(task: Task) -> bool:
    """Whether a task ended with an exception that ends the program, which precedes a cancellation."""
    _take_exception(task)
    return task.done() and not task.cancelled() and isinstance(task.exception(), _Leaves)


class _Leaves(Exception):
    """The coroutine raised an exception that ends the program: Ctrl-C or a signal handler's exit.

    It is raised again where the coroutine was awaited: raised in a task, it would stop the event loop at
    once, and nothing could clean up.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


class _Work(Coroutine[Any, Any, Any]):
    """Wraps a tool's coroutine, to check it at each step and to wake the waiter when it ends."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._coroutine = coroutine
        self._process = os.getpid()
        self.adrift = False
        self.waiter: asyncio.Future[None] | None = None
        """The future that the caller waits on. It is set in the coroutine's last step itself: a done
        callback of the task would come one turn of the event loop later."""

    def wake(self) -> None:
        """Wake the waiter: the coroutine ended, or time is up."""
        waiter = self.waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def send(self, value: Any) -> Any:
        """Run one step. If the tool forked, the child process exits here."""
        try:
            return self._coroutine.send(value)
        except BaseException as raised:
            self._ended(raised)
            raise
        finally:
            leave_if_forked(self._process)

    def throw(self, *error: Any) -> Any:
        """Run one step that starts by raising an exception, mostly a cancellation."""
        try:
            waiting = self._coroutine.throw(*error)
        except BaseException as raised:
            self._ended(raised)
            raise
        finally:
            leave_if_forked(self._process)
            del error  # its traceback refers to this frame
        if self.adrift:
            # At its end asyncio.run cancels every task and waits until it has stopped. A task that
            # ignored its cancellation before would keep the process from ending.
            self.close()
            raise asyncio.CancelledError
        return waiting

    def _ended(self, raised: BaseException) -> None:
        """Wake the waiter, and wrap what is no Exception: asyncio would let it stop the event loop."""
        self.wake()
        if isinstance(raised, _ORDINARY) or self.adrift:
            return
        if _goes_up(raised):
            raise _Leaves(raised) from None
        raise WrappedBaseException from raised

    def close(self) -> None:
        """Close the coroutine where it is suspended."""
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._coroutine.__await__()

    def __getattr__(self, name: str) -> Any:
        """Forwards other attributes: asyncio shows where the coroutine is, anyio asks if it started."""
        return getattr(self._coroutine, name)


def _goes_up(error: BaseException) -> bool:
    """Whether an exception is not the tool's own but Ctrl-C or a signal handler's exit.

    Python runs signal handlers in the main thread, in the middle of whatever runs there. A
    KeyboardInterrupt in that thread counts as Ctrl-C, because its default handler leaves no frame to
    recognise it by.
    """
    if threading.current_thread() is not threading.main_thread():
        return False
    return isinstance(error, KeyboardInterrupt) or _is_raised_by_a_signal(error)


def _is_raised_by_a_signal(error: BaseException) -> bool:
    handlers = (signal.getsignal(number) for number in signal.valid_signals())
    codes = {getattr(unwrap(each), "__code__", None) for each in handlers if callable(each)} - {None}
    return any(frame.f_code in codes for frame, _ in walk_tb(error.__traceback__))


def leave_if_forked(process: int) -> None:
    """Exit if this is a child process that a tool forked: a run must not go on in two processes.

    ``process`` is the id of the process that the call began in.
    """
    if os.getpid() != process:
        os._exit(0)
