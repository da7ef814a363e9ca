"""A transport and an address into questions answered and streams of events."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager

import msgspec

from rightcall.core.jsontext import JsonObject
from rightcall.core.sse import ServerEvent, SseDecoder
from rightcall.core.transport import Incoming, Timeouts, Transport
from rightcall.errors import ProtocolError, VendorError

MAX_BODY = 64 * 1024 * 1024
"""An answer longer than this is refused instead of held."""
_OK = 200

Refuse = Callable[[int, bytes], VendorError]
"""A status and a body that say no, in words."""


class Exchange:
    """One server of models. Its refusals are VendorErrors."""

    def __init__(
        self, url: str, transport: Transport, *, key: str, timeouts: Timeouts, refuse: Refuse
    ) -> None:
        self._url = url.rstrip("/")
        self._transport = transport
        self._timeouts = timeouts
        self._refuse = refuse
        self._headers: Mapping[str, str] = {
            "content-type": "application/json",
            # llama.cpp's server has few threads, and each idle connection keeps one of them waiting.
            "connection": "close",
            **({"authorization": f"Bearer {key}"} if key else {}),
        }

    def __repr__(self) -> str:
        return f"Exchange({self._url!r})"

    async def get(self, path: str) -> bytes:
        """What is there."""
        sent = self._transport.get(self._url + path, headers=self._headers, timeouts=self._timeouts)
        async with sent as incoming:
            return await self._whole(incoming)

    async def post(self, path: str, body: JsonObject) -> bytes:
        """The answer to a question."""
        async with self._sent(path, body) as incoming:
            return await self._whole(incoming)

    async def stream(self, path: str, body: JsonObject) -> AsyncGenerator[ServerEvent, None]:
        """The events of an answer. Closing the iterator hangs up."""
        async with self._sent(path, body) as incoming:
            if incoming.status != _OK:
                await self._whole(incoming)
            decoder = SseDecoder()
            async for chunk in incoming.chunks:
                for event in decoder.feed(chunk):
                    yield event
            for event in decoder.finish():
                yield event

    async def close(self) -> None:
        """Let go of the connections."""
        await self._transport.close()

    def _sent(self, path: str, body: JsonObject) -> AbstractAsyncContextManager[Incoming]:
        return self._transport.post(
            self._url + path,
            headers=self._headers,
            body=msgspec.json.encode(body),
            timeouts=self._timeouts,
        )

    async def _whole(self, incoming: Incoming) -> bytes:
        pieces, held = [], 0
        async for chunk in incoming.chunks:
            held += len(chunk)
            if held > MAX_BODY:
                raise ProtocolError(f"an answer of {self._url} is longer than {MAX_BODY:,} bytes")
            pieces.append(chunk)
        body = b"".join(pieces)
        if incoming.status != _OK:
            raise self._refuse(incoming.status, body)
        return body
