"""A coroutine under a deadline, in a task of its own.

When time is up the task is cancelled. One that goes on regardless is set adrift after a grace, and
whoever waited for it goes on.
"""

import asyncio
import os
from collections.abc import Coroutine, Generator
from typing import Any, TypeAlias

GRACE = 1.0
"""Seconds that a cancelled coroutine has to clean up."""

Task: TypeAlias = asyncio.Task[Any]
_adrift: set[Task] = set()


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
        except (KeyboardInterrupt, SystemExit) as error:
            self.wake()
            if self.adrift:
                raise
            raise _Leaves(error) from None
        except BaseException:
            self.wake()
            raise
        finally:
            leave_if_forked(self._process)

    def throw(self, *error: Any) -> Any:
        """Take a step that begins with an exception: a cancellation, mostly."""
        try:
            waiting = self._coroutine.throw(*error)
        except (KeyboardInterrupt, SystemExit) as leaving:
            self.wake()
            if self.adrift:
                raise
            raise _Leaves(leaving) from None
        except BaseException:
            self.wake()
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

    def close(self) -> None:
        """End it where it stands."""
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._coroutine.__await__()

    def __getattr__(self, name: str) -> Any:
        """Whatever else a coroutine tells: asyncio shows where it stands, anyio asks if it began."""
        return getattr(self._coroutine, name)


def leave_if_forked(process: int) -> None:
    """End a child that a tool forked and let return: there must not be two of this run.

    ``process`` is the id of the process that the call began in.
    """
    if os.getpid() != process:
        os._exit(0)
