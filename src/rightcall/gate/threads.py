"""Runs blocking functions in threads that can be abandoned.

The threads are daemons: one that never ends blocks neither the event loop nor the exit of the process. A
thread cannot be killed, so an abandoned job keeps running and its result is ignored. It is counted until
it ends, and can check ``Job.abandoned``.
"""

import asyncio
import contextvars
import os
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

from rightcall.errors import ToolFailure
from rightcall.gate.deadline import WrappedBaseException, leave_if_forked
from rightcall.gate.semaphores import ProcessSemaphore
from rightcall.platforms import after_fork

IDLE_SECONDS = 10.0
MAX_ABANDONED = 64
"""The number of stuck threads above which no new ones are started."""
MOST = 128
"""How many blocking tool functions run at once in this process. Others wait, without using up their
timeout."""


class Job:
    """One function that runs in a thread."""

    def __init__(self) -> None:
        self.abandoned = False
        self.done = False

    def is_abandoned(self) -> bool:
        """Whether it was abandoned and is still running."""
        return self.abandoned and not self.done


class Threads:
    """A pool of daemon threads that grows with the number of jobs."""

    def __init__(self) -> None:
        self.slots = ProcessSemaphore(MOST)
        """One is acquired before each job that may take long."""
        self._lock = threading.Lock()
        self._idle: list[SimpleQueue[Callable[[], None]]] = []
        self._abandoned: set[Job] = set()

    @property
    def abandoned(self) -> int:
        """Returns how many abandoned jobs are still running."""
        return len(self._abandoned)

    async def run(self, function: Callable[[], Any], job: Job) -> Any:
        """Run ``function`` in a thread. If this is cancelled, the job is abandoned."""
        if self.abandoned >= MAX_ABANDONED:
            words = "Too many earlier calls are stuck and still running; try again later."
            raise ToolFailure(words, own=True)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        context = contextvars.copy_context()
        process = os.getpid()

        def work() -> None:
            value: Any = None
            error: BaseException | None = None
            try:
                context.run(_in_a_tool.set, True)  # noqa: FBT003
                value = context.run(function)
            except StopIteration as caught:
                # A future cannot hold StopIteration; coroutines turn it into RuntimeError too (PEP 479).
                error = RuntimeError("the function raised StopIteration")
                error.__cause__ = caught
            except (Exception, asyncio.CancelledError) as caught:  # noqa: BLE001 - for whoever awaits
                error = caught
            except BaseException as caught:  # noqa: BLE001 - for whoever awaits
                # Signal handlers run in the main thread only, so here every exit is the function's own.
                error = WrappedBaseException()
                error.__cause__ = caught
            leave_if_forked(process)
            with self._lock:
                job.done = True
                self._abandoned.discard(job)
            if not job.abandoned:
                _tell(loop, future, value, error)

        self._start(work)
        try:
            return await future
        except asyncio.CancelledError:
            with self._lock:
                job.abandoned = True
                if not job.done:
                    self._abandoned.add(job)
            raise

    def _start(self, work: Callable[[], None]) -> None:
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
        if inbox is None:
            inbox = SimpleQueue()
            name = "rightcall: tool"
            threading.Thread(target=self._serve, args=(inbox,), name=name, daemon=True).start()
        inbox.put(work)

    def _serve(self, inbox: "SimpleQueue[Callable[[], None]]") -> None:
        while True:
            try:
                work = inbox.get(timeout=IDLE_SECONDS)
            except Empty:
                with self._lock:
                    if inbox in self._idle:
                        self._idle.remove(inbox)
                        return
                continue
            work()
            del work
            with self._lock:
                self._idle.append(inbox)


def in_a_tool() -> bool:
    """Whether this is called from a tool's blocking function, through any threads and event loops."""
    return _in_a_tool.get()


def current() -> Threads:
    """Returns the thread pool of this process."""
    return _threads


def _tell(
    loop: asyncio.AbstractEventLoop,
    future: "asyncio.Future[Any]",
    value: object,
    error: BaseException | None,
) -> None:
    def settle() -> None:
        if future.cancelled():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    try:
        loop.call_soon_threadsafe(settle)
    except RuntimeError:
        # The event loop has closed, and the waiter with it.
        return


_threads = Threads()
_in_a_tool = contextvars.ContextVar("rightcall: in a tool", default=False)


def _begin_anew() -> None:
    """Start with an empty pool in a forked child, where the parent's other threads do not exist."""
    global _threads  # noqa: PLW0603 - they stand for the process itself
    _threads = Threads()


after_fork(_begin_anew)
