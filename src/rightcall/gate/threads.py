"""Functions that block, in threads that can be given up.

The threads are daemons: one that never ends holds up neither the event loop nor the end of the
process. A thread cannot be killed, so a job that is given up goes on unheard; it is counted until it
ends, and told so through ``Job.abandoned`` if it asks.
"""

import asyncio
import contextvars
import os
import threading
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

from rightcall.errors import ToolFailure
from rightcall.gate.deadline import WrappedBaseException, leave_if_forked
from rightcall.platforms import after_fork

IDLE_SECONDS = 10.0
MAX_ABANDONED = 64
"""Stuck threads beyond which no new ones are started."""
MOST = 128
"""Tools' functions that block, running at once in this process. Others wait, and no clock runs."""


class Job:
    """One function on its way through a thread."""

    def __init__(self) -> None:
        self.abandoned = False
        self.done = False

    def is_abandoned(self) -> bool:
        """Whether nobody waits for it any more, though it still runs."""
        return self.abandoned and not self.done


async def granted(waiter: "asyncio.Future[None]", release: Callable[[], None]) -> None:
    """Wait for a slot. One that came just as the wait was cancelled is given back."""
    try:
        await waiter
    except asyncio.CancelledError:
        if waiter.done() and not waiter.cancelled():
            release()
        raise


class ThreadSlots:
    """So many slots for all event loops of the process, in the order they were asked for."""

    def __init__(self, size: int) -> None:
        self._lock = threading.Lock()
        self._free = size
        self._waiting: deque[asyncio.Future[None]] = deque()

    def acquire_free(self) -> bool:
        """Take a slot if one is free now."""
        with self._lock:
            if self._free and not self._waiting:
                self._free -= 1
                return True
        return False

    async def acquire(self) -> None:
        """Take a slot, waiting for it."""
        if self.acquire_free():
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._lock:
            self._waiting.append(waiter)
        # One may have come back in between, when nobody was seen to wait.
        self._hand_on()
        await granted(waiter, self.release)

    def release(self) -> None:
        """Give a slot back, to whoever has waited longest."""
        with self._lock:
            self._free += 1
        self._hand_on()

    def _hand_on(self) -> None:
        while True:
            with self._lock:
                if not self._free or not self._waiting:
                    return
                self._free -= 1
                waiter = self._waiting.popleft()
            try:
                waiter.get_loop().call_soon_threadsafe(self._give, waiter)
            except RuntimeError:
                # Its loop has closed: nobody waits there any more.
                with self._lock:
                    self._free += 1

    def _give(self, waiter: "asyncio.Future[None]") -> None:
        if waiter.done():
            self.release()
        else:
            waiter.set_result(None)


class Threads:
    """Daemon threads, reused, as many as there are jobs."""

    def __init__(self) -> None:
        self.slots = ThreadSlots(MOST)
        """For whoever starts jobs that may take long: a slot each, before they start."""
        self._lock = threading.Lock()
        self._idle: list[SimpleQueue[Callable[[], None]]] = []
        self._abandoned: set[Job] = set()

    @property
    def abandoned(self) -> int:
        """How many jobs were given up and are still running."""
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
                # A future refuses to carry it; a coroutine turns it into this too (PEP 479).
                error = RuntimeError("the function raised StopIteration")
                error.__cause__ = caught
            except (Exception, asyncio.CancelledError) as caught:  # noqa: BLE001 - for whoever awaits
                error = caught
            except BaseException as caught:  # noqa: BLE001 - for whoever awaits
                # Signals reach the main thread only: in this one every exit is the function's own.
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
    """Whether a tool's function that blocks has led here, through whatever threads and loops."""
    return _in_a_tool.get()


def current() -> Threads:
    """The threads of this process."""
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
        # The loop has closed: whoever waited is gone.
        return


_threads = Threads()
_in_a_tool = contextvars.ContextVar("rightcall: in a tool", default=False)


def _begin_anew() -> None:
    """In a forked child none of the parent's other threads exist."""
    global _threads  # noqa: PLW0603 - they stand for the process itself
    _threads = Threads()


after_fork(_begin_anew)
