"""Puts small faults into the code, one at a time, and says which of them no test notices.

``make mutants`` draws 40 faults at random from the rooms below, puts each into a copy of the tree, and
runs the tests of its room there; the working tree is only read. The same seed draws the same faults from
the same code. A fault that nobody notices is a test that is missing, code that is not needed, or one of
those that change nothing.
"""

import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

import pytest

from mutants.mutation import Mutant, make_mutants

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path("src/rightcall")
ROOMS = {
    "loop": ("tests/loop", "tests/agent", "tests/trust/test_runs.py"),
    "gate": ("tests/gate", "tests/agent"),
    "record": ("tests/record", "tests/agent"),
    "transport": ("tests/transport", "tests/request"),
    "trust": ("tests/trust",),
    "conversation": ("tests/conversation",),
    "durable": ("tests/durable",),
}
"""Whose tests must notice a fault in a room: those of other rooms need not be what holds it."""
WITHOUT: tuple[str, ...] = ()
"""What is to be replaced whole, and not drawn from."""
SERVED = ("durable/restate_",)
"""What only tests with a server hold: drawn where those are run, with RIGHTCALL_DURABLE=1."""
_MEMORY = 12 * 1024**3
"""Bytes of address space that a run of tests may take: a fault can fill any number of lists."""
_TRIED = 3
"""Times that a test which fails with a fault, and then alone does not, is passed over."""


@dataclass(frozen=True)
class Verdict:
    """What the tests of its room say of a fault."""

    noticed: bool
    by: str
    """The test that failed, or how else it was noticed."""
    seconds: float


class TreeCopy:
    """A copy of the tree in which one file at a time has a fault."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self._time = time.time()

    def write(self, path: str, source: bytes) -> None:
        """Write a file, with a time of its own: Python must not take the bytecode of another fault."""
        self._time += 10
        (self.place / path).write_bytes(source)
        os.utime(self.place / path, (self._time, self._time))

    def test(self, tests: Sequence[str], seconds: float) -> tuple[int | None, list[str]]:
        """Run tests up to one that fails; returns pytest's code, None if time is up, and failures."""
        cache = self.place / ".cache-of-faults"
        shutil.rmtree(cache, ignore_errors=True)
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-o", f"cache_dir={cache}", *tests]
        shared = ROOT.parent / "shared" / "data"
        settings = {"RIGHTCALL_SHARED_DATA": str(shared), **os.environ}
        settings |= {"PYTHONPATH": str(self.place / "src"), "PYTHONDONTWRITEBYTECODE": ""}
        with subprocess.Popen(
            command,
            cwd=self.place,
            env=settings,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as running:
            try:
                code = running.wait(seconds)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(running.pid, signal.SIGKILL)
        failed = cache / "v/cache/lastfailed"
        return code, list(json.loads(failed.read_text())) if failed.exists() else []


def copy_tree(place: Path) -> TreeCopy:
    """Copy what git knows or does not ignore."""
    listing = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = subprocess.run(listing, cwd=ROOT, capture_output=True, check=True, text=True)
    for name in filter(None, names.stdout.split("\0")):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)
    return TreeCopy(place)


def find_mutants(place: str) -> list[Mutant]:
    """Every fault that can be put into a room, or into the files of it whose paths begin so."""
    left_out = WITHOUT
    if os.environ.get("RIGHTCALL_DURABLE") != "1":
        left_out += SERVED
    found = []
    for file in sorted((ROOT / SOURCE / place.partition("/")[0]).rglob("*.py")):
        path = file.relative_to(ROOT)
        name = str(path.relative_to(SOURCE))
        if name.startswith(place) and not name.startswith(left_out):
            found += make_mutants(str(path), file.read_bytes())
    return found


def draw(found: Sequence[Mutant], many: int, seed: int) -> list[Mutant]:
    """Draw lines at random, each as likely as any other, and of each line one of its faults."""
    by_line: dict[tuple[str, int], list[Mutant]] = {}
    for each in found:
        by_line.setdefault((each.path, each.line), []).append(each)
    chance = random.Random(seed)
    lines = chance.sample(sorted(by_line), min(many, len(by_line)))
    return [chance.choice(by_line[line]) for line in lines]


def room_of(mutant: Mutant) -> str:
    """The room that a fault is in."""
    return Path(mutant.path).relative_to(SOURCE).parts[0]


def tests_of(mutant: Mutant, root: Path) -> list[str]:
    """The tests of a fault's room, and before them those that name its file: most notice it at once."""
    folders = ROOMS[room_of(mutant)]
    module = ".".join(Path(mutant.path).relative_to(SOURCE).with_suffix("").parts)
    own = []
    others = []
    for folder in folders:
        if folder.endswith(".py"):
            continue
        for file in sorted((root / folder).rglob("test_*.py")):
            if Path(mutant.path).stem in file.stem:
                own.append(str(file.relative_to(root)))
            elif module in file.read_text():
                others.append(str(file.relative_to(root)))
    return [*own, *others, *folders]


