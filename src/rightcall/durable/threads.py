"""Threads in which databases are asked, for code that must not need a database's library itself."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from rightcall.gate.threads import Job as ThreadJob
from rightcall.gate.threads import Threads

_THREADS = Threads()
"""Apart from those of tools, and from asyncio's: while a database is away they all wait for it."""
R = TypeVar("R")


async def in_thread(function: Callable[..., R], *arguments: Any, **options: Any) -> R:
    """Ask the database something, where that holds up nobody else."""
    found: R = await _THREADS.run(partial(function, *arguments, **options), ThreadJob())
    return found
