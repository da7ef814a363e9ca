"""Kills runs at every step boundary while messages are added to them, and prints what came of those.

``python said.py [memory] [jsonl] [db] [sqlite] [postgres] [restate]``; ``make test WHAT=durable`` runs
it. It is an error where a message was delivered twice, was lost, or came out of order.
"""

import argparse
import asyncio
import logging
import shutil
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import rightcall as rc
from chaos.test_kill_said import Delivered, cut_everywhere, kill_everywhere
from chaos.workers import workers as journal_workers
from durable.kills import table
from durable.kills.workers import Workers

HEAD = "| where | kills | messages taken | delivered twice | lost | out of order |\n" + "|---" * 6 + "|"
MESSAGES = 6
PLACES = (
    *[f"{when} {key}" for key in table.KEYS for when in ("before", "after")],
    *[f"{when} t{turn}.said" for turn in range(1, 6) for when in ("before", "after")],
)
"""The last ones are died at where a message happens to be delivered at that turn."""


async def say_all(app: rc.durable.App, run: str) -> list[str]:
    """Say some messages while the run goes on; returns those that were taken."""
    taken: list[str] = []
    for number in range(MESSAGES):
        try:
            await app.say(run, f"message {number}", id=str(number), now=number == 3)
        except rc.errors.RunStopped:
            break
        taken.append(f"message {number}")
        await asyncio.sleep(0.02 * number)
    return taken


async def one_run(app: rc.durable.App, run: str) -> tuple[list[str], rc.RunResult[Any]]:
    """Submit a run, say what there is to say, and see it to its end."""
    handle = await app.submit("killed", run, run=run)
    saying = asyncio.create_task(say_all(app, run))
    while (result := await handle.result()).pending:
        await app.decide(run, {each.call_id: True for each in result.pending})
    return await saying, result


async def kill_at_places(address: str, folder: Path, places: tuple[str, ...]) -> Delivered:
    """Kill once at each place, with one run at a time."""
    delivered = Delivered()
    async with Workers(address, folder) as workers, rc.durable.App(address) as app:
        for number, place in enumerate(places):
            (folder / "kill").write_text(place)
            async with table.keeping(workers), asyncio.timeout(table.PATIENCE):
                said, result = await one_run(app, f"s{number}")
                await workers.buried()
            (folder / "kill").unlink(missing_ok=True)
            delivered.count(said, result)
        delivered.kills = workers.kills
    return delivered


def row(name: str, delivered: Delivered) -> str:
    """A row of the table; what is wrong ends the program."""
    cells = [
        name,
        delivered.kills,
        delivered.said,
        delivered.twice,
        delivered.lost,
        delivered.disordered,
    ]
    line = "| " + " | ".join(map(str, cells)) + " |"
    if delivered.wrong != (0, 0, 0):
        raise SystemExit(f"this is not as it must be: {line}")
    return line


def main() -> None:
    """Try all, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    every = ["memory", "jsonl", "db", "sqlite", "postgres", "restate"]
    parser.add_argument("places", nargs="*", default=every)
    wanted = parser.parse_args().places
    logging.getLogger("dbos").setLevel(logging.CRITICAL)
    folder = Path(tempfile.mkdtemp(prefix="said-"))
    try:
        table.say(HEAD)
        if "memory" in wanted:
            table.say(row("memory, cut at every entry", asyncio.run(cut_everywhere(folder))))
        with journal_workers() as server:
            for kind in [each for each in ("jsonl", "db") if each in wanted]:
                for when in ("before", "after"):
                    delivered = kill_everywhere(server, folder, f".{kind}", when)
                    table.say(row(f"journal .{kind}, {when} every entry", delivered))
        engines = [each for each in wanted if each in ("sqlite", "postgres", "restate")]
        with ExitStack() as stack:
            for place in table.places(engines, stack, folder):
                acts = folder / place.name / "said"
                acts.mkdir(parents=True)
                delivered = asyncio.run(kill_at_places(place.address("said"), acts, PLACES))
                table.say(row(f"durable, {place.name}, at every boundary", delivered))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
