"""Every hostile tool, three ways: the run ends, each call has its one result, and nothing is left."""

import asyncio
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest

import rightcall as rc
from chaos import hostile_tools
from chaos.leftovers import assert_nothing_left, holding
from loop.sound import assert_sound
from rightcall.core.entry import CallFinished, CallStarted
from rightcall.testing import ScriptedModel, call, reply

SECONDS = 5.0
"""How long a run with a hostile tool may take; its timeout and its grace are a fraction of that."""


@pytest.fixture(autouse=True)
def armed():
    hostile_tools.arm()
    yield
    hostile_tools.release()


@rc.tool(effect="read")
async def ping() -> str:
    """Answers."""
    return "pong"


def agent_with(name: str, **options) -> rc.Agent:
    script = [reply(call("hostile"), call("ping")), reply(call("ping")), "Done."]
    return rc.Agent(ScriptedModel(script), [hostile_tools.tool_named(name), ping], **options)


def assert_contained(name: str, result: rc.RunResult) -> None:
    assert_sound(result.transcript)
    hostile, *pings = [each.outcome for each in result.calls]
    assert hostile in hostile_tools.TOOLS[name][1], hostile
    assert pings == ["returned", "returned"]
    assert (result.stop.reason, result.text) == ("end", "Done.")
    texts = [each.result.text for each in result.calls]
    assert max(map(len, texts)) <= hostile_tools.MOST_TEXT
    assert "sk-1234567890abcdef" not in "".join(texts)


async def recorded(name: str) -> rc.RunResult:
    with (
        tempfile.TemporaryDirectory() as place,
        rc.record.JsonLinesJournal(Path(place) / "runs.jsonl") as journal,
    ):
        result = await agent_with(name, journal=journal).run("Go.", run="r")
        entries = journal.entries("r")
        finished = Counter(entry.key for entry in entries if isinstance(entry, CallFinished))
        started = Counter(entry.key for entry in entries if isinstance(entry, CallStarted))
        assert set(finished.values()) == set(started.values()) == {1}
        assert len(finished) == 3
        assert (await rc.replay(journal, "r")).transcript == result.transcript
    return result


async def streamed(name: str) -> rc.RunResult:
    events = [event async for event in agent_with(name).stream("Go.")]
    assert sum(isinstance(event, rc.events.ResultEnd) for event in events) == 3
    assert isinstance(events[-1], rc.events.RunEnd)
    return events[-1].result


async def waited_for(name: str) -> rc.RunResult:
    return agent_with(name).run_sync("Go.")


WAYS = {"run": recorded, "stream": streamed, "run_sync": waited_for}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", hostile_tools.TOOLS)
async def test_a_hostile_tool_is_contained(name, way, capsys):
    rc.Agent(ScriptedModel(["Warm."])).run_sync("Go.")  # its event loop stays
    before = holding()
    begun = time.monotonic()
    result = await WAYS[way](name)
    assert time.monotonic() - begun < SECONDS
    assert_contained(name, result)
    hostile_tools.release()
    await assert_nothing_left(before)
    assert asyncio.current_task().cancelling() == 0
