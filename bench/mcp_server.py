"""What a call costs on our MCP server and on the official SDK's own, in the same run.

Both serve the same functions from a process of their own, over pipes and over loopback HTTP, to the
same bare client, which sends lines or posts and looks at the results. Rounds alternate. Shown are the
CPU time of the server's process for one call, and the wall time per call as the client sees it.
"""

import asyncio
import json
import platform
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from itertools import product

import aiohttp

ROUNDS = 5
CALLS = 300
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


async def start(code: str, *arguments: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        code,
        *arguments,
        stdin=pipe,
        stdout=pipe,
        stderr=asyncio.subprocess.DEVNULL,
    )


async def measure(
    process: asyncio.subprocess.Process, exchange: Exchange, tool: str, abreast: int
) -> tuple[float, float]:
    """CPU time of the server per call, and wall time per call, in microseconds."""
    places = asyncio.Semaphore(abreast)

    async def one(number: int) -> None:
        async with places:
            await exchange(number, tool)

    used, began = cpu_of(process), time.perf_counter()
    await asyncio.gather(*[one(number) for number in range(CALLS)])
    wall = time.perf_counter() - began
    return (cpu_of(process) - used) / CALLS * 1e6, wall / CALLS * 1e6


async def compared(sides: Sides, tool: str, abreast: int, rounds: int) -> dict[str, tuple[float, float]]:
    """The CPU and the wall time of each side; rounds alternate, and the first does not count."""
    figures: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
    for turn in range(rounds + 1):
        for name, (process, exchange) in sides.items():
            figure = await measure(process, exchange, tool, abreast)
            if turn:
                figures[name].append(figure)
    return {
        name: (statistics.mean(f[0] for f in found), statistics.median(f[1] for f in found))
        for name, found in figures.items()
    }


@asynccontextmanager
async def pipes() -> AsyncIterator[Sides]:
    processes = {"rightcall": await start(OURS), "SDK": await start(THEIRS)}
    yield {name: (process, Pipes(process).call) for name, process in processes.items()}
    await stop(*processes.values())


@asynccontextmanager
async def http() -> AsyncIterator[Sides]:
    ports = {"rightcall": "8771", "SDK": "8772"}
    processes = {
        "rightcall": await start(OURS, ports["rightcall"]),
        "SDK": await start(THEIRS, ports["SDK"]),
    }
    async with aiohttp.ClientSession() as session:
        sides: Sides = {}
        for name, process in processes.items():
            address = f"http://127.0.0.1:{ports[name]}/mcp"
            await until_served(session, address)

            async def exchange(number: int, tool: str, address: str = address) -> None:
                await by_http(session, address, number, tool)

            sides[name] = (process, exchange)
        yield sides
    await stop(*processes.values())


WIRES = {"stdio": pipes, "HTTP": http}


async def until_served(session: aiohttp.ClientSession, address: str) -> None:
    async with asyncio.timeout(60):
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
                taken = await compared(sides, "add", abreast, 2)
                found |= {f"{title} {abreast} {name}": cpu / 1e6 for name, (cpu, _) in taken.items()}
    return found


def figures() -> dict[str, float]:
    """Seconds of the server's CPU for one call, by how it is asked and how many at once."""
    return asyncio.run(every())


async def main() -> None:
    names = ("mcp", "pydantic", "uvicorn", "starlette")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    print(f"Python {platform.python_version()}, {versions}\n")
    print("| over | tool | at once | server µs CPU/call | SDK's | ratio | µs/call | SDK's | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    for title, wire in WIRES.items():
        async with wire() as sides:
            for tool, abreast in product(("add", "add_blocking"), (1, ABREAST)):
                means = await compared(sides, tool, abreast, ROUNDS)
                ours, theirs = means["rightcall"], means["SDK"]
                cpu = f"{ours[0]:.0f} | {theirs[0]:.0f} | {ours[0] / theirs[0]:.2f}"
                wall = f"{ours[1]:.0f} | {theirs[1]:.0f} | {ours[1] / theirs[1]:.2f}"
                print(f"| {title} | {tool} | {abreast} | {cpu} | {wall} |", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
