"""A loopback server that is a function of two streams, and the simplest of clients."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from rightcall.core.transport import Timeouts
from rightcall.transport.http import HttpTransport

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def talking(talk: Talk, host: str = "127.0.0.1", **options: object) -> AsyncIterator[str]:
    """Returns where the server is; its connections are closed when their talk is over."""
    talks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await talk(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talks.add(asyncio.ensure_future(serve(reader, writer)))

    listener = await asyncio.start_server(accept, host, 0, **options)
    try:
        yield f"{host}:{listener.sockets[0].getsockname()[1]}"
    finally:
        listener.close()
        for each in talks:
            each.cancel()
        await asyncio.gather(*talks)
        await asyncio.sleep(0)


async def asked(reader: asyncio.StreamReader) -> bytes:
    """Returns the next request, its body included."""
    head = await reader.readuntil(b"\r\n\r\n")
    _, found, rest = head.lower().partition(b"content-length: ")
    return head + await reader.readexactly(int(rest.split(b"\r\n")[0]) if found else 0)


def answering(*parts: bytes) -> Talk:
    """A server that sends the same to every request, part by part."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await asked(reader):
            for part in parts:
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(0)

    return talk


async def posted(
    transport: HttpTransport, url: str, body: bytes = b"x", timeouts: Timeouts | None = None
) -> tuple[int, bytes]:
    """The status and the whole body of a reply."""
    limits = timeouts or Timeouts()
    async with transport.post(url, headers={}, body=body, timeouts=limits) as incoming:
        return incoming.status, b"".join([chunk async for chunk in incoming.chunks])
