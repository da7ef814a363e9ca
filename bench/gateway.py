"""What the gateway costs beside a bare pass-through and LiteLLM's proxy, in CPU time of the server.

Every server is a process of its own, before one scripted upstream, and is asked the same over the same
connections: ``python bench/gateway.py [--litellm PYTHON]``. Times are those of the server's process
alone; the upstream and the client have theirs. A stream has 62 events, 60 of them deltas of text; what a
delta takes is the difference between a long stream and a short one.
"""

import argparse
import asyncio
import contextlib
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp

HERE = Path(__file__).parent
DELTAS = 60
FEW, PAUSE, BETWEEN = 20, 0.4, 0.007
"""What a stream of a crowd says, and the seconds between two of its events, and between two streams."""
ROUNDS = 8
MODEL = "m"
SAID = [{"role": "user", "content": "Say something."}]
ASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": ("/v1/chat/completions", {"model": MODEL, "messages": SAID}),
    "messages": ("/v1/messages", {"model": MODEL, "max_tokens": 500, "messages": SAID}),
    "responses": ("/v1/responses", {"model": MODEL, "input": SAID}),
    "gemini": (
        "/v1beta/models/m:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "Say something."}]}]},
    ),
}

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
    if b'"stream":true' not in body.replace(b" ", b""):
        return Response(await response.read(), media_type="application/json")
    async def pieces():
        async for piece in response.content.iter_any():
            yield piece
        response.release()
    return StreamingResponse(pieces(), media_type="text/event-stream")
app = Starlette(routes=[Route("/v1/chat/completions", ask, methods=["POST"])])
import uvicorn
uvicorn.run(app, port=int(sys.argv[1]), log_level="error", access_log=False)
"""

UPSTREAM = """
import asyncio, json, sys, uvicorn
def chunk(delta, finish=None):
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "up"}
    return b"data: " + json.dumps({**head, "choices": [choice]}).encode() + b"\\n\\n"
USAGE = {"prompt_tokens": 20, "completion_tokens": 60, "total_tokens": 80}
WHOLE = json.dumps({"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "up",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "word " * 60},
    "finish_reason": "stop"}], "usage": USAGE}).encode()
