"""What the tests of the client share: servers as real processes, and proof that nothing is left."""

import asyncio
import gc
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import warm
from rightcall.mcp import Server, connect
from rightcall.process.runner import keepers

HERE = Path(__file__).parent


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # One that has ended, and was not looked after yet, does nothing any more.
    return ") Z" not in Path(f"/proc/{pid}/stat").read_text()


class Rogue:
    """Starts servers that misbehave, and knows their processes."""

    def __init__(self, pids: Path) -> None:
        self.pids = pids

    def __call__(self, mode: str, **options: object) -> Server:
        program = [sys.executable, str(HERE / "rogue.py"), mode, str(self.pids)]
        return connect(program, name="rogue", protocol="legacy", **options)

    def started(self) -> list[int]:
        return [int(line) for line in self.pids.read_text().split()]

    def cancelled(self) -> list[str]:
        file = Path(f"{self.pids}.cancelled")
        return file.read_text().split() if file.exists() else []


@pytest.fixture
def rogue(tmp_path: Path) -> Iterator[Rogue]:
    made = Rogue(tmp_path / "pids")
    yield made
    assert [pid for pid in made.started() if alive(pid)] == []


def descriptors() -> int:
    """How many are open, without those of the keepers that wait for the next command."""
    keepers().close()
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture
async def nothing_left(rogue: Rogue) -> Callable[[], None]:
    """A check that no task and no descriptor is left of what happened since the test began."""
    async with rogue("fine"):
        pass
    gc.collect()
    open_files = descriptors()

    def check() -> None:
        gc.collect()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert descriptors() <= open_files

    return check


@pytest.fixture(scope="session")
def shop() -> list[str]:
    """A proper server, written with the SDK's own server API."""
    return [*warm.python(*warm.MCP), str(HERE / "shop.py")]
