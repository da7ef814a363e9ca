"""A wall clock that jumps: nothing that is measured, waited for or put in order goes by it."""

import asyncio
import json
import random
import time

import pytest

import rightcall as rc
from rightcall.core.entry import CallFinished, ReplyReceived
from rightcall.errors import RunHeld
from rightcall.testing import ScriptedModel, Turn, call, reply

YEAR = 365 * 86400.0


@pytest.fixture
def jumping(monkeypatch):
    """Every look at the clock shows another day of another year."""
    chance = random.Random(7)
    looks = []

    def now() -> float:
        looks.append(1_000_000_000.0 + chance.uniform(-30, 60) * YEAR)
        return looks[-1]

    monkeypatch.setattr(time, "time", now)
    return looks


@rc.tool(effect="read", limits=rc.Limits(timeout=0.05))
async def hang() -> str:
    """Never answers."""
    await asyncio.sleep(3600)
    return ""


@rc.tool(effect="read", limits=rc.Limits(timeout=5.0, rate=(2, 0.05)))
async def ping() -> str:
    """Answers."""
    return "pong"


SCRIPT = [reply(call("hang"), call("ping")), reply(call("ping"), call("ping")), "Done."]


@pytest.mark.parametrize("kind", ["jsonl", "db"])
async def test_entries_stay_in_order_and_a_run_recovers(kind, jumping, tmp_path):
    made = rc.record.SqliteJournal if kind == "db" else rc.record.JsonLinesJournal
    with made(tmp_path / f"runs.{kind}") as journal:
        begun = time.monotonic()
        result = await rc.Agent(ScriptedModel(SCRIPT), [hang, ping], journal=journal).run("Go.", run="r")
        assert time.monotonic() - begun < 4
        assert [each.outcome for each in result.calls] == ["timed_out", *["returned"] * 3]
        assert (await rc.replay(journal, "r")).transcript == result.transcript
        entries = list(journal.entries("r"))
        took = [entry.seconds for entry in entries if isinstance(entry, CallFinished | ReplyReceived)]
        assert all(0 <= seconds < 4 for seconds in took), "durations are not differences of dates"
        for at in range(1, len(entries)):
            rc.record.fork(journal, "r", f"cut {at}", at=at)
            agent = rc.Agent(ScriptedModel(_from_messages), [hang, ping], journal=journal)
            assert (await agent.recover(f"cut {at}")).text == "Done."
    assert len(jumping) > len(entries), "the clock was looked at"


def _from_messages(request: rc.models.Request) -> rc.Reply | str:
    return SCRIPT[sum(isinstance(message, rc.Reply) for message in request.messages)]


def test_the_time_of_an_entry_is_only_written(jumping, tmp_path):
    path = tmp_path / "runs.jsonl"
    with rc.record.JsonLinesJournal(path) as journal:
        agent = rc.Agent(ScriptedModel(SCRIPT), [hang, ping], journal=journal)
        agent.run_sync("Go.", run="r")
        before = journal.entries("r")
    stamps = [json.loads(line)["at"] for line in path.read_text().splitlines()]
    assert stamps != sorted(stamps)
    with rc.record.JsonLinesJournal(path) as journal:
        assert journal.entries("r") == before


async def test_a_budget_in_seconds_is_kept(jumping):
    slow = ScriptedModel([Turn(reply=reply("x" * 4000), pause=0.005)])
    begun = time.monotonic()
    result = await rc.Agent(slow, budget=rc.Budget(seconds=0.2)).run("Go.")
    assert str(result.stop) == "limit seconds"
    assert 0.1 < time.monotonic() - begun < 3


async def test_who_waits_for_a_run_waits_so_long(jumping, tmp_path):
    with rc.record.JsonLinesJournal(tmp_path / "runs.jsonl") as journal:
        hold = journal.hold("r")
        begun = time.monotonic()
        with pytest.raises(RunHeld):
            await rc.Agent(ScriptedModel(["x"]), journal=journal).recover("r", wait=0.2)
        assert 0.15 < time.monotonic() - begun < 3
        hold.release()
