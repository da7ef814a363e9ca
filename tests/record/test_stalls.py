"""Whatever a journal waits for, the event loop turns; and what was cancelled meanwhile is sound."""

import asyncio
import fcntl
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

import rightcall as rc
from rightcall.core.budget import Budget
from rightcall.core.entry import CallFinished, CallStarted, Entry, ReplyReceived, RequestSent, RunStarted
from rightcall.core.message import Reply, user_text
from rightcall.core.parts import Result, Text
from rightcall.errors import JournalError
from rightcall.record.jsonl import JsonLinesJournal
from rightcall.record.sqlite import SqliteJournal
from rightcall.record.steps import JournalSteps
from rightcall.testing import ScriptedModel, call, reply
from watchdog import LONGEST, stall_of

CHILD = Path(__file__).with_name("lock_child.py")
LOCKED = 0.4
"""Seconds for which somebody else has the file."""
KINDS = {".jsonl": JsonLinesJournal, ".db": SqliteJournal}


@pytest.fixture(params=KINDS)
def path(request, tmp_path) -> Path:
    return tmp_path / f"journal{request.param}"


@contextmanager
def locked(path: Path, seconds: float = LOCKED) -> Iterator[None]:
    """Somebody else writes to the file, for so many seconds or until this is left."""
    leave = threading.Event()
    taken = threading.Event()

    def take() -> None:
        if path.suffix == ".jsonl":
            descriptor = os.open(path, os.O_RDWR)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            taken.set()
            leave.wait(seconds)
            os.close(descriptor)
            return
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            taken.set()
            leave.wait(seconds)
            connection.execute("ROLLBACK")

    thread = threading.Thread(target=take)
    thread.start()
    assert taken.wait(5)
    try:
        yield
    finally:
        leave.set()
        thread.join()


class Desk:
    def __init__(self) -> None:
        self.paid = 0

    def agent(self, journal: rc.record.Journal, *script: object) -> rc.Agent[None]:
        @rc.tool
        async def pay() -> str:
            self.paid += 1
            return "paid"

        return rc.Agent(ScriptedModel(script or [reply(call("pay")), "Done."]), [pay], journal=journal)


async def test_a_run_whose_database_another_process_has_locked_waits_and_the_loop_turns(tmp_path):
    path, desk = tmp_path / "runs.db", Desk()
    with SqliteJournal(path) as journal:

        async def scenario() -> None:
            command = [sys.executable, str(CHILD), str(path), str(LOCKED)]
            with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
                assert child.stdout is not None
                assert await asyncio.to_thread(child.stdout.readline) == b"locked\n"
                assert (await desk.agent(journal).run("Go.")).text == "Done."
                await asyncio.to_thread(child.wait)

        assert await stall_of(scenario) < LONGEST
        assert desk.paid == len(journal.runs())


async def test_a_run_whose_file_is_locked_at_any_entry_waits_and_the_loop_turns(path):
    with KINDS[path.suffix](path) as journal:

        async def scenario() -> None:
            run = os.urandom(4).hex()

            @rc.tool
            async def slow() -> str:
                await asyncio.sleep(0.05)
                return "done"

            agent = rc.Agent(ScriptedModel([reply(call("slow")), "Done."]), [slow], journal=journal)
            going = asyncio.create_task(agent.run("Go.", run=run))
            await asyncio.sleep(0.03)
            begun = time.monotonic()
            with locked(path):
                await going
            assert time.monotonic() - begun > LOCKED * 0.8
            kinds = [type(entry).__name__ for entry in journal.entries(run)]
            assert kinds == [
                "RunStarted",
                "RequestSent",
                "ReplyReceived",
                "CallChecked",
                "CallStarted",
                "CallFinished",
                "RequestSent",
                "ReplyReceived",
                "RunEnded",
            ]

        assert await stall_of(scenario) < LONGEST


async def test_a_run_is_recovered_while_its_file_is_locked_and_the_loop_turns(path):
    with KINDS[path.suffix](path) as journal:
        await Desk().agent(journal).run("Go.", run="r")

        async def scenario() -> None:
            with locked(path):
                assert (await Desk().agent(journal).recover("r")).text == "Done."

        assert await stall_of(scenario) < LONGEST


async def test_a_disk_that_is_slow_to_sync_holds_up_its_run_and_nobody_else(tmp_path, monkeypatch):
    def slow(_: int) -> None:
        time.sleep(0.15)

    with JsonLinesJournal(tmp_path / "journal.jsonl", sync=True) as journal:
        monkeypatch.setattr(os, "fsync", slow)
        steps = JournalSteps(journal, "r")
        entry = RequestSent(key="t1.model", messages=1)

        async def scenario() -> None:
            begun = time.monotonic()
            await steps.note(str(begun), entry)
            assert time.monotonic() - begun > 0.14

        assert await stall_of(scenario) < LONGEST
        assert set(journal.entries("r")) == {entry}


