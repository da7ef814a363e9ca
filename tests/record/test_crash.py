"""A run killed at every entry of its journal, in a real process, and started again."""

import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import rightcall as rc
from rightcall.core.entry import CallFinished, CallStarted, Entry
from rightcall.record.jsonl import JsonLinesJournal

CHILD = Path(__file__).with_name("crash_child.py")
ENTRIES = 29


class Runs:
    """Runs of the child in a folder of their own."""

    def __init__(self, server: subprocess.Popen[str], place: Path) -> None:
        self._server = server
        self._place = place

    def start(self, kill_at: int = 0, when: str = "after") -> int:
        """The exit code of one more process on the same journal."""
        files = [str(self._place / name) for name in ("journal", "acts", "result")]
        self._server.stdin.write(" ".join([*files, str(kill_at), when]) + "\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())

    def result(self) -> rc.RunResult:
        return rc.RunResult.from_json((self._place / "result").read_bytes())

    def acts(self) -> Counter[str]:
        path = self._place / "acts"
        return Counter(path.read_text().splitlines() if path.exists() else ())

    def entries(self) -> list[Entry]:
        with JsonLinesJournal(self._place / "journal") as journal:
            return list(journal.entries("r"))


@pytest.fixture(scope="module")
def server():
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, str(CHILD)], stdin=pipe, stdout=pipe, text=True) as process:
        yield process
        process.stdin.close()


@pytest.fixture(scope="module")
def undisturbed(server, tmp_path_factory) -> Runs:
    runs = Runs(server, tmp_path_factory.mktemp("whole"))
    assert runs.start() == 0
    return runs


@pytest.fixture
def runs(server, tmp_path) -> Runs:
    return Runs(server, tmp_path)


def test_the_journal_of_an_undisturbed_run_has_the_entries_that_are_killed_at(undisturbed):
    assert len(undisturbed.entries()) == ENTRIES


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("kill_at", range(1, ENTRIES + 1))
def test_a_run_killed_at_any_entry_and_recovered_ends_alike(kill_at, when, undisturbed, runs):
    assert runs.start(kill_at, when) == -signal.SIGKILL
    entries, before = runs.entries(), runs.acts()
    finished = {entry.key for entry in entries if isinstance(entry, CallFinished)}
    started = {entry.key for entry in entries if isinstance(entry, CallStarted)}
    in_doubt = {key.rpartition(".")[2] for key in started - finished}

    assert runs.start() == 0

    whole, result, acts = undisturbed.result(), runs.result(), runs.acts()
    assert (result.stop, result.text) == (whole.stop, whole.text)
    assert acts["pay 5"] <= 1
    if "pay" in in_doubt:
        assert [c.outcome for c in result.calls if c.name == "pay"] == ["interrupted", "invalid"]
        assert acts["pay 5"] == before["pay 5"]
    else:
        assert result.transcript == whole.transcript
        assert set(acts) == set(undisturbed.acts())
    done_twice = {act.split()[0] for act, times in acts.items() if times > 1}
    assert done_twice <= {"look", "ask"} | in_doubt
