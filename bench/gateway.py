"""What the gateway costs beside a bare pass-through and LiteLLM's proxy, in CPU time of the server.

Every server is a process of its own, before one scripted upstream (``gateway_upstream.py``), and is
asked the same over the same connections: ``python bench/gateway.py [--litellm PYTHON]``. Times are those
of the server's process alone; the upstream and the client have theirs. The servers take turns, round by
round, so that whatever else the machine does falls on all of them, and the least round counts. A stream
has 60 deltas of text; what a delta takes is the difference between a long stream and a short one.
"""

import argparse
import asyncio
import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

HERE = Path(__file__).parent
DELTAS = 60
FEW, PAUSE, BETWEEN = 20, 0.4, 0.007
"""What a stream of a crowd says, and the seconds between two of its events, and between two streams."""
ROUNDS = 8
SAID = [{"role": "user", "content": "Say something."}]
ASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": ("/v1/chat/completions", {"messages": SAID}),
    "messages": ("/v1/messages", {"messages": SAID}),
    "responses": ("/v1/responses", {"input": SAID}),
    "gemini": (
        "/v1beta/models/{model}:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "Say something."}]}]},
    ),
}
PLACES = {
    "chat": ("openai:up", "/v1"),
    "messages": ("anthropic:up", ""),
    "responses": ("openai-responses:up", "/v1"),
    "gemini": ("gemini:up", ""),
}
"""Where the gateway asks each dialect: the model, and where its address ends."""

PASS_THROUGH = """
import sys, aiohttp
from starlette.applications import Starlette
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
UP = sys.argv[2]
session = None
async def ask(request):
    global session
    session = session or aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
    body = await request.body()
    headers = {"content-type": "application/json"}
    response = await session.post(UP + request.url.path, data=body, headers=headers)
    if ":stream" not in request.url.path and b'"stream":true' not in body.replace(b" ", b""):
        return Response(await response.read(), media_type="application/json")
    async def pieces():
        async for piece in response.content.iter_any():
            yield piece
        response.release()
    return StreamingResponse(pieces(), media_type="text/event-stream")
paths = ["chat/completions", "messages", "responses"]
routes = [Route("/v1/" + path, ask, methods=["POST"]) for path in paths]
routes.append(Route("/v1beta/models/{name}", ask, methods=["POST"]))
import uvicorn
options = {"log_level": "error", "access_log": False, "timeout_keep_alive": 600}
uvicorn.run(Starlette(routes=routes), port=int(sys.argv[1]), **options)
"""


@dataclass(frozen=True)
class Server:
    """One that runs."""

    name: str
    base: str
    pid: int


@dataclass(frozen=True)
class Row:
    """A client's dialect, the name of the model it asks for, and the server's name in the table."""

    server: Server
    dialect: str
    model: str
    told: str


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def spent(pid: int) -> float:
    """Seconds of CPU that the threads of a process have used."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def resident(pid: int) -> float:
    """Megabytes that a process holds."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


@contextlib.contextmanager
def started(
    command: list[str], port: int, besides: Mapping[str, str] | None = None, seconds: float = 300.0
) -> Iterator[subprocess.Popen[bytes]]:
    """A server that listens."""
    environment = {**os.environ, **(besides or {})}
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    )
    try:
        until = time.monotonic() + seconds
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if time.monotonic() > until or process.poll() is not None:
                    raise SystemExit(f"{command[0]} did not start") from None
                time.sleep(0.1)
        yield process
    finally:
        process.terminate()
        process.wait(20)


