"""A pair of file descriptors into what an event loop can await: chunks in, writes out.

Each has a daemon thread. Whatever the descriptors are (pipes, files, terminals), nothing about them is
changed, the loop never waits for them, and a read that never returns does not hold up the end of the
process.
"""

import asyncio
import os
import threading
from collections import deque
from contextlib import suppress
from queue import SimpleQueue
from typing import TypeAlias

_CHUNK = 64 * 1024
_AHEAD = 4
"""Chunks that are read before anybody wants them."""

_Job: TypeAlias = "tuple[bytes, asyncio.Future[None]] | None"


class Source:
    """Chunks of what can be read; b"" at the end."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._room = threading.Semaphore(_AHEAD)
        self._chunks: deque[bytes] = deque()
        self._more = asyncio.Event()
        threading.Thread(target=self._read, name="rightcall: stdin", daemon=True).start()

    async def read(self) -> bytes:
        """The next chunk. After the end, the end again."""
        while not self._chunks:
            self._more.clear()
            await self._more.wait()
        if not self._chunks[0]:
            return b""
        self._room.release()
        return self._chunks.popleft()

    def _read(self) -> None:
        chunk = b"more"
        while chunk:
            try:
                chunk = os.read(self._descriptor, _CHUNK)
            except OSError:
                chunk = b""
            self._room.acquire()
            # Nobody listens once the loop is closed.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._put, chunk)

    def _put(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self._more.set()


class Sink:
    """Writes, one after the other."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._done = asyncio.Event()
        self._calm = asyncio.Event()
        self._calm.set()
        self.waiting = 0
        """Writes that are not through."""
        threading.Thread(target=self._write, name="rightcall: stdout", daemon=True).start()

    async def write(self, data: bytes) -> None:
        """Write all of it. Raises OSError when nobody is there to read."""
        written: asyncio.Future[None] = self._loop.create_future()
        self._count(1)
        self._jobs.put((data, written))
        await written

    async def calm(self, most: int) -> None:
        """Wait until no more than so many writes are waiting."""
        while self.waiting > most:
            self._calm.clear()
            await self._calm.wait()

    async def close(self) -> None:
        """Wait until everything is written."""
        self._jobs.put(None)
        await self._done.wait()

    def _count(self, change: int) -> None:
        self.waiting += change
        self._calm.set()

    def _write(self) -> None:
        while (job := self._jobs.get()) is not None:
            data, written = job
            error = self._write_all(data)
            self._tell(written, error)
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._done.set)

    def _write_all(self, data: bytes) -> OSError | None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError as error:
            return error
        return None

    def _tell(self, written: "asyncio.Future[None]", error: OSError | None) -> None:
        def settle() -> None:
            self._count(-1)
            if written.done():
                return
            if error is None:
                written.set_result(None)
            else:
                written.set_exception(error)

        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(settle)
