"""A gateway behind a socket, on uvicorn: with limits on headers, and streams that may end."""

import asyncio
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rightcall.core.extras import load
from rightcall.errors import UsageError
from rightcall.serve.gateway.auth import address_of
from rightcall.serve.gateway.background import Background, Read
from rightcall.serve.gateway.gateway import Gateway
from rightcall.serve.gateway.settings import Bounds
from rightcall.wire.dialects import SERVED, load_server

_BACKLOG = 2048
_KEEP_ALIVE = 75
_LOOK = 0.01


def run(gateway: Gateway, read: Read, files: tuple[Path, ...], started: Callable[[str], None]) -> None:
    """Serve from a program that does nothing else."""
    load("uvicorn")
    _allow_files()
    factory = load("uvloop").new_event_loop if find_spec("uvloop") else None
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(serve(gateway, read=read, files=files, started=started))


async def serve(
    gateway: Gateway,
    *,
    read: Read | None = None,
    files: tuple[Path, ...] = (),
    started: Callable[[str], None] | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM, then until the streams have ended. SIGHUP reads the files again."""
    uvicorn = load("uvicorn")
    bounds = gateway.settings.bounds
    host, port = address_of(gateway.settings.listen)
    config = uvicorn.Config(
        gateway,
        host=host,
        port=port,
        http=bounded(bounds),
        ws="none",
        lifespan="off",
        loop="auto",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=_BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=int(bounds.shutdown_seconds),
        h11_max_incomplete_event_size=bounds.header_bytes,
    )
    server = import_module("rightcall.transport.listening").Listener(config)
    sockets = await _bound(host, port)
    # Loaded now, so that no first request has to wait for them.
    await asyncio.to_thread(_load_all)
    beside = [asyncio.ensure_future(_tell(server, started))] if started is not None else []
    handlers: dict[str, Callable[[], None]] = {"SIGINT": server.end, "SIGTERM": server.end}
    if read is not None:
        background = Background(gateway, read, files)
        beside.append(asyncio.ensure_future(background.run()))
        handlers["SIGHUP"] = background.reload
    for name, handle in handlers.items():
        with suppress(NotImplementedError, ValueError, RuntimeError, AttributeError):
            # Not on Windows, and not in a thread.
            asyncio.get_running_loop().add_signal_handler(getattr(signal, name), handle)
    try:
        await server.serve(sockets=sockets)
    finally:
        for each in beside:
            each.cancel()
        await gateway.close()


async def _bound(host: str, port: int) -> list[socket.socket]:
    """Sockets at an address; uvicorn would end the process if they cannot be bound."""
    try:
        held = await asyncio.get_running_loop().create_server(
            asyncio.Protocol, host, port, start_serving=False
        )
    except OSError as error:
        where, why = f"{host}:{port}", error.strerror or str(error)
        raise UsageError(f"nothing can listen on {where}: {why}; choose another with listen") from None
    sockets = [each.dup() for each in held.sockets]
    held.close()
    return sockets


def _allow_files() -> None:
    """Raise the limit of open files as far as allowed: every stream needs two sockets."""
    if sys.platform == "win32":
        return
    with suppress(ImportError, ValueError, OSError):  # not there, or not allowed
        import resource  # noqa: PLC0415 - not everywhere

        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _load_all() -> None:
    import_module("rightcall.transport.dial")
    for dialect in SERVED:
        load_server(dialect)


async def _tell(server: Any, started: Callable[[str], None]) -> None:
    """Call ``started`` with the address, once the server listens."""
    from rightcall.transport.listening import url_of  # noqa: PLC0415 - on uvicorn

    while not server.started:  # noqa: ASYNC110 - uvicorn has nothing to be waited for
        await asyncio.sleep(_LOOK)
    host, port = server.servers[0].sockets[0].getsockname()[:2]
    started(url_of(host, port))


def bounded(bounds: Bounds) -> type[asyncio.Protocol]:
    """Uvicorn's HTTP protocol, with limits on the headers."""
    from rightcall.serve.gateway.protocol import GatewayProtocol  # noqa: PLC0415 - on httptools

    held = {"header_bytes": bounds.header_bytes, "header_seconds": bounds.header_seconds}
    return type("Bounded", (GatewayProtocol,), held)
