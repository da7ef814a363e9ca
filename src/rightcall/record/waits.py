"""Work on a file that may have to wait: for another's lock, for the disk, for a long read.

It is written once, as a generator that yields what it waits for, and run in two ways: by code that may
block, and on an event loop, which keeps running meanwhile. No step waits for a lock by itself: it raises
``Busy``, and is tried again. So a wait can be cancelled between two tries, when nothing is under way,
and a step that has begun always finishes.
"""

import asyncio
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any, TypeAlias, TypeVar

from rightcall.errors import JournalLocked

T = TypeVar("T")
Waiting: TypeAlias = Generator[float | Callable[[], Any], Any, T]
"""Yields seconds to wait, or a slow function to call, and is sent that function's result."""

PATIENCE = 30.0
"""Seconds to wait for another process that writes."""
_FIRST_PAUSE = 0.001
_LONGEST_PAUSE = 0.05


class Busy(Exception):
    """Somebody else has the file locked. Nothing was done; try again."""


def retry_while_busy(attempt: Callable[[], T], path: Path, *, slow: bool = False) -> Waiting[T]:
    """Try until nobody else has the file locked; JournalLocked when that takes too long.

    ``slow``: the work itself may take long too, such as waiting for the disk.
    """
    begun = time.monotonic()
    pause = _FIRST_PAUSE
    while True:
        try:
            return (yield attempt) if slow else attempt()
        except Busy:
            waited = time.monotonic() - begun
            if waited >= PATIENCE:
                reason = f"still locked by somebody else after {waited:.0f} s; find out who writes to it"
                raise JournalLocked(str(path), reason, seconds=waited) from None
        yield pause
        pause = min(pause * 2, _LONGEST_PAUSE)


def run_blocking(work: Waiting[T]) -> T:
    """Run the work here, blocking."""
    value: Any = None
    error: BaseException | None = None
    try:
        while True:
            step = work.send(value) if error is None else work.throw(error)
            value = error = None
            if callable(step):
                try:
                    value = step()
                except BaseException as raised:  # noqa: BLE001 - for the work to see
                    error = raised
            else:
                time.sleep(step)
    except StopIteration as ended:
        return ended.value  # type: ignore[no-any-return]
    finally:
        work.close()


async def run_async(work: Waiting[T]) -> T:
    """Run the work without blocking the event loop. A cancellation ends a wait, but never a write."""
    value: Any = None
    error: BaseException | None = None
    try:
        while True:
            step = work.send(value) if error is None else work.throw(error)
            value = error = None
            if callable(step):
                try:
                    value = await off_loop(step)
                except Exception as raised:  # noqa: BLE001 - for the work to see
                    error = raised
            else:
                await asyncio.sleep(step)
    except StopIteration as ended:
        return ended.value  # type: ignore[no-any-return]
    finally:
        work.close()


async def off_loop(function: Callable[[], T], room: str = "journal") -> T:
    """Run a function in a thread of its own. A cancelled caller waits until it has ended.

    The thread is a daemon and belongs to no pool: it does not delay the exit of the process, and no fork
    misses it.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[T] = loop.create_future()

    def work() -> None:
        try:
            value = function()
        except BaseException as error:  # noqa: BLE001 - for whoever awaits
            tell = ended.set_exception
            told = error
        else:
            tell, told = ended.set_result, value  # type: ignore[assignment]
        with suppress(RuntimeError):  # the event loop has closed, and the waiter with it
            loop.call_soon_threadsafe(tell, told)

    Thread(target=work, name=f"rightcall: {room}", daemon=True).start()
    cancelled: asyncio.CancelledError | None = None
    while not ended.done():
        try:
            await asyncio.wait((ended,))
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        ended.exception()  # retrieved, so that asyncio does not log it
        raise cancelled
    return ended.result()
