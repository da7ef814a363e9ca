"""Shared by engines in this process: models loaded once, generating threads, and channels."""

import asyncio
import atexit
import os
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Hashable
from concurrent.futures import Future, wait
from typing import Any, Generic, TypeVar

from msgspec import Struct

from rightcall.errors import UsageError
from rightcall.local.engine import Card

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
C = TypeVar("C")

MOST_WAITING = 256
"""The most unread items. A thread that is further ahead blocks."""

Progress = Callable[[float | None], None]
"""Called with None when loading begins, and with 1.0 when it is done."""


def start(function: Callable[[], T], name: str) -> Future[T]:
    """Run ``function`` in a thread of its own; the future gets its result or exception.

    The threads are daemons: a model that still loads or generates must not keep the process from ending.
    """
    future: Future[T] = Future()
    # A waiter that is cancelled does not affect the others: a running future cannot be cancelled.
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


async def wait_for(future: Future[T]) -> T:
    """Await a future without blocking; cancellation leaves it running."""
    return await asyncio.wrap_future(future)


class ThreadChannel(Generic[T]):
    """A queue from a thread to an event loop, in order: one thread puts, one task takes."""

    def __init__(self, loop: asyncio.AbstractEventLoop, limit: int = MOST_WAITING) -> None:
        self._loop = loop
        self._limit = limit
        self._changed = asyncio.Event()
        self._state = threading.Condition()
        self._items: deque[T] = deque()
        self._ended = False
        self._error: BaseException | None = None
        self._left = False

    def put(self, item: T) -> bool:
        """Add an item, from the thread. Returns False if the reader is gone: then stop."""
        with self._state:
            while len(self._items) >= self._limit and not self._left:
                self._state.wait()
            if self._left:
                return False
            self._items.append(item)
        return self._wake()

    def end(self, error: BaseException | None = None) -> None:
        """Close the channel, from either side, perhaps with an error. Only the first call counts."""
        with self._state:
            if self._ended:
                return
            self._ended = True
            self._error = error
        self._wake()

    def leave(self) -> None:
        """Stop reading. Later items are discarded."""
        with self._state:
            self._left = True
            self._items.clear()
            self._state.notify_all()

    def is_left(self) -> bool:
        """Whether the reader is gone."""
        return self._left

    async def take(self) -> list[T] | None:
        """All available items, at least one; None at the end. Raises the thread's exception."""
        while True:
            self._changed.clear()
            with self._state:
                if self._items:
                    items = list(self._items)
                    self._items.clear()
                    self._state.notify_all()
                    return items
                if self._ended:
                    break
            await self._changed.wait()
        if self._error is not None:
            raise self._error
        return None

    def _wake(self) -> bool:
        try:
            self._loop.call_soon_threadsafe(self._changed.set)
        except RuntimeError:
            # The loop is closed, so the reader is gone.
            self.leave()
            return False
        return True


class _Waiter(Struct, frozen=True, eq=False):
    weight: int
    admitted: Future[None]


class WeightedSemaphore:
    """A semaphore with slots and capacity that admits waiters in order, from any event loop."""

    def __init__(self, slots: int, capacity: int) -> None:
        self._slots = slots
        self._free = capacity
        self._capacity = capacity
        self._lock = threading.Lock()
        self._line: deque[_Waiter] = deque()

    async def acquire(self, weight: int) -> int:
        """Wait for a slot and that much capacity, or all of it; returns how much to release."""
        weight = min(weight, self._capacity)
        future: Future[None] = Future()
        with self._lock:
            if not self._line and self._slots and weight <= self._free:
                self._slots -= 1
                self._free -= weight
                return weight
            self._line.append(_Waiter(weight, future))
        self._advance()
        try:
            await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            # If it was cancelled while being admitted, its slot goes to the next waiter.
            if future.cancel():
                self._advance()
            else:
                self.release(weight)
            raise
        return weight

    def release(self, weight: int) -> None:
        """Release a slot and its capacity, from any thread."""
        with self._lock:
            self._slots += 1
            self._free += weight
        self._advance()

    def _advance(self) -> None:
        """Admit the first waiters, while there is capacity."""
        admitted: list[Future[None]] = []
        with self._lock:
            while self._line:
                waiter = self._line[0]
                if waiter.admitted.cancelled():
                    self._line.popleft()
                elif not self._slots or waiter.weight > self._free:
                    break
                else:
                    self._line.popleft()
                    if waiter.admitted.set_running_or_notify_cancel():
                        self._slots -= 1
                        self._free -= waiter.weight
                        admitted.append(waiter.admitted)
        for future in admitted:
            future.set_result(None)


class _Entry(Generic[T]):
    def __init__(self, coming: Future[T]) -> None:
        self.coming = coming
        self.users = 0


