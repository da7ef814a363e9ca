"""Runs by the thousand must not wait for the garbage collector to give their memory back."""

import gc

import pytest

import rightcall as rc
from rightcall.testing import ScriptedModel, call, reply


@rc.tool(effect="read")
async def look(place: str) -> str:
    """What is there."""
    return f"nothing in {place}"


@pytest.fixture
def garbage():
    """What only the collector could free: of rightcall's kinds, after the test has made it."""
    gc.collect()
    gc.disable()
    # What earlier tests left in cycles may fall due any time; it is none of this test's.
    gc.freeze()
    gc.set_debug(gc.DEBUG_SAVEALL)

    def found():
        gc.collect()
        return [each for each in gc.garbage if type(each).__module__.startswith("rightcall.")]

    yield found
    gc.set_debug(0)
    gc.garbage.clear()
    gc.enable()


REPLIES = [reply(call("look", place="here"), call("look", place="there")), reply("Nothing.")]


async def test_a_run_leaves_none(garbage):
    await rc.Agent(ScriptedModel(REPLIES), [look]).run("Look.")
    assert garbage() == []


async def test_a_streamed_run_leaves_none(garbage):
    async for _ in rc.Agent(ScriptedModel(REPLIES), [look]).stream("Look."):
        pass
    assert garbage() == []
