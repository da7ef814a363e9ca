"""A listening studio."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

import uvicorn

from rightcall.agent import Agent
from rightcall.core.options import checked
from rightcall.errors import UsageError
from rightcall.log import logger
from rightcall.serve.studio.application import studio_app
from rightcall.serve.studio.sources import Place
from rightcall.transport.listening import Listener, listening, url_of
from rightcall.transport.loopback import is_anywhere, is_loopback


@checked("studio.serve")
def serve(
    journal: Place,
    *,
    agents: Mapping[str, Agent[Any]] | Sequence[Agent[Any]] | Agent[Any] = (),
    write: bool = False,
    host: str = "127.0.0.1",
    port: int = 0,
    names: Sequence[str] = (),
    started: Callable[[str], None] | None = None,
    cache: Path | None = None,
) -> None:
    """Show a journal in the browser until SIGINT or SIGTERM; ``started`` is called with the address.

    On any host but this machine's own, the address contains a token, and requests without it are
    refused. ``names`` are the host names under which it is then reached.
    """
    token = None if is_loopback(host) else token_urlsafe(24)
    if is_anywhere(host) and not names:
        raise UsageError(f"with {host or 'every address'}, say under which name it is reached: --name")
    with listening(host, port) as listener:
        at, number = listener.getsockname()[:2]
        app = studio_app(
            journal,
            agents=agents,
            write=write,
            token=token,
            hosts=names if is_anywhere(host) else (host, *names),
            port=number,
            cache=cache,
        )
        address = f"{url_of(names[0] if names else at, number)}/"
        (started or _log)(f"{address}?token={token}" if token else address)
        asyncio.run(_run(app, listener))


async def _run(app: Any, listener: socket.socket) -> None:
    config = uvicorn.Config(
        app,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        # Event streams do not end by themselves.
        timeout_graceful_shutdown=1,
    )
    server = Listener(config)
    loop = asyncio.get_running_loop()

    for number in (signal.SIGINT, signal.SIGTERM):
        # Windows' event loop has no signal handlers, nor does a thread that is not the main one.
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, server.end)
    await server.serve(sockets=[listener])


def _log(address: str) -> None:
    logger.info("the studio is at %s", address)
