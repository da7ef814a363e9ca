"""The older transport: a stream of events, and messages posted beside it."""

import asyncio
import json
import socket
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rightcall.errors import RightcallError, ToolFailure
from rightcall.mcp import Http, connect, connect_all

HERE = Path(__file__).parent


class Old:
    """A small server of the older transport over raw HTTP/1.1, which misbehaves when told to."""

    def __init__(self, endpoint: str = "/post", **ways: object) -> None:
        self.endpoint = endpoint
        self.ways = ways
        self.url = ""
        self.heads: list[str] = []
        self.events: asyncio.StreamWriter | None = None
        self.serving: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.serving.add(task)
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                self.heads.append(head)
                sizes = [line[16:] for line in head.lower().split("\r\n") if "content-length" in line]
                body = await reader.readexactly(int(sizes[0])) if sizes else b""
                await (self.post(body, writer) if head.startswith("POST") else self.get(head, writer))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.transport.abort()

    async def get(self, head: str, writer: asyncio.StreamWriter) -> None:
        to = self.ways.get("redirect")
        if to is not None and " /sse " in head:
            writer.write(f"HTTP/1.1 307 X\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n".encode())
            return
        kind = self.ways.get("kind", "text/event-stream")
        writer.write(f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n\r\n".encode())
        writer.write(f"event: endpoint\r\ndata: {self.endpoint}\r\n\r\n: ping\r\n\r\n".encode())
        if "ends" in self.ways:
            writer.close()
        self.events = writer

    async def post(self, body: bytes, writer: asyncio.StreamWriter) -> None:
        message = json.loads(body)
        status = 500 if message["method"] == self.ways.get("refuses") else 202
        writer.write(f"HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n".encode())
        if "id" in message and status < 300:
            result = self.answer(message)
            if result is not None and self.events is not None:
                reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
                self.events.write(f"event: message\ndata: {json.dumps(reply)}\n\n".encode())
                await self.events.drain()

    def answer(self, message: dict[str, object]) -> dict[str, object] | None:
        match message["method"]:
            case "initialize":
                info = {"name": "old", "version": "1"}
                capabilities: dict[str, object] = {"tools": {}}
                version = "2024-11-05"
                return {
                    "protocolVersion": version,
                    "capabilities": capabilities,
                    "serverInfo": info,
                }
            case "tools/list":
                return {"tools": [{"name": "act", "inputSchema": {"type": "object"}}]}
            case "tools/call" if "hangs up" in self.ways:
                assert self.events is not None
                self.events.transport.abort()
                return None
            case _:
                size = self.ways.get("size", 4)
                assert isinstance(size, int)
                return {"content": [{"type": "text", "text": "x" * size}]}


@asynccontextmanager
async def serving(old: Old) -> AsyncIterator[Old]:
    listening = await asyncio.start_server(old.serve, "127.0.0.1", 0)
    old.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/sse"
    try:
        yield old
    finally:
        listening.close()
        for task in old.serving:
            task.cancel()
        await asyncio.gather(*old.serving, return_exceptions=True)


async def test_a_server_of_the_sdks_own_is_spoken_to(shop):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen([*shop, "sse", str(port)]) as process:
        try:
            for _ in range(200):
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                    writer.close()
                    break
                except OSError:
                    await asyncio.sleep(0.05)
            async with connect(Http(url=f"http://127.0.0.1:{port}/sse", transport="sse")) as server:
                assert "price" in server.names()
                assert await server.call("price", {"item": "tea"}) == {"item": "tea", "cents": 250}
        finally:
            process.kill()


async def test_what_is_said_is_posted_with_our_headers_where_the_first_event_says():
    async with (
        serving(Old("/post?session=7")) as old,
        connect(Http(url=old.url, transport="sse", headers={"x-key": "k"})) as server,
    ):
        assert await server.call("act") == "xxxx"
    assert all("x-key: k" in head.lower() for head in old.heads)
    assert {head.split()[1] for head in old.heads if head.startswith("POST")} == {"/post?session=7"}


async def test_a_redirect_within_the_origin_is_followed_and_no_other():
    async with (
        serving(Old(redirect="/sse/")) as old,
        connect(Http(url=old.url, transport="sse")) as server,
    ):
        assert server.names() == ("act",)
    async with serving(Old()) as elsewhere, serving(Old(redirect=elsewhere.url)) as old:
        with pytest.raises(RightcallError, match="307"):
            await connect(Http(url=old.url, transport="sse", headers={"x-key": "k"})).open()
        assert elsewhere.heads == []


BAD: dict[str, tuple[Callable[[], Old], str]] = {
    "another host": (lambda: Old("http://evil.example/post"), "was not ready within 0.5 s"),
    "another port": (lambda: Old("http://127.0.0.1:1/post"), "was not ready within 0.5 s"),
    "no events": (lambda: Old(kind="text/html"), "text/event-stream"),
    "a refusal": (lambda: Old(refuses="initialize"), "refused the connection: HTTP 500"),
}


@pytest.mark.parametrize("case", BAD)
async def test_a_server_that_cannot_be_used_says_why(case):
    make, words = BAD[case]
    async with serving(make()) as old:
        # What is refused is refused at once, however busy the machine is.
        patience = 0.5 if "not ready" in words else 2.0
        with pytest.raises(RightcallError, match=words):
            await connect(Http(url=old.url, transport="sse"), connect_timeout=patience).open()
        assert not any("POST" in head for head in old.heads) or case == "a refusal"


async def test_only_the_one_that_fails_is_missing():
    async with serving(Old()) as good, serving(Old("http://evil.example/")) as bad:
        targets = {name: Http(url=each.url, transport="sse") for name, each in (("a", good), ("b", bad))}
        async with connect_all(targets, connect_timeout=1.0) as group:
            assert (group.names(), list(group.failed)) == (("a_act",), ["b"])


async def test_a_message_that_is_too_long_and_a_stream_that_ends_are_a_lost_server():
    for ways in ({"size": 2_000_000}, {"hangs up": True}):
        async with serving(Old(**ways)) as old:  # type: ignore[arg-type]
            target = Http(url=old.url, transport="sse")
            async with connect(target, max_message_bytes=1_000_000) as server:
                with pytest.raises(ToolFailure, match="was lost before it answered"):
                    await server.call("act")
