"""Runs a coroutine in its caller's task, and from that task's cancellation on in one of its own.

The SDK's cancellation is repeated at every await, and no tool could clean up under that. A task for
every call would protect it too, but takes two more turns of the event loop, and few are cancelled.
"""

import asyncio
from collections.abc import Coroutine, Generator
from types import coroutine as awaitable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Handover(Generic[T]):
    """Runs a coroutine. If its caller is cancelled, ``task`` goes on with it, cancelled once."""

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._work = work
        self.task: asyncio.Task[T] | None = None

    async def run(self) -> T:
        """The coroutine's value. Raises CancelledError if the caller was cancelled."""
        return await self._steps(None)

    async def _rest(self, error: asyncio.CancelledError) -> T:
        return await self._steps(error)

    @awaitable
    def _steps(self, error: BaseException | None) -> Generator[Any, Any, T]:
        """Run the coroutine step by step, the first of which may begin with an exception."""
        while True:
            try:
                waiting = self._work.send(None) if error is None else self._work.throw(error)
            except StopIteration as end:
                value: T = end.value
                return value
            error = None
            try:
                yield waiting
            except asyncio.CancelledError as cancelled:
                if self.task is None and _is_caller_cancelled():
                    self.task = asyncio.get_running_loop().create_task(self._rest(cancelled))
                    raise
                # What it waits for was cancelled, or its own task.
                error = cancelled
            except BaseException as raised:  # noqa: BLE001 - what it waits for has failed
                error = raised


def _is_caller_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
