"""A server into a program that runs until its client goes or it is told to stop."""

import asyncio
import logging
import signal
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Unpack

from rightcall.declare.toolbox import ToolSource
from rightcall.mcp.server.listen import Listen
from rightcall.mcp.server.server import ServerSettings, ToolServer

logger = logging.getLogger("rightcall")


def serve(
    tools: ToolSource,
    *,
    listen: Listen | None = None,
    started: Callable[[str], None] | None = None,
    **settings: Unpack[ServerSettings],
) -> None:
    """Serve tools over MCP: to the program that started this one, or, with ``listen``, over HTTP.

    Returns when the client closes its end, or at SIGINT or SIGTERM. Over HTTP, ``started`` is told the
    address; without it, the log is.
    """
    server = ToolServer(tools, **settings)
    run_server(
        server, server.stdio() if listen is None else server.http(listen, started=started or _log)
    )


def run_server(server: ToolServer, serving: Coroutine[Any, Any, None]) -> None:
    """Run one of a server's coroutines to its end, in an event loop of its own."""
    runner = asyncio.Runner()
    try:
        runner.run(_until_told(serving))
    finally:
        if server.running:
            # Closing the loop would wait for them, and they have shown that they do not stop.
            logger.warning("%d calls could not be stopped; left behind", server.running)
        else:
            runner.close()


async def _until_told(serving: Coroutine[Any, Any, None]) -> None:
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(serving)
    told = False

    def stop() -> None:
        nonlocal told
        told = True
        task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        # Windows' event loop knows no signals, nor does a thread that is not the main one.
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, stop)
    try:
        await task
    except asyncio.CancelledError:
        if not told:
            raise


def _log(address: str) -> None:
    logger.info("serving at %s", address)
