"""What a journal costs: processor time of one run with one tool call, with each kind and without.

Nothing is asked of a network, so that what a journal adds is most of what there is. Rounds alternate,
and the best of each counts: others may be at work on the machine. ``--folder`` says on which disk.
"""

import argparse
import asyncio
import gc
import os
import platform
import tempfile
import time
from pathlib import Path

import rightcall as rc
from rightcall.testing import ScriptedModel, call, reply

ROUNDS = 7
RUNS = 150


@rc.tool
async def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


async def runs(journal: rc.record.Journal | None) -> float:
    """Milliseconds of the processor for one run."""
    script = [turn for _ in range(RUNS) for turn in (reply(call("pay", amount=3)), "Done.")]
    agent = rc.Agent(ScriptedModel(script), [pay], journal=journal)
    began = time.process_time()
    for _ in range(RUNS):
        await agent.run("Go.")
    return (time.process_time() - began) / RUNS * 1000


async def every(folder: str, rounds: int) -> dict[str, list[float]]:
    """The milliseconds of each kind, round by round."""
    with (
        rc.record.JsonLinesJournal(Path(folder, "runs.jsonl")) as lines,
        rc.record.SqliteJournal(Path(folder, "runs.db")) as database,
    ):
        kinds: dict[str, rc.record.Journal | None] = {
            "none": None,
            "memory": rc.record.MemoryJournal(),
            "JSON lines": lines,
            "SQLite": database,
        }
        taken: dict[str, list[float]] = {kind: [] for kind in kinds}
        gc.disable()
        for _ in range(rounds):
            for kind, journal in kinds.items():
                taken[kind].append(await runs(journal))
    return taken


def figures() -> dict[str, float]:
    """Seconds of CPU of one run, by the kind of journal; on the disk that temporary files are on."""
    with tempfile.TemporaryDirectory() as folder:
        taken = asyncio.run(every(folder, 2))
    return {kind: min(found) / 1000 for kind, found in taken.items()}


def main(folder: str) -> None:
    taken = asyncio.run(every(folder, ROUNDS))
    load = os.getloadavg()[0]
    print(f"Python {platform.python_version()}, {platform.machine()}, load {load:.1f}, {folder}")
    for kind, found in taken.items():
        more = min(found) - min(taken["none"])
        print(f"{kind:<12}{min(found):7.3f} ms a run{more:9.3f} ms more than without")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", default=None)
    with tempfile.TemporaryDirectory(dir=parser.parse_args().folder) as made:
        main(made)
