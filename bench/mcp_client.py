"""What it costs to start MCP servers, ten at once with fifty tools each, and to call them.

The floor is the same ten programs spoken to by hand: started by ``subprocess``, one thread each, the
fewest messages that get the same lists, nothing checked. The SDK alone is measured, too. Calls are made
in many short turns, over stdio and over loopback HTTP.
"""

import asyncio
import json
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

from in_turn import in_turn, medians
from mcp_server import THEIRS, served

from mcp import Client, StdioServerParameters
from rightcall.mcp import connect, connect_all

PROGRAM = [sys.executable, str(Path(__file__).resolve().parents[1] / "tests/mcp/client/many.py"), "50"]
SERVERS = 10
TOOLS = 50
ROUNDS = 5
TURNS = 40
CALLS = 50


def by_hand(_: int) -> int:
    """Start one server, list its tools, and end it."""
    with subprocess.Popen(PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def ask(method: str, **params: Any) -> Any:
            request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            process.stdin.write(json.dumps(request).encode() + b"\n")  # type: ignore[union-attr]
            process.stdin.flush()  # type: ignore[union-attr]
            return json.loads(process.stdout.readline())["result"]  # type: ignore[union-attr]

        ask("initialize", protocolVersion="2025-11-25")
        tools, cursor = 0, dict[str, str]()
        while True:
            page = ask("tools/list", **cursor)
            tools += len(page["tools"])
            if "nextCursor" not in page:
                break
            cursor = {"cursor": page["nextCursor"]}
        process.stdin.close()
        return tools


async def all_by_hand() -> None:
    with ThreadPoolExecutor(SERVERS) as pool:
        assert sum(pool.map(by_hand, range(SERVERS))) == SERVERS * TOOLS


async def by_sdk() -> None:
    async def one() -> int:
        target = StdioServerParameters(command=PROGRAM[0], args=PROGRAM[1:])
        async with Client(target, mode="legacy") as client:
            tools, cursor = 0, None
            while True:
                page = await client.list_tools(cursor=cursor)
                tools, cursor = tools + len(page.tools), page.next_cursor
                if cursor is None:
                    return tools

    assert sum(await asyncio.gather(*(one() for _ in range(SERVERS)))) == SERVERS * TOOLS


async def by_us() -> None:
    servers = {f"s{number}": PROGRAM for number in range(SERVERS)}
    async with connect_all(servers, protocol="legacy") as group:
        assert len(group) == SERVERS * TOOLS


async def one_by_us() -> None:
    async with connect(PROGRAM, protocol="legacy") as server:
        assert len(server) == TOOLS


async def seconds(work: Callable[[], Awaitable[None]]) -> float:
    """The middle of some rounds, after one that does not count."""
    await work()
    taken = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        await work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


Call = Callable[[], Awaitable[object]]


async def over_stdio(opened: AsyncExitStack) -> dict[str, Call]:
    target = StdioServerParameters(command=PROGRAM[0], args=PROGRAM[1:])
    client = await opened.enter_async_context(Client(target, mode="legacy"))
    server = await opened.enter_async_context(connect(PROGRAM, protocol="legacy"))
    await client.list_tools()
    return {
        "SDK": lambda: client.call_tool("tool_1", {"number": 1}),
        "rightcall": lambda: server.call("tool_1", {"number": 1}),
    }


async def over_http(opened: AsyncExitStack) -> dict[str, Call]:
    *_, address = await opened.enter_async_context(served(THEIRS))
    client = await opened.enter_async_context(Client(address))
    server = await opened.enter_async_context(connect(address))
    await client.list_tools()
    return {
        "SDK": lambda: client.call_tool("add", {"a": 1, "b": 1}),
        "rightcall": lambda: server.call("add", {"a": 1, "b": 1}),
    }


WIRES = {"stdio": over_stdio, "HTTP": over_http}


async def call_cost(wire: str) -> dict[str, float]:
    """Milliseconds of the processor for one call, by the SDK alone and by us."""
    async with AsyncExitStack() as opened:
        sides = await WIRES[wire](opened)
        turns = {name: partial(_turn, call) for name, call in sides.items()}
        return medians(await in_turn(turns, TURNS))


async def _turn(call: Call) -> float:
    start = time.process_time()
    for _ in range(CALLS):
        await call()
    return (time.process_time() - start) / CALLS * 1000


def figures() -> dict[str, float]:
    """Seconds of the client's CPU for one call."""
    return {
        f"{wire} {name}": cost / 1000
        for wire in WIRES
        for name, cost in asyncio.run(call_cost(wire)).items()
    }


async def main() -> None:
    print(
        f"{platform.machine()}, Python {platform.python_version()}, {SERVERS} servers of {TOOLS} tools"
    )
    floor = await seconds(all_by_hand)
    print(f"opened, listed and closed by hand  {floor:6.3f} s")
    for name, work in (("by the SDK alone", by_sdk), ("by rightcall", by_us)):
        taken = await seconds(work)
        print(f"{name:<33}  {taken:6.3f} s  {taken / floor:4.1f} x")
    print(f"one server by rightcall           {await seconds(one_by_us):6.3f} s")
    for wire in WIRES:
        cost = await call_cost(wire)
        alone, ours = cost["SDK"], cost["rightcall"]
        print(f"one call over {wire} by the SDK alone  {alone:6.3f} ms of CPU")
        print(f"one call over {wire} by rightcall      {ours:6.3f} ms of CPU  {ours / alone:5.2f} x")


if __name__ == "__main__":
    asyncio.run(main())
