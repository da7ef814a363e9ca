"""Coroutines into their values for code that cannot await: an event loop in a daemon thread.

Synchronous runs and synchronous MCP connections share this. The loop is closed when it is stopped, and
when the interpreter exits at the latest, without a word; in a forked child it begins anew.
"""

import asyncio
import atexit
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from rightcall.errors import UsageError

T = TypeVar("T")

_CANCEL_SECONDS = 2.0
"""How long cancelled tasks have to end, when the loop is stopped."""
_JOIN_SECONDS = _CANCEL_SECONDS + 1.0
"""A thread that has not ended by then is left behind: a daemon does not hold up the exit."""


class Background:
    """An event loop in a daemon thread, started when it is first needed."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Wait for a coroutine there. Interrupting the wait cancels it."""
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise UsageError(
                f"{self._name} inside something that it runs would wait for itself; use await"
            )
        # Under the lock: a loop that is stopped meanwhile would never run what it is given.
        with self._lock:
            future = asyncio.run_coroutine_threadsafe(coroutine, self._started())
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def stop(self) -> None:
        """Cancel what is left there, close the loop and end its thread, in bounded time."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        _running.discard(self)
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(_JOIN_SECONDS)

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=_serve, args=(self._loop,), name=f"rightcall: {self._name}", daemon=True
            )
            self._thread.start()
            _running.add(self)
        return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    # The thread that ran the loop closes it, in the order of asyncio.run: tasks, then generators. Not
    # asyncio.Runner, which would also wait for the threads of tools that do not return.
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        loop.run_until_complete(_cancel_all())
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        ended, _ = await asyncio.wait(tasks, timeout=_CANCEL_SECONDS)
        for task in ended:
            # Asked for, so that asyncio does not complain that nobody did: nobody is there any more.
            if not task.cancelled():
                task.exception()


def run_sync(coroutine: Coroutine[Any, Any, T]) -> T:
    """Wait for a coroutine, also where an event loop already runs. Interrupting the wait cancels it.

    One loop serves every such call, so that connections outlive a run.
    """
    return _runs.run(coroutine)


_running: set[Background] = set()
_runs = Background("run_sync")


@atexit.register
def _stop_all() -> None:
    for background in tuple(_running):
        background.stop()


def _begin_all_anew() -> None:
    # A forked child has no thread but its own. The loop is dropped and not closed: it shares its epoll
    # instance with the parent's, and closing it would take the parent's descriptors out of that.
    for background in tuple(_running):
        background._begin_anew()  # noqa: SLF001
    _running.clear()


os.register_at_fork(after_in_child=_begin_all_anew)
