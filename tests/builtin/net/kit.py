"""A web on this machine: servers that say exactly what they are told to, and names for them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from rightcall.builtin.net.web_tools import web_fetch
from rightcall.core.tool import Tool

Send: TypeAlias = Callable[[asyncio.StreamWriter], Awaitable[None]]
Says: TypeAlias = bytes | Send


@dataclass
class Asked:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Site:
    """A server on a loopback address, and what it was asked."""

    host: str
    pages: dict[str, Says]
    port: int = 0
    asked: list[Asked] = field(default_factory=list)
    lost: asyncio.Event = field(default_factory=asyncio.Event)
    """Somebody hung up while being talked to."""

    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def url(self, path: str = "/", name: str | None = None) -> str:
        return f"http://{name or self.host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        try:
            await self._answer(reader, writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            self.lost.set()
        except asyncio.CancelledError:
            # The server is closing. asyncio's callback for this task cannot take it as cancelled.
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, target, _ = head[0].split(" ")
        headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.asked.append(Asked(method, target, headers, body))
        says = self.pages.get(target.partition("?")[0], answer(b"nothing here", status="404 Not Found"))
        if isinstance(says, bytes):
            writer.write(says)
        else:
            await says(writer)


@asynccontextmanager
async def site(
    pages: dict[str, Says] | None = None, *, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[Site]:
    """A server while it lasts."""
    here = Site(host, pages or {})
    server = await asyncio.start_server(here.serve, host, port)
    here.port = server.sockets[0].getsockname()[1]
    try:
        yield here
    finally:
        server.close()
        for task in here.tasks:
            task.cancel()
        await asyncio.gather(*here.tasks)


def answer(body: bytes, *headers: str, status: str = "200 OK", kind: str = "text/html") -> bytes:
    """A whole answer."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers]
    if kind:
        lines.append(f"Content-Type: {kind}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def redirect(to: str, status: str = "302 Found") -> bytes:
    return answer(b"", f"Location: {to}", status=status)


class Names:
    """Looks names up in a table; a name with several answers gives one after the other."""

    def __init__(self, **table: Sequence[Sequence[str]] | str) -> None:
        self._table = {
            name.replace("_", "."): [[found]] if isinstance(found, str) else list(found)
            for name, found in table.items()
        }
        self.asked: list[str] = []

    async def __call__(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        answers = self._table.get(host)
        if answers is None:
            raise OSError("no such name")
        return answers.pop(0) if len(answers) > 1 else answers[0]


def reader(**options: Any) -> Tool:
    """A tool that may reach 127.0.0.1 on any port, and nothing else that is not public."""
    return web_fetch(**{"networks": ["127.0.0.1/32"], "ports": None, "timeout": 10.0, **options})
