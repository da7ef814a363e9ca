"""A client of the older protocols that lost its connection gets what it missed, and nobody else's."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from mcp_types import JSONRPCResponse

import rightcall as rc
from rightcall.mcp.server import Bounds, Listen, ToolServer
from rightcall.mcp.server.resumption import RecentEvents

ACCEPT = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2025-11-25",
}
GREETING = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "tester", "version": "1"},
}


@rc.tool
async def slow(word: str, context: rc.Context[None]) -> str:
    """Says how far it is, and takes its time."""
    context.progress(1, 2)
    await asyncio.sleep(0.1)
    return word


@pytest.fixture
async def address() -> AsyncIterator[str]:
    server = ToolServer([slow], bounds=Bounds(sessions=3))
    started: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    serving = asyncio.ensure_future(server.http(Listen(port=0), started=started.set_result))
    yield await started
    serving.cancel()
    await asyncio.wait({serving})


async def greet(client: httpx2.AsyncClient, address: str) -> dict[str, str]:
    message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": GREETING}
    answer = await client.post(address, json=message, headers=ACCEPT)
    assert answer.status_code == 200
    return {**ACCEPT, "mcp-session-id": answer.headers["mcp-session-id"]}


async def events(answer: httpx2.Response) -> AsyncIterator[dict[str, Any]]:
    event: dict[str, Any] = {}
    async for line in answer.aiter_lines():
        name, _, value = line.partition(": ")
        if line:
            event[name] = value
        elif event:
            yield event
            event = {}


async def begin(client: httpx2.AsyncClient, address: str, headers: dict[str, str], word: str) -> str:
    """Call a tool, and hang up after the first event; returns its id."""
    params = {"name": "slow", "arguments": {"word": word}}
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    async with client.stream("POST", address, json=message, headers=headers) as answer:
        async for event in events(answer):
            return str(event["id"])
    raise AssertionError("no event came")


async def resume(client: httpx2.AsyncClient, address: str, headers: dict[str, str], last: str) -> Any:
    async with client.stream("GET", address, headers={**headers, "last-event-id": last}) as answer:
        async for event in events(answer):
            if "result" in event.get("data", ""):
                return json.loads(event["data"])["result"]["content"][0]["text"]
    return None


async def test_what_was_missed_is_sent_to_who_missed_it(address):
    async with httpx2.AsyncClient(timeout=10) as client:
        first = await greet(client, address)
        second = await greet(client, address)
        # Both calls have the same id, as many clients number theirs.
        mine = await begin(client, address, first, "mine")
        yours = await begin(client, address, second, "yours")
        await asyncio.sleep(0.3)
        assert await resume(client, address, first, mine) == "mine"
        assert await resume(client, address, second, yours) == "yours"
        assert await resume(client, address, second, mine) is None


async def test_sessions_are_released_when_they_end_and_refused_when_there_are_too_many(address):
    async with httpx2.AsyncClient(timeout=10) as client:
        for _ in range(5):
            headers = await greet(client, address)
            assert (await client.delete(address, headers=headers)).status_code == 200
            assert (await client.get(address, headers=headers)).status_code == 404
        for _ in range(3):
            await greet(client, address)
        message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": GREETING}
        assert (await client.post(address, json=message, headers=ACCEPT)).status_code == 503


async def test_what_is_kept_is_bounded():
    store = RecentEvents(10_000)
    names = []
    for number in range(100):
        message = JSONRPCResponse(jsonrpc="2.0", id=number, result={"x": "y" * 1000})
        names.append(await store.store_event("s", message))
    sent: list[Any] = []

    async def send(event: Any) -> None:
        sent.append(event.message.id)

    assert await store.replay_events_after(names[0], send) is None
    assert await store.replay_events_after(names[-3], send) == "s"
    assert sent == [98, 99]
    assert len(store._events) < 10
    store.forget("")
    assert (store._events, store._sessions, store._size) == ({}, {}, 0)
