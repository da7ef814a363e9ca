"""A full disk and used up descriptors: an error says so, and afterwards the run goes on."""

import os
import resource
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import rightcall as rc
from chaos.leftovers import holding
from chaos.workers import RunFiles, judge, workers
from rightcall.errors import JournalError, RightcallError
from rightcall.testing import ScriptedModel, call, reply

SUFFIXES = (".jsonl", ".db")
SIZES = (0, 100, 300, 700, 1500, 2500, 3500, 4500, 6000)


@pytest.fixture(scope="module")
def server():
    with workers() as started:
        yield started


def assert_goes_on(run: RunFiles) -> None:
    """Whatever could be written, the run is recovered, or begun if there is nothing of it."""
    entries = run.entries() if run.path.exists() else []
    assert run.start("recover" if entries else "run").said.startswith("end:")
    figures = judge(run)
    assert (figures.repeats, figures.lost) == (0, 0)


@pytest.mark.parametrize("size", SIZES)
def test_a_journal_that_may_grow_no_further_is_an_error_and_the_run_goes_on_later(
    size, server, tmp_path
):
    # RLIMIT_FSIZE: a write beyond it fails, or is cut short, as on a disk that is full.
    run = RunFiles(server, tmp_path / "journal.jsonl")
    end = run.start("run", files=size)
    assert end.code == 0
    assert end.said.startswith(("journal: ", "end:")), end.said
    assert_goes_on(run)


def test_a_database_that_may_grow_no_further_is_an_error_and_the_run_goes_on_later(server, tmp_path):
    for size in (0, 4096, 20_000, 40_000, 80_000):
        run = RunFiles(server, tmp_path / f"{size}.db")
        end = run.start("run", files=size)
        assert (end.code, end.said.partition(":")[0] in {"journal", "end"}) == (0, True), end
        assert_goes_on(run)


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    """A file system of 512 kB, where this machine lets us mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(place)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount here")
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True, timeout=10)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_on_a_full_disk_a_run_ends_in_an_error_and_goes_on_when_there_is_room(
    suffix, small_disk, server
):
    filler = small_disk / "filler"
    # SQLite needs some 40 kB for its own before the first entry.
    for room in (4, 8, 12, 16, 40, 48, 56, 64, 80):
        run = RunFiles(server, small_disk / f"{room}{suffix}")
        filler.write_bytes(bytes((512 - room) * 1024))
        end = run.start("run")
        assert end.code in {0, 1}, "not killed"
        filler.unlink()
        assert_goes_on(run)
        for left in small_disk.iterdir():
            left.unlink() if left.is_file() else left.rmdir()


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("more", range(9))
def test_without_descriptors_a_run_ends_in_an_error_and_goes_on_when_there_are_some(
    more, suffix, server, tmp_path
):
    run = RunFiles(server, tmp_path / f"journal{suffix}")
    end = run.start("run", open=more)
    # So few that not even an event loop can be had is nothing that a run could say.
    assert end.code == 0 or more < 4, end
    assert_goes_on(run)


def test_a_process_that_has_used_up_its_descriptors_recovers_with_them(tmp_path):
    @rc.tool
    def ping() -> str:
        """Answers."""
        return "pong"

    def agent(journal: rc.record.Journal) -> rc.Agent:
        return rc.Agent(ScriptedModel([reply(call("ping")), "Done."]), [ping], journal=journal)

    with rc.record.JsonLinesJournal(tmp_path / "runs.jsonl") as journal:
        agent(journal).run_sync("Go.")
        before = holding()
        most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (before.descriptors + 5, most[1]))
        taken: list[int] = []
        try:
            with suppress(OSError):
                taken.extend(os.open(os.devnull, os.O_RDONLY) for _ in range(1000))
            with pytest.raises((JournalError, RightcallError)):
                agent(journal).run_sync("Go.", run="starved")
        finally:
            for each in taken:
                os.close(each)
            resource.setrlimit(resource.RLIMIT_NOFILE, most)
        begun = time.monotonic()
        assert agent(journal).run_sync("Go.", run="fed").text == "Done."
        assert time.monotonic() - begun < 5
    assert holding().over(before) == {}
