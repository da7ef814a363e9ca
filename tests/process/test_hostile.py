"""Commands that mean harm: after each, nothing is left open or running, in bounded time and memory."""

import asyncio
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from process.kit import hostile, marked, wait_until
from rightcall.process.command import Command, Crowded, Exited, Lost, TimedOut
from rightcall.process.runner import run

pytestmark = pytest.mark.usefixtures("_nothing_is_left")

PARENT = str(Path(__file__).with_name("parent.py"))
HARMFUL = ["sleep", "stubborn", "stopped", "family", "daemon_and_stay", "flood"]


@pytest.mark.parametrize("what", HARMFUL)
async def test_time_is_up_for_all_of_it(what, mark):
    done = await run(hostile(what, mark, timeout=0.5, grace=0.2))
    assert (done.exit, done.survivors) == (TimedOut(0.5), 0)
    assert marked(mark) == []
    assert done.seconds < 10


@pytest.mark.parametrize("what", HARMFUL)
async def test_cancelling_ends_all_of_it(what, mark):
    task = asyncio.create_task(run(hostile(what, mark, grace=0.2)))
    while not marked(mark):
        await asyncio.sleep(0.01)
    task.cancel()
    started = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert marked(mark) == []
    assert time.monotonic() - started < 10


@pytest.mark.parametrize(("what", "many", "left"), [("stubborn", 1, 1), ("heir", 2, 1)])
async def test_a_second_cancellation_does_not_wait(what, many, left, mark):
    task = asyncio.create_task(run(hostile(what, mark, grace=25.0)))
    while len(marked(mark)) < many:
        await asyncio.sleep(0.01)
    # It must have come as far as ignoring the signal; nothing but time tells.
    await asyncio.sleep(0.3)
    task.cancel()
    while len(marked(mark)) > left:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - started < 5
    assert wait_until(lambda: not marked(mark))


