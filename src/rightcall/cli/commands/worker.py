"""Execute durable runs until stopped."""

import asyncio
import signal
import sys
from argparse import Namespace
from collections.abc import Callable
from contextlib import suppress

from msgspec.structs import replace

from rightcall.cli import OK
from rightcall.cli.load import found_at
from rightcall.core.sanitize import printable
from rightcall.durable.app import App
from rightcall.durable.engine import Queue
from rightcall.durable.engines import without_secrets
from rightcall.errors import UsageError


def run(options: Namespace) -> int:
    """Work on the app's queues, or on the named ones."""
    app = found_at("worker", options.app)
    if not isinstance(app, App):
        raise UsageError(f"{options.app} is not an rc.durable.App")
    if not app.agents:
        raise UsageError(f"{options.app} has no agents, and so nothing to execute runs with")
    app.queues = _queues(app, options.queues, options.concurrency)
    asyncio.run(_work(app, options.patience))
    return OK


def _queues(app: App, names: list[str], concurrency: int | None) -> tuple[Queue, ...]:
    known = {queue.name: queue for queue in app.queues}
    chosen = [known.get(name) or Queue(name=name) for name in names] or list(app.queues)
    if not chosen:
        raise UsageError("the app works on no queue; name one with --queue")
    if concurrency is None:
        return tuple(chosen)
    return tuple(replace(queue, concurrency=concurrency) for queue in chosen)


async def _work(app: App, patience: float) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    _on_signals(loop, ended.set)
    await app.open()
    names = ", ".join(queue.name for queue in app.queues)
    agents = ", ".join(app.agents)
    _say(f"working on {names} at {without_secrets(app.address)}, with {agents}; Ctrl-C ends it")
    try:
        await ended.wait()
        _say(
            f"taking no more runs; waiting up to {patience:g} s for those under way; "
            "Ctrl-C again leaves them to others now"
        )
    finally:
        closing = loop.create_task(app.close(patience=patience))
        _on_signals(loop, closing.cancel)
        with suppress(asyncio.CancelledError):
            await closing


def _on_signals(loop: asyncio.AbstractEventLoop, do: Callable[[], object]) -> None:
    for each in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # on Windows Ctrl-C still raises
            loop.add_signal_handler(each, do)


def _say(words: str) -> None:
    print(printable(f"rightcall: {words}"), file=sys.stderr, flush=True)
