"""Tools for the tests that serve them from a child process."""

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path

from pydantic import BaseModel

import rightcall as rc


class Item(BaseModel):
    name: str
    price: float


@rc.tool(effect="pure")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@rc.tool(effect="read")
def find(name: str) -> Item:
    """Find something in the shop."""
    return Item(name=name, price=1.5)


@rc.tool(approval=True)
def buy(name: str) -> str:
    """Buy something."""
    return f"bought {name}"


@rc.tool
def chatter() -> str:
    """Print in every way there is, and try to read what is not its own."""
    print("printed by Python")  # noqa: T201 - that is the point
    os.write(1, b"written to descriptor 1\n")
    subprocess.run([sys.executable, "-c", "print('printed by a child')"], check=True)
    return f"read {sys.stdin.read()!r} and {os.read(0, 10)!r}"


@rc.tool
async def wait(mark: str, context: rc.Context[None]) -> str:
    """Wait until cancelled, and leave a mark."""
    context.progress(1, 2, "waiting")
    Path(mark).write_text("started")
    try:
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(0.01)
        Path(mark).write_text("cleaned up")
    return "never"


@rc.tool
async def stubborn(mark: str) -> str:
    """Wait, and do not stop when told to."""
    Path(mark).write_text("started")
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            Path(mark).write_text("told to stop")


@rc.tool
def block(mark: str) -> str:
    """Block a thread for good."""
    Path(mark).write_text("started")
    threading.Event().wait()
    return "never"


@rc.tool(effect="pure")
def long(size: int) -> str:
    """A long text."""
    return "x" * size


@rc.tool(effect="pure")
def where() -> dict[str, str]:
    """What the process was given."""
    return dict(os.environ)
