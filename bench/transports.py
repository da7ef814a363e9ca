"""CPU of a run of two streamed requests over loopback, for each HTTP library that was considered.

Each library reads the same 200 small chunks per reply, over a connection that is kept. Raw sockets are
the floor. Run by ``make bench-transports`` in an environment of its own.
"""

import asyncio
import multiprocessing
import socket
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any

CHUNKS = 200
RUNS = 100
ROUNDS = 5
EVENT = b'data: {"choices": [{"index": 0, "delta": {"content": "abcd"}}]}\n\n'
BODY = b'{"messages": [{"role": "user", "content": "hi"}], "stream": true}'
SIZE = CHUNKS * len(EVENT)


def serve(listener: socket.socket) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    chunk = b"%x\r\n%s\r\n" % (len(EVENT), EVENT)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(len(BODY))
                writer.write(head)
                for _ in range(10):
                    writer.write(chunk * (CHUNKS // 10))
                    await asyncio.sleep(0)
                writer.write(b"0\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main() -> None:
        async with await asyncio.start_server(answer, sock=listener):
            await asyncio.Event().wait()

    asyncio.run(main())


Request = Callable[[], Awaitable[int]]
CLOSE: list[Callable[[], Awaitable[None]]] = []


async def raw(url: str) -> Request:
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = f"POST / HTTP/1.1\r\nhost: {host}\r\ncontent-length: {len(BODY)}\r\n\r\n".encode()

    async def request() -> int:
        writer.write(head + BODY)
        data = b""
        while not data.endswith(b"\r\n0\r\n\r\n"):
            data += await reader.read(65536)
        return data.count(EVENT) * len(EVENT)

    return request


async def aiohttp(url: str) -> Request:
    import aiohttp  # noqa: PLC0415

    session = aiohttp.ClientSession()
    CLOSE.append(session.close)

    async def request() -> int:
        async with session.post(url, data=BODY) as response:
            return sum([len(chunk) async for chunk in response.content.iter_any()])

    return request


async def httpx2(url: str) -> Request:
    import httpx2  # noqa: PLC0415

    client = httpx2.AsyncClient()

    async def request() -> int:
        async with client.stream("POST", url, content=BODY) as response:
            return sum([len(chunk) async for chunk in response.aiter_raw()])

    return request


async def niquests(url: str) -> Request:
    import niquests  # noqa: PLC0415

    session = niquests.AsyncSession()

    async def request() -> int:
        response = await session.post(url, data=BODY, stream=True)
        return sum([len(chunk) async for chunk in await response.iter_content(16384)])

    return request


async def pyreqwest(url: str) -> Request:
    from pyreqwest.client import ClientBuilder  # noqa: PLC0415

    client = ClientBuilder().build()

    async def request() -> int:
        size = 0
        async with client.post(url).body_bytes(BODY).build_streamed() as response:
            while chunk := await response.body_reader.read_chunk():
                size += len(chunk)
        return size

    return request


async def measure(request: Request) -> float:
    """Milliseconds of CPU for a run of two requests."""
    start = time.process_time()
    for _ in range(RUNS * 2):
        size = await request()
        assert size == SIZE, (size, SIZE)
    return (time.process_time() - start) / RUNS * 1e3


async def main(url: str) -> None:
    makers: dict[str, Any] = {"raw sockets": raw} | {
        f"{make.__name__} {version(make.__name__)}": make
        for make in (aiohttp, httpx2, niquests, pyreqwest)
    }
    requests = {name: await make(url) for name, make in makers.items()}
    times: dict[str, list[float]] = {name: [] for name in requests}
    for _ in range(ROUNDS):
        for name, request in requests.items():
            times[name].append(await measure(request))
    for close in CLOSE:
        await close()
    floor = statistics.median(times["raw sockets"])
    print(f"Python {sys.version.split()[0]}; two streamed requests, median of {ROUNDS} x {RUNS} runs")
    for name, samples in times.items():
        median = statistics.median(samples)
        print(f"  {name:20} {median:6.2f} ms CPU {median / floor:6.1f} x raw sockets")


if __name__ == "__main__":
    listening = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    server = multiprocessing.get_context("fork").Process(target=serve, args=(listening,), daemon=True)
    server.start()
    asyncio.run(main(address))
    server.terminate()
