"""A loopback HTTP server that answers each request with bytes of your choice, faults included."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]
Check = Callable[[str, str, dict[str, str], bytes], bool]
"""Whether a request may come in, by its method, target, headers and body."""


class Server:
    """Answers the n-th request with the n-th answer, and the last one for ever."""

    def __init__(self, answers: Sequence[Answer], check: Check | None = None) -> None:
        self._answers = answers
        self._check = check
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.connections = 0
        """How many have been made."""
        self.open = 0
        """How many of them are still there."""
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode().strip().split("\r\n")
                headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines)}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                method, target, _ = first.split()
                self.requests.append((target, headers, body))
                answer = self._answers[min(len(self.requests), len(self._answers)) - 1]
                if self._check is not None and not self._check(method, target, headers, body):
                    answer = whole(b'{"error": {"message": "the signature is not good"}}', 403)
                await answer(writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open -= 1
            writer.close()


@asynccontextmanager
async def serving(
    *answers: Answer, check: Check | None = None, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Server]:
    server = Server(answers, check)
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
    server.url = (
        f"{'http' if tls is None else 'https'}://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    )
    try:
        yield server
    finally:
        listener.close()


def head(status: int = 200, kind: str = "text/event-stream", **headers: str) -> bytes:
    more = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([f"HTTP/1.1 {status} OK", f"content-type: {kind}", *more, ""]).encode()


def whole(body: bytes, status: int = 200, kind: str = "application/json", **headers: str) -> Answer:
    """A complete answer."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(head(status, kind, **headers) + b"content-length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()

    return answer


def streamed(*pieces: bytes, end: bool = True, pause: float = 0.0) -> Answer:
    """An answer in chunks; without ``end`` the connection drops after the last of them."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(head() + b"transfer-encoding: chunked\r\n\r\n")
        for piece in pieces:
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()
            await asyncio.sleep(pause)
        if end:
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        else:
            writer.close()

    return answer


async def silent(writer: asyncio.StreamWriter) -> None:
    """Never answers."""
    await asyncio.sleep(3600)


async def dropped(writer: asyncio.StreamWriter) -> None:
    """Hangs up."""
    writer.close()


def endless(piece: bytes) -> Answer:
    """Never stops."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(head() + b"transfer-encoding: chunked\r\n\r\n")
        while not writer.is_closing():
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()

    return answer
