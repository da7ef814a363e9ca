"""Kills workers at every boundary and inside every effect, on each engine, and prints what came of it.

``python table.py [sqlite] [postgres] [restate]``; ``make test WHAT=durable`` runs it. It is an error
where a write was made twice, a recorded step was taken again, or a run was lost.
"""

import argparse
import asyncio
import json
import logging
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from itertools import takewhile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sqlalchemy.exc import OperationalError

import rightcall as rc
from durable import servers
from durable.kills.program import INSIDE
from durable.kills.workers import HEAD, Count, Workers, judged

KEYS = (
    "t1.model",
    "t1.1.look",
    "t1.2.put",
    "t2.model",
    "t2.0.pay.started",
    "t2.0.pay",
    "t2.1.pay.started",
    "t2.1.pay",
    "t3.model",
    "t3.0.sign.started",
    "t3.0.sign",
    "t4.model",
)
"""Every record of a run; ``test_kills.py`` holds them against one that nobody disturbs."""
PLACES = (
    *[f"inside {what}" for what in INSIDE],
    *[f"{when} {key}" for key in KEYS for when in ("before", "after")],
)
PATIENCE = 120.0
"""Seconds in which a run must be over, whatever happens to its workers."""


def say(line: str) -> None:
    """Show a line at once: it takes minutes."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def to_its_end(app: Any, run: str) -> dict[str, str]:
    """Submit a run, say yes when it asks, and see it to its end: the outcomes of its writes."""
    handle = await app.submit("killed", run, run=run)
    while (result := await handle.result()).pending:
        # Twice: whoever comes second is told the same.
        await app.decide(run, {each.call_id: True for each in result.pending})
        await app.decide(run, {each.call_id: True for each in result.pending})
    assert result.text == "All done.", f"{run}: {result.stop} {result.text}"
    found = {}
    for each in result.calls:
        amount = json.loads(each.call.arguments).get("amount")
        found[each.name if amount is None else f"{each.name}-{amount}"] = each.outcome
    return found


async def seen_to_its_end(app: Any, run: str, count: Count, workers: Workers) -> None:
    """A run to its end and into the count; one that does not come there is lost.

    A client that cannot reach the database asks again: all that it asks may be asked twice.
    """
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    outcomes = await to_its_end(app, run)
                    break
                except (OperationalError, rc.errors.TransportError):
                    await asyncio.sleep(0.3)
    except (TimeoutError, AssertionError, rc.errors.RightcallError) as error:
        count.lost += 1
        say(f"lost {run}: {error!r}")
        return
    judged(count, run, workers.acts(), outcomes)


@asynccontextmanager
async def keeping(workers: Workers) -> AsyncIterator[None]:
    """Start killed workers again, as an operator's supervisor would, after a while."""

    async def keep() -> None:
        while True:
            await asyncio.sleep(0.5)
            await workers.keep()

    task = asyncio.create_task(keep())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await workers.keep()


async def at_places(address: str, workers: Workers, places: tuple[str, ...], prefix: str = "p") -> Count:
    """Kill once at each place, with one run at a time."""
    count = Count(failovers=[])
    async with rc.durable.App(address) as app:
        for number, place in enumerate(places):
            run = f"{prefix}{number}"
            (workers.folder / "kill").write_text(place)
            async with keeping(workers):
                await seen_to_its_end(app, run, count, workers)
                # Whoever goes on with a run may have ended it before the other is gone.
                await workers.buried()
            if (workers.folder / "kill").exists():
                raise SystemExit(f"nobody came to {place!r}")
            count.failovers.append(_failover(workers, run))
    count.kills = workers.kills
    return count


def _failover(workers: Workers, run: str) -> float:
    """Seconds from the last kill to when another process began with the run."""
    acts = workers.acts()
    died = max(act.at for act in acts if act.what == "killed")
    begun = [act.at for act in acts if act.what == "begins" and act.key == run and act.at > died]
    return min(begun, default=died + PATIENCE) - died


async def at_random(address: str, workers: Workers, seconds: float, chance: random.Random) -> Count:
    """Many runs at once, and kills whenever."""
    count, end = Count(failovers=[]), time.monotonic() + seconds
    before = workers.kills

    async def runs(lane: int, app: Any) -> None:
        number = 0
        while time.monotonic() < end:
            number += 1
            await seen_to_its_end(app, f"r{lane}-{number}", count, workers)

    async def kills() -> None:
        while time.monotonic() < end:
            await asyncio.sleep(chance.uniform(0.3, 1.5))
            workers.kill_one(chance.choice(sorted(workers.pids)))
            await workers.keep()

    async with rc.durable.App(address) as app:
        await asyncio.gather(kills(), *[runs(lane, app) for lane in range(6)])
    count.kills = workers.kills - before
    return count


async def zombie(address: str, workers: Workers, make_it_look_dead: Any) -> str:
    """Stop a worker inside a write, have another take its run over, and let it go on."""
    count = Count(failovers=[])
    async with rc.durable.App(address) as app:
        ending = asyncio.create_task(seen_to_its_end(app, "z", count, workers))
        # Inside both payments, with nothing of theirs on its way to the journal.
        inside = await workers.seen("pay-5", "z.t2.0.pay")
        await workers.seen("pay-7", "z.t2.1.pay")
        pid = workers.pids[inside.worker]
        os.kill(pid, signal.SIGSTOP)
        try:
            await make_it_look_dead(pid)
            other = next(name for name in workers.pids if name != inside.worker)
            await workers.seen("begins", "z", by=other)
        finally:
            os.kill(pid, signal.SIGCONT)
        continued = time.time()
        await ending
        await asyncio.sleep(1.0)
        its = [act for act in workers.acts() if act.worker == inside.worker and act.at > continued]
        # What it is given anew it may do: the next segment is anybody's.
        late = list(takewhile(lambda act: act.what != "begins", its))
        recorded = [act for act in late if act.what == "recorded"]
        assert not recorded, f"the zombie wrote {recorded}"
        assert (count.repeated, count.lost) == (0, 0), count
        # It was inside both payments, which ran side by side.
        return (
            f"took over, {count.interrupted} interrupted, 0 repeated; of the zombie's own: {len(late)}"
        )


