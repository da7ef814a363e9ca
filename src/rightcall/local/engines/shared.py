"""One of each thing that is dear to load, shared by all who ask for it, and let go by the last."""

import atexit
import os
import threading
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Generic, TypeVar

from rightcall.errors import UsageError
from rightcall.local.engines.worker import start, wait_for

if TYPE_CHECKING:
    from concurrent.futures import Future

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class _Entry(Generic[T]):
    def __init__(self, coming: "Future[T]") -> None:
        self.coming = coming
        self.users = 0


class Shared(Generic[K, T]):
    """Loads in a thread, once per key and process, and unloads in one when nobody is left.

    What is still loaded when the process ends is unloaded first: native threads that outlive the
    interpreter bring it down.
    """

    def __init__(self, load: Callable[[K], T], unload: Callable[[T], None]) -> None:
        self._load = load
        self._unload = unload
        self._lock = threading.Lock()
        self._entries: dict[tuple[int, K], _Entry[T]] = {}
        self._at_exit = False

    async def borrow(self, key: K, loading: Callable[[], None] = lambda: None) -> T:
        """What the key stands for. Whoever gets it must give it back. ``loading`` is told of a wait."""
        with self._lock:
            entry = self._entries.get((os.getpid(), key))
            if entry is None:
                entry = _Entry(start(lambda: self._load(key), "loading"))
                self._entries[os.getpid(), key] = entry
            entry.users += 1
        self._clean_up_at_exit()
        try:
            if not entry.coming.done():
                loading()
            return await wait_for(entry.coming)
        except BaseException:
            self._let_go(key)
            raise

    async def give_back(self, key: K) -> None:
        """Say that it is not needed any more; returns when it is unloaded, if nobody else needs it."""
        unloading = self._let_go(key)
        if unloading is not None:
            await wait_for(unloading)

    def _let_go(self, key: K) -> "Future[None] | None":
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

    def _clean_up_at_exit(self) -> None:
        with self._lock:
            if self._at_exit:
                return
            self._at_exit = True
        atexit.register(self._unload_all)

    def _unload_all(self) -> None:
        with self._lock:
            mine = [key for key in self._entries if key[0] == os.getpid()]
            entries = [self._entries.pop(key) for key in mine]
        for entry in entries:
            self._finish(entry)


Progress = Callable[[float | None], None]
"""Told None when loading begins, and 1.0 when it is done."""


class Loan(Generic[K, T]):
    """One engine's hold on something shared: borrowed when first needed, given back once."""

    def __init__(self, shared: Shared[K, T], key: K, on_progress: Progress) -> None:
        self._shared = shared
        self._key = key
        self._on_progress = on_progress
        self._process = os.getpid()
        self._held: T | None = None
        self._ended = False

    async def get(self) -> T:
        """What was borrowed; it is loaded first if need be."""
        self.check()
        held = self._held
        if held is None:
            held = await self._shared.borrow(self._key, lambda: self._on_progress(None))
            if not self._keep(held):
                await self._shared.give_back(self._key)
        self.check()
        return held

    @property
    def ended(self) -> bool:
        """Whether it was given back for good."""
        return self._ended

    def check(self) -> None:
        """Raise a UsageError if it has ended, or this is another process."""
        if self._ended:
            raise UsageError("the engine is closed")
        if self._process != os.getpid():
            raise UsageError(
                "a model does not survive a fork: make the engine in the process that uses it"
            )

    async def end(self) -> None:
        """Give back what was borrowed. Nothing can be got any more."""
        self._ended = True
        held, self._held = self._held, None
        if held is not None:
            await self._shared.give_back(self._key)

    def _keep(self, held: T) -> bool:
        """Whether to keep it: another task may have been quicker, or have ended the loan."""
        if self._held is not None or self._ended:
            return False
        self._held = held
        self._on_progress(1.0)
        return True
