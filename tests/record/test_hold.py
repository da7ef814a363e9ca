"""A run has one holder: two processes at one run do nothing twice, and the second is told who it is.

From every entry of a run on, they meet in tests/chaos/test_pairs.py.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import rightcall as rc
from record.hold_child import agent_at, journal_at
from rightcall.core.entry import RunEnded, RunResumed
from rightcall.errors import AlreadyDecided, RunHeld
from rightcall.testing import ScriptedModel, call, reply

CHILD = Path(__file__).with_name("hold_child.py")
SECONDS = 30


@pytest.fixture(params=[".jsonl", ".db"])
def path(request, tmp_path):
    return tmp_path / f"journal{request.param}"


def begin(path: Path, what: str, seconds: float = 0.0) -> "subprocess.Popen[str]":
    command = [sys.executable, str(CHILD), str(path), what, str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def end(child: "subprocess.Popen[str]") -> str:
    said, _ = child.communicate(timeout=SECONDS)
    assert child.returncode == 0
    return said.splitlines()[-1]


def acts(path: Path) -> int:
    file = path.with_suffix(".acts")
    return len(file.read_text().splitlines()) if file.exists() else 0


def entries(path: Path) -> list[object]:
    with journal_at(path) as journal:
        return list(journal.entries("r"))


def locks(path: Path) -> Path:
    return path.with_name(f"{path.name}.holds")


def is_held(path: Path) -> bool:
    return locks(path).exists() and any(locks(path).iterdir())


async def recover(path: Path, **options) -> rc.RunResult:
    with journal_at(path) as journal:
        return await agent_at(path, 0.0, journal).recover("r", **options)


async def test_a_holder_that_is_killed_holds_nobody_up(path):
    child = begin(path, "run", 600)
    assert child.stdout.readline() == "paying\n"
    with pytest.raises(RunHeld, match=rf"held by process {child.pid} on "):
        await recover(path)
    child.kill()
    child.communicate(timeout=SECONDS)
    result = await recover(path)
    assert ([each.outcome for each in result.calls], acts(path)) == (["interrupted"], 1)
    assert not is_held(path)


async def test_a_holder_that_is_stopped_keeps_its_run_and_goes_on(path):
    child = begin(path, "run", 0.3)
    assert child.stdout.readline() == "paying\n"
    os.kill(child.pid, signal.SIGSTOP)
    try:
        with pytest.raises(RunHeld) as caught:
            await recover(path, wait=0.5)
    finally:
        os.kill(child.pid, signal.SIGCONT)
    assert (caught.value.run, str(child.pid) in caught.value.holder) == ("r", True)
    assert (end(child), acts(path)) == ("end: ['returned']", 1)


async def test_one_who_waits_finds_the_run_done(path):
    child = begin(path, "run", 0.5)
    assert child.stdout.readline() == "paying\n"
    result = await recover(path, wait=SECONDS)
    assert (result.text, acts(path), end(child)) == ("Done.", 1, "end: ['returned']")


@pytest.mark.parametrize("suffix", [".jsonl", ".db"])
async def test_of_two_answers_to_one_pause_the_first_stands(tmp_path, suffix):
    path = tmp_path / f"asked{suffix}"
    assert end(begin(path, "run")).startswith("pending")
    paused = rc.RunResult.from_json(path.with_suffix(".paused").read_bytes())
    children = [begin(path, "yes", 0.5), begin(path, "no")]
    said = [end(child) for child in children]
    assert acts(path) == ("returned" in said[0])
    first = next(entry for entry in entries(path) if isinstance(entry, RunResumed))
    with journal_at(path) as journal:
        agent = agent_at(path, 0.0, journal)
        stands = first.decisions["p"]
        other = rc.Deny() if isinstance(stands, rc.Allow) else rc.Allow()
        with pytest.raises(AlreadyDecided) as caught:
            await agent.resume(paused, {"p": other})
        assert caught.value.decisions == {"p": stands}
        before = acts(path)
        again = await agent.resume(paused, {"p": stands})
    assert (again.text, acts(path)) == ("Done.", before)


def test_a_holder_whose_number_is_stale_cannot_append(tmp_path):
    path = tmp_path / "journal.db"
    with journal_at(path) as late, journal_at(path) as other:
        hold = late.hold("r")
        hold.append(RunEnded(stop=rc.record.Stop("end")))
        # As on a file system whose locks do not reach the other machine.
        for file in path.with_name(f"{path.name}.holds").iterdir():
            file.unlink()
        taken = other.hold("r")
        with pytest.raises(RunHeld):
            hold.append(RunEnded(stop=rc.record.Stop("end")))
        taken.append(RunEnded(stop=rc.record.Stop("limit", "turns")))
        assert [entry.stop.reason for entry in other.entries("r")] == ["end", "limit"]


@pytest.mark.parametrize("kind", ["memory", ".jsonl", ".db"])
async def test_two_tasks_of_one_process_do_not_share_a_run(tmp_path, kind):
    journal = rc.record.MemoryJournal() if kind == "memory" else journal_at(tmp_path / f"journal{kind}")
    entered, leave = asyncio.Event(), asyncio.Event()

    @rc.tool
    async def stay() -> str:
        """Stay."""
        entered.set()
        await leave.wait()
        return "left"

    agent = rc.Agent(ScriptedModel([reply(call("stay")), "Done."]), [stay], journal=journal)
    first = asyncio.create_task(agent.run("Go.", run="r"))
    await entered.wait()
    with pytest.raises(RunHeld):
        await agent.recover("r")
    with pytest.raises(RunHeld):
        await agent.run("Go.", run="r")
    waiting = asyncio.create_task(agent.recover("r", wait=SECONDS))
    await asyncio.sleep(0.1)
    leave.set()
    assert (await first).transcript == (await waiting).transcript
    if kind != "memory":
        journal.close()


async def test_a_run_that_is_cancelled_or_fails_is_let_go(path):
    with journal_at(path) as journal:
        agent = agent_at(path, 600, journal)
        running = asyncio.create_task(agent.run("Pay.", run="r"))
        while not acts(path):
            await asyncio.sleep(0.01)
        assert is_held(path)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert not is_held(path)
        result = await agent.recover("r")
    assert [each.outcome for each in result.calls] == ["interrupted"]


async def test_two_runs_of_one_journal_do_not_wait_for_each_other(path):
    with journal_at(path) as journal:
        agents = [agent_at(path, 0.2, journal) for _ in range(2)]
        results = await asyncio.gather(*(a.run("Pay.", run=f"r{n}") for n, a in enumerate(agents)))
    assert ([each.text for each in results], acts(path)) == (["Done.", "Done."], 2)


def test_a_released_run_is_free_before_its_file_is_closed(path):
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208

    with journal_at(path) as journal:
        journal.hold("first").release()
        before = descriptors()
        for _ in range(20):
            journal.hold("r").release()
        end = time.monotonic() + 5
        while descriptors() > before and time.monotonic() < end:
            time.sleep(0.01)
        assert descriptors() <= before


async def test_the_folder_of_the_locks_goes_soon_after_the_last_hold_and_when_the_journal_closes(path):
    with journal_at(path) as journal:
        held = journal.hold("r")
        assert locks(path).exists()
        held.release()
        async with asyncio.timeout(5):
            while locks(path).exists():
                await asyncio.sleep(0.005)
        journal.hold("r").release()
        journal.close()
        assert not locks(path).exists()


def test_the_folder_stays_while_another_run_is_held(path):
    with journal_at(path) as journal:
        one, other = journal.hold("one"), journal.hold("other")
        one.release()
        journal.close()
        assert is_held(path)
        other.release()
