"""Several servers at once: opened together, told apart by name, and closed together."""

import sys
from pathlib import Path

import rightcall as rc
from rightcall.mcp import connect_all
from rightcall.testing import ScriptedModel, call, reply

MANY = [sys.executable, str(Path(__file__).parent / "many.py")]


async def test_ten_servers_with_fifty_tools_each_are_opened_together(nothing_left):
    servers = {f"s{number}": [*MANY, "50"] for number in range(10)}
    async with connect_all(servers) as group:
        names = [tool.name for tool in group]
        model = ScriptedModel([reply(call("s3_tool_49", number=7)), reply("done")])
        result = await rc.Agent(model, [group]).run("go")
    assert names == [f"s{server}_tool_{tool}" for server in range(10) for tool in range(50)]
    assert "tool_49 7" in result.calls[0].result.text
    nothing_left()


async def test_one_that_fails_takes_nobody_with_it(rogue, nothing_left):
    servers = {
        "good": [*MANY, "2"],
        "gone": ["/no/such/program"],
        "bad": [sys.executable, str(Path(__file__).parent / "rogue.py"), "says_why", str(rogue.pids)],
    }
    async with connect_all(servers) as group:
        assert group.names() == ("good_tool_0", "good_tool_1")
        assert set(group.servers) == {"good"}
        assert {name: type(error).__name__ for name, error in group.failed.items()} == {
            "gone": "UsageError",
            "bad": "TransportError",
        }
    nothing_left()


async def test_no_servers_are_no_tools():
    async with connect_all({}) as group:
        assert (list(group), group.version) == ([], 0)
