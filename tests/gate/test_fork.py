"""A tool that forks and lets its child return: the parent gets its value, the child goes no further."""

import os
import subprocess
from pathlib import Path

import pytest

import warm

SCRIPT = """
import asyncio, functools, os, sys, warnings
from pathlib import Path
import rightcall as rc

warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads about, on purpose
diary, how, calls = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
children, forks = [], []


def note(words):
    with diary.open("a") as file:
        file.write(f"{'parent' if os.getpid() == parent else 'child'} {words}\\n")


def fork():
    pid = os.fork()
    forks.append(pid)
    if pid:
        children.append(pid)
    note("forked")
    return pid


def sync() -> str:
    fork()
    return "value"


def sync_raises() -> str:
    if not fork():
        raise KeyError("in the child")
    return "value"


async def at_once() -> str:
    fork()
    return "value"


async def later() -> str:
    await asyncio.sleep(0)
    fork()
    return "value"


async def waits_after() -> str:
    fork()
    await asyncio.sleep(0)
    return "value"


async def waits_before_and_after() -> str:
    await asyncio.sleep(0)
    fork()
    await asyncio.sleep(0)
    return "value"


@functools.wraps(at_once)
def in_a_decorator():
    fork()
    return asyncio.sleep(0, "value")


async def main():
    async def bystander():
        # Would go on in the child too, if the child came back to the loop.
        while not forks:
            await asyncio.sleep(0)
        note("bystander")

    tool = rc.tool(globals()[how], name="forks", description="Fork.")
    watching = asyncio.create_task(bystander())
    asked = [rc.Call(id=str(number), name="forks") for number in range(calls)]
    done = await rc.gate.Executor().execute(asked, rc.Toolbox(tool))
    note("executed " + " ".join(each.result.text for each in done))
    await watching


parent = os.getpid()
asyncio.run(main())
note("ended")
for pid in children:
    note(f"child's exit code {os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}")
"""

HOWS = [
    *("sync", "sync_raises"),
    *("at_once", "later", "waits_after", "waits_before_and_after", "in_a_decorator"),
]
CASES = [*((how, 1) for how in HOWS), ("sync", 2), ("waits_after", 2)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize(("how", "calls"), CASES)
def test_the_child_of_a_tool_that_forks_ends_with_the_tool(tmp_path: Path, how: str, calls: int):
    diary = tmp_path / "diary"
    script = [*warm.python(*warm.AGENT), "-c", SCRIPT, str(diary), how, str(calls)]
    ran = subprocess.run(script, capture_output=True, text=True, timeout=30, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert sorted(diary.read_text().splitlines()) == sorted(
        [
            *["child forked"] * calls,
            *["parent forked"] * calls,
            "parent bystander",
            f"parent executed {' '.join(['value'] * calls)}",
            "parent ended",
            *["parent child's exit code 0"] * calls,
        ]
    )
