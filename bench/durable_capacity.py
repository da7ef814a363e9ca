"""A hundredth of 1,000 workers and a million runs a day, against what the paper says of them.

Ten workers on one PostgreSQL: what they cost it when there is nothing to do, and what an hour's share of
runs (417 of 10,000 a day), squeezed into a minute, writes to it. The model itself is on the page
``docs/durable-engines.md``.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from servers import Postgres  # type: ignore[import-not-found, unused-ignore]

from durable import OURS, Bench, cpu_of

TURNS = 4
DAY = 86_400
HUNDRED = 100


class Gauge:
    """What a PostgreSQL has done since this was made."""

    def __init__(self, server: Any, database: str) -> None:
        self._server, self._database = server, database
        self._from = self._look()

    def _look(self) -> dict[str, float]:
        # Sessions report what they did up to a second later.
        time.sleep(1.5)
        asked = (
            "select xact_commit + xact_rollback, pg_database_size(datname),"
            " pg_current_wal_lsn() - '0/0'::pg_lsn"
            f" from pg_stat_database where datname = '{self._database}'"
        )
        found = self._server.ask("postgres", asked).split("|")
        names = ("transactions", "size", "wal")
        clocks = {"cpu": self._cpu(), "time": time.monotonic(), "rows": self._rows()}
        return {**dict(zip(names, map(float, found), strict=True)), **clocks}

    def _rows(self) -> int:
        asked = "select schemaname, tablename from pg_tables where schemaname in ('dbos', 'public')"
        tables = self._server.ask(self._database, asked).splitlines()
        each = [
            f'(select count(*) from "{name.replace("|", chr(34) + "." + chr(34))}")' for name in tables
        ]
        return int(self._server.ask(self._database, f"select {' + '.join(each)}"))

    def _cpu(self) -> float:
        """Seconds of CPU of the server and all its sessions; those that ended are in their parent's."""
        parent = self._server.child.pid
        own = Path(f"/proc/{parent}/stat").read_text().rpartition(")")[2].split()
        ended = (int(own[13]) + int(own[14])) / os.sysconf("SC_CLK_TCK")
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        return cpu_of(parent) + ended + sum(cpu_of(int(pid)) for pid in children)

    def connections(self) -> int:
        """Sessions that are open now."""
        asked = f"select count(*) from pg_stat_activity where datname = '{self._database}'"
        return int(self._server.ask("postgres", asked))

    def since(self) -> dict[str, float]:
        """The difference."""
        now = self._look()
        return {name: now[name] - self._from[name] for name in now}


def row(*cells: str) -> str:
    """A row of a table."""
    return f"| {' | '.join(cells)} |"


def report(idle: dict[str, float], busy: dict[str, float], facts: dict[str, float]) -> list[str]:
    """Rows of a table: what one worker and one run cost, and what that comes to at full size."""
    workers, runs = facts["workers"], facts["runs"]
    # What the workers do anyway is not the runs'.
    steady = {name: idle[name] / idle["time"] * busy["time"] for name in idle}
    run = {name: (busy[name] - steady[name]) / runs for name in busy}
    polls = idle["transactions"] / idle["time"] / workers
    core = idle["cpu"] / idle["time"] / workers
    sessions = facts["connections"] / workers
    large, day = workers * HUNDRED, 1_000_000
    second = day / DAY
    paper = 2 * TURNS + 1 + 5
    rows, waits = run["rows"], (facts["p50"] * 1000, facts["p95"] * 1000)
    written = f"{rows * second:,.0f} a second, {rows * day / 1e6:.0f} M a day"
    logged = f"{run['wal'] * day / 1e9:.0f} GB a day, {run['wal'] * second / 1e6:.2f} MB a second"
    stored = f"{run['size'] * day / 1e9:.0f} GB a day, {run['size'] * 30 * day / 1e12:.2f} TB in 30 days"
    return [
        row(
            "", f"measured with {workers:.0f} workers", f"at {large:,.0f} workers, a million runs a day"
        ),
        "|---|---|---|",
        row("sessions with PostgreSQL", f"{sessions:.1f} a worker", f"{sessions * large:,.0f}"),
        row("idle workers ask", f"{polls:.0f} times a second each", f"{polls * large:,.0f} a second"),
        row(
            "PostgreSQL's CPU for that",
            f"{core * 100:.1f} % of a core each",
            f"{core * large:.0f} cores",
        ),
        row("rows of a run", f"{rows:.1f} (on paper {paper})", written),
        row(
            "transactions of a run",
            f"{run['transactions']:.0f}",
            f"{run['transactions'] * second:,.0f} a second",
        ),
        row("write-ahead log", f"{run['wal'] / 1e3:.0f} kB a run", logged),
        row("size", f"{run['size'] / 1e3:.0f} kB a run", stored),
        row(
            "PostgreSQL's CPU for a run",
            f"{run['cpu'] * 1000:.0f} ms",
            f"{run['cpu'] * second:.2f} cores",
        ),
        row(
            "from submission to the first reply",
            f"{waits[0]:.0f} ms in the middle, {waits[1]:.0f} ms for 95 of 100",
            "",
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=10)
    parser.add_argument("--runs", type=int, default=417)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--idle", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-capacity-") as name:
        bench = Bench(Path(sys.executable), Path(name))
        server = Postgres()
        try:
            server.start()
            for line in measured(bench, server, options):
                print(line, flush=True)
        finally:
            server.stop()
            subprocess.run(["rm", "-rf", str(server.home)], check=True)


def measured(bench: Bench, server: Any, options: argparse.Namespace) -> list[str]:
    """Idle workers, then runs; as a table."""
    address = server.database("capacity")
    os.environ |= {"TOOL_SECONDS": "0.3", "TOOL_BYTES": "2000"}
    with bench.workers(options.workers, address, 50):
        time.sleep(3.0)
        gauge = Gauge(server, "capacity")
        time.sleep(options.idle)
        idle = gauge.since()
        connections = gauge.connections()
        gauge = Gauge(server, "capacity")
        argv = bench.argv(OURS, "evenly", address, options.runs, TURNS, options.seconds)
        done = subprocess.run(argv, env=bench.environment(), capture_output=True, text=True, check=True)
        busy = gauge.since()
    figures = json.loads(done.stdout.splitlines()[-1])
    head = (
        f"load {os.getloadavg()[0]:.1f}; {options.runs} runs submitted in {figures['submitted']:.0f} s"
    )
    facts = {**figures, "workers": options.workers, "runs": options.runs, "connections": connections}
    return [head, "", *report(idle, busy, facts)]


if __name__ == "__main__":
    main()