def judge(mutant: Mutant, copy: TreeCopy, seconds: float) -> Verdict:
    """Try one fault. A test that fails counts if it fails again alone: a busy machine is no fault."""
    begun = time.monotonic()
    # Not from the tree, which somebody may be working on.
    before = (copy.place / mutant.path).read_bytes()
    copy.write(mutant.path, mutant.source)
    passed_over: list[str] = []
    try:
        while True:
            code, failed = copy.test([*tests_of(mutant, copy.place), *passed_over], seconds)
            taken = time.monotonic() - begun
            if code == 0:
                return Verdict(noticed=False, by="", seconds=taken)
            if code is None:
                return Verdict(noticed=True, by="its time limit", seconds=taken)
            if code == pytest.ExitCode.USAGE_ERROR and not failed:
                raise RuntimeError(f"pytest takes no {tests_of(mutant, copy.place)} {passed_over}")
            if not failed:
                return Verdict(noticed=True, by=f"pytest's exit code {code}", seconds=taken)
            again, _ = copy.test(failed, seconds)
            if again != 0 or len(passed_over) == _TRIED:
                return Verdict(noticed=True, by=failed[0], seconds=taken)
            passed_over += [f"--deselect={each}" for each in failed]
    finally:
        copy.write(mutant.path, before)


def time_rooms(rooms: Sequence[str], copies: "SimpleQueue[TreeCopy]", jobs: int) -> dict[str, float]:
    """The seconds that each room's tests take without any fault. Ends the program if some fail."""

    def run(room: str) -> float:
        copy = copies.get()
        try:
            begun = time.monotonic()
            passed_over: list[str] = []
            for _ in range(_TRIED):
                code, failed = copy.test([*ROOMS[room], *passed_over], 1800)
                if code == 0:
                    return time.monotonic() - begun
                if not failed or copy.test(failed, 1800)[0] != 0:
                    # It would seem to notice every fault.
                    break
                passed_over += [f"--deselect={each}" for each in failed]
            raise SystemExit(f"the tests of {room} fail without a fault: {failed}")
        finally:
            copies.put(copy)

    with ThreadPoolExecutor(jobs) as pool:
        return dict(zip(rooms, pool.map(run, rooms), strict=True))


def main(arguments: argparse.Namespace, say: Callable[[str], None] = print) -> int:
    """Draw, try and report; returns 1 if a fault was not noticed."""
    rooms = arguments.rooms.split(",") if arguments.rooms else list(ROOMS)
    found = [each for room in rooms for each in find_mutants(room)]
    drawn = draw(found, arguments.many, arguments.seed)
    originals = {each.path: (ROOT / each.path).read_bytes() for each in drawn}
    say(f"seed {arguments.seed}: {len(drawn)} of {len(found):,} faults in {', '.join(rooms)}")
    # What is started from here has the same bound.
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies: SimpleQueue[TreeCopy] = SimpleQueue()
        for number in range(arguments.jobs):
            copies.put(copy_tree(Path(folder) / str(number)))
        needed = sorted({room_of(each) for each in drawn})
        usual = time_rooms(needed, copies, arguments.jobs)
        lock = threading.Lock()

        def try_one(mutant: Mutant) -> Verdict:
            copy = copies.get()
            try:
                # The machine may be busier than it was, and less so never matters.
                verdict = judge(mutant, copy, 3 * usual[room_of(mutant)] + 60)
            finally:
                copies.put(copy)
            with lock:
                word = "noticed " if verdict.noticed else "SURVIVED"
                place = f"{mutant.path}:{mutant.line}"
                say(f"{word} {place} {mutant.about} ({verdict.seconds:.0f} s) {verdict.by}")
            return verdict

        with ThreadPoolExecutor(arguments.jobs) as pool:
            verdicts = list(pool.map(try_one, drawn))
    survivors = [mutant for mutant, verdict in zip(drawn, verdicts, strict=True) if not verdict.noticed]
    for mutant in survivors:
        change = mutant.show_change(originals[mutant.path])
        say(f"\n{mutant.path}:{mutant.line}: {mutant.about}\n{change}")
    noticed = len(drawn) - len(survivors)
    minutes = (time.monotonic() - begun) / 60
    say(f"\nseed {arguments.seed}: {noticed} of {len(drawn)} faults were noticed, in {minutes:.1f} min")
    return 1 if survivors else 0


if __name__ == "__main__":
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--seed", type=int, default=random.randrange(10_000))
    reader.add_argument("--many", type=int, default=40)
    reader.add_argument("--rooms", default="", help="as gate,trust/facts.py; all without it")
    reader.add_argument("--jobs", type=int, default=2)
    sys.exit(main(reader.parse_args()))