async def test_a_cancellation_that_comes_too_late_harms_nobody():
    task = asyncio.create_task(run(Command(argv=("/bin/true",))))
    await asyncio.sleep(0)
    # It is over by now, and the loop has not heard of it.
    time.sleep(0.5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [(await run(Command(argv=("/bin/true",)))).exit for _ in range(3)] == [Exited(0)] * 3


async def test_what_outlives_its_parent_has_its_grace_too(mark):
    done = await run(hostile("heir", mark, timeout=1.0, grace=1.0))
    assert (done.exit, done.survivors) == (TimedOut(1.0), 0)
    assert done.seconds > 1.9


def test_a_loop_that_is_closed_in_the_middle_leaves_nothing(mark):
    async def begin() -> None:
        task = asyncio.create_task(run(hostile("stubborn", mark, grace=0.1)))
        while not marked(mark):
            await asyncio.sleep(0.01)
        assert not task.done()

    asyncio.run(begin())
    assert marked(mark) == []


async def test_what_a_command_leaves_behind_ends_with_it(mark):
    done = await run(hostile("daemon", mark, timeout=20.0))
    assert (done.exit, done.survivors) == (Exited(0), 0)
    assert marked(mark) == []
    assert done.seconds < 15


async def test_a_fork_bomb_is_stopped_when_it_has_too_many(mark):
    done = await run(hostile("bomb", mark, timeout=20.0, max_processes=40))
    assert (done.exit, done.survivors) == (Crowded(40), 0)
    assert marked(mark) == []


async def test_a_fork_bomb_that_stays_below_the_limit_ends_with_its_time(mark):
    done = await run(hostile("bomb", mark, timeout=1.5, grace=0.1, max_processes=5000))
    assert (done.exit, done.survivors) == (TimedOut(1.5), 0)
    assert marked(mark) == []


async def test_a_process_that_is_always_another_is_caught(mark):
    done = await run(hostile("comet", mark, timeout=0.5, grace=0.1))
    assert (done.exit, done.survivors) in [(TimedOut(0.5), 0), (Exited(0), 0)]
    assert marked(mark) == []


async def test_a_gigabyte_of_output_costs_no_memory_and_no_patience():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done = await run(Command(argv=("/usr/bin/head", "-c", "1000000000", "/dev/zero"), timeout=60.0))
    assert done.exit == Exited(0)
    assert (done.output.size, len(done.output.head + done.output.tail)) == (1_000_000_000, 64 * 1024)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 20 * 1024, f"{grown} KiB"


async def test_the_loop_goes_on_while_many_children_flood_it(mark):
    floods = [
        asyncio.create_task(run(hostile("flood", mark, timeout=2.0, grace=0.1, max_output_bytes=1000)))
        for _ in range(20)
    ]
    turns = 0
    while not all(each.done() for each in floods):
        await asyncio.sleep(0)
        turns += 1
    ends = [(each.result().exit, each.result().output.size > 1000) for each in floods]
    assert ends == [(TimedOut(2.0), True)] * 20
    assert turns > 100


async def test_a_command_that_kills_its_keeper_dies_with_it(mark):
    done = await run(hostile("kill_keeper", mark, timeout=20.0, pids="host"))
    assert done.exit == Lost()
    assert wait_until(lambda: not marked(mark))
    assert (await run(Command(argv=("/bin/true",)))).exit == Exited(0)


@pytest.fixture
def parent(mark: str, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    """A process that runs hostile commands, all of them under way."""
    kinds = ["stubborn", "family", "daemon_and_stay", "stopped"]
    arguments = [sys.executable, PARENT, request.param, mark, *kinds]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        # Itself, and 1 + 4 + 2 + 1 processes; one more where it has forked.
        most = 9 + (request.param == "forking")
        assert wait_until(lambda: len(marked(mark)) == most), marked(mark)
        yield process
        process.kill()


@pytest.mark.parametrize("parent", ["plain"], indirect=True)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda s: s.name)
def test_everything_dies_with_the_parent(parent, number, mark):
    parent.send_signal(number)
    parent.wait()
    assert wait_until(lambda: not marked(mark)), marked(mark)


@pytest.mark.parametrize("parent", ["forking"], indirect=True)
def test_everything_dies_with_the_parent_though_another_has_its_sockets_open(parent, mark):
    parent.kill()
    parent.wait()
    # Only the child that it forked is left, which nobody has killed.
    assert wait_until(lambda: len(marked(mark)) == 1), marked(mark)
    (left,) = marked(mark)
    os.kill(int(left.split()[0]), signal.SIGKILL)
    assert wait_until(lambda: not marked(mark))


@pytest.mark.parametrize("parent", ["plain"], indirect=True)
def test_everything_dies_with_the_warden(parent, mark):
    os.kill(int(parent.stdout.readline()), signal.SIGKILL)
    assert wait_until(lambda: len(marked(mark)) <= 1), marked(mark)
    parent.wait()


FREEZER = Path("/sys/fs/cgroup/freezer")


@pytest.mark.skipif(
    not os.access(FREEZER / "tasks", os.W_OK), reason="nothing here can make a process unkillable"
)
async def test_a_process_that_cannot_be_killed_holds_nobody_up(mark):
    group = FREEZER / mark
    group.mkdir()
    try:
        task = asyncio.create_task(run(hostile("stubborn", mark, timeout=1.0, grace=0.1)))
        while not marked(mark):
            await asyncio.sleep(0.01)
        (found,) = marked(mark)
        (group / "tasks").write_text(found.split()[0])
        (group / "freezer.state").write_text("FROZEN")
        turns = 0
        while not task.done():
            await asyncio.sleep(0.01)
            turns += 1
        done = task.result()
        assert (done.exit, done.survivors) == (TimedOut(1.0), 1)
        assert 2.5 < done.seconds < 20
        assert turns > 50
        assert marked(mark) == [found]
        (group / "freezer.state").write_text("THAWED")
        assert wait_until(lambda: not marked(mark))
    finally:
        (group / "freezer.state").write_text("THAWED")
        assert wait_until(lambda: not (group / "tasks").read_text())
        group.rmdir()
