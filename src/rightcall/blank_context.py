"""An empty context for timers to be called in.

A timer keeps its context for as long as the event loop keeps the timer, even one that was cancelled. In
that of a run it would keep all that the run has set. The timers of a thread share one, so that not each
of a thousand runs that wait has its own; two threads cannot enter the same.
"""

from contextvars import Context
from threading import local


class _ThreadContext(local):
    def __init__(self) -> None:
        self.context = Context()


BLANK = _ThreadContext()
"""``BLANK.context`` is this thread's; for callbacks that set no variable and call nobody else's code."""
