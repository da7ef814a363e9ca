"""Servers by HTTP: headers, lost sessions, answers without end, and addresses where nobody is."""

import asyncio
import gzip
import json
import socket
import subprocess
import time
from contextlib import asynccontextmanager

import pytest

from rightcall.errors import ProtocolError, ToolFailure, TransportError
from rightcall.mcp import Http, connect

SCHEMA = {"type": "object", "properties": {}}


class Site:
    """A small MCP server over raw HTTP/1.1, which forgets, floods and dies when told to."""

    def __init__(self) -> None:
        self.sessions = 0
        self.forgets = False
        self.calls = 0
        self.headers: list[dict[str, str]] = []
        self.answer = "fine"
        self.serving: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.serving.add(asyncio.current_task())
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                line, *rest = head.decode().split("\r\n")
                headers = dict(each.lower().split(": ", 1) for each in rest if each)
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                self.headers.append(headers)
                await self.respond(line.split()[0], headers, body, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            # Not close(), which would wait for a client to read the rest of a flood.
            writer.transport.abort()

    async def close(self) -> None:
        """Let go of every connection, also of those that are never answered."""
        for task in self.serving:
            task.cancel()
        await asyncio.gather(*self.serving, return_exceptions=True)

    async def respond(self, method, headers, body, writer) -> None:
        if method == "DELETE" and self.answer == "never lets go":
            await asyncio.Event().wait()
        if method != "POST":
            await self.send(writer, 405 if method == "GET" else 200, b"")
            return
        request = json.loads(body)
        if "id" not in request:
            await self.send(writer, 202, b"")
        elif request["method"] == "initialize":
            self.sessions += 1
            info = {"name": "site", "version": "1"}
            result = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": info,
            }
            await self.reply(writer, request, result, f"mcp-session-id: s{self.sessions}\r\n")
        elif headers["mcp-session-id"] != f"s{self.sessions}" or self.forgets:
            self.forgets = False
            await self.send(writer, 404, b"")
        elif request["method"] == "tools/list":
            tools = [{"name": "act", "inputSchema": SCHEMA}]
            await self.reply(writer, request, {"tools": tools})
        else:
            self.calls += 1
            await self.act(writer, request)

    async def act(self, writer, request) -> None:
        match self.answer:
            case "fine":
                content = [{"type": "text", "text": "done"}]
                await self.reply(writer, request, {"content": content})
            case "flood":
                await self.send(writer, 200, b'{"jsonrpc": "2.0", "x": "' + b"y" * 30_000_000)
            case "flood of events":
                await self.send(writer, 200, b"data: " + b"y" * 30_000_000, "text/event-stream")
            case "bomb":
                body = gzip.compress(b" " * 30_000_000)
                await self.send(writer, 200, body, extra="content-encoding: gzip\r\n")
            case "hang up":
                writer.close()

    async def reply(self, writer, request, result, extra: str = "") -> None:
        message = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        await self.send(writer, 200, json.dumps(message).encode(), extra=extra)

    async def send(self, writer, status, body, kind="application/json", extra="") -> None:
        head = (
            f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n{extra}\r\n"
        )
        writer.write(head.encode() + body)
        await writer.drain()


@asynccontextmanager
async def opened(**options):
    site = Site()
    listening = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    target = Http(url=f"http://127.0.0.1:{port}/mcp", headers={"X-Key": "k1"})
    try:
        async with connect(target, name="site", protocol="legacy", **options) as server:
            yield site, server
    finally:
        listening.close()
        await site.close()


