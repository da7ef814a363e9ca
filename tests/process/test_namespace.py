"""Commands that turn on their keeper: gone all the same, in a pid namespace and without."""

import asyncio
import logging
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from process.kit import hostile, marked, wait_until
from rightcall.process import runner
from rightcall.process.command import Command, Exited, Lost, Signalled, TimedOut
from rightcall.process.runner import keepers, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has pid namespaces")

PARENT = str(Path(__file__).with_name("parent.py"))
UNSHARE = shutil.which("unshare")


def _works(*command: str | None) -> bool:
    if None in command:
        return False
    done = subprocess.run([*map(str, command)], capture_output=True, check=False)
    return done.returncode == 0


root_with_namespaces = pytest.mark.skipif(
    not _works(UNSHARE, "--pid", "--mount", "--fork", "true"), reason="no pid namespaces here"
)
user_with_namespaces = pytest.mark.skipif(
    not _works(UNSHARE, "-Ur", "true"), reason="no user namespaces here"
)
both = pytest.mark.parametrize("pids", [pytest.param("own", marks=root_with_namespaces), "host"])


@pytest.mark.usefixtures("_nothing_is_left")
@both
@pytest.mark.parametrize("what", ["stop_keeper", "stop_keeper_from_afar"])
async def test_a_command_that_stops_its_keeper_ends(what, pids, mark):
    done = await run(hostile(what, mark, timeout=1.0, grace=0.1, pids=pids))
    # In a namespace the keeper does not even notice. Elsewhere it is killed, and the command with it.
    assert done.exit == (TimedOut(1.0) if pids == "own" else Lost())
    assert wait_until(lambda: not marked(mark)), marked(mark)
    assert (await run(Command(argv=("/bin/true",), pids=pids))).exit == Exited(0)


@pytest.mark.usefixtures("_nothing_is_left")
@root_with_namespaces
@pytest.mark.parametrize("what", ["kill_keeper", "daemon_and_stay", "bomb", "comet", "family"])
async def test_in_a_namespace_nothing_ends_the_keeper_or_outlives_it(what, mark):
    done = await run(hostile(what, mark, timeout=0.5, grace=0.1, pids="own", max_processes=5000))
    assert done.survivors == 0
    assert marked(mark) == []


@pytest.mark.usefixtures("_nothing_is_left")
@both
async def test_a_keeper_that_is_held_in_any_other_way_is_killed(pids, mark, monkeypatch):
    monkeypatch.setattr(runner, "_PATIENCE", 0.3)
    done = await run(hostile("trace_keeper", mark, timeout=1.0, grace=0.1, pids=pids))
    if b"held" not in done.output.head:
        pytest.skip(f"nobody may be traced here: {done.output.head!r}")
    assert done.exit == Lost()
    assert wait_until(lambda: not marked(mark)), marked(mark)


@pytest.mark.usefixtures("_nothing_is_left")
@both
async def test_a_command_that_stops_its_keeper_and_the_warden_ends(pids, mark, monkeypatch):
    if pids == "host":
        # Nobody will report, and that is not waited for here.
        monkeypatch.setattr(runner, "_PATIENCE", 0.3)
    done = await run(hostile("stop_both", mark, timeout=1.0, grace=0.1, pids=pids))
    assert done.exit == (TimedOut(1.0) if pids == "own" else Lost())
    assert wait_until(lambda: not marked(mark)), marked(mark)
    assert (await run(Command(argv=("/bin/true",), pids=pids))).exit == Exited(0)


@pytest.mark.usefixtures("_nothing_is_left")
async def test_a_warden_that_is_stopped_between_commands_is_replaced():
    assert (await run(Command(argv=("/bin/true",), pids="host"))).exit == Exited(0)
    warden = Path(f"/proc/{keepers()._process}/stat")
    os.kill(keepers()._process, signal.SIGSTOP)
    assert wait_until(lambda: warden.read_text().rpartition(")")[2].split()[0] == "T")
    running = [run(Command(argv=("/bin/sleep", "0.2"), timeout=5.0, pids="host")) for _ in range(3)]
    ends = [each.exit for each in await asyncio.gather(*running)]
    # The one that got the keeper that was there may be lost with it, or be seen to be killed before.
    assert ends.count(Exited(0)) >= 2
    assert set(ends) <= {Exited(0), Lost(), Signalled(9)}


