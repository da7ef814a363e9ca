"""Every hostile model: a result or an error that says what was wrong, in time, and nothing left."""

import asyncio
import time

import pytest

import rightcall as rc
from chaos.hostile_models import MODELS, HostileModel
from chaos.leftovers import assert_nothing_left, holding
from loop.sound import assert_sound
from rightcall.errors import RightcallError

SECONDS = 5.0
OWN_MISTAKES = (TypeError, AttributeError, ZeroDivisionError, KeyError)
"""What comes out of an object that is no model: the mistake of whoever wrote it."""


@rc.tool(effect="read")
async def ping() -> str:
    """Answers."""
    return "pong"


async def outcome_of(model, journal) -> rc.RunResult | None:
    """What the run came to, streamed; None where it came to an error with nothing in it."""
    agent = rc.Agent(model, [ping], journal=journal, budget=rc.Budget(seconds=0.4))
    try:
        events = [event async for event in agent.stream("Go.", run="r")]
    except RightcallError as error:
        return error.result
    except OWN_MISTAKES:
        return None
    assert isinstance(events[-1], rc.events.RunEnd)
    return events[-1].result


@pytest.mark.parametrize("name", MODELS)
async def test_a_hostile_model_is_contained(name, tmp_path):
    before = holding()
    begun = time.monotonic()
    with rc.record.JsonLinesJournal(tmp_path / "runs.jsonl") as journal:
        result = await outcome_of(HostileModel(name), journal)
        assert time.monotonic() - begun < SECONDS
        recorded = journal.entries("r")
    assert recorded, "the run is on record"
    if result is not None:
        assert_sound(result.transcript, waits=bool(result.pending))
    await assert_nothing_left(before)
    assert asyncio.current_task().cancelling() == 0
    assert (await rc.Agent(HostileModel("an empty reply"), [ping]).run("Go.")).stop
