"""The server over real loopback HTTP: with the official client, and with what should not get in."""

import asyncio
import json
import os
import signal
from contextlib import asynccontextmanager

import anyio
import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

import rightcall as rc
from mcp import Client
from rightcall.errors import UsageError
from rightcall.mcp.server.serve_options import Bounds, Listen
from rightcall.mcp.server.tool_server import ToolServer

ERAS = pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
TOKEN = "a-token-that-is-long-enough"
HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@rc.tool(effect="pure")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@asynccontextmanager
async def serving(*tools, listen=None, server=None, **settings):
    """A server in this process that listens; gives its address."""
    server = server or ToolServer(list(tools) or [add], **settings)
    address = asyncio.get_running_loop().create_future()
    task = asyncio.ensure_future(server.http(listen or Listen(port=0), started=address.set_result))
    done, _ = await asyncio.wait({task, address}, return_when=asyncio.FIRST_COMPLETED, timeout=30)
    if task in done:
        task.result()
    try:
        yield await address
    finally:
        task.cancel()
        await asyncio.wait({task}, timeout=30)


async def post(address, body, **headers):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with httpx2.AsyncClient() as client:
        return await client.post(address, content=data, headers={**HEADERS, **headers}, timeout=30)


def modern(name, **arguments):
    """A call of the new protocol, and the headers that go with it."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": name, "arguments": arguments, "_meta": meta}
    headers = {
        **HEADERS,
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": name,
    }
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, headers


@ERAS
async def test_the_official_client_lists_and_calls_a_server_in_another_process(start, shop, mode):
    async with start(shop, "--http", "0") as child:
        address = (await child.said(r"serving at (\S+)"))[1]
        async with Client(address, mode=mode) as client:
            listed = await client.list_tools()
            added = await client.call_tool("add", {"a": 2, "b": 3})
        assert address.startswith("http://127.0.0.1:")
        assert [tool.name for tool in listed.tools][:3] == ["add", "find", "buy"]
        assert added.structured_content == {"result": 5}
        child.process.send_signal(signal.SIGTERM)
        assert await child.ended() == 0


@ERAS
async def test_a_person_is_asked_through_the_client(mode):
    @rc.tool(approval=True)
    def buy(name: str) -> str:
        """Buy something."""
        return f"bought {name}"

    async def answer(_, __):
        return ElicitResult(action="accept", content={"allow": True})

    async with (
        serving(buy) as address,
        Client(address, mode=mode, elicitation_callback=answer) as client,
    ):
        result = await client.call_tool("buy", {"name": "tea"})
    assert result.content[0].text == "bought tea"


@ERAS
async def test_progress_and_cancellation(mode):
    started, cleaned = asyncio.Event(), asyncio.Event()

    @rc.tool
    async def wait(context: rc.Context[None]) -> str:
        """Wait."""
        context.progress(1, 2)
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            cleaned.set()
        return ""

    async def hear(*_):
        started.set()

    async with serving(wait) as address, Client(address, mode=mode) as client:
        calling = asyncio.ensure_future(client.call_tool("wait", {}, progress_callback=hear))
        await asyncio.wait_for(started.wait(), 10)
        calling.cancel()
        await asyncio.wait({calling}, timeout=10)
        await asyncio.wait_for(cleaned.wait(), 10)


async def test_a_client_that_hangs_up_in_the_middle_of_a_call_has_it_cancelled():
    started, cleaned = asyncio.Event(), asyncio.Event()

    @rc.tool
    async def wait() -> str:
        """Wait."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()
        return ""

    journal = rc.record.MemoryJournal()
    server = ToolServer([wait], journal=journal)
    async with serving(server=server) as address:
        body, headers = modern("wait")
        calling = asyncio.ensure_future(post(address, body, **headers))
        await asyncio.wait_for(started.wait(), 10)
        calling.cancel()
        await asyncio.wait({calling}, timeout=10)
        await asyncio.wait_for(cleaned.wait(), 10)
        async with asyncio.timeout(10):
            while server.running:
                await asyncio.sleep(0.01)
        body, headers = modern("nothing")
        assert (await post(address, body, **headers)).json()["error"]["code"] == -32602
    first = journal.entries(journal.runs()[0])
    assert [e.result.outcome for e in first if hasattr(e, "result")] == ["cancelled"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "evil.example.org"}, 421),
        ({"host": "localhost.evil.example.org"}, 421),
        ({"origin": "https://evil.example.org"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost:3000"}, 200),
    ],
    ids=["none", "another host", "a host like ours", "another origin", "a sandbox", "our own origin"],
)
async def test_only_requests_for_this_machine_are_served(headers, status):
    async with serving() as address:
        body, needed = modern("add", a=1, b=1)
        assert (await post(address, body, **{**needed, **headers})).status_code == status


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (None, 401),
        (f"Bearer {TOKEN}", 200),
        (f"bearer {TOKEN}", 200),
        (f"Bearer {TOKEN}x", 401),
        (f"Bearer {TOKEN[:-1]}", 401),
        (f"Basic {TOKEN}", 401),
        ("Bearer", 401),
        (TOKEN, 401),
    ],
)
async def test_a_token_is_asked_for_where_there_is_one(given, status):
    async with serving(listen=Listen(port=0, token=TOKEN)) as address:
        body, headers = modern("add", a=1, b=1)
        more = {} if given is None else {"authorization": given}
        response = await post(address, body, **headers, **more)
    assert response.status_code == status
    if status == 401:
        assert response.headers["www-authenticate"] == 'Bearer error="invalid_token"'