async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    asked = json.loads(body)
    if not asked.get("stream"):
        head = [(b"content-type", b"application/json"), (b"content-length", str(len(WHOLE)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": WHOLE})
        return
    deltas = int(asked.get("seed") or 60)
    head = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    async def say(data):
        await send({"type": "http.response.body", "body": data, "more_body": True})
        await asyncio.sleep(PAUSE)
    await say(chunk({"role": "assistant", "content": ""}))
    for at in range(deltas):
        await say(chunk({"content": f"word{at} "}))
    await say(chunk({}, "stop"))
    await send({"type": "http.response.body", "body": b"data: [DONE]\\n\\n"})
PAUSE = float(sys.argv[2])
options = {"log_level": "error", "access_log": False, "lifespan": "off", "backlog": 4096}
uvicorn.run(app, port=int(sys.argv[1]), **options)
"""


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
def started(command: list[str], port: int, seconds: float = 60.0) -> Iterator[subprocess.Popen[bytes]]:
    """A server that listens."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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


async def ask(
    session: aiohttp.ClientSession, base: str, dialect: str, *, stream: bool, deltas: int
) -> float:
    """Ask once; seconds to the first byte."""
    path, body = ASKS[dialect]
    if dialect == "gemini":
        path = path.replace(":generate", ":streamGenerate") + "?alt=sse" if stream else path
        body = {**body, "generationConfig": {"seed": deltas}}
    else:
        body = {**body, "stream": stream}
        if dialect == "chat":
            body["seed"] = deltas
    began = time.perf_counter()
    async with session.post(
        base + path, json=body, headers={"authorization": "Bearer sk-1234"}
    ) as response:
        first = await response.content.readany()
        took = time.perf_counter() - began
        rest = await response.content.read()
        if response.status != 200:
            raise SystemExit(f"{base}{path}: HTTP {response.status}: {(first + rest)[:300]!r}")
        return took


async def measured(
    base: str, pid: int, dialect: str, *, stream: bool, count: int, deltas: int = DELTAS
) -> tuple[float, float]:
    """Milliseconds of CPU per exchange, and of waiting for the first byte."""
    async with aiohttp.ClientSession() as session:
        for _ in range(max(count // 10, 3)):
            await ask(session, base, dialect, stream=stream, deltas=deltas)
        rounds: list[float] = []
        firsts: list[float] = []
        for _ in range(ROUNDS):
            before, few = spent(pid), max(count // ROUNDS // 8, 1)
            for _ in range(few):
                firsts += await asyncio.gather(
                    *(ask(session, base, dialect, stream=stream, deltas=deltas) for _ in range(8))
                )
            rounds.append((spent(pid) - before) / (few * 8))
        # The least: whatever else the machine does can only add to it.
        return min(rounds) * 1000, statistics.median(firsts) * 1000


async def crowd(base: str, pid: int, count: int) -> tuple[float, float]:
    """With so many streams open at once: 99 of 100 first bytes come within so long, and kB for each."""
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        before, most = resident(pid), 0.0

        async def watch() -> None:
            nonlocal most
            while True:
                most = max(most, resident(pid))
                await asyncio.sleep(0.05)

        async def come(at: int) -> float:
            # One after another, and all are there before the first has ended.
            await asyncio.sleep(at * BETWEEN)
            return await ask(session, base, "chat", stream=True, deltas=FEW)

        watching = asyncio.ensure_future(watch())
        firsts = await asyncio.gather(*map(come, range(count)))
        watching.cancel()
        return sorted(firsts)[int(count * 0.99) - 1], (most - before) * 1024 / count


@contextlib.asynccontextmanager
async def upstream(folder: Path, pause: float = 0.0) -> AsyncIterator[str]:
    port = free_port()
    file = folder / "upstream.py"
    file.write_text(UPSTREAM)
    with started([sys.executable, str(file), str(port), str(pause)], port):
        yield f"http://127.0.0.1:{port}"


def ours(up: str, port: int) -> list[str]:
    command = [sys.executable, "-m", "rightcall.cli.main", "serve", "--listen", str(port)]
    return [*command, "--model", f"{MODEL}={up}/v1|up"]


def litellm(python: str, up: str, port: int, folder: Path) -> list[str]:
    config = {
        "model_list": [
            {
                "model_name": MODEL,
                "litellm_params": {"model": "hosted_vllm/up", "api_base": f"{up}/v1", "api_key": "x"},
            }
        ],
        "general_settings": {"master_key": "sk-1234"},
        "litellm_settings": {"drop_params": True, "telemetry": False},
    }
    file = folder / "litellm.json"
    file.write_text(json.dumps(config))
    script = str(Path(python).parent / "litellm")
    weak = "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY=true"
    return ["env", weak, script, "--config", str(file), "--port", str(port), "--host", "127.0.0.1"]


async def row(name: str, command: list[str], port: int, dialects: list[str], count: int) -> None:
    """Measure one server, and print its rows."""
    base = f"http://127.0.0.1:{port}"
    with started(command, port, 300) as process:
        await asyncio.sleep(1)
        idle = resident(process.pid)
        for dialect in dialects:
            whole, _ = await measured(base, process.pid, dialect, stream=False, count=count)
            stream, first = await measured(base, process.pid, dialect, stream=True, count=count // 2)
            told = f"{whole:7.2f} / {stream:7.2f} ms   first byte {first:6.1f} ms   {idle:5.0f} MB idle"
            if dialect == "chat" and name != "litellm":
                short, _ = await measured(base, process.pid, dialect, stream=True, count=40, deltas=100)
                long, _ = await measured(base, process.pid, dialect, stream=True, count=40, deltas=1100)
                told += f"   {(long - short):5.1f} µs a delta"
            print(f"{name:<14} {dialect:<10} {told}", flush=True)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--litellm", metavar="PYTHON", help="the Python of an environment with litellm[proxy]"
    )
    parser.add_argument("--count", type=int, default=400, help="exchanges in each row")
    parser.add_argument("--streams", type=int, default=1000, help="streams open at once")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bare = folder / "bare.py"
        bare.write_text(PASS_THROUGH)
        async with upstream(folder) as up:
            print(f"{'server':<14} {'client':<10} CPU whole / stream of {DELTAS + 2} events")
            port = free_port()
            await row(
                "pass-through", [sys.executable, str(bare), str(port), up], port, ["chat"], options.count
            )
            port = free_port()
            await row("rightcall", ours(up, port), port, list(ASKS), options.count)
            if options.litellm:
                port = free_port()
                command = litellm(options.litellm, up, port, folder)
                # Its Responses go to the upstream's, which speaks Chat alone.
                asked = [dialect for dialect in ASKS if dialect != "responses"]
                await row("litellm", command, port, asked, options.count // 4)
        async with upstream(folder, pause=PAUSE) as up:
            for name_ in ("pass-through", "rightcall"):
                port = free_port()
                bare_one = [sys.executable, str(bare), str(port), up]
                command = ours(up, port) if name_ == "rightcall" else bare_one
                with started(command, port) as process:
                    base = f"http://127.0.0.1:{port}"
                    await crowd(base, process.pid, 20)
                    first, each = await crowd(base, process.pid, options.streams)
                told = f"first byte p99 {first:.2f} s, {each:.0f} kB each"
                print(f"{name_:<14} {options.streams} streams at once: {told}", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
