"""A Transport that is made for the first request, so that only those who send one load its library."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager

from rightcall.core.transport import Incoming, Timeouts, Transport


class LaterTransport:
    """Stands for the transport that ``make`` gives."""

    def __init__(self, make: Callable[[], Transport]) -> None:
        self._make = make
        self._made: Transport | None = None

    def post(
        self, url: str, *, headers: Mapping[str, str], body: bytes, timeouts: Timeouts
    ) -> AbstractAsyncContextManager[Incoming]:
        """Send a body, and give back the reply while it comes."""
        return self._transport().post(url, headers=headers, body=body, timeouts=timeouts)

    def get(
        self, url: str, *, headers: Mapping[str, str], timeouts: Timeouts
    ) -> AbstractAsyncContextManager[Incoming]:
        """Ask for what is there, and give back the reply while it comes."""
        return self._transport().get(url, headers=headers, timeouts=timeouts)

    async def close(self) -> None:
        """Let go of every connection."""
        if self._made is not None:
            await self._made.close()

    def _transport(self) -> Transport:
        if self._made is None:
            self._made = self._make()
        return self._made
