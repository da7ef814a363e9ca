"""What a call costs on our MCP server and on the official SDK's own, in the same run.

Both serve the same functions from a process of their own, over pipes and over loopback HTTP, to the
same bare client, which sends lines or posts and looks at the results. Rounds alternate. Shown are the
CPU time of the server's process for one call, and the wall time per call as the client sees it.
"""

import asyncio
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version

import aiohttp

ROUNDS = 5
CALLS = 300
ABREAST = 16
TICK = os.sysconf("SC_CLK_TCK")

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
    with open(f"/proc/{process.pid}/stat") as file:  # noqa: PTH123
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


Exchange = Callable[[int, str], Awaitable[None]]


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


async def compare(title: str, sides: dict[str, tuple[asyncio.subprocess.Process, Exchange]]) -> None:
    for tool in ("add", "add_blocking"):
        for abreast in (1, ABREAST):
            figures: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
            for turn in range(ROUNDS + 1):
                for name, (process, exchange) in sides.items():
                    figure = await measure(process, exchange, tool, abreast)
                    if turn:
                        figures[name].append(figure)
            means = {
                name: (statistics.mean(f[0] for f in rounds), statistics.median(f[1] for f in rounds))
                for name, rounds in figures.items()
            }
            ours, theirs = means["rightcall"], means["SDK"]
            cpu = f"{ours[0]:.0f} | {theirs[0]:.0f} | {ours[0] / theirs[0]:.2f}"
            wall = f"{ours[1]:.0f} | {theirs[1]:.0f} | {ours[1] / theirs[1]:.2f}"
            print(f"| {title} | {tool} | {abreast} | {cpu} | {wall} |", flush=True)


async def pipes() -> None:
    processes = {"rightcall": await start(OURS), "SDK": await start(THEIRS)}
    sides: dict[str, tuple[asyncio.subprocess.Process, Exchange]] = {
        name: (process, Pipes(process).call) for name, process in processes.items()
    }
    await compare("stdio", sides)
    await stop(*processes.values())


async def http() -> None:
    ports = {"rightcall": "8771", "SDK": "8772"}
    processes = {
        "rightcall": await start(OURS, ports["rightcall"]),
        "SDK": await start(THEIRS, ports["SDK"]),
    }
    async with aiohttp.ClientSession() as session:
        sides: dict[str, tuple[asyncio.subprocess.Process, Exchange]] = {}
        for name, process in processes.items():
            address = f"http://127.0.0.1:{ports[name]}/mcp"
            await until_served(session, address)

            async def exchange(number: int, tool: str, address: str = address) -> None:
                await by_http(session, address, number, tool)

            sides[name] = (process, exchange)
        await compare("HTTP", sides)
    await stop(*processes.values())


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


async def main() -> None:
    names = ("mcp", "pydantic", "uvicorn", "starlette")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    print(f"Python {platform.python_version()}, {versions}\n")
    print("| over | tool | at once | server µs CPU/call | SDK's | ratio | µs/call | SDK's | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    await pipes()
    await http()


if __name__ == "__main__":
    asyncio.run(main())
