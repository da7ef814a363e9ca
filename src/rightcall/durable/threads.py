"""Threads for database queries, for code that must not depend on a database library itself."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from rightcall.gate.threads import Job as ThreadJob
from rightcall.gate.threads import Threads

_THREADS = Threads()
"""Separate from those of tools and of asyncio: while a database is away, they all wait for it."""
R = TypeVar("R")


async def in_thread(function: Callable[..., R], *arguments: Any, **options: Any) -> R:
    """Run a database query in a thread, so that it does not block the event loop."""
    found: R = await _THREADS.run(partial(function, *arguments, **options), ThreadJob())
    return found
