"""A run killed by SIGKILL at every entry of its journal, and at any time, and recovered."""

import random
from pathlib import Path

import pytest

import rightcall as rc
from chaos.killing import kill_at_random
from chaos.worker import DEATHS
from chaos.workers import KILLED, Figures, RunFiles, judge, workers
from rightcall.core.entry import CallFinished, CallStarted

ENTRIES = 39
SUFFIXES = (".jsonl", ".db")


@pytest.fixture(scope="module")
def server():
    with workers() as started:
        yield started


@pytest.fixture(scope="module")
def undisturbed(server, tmp_path_factory) -> RunFiles:
    run = RunFiles(server, tmp_path_factory.mktemp("whole") / "journal.jsonl")
    assert run.start("run").code == 0
    return run


def test_the_journal_of_an_undisturbed_run_has_the_entries_that_are_killed_at(undisturbed):
    assert len(undisturbed.entries()) == ENTRIES
    assert judge(undisturbed) == Figures(writes=3)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("kill_at", range(1, ENTRIES + 1))
def test_a_run_killed_at_any_entry_and_recovered_ends_alike(
    kill_at, when, undisturbed, server, tmp_path
):
    # Before the next entry is after this one, so that each is killed at in both kinds of journal.
    run = RunFiles(server, tmp_path / f"journal{SUFFIXES[kill_at % 2]}")
    assert run.start("run", kill_at=kill_at, when=when).code == KILLED
    entries, before = run.entries(), run.acts()
    finished = {entry.key for entry in entries if isinstance(entry, CallFinished)}
    started = {entry.key for entry in entries if isinstance(entry, CallStarted)}
    in_doubt = {key.rpartition(".")[2] for key in started - finished}

    assert len(entries) == kill_at - (when == "before"), "an entry is lost, or half of one is there"
    assert run.start("recover" if entries else "run").code == 0

    whole, result, acts = undisturbed.result(), run.result(), run.acts()
    figures = judge(run, kills=1)
    assert (figures.repeats, figures.lost) == (0, 0)
    assert (result.stop, result.text) == (whole.stop, whole.text)
    if in_doubt & {"pay", "sign"}:
        assert figures.interrupted > 0
        left = tuple(key for key in started - finished if key.endswith(("pay", "sign")))
        assert all(acts[act] == before[act] for act in acts if act.endswith(left))
    else:
        assert result.transcript == whole.transcript
        assert set(acts) == set(undisturbed.acts())
    done_twice = {act.split("-")[0] for act, times in acts.items() if times > 1}
    assert done_twice <= {"look", "ask"} | in_doubt - {"pay", "sign"}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_run_killed_at_any_time_again_and_again_does_nothing_twice(suffix, server, tmp_path):
    figures = Figures()
    chance = random.Random(suffix)
    for number in range(3):
        run = RunFiles(server, Path(tmp_path) / f"{number}{suffix}")
        figures.add(kill_at_random(run, chance))
    assert (figures.repeats, figures.lost, figures.damaged) == (0, 0, 0)
    assert figures.kills > 0


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("how", DEATHS)
def test_a_tool_that_takes_its_process_with_it_is_interrupted_and_not_run_again(
    how, suffix, server, tmp_path
):
    run = RunFiles(server, tmp_path / f"journal{suffix}")
    assert run.start("run", dies=how).code != 0
    assert run.start("recover").said.startswith("end:")
    figures = judge(run)
    assert (figures.repeats, figures.interrupted) == (0, 1)


async def test_a_run_that_was_killed_replays_as_it_went_on(server, tmp_path):
    run = RunFiles(server, tmp_path / "journal.db")
    assert run.start("run", kill_at=20, when="after").code == KILLED
    assert run.start("recover").code == 0
    with rc.record.SqliteJournal(run.path) as journal:
        assert (await rc.replay(journal, "r")).transcript == run.result().transcript
