"""What a call costs on our MCP server and on the official SDK's own, in the same run.

Both serve the same functions from a process of their own, over pipes and over loopback HTTP, to the
same bare client, which sends lines or posts and looks at the results, in many short turns. Shown are the
CPU time of the server's process for one call, how much of it is the kernel's, and the wall time per call
as the client sees it; with ``--instructions``, how many a call takes over HTTP, which no other work on
the machine changes.
"""

import asyncio
import json
import os
import platform
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from itertools import product
from pathlib import Path

import aiohttp
from in_turn import Counter, in_turn

TURNS = 30
CALLS = 50
COUNTED = 200
ABREAST = 16

OURS = """
import rightcall as rc
from rightcall.mcp.server import Listen, serve

@rc.tool(effect="pure")
async def add(a: int, b: int) -> int:
    "Add."
    return a + b

@rc.tool(effect="pure")
def add_blocking(a: int, b: int) -> int:
    "Add."
    return a + b

import sys
serve([add, add_blocking], listen=Listen(port=int(sys.argv[1])) if len(sys.argv) > 1 else None)
"""
THEIRS = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("bench", log_level="WARNING")

@server.tool()
async def add(a: int, b: int) -> int:
    "Add."
    return a + b

@server.tool()
def add_blocking(a: int, b: int) -> int:
    "Add."
    return a + b

import sys
if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run("stdio")
"""
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
}


def request(number: int, tool: str) -> bytes:
    params = {"name": tool, "arguments": {"a": number, "b": 1}, "_meta": META}
    return json.dumps(
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    ).encode()


def cpu_of(process: asyncio.subprocess.Process) -> float:
    """Seconds of CPU time that a process has used up to now."""
    scheduled = 2  # the kernel's clock of what a process ran, see clock_getcpuclockid(3)
    return time.clock_gettime((~process.pid << 3) | scheduled)


Exchange = Callable[[int, str], Awaitable[None]]
Sides = dict[str, tuple[asyncio.subprocess.Process, Exchange]]


class Pipes:
    """Calls as lines; answers by their number."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin, self._stdout = process.stdin, process.stdout
        self._open: dict[int, asyncio.Future[None]] = {}
        self._reading = asyncio.ensure_future(self._read())

    async def call(self, number: int, tool: str) -> None:
        self._open[number] = asyncio.get_running_loop().create_future()
        self._stdin.write(request(number, tool) + b"\n")
        try:
            await asyncio.wait_for(self._open[number], 60)
        finally:
            del self._open[number]

    async def _read(self) -> None:
        while line := await self._stdout.readline():
            answer = json.loads(line)
            assert answer["result"]["structuredContent"] == {"result": answer["id"] + 1}, answer
            self._open[answer["id"]].set_result(None)


async def by_http(session: aiohttp.ClientSession, address: str, number: int, tool: str) -> None:
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": tool,
    }
    async with session.post(address, data=request(number, tool), headers=headers) as response:
        answer = json.loads(await response.read())
        assert answer["result"]["structuredContent"] == {"result": number + 1}, answer


async def start(
    code: str, *arguments: str, under: list[str] | None = None
) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        *(under or []),
        sys.executable,
        "-c",
        code,
        *arguments,
        stdin=pipe,
        stdout=pipe,
        stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )


async def calls(exchange: Exchange, tool: str, abreast: int, count: int = CALLS) -> float:
    """Make so many calls, so many at once; returns the wall time per call, in microseconds."""
    places = asyncio.Semaphore(abreast)

    async def one(number: int) -> None:
        async with places:
            await exchange(number, tool)

    began = time.perf_counter()
    await asyncio.gather(*[one(number) for number in range(count)])
    return (time.perf_counter() - began) / count * 1e6


def kernel_of(process: asyncio.subprocess.Process) -> float:
    """Seconds of it that were the kernel's, in steps of a hundredth."""
    after_the_name = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return int(after_the_name[12]) / os.sysconf("SC_CLK_TCK")