async def test_a_result_without_a_type_is_complete():
    site = Site()
    results = {
        "server/discover": {
            "ttlMs": 0,
            "cacheScope": "private",
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
        },
        "tools/list": {
            "ttlMs": 0,
            "cacheScope": "private",
            "tools": [{"name": "act", "inputSchema": SCHEMA}],
        },
        "tools/call": {"content": [{"type": "text", "text": "done"}]},
    }
    asked = []

    async def respond(method, headers, body, writer) -> None:
        request = json.loads(body)
        asked.append(request["method"])
        await site.reply(writer, request, results[request["method"]])

    site.respond = respond
    listening = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    try:
        async with connect(f"http://127.0.0.1:{port}/mcp", name="site") as server:
            assert await server.call("act") == "done"
    finally:
        listening.close()
        await site.close()
    assert asked == ["server/discover", "tools/list", "tools/call"]


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, 'HTTP 401: the token is missing. Log in: auth="oauth" in Python, rightcall mcp login'),
        (403, "HTTP 403: "),
        (500, "HTTP 500: "),
    ],
)
@pytest.mark.parametrize("protocol", ["legacy", "auto"])
async def test_a_refused_connection_says_with_which_status(status, words, protocol):
    site = Site()

    async def refuse(method, headers, body, writer) -> None:
        await site.send(writer, status, b"")

    site.respond = refuse
    listening = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    try:
        with pytest.raises(ProtocolError) as caught:
            await connect(f"http://127.0.0.1:{port}/mcp", name="site", protocol=protocol).open()
    finally:
        listening.close()
        await site.close()
    assert f"the server site refused the connection: {words}" in str(caught.value)


async def test_headers_go_with_every_request():
    async with opened() as (site, server):
        assert await server.call("act") == "done"
    assert {each["x-key"] for each in site.headers} == {"k1"}


async def test_a_lost_session_is_begun_anew_once_and_the_call_is_put_again():
    async with opened() as (site, server):
        await server.call("act")
        site.forgets = True
        assert await server.call("act") == "done"
        assert (site.sessions, site.calls) == (2, 2)


FLOODS = {
    "flood": "more than 1,048,576 bytes",
    "flood of events": "exceed",
    "bomb": "lost before it answered",
}


@pytest.mark.parametrize("answer", FLOODS)
async def test_an_answer_without_end_is_a_failure_and_the_next_call_works(answer):
    async with opened(max_message_bytes=1024 * 1024) as (site, server):
        site.answer = answer
        with pytest.raises(ToolFailure, match=FLOODS[answer]):
            await server.call("act")
        site.answer = "fine"
        assert await server.call("act") == "done"


async def test_a_connection_that_breaks_under_a_call_may_have_done_its_work():
    async with opened() as (site, server):
        site.answer = "hang up"
        with pytest.raises(ToolFailure, match="It may have done its work"):
            await server.call("act")
        site.answer = "fine"
        assert await server.call("act") == "done"
        assert site.calls == 2


async def test_closing_does_not_wait_for_a_server_that_never_answers():
    async with opened() as (site, server):
        site.answer = "never lets go"
        started = time.monotonic()
        await server.close()
    assert time.monotonic() - started < 10


async def test_an_address_where_nobody_is_is_an_error_with_its_name():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
        with pytest.raises(TransportError, match="the server site cannot be reached"):
            await connect(url, name="site").open()


def test_secrets_over_a_plain_connection_are_noticed():
    assert Http(url="http://shop.example/mcp", headers={"X-Key": "k"}).is_exposed
    assert not Http(url="http://shop.example/mcp").is_exposed
    assert not Http(url="http://localhost:1/mcp", headers={"X-Key": "k"}).is_exposed
    assert not Http(url="https://shop.example/mcp", headers={"X-Key": "k"}).is_exposed


async def test_the_sdks_own_http_server_is_spoken_to(shop):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = [*shop, "http", str(port)]
    with subprocess.Popen(program, stderr=subprocess.DEVNULL) as process:
        try:
            async with asyncio.timeout(60):
                while True:
                    try:
                        server = await connect(f"http://127.0.0.1:{port}/mcp", name="shop").open()
                        break
                    except TransportError:
                        await asyncio.sleep(0.1)
            assert await server.call("price", {"item": "tea"}) == {"item": "tea", "cents": 250}
            await server.close()
        finally:
            process.terminate()