@pytest.mark.usefixtures("_nothing_is_left")
@both
async def test_keepers_that_are_let_go_all_at_once_take_no_other_with_them(pids):
    # More at once than are kept, so that many are let go together.
    longer = asyncio.create_task(run(Command(argv=("/bin/sleep", "1"), pids=pids)))
    many = await asyncio.gather(*(run(Command(argv=("/bin/true",), pids=pids)) for _ in range(24)))
    assert {each.exit for each in many} == {Exited(0)}
    assert (await longer).exit == Exited(0)


@both
def test_everything_dies_with_the_parent_though_keepers_are_stopped(pids, mark):
    kinds = [f"{kind}:{pids}" for kind in ("stop_keeper", "stop_keeper_from_afar", "daemon_and_stay")]
    with subprocess.Popen(
        [sys.executable, PARENT, "plain", mark, *kinds], stdout=subprocess.PIPE
    ) as process:
        # Without a namespace those that stopped their keeper are gone at once.
        most = 1 + (1 + 2 + 2 if pids == "own" else 2)
        assert wait_until(lambda: len(marked(mark)) == most), marked(mark)
        process.kill()
        process.wait()
        assert wait_until(lambda: not marked(mark)), marked(mark)


@pytest.mark.usefixtures("_nothing_is_left")
@both
async def test_a_command_sees_its_own_processes_or_all_of_them(pids, mark):
    done = await run(hostile("count_processes", mark, pids=pids))
    number, parent, many = map(int, done.output.head.split())
    if pids == "own":
        assert (parent, many) == (1, 2)
        assert number < 100
    else:
        assert parent > 1
        assert many > 2


CODE = """
import asyncio, logging, sys
sys.path[:0] = {path!r}
logging.basicConfig(level=logging.DEBUG, stream=sys.stdout, format="%(message)s")
logging.getLogger("asyncio").setLevel(logging.WARNING)
from rightcall.process import Command, run
async def main():
    for pids in {pids!r}:
        for _ in range(2):
            done = await run(Command(argv=("/bin/sh", "-c", "echo $PPID"), pids=pids))
            said = done.output.head.decode().strip()
            print(pids, "its own" if said == "1" else "the machine's" if said else done.exit.reason)
asyncio.run(main())
"""


def _as_somebody_else(before: list[str | None], pids: list[str]) -> list[str]:
    code = CODE.format(path=sys.path, pids=pids)
    arguments = [*map(str, before), os.path.realpath(sys.executable), "-c", code]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False, cwd="/")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@user_with_namespaces
def test_who_is_not_root_has_numbers_of_their_own_when_they_ask_for_them():
    somebody = [UNSHARE, "--user", "--map-user=1000", "--map-group=1000"]
    said = _as_somebody_else(somebody, ["own", "auto", "host"])
    assert [line for line in said if line.startswith(("own", "host", "auto"))] == [
        *["own its own"] * 2,
        *["auto the machine's"] * 2,
        *["host the machine's"] * 2,
    ]
    assert [line for line in said if "no pid namespaces" in line] == [
        "no pid namespaces for this process: a command that kills its keeper and the warden can stay"
    ]


@user_with_namespaces
def test_what_the_system_does_not_have_is_refused_or_done_without():
    none = 'echo 0 > /proc/sys/user/max_pid_namespaces && exec "$@"'
    said = _as_somebody_else([UNSHARE, "-Ur", "/bin/sh", "-c", none, "sh"], ["auto", "own", "host"])
    refused = (
        "own it is to have process numbers of its own, and there are none: No space left on device; "
        'pids="host" does without'
    )
    assert [line for line in said if line.startswith(("own", "host", "auto"))] == [
        *["auto the machine's"] * 2,
        *[refused] * 2,
        *["host the machine's"] * 2,
    ]


@root_with_namespaces
@pytest.mark.skipif(os.geteuid() != 0, reason="not root")
async def test_what_holds_here_is_said_once(caplog):
    runner._say_once.cache_clear()
    with caplog.at_level(logging.DEBUG, logger="rightcall"):
        for _ in range(3):
            await run(Command(argv=("/bin/true",)))
    assert caplog.messages == [
        "commands have process numbers of their own; with pids='host' they see all processes"
    ]
