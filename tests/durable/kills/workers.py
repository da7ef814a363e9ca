"""Worker processes that are killed and started again, and what their acts say of the runs."""

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Self

from msgspec import Struct

TESTS = Path(__file__).resolve().parents[2]
WRITES = ("pay-5", "pay-7", "sign")


class Act(Struct, frozen=True):
    """One line of what was done."""

    at: float
    worker: str
    what: str
    key: str


class Workers:
    """So many processes at one address; one that died is started again."""

    def __init__(self, address: str, folder: Path, count: int = 2, slow: float = 0.0) -> None:
        self._address, self._count, self._slow = address, count, slow
        self.folder = folder
        self.kills = 0
        self._started = 0
        self.pids: dict[str, int] = {}
        """Those that should live, by name."""
        self._forker: subprocess.Popen[str] | None = None

    async def __aenter__(self) -> Self:
        env = {
            **os.environ,
            "PYTHONPATH": f"{TESTS}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
            "KILLS_FOLDER": str(self.folder),
            "KILLS_SLOW": str(self._slow),
        }
        program = str(TESTS / "durable" / "kills" / "worker.py")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._forker = subprocess.Popen([sys.executable, program, self._address], env=env, **pipes)
        await self.keep()
        return self

    async def __aexit__(self, *_: object) -> None:
        for name in list(self.pids):
            self.kill_one(name)
        if self._forker is not None:
            self._forker.communicate()

    async def keep(self) -> None:
        """Start those that are missing, and wait until all work."""
        for name in [name for name in self.pids if not self._lives(name)]:
            said = self._log(name)
            assert "Traceback" not in said, f"{name} died of itself: {said}"
            del self.pids[name]
            self.kills += 1
        while len(self.pids) < self._count:
            self._started += 1
            self.pids[f"w{self._started}"] = await asyncio.to_thread(self._start, f"w{self._started}")
        while missing := self.pids.keys() - {act.worker for act in self.acts() if act.what == "works"}:
            dead = [name for name in missing if not self._lives(name)]
            assert not dead, f"{dead}: {self._log(dead[0])}"
            await asyncio.sleep(0.02)

    async def buried(self) -> None:
        """Wait until all that were to die are dead, which takes a busy machine a moment."""
        died = {act.worker for act in self.acts() if act.what == "killed"} & self.pids.keys()
        dying = [Path(f"/proc/{self.pids[name]}") for name in died]
        while any(process.exists() for process in dying):
            await asyncio.sleep(0.02)

    def _lives(self, name: str) -> bool:
        return Path(f"/proc/{self.pids[name]}").exists()

    def kill_one(self, name: str) -> None:
        """Kill a worker, whatever it does."""
        with suppress(ProcessLookupError):
            os.kill(self.pids[name], signal.SIGKILL)

    def acts(self) -> list[Act]:
        """All that was done so far, in order."""
        try:
            lines = (self.folder / "acts").read_text().splitlines()
        except FileNotFoundError:
            return []
        found = [line.split(" ") for line in lines]
        return [Act(float(at), worker, what, key) for at, worker, what, key in found]

    async def seen(self, what: str, key: str, *, by: str = "", timeout: float = 120.0) -> Act:
        """Wait until something was done, by somebody or by a worker that is named."""
        async with asyncio.timeout(timeout):
            while True:
                for act in self.acts():
                    if act.what == what and act.key == key and by in ("", act.worker):
                        return act
                await asyncio.sleep(0.02)

    def _start(self, name: str) -> int:
        forker = self._forker
        assert forker is not None
        assert forker.stdin is not None
        assert forker.stdout is not None
        forker.stdin.write(f"{name}\n")
        forker.stdin.flush()
        return int(forker.stdout.readline())

    def _log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()[-2000:]


class Count(Struct):
    """What became of runs that were killed."""

    runs: int = 0
    kills: int = 0
    writes: int = 0
    repeated: int = 0
    """Writes that were made more than once."""
    interrupted: int = 0
    """Writes that may have been made, and were reported so."""
    lost: int = 0
    """Runs that did not come to their end, and writes of which the record says more than was done."""
    again: int = 0
    """Steps that were taken again after they were recorded."""
    failovers: list[float] = []
    """Seconds from a kill to when another process went on."""

    def row(self, name: str) -> str:
        """A row of the table."""
        slowest = f"{max(self.failovers):.2f}" if self.failovers else ""
        median = f"{sorted(self.failovers)[len(self.failovers) // 2]:.2f}" if self.failovers else ""
        cells = [name, self.runs, self.kills, self.writes, self.repeated, self.again, self.interrupted]
        return "| " + " | ".join(map(str, [*cells, self.lost, median, slowest])) + " |"


HEAD = (
    "| engine, and what was done | runs | kills | writes | repeated | recorded steps taken again "
    "| interrupted | lost | failover, median s | slowest s |\n" + "|---" * 10 + "|"
)


def judged(count: Count, run: str, acts: list[Act], outcomes: dict[str, str]) -> None:
    """Add what became of one run. ``outcomes`` are those of its writes, by what they are called."""
    count.runs += 1
    mine = [act for act in acts if act.key.startswith(f"{run}.")]
    for what in WRITES:
        made = sum(act.what == what for act in mine)
        count.writes += made
        count.repeated += max(made - 1, 0)
        count.interrupted += outcomes.get(what) == "interrupted"
        # What is said to have returned must have been done.
        count.lost += outcomes.get(what) == "returned" and made == 0
    recorded = {}
    for act in mine:
        if act.what == "recorded":
            recorded.setdefault(act.key, act.at)
        elif act.key in recorded and act.at > recorded[act.key]:
            count.again += 1
