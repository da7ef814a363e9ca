"""The same work by rightcall, by floors, SDKs and frameworks, against a vendor on loopback.

Each client runs in a process and an environment of its own (``setup.py`` makes those). In each round
every row is done by every client in turn. A row that is done many at once gets a fresh process each
time, so that its peak of memory is its own. ``table.py`` and ``plot.py`` show what this saves.
"""

import argparse
import datetime
import json
import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from child import Child, Failed, launched
from peers import ENVIRONMENTS, PEERS, RESULTS, ROWS, Peer, Row
from standing import Standing

ROUNDS = max(row.rounds for row in ROWS)
JOB = 0.5
"""Seconds that a job should take: as many runs as fit, for a row whose runs are not given."""
CELL = 25.0
"""Seconds that one client may spend on one row, over all rounds; it does each row at least once."""


class Cell:
    """One client at one row."""

    def __init__(self, peer: Peer, row: Row) -> None:
        self.peer = peer
        self.row = row
        self.samples: list[dict[str, float]] = []
        self.failures: list[str] = []
        self.seconds = 0.0
        """How long its last job took, with the run that makes it warm."""
        self._runs = row.runs if row.fresh else 0

    def wants(self, number: int, rounds: int) -> bool:
        """Whether it is to be done in this round, given how long it takes."""
        most = min(rounds, self.row.rounds)
        return number < (min(most, max(1, int(CELL / self.seconds))) if self.seconds else most)

    def do(self, child: Child, vendor: Standing) -> None:
        """One job, before the very first of which another one finds out how many runs it should have."""
        start = time.perf_counter()
        try:
            sample = self._job(child, vendor, self._runs or 1)
            if not self._runs and self._fitting(sample) > 1:
                start = time.perf_counter()
                sample = self._job(child, vendor, self._fitting(sample))
        finally:
            self.seconds = time.perf_counter() - start
        self.samples.append(sample)
        if not self.row.fresh:
            self._runs = self._fitting(sample)

    def _fitting(self, sample: dict[str, float]) -> int:
        return max(1, min(int(JOB / sample["wall"]), self.row.runs))

    def _job(self, child: Child, vendor: Standing, runs: int) -> dict[str, float]:
        work = {"work": self.row.work, "streamed": self.row.streamed, "at_once": self.row.at_once}
        before = vendor.cpu()
        cost: dict[str, Any] = child.do({"url": vendor.url, "runs": runs, **work})
        answering = (vendor.cpu() - before) / (runs + 1)  # one run more makes the client warm
        late = sorted(cost.pop("latencies"))
        p50, p99 = late[len(late) // 2], late[len(late) * 99 // 100]
        return {**cost, "runs": runs, "p50": p50, "p99": p99, "vendor": answering}


class Bench:
    """All clients and rows, round after round."""

    def __init__(self, vendor: Standing, peers: list[Peer], rows: list[Row], environments: Path) -> None:
        self._vendor = vendor
        self._environments = environments
        self.cells = [[Cell(peer, row) for peer in peers] for row in rows]
        self.cold: dict[str, list[dict[str, float]]] = {peer.name: [] for peer in peers}
        self._children: dict[str, Child] = {}

    def round(self, number: int, rounds: int) -> None:
        """Every row by every client; each round begins with another one."""
        try:
            for cells in self.cells:
                turned = number % len(cells)
                for cell in cells[turned:] + cells[:turned]:
                    if cell.wants(number, rounds):
                        self._one(cell, f"round {number + 1}")
        finally:
            for child in self._children.values():
                child.end()
            self._children.clear()

    def left(self, number: int, rounds: int) -> float:
        """The seconds that the rounds from this one on may take."""
        cells = [cell for row in self.cells for cell in row]
        return sum(
            cell.seconds
            for cell in cells
            for later in range(number, rounds)
            if cell.wants(later, rounds)
        )

    def found(self) -> dict[str, object]:
        """Every sample so far."""
        cells: dict[str, dict[str, object]] = {}
        for cell in (cell for row in self.cells for cell in row):
            samples = {"samples": cell.samples, "failures": cell.failures}
            cells.setdefault(cell.row.name, {})[cell.peer.name] = samples
        return {"cold": self.cold, "cells": cells}

    def _one(self, cell: Cell, where: str) -> None:
        name = cell.peer.name
        try:
            if cell.row.fresh:
                child = self._start(cell.peer)
                try:
                    cell.do(child, self._vendor)
                finally:
                    child.end()
            else:
                if name not in self._children:
                    self._children[name] = self._start(cell.peer)
                cell.do(self._children[name], self._vendor)
        except Failed as failed:
            cell.failures.append(str(failed))
            say(f"{where} {cell.row.name:9} {name:14} FAILED: {failed}")
            if not cell.row.fresh and name in self._children:
                self._children.pop(name).end()
        else:
            last = cell.samples[-1]
            times = f"{last['cpu'] * 1000:10.3f} ms CPU {last['wall'] * 1000:10.3f} ms wall a run"
            say(f"{where} {cell.row.name:9} {name:14}{times}, {last['runs']} in {cell.seconds:.1f} s")

    def _start(self, peer: Peer) -> Child:
        child = Child(peer.python(self._environments), peer.module)
        self.cold[peer.name].append(child.cold)
        return child


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def versions(peer: Peer, environments: Path) -> dict[str, str]:
    ask = (
        "import json, sys; from importlib.metadata import version;"
        "print(json.dumps({name: version(name) for name in sys.argv[1:]}))"
    )
    python = peer.python(environments)
    if not python.exists():
        return {}
    done = subprocess.run([python, "-c", ask, *peer.versions], check=True, capture_output=True)
    answer: dict[str, str] = json.loads(done.stdout)
    return answer


def machine() -> dict[str, object]:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return {
        "cpu": models[0] if models else platform.machine(),
        "cores": os.cpu_count(),
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def processes(rounds: int) -> dict[str, list[float]]:
    """What it takes to start a few commands, for the cold starts to be held against."""
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        'python -c "import pydantic"': [sys.executable, "-c", "import pydantic"],
        "rightcall --help": [str(Path(sys.executable).with_name("rightcall")), "--help"],
    }
    for command in commands.values():
        launched(command)
    samples: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            samples[name].append(launched(command))
    return samples


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", help="rows, with commas: " + ",".join(row.name for row in ROWS))
    parser.add_argument("--peers", help="clients, with commas: " + ",".join(peer.name for peer in PEERS))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--environments", type=Path, default=ENVIRONMENTS)
    parser.add_argument("--save", type=Path, default=RESULTS)
    return parser.parse_args()


def chosen(names: str | None, known: list[str]) -> list[str]:
    wanted = names.split(",") if names else known
    if unknown := set(wanted) - set(known):
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return wanted


def main() -> None:
    given = options()
    names = chosen(given.peers, [peer.name for peer in PEERS])
    works = chosen(given.only, [row.name for row in ROWS])
    peers = [peer for peer in PEERS if peer.name in names]
    vendor = Standing()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # and with us the vendor and clients
    say(f"{vendor.pinned}; everything takes some 25 minutes")
    bench = Bench(vendor, peers, [row for row in ROWS if row.name in works], given.environments)
    found: dict[str, object] = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": {**machine(), "pinned": vendor.pinned},
        "versions": {peer.name: versions(peer, given.environments) for peer in peers},
        "capacity": {
            "streamed": vendor.capacity("turns1", streamed=True),
            "whole": vendor.capacity("turns1", streamed=False),
            "single": vendor.capacity("turns1", streamed=True, hammers=1, wires=1),
        },
        "processes": processes(given.rounds),
    }
    given.save.parent.mkdir(parents=True, exist_ok=True)
    for number in range(given.rounds):
        bench.round(number, given.rounds)
        given.save.write_text(
            json.dumps({**found, "rounds": number + 1, **bench.found()}, indent=1) + "\n"
        )
        left = bench.left(number + 1, given.rounds) / 60
        say(f"round {number + 1} of {given.rounds} saved in {given.save}; some {left:.1f} minutes left")
    vendor.end()


if __name__ == "__main__":
    main()
