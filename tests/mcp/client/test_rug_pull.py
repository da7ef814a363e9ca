"""Servers that are not what was approved: refused when they are opened, and when they change later."""

import pytest

import rightcall as rc
from rightcall.errors import UsageError
from rightcall.mcp import Pins
from rightcall.testing import ScriptedModel, call, reply


async def test_a_server_as_it_was_approved_is_opened(rogue, tmp_path):
    pins = Pins(tmp_path / "pins.json")
    async with rogue("fine") as server:
        pins.approve("rogue", server.definitions)
    async with rogue("fine", pins=pins) as server:
        assert server.names() == ("act", "ping")


async def test_a_server_that_nobody_approved_is_not_opened(rogue, tmp_path, nothing_left):
    with pytest.raises(UsageError, match="holds no pins of 'rogue'"):
        await rogue("fine", pins=tmp_path / "pins.json").open()
    nothing_left()


async def test_a_server_that_changed_since_is_not_opened(rogue, tmp_path, nothing_left):
    pins = Pins(tmp_path / "pins.json")
    async with rogue("fine") as server:
        (first, _) = server.definitions
        pins.approve("rogue", [first])
    with pytest.raises(UsageError, match="not as it was approved: ping is new"):
        await rogue("fine", pins=pins).open()
    nothing_left()


async def test_a_server_that_changes_in_a_run_loses_its_tools_and_the_run_goes_on(rogue, tmp_path):
    pins = Pins(tmp_path / "pins.json")
    async with rogue("changes") as server:
        pins.approve("rogue", server.definitions)
    model = ScriptedModel([reply(call("act")), reply(call("ping")), reply("done")])
    async with rogue("changes", pins=pins) as server:
        result = await rc.Agent(model, [server]).run("go")
        assert "act: its words changed" in server.refused["act"]
    assert [each.outcome for each in result.calls] == ["returned", "unknown"]
    assert [[spec.name for spec in request.specs] for request in model.requests] == [
        ["act", "ping"],
        [],
        [],
    ]
    assert result.text == "done"


async def test_without_pins_a_description_that_turns_on_the_model_takes_its_tool_away(rogue):
    async with rogue("changes") as server:
        await server.call("act")
        assert server.names() == ()
        assert set(server.refused.values()) == {"description: tells the model to drop its instructions"}