async def test_the_official_client_brings_its_token():
    async with (
        serving(listen=Listen(port=0, token=TOKEN)) as address,
        httpx2.AsyncClient(headers={"authorization": f"Bearer {TOKEN}"}) as http,
        Client(streamable_http_client(address, http_client=http)) as client,
    ):
        result = await client.call_tool("add", {"a": 1, "b": 1})
    assert result.structured_content == {"result": 2}


async def test_a_body_beyond_the_bound_is_refused_unread():
    async with serving(bounds=Bounds(message_bytes=1000)) as address:
        body, headers = modern("add", a=1, b=1, c="x" * 1000)
        assert (await post(address, body, **headers)).status_code == 413


@pytest.mark.parametrize("body", [b"{oops", b"\xff", b"[]", b"[" * 100_000], ids=repr)
async def test_a_body_that_is_no_message_is_refused(body):
    async with serving() as address:
        refused = await post(address, body, **{**HEADERS, "mcp-protocol-version": "2026-07-28"})
        assert refused.status_code == 400
        fine, headers = modern("add", a=1, b=1)
        assert (await post(address, fine, **headers)).status_code == 200


async def test_a_flood_of_calls_is_answered_or_refused_whole():
    async with serving(bounds=Bounds(calls=8, connections=1000, concurrency=2)) as address:
        body, headers = modern("add", a=1, b=1)
        async with httpx2.AsyncClient(limits=httpx2.Limits(max_connections=50)) as client:
            responses = await asyncio.gather(
                *[client.post(address, json=body, headers=headers, timeout=60) for _ in range(200)]
            )
    results = [response.json()["result"] for response in responses]
    assert all(
        each["structuredContent"] == {"result": 2}
        if not each["isError"]
        else "Try again later." in each["content"][0]["text"]
        for each in results
    )
    assert any(not each["isError"] for each in results)


async def test_connections_beyond_the_bound_are_turned_away():
    async with serving(bounds=Bounds(connections=2)) as address:
        host, port = address.removeprefix("http://").partition("/")[0].split(":")
        held = [await asyncio.open_connection(host, port) for _ in range(4)]
        body, headers = modern("add", a=1, b=1)
        assert (await post(address, body, **headers)).status_code == 503
        for _, writer in held:
            writer.close()
            await writer.wait_closed()


async def test_who_connects_and_asks_for_nothing_is_hung_up_on():
    async with serving(bounds=Bounds(request=0.1)) as address:
        host, port = address.removeprefix("http://").partition("/")[0].split(":")
        reader, writer = await asyncio.open_connection(host, port)
        assert await asyncio.wait_for(reader.read(), 10) == b""
        writer.close()
        await writer.wait_closed()


async def test_a_body_that_does_not_come_is_not_waited_for():
    async with serving(bounds=Bounds(request=0.1)) as address:
        host, port = address.removeprefix("http://").partition("/")[0].split(":")
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(
            f"POST /mcp HTTP/1.1\r\nhost: localhost:{port}\r\ncontent-length: 100\r\n".encode()
            + b"content-type: application/json\r\n"
            + b"accept: application/json, text/event-stream\r\n\r\n{"
        )
        answer = await asyncio.wait_for(reader.readline(), 10)
        writer.close()
        await writer.wait_closed()
    assert not answer.startswith(b"HTTP/1.1 2")