async def compared(sides: Sides, tool: str, abreast: int) -> dict[str, tuple[float, float, float]]:
    """Of each side, in microseconds for a call: CPU time, the kernel's part, and wall time."""
    walls: dict[str, list[float]] = {name: [] for name in sides}

    async def turn(name: str) -> float:
        process, exchange = sides[name]
        used = cpu_of(process)
        walls[name].append(await calls(exchange, tool, abreast))
        return (cpu_of(process) - used) / CALLS * 1e6

    kernel = {name: kernel_of(process) for name, (process, _) in sides.items()}
    found = await in_turn({name: partial(turn, name) for name in sides}, TURNS)
    shares = {
        name: (kernel_of(process) - kernel[name]) / CALLS / (TURNS + 1) * 1e6
        for name, (process, _) in sides.items()
    }
    return {
        name: (statistics.median(found[name]), shares[name], statistics.median(walls[name]))
        for name in sides
    }


@asynccontextmanager
async def pipes() -> AsyncIterator[Sides]:
    processes = {"rightcall": await start(OURS), "SDK": await start(THEIRS)}
    yield {name: (process, Pipes(process).call) for name, process in processes.items()}
    await stop(*processes.values())


@asynccontextmanager
async def http() -> AsyncIterator[Sides]:
    async with served(OURS) as ours, served(THEIRS) as theirs:
        yield {"rightcall": ours[:2], "SDK": theirs[:2]}


@asynccontextmanager
async def served(
    code: str, under: list[str] | None = None
) -> AsyncIterator[tuple[asyncio.subprocess.Process, Exchange, str]]:
    """A server over HTTP, how to call it, and its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = await start(code, str(port), under=under)
    try:
        async with aiohttp.ClientSession() as session:
            address = f"http://127.0.0.1:{port}/mcp"
            await until_served(session, address)
            yield process, partial(by_http, session, address), address
    finally:
        await stop(process)


WIRES = {"stdio": pipes, "HTTP": http}


async def instructions(code: str) -> float:
    """Millions of instructions that a server takes for one call over HTTP."""
    with tempfile.TemporaryDirectory() as place:
        counter = Counter(Path(place, "log"))
        async with served(code, counter.command) as (process, exchange, _):
            await calls(exchange, "add", 1, 50)
            counter.switch(process.pid, "on")
            await calls(exchange, "add", 1, COUNTED)
            counter.switch(process.pid, "off")
        return counter.counted() / COUNTED / 1e6


async def until_served(session: aiohttp.ClientSession, address: str) -> None:
    async with asyncio.timeout(300):  # under valgrind it takes long to start
        while True:
            try:
                await by_http(session, address, 0, "add")
            except aiohttp.ClientError:
                await asyncio.sleep(0.1)
            else:
                return


async def stop(*processes: asyncio.subprocess.Process) -> None:
    for process in processes:
        process.terminate()
        await process.wait()


async def every() -> dict[str, float]:
    found: dict[str, float] = {}
    for title, wire in WIRES.items():
        async with wire() as sides:
            for abreast in (1, ABREAST):
                taken = await compared(sides, "add", abreast)
                found |= {f"{title} {abreast} {name}": each[0] / 1e6 for name, each in taken.items()}
    return found


def figures() -> dict[str, float]:
    """Seconds of the server's CPU for one call, by how it is asked and how many at once."""
    return asyncio.run(every())


async def main() -> None:
    names = ("mcp", "pydantic", "uvicorn", "starlette")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    print(f"Python {platform.python_version()}, {versions}, load {os.getloadavg()[0]:.1f}\n")
    if "--instructions" in sys.argv:
        ours, theirs = await instructions(OURS), await instructions(THEIRS)
        print(f"{ours:.3f} million for a call over HTTP, {theirs:.3f} by the SDK's: {ours / theirs:.3f}")
        return
    print("| over | tool | at once | µs CPU/call (kernel) | SDK's | ratio | µs/call | SDK's | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    for title, wire in WIRES.items():
        async with wire() as sides:
            for tool, abreast in product(("add", "add_blocking"), (1, ABREAST)):
                means = await compared(sides, tool, abreast)
                cells = [f"{cpu:.0f} ({kernel:.0f})" for cpu, kernel, _ in means.values()]
                (ours, _, slow), (theirs, _, slower) = means["rightcall"], means["SDK"]
                cpu = f"{' | '.join(cells)} | {ours / theirs:.2f}"
                wall = f"{slow:.0f} | {slower:.0f} | {slow / slower:.2f}"
                print(f"| {title} | {tool} | {abreast} | {cpu} | {wall} |", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
