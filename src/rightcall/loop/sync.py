"""A coroutine into its value, from code that cannot await: also where an event loop already runs.

One event loop in one daemon thread serves every such call, so that connections outlive a run.
"""

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from rightcall.errors import UsageError

T = TypeVar("T")


class _Background:
    """An event loop in a thread of its own, started when it is first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                name = "rightcall: run_sync"
                threading.Thread(target=self._loop.run_forever, name=name, daemon=True).start()
            return self._loop


_background = _Background()


def _begin_anew() -> None:
    global _background  # noqa: PLW0603 - in a forked child the thread is gone
    _background = _Background()


os.register_at_fork(after_in_child=_begin_anew)


def run_sync(coroutine: Coroutine[Any, Any, T]) -> T:
    """Wait for a coroutine. Interrupting the wait cancels it."""
    loop = _background.loop()
    if threading.current_thread().name == "rightcall: run_sync":
        coroutine.close()
        raise UsageError("run_sync inside a run that run_sync started would wait for itself; use await")
    future = asyncio.run_coroutine_threadsafe(coroutine, loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise
