"""Durable runs beside LangGraph's checkpointers and pydantic-ai's DBOS integration.

The same jobs (``durability/jobs.py``) by each, one after the other in one run of this program, on SQLite
and on a PostgreSQL that is started for it (``PYTHONPATH=tests/durable``). Each job is a process of its
own. Prints tables.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from servers import running_postgres  # type: ignore[import-not-found, unused-ignore]

HERE = Path(__file__).resolve().parent
OURS = "rightcall"
RUNTIMES = {OURS: "by_rightcall", "LangGraph": "by_langgraph", "pydantic-ai on DBOS": "by_pydantic_ai"}
TICKS = os.sysconf("SC_CLK_TCK")
Address = Callable[[], str]


class Bench:
    """Runs jobs, each in a process of its own."""

    def __init__(self, peers: Path, folder: Path) -> None:
        self._peers, self._folder = peers, folder
        self.acts = folder / "acts"

    def argv(self, runtime: str, job: str, address: str, *numbers: int) -> list[str]:
        """The command of a job."""
        python = sys.executable if runtime == OURS else str(self._peers)
        program = str(HERE / "durability" / f"{RUNTIMES[runtime]}.py")
        return [python, program, job, address, *map(str, numbers)]

    def environment(self, **more: str) -> dict[str, str]:
        """What a job is told besides."""
        return {**os.environ, "ACTS": str(self.acts), "PYTHONPATH": str(HERE / "durability"), **more}

    def do(self, runtime: str, job: str, address: str, *numbers: int, **more: str) -> dict[str, Any]:
        """The figures of a job; none where it died, as it does when it is to."""
        done = subprocess.run(
            self.argv(runtime, job, address, *numbers),
            env=self.environment(**more),
            capture_output=True,
            text=True,
            timeout=1800,
            check=False,
        )
        if more:
            return {}
        if done.returncode:
            raise SystemExit(f"{runtime}, {job}: {done.stderr[-3000:]}")
        figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return figures

    @contextmanager
    def workers(self, count: int, address: str, at_once: int) -> Iterator[list[int]]:
        """So many workers in processes of their own: their ids, once all work."""
        argv = self.argv(OURS, "work", address, at_once)
        env = self.environment()
        children = [
            subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, text=True) for _ in range(count)
        ]
        try:
            for child in children:
                assert child.stdout is not None
                assert child.stdout.readline() == "works\n"
            yield [child.pid for child in children]
        finally:
            for child in children:
                child.kill()
                child.wait()


def cpu_of(pid: int) -> float:
    """Seconds of CPU that a process has used; none of one that is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS


def speeds(bench: Bench, places: dict[str, Address], runs: int, turns: int) -> Iterator[str]:
    """Cost per step and steps per second."""
    yield "| | on | CPU per step, ms | steps per second |"
    yield "|---|---|---|---|"
    for place, address in places.items():
        for runtime in RUNTIMES:
            found = bench.do(runtime, "speed", address(), runs, turns, 20)
            each = found["cpu"] / found["steps"] * 1000
            rate = found["steps"] / found["wall"]
            yield f"| {runtime}, one process | {place} | {each:.2f} | {rate:.0f} |"
        for count in (1, 2):
            where = address()
            with bench.workers(count, where, 20) as pids:
                before = sum(map(cpu_of, pids))
                found = bench.do(OURS, "client", where, runs, turns, 20)
                each = (sum(map(cpu_of, pids)) - before) / found["steps"] * 1000
            name = f"{OURS}, {count} worker{'s' if count > 1 else ''} and a client"
            yield f"| {name} | {place} | {each:.2f} | {found['steps'] / found['wall']:.0f} |"


def waits(bench: Bench, places: dict[str, Address], runs: int, fewer: int) -> Iterator[str]:
    """What waiting runs cost."""
    yield (
        "| | on | waiting runs | CPU to bring one there, ms | to open a new process, s | its memory, MB "
        "| its CPU when idle | to list all, s | from a yes to the next step, s |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for place, address in places.items():
        for runtime in RUNTIMES:
            where, count = address(), runs if runtime == OURS else fewer
            made = bench.do(runtime, "wait", where, count)
            found = bench.do(runtime, "waits", where, count)
            cells = [
                f"{count:,}",
                f"{made['cpu'] / count * 1000:.1f}",
                f"{found['open']:.2f}",
                f"{found['rss']:.0f}",
                f"{found['idle'] * 100:.1f} %",
                f"{found['list']:.2f}",
                f"{found['step']:.3f}",
            ]
            yield f"| {runtime} | {place} | {' | '.join(cells)} |"


def kills(bench: Bench, places: dict[str, Address]) -> Iterator[str]:
    """What each does after the same kill: a finished call, one that was under way, and the model."""
    yield "| | on | finished call made again | call under way made again | model asked again |"
    yield "|---|---|---|---|---|"
    for place, address in places.items():
        for runtime in RUNTIMES:
            where = address()
            bench.acts.unlink(missing_ok=True)
            bench.do(runtime, "kill", where, DIES="1")
            found = bench.do(runtime, "recover", where)
            assert found["answer"] == "All done.", found
            acts = bench.acts.read_text().split()
            again = [acts.count("quick") - 1, acts.count("charge") - 1, acts.count("model") - 2]
            told = " (and told so)" if "interrupted" in found.get("outcomes", ()) else ""
            yield f"| {runtime} | {place} | {again[0]} | {again[1]}{told} | {again[2]} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=Path, default=HERE.parent / ".venv-durable/bin/python")
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--waiting", type=int, default=10_000)
    parser.add_argument("--fewer", type=int, default=1_000, help="waiting runs of the others")
    parser.add_argument("--on", help="SQLite or PostgreSQL; both, unless given")
    parser.add_argument("tables", nargs="*", default=["speeds", "kills", "waits"])
    options = parser.parse_args()
    numbers = iter(range(1_000_000))
    with tempfile.TemporaryDirectory(prefix="bench-durable-") as name, running_postgres() as server:
        folder = Path(name)
        bench = Bench(options.peers, folder)
        places: dict[str, Address] = {
            "SQLite": lambda: f"sqlite:///{folder / str(next(numbers))}.db",
            "PostgreSQL": lambda: str(server.database(f"bench{next(numbers)}")),
        }
        places = {place: address for place, address in places.items() if options.on in (None, place)}
        tables = {
            "speeds": lambda: speeds(bench, places, options.runs, options.turns),
            "kills": lambda: kills(bench, places),
            "waits": lambda: waits(bench, places, options.waiting, options.fewer),
        }
        for table in options.tables:
            print(f"\nload {os.getloadavg()[0]:.1f} at {time.strftime('%H:%M')}", flush=True)
            for line in tables[table]():
                print(line, flush=True)


if __name__ == "__main__":
    main()
