"""A studio that listens."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

import uvicorn

from rightcall.agent import Agent
from rightcall.core.options import checked
from rightcall.errors import UsageError
from rightcall.log import logger
from rightcall.models.direct import is_loopback
from rightcall.serve.studio.application import studio_app
from rightcall.serve.studio.sources import Place

_ANYWHERE = ("", "0.0.0.0", "::", "[::]")  # noqa: S104 - to tell that it is one
_BACKLOG = 128


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
    """Show a journal in the browser until SIGINT or SIGTERM comes; ``started`` is told the address.

    On another host than this machine's own, the address has a token in it, and nobody comes in without.
    ``names`` are the names under which it is then reached.
    """
    token = None if is_loopback(host.strip("[]")) else token_urlsafe(24)
    if host in _ANYWHERE and not names:
        raise UsageError(f"with {host or 'every address'}, say under which name it is reached: --name")
    with _bound(host, port) as listener:
        at, number = listener.getsockname()[:2]
        app = studio_app(
            journal,
            agents=agents,
            write=write,
            token=token,
            hosts=(host, *names) if host not in _ANYWHERE else names,
            port=number,
            cache=cache,
        )
        shown = names[0] if names else at
        address = f"http://{f'[{shown}]' if ':' in shown else shown}:{number}/"
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
        # Streams of events end only when they are made to.
        timeout_graceful_shutdown=1,
    )
    server = _Uvicorn(config)
    loop = asyncio.get_running_loop()

    def stop() -> None:
        server.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM):
        # Windows' event loop knows no signals, nor does a thread that is not the main one.
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, stop)
    await server.serve(sockets=[listener])


@contextlib.contextmanager
def _bound(host: str, port: int) -> Iterator[socket.socket]:
    plain = host.strip("[]")
    family = socket.AF_INET6 if ":" in plain else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((plain, port))
        except (OSError, OverflowError) as error:
            words = getattr(error, "strerror", None) or str(error)
            raise UsageError(f"cannot listen on {host}:{port}: {words}") from error
        bound.listen(_BACKLOG)
        yield bound


class _Uvicorn(uvicorn.Server):
    """uvicorn without its own signals: they are set above, and do not end a second process's."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def _log(address: str) -> None:
    logger.info("the studio is at %s", address)