class Shared(Generic[K, T]):
    """Loads in a thread, once per key and process, and unloads in one after the last release.

    What is still loaded at exit is unloaded first: native threads that outlive the interpreter crash it.
    """

    def __init__(self, load: Callable[[K], T], unload: Callable[[T], None]) -> None:
        self._load = load
        self._unload = unload
        self._lock = threading.Lock()
        self._entries: dict[tuple[int, K], _Entry[T]] = {}
        self._at_exit = False

    async def borrow(self, key: K, loading: Callable[[], None] = lambda: None) -> T:
        """The object of a key. The caller must give it back. ``loading`` is called if it must wait."""
        with self._lock:
            entry = self._entries.get((os.getpid(), key))
            if entry is None:
                entry = _Entry(start(lambda: self._load(key), "loading"))
                self._entries[os.getpid(), key] = entry
            entry.users += 1
            if not self._at_exit:
                self._at_exit = True
                atexit.register(self._unload_all)
        try:
            if not entry.coming.done():
                loading()
            return await wait_for(entry.coming)
        except BaseException:
            self._let_go(key)
            raise

    async def give_back(self, key: K) -> None:
        """Release the object; returns when it is unloaded, if this was the last use."""
        unloading = self._let_go(key)
        if unloading is not None:
            await wait_for(unloading)

    def _let_go(self, key: K) -> Future[None] | None:
        with self._lock:
            entry = self._entries[os.getpid(), key]
            entry.users -= 1
            if entry.users:
                return None
            del self._entries[os.getpid(), key]
        return start(lambda: self._finish(entry), "unloading")

    def _finish(self, entry: _Entry[T]) -> None:
        if entry.coming.exception() is None:
            self._unload(entry.coming.result())

    def _unload_all(self) -> None:
        with self._lock:
            mine = [key for key in self._entries if key[0] == os.getpid()]
            entries = [self._entries.pop(key) for key in mine]
        for entry in entries:
            self._finish(entry)


class Loan(Generic[K, T]):
    """One engine's reference to a shared object: borrowed on first use, given back once."""

    def __init__(self, shared: Shared[K, T], key: K, on_progress: Progress) -> None:
        self._shared = shared
        self._key = key
        self._on_progress = on_progress
        self._process = os.getpid()
        self._held: T | None = None
        self._ended = False

    async def get(self) -> T:
        """The borrowed object; loads it first if needed."""
        self.check()
        held = self._held
        if held is None:
            held = await self._shared.borrow(self._key, lambda: self._on_progress(None))
            # Meanwhile another task may have been faster, or have ended the loan.
            if self._held is not None or self._ended:
                await self._shared.give_back(self._key)
            else:
                self._held = held
                self._on_progress(1.0)
        self.check()
        return held

    @property
    def is_ended(self) -> bool:
        """Whether it was given back for good."""
        return self._ended

    def check(self) -> None:
        """Raise a UsageError if it has ended, or if this is another process."""
        if self._ended:
            raise UsageError("the engine is closed")
        if self._process != os.getpid():
            raise UsageError(
                "a model does not survive a fork: make the engine in the process that uses it"
            )

    async def end(self) -> None:
        """Give back the object. Nothing can be borrowed any more."""
        self._ended = True
        held = self._held
        self._held = None
        if held is not None:
            await self._shared.give_back(self._key)


class LoadedModel:
    """A model in this process: its limit of concurrent completions, and their threads."""

    card: Card

    def __init__(self, slots: int, capacity: int) -> None:
        self.semaphore = WeightedSemaphore(slots, capacity)
        self._threads: set[Future[None]] = set()
        self._channels: set[ThreadChannel[Any]] = set()

    def run(self, generate: Callable[[], None], channel: ThreadChannel[Any], weight: int) -> None:
        """Generate into a channel, in a thread; releases what was acquired for it when it stops."""

        def work() -> None:
            try:
                generate()
            except BaseException as error:  # noqa: BLE001 - handed to whoever reads
                channel.end(error)
            finally:
                self._channels.discard(channel)
                self.semaphore.release(weight)
                channel.end()

        self._channels.add(channel)
        thread = start(work, "generating")
        self._threads.add(thread)
        thread.add_done_callback(self._threads.discard)

    def stop(self) -> None:
        """Stop all generation, and wait until it has stopped."""
        for channel in list(self._channels):
            channel.leave()
        wait(list(self._threads))


M = TypeVar("M", bound=LoadedModel)


class InProcess(Generic[K, M, C]):
    """An engine for a model that is loaded once, however many engines use it."""

    def __init__(self, shared: Shared[K, M], key: K, on_progress: Progress) -> None:
        self._loan = Loan(shared, key, on_progress)
        self._running: set[ThreadChannel[C]] = set()

    async def ready(self) -> Card:
        """Load the model, unless it is loaded; returns the facts about it."""
        return (await self._loan.get()).card

    async def close(self) -> None:
        """Stop this engine's generation, and unload the model if no other engine uses it."""
        for channel in list(self._running):
            channel.end(UsageError("the engine was closed while it generated"))
            channel.leave()
        await self._loan.end()

    async def _generate_items(
        self, model: M, weight: int, generate: Callable[[ThreadChannel[C]], None]
    ) -> AsyncGenerator[C, None]:
        """The items that ``generate`` puts into its channel, once admitted. Closing this stops it."""
        acquired = await model.semaphore.acquire(weight)
        if self._loan.is_ended:
            model.semaphore.release(acquired)
            self._loan.check()
        channel: ThreadChannel[C] = ThreadChannel(asyncio.get_running_loop())
        self._running.add(channel)
        try:
            model.run(lambda: generate(channel), channel, acquired)
            while (found := await channel.take()) is not None:
                for each in found:
                    yield each
        finally:
            channel.leave()
            self._running.discard(channel)
