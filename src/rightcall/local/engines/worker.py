"""A function that blocks into something to wait for, in a thread that holds nobody up.

The threads are daemons: a model that still loads or generates must not keep the process from ending.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def start(function: Callable[[], T], name: str) -> "Future[T]":
    """Run ``function`` in a thread of its own; what it gives or raises is the future's."""
    future: Future[T] = Future()
    # Whoever stops waiting does not stop the others: a future that runs cannot be cancelled.
    future.set_running_or_notify_cancel()

    def work() -> None:
        try:
            value = function()
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits
            future.set_exception(error)
        else:
            future.set_result(value)

    threading.Thread(target=work, name=f"rightcall: {name}", daemon=True).start()
    return future


async def wait_for(future: "Future[T]") -> T:
    """What a future comes to, without blocking; being cancelled leaves it running."""
    return await asyncio.wrap_future(future)