async def test_after_the_patience_the_error_names_the_file_and_how_long_was_waited(path, monkeypatch):
    monkeypatch.setattr("rightcall.record.waits.PATIENCE", 0.1)
    desk = Desk()
    with KINDS[path.suffix](path) as journal:
        with locked(path, 20), pytest.raises(rc.errors.JournalLocked) as caught:
            await desk.agent(journal).run("Go.", run="r")
        error = caught.value
        assert isinstance(error, JournalError)
        assert (error.where, desk.paid, journal.entries("r")) == (str(path), 0, ())
        assert 0.1 <= error.seconds < 5
        assert "locked by somebody else after 0 s" in error.reason
        assert (await desk.agent(journal).run("Go.", run="r")).text == "Done."


def test_code_that_blocks_waits_for_the_lock_as_well(path):
    entry = RequestSent(key="t1.model", messages=1)
    with KINDS[path.suffix](path) as journal, locked(path, 0.1):
        held = journal.hold("r")
        held.append(entry)
        held.release()
        journal.append("r", entry)
        assert journal.entries("r") == (entry, entry)


async def test_a_run_that_is_cancelled_while_it_waits_to_record_a_start_has_started_nothing(path):
    desk = Desk()
    with KINDS[path.suffix](path) as journal:
        for kind in (RunStarted, ReplyReceived, CallStarted):
            await _cancel_before(kind, desk, journal, path)
        assert desk.paid == 0
        result = await desk.agent(journal, "Done.").recover("CallStarted")
        assert (result.text, desk.paid) == ("Done.", 1)


async def _cancel_before(kind: type, desk: Desk, journal: rc.record.Journal, path: Path) -> None:
    run = kind.__name__
    waiting = asyncio.Event()
    agent = desk.agent(journal)
    inner = JournalSteps._append

    async def append(self: JournalSteps, entry: Entry) -> None:
        if isinstance(entry, kind):
            waiting.set()
            with locked(path, 20):
                await inner(self, entry)
        else:
            await inner(self, entry)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(JournalSteps, "_append", append)
        going = asyncio.create_task(agent.run("Go.", run=run))
        await waiting.wait()
        await asyncio.sleep(0.03)
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going
    assert not any(isinstance(entry, kind) for entry in journal.entries(run))
    folder = path.with_name(f"{path.name}.holds")
    assert not folder.exists() or not any(folder.iterdir())


async def test_a_write_that_has_begun_is_brought_to_its_end_before_the_cancellation_is(path):
    begun, go_on = threading.Event(), threading.Event()

    def redact(value: object) -> object:
        begun.set()
        assert go_on.wait(5)
        return value

    with KINDS[path.suffix](path, redact=redact) as journal:
        steps = JournalSteps(journal, "r")
        content = (Text("word " * 10_000),)
        result = Result(call_id="1", name="read", outcome="returned", content=content)
        entry = CallFinished(key="t1.0.read", result=result, seconds=0.1, attempts=1)
        going = asyncio.create_task(steps.note("k", entry))
        assert await asyncio.to_thread(begun.wait, 5)
        going.cancel()
        await asyncio.sleep(0.02)
        assert not going.done()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await going
        # It was cancelled before it was written, or after; and can be noted again.
        assert journal.entries("r") == ()
        assert await steps.note("k", entry)
        assert journal.entries("r") == (entry,)


def long_run(turns: int) -> list[Entry]:
    entries: list[Entry] = [
        RunStarted(messages=(user_text("Go."),), budget=Budget(turns=None, calls=None))
    ]
    for turn in range(1, turns + 1):
        asked = rc.Call(id=f"c{turn}", name="look", arguments=f'{{"place":{turn}}}')
        answer = Reply((asked,), "calls")
        shown = Result(call_id=asked.id, name="look", outcome="returned", content=(Text("x" * 2000),))
        key = f"t{turn}.0.look"
        entries += [
            RequestSent(key=f"t{turn}.model", messages=2 * turn),
            ReplyReceived(key=f"t{turn}.model", reply=answer, seconds=0.01),
            CallStarted(key=key, call_id=asked.id),
            CallFinished(key=key, result=shown, seconds=0.01, attempts=1),
        ]
    return entries


async def test_a_long_run_is_read_and_gone_through_again_and_the_loop_turns(path):
    with KINDS[path.suffix](path, redact=None) as journal:
        if isinstance(journal, SqliteJournal):
            journal._execute("BEGIN")
        for entry in long_run(2500):
            journal.append("r", entry)
        if isinstance(journal, SqliteJournal):
            journal._execute("COMMIT")

    @rc.tool(effect="read")
    async def look(place: int) -> str:
        raise AssertionError(place)

    async def scenario() -> None:
        with KINDS[path.suffix](path) as journal:
            agent = rc.Agent(ScriptedModel(["Done."] * 9), [look], journal=journal)
            result = await agent.recover("r")
            assert len(result.calls) == 2500

    assert await stall_of(scenario) < LONGEST


async def test_a_large_file_of_other_runs_is_looked_through_and_the_loop_turns(tmp_path):
    path = tmp_path / "journal.jsonl"
    with JsonLinesJournal(path, redact=None) as journal:
        for entry in long_run(1):
            journal.append("other", entry)
        path.write_bytes(path.read_bytes() * 6000)

    async def scenario() -> None:
        with JsonLinesJournal(path) as journal:
            assert (await Desk().agent(journal).run("Go.")).text == "Done."

    assert await stall_of(scenario) < LONGEST
