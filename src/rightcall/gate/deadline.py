"""A coroutine under a deadline, in a task of its own.

When time is up the task is cancelled. One that goes on regardless is set adrift after a grace, and
whoever waited for it goes on.
"""

import asyncio
import os
import signal
import threading
from collections.abc import Coroutine, Generator
from traceback import walk_tb
from typing import Any, TypeAlias

from rightcall.core.handler import unwrap

GRACE = 1.25
"""Seconds that a cancelled coroutine has to clean up: more than the second that a command has to end."""

Task: TypeAlias = asyncio.Task[Any]
_adrift: set[Task] = set()


class DeadlinePassed(Exception):
    """Time is up. ``abandoned`` when the work could not be stopped."""

    def __init__(self, *, abandoned: bool) -> None:
        super().__init__()
        self.abandoned = abandoned


class CancelledInside(Exception):
    """The coroutine ended as cancelled, though nobody cancelled whoever awaits it."""


class WrappedBaseException(Exception):
    """What a tool raised that is no Exception, as one. It is the cause.

    asyncio lets some of those out of the event loop, whoever else is in it.
    """

    def __init__(self) -> None:
        super().__init__("raised by the tool")


def adrift() -> int:
    """How many coroutines that ignored their cancellation are still running."""
    return len(_adrift)


async def within(seconds: float, coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine: its value, or after so many seconds DeadlinePassed.

    When the caller is cancelled so is the coroutine, which has the rest of its time to clean up; the
    caller ends as cancelled, whatever the coroutine made of that.
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
            # The caller's own: anyio's scopes know by its words that they are meant.
            raise cancelled
        return _result(task, expired=expired)
    finally:
        # An exception of the task leads to this frame, which must not lead back to it.
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
    """Wait until a task ends or time is up; how the caller was cancelled, and the task with it.

    asyncio.wait does this for several tasks and at twice the price, which each call of a tool would pay.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    cancelled: asyncio.CancelledError | None = None
    try:
        while True:
            waiter = work.waiter = loop.create_future()
            timer = loop.call_at(end, work.wake)
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
        del cancelled  # which leads to this frame


async def _stop(task: Task, work: "_Work") -> asyncio.CancelledError | None:
    """Cancel a task, or set it adrift; how the caller was cancelled meanwhile, if it was."""
    cancelled: asyncio.CancelledError | None = None
    try:
        for grace in (GRACE, GRACE / 20):
            # Some obey only the second time.
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
    """So that asyncio does not complain of an exception that nobody looks at."""
    if task.done() and not task.cancelled():
        task.exception()


def _leaves(task: Task) -> bool:
    """Whether a task ended with the wish to end the program, which goes before a cancellation."""
    _take_exception(task)
    return task.done() and not task.cancelled() and isinstance(task.exception(), _Leaves)


class _Leaves(Exception):
    """The coroutine wants to end the program.

    That is raised where it was awaited: raised in a task of its own, it would stop the event loop there
    and then, and nobody could tidy up.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


class _Work(Coroutine[Any, Any, Any]):
    """A tool's coroutine, looked after whenever it hands back to the event loop."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._coroutine = coroutine
        self._process = os.getpid()
        self.adrift = False
        self.waiter: asyncio.Future[None] | None = None
        """Whoever waits for the end. Woken in the last step itself: a callback of the task would do it
        one turn of the event loop later."""

    def wake(self) -> None:
        """Tell whoever waits that the end has come, or that time is up."""
        waiter = self.waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def send(self, value: Any) -> Any:
        """Take a step. A child that the tool forked goes no further."""
        try:
            return self._coroutine.send(value)
        except BaseException as raised:
            self._ended(raised)
            raise
        finally:
            leave_if_forked(self._process)

    def throw(self, *error: Any) -> Any:
        """Take a step that begins with an exception: a cancellation, mostly."""
        try:
            waiting = self._coroutine.throw(*error)
        except BaseException as raised:
            self._ended(raised)
            raise
        finally:
            leave_if_forked(self._process)
            del error  # which leads to this frame
        if self.adrift:
            # asyncio.run cancels every task at its end and waits until they have stopped. One that
            # has ignored that already would keep the process from ending.
            self.close()
            raise asyncio.CancelledError
        return waiting

    def _ended(self, raised: BaseException) -> None:
        """Wake whoever waits. What is no Exception becomes one: asyncio would let it out of the loop."""
        self.wake()
        if isinstance(raised, Exception | asyncio.CancelledError) or self.adrift:
            return
        if _goes_up(raised):
            raise _Leaves(raised) from None
        raise WrappedBaseException from raised

    def close(self) -> None:
        """End it where it stands."""
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._coroutine.__await__()

    def __getattr__(self, name: str) -> Any:
        """Whatever else a coroutine tells: asyncio shows where it stands, anyio asks if it began."""
        return getattr(self._coroutine, name)


def _goes_up(error: BaseException) -> bool:
    """Whether what came out of a tool is not the tool's: Ctrl-C, or a signal handler's exit.

    Python runs signal handlers in the main thread, in the middle of whatever is there. A
    KeyboardInterrupt there is taken for Ctrl-C, whose own handler leaves no frame to know it by.
    """
    if threading.current_thread() is not threading.main_thread():
        return False
    return isinstance(error, KeyboardInterrupt) or _is_raised_by_a_signal(error)


def _is_raised_by_a_signal(error: BaseException) -> bool:
    handlers = (signal.getsignal(number) for number in signal.valid_signals())
    codes = {getattr(unwrap(each), "__code__", None) for each in handlers if callable(each)} - {None}
    return any(frame.f_code in codes for frame, _ in walk_tb(error.__traceback__))


def leave_if_forked(process: int) -> None:
    """End a child that a tool forked and let return: there must not be two of this run.

    ``process`` is the id of the process that the call began in.
    """
    if os.getpid() != process:
        os._exit(0)
