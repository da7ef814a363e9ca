"""The other end of worker.py: jobs at one run, and what must be true of it whatever was done."""

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

import rightcall as rc
from chaos.worker import RUN, Job, journal_at
from loop.sound import assert_sound
from rightcall.core.entry import CallFinished, CallStarted, Entry, RunResumed, RunStarted

CHILD = Path(__file__).with_name("worker.py")
KILLED = -signal.SIGKILL
WRITES = ("pay-", "sign-")


class End(Struct, frozen=True):
    """How a process ended."""

    code: int
    said: str


class Workers:
    """A server that forks a process for each job."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def start(self, *jobs: Job) -> list[End]:
        """Do jobs at once; how each ended."""
        self._process.stdin.write(json.dumps(jobs) + "\n")
        self._process.stdin.flush()
        return [End(*each) for each in json.loads(self._process.stdout.readline())]


@contextmanager
def workers() -> Iterator[Workers]:
    """A server, as long as it is needed."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, str(CHILD)], stdin=pipe, stdout=pipe, text=True) as process:
        yield Workers(process)
        process.stdin.close()


class RunFiles:
    """The files of one run: its journal, what its tools did, and what it came to."""

    def __init__(self, workers: Workers, path: Path) -> None:
        self._workers = workers
        self.path = path

    def start(self, what: str, **options: object) -> End:
        """One process at the run."""
        return self.start_all({"what": what, **options})[0]

    def start_all(self, *jobs: Job) -> list[End]:
        """Processes at the run, all at once."""
        return self._workers.start(*({"journal": str(self.path), **job} for job in jobs))

    def entries(self) -> list[Entry]:
        """What is recorded; nothing if the file is not there yet."""
        with journal_at(self.path) as journal:
            return list(journal.entries(RUN))

    def begin_from(self, entries: list[Entry]) -> None:
        """Make the journal one that was cut after these entries."""
        with journal_at(self.path) as journal:
            for entry in entries:
                journal.append(RUN, entry)

    def acts(self) -> Counter[str]:
        """What tools did, with the key of each call."""
        path = Path(f"{self.path}.acts")
        return Counter(path.read_text().splitlines() if path.exists() else ())

    def result(self) -> rc.RunResult:
        """What the run came to."""
        return rc.RunResult.from_json(Path(f"{self.path}.result").read_bytes())


class Figures(Struct):
    """What happened to a run, or to many."""

    kills: int = 0
    writes: int = 0
    repeats: int = 0
    interrupted: int = 0
    lost: int = 0
    damaged: int = 0

    def add(self, other: "Figures") -> None:
        """Count another's with these."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def judge(run: RunFiles, kills: int = 0) -> Figures:
    """The figures of a run that has ended. Fails where something is not as it must always be."""
    entries, acts, result = run.entries(), run.acts(), run.result()
    assert_sound(result.transcript)
    finished = Counter(entry.key for entry in entries if isinstance(entry, CallFinished))
    started = Counter(entry.key for entry in entries if isinstance(entry, CallStarted))
    assert set(finished.values()) <= {1}, f"calls with two ends: {finished}"
    assert set(started.values()) <= {1}, f"calls that were started twice: {started}"
    assert set(started) <= set(finished), "a call was started and has no end"
    assert sum(isinstance(entry, RunStarted) for entry in entries) == 1
    answers = [entry.decisions for entry in entries if isinstance(entry, RunResumed)]
    assert all(answer == answers[0] for answer in answers), f"two answers were taken: {answers}"
    writes = {act: times for act, times in acts.items() if act.startswith(WRITES)}
    interrupted = sum(each.outcome == "interrupted" for each in result.calls)
    # The key that a tool is told begins with the run's name.
    unrecorded = [act for act in writes if not act.endswith(tuple(started))]
    return Figures(
        kills=kills,
        writes=len(writes),
        repeats=sum(times - 1 for times in writes.values()),
        interrupted=interrupted,
        lost=len(unrecorded),
    )