async def ask(session: aiohttp.ClientSession, row: Row, *, stream: bool, deltas: int) -> float:
    """Ask once; seconds to the first byte."""
    path, body = ASKS[row.dialect]
    if row.dialect == "gemini":
        path = path.format(model=row.model)
        path = path.replace(":generate", ":streamGenerate") + "?alt=sse" if stream else path
        body = {**body, "generationConfig": {"maxOutputTokens": deltas}}
    else:
        most = "max_output_tokens" if row.dialect == "responses" else "max_tokens"
        body = {"model": row.model, **body, "stream": stream, most: deltas}
    began = time.perf_counter()
    async with session.post(
        row.server.base + path, json=body, headers={"authorization": "Bearer sk-1234"}
    ) as response:
        first = await response.content.readany()
        took = time.perf_counter() - began
        rest = await response.content.read()
        if response.status != 200:
            raise SystemExit(f"{row}: HTTP {response.status}: {(first + rest)[:300]!r}")
        return took


async def measured(
    rows: Sequence[Row], *, stream: bool, count: int, deltas: int = DELTAS
) -> list[tuple[float, float]]:
    """Of each row, milliseconds of CPU per exchange, and of waiting for the first byte."""
    rounds: list[list[float]] = [[] for _ in rows]
    firsts: list[list[float]] = [[] for _ in rows]
    few = max(count // ROUNDS // 8, 1)
    # Uvicorn closes connections that are quiet for 5 s, and one may be about to.
    connector = aiohttp.TCPConnector(keepalive_timeout=3)
    async with aiohttp.ClientSession(connector=connector) as session:
        for turn in range(ROUNDS + 1):
            for at, row in enumerate(rows):
                before = spent(row.server.pid)
                for _ in range(few):
                    firsts[at] += await asyncio.gather(
                        *(ask(session, row, stream=stream, deltas=deltas) for _ in range(8))
                    )
                if turn:
                    # The first time is for caches and connections.
                    rounds[at].append((spent(row.server.pid) - before) / (few * 8))
    # The least: whatever else the machine does can only add to it.
    return [
        (min(each) * 1000, statistics.median(first) * 1000)
        for each, first in zip(rounds, firsts, strict=True)
    ]


async def crowd(server: Server, count: int, between: float) -> tuple[float, float]:
    """With so many streams open at once: 99 of 100 first bytes come within so long, and kB for each."""
    connector = aiohttp.TCPConnector(limit=0)
    row = Row(server, "chat", "chat", server.name)
    async with aiohttp.ClientSession(connector=connector) as session:
        before, most = resident(server.pid), 0.0

        async def watch() -> None:
            nonlocal most
            while True:
                most = max(most, resident(server.pid))
                await asyncio.sleep(0.05)

        async def come(at: int) -> float:
            await asyncio.sleep(at * between)
            return await ask(session, row, stream=True, deltas=FEW)

        watching = asyncio.ensure_future(watch())
        try:
            firsts = await asyncio.gather(*map(come, range(count)))
        finally:
            watching.cancel()
        return sorted(firsts)[int(count * 0.99) - 1], (most - before) * 1024 / count


@contextlib.asynccontextmanager
async def upstream(pause: float = 0.0) -> AsyncIterator[str]:
    port = free_port()
    file = str(HERE / "gateway_upstream.py")
    with started([sys.executable, file, str(port), str(pause)], port):
        yield f"http://127.0.0.1:{port}"


def bare(up: str, port: int, folder: Path) -> list[str]:
    file = folder / "bare.py"
    file.write_text(PASS_THROUGH)
    return [sys.executable, str(file), str(port), up]


def ours(up: str, port: int, folder: Path) -> list[str]:
    file = folder / "gateway.toml"
    models = [
        f'[models.{name}]\nuse = "{use}"\nbase_url = "{up}{end}"\nkey_env = "RC_BENCH_KEY"\n'
        for name, (use, end) in PLACES.items()
    ]
    file.write_text("\n".join(models))
    command = [sys.executable, "-m", "rightcall.cli.main", "serve", "--listen", str(port)]
    return [*command, "--config", str(file)]


def litellm(python: str, up: str, port: int, folder: Path) -> list[str]:
    place = {"model": "hosted_vllm/up", "api_base": f"{up}/v1", "api_key": "x"}
    config = {
        "model_list": [{"model_name": "chat", "litellm_params": place}],
        "general_settings": {"master_key": "sk-1234"},
        "litellm_settings": {"drop_params": True, "telemetry": False},
    }
    file = folder / "litellm.json"
    file.write_text(json.dumps(config))
    script = str(Path(python).parent / "litellm")
    return [script, "--config", str(file), "--port", str(port), "--host", "127.0.0.1"]


BESIDES = {"RC_BENCH_KEY": "x", "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true"}


@contextlib.contextmanager
def served(name: str, command: list[str], port: int) -> Iterator[Server]:
    with started(command, port, BESIDES) as process:
        yield Server(name, f"http://127.0.0.1:{port}", process.pid)


async def table(servers: Sequence[Server], count: int) -> None:
    """Measure every row, and print it beside the pass-through of the same client."""
    passing, gateway, *others = servers
    await asyncio.sleep(1)
    idle = {server.name: resident(server.pid) for server in servers}
    for name, size in idle.items():
        print(f"{name:<14} {size:5.0f} MB idle", flush=True)
    print(f"{'server':<22} {'client':<10} CPU whole / stream of {DELTAS} deltas", flush=True)
    for dialect in ASKS:
        rows = [
            Row(passing, dialect, dialect, "pass-through"),
            Row(gateway, dialect, dialect, "gateway"),
        ]
        if dialect != "chat":
            rows.append(Row(gateway, dialect, "chat", "gateway, to chat"))
        if dialect != "responses":
            # Its Responses go to the upstream's, and are not translated.
            rows += [Row(server, dialect, "chat", server.name) for server in others]
        wholes = await measured(rows, stream=False, count=count)
        streams = await measured(rows, stream=True, count=count // 2)
        timed = [row for row in rows if row.server not in others]
        short = await measured(timed, stream=True, count=40, deltas=100)
        long = await measured(timed, stream=True, count=40, deltas=1100)
        for at, row in enumerate(rows):
            whole, stream, first = wholes[at][0], streams[at][0], streams[at][1]
            told = f"{whole:7.3f} / {stream:7.3f} ms   first byte {first:6.1f} ms"
            told += f"   {whole / wholes[0][0]:5.2f} / {stream / streams[0][0]:5.2f} times"
            if row in timed:
                told += f"   {long[at][0] - short[at][0]:5.1f} µs a delta"
            print(f"{row.told:<22} {dialect:<10} {told}", flush=True)


async def crowds(folder: Path, count: int) -> None:
    """Measure many streams: one after another (all are there before the first ends), and at once."""
    async with upstream(PAUSE) as up:
        for name, command in (("pass-through", bare), ("gateway", ours)):
            port = free_port()
            with served(name, command(up, port, folder), port) as server:
                await crowd(server, 20, 0.0)
                for words, between in (("one after another", BETWEEN), ("in one instant", 0.0)):
                    first, each = await crowd(server, count, between)
                    told = f"first byte p99 {first:.2f} s, {each:.0f} kB more each"
                    print(f"{name:<14} {count} streams, {words}: {told}", flush=True)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--litellm", metavar="PYTHON", help="the Python of an environment with litellm[proxy]"
    )
    parser.add_argument("--count", type=int, default=400, help="exchanges in each row")
    parser.add_argument("--streams", type=int, default=1000, help="streams open at once; 0 for none")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with upstream() as up:
            with contextlib.ExitStack() as stack:
                ports = [free_port(), free_port(), free_port()]
                commands = [
                    ("pass-through", bare(up, ports[0], folder)),
                    ("gateway", ours(up, ports[1], folder)),
                ]
                if options.litellm:
                    commands.append(("litellm", litellm(options.litellm, up, ports[2], folder)))
                servers = [
                    stack.enter_context(served(name, command, port))
                    for (name, command), port in zip(commands, ports, strict=False)
                ]
                await table(servers, options.count)
        if options.streams:
            await crowds(folder, options.streams)


if __name__ == "__main__":
    asyncio.run(main())
