"""Work on a file that may have to wait: for somebody else's lock, for the disk, for much to be read.

It is written once, as a generator that yields whatever it waits for, and carried out in two ways: by
code that may block, and on an event loop, which goes on turning meanwhile. Nothing that is carried out
waits for a lock by itself: it is ``Busy``, and is tried again. So a wait can be ended between two tries,
when nothing is under way, and what has begun is always brought to its end.
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
"""Yields seconds to wait, or something to do that may take long, and is sent what that gives."""

PATIENCE = 30.0
"""Seconds to wait for another process that writes."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.05


class Busy(Exception):
    """Somebody else has the file just now. Nothing was done; try again."""


def patiently(attempt: Callable[[], T], path: Path, *, slow: bool = False) -> Waiting[T]:
    """Try until nobody else has the file; JournalLocked when that takes too long.

    ``slow``: not only others may make it take long, but the work itself, as waiting for the disk does.
    """
    begun, pause = time.monotonic(), _FIRST_PAUSE
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


def blocking(work: Waiting[T]) -> T:
    """Carry it out here and now."""
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


async def awaited(work: Waiting[T]) -> T:
    """Carry it out while the event loop turns. A cancellation ends the wait, and no write halfway."""
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
    """What the function gives, from a thread of its own. Who is cancelled waits until it has ended.

    The thread is a daemon and no pool's: it holds up no end of a process, and no fork misses it.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[T] = loop.create_future()

    def work() -> None:
        try:
            value = function()
        except BaseException as error:  # noqa: BLE001 - for whoever awaits
            tell, told = ended.set_exception, error
        else:
            tell, told = ended.set_result, value  # type: ignore[assignment]
        with suppress(RuntimeError):  # the loop has closed: whoever waited is gone
            loop.call_soon_threadsafe(tell, told)

    Thread(target=work, name=f"rightcall: {room}", daemon=True).start()
    cancelled: asyncio.CancelledError | None = None
    while not ended.done():
        try:
            await asyncio.wait((ended,))
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        ended.exception()  # looked at, so that asyncio does not complain
        raise cancelled
    return ended.result()
