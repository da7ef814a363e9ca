"""Servers that misbehave: after each fault the run goes on, and nothing is left of the server."""

import asyncio
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import rightcall as rc
import warm
from rightcall.errors import ToolFailure, TransportError, TransportTimeout
from rightcall.testing import ScriptedModel, call, reply


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


SHORT = rc.Limits(timeout=1.0)
LOST = "The server rogue was lost before it answered. It may have done its work."

FAULTS = {
    "dies": ("failed", LOST),
    "closes_stdout": ("failed", LOST),
    "floods": ("failed", LOST),
    "floods_lines": ("failed", LOST),
    "answers_twice": ("returned", "once"),
    "answers_another": ("timed_out", "did not finish within 1 s"),
    "silent": ("timed_out", "did not finish within 1 s"),
    "garbage": ("returned", "after garbage"),
    "only_garbage": ("timed_out", "did not finish within 1 s"),
    "floods_notes": ("returned", "done"),
    "renames": ("failed", "Unknown tool: act"),
}


@pytest.mark.parametrize("mode", FAULTS)
async def test_a_run_goes_on_after_a_fault_and_nothing_is_left(mode, rogue, nothing_left):
    kind, words = FAULTS[mode]
    limits = SHORT if kind == "timed_out" else rc.Limits()
    script = [reply(call("act")), reply(call("ping")), reply("done")]
    async with rogue(mode, limits=limits, max_message_bytes=1024 * 1024) as server:
        result = await rc.Agent(ScriptedModel(script), [server]).run("go")
    first, second = result.calls
    assert (first.outcome, second.outcome) == (kind, "returned")
    assert words in first.result.text
    assert "pong" in second.result.text
    assert result.text == "done"
    nothing_left()


async def test_a_flood_of_a_hundred_megabytes_takes_no_such_memory(rogue, nothing_left):
    async with rogue("floods", max_message_bytes=1024 * 1024) as server:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(ToolFailure, match="lost before it answered"):
            await server.call("act")
        await server.call("ping")
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 20 * 1024
    assert any(note.kind == "lost" and "too long" in note.text for note in server.notes)
    nothing_left()


async def test_a_call_that_is_given_up_is_cancelled_at_the_server(rogue):
    async with rogue("silent", limits=SHORT) as server:
        await rc.Agent(ScriptedModel([reply(call("act")), reply("done")]), [server]).run("go")
        # Asked after it in the same pipe, so answered after it, too.
        await server.call("ping")
        assert len(rogue.cancelled()) == 1


async def test_a_renamed_tool_is_offered_under_its_new_name_on_the_next_turn(rogue):
    model = ScriptedModel([reply(call("act")), reply("done")])
    async with rogue("renames") as server:
        await rc.Agent(model, [server]).run("go")
    names = [[spec.name for spec in request.specs] for request in model.requests]
    assert names == [["act", "ping"], ["act_now", "ping"]]


async def test_a_server_that_dies_each_time_is_given_up_after_so_many_starts(rogue, nothing_left):
    async with rogue("dies", reconnects=1) as server:
        for _ in range(2):
            with pytest.raises(ToolFailure, match="lost before it answered"):
                await server.call("act")
        with pytest.raises(
            ToolFailure, match="cannot be used now: the server rogue ended with exit code 3"
        ):
            await server.call("ping")
    started = rogue.started()
    assert len(started) == 3  # one by the fixture
    nothing_left()


async def test_a_server_that_was_given_up_is_tried_again_after_a_while(rogue):
    async with rogue("dies", reconnects=0, cool_down=0.2) as server:
        with pytest.raises(ToolFailure, match="lost before it answered"):
            await server.call("act")
        await asyncio.sleep(0.3)
        assert await server.call("ping") == "pong"
        assert [note.kind for note in server.notes] == ["lost", "reopened"]


async def test_a_server_that_works_between_its_deaths_is_started_as_often_as_it_takes(rogue):
    async with rogue("dies", reconnects=1) as server:
        for _ in range(3):
            with pytest.raises(ToolFailure, match="lost before it answered"):
                await server.call("act")
            assert await server.call("ping") == "pong"


async def test_a_server_that_does_not_start_in_time_is_an_error_with_its_name(rogue, nothing_left):
    started = time.monotonic()
    with pytest.raises(TransportTimeout, match=r"the server rogue was not ready within 0\.5 s"):
        await rogue("never_starts", connect_timeout=0.5).open()
    assert time.monotonic() - started < 10
    nothing_left()


async def test_what_a_server_says_before_it_dies_is_in_the_error(rogue, nothing_left):
    with pytest.raises(TransportError, match="ended with exit code 1; it said: there is no database"):
        await rogue("says_why").open()
    nothing_left()


async def test_a_server_that_will_not_leave_is_ended_with_what_it_started(rogue, nothing_left):
    server = await rogue("stubborn").open()
    started = time.monotonic()
    await server.close()
    assert time.monotonic() - started < 10
    await server.close()
    nothing_left()


async def test_closing_under_a_call_fails_the_call_and_does_not_wait_for_it(rogue, nothing_left):
    server = await rogue("silent").open()
    waiting = asyncio.create_task(server.call("act"))
    await server.call("ping")
    await server.close()
    with pytest.raises((ToolFailure, asyncio.CancelledError)):
        await waiting
    with pytest.raises(ToolFailure, match="is closed"):
        await server.call("ping")
    nothing_left()


async def test_a_result_that_breaks_its_own_schema_is_a_failure(rogue):
    async with rogue("lies") as server:
        with pytest.raises(ToolFailure, match="does not fit the form that it promises"):
            await server.call("act")


async def test_a_hostile_definition_costs_its_tool_and_not_the_server(rogue):
    async with rogue("hostile") as server:
        assert server.names() == ("act", "ping")
        assert server.refused == {
            "deep": "its inputSchema is nested more than 40 levels deep",
            "nameless": "its inputSchema is no schema of an object",
            "ping": "the name is listed twice, and only the first is taken",
            "outside": 'its inputSchema refers to "https://evil.example/schema.json", outside of itself',
        }


def test_a_server_ends_with_the_process_that_opened_it_however_that_ends(rogue):
    code = (
        "import asyncio, os, signal, sys\n"
        "from rightcall.mcp import connect\n"
        "async def main():\n"
        "    await connect(sys.argv[1:], protocol='legacy').open()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    program = [sys.executable, str(Path(__file__).parent / "rogue.py"), "stubborn", str(rogue.pids)]
    done = subprocess.run([*warm.python(*warm.MCP), "-c", code, *program], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert len(rogue.started()) == 2
    give_up = time.monotonic() + 20
    while any(map(alive, rogue.started())) and time.monotonic() < give_up:
        time.sleep(0.05)
    # The fixture looks whether any is left.


async def test_a_cancelled_opening_leaves_nothing(rogue, nothing_left):
    opening = asyncio.create_task(rogue("never_starts").open())
    while len(rogue.started()) < 2:
        await asyncio.sleep(0.01)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    nothing_left()
