"""A coroutine and a deadline into a value, without a task of its own.

The coroutine is driven in the caller's task, so a tool that never waits costs no timer and no turn of
the event loop; it has its own context variables all the same. When time is up it is cancelled; one that goes on all the same is set adrift in a task
of its own after a grace, and whoever waited for it goes on.
"""

import asyncio
from collections.abc import Coroutine, Generator
from contextvars import Context, copy_context
from typing import Any

GRACE = 1.0
"""Seconds that a cancelled coroutine has to clean up."""

_adrift: set[asyncio.Task[None]] = set()


class DeadlinePassed(Exception):  # noqa: N818 - caught one call further up, never by a user
    """Time is up. ``abandoned`` when the work could not be stopped."""

    def __init__(self, *, abandoned: bool) -> None:
        super().__init__()
        self.abandoned = abandoned


class CancelledInside(Exception):  # noqa: N818 - the same
    """The coroutine ended as cancelled, though nobody cancelled whoever awaits it."""


def adrift() -> int:
    """How many coroutines that ignored their cancellation are still running."""
    return len(_adrift)


async def drive(coroutine: Coroutine[Any, Any, Any], seconds: float) -> Any:
    """Run to the end, or for so many seconds."""
    context = copy_context()
    try:
        waiting = context.run(coroutine.send, None)
    except StopIteration as stop:
        return stop.value
    except asyncio.CancelledError as error:
        raise CancelledInside from error
    rest = _Rest(coroutine, context, waiting)
    try:
        async with asyncio.timeout(seconds) as scope:
            return await rest
    except TimeoutError:
        if scope.expired():
            raise DeadlinePassed(abandoned=rest.abandoned) from None
        raise
    except asyncio.CancelledError as error:
        if rest.is_cancelled():
            raise
        raise CancelledInside from error


class _Rest:
    """What is left of a coroutine after its first step."""

    def __init__(
        self, coroutine: Coroutine[Any, Any, Any], context: Context, waiting: Any
    ) -> None:
        self._coroutine = coroutine
        self._context = context
        self._waiting = waiting
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._cancellations = task.cancelling()
        self.abandoned = False

    def is_cancelled(self) -> bool:
        """Whether the task was asked to stop since the coroutine began."""
        return self._task.cancelling() > self._cancellations

    def __await__(self) -> Generator[Any, Any, Any]:
        task = self._task
        last_call: asyncio.TimerHandle | None = None
        try:
            while True:
                try:
                    yield self._waiting
                except GeneratorExit:
                    self._coroutine.close()
                    raise
                except BaseException as error:  # noqa: BLE001 - it belongs to the coroutine
                    self._waiting = self._context.run(self._coroutine.throw, error)
                else:
                    self._waiting = self._context.run(self._coroutine.send, None)
                if not self.is_cancelled():
                    continue
                # Cancelled, and still waiting for something: cleaning up, or ignoring us.
                if last_call is None:
                    last_call = asyncio.get_running_loop().call_later(GRACE, task.cancel)
                elif task.cancelling() > self._cancellations + 1:
                    task.uncancel()
                    self._abandon()
                    raise asyncio.CancelledError
        except StopIteration as stop:
            return stop.value
        finally:
            if last_call is not None:
                last_call.cancel()

    def _abandon(self) -> None:
        self.abandoned = True
        task = asyncio.get_running_loop().create_task(self._drift(), name="toolwright: abandoned")
        _adrift.add(task)
        task.add_done_callback(_adrift.discard)

    async def _drift(self) -> None:
        """Let an abandoned coroutine come to its end, whatever that is; nobody listens any more."""
        try:
            await _Rest(self._coroutine, self._context, self._waiting)
        except Exception:  # noqa: BLE001, S110 - its call was answered long ago
            pass
