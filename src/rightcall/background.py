"""Runs coroutines for code that cannot await: an event loop in a daemon thread.

Synchronous runs and synchronous MCP connections share it. No coroutine can end the loop for the others,
and callers get an error if the loop breaks. It is closed when it is stopped, and at the latest when the
interpreter exits, silently; a forked child starts a new one.
"""

import asyncio
import atexit
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

from rightcall.errors import UsageError
from rightcall.log import logger
from rightcall.platforms import after_fork

T = TypeVar("T")


_CANCEL_SECONDS = 2.0
"""Seconds that cancelled tasks have to end when the loop is stopped."""
_JOIN_SECONDS = _CANCEL_SECONDS + 1.0
"""Seconds. A thread that has not ended by then is abandoned: a daemon does not delay the exit."""


class BackgroundLoop:
    """An event loop in a daemon thread, started on first use."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._lock = threading.Lock()
        self._thread: _LoopThread | None = None

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine there, and wait for it. Interrupting the wait, as Ctrl-C does, cancels it.

        Whatever it raises is raised here, SystemExit and KeyboardInterrupt included. Raises UsageError
        if the loop breaks meanwhile; the next call gets another loop.
        """
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise UsageError(
                f"{self._name} inside something that it runs would wait for itself; use await"
            )
        # Created here, so that an interruption at any point can cancel it.
        future: Future[T] = Future()
        try:
            with _ctrl_c_raises():
                # Under the lock: a loop that is stopped meanwhile would never run the coroutine.
                with self._lock:
                    if self._thread is None:
                        self._thread = _LoopThread(self._name, self._drop)
                        self._thread.start()
                        _running.add(self)
                    self._thread.submit(coroutine, future)
                return future.result()
        except BaseException:
            future.cancel()
            raise

    def stop(self) -> None:
        """Cancel the remaining tasks, close the loop and end its thread, within a time limit."""
        with self._lock:
            thread = self._thread
            self._thread = None
        _running.discard(self)
        if thread is not None:
            thread.stop()

    def _drop(self, thread: "_LoopThread") -> None:
        """Close a loop that has ended, and stop using it."""
        with self._lock:
            if self._thread is thread:
                self._thread = None
            # Under the lock: what broke the loop may have closed its descriptors, and another loop must
            # not get the same numbers just before they are closed here.
            thread.close()


class _LoopThread(threading.Thread):
    """A thread that runs an event loop until it is told to stop, or the loop itself breaks."""

    def __init__(self, name: str, drop: Callable[["_LoopThread"], None]) -> None:
        super().__init__(name=f"rightcall: {name}", daemon=True)
        self._name_of_loop = name
        self._drop = drop
        self._loop = asyncio.new_event_loop()
        self._stopping = False
        self._waiting: set[Future[Any]] = set()

    def submit(self, coroutine: Coroutine[Any, Any, T], future: "Future[T]") -> None:
        """Run a coroutine there; cancelling the future cancels it."""
        self._waiting.add(future)
        future.add_done_callback(self._waiting.discard)
        self._loop.call_soon_threadsafe(self._begin, coroutine, future)

    def _begin(self, coroutine: Coroutine[Any, Any, T], future: "Future[T]") -> None:
        task = self._loop.create_task(_settle(coroutine, future))

        def cancel(settled: "Future[T]") -> None:
            if settled.cancelled():
                with suppress(RuntimeError):  # the loop is closed
                    self._loop.call_soon_threadsafe(task.cancel)

        future.add_done_callback(cancel)

    def stop(self) -> None:
        """Cancel the remaining tasks, close the loop and end the thread, within a time limit."""
        self._stopping = True
        with suppress(RuntimeError):  # the loop broke, and is closed already
            self._loop.call_soon_threadsafe(self._loop.stop)
        self.join(_JOIN_SECONDS)

    def run(self) -> None:
        """Run the loop. The same thread then closes it, in the order of asyncio.run."""
        # Not asyncio.Runner, which would also wait for the threads of tools that do not return.
        asyncio.set_event_loop(self._loop)
        broken: BaseException | None = None
        try:
            while not self._stopping:
                # Again, because a task may have called loop.stop(), which must not stop the others.
                self._run_forever()
            self._complete(_cancel_all())
            self._complete(self._loop.shutdown_asyncgens())
        except Exception as error:  # noqa: BLE001 - told to everyone who waits
            broken = error
        finally:
            self._drop(self)
            self._tell_waiting(broken)

    def close(self) -> None:
        """Close the loop, as far as a broken one can be closed."""
        with suppress(OSError, ValueError):
            self._loop.close()

    def _run_forever(self) -> None:
        try:
            self._loop.run_forever()
        except (SystemExit, KeyboardInterrupt) as error:
            # Signals reach the main thread only, so a task raised this itself, and asyncio has stored it
            # in that task. The loop is still usable.
            logger.warning("%s: a task raised %r; the others go on", self._name_of_loop, error)

    def _complete(self, coroutine: Coroutine[Any, Any, object]) -> None:
        task = self._loop.create_task(coroutine)
        task.add_done_callback(lambda _: self._loop.stop())
        while not task.done():
            self._run_forever()

    def _tell_waiting(self, broken: BaseException | None) -> None:
        words = f"{self._name_of_loop}: the event loop ended before this was done"
        if broken is not None:
            words += f": {broken!r}"
        for future in tuple(self._waiting):
            error = UsageError(words)
            error.__cause__ = broken
            with suppress(InvalidStateError):  # it was cancelled just now
                future.set_exception(error)


async def _settle(coroutine: Coroutine[Any, Any, T], future: "Future[T]") -> None:
    try:
        value = await coroutine
    except asyncio.CancelledError:
        future.cancel()
        raise
    except BaseException as error:  # noqa: BLE001 - for whoever waits
        # Not raised here: asyncio would let an exit stop the loop as well.
        with suppress(InvalidStateError):  # cancelled: nobody waits any more
            future.set_exception(error)
    else:
        with suppress(InvalidStateError):
            future.set_result(value)


@contextmanager
def _ctrl_c_raises() -> Iterator[None]:
    """Let Ctrl-C end a wait inside ``asyncio.run`` too.

    There it only cancels the main task, which takes effect at that task's next await; while the loop's
    thread blocks here, no await is reached.
    """
    handler = signal.getsignal(signal.SIGINT)
    # Any other handler than asyncio's was set by the program, and stays.
    function = handler.func if isinstance(handler, partial) else None
    is_asyncios = isinstance(getattr(function, "__self__", None), asyncio.Runner)
    if threading.current_thread() is not threading.main_thread() or not is_asyncios:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        ended, _ = await asyncio.wait(tasks, timeout=_CANCEL_SECONDS)
        for task in ended:
            # Retrieved, so that asyncio does not log it as never retrieved: nobody else will.
            if not task.cancelled():
                task.exception()


def run_sync(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine and wait for it, even if an event loop runs here. Interrupting cancels it.

    One loop serves every such call, so that connections outlive a run.
    """
    return _runs.run(coroutine)


_running: set[BackgroundLoop] = set()
_runs = BackgroundLoop("run_sync")


@atexit.register
def _stop_all() -> None:
    for background in tuple(_running):
        background.stop()


def _begin_all_anew() -> None:
    # A forked child has only its own thread. The loop is dropped and not closed: it shares its epoll
    # instance with the parent's, and closing it would remove the parent's descriptors from that.
    for background in tuple(_running):
        background._begin_anew()  # noqa: SLF001
    _running.clear()


after_fork(_begin_all_anew)
