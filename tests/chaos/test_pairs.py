"""Two processes on one run, from every entry on: nothing is done twice, and the second is told."""

import pytest

from chaos.pairs import race
from chaos.workers import RunFiles, workers
from rightcall.core.entry import CallStarted, Entry, RunEnded, RunPaused

SUFFIXES = (".jsonl", ".db")
ENTRIES = 39
TRIES = 5
"""On a busy machine one process may be done before the other begins."""


@pytest.fixture(scope="module")
def server():
    with workers() as started:
        yield started


@pytest.fixture(scope="module")
def recorded(server, tmp_path_factory) -> list[Entry]:
    run = RunFiles(server, tmp_path_factory.mktemp("whole") / "journal.jsonl")
    assert run.start("run").said.startswith("end:")
    return run.entries()


@pytest.fixture(scope="module")
def paused(server, tmp_path_factory) -> tuple[list[Entry], bytes]:
    """The entries of a run that paused and went on, and what it was when it paused."""
    place = tmp_path_factory.mktemp("paused") / "journal.jsonl"
    run = RunFiles(server, place)
    assert run.start("run", pauses=True).said.startswith("pending:")
    stored = place.with_name("journal.jsonl.paused").read_bytes()
    assert run.start("resume", yes=True).said.startswith("end:")
    return run.entries(), stored


@pytest.mark.parametrize("kept", range(1, ENTRIES + 1))
def test_of_two_processes_that_recover_a_run_from_any_entry_one_does(kept, recorded, server, tmp_path):
    must_meet = not any(isinstance(entry, CallStarted) for entry in recorded[:kept])
    for number in range(TRIES):
        run = RunFiles(server, tmp_path / f"journal{number}{SUFFIXES[kept % 2]}")
        figures, refused = race(run, recorded[:kept], {"what": "recover"}, {"what": "recover"})
        assert (figures.repeats, figures.lost) == (0, 0)
        if refused or not must_meet:
            return
    pytest.fail("with all of its tools before them, they never met")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_of_five_starts_under_one_name_one_is_a_run(suffix, server, tmp_path):
    run = RunFiles(server, tmp_path / f"journal{suffix}")
    figures, refused = race(run, [], *[{"what": "run"}] * 5)
    assert (figures.writes, figures.repeats, refused) == (3, 0, 4)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_those_who_wait_find_the_run_done(suffix, recorded, server, tmp_path):
    run = RunFiles(server, tmp_path / f"journal{suffix}")
    figures, refused = race(run, recorded[:1], *[{"what": "recover", "wait": 30}] * 3)
    assert (figures.writes, figures.repeats, refused) == (3, 0, 0)


def cuts(entries: list[Entry]) -> list[int]:
    """How much of it can be kept so that the run has paused and has not ended."""
    places = range(len(entries))
    paused = next(n for n in places if isinstance(entries[n], RunPaused))
    ended = next(n for n in places if isinstance(entries[n], RunEnded) and n > paused + 1)
    return list(range(paused + 1, ended + 2))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_of_two_answers_to_one_pause_from_any_entry_on_the_first_stands(
    suffix, paused, server, tmp_path
):
    entries, stored = paused
    assert len(cuts(entries)) > 5
    for kept in cuts(entries):
        run = RunFiles(server, tmp_path / f"{kept}{suffix}")
        run.path.with_name(f"{run.path.name}.paused").write_bytes(stored)
        answers = [{"what": "resume", "yes": yes, "wait": 20} for yes in (True, False)]
        figures, refused = race(run, entries[:kept], *answers)
        assert (figures.repeats, refused) == (0, 1)
