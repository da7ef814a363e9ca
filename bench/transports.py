"""What our transport and each HTTP library that was considered cost a client that reads streams.

Two streamed requests of 200 small chunks over a connection that is kept, plain and under TLS, on
asyncio's own event loop and on uvloop; and 1,000 streams at once, with the memory of each. Every
library has a process of its own, all over loopback; raw sockets are the floor. Run by
``make bench WHAT=transports`` in an environment of its own.
"""

import argparse
import asyncio
import contextlib
import gc
import json
import multiprocessing
import os
import resource
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

CHUNKS = 200
RUNS = 100
ROUNDS = 5
STREAMS = 1000
EVENT = b'data: {"choices": [{"index": 0, "delta": {"content": "abcd"}}]}\n\n'
BODY = b'{"messages": [{"role": "user", "content": "hi"}], "stream": true}'
SIZE = CHUNKS * len(EVENT)
PAUSE = 1.0
"""Seconds for which a stream of the path ``/slow`` stands still, so that all are open at once."""


def serve(listener: socket.socket, certificate: str | None) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    chunk = b"%x\r\n%s\r\n" % (len(EVENT), EVENT)
    context = None
    if certificate is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(len(BODY))
                writer.write(head)
                for part in range(10):
                    writer.write(chunk * (CHUNKS // 10))
                    await asyncio.sleep(PAUSE if part == 5 and b" /slow " in request else 0)
                writer.write(b"0\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main() -> None:
        async with await asyncio.start_server(answer, sock=listener, ssl=context, backlog=4096):
            await asyncio.Event().wait()

    asyncio.run(main())


Request = Callable[[], Awaitable[int]]
CLOSE: list[Callable[[], Awaitable[None]]] = []


def trusting(certificate: str) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certificate)


async def raw(url: str, certificate: str) -> Request:
    """One connection for each request that is under way, kept in a list."""
    scheme, _, rest = url.partition("://")
    place, _, path = rest.partition("/")
    host, port = place.split(":")
    context = trusting(certificate) if scheme == "https" else None
    head = f"POST /{path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {len(BODY)}\r\n\r\n".encode()
    idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def request() -> int:
        found = idle.pop() if idle else await asyncio.open_connection(host, int(port), ssl=context)
        reader, writer = found
        writer.write(head + BODY)
        size, tail = 0, b""
        while not tail.endswith(b"\r\n0\r\n\r\n"):
            data = tail + await reader.read(65536)
            # The tail may be the start of an event, so it is counted with what comes next.
            at = data.rfind(b"\n\n") + 2 if not data.endswith(b"\r\n0\r\n\r\n") else len(data)
            size, tail = size + data[:at].count(EVENT) * len(EVENT), data[at:]
            if at == len(data):
                tail = data[-7:]
        idle.append(found)
        return size

    return request


async def rightcall(url: str, certificate: str) -> Request:
    from rightcall.core.transport import Timeouts  # noqa: PLC0415
    from rightcall.transport.http import HttpTransport  # noqa: PLC0415

    os.environ["SSL_CERT_FILE"] = certificate
    transport, limits = HttpTransport(), Timeouts()
    CLOSE.append(transport.close)

    async def request() -> int:
        async with transport.post(url, headers={}, body=BODY, timeouts=limits) as incoming:
            return sum([len(chunk) async for chunk in incoming.chunks])

    return request


async def aiohttp(url: str, certificate: str) -> Request:
    import aiohttp  # noqa: PLC0415

    connector = aiohttp.TCPConnector(limit=0, ssl=trusting(certificate))
    session = aiohttp.ClientSession(connector=connector)
    CLOSE.append(session.close)

    async def request() -> int:
        async with session.post(url, data=BODY) as response:
            return sum([len(chunk) async for chunk in response.content.iter_any()])

    return request


async def httpx2(url: str, certificate: str) -> Request:
    import httpx2  # noqa: PLC0415

    limits = httpx2.Limits(max_connections=None)
    client = httpx2.AsyncClient(verify=trusting(certificate), limits=limits, timeout=60)

    async def request() -> int:
        async with client.stream("POST", url, content=BODY) as response:
            return sum([len(chunk) async for chunk in response.aiter_raw()])

    return request


async def niquests(url: str, certificate: str) -> Request:
    import niquests  # noqa: PLC0415

    session = niquests.AsyncSession(pool_maxsize=STREAMS)

    async def request() -> int:
        response = await session.post(url, data=BODY, stream=True, verify=certificate)
        return sum([len(chunk) async for chunk in await response.iter_content(16384)])

    return request


async def pyreqwest(url: str, certificate: str) -> Request:
    from pyreqwest.client import ClientBuilder  # noqa: PLC0415

    pem = Path(certificate).read_bytes()  # noqa: ASYNC240 - before anything is measured
    client = ClientBuilder().add_root_certificate_pem(pem).build()

    async def request() -> int:
        size = 0
        async with client.post(url).body_bytes(BODY).build_streamed() as response:
            while chunk := await response.body_reader.read_chunk():
                size += len(chunk)
        return size

    return request


LIBRARIES = (raw, rightcall, aiohttp, httpx2, niquests, pyreqwest)


async def one_by_one(request: Request) -> dict[str, float]:
    """Milliseconds of CPU for a run of two requests."""
    assert await request() == SIZE
    start = time.process_time()
    for _ in range(RUNS * 2):
        size = await request()
        assert size == SIZE, (size, SIZE)
    return {"cpu": (time.process_time() - start) / RUNS * 1e3}


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


async def at_once(request: Request) -> dict[str, float]:
    """Milliseconds of CPU and KiB for each of many streams that are all open."""
    await request()
    gc.collect()
    before = resident()
    start = time.process_time()
    sizes = await asyncio.gather(*[request() for _ in range(STREAMS)])
    assert sizes == [SIZE] * STREAMS
    cpu = (time.process_time() - start) / STREAMS * 1e3
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"cpu": cpu, "memory": max(peak - before, 0) / STREAMS / 1024}


async def child(library: str, url: str, certificate: str) -> None:
    make = next(each for each in LIBRARIES if each.__name__ == library)
    request = await make(url, certificate)
    found = await (at_once if url.endswith("/slow") else one_by_one)(request)
    for close in CLOSE:
        await close()
    print(json.dumps(found), flush=True)


def measured(library: str, url: str, certificate: str, loop: str) -> dict[str, float] | None:
    """What a process of its own says; None where it fails, with its last words on stderr."""
    given = [sys.executable, __file__, "--child", library, url, certificate, loop]
    done = subprocess.run(given, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        print(f"{library} {url} {loop}: {done.stderr.strip()[-200:]}", file=sys.stderr)
        return None
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


@contextlib.contextmanager
def server(certificate: str | None) -> Any:
    listening = socket.create_server(("127.0.0.1", 0), backlog=4096)
    fork = multiprocessing.get_context("fork")
    process = fork.Process(target=serve, args=(listening, certificate), daemon=True)
    process.start()
    yield f"{'http' if certificate is None else 'https'}://localhost:{listening.getsockname()[1]}"
    process.terminate()


def certified(folder: str) -> tuple[str, str]:
    """An authority's certificate, and one of localhost's by it, with its key."""

    def make(name: str, *more: str) -> str:
        path = f"{folder}/{name}"
        how = ["req", "-x509", "-nodes", "-days", "2"]
        how += ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        files = ["-subj", f"/CN={name}", "-keyout", f"{path}.key", "-out", f"{path}.pem"]
        subprocess.run(["openssl", *how, *files, *more], check=True, capture_output=True)
        return path

    authority = make("authority")
    signed = ["-CA", f"{authority}.pem", "-CAkey", f"{authority}.key"]
    extensions = ["subjectAltName=DNS:localhost", "basicConstraints=critical,CA:FALSE"]
    own = make("localhost", *signed, *[part for each in extensions for part in ("-addext", each)])
    with Path(f"{own}.pem").open("a") as file:
        file.write(Path(f"{own}.key").read_text())
    return f"{authority}.pem", f"{own}.pem"


def show(plain: str, tls: str, certificate: str, rounds: int) -> None:
    rows = {
        "plain, ms of CPU": (f"{plain}/", "asyncio", "cpu", rounds),
        "plain on uvloop, ms of CPU": (f"{plain}/", "uvloop", "cpu", rounds),
        "TLS, ms of CPU": (f"{tls}/", "asyncio", "cpu", rounds),
        f"{STREAMS:,} streams, ms of CPU each": (f"{plain}/slow", "asyncio", "cpu", min(rounds, 2)),
        f"{STREAMS:,} streams, KiB each": (f"{plain}/slow", "asyncio", "memory", min(rounds, 2)),
    }
    names = [each.__name__ for each in LIBRARIES]
    told = [name if name == "raw" else f"{name} {version(name)}" for name in names]
    print(f"| Python {sys.version.split()[0]} | {' | '.join(told)} |")
    print(f"|---|{'---|' * len(names)}")
    for label, (url, loop, what, times) in rows.items():
        samples: dict[str, list[float]] = {name: [] for name in names}
        for _ in range(times):
            for name in names:
                if (found := measured(name, url, certificate, loop)) is not None:
                    samples[name].append(found[what])
        cells = [f"{statistics.median(each):.2f}" if each else "failed" for each in samples.values()]
        print(f"| {label} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--child", nargs=4, help="a library, an address, a certificate, an event loop")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if given.child:
        *job, loop = given.child
        if loop == "uvloop":
            import uvloop  # noqa: PLC0415

            uvloop.run(child(*job))
        else:
            asyncio.run(child(*job))
        return
    with tempfile.TemporaryDirectory() as folder:
        authority, own = certified(folder)
        with server(None) as plain, server(own) as tls:
            show(plain, tls, authority, given.rounds)


if __name__ == "__main__":
    main()
