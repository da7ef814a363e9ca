"""Programs that wait for a person, die and are replayed: nothing that was called is called twice."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agent.kit import Desk, outcomes
from agent.test_steps import Engine
from loop.sound import assert_sound
from programs.kit import NAME, PENDING, agent_of, office, read, recorded
from rightcall import Agent, Allow, Answer, Deny, RunResult, replay
from rightcall.core.entry import CallStarted, Entry, Nested
from rightcall.programs import code
from rightcall.programs.code_tool import ANOTHER_WAY
from rightcall.record.memory import MemoryJournal


def stored(result: RunResult) -> RunResult:
    return RunResult.from_json(result.to_json())


@pytest.mark.parametrize("recorded", [False, True])
async def test_an_approval_inside_pauses_the_program_and_it_goes_on_from_what_is_stored(recorded):
    desk, journal = Desk(), MemoryJournal()
    own = {"journal": journal} if recorded else {}
    paused = await office(desk, **own).run("Go.", run="r")
    (proposal,) = paused.pending
    assert (proposal.call_id, proposal.agent, proposal.name) == (PENDING, NAME, "send")
    assert desk.done == ["find a", "find b"]
    agent = office(desk, **own)
    result = await agent.resume(stored(paused), {PENDING: True})
    sent = f"send {proposal.arguments['what']}"
    assert desk.done == ["find a", "find b", sent]
    assert read(result) == f'returned: ["find a: done","find b: done","{sent}: done",true]'
    assert result.state.progress.calls == 4
    assert_sound(result.transcript)
    if recorded:
        assert (await agent.recover("r")).transcript == result.transcript
        assert (await replay(journal, "r")).transcript == result.transcript
        assert len(desk.done) == 3


@pytest.mark.parametrize(
    ("decision", "came"),
    [
        (
            Deny("no."),
            "failed: The program failed at line 5: RuntimeError: send was not run; permission",
        ),
        (Answer("by hand"), 'returned: ["find a: done","find b: done","by hand",true]'),
    ],
)
async def test_a_no_is_raised_in_the_program_and_an_answer_is_returned_to_it(decision, came):
    desk = Desk()
    paused = await office(desk).run("Go.")
    result = await office(desk).resume(stored(paused), {PENDING: decision})
    assert (read(result).startswith(came), len(desk.done)) == (True, 2)


async def test_a_yes_for_the_run_holds_for_its_later_calls_inside_and_outside():
    desk, asked = Desk(), []

    async def approve(proposal):
        asked.append(proposal.call_id)
        return Allow("run")

    program = "await send(what='x')\nawait send(what='y')"
    tools = [desk.tool("send", approval=True)]
    await agent_of(tools, program, program, approve=approve).run("Go.")
    assert (asked, len(desk.done)) == ([f"t1.0.{NAME}/c1"], 4)


async def test_a_replay_of_a_run_that_waits_inside_waits_there_too():
    desk, journal = Desk(), MemoryJournal()
    paused = await office(desk, journal=journal).run("Go.", run="r")
    again = await replay(journal, "r")
    assert (again.stop, again.pending) == (paused.stop, paused.pending)
    result = await office(desk, journal=journal).resume(again, {PENDING: True})
    assert (result.text, len(desk.done)) == ("Done.", 3)


def _inside(entry: Entry) -> Entry:
    return _inside(entry.entry) if isinstance(entry, Nested) else entry


async def test_a_process_that_dies_anywhere_calls_nothing_twice():
    def agent(desk: Desk, journal) -> Agent:
        program = (
            "said = []\nfor what in 'ab':\n    try:\n        said.append(await do(what))\n"
            "    except RuntimeError as error:\n        said.append(str(error))\nlen(said)"
        )
        return agent_of([desk.tool("do")], program, journal=journal)

    journal = MemoryJournal()
    await agent(Desk(), journal).run("Go.", run="r")
    entries = list(journal.entries("r"))
    first = next(at for at, entry in enumerate(entries) if isinstance(entry, Nested))
    for count in range(first, len(entries) - 1):
        desk, found = Desk(), MemoryJournal()
        for entry in entries[:count]:
            found.append("r", entry)
        result = await agent(desk, found).recover("r")
        before = [entry for entry in map(_inside, entries[:count]) if isinstance(entry, CallStarted)]
        started = sum(entry.key.endswith(".do") for entry in before)
        assert (len(desk.done) + started, read(result)) == (2, "returned: 2"), count
        assert outcomes(result) == [(NAME, "returned")]


KILLED = """
import asyncio, os, signal, sys
from programs.kit import recorded

async def die():
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(recorded(sys.argv[1], die).run("Go.", run="r"))
"""


async def _nothing() -> None: ...


async def test_a_program_whose_process_was_killed_goes_on_and_repeats_nothing(tmp_path):
    killed = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", KILLED, str(tmp_path)], cwd=Path(__file__).parents[1]
    )
    assert killed.returncode == -signal.SIGKILL
    marks = tmp_path / "marks"
    assert sorted(marks.read_text().split()) == ["0", "1", "2"]
    agent = recorded(str(tmp_path), _nothing)
    result = await agent.recover("r")
    agent._journal.close()
    assert (read(result), result.text) == ("returned: 3", "Done.")
    assert sorted(marks.read_text().split()) == ["0", "1", "2"]


ELSEWHERE = """
import asyncio, sys
from agent.kit import Desk
from programs.kit import PENDING, office
from rightcall import RunResult

desk = Desk()
paused = RunResult.from_json(sys.stdin.buffer.read())
result = asyncio.run(office(desk).resume(paused, {PENDING: True}))
print(len(desk.done), desk.done[0].split()[0], result.text)
"""


async def test_a_program_goes_on_in_another_process():
    desk = Desk()
    paused = await office(desk).run("Go.")
    answer = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", ELSEWHERE],
        input=paused.to_json(),
        capture_output=True,
        cwd=Path(__file__).parents[1],
        check=True,
    )
    assert answer.stdout.decode().strip() == "1 send Done."
    assert len(desk.done) == 2


async def test_a_durable_engine_keeps_what_was_called_inside():
    desk, engine = Desk(), Engine()
    agent = agent_of([desk.tool("do")], "await do(what='x')")
    first = await agent.run("Go.", run="r", steps=engine)
    assert f"t1.0.{NAME}/t1.0.do" in engine.done
    del engine.done[f"t1.0.{NAME}"]
    again = await agent.run("Go.", run="r", steps=engine)
    assert (desk.done, again.transcript) == (["do x"], first.transcript)


async def test_a_replay_with_live_tools_runs_the_program_anew():
    desk, journal = Desk(), MemoryJournal()
    tools = [desk.tool("do")]
    await agent_of(tools, "await do(what='x')", journal=journal).run("Go.", run="r")
    result = await replay(journal, "r", tools=[code(tools)])
    assert (read(result), desk.done) == ("returned: do x: done", ["do x", "do x"])


async def test_a_program_that_takes_another_way_is_ended_and_not_believed():
    desk = Desk()
    paused = await office(desk).run("Go.")
    changed = paused.to_json().replace(b'{\\"what\\":\\"a\\"}', b'{\\"what\\":\\"z\\"}')
    assert changed != paused.to_json()
    result = await office(desk).resume(RunResult.from_json(changed), {PENDING: True})
    assert read(result) == f"failed: {ANOTHER_WAY}"