async def restarted(address: str, workers: Workers, server: servers.Server) -> str:
    """Restart the server that holds the runs while some are under way."""
    count = Count(failovers=[])
    async with rc.durable.App(address) as app:
        runs = [
            asyncio.create_task(seen_to_its_end(app, f"s{number}", count, workers))
            for number in range(6)
        ]
        await asyncio.sleep(0.5)
        begun = time.monotonic()
        # As a crash, and not in good order. PostgreSQL has children, which SIGQUIT ends with it.
        how = signal.SIGQUIT if isinstance(server, servers.Postgres) else signal.SIGKILL
        # In a thread of its own: all others may be waiting for the server.
        with ThreadPoolExecutor(1) as thread:
            await asyncio.get_running_loop().run_in_executor(thread, server.stop, how)
            await asyncio.get_running_loop().run_in_executor(thread, server.start)
        down = time.monotonic() - begun
        await asyncio.gather(*runs)
    assert (count.lost, count.repeated, count.again) == (0, 0, 0), count
    ended = f"0 lost, 0 repeated, {count.interrupted} interrupted"
    return f"{count.runs} runs under way, down for {down:.1f} s: {ended}"


class Place:
    """One engine at an address, with whatever it takes to serve it."""

    def __init__(self, name: str, stack: ExitStack, folder: Path) -> None:
        self.name = name
        self._stack, self._folder = stack, folder
        self.server: Any = None
        if name == "postgres":
            self.server = stack.enter_context(servers.running_postgres())
        elif name == "restate":
            self.server = stack.enter_context(servers.running_restate())

    def address(self, what: str) -> str:
        """An address where no run was yet; a Restate server has one."""
        match self.name:
            case "sqlite":
                return f"sqlite:///{self._folder / what}.db"
            case "postgres":
                return str(self.server.database(what))
            case _:
                return str(self.server.address)

    async def make_look_dead(self, pid: int) -> None:
        """Do to a stopped worker what its engine would see, had its machine been cut off."""
        if self.name == "sqlite":
            for lock in self._folder.glob(f"*.workers/*-{pid}-*.lock"):
                lock.unlink()
        elif self.name == "postgres":
            # All of them: those who live take their locks again, within the time they are given.
            ending = "select pg_terminate_backend(pid) from pg_stat_activity"
            named = "application_name = 'rightcall alive'"
            await asyncio.to_thread(self.server.ask, "zombie", f"{ending} where {named}")
        # A Restate server finds out by itself: nobody answers its pings.


async def tried(place: Place, folder: Path, seconds: float, chance: random.Random) -> list[str]:
    """The rows of one engine: kills at every place, and at any time."""
    rows, wrong = [], []
    for what, doing in (
        ("at every boundary and inside every effect", "places"),
        (f"at any time for {seconds:.0f} s, 6 runs at once", "random"),
    ):
        address = place.address(doing)
        async with Workers(address, _folder(folder, place, doing)) as workers:
            if doing == "places":
                count = await at_places(address, workers, PLACES)
            else:
                count = await at_random(address, workers, seconds, chance)
        rows.append(count.row(f"{place.name}, {what}"))
        say(rows[-1])
        if count.repeated or count.lost or count.again:
            wrong.append(rows[-1])
    if wrong:
        raise SystemExit("\n".join(["these are not as they must be:", *wrong]))
    return rows


async def tried_further(place: Place, folder: Path) -> list[str]:
    """A zombie, and a server that dies in the middle; in words."""
    address = place.address("zombie")
    async with Workers(address, _folder(folder, place, "zombie"), slow=2.0) as workers:
        lines = [f"{place.name}, a zombie: {await zombie(address, workers, place.make_look_dead)}"]
    if isinstance(place.server, servers.Server):
        address = place.address("restart")
        async with Workers(address, _folder(folder, place, "restart"), slow=0.2) as workers:
            said = await restarted(address, workers, place.server)
        lines.append(f"{place.name}, its server killed and started again: {said}")
    say("\n".join(lines))
    return lines


def _folder(folder: Path, place: Place, doing: str) -> Path:
    made = folder / place.name / doing
    made.mkdir(parents=True)
    return made


def places(names: list[str], stack: ExitStack, folder: Path) -> Iterator[Place]:
    """The engines that can be had here; of the others it is said why not."""
    for name in names:
        try:
            yield Place(name, stack, folder)
        except servers.Absent as absent:
            say(f"{name}: left out: {absent}")


async def main() -> None:
    """Try all, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engines", nargs="*", default=["sqlite", "postgres", "restate"])
    parser.add_argument("--seconds", type=float, default=20.0, help="of kills at any time")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    # It tells of every connection that it loses, and some are lost on purpose.
    logging.getLogger("dbos").setLevel(logging.CRITICAL)
    folder = Path(tempfile.mkdtemp(prefix="kills-"))
    chance = random.Random(options.seed)
    try:
        with ExitStack() as stack:
            say(HEAD)
            found = list(places(options.engines, stack, folder))
            for place in found:
                await tried(place, folder, options.seconds, chance)
            say("")
            for place in found:
                await tried_further(place, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    asyncio.run(main())
