"""A gateway behind a socket, on uvicorn: with limits on headers, and streams that may end."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from rightcall.core.optional_libraries import load
from rightcall.errors import RightcallError, UsageError
from rightcall.log import gateway_logger
from rightcall.serve.gateway.gateway import Gateway
from rightcall.serve.gateway.keys import Keys, address_of
from rightcall.serve.gateway.settings import Bounds, Settings
from rightcall.serve.gateway.spend import today
from rightcall.wire.dialects import SERVED, load_server

if sys.platform != "win32":
    import resource

Read: TypeAlias = Callable[[], tuple[Settings, Keys]]
"""Reads the files again. Raises UsageError if they cannot be used."""
_EVERY = 1.0


class BackgroundWork:
    """Runs the background work of a gateway: it writes spend, and reloads changed files, if it can."""

    def __init__(self, gateway: Gateway, read: Read | None, files: tuple[Path, ...]) -> None:
        self._gateway = gateway
        self._read = read
        self._files = files
        self._seen = self._look()
        self._asked = asyncio.Event()

    def reload(self) -> None:
        """Read the files again, changed or not."""
        self._asked.set()

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._asked.wait(), _EVERY)
            if self._read is not None:
                now = await asyncio.to_thread(self._look)
                if self._asked.is_set() or now != self._seen:
                    self._asked.clear()
                    self._seen = now
                    await self._take_up(self._read)
            try:
                await asyncio.to_thread(self._gateway.spend.flush, today(time.time()))
            except Exception as error:  # noqa: BLE001 - of any database; it is tried again
                gateway_logger.warning(
                    "spend could not be written, and is kept: %s", type(error).__name__
                )

    async def _take_up(self, read: Read) -> None:
        try:
            settings, keys = await asyncio.to_thread(read)
            await self._gateway.apply(settings, keys)
        except RightcallError as error:
            gateway_logger.warning(
                "the files were changed and cannot be used; it goes on as before: %s", error
            )
        else:
            gateway_logger.warning("took up the changed configuration: %d models", len(settings.models))

    def _look(self) -> list[object]:
        """The state of the files, to detect changes; a missing file may be created later."""
        named = self._gateway.settings.files()
        states: list[object] = []
        for path in (*self._files, *named):
            try:
                found = os.stat(path)  # noqa: PTH116 - a Path's stat says the same
            except OSError:
                states.append((path, None))
            else:
                states.append((path, found.st_mtime_ns, found.st_size, found.st_ino))
        return states


_BACKLOG = 2048
_KEEP_ALIVE = 75
_LOOK = 0.01


def run(gateway: Gateway, read: Read, files: tuple[Path, ...], started: Callable[[str], None]) -> None:
    """Serve from a program that does nothing else."""
    load("uvicorn")
    # Raise the limit of open files as far as allowed: every stream needs two sockets.
    if sys.platform != "win32":
        with suppress(ValueError, OSError):  # not allowed
            most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    factory = None
    if find_spec("uvloop"):
        factory = load("uvloop").new_event_loop
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
        http=bounded_protocol(bounds),
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
    server = import_module("rightcall.transport.http_server").Listener(config)
    # Sockets at an address; uvicorn would end the process if they cannot be bound.
    try:
        held = await asyncio.get_running_loop().create_server(
            asyncio.Protocol, host, port, start_serving=False
        )
    except OSError as error:
        where = f"{host}:{port}"
        why = error.strerror or str(error)
        raise UsageError(f"nothing can listen on {where}: {why}; choose another with listen") from None
    sockets = [each.dup() for each in held.sockets]
    held.close()
    # Loaded now, so that no first request has to wait for them.
    await asyncio.to_thread(_load_all)
    background = BackgroundWork(gateway, read, files)
    beside = [asyncio.ensure_future(background.run())]
    if started is not None:
        beside.append(asyncio.ensure_future(_tell(server, started)))
    handlers: dict[str, Callable[[], None]] = {"SIGINT": server.end, "SIGTERM": server.end}
    if read is not None:
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
        for sock in sockets:
            # Open still, if this was cancelled.
            sock.close()
        await gateway.close()


def _load_all() -> None:
    import_module("rightcall.transport.dial")
    for dialect in SERVED:
        load_server(dialect)


async def _tell(server: Any, started: Callable[[str], None]) -> None:
    """Call ``started`` with the address, once the server listens."""
    from rightcall.transport.http_server import url_of  # noqa: PLC0415 - on uvicorn

    while not server.started:  # noqa: ASYNC110 - uvicorn has nothing to be waited for
        await asyncio.sleep(_LOOK)
    host, port = server.servers[0].sockets[0].getsockname()[:2]
    started(url_of(host, port))


def bounded_protocol(bounds: Bounds) -> type[asyncio.Protocol]:
    """Uvicorn's HTTP protocol, with limits on the headers."""
    from rightcall.serve.gateway.protocol import GatewayProtocol  # noqa: PLC0415 - on httptools

    held = {"header_bytes": bounds.header_bytes, "header_seconds": bounds.header_seconds}
    return type("Bounded", (GatewayProtocol,), held)
