"""Who may run now: calls beside each other, and those of serial tools alone, in the order they came."""

import asyncio
from collections import deque
from contextlib import suppress


class Turns:
    """Gives calls their turn. Belongs to one event loop."""

    def __init__(self) -> None:
        self._running = 0
        self._is_alone = False
        self._waiting: deque[tuple[asyncio.Future[None], bool]] = deque()

    async def take(self, *, alone: bool) -> None:
        """Take a turn for one call, alone or beside others, waiting for it."""
        if self._waiting or not self._is_free(alone=alone):
            await self._wait(alone=alone)
        else:
            self._begin(alone=alone)

    def give(self) -> None:
        """Give a turn back."""
        self._running -= 1
        self._is_alone = False
        self._wake()

    def _is_free(self, *, alone: bool) -> bool:
        return not self._is_alone and not (alone and self._running)

    def _begin(self, *, alone: bool) -> None:
        self._running += 1
        self._is_alone = alone

    async def _wait(self, *, alone: bool) -> None:
        come = asyncio.get_running_loop().create_future()
        self._waiting.append((come, alone))
        try:
            await come
        except asyncio.CancelledError:
            if come.done() and not come.cancelled():
                self.give()
            else:
                with suppress(ValueError):
                    self._waiting.remove((come, alone))
                self._wake()
            raise

    def _wake(self) -> None:
        while self._waiting and self._is_free(alone=self._waiting[0][1]):
            come, alone = self._waiting.popleft()
            if not come.done():
                self._begin(alone=alone)
                come.set_result(None)
