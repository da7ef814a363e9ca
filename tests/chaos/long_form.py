"""The long form of the chaos kit: minutes of it, a table of figures, and an exit code.

make chaos                                   two minutes, another seed each time
make chaos CHAOS_SECONDS=1800 CHAOS_RUNS=100000
make chaos CHAOS_SEED=1234                   the same kills again, as far as a machine repeats itself
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from chaos.killing import kill_at_random
from chaos.leftovers import Holding, holding
from chaos.memory import WAYS
from chaos.pairs import race
from chaos.workers import KILLED, Figures, RunFiles, Workers, judge, workers

HERE = Path(__file__).resolve().parent
SUFFIXES = (".jsonl", ".db")
NAMES = {".jsonl": "JSONL", ".db": "SQLite"}
Row = tuple[str, str, bool]
"""What was counted, the figure, and whether it is as it must be."""


class Ground:
    """Where runs are made: a folder, a server of processes, and a number for each run."""

    def __init__(self, place: Path, server: Workers) -> None:
        self._place = place
        self._server = server
        self._made = 0

    def run(self, suffix: str) -> RunFiles:
        """Another run, in files of its own."""
        self._made += 1
        return RunFiles(self._server, self._place / f"{self._made}{suffix}")


def kill_everywhere(ground: Ground, suffix: str) -> Figures:
    """A run killed before and after each of its entries, and recovered."""
    figures = Figures()
    whole = ground.run(suffix)
    whole.start("run")
    for at in range(1, len(whole.entries()) + 1):
        for when in ("before", "after"):
            run = ground.run(suffix)
            assert run.start("run", kill_at=at, when=when).code == KILLED
            entries = run.entries()
            figures.lost += at - (when == "before") - len(entries)
            assert run.start("recover" if entries else "run").said.startswith("end:")
            figures.add(judge(run, kills=1))
    return figures


def kill_often(ground: Ground, suffix: str, seconds: float, chance: random.Random) -> Figures:
    """Runs killed at random times, for so long."""
    figures, end = Figures(), time.monotonic() + seconds
    while time.monotonic() < end:
        figures.add(kill_at_random(ground.run(suffix), chance))
    return figures


def race_everywhere(
    ground: Ground, suffix: str, seconds: float, chance: random.Random
) -> Iterator[Figures]:
    """Two to four processes on one run from each of its entries on, again and again for so long."""
    whole = ground.run(suffix)
    whole.start("run")
    entries, end = whole.entries(), time.monotonic() + seconds
    places = list(range(1, len(entries) + 1))
    while places or time.monotonic() < end:
        kept = places.pop() if places else chance.randint(0, len(entries))
        what = "recover" if kept else "run"
        jobs = [{"what": what, "wait": chance.choice((0, 20))} for _ in range(chance.randint(2, 4))]
        yield race(ground.run(suffix), entries[:kept], *jobs)[0]


def all_of(figures: Iterator[Figures]) -> Figures:
    """The sum."""
    total = Figures()
    for each in figures:
        total.add(each)
    return total


def rows_of(title: str, made: Callable[[], Figures]) -> list[Row]:
    """What came of one kind of trouble."""
    found = made()
    words = (
        f"{found.kills:,} kills, {found.writes:,} writes, {found.repeats} repeated, "
        f"{found.interrupted:,} interrupted, {found.lost} lost"
    )
    return [(title, words, not (found.repeats or found.lost or found.damaged))]


def soaked(seconds: float, seed: str) -> Row:
    """Hostile tools and models in one process."""
    command = [sys.executable, str(HERE / "soak.py"), str(seconds), seed]
    found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    words = f"{found['runs']:,} runs; {left(found['left'])}; {found['objects']:+,} objects"
    return "hostile tools and models", words, not found["left"]


def left(over: dict[str, int]) -> str:
    """What is left over, kind by kind."""
    return "left: " + ", ".join(f"{over.get(name, 0)} {name}" for name in Holding.__struct_fields__)


def weighed(way: str, runs: int) -> Row:
    """What a process weighs after so many runs."""
    command = [sys.executable, str(HERE / "memory.py"), way, str(runs)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    marks = [json.loads(line) for line in done.stdout.splitlines()]
    first, last = marks[0], marks[-1]
    weights = ", ".join(f"{mark['own_kb'] / 1024:.1f} MB after {mark['runs']:,}" for mark in marks)
    held = last["descriptors"] - first["descriptors"]
    return f"memory: {way}", f"{weights}; {held} descriptors more", held <= 0


def suite() -> Row:
    """Every hostile tool, model, vendor and server, and the rest of the short form."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, cwd=HERE.parents[1])
    return "short form", done.stdout.strip().splitlines()[-1], done.returncode == 0


def last(before: Holding) -> Iterator[Row]:
    """What this process itself holds of all that it started."""
    over = holding().over(before)
    yield "left of all these", left(over), not over


def troubles(options: argparse.Namespace) -> Iterator[Row]:
    """Everything, one row at a time."""
    chance, share = random.Random(options.seed), options.seconds / 6
    with tempfile.TemporaryDirectory() as place, workers() as server:
        ground = Ground(Path(place), server)
        for suffix in SUFFIXES:
            name = NAMES[suffix]
            yield from rows_of(
                f"killed at every entry, {name}", lambda s=suffix: kill_everywhere(ground, s)
            )
            yield from rows_of(
                f"killed at any time, {name}", lambda s=suffix: kill_often(ground, s, share, chance)
            )
            yield from rows_of(
                f"several processes at one run, {name}",
                lambda s=suffix: all_of(race_everywhere(ground, s, share, chance)),
            )
    yield soaked(share * 2, str(options.seed))
    for way in options.ways or WAYS:
        yield weighed(way, options.runs)
    yield suite()


def main() -> int:
    """Print the table; 1 if anything in it is not as it must be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--ways", nargs="*", choices=WAYS)
    options = parser.parse_args()
    options.seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    sys.stdout.write(f"seed {options.seed}, {options.seconds:g} s\n\n")
    before, is_good = holding(), True
    for title, words, good in chain(troubles(options), last(before)):
        sys.stdout.write(f"{'ok  ' if good else 'BAD '}{title:38} {words}\n")
        sys.stdout.flush()
        is_good &= good
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