async def test_a_late_body_is_told_and_one_in_pieces_is_taken():
    async with serving(bounds=Bounds(request=0.5)) as address:
        host, port = address.removeprefix("http://").partition("/")[0].split(":")
        body, headers = modern("add", a=1, b=2)
        text = json.dumps(body).encode()
        lines = [f"POST /mcp HTTP/1.1\r\nhost: localhost:{port}\r\ncontent-length: {len(text)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        head = "\r\n".join(lines).encode() + b"\r\n\r\n"
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(head + text[:10])
        await asyncio.sleep(0.1)
        writer.write(text[10:])
        assert await asyncio.wait_for(reader.readline(), 10) == b"HTTP/1.1 200 OK\r\n"
        writer.close()
        await writer.wait_closed()
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(head + text[:10])
        told = await asyncio.wait_for(reader.read(), 10)
        writer.close()
        await writer.wait_closed()
    assert told.startswith(b"HTTP/1.1 408 Request Timeout\r\n")


async def test_whitespace_after_a_headers_value_is_no_part_of_it():
    async with serving() as address:
        host, port = address.removeprefix("http://").partition("/")[0].split(":")
        body, headers = modern("add", a=1, b=2)
        text = json.dumps(body).encode()
        lines = [f"POST /mcp HTTP/1.1\r\nhost: localhost:{port}\r\ncontent-length: {len(text)}"]
        lines += [f"{name}: \t{value} \t" for name, value in headers.items()]
        reader, writer = await asyncio.open_connection(host, port)
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + text)
        assert await asyncio.wait_for(reader.readline(), 10) == b"HTTP/1.1 200 OK\r\n"
        writer.close()
        await writer.wait_closed()


async def test_a_tool_in_a_thread_may_start_an_event_loop_of_its_own():
    @rc.tool
    def wait() -> str:
        """Wait."""
        anyio.run(anyio.sleep, 0)
        return "waited"

    async with serving(wait) as address:
        body, headers = modern("wait")
        answer = (await post(address, body, **headers)).json()
    assert answer["result"]["content"][0]["text"] == "waited"


async def test_sessions_beyond_the_bound_are_turned_away():
    async with (
        serving(bounds=Bounds(sessions=1)) as address,
        Client(address, mode="legacy") as client,
    ):
        await client.list_tools()
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "another", "version": "1"},
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        assert (await post(address, body)).status_code == 503


async def test_an_address_that_is_taken_is_said_to_be():
    async with serving() as address:
        port = int(address.partition("//")[2].partition("/")[0].rpartition(":")[2])
        with pytest.raises(
            UsageError, match=f"cannot listen on 127.0.0.1:{port}: Address already in use"
        ):
            async with serving(listen=Listen(port=port)):
                pass


async def test_calls_under_way_are_cancelled_when_it_is_told_to_stop(start, shop, tmp_path, until):
    mark = tmp_path / "mark"
    async with start(shop, "--http", "0") as child:
        address = (await child.said(r"serving at (\S+)"))[1]
        body, headers = modern("wait", mark=str(mark))
        calling = asyncio.ensure_future(post(address, body, **headers))
        await until(mark, "started")
        child.process.send_signal(signal.SIGTERM)
        assert await child.ended() == 0
        await asyncio.wait({calling}, timeout=10)
        assert calling.exception() is not None or calling.result().status_code >= 400
    assert mark.read_text() == "cleaned up"


async def test_the_token_comes_from_the_environment_and_stays_out_of_it(start, shop):
    env = {**os.environ, "RIGHTCALL_MCP_TOKEN": TOKEN}
    async with start(shop, "--http", "0", env=env) as child:
        address = (await child.said(r"serving at (\S+)"))[1]
        body, headers = modern("where")
        refused = await post(address, body, **headers)
        response = await post(address, body, **headers, authorization=f"Bearer {TOKEN}")
    assert refused.status_code == 401
    assert response.json()["result"]["isError"] is False
    assert TOKEN not in response.text


async def test_an_application_can_be_served_by_another_web_server():
    app = ToolServer([add]).app(Listen(port=0, token=TOKEN))
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        response = await client.post("/mcp", json=PING)
    assert response.status_code == 401
