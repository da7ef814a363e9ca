"""The ends of two pipes into bytes that are awaited. Nothing is read before somebody wants it."""

import asyncio
import os
from collections.abc import Callable

_CHUNK = 64 * 1024


class ReadEnd:
    """The end that bytes come out of."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor

    async def receive(self) -> bytes:
        """The next bytes; none at the end."""
        while True:
            try:
                return os.read(self._descriptor, _CHUNK)
            except BlockingIOError:
                loop = asyncio.get_running_loop()
                await _ready(self._descriptor, loop.add_reader, loop.remove_reader)

    def close(self) -> None:
        """Let go of the pipe."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class WriteEnd:
    """The end that bytes go into."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor

    async def send(self, data: bytes) -> None:
        """Write all of it. Raises OSError when nobody reads any more."""
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except BlockingIOError:
                loop = asyncio.get_running_loop()
                await _ready(self._descriptor, loop.add_writer, loop.remove_writer)

    def close(self) -> None:
        """Let go of the pipe: whoever reads it comes to its end."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


async def _ready(
    descriptor: int,
    watch: Callable[[int, Callable[[], None]], None],
    ignore: Callable[[int], bool],
) -> None:
    waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def ring() -> None:
        if not waiting.done():
            waiting.set_result(None)

    watch(descriptor, ring)
    try:
        await waiting
    finally:
        ignore(descriptor)
