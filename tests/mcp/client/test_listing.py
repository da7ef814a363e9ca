"""A server's list of tools, judged entry by entry, and their schemas."""

import asyncio
import sys
from pathlib import Path

import pytest
from mcp.shared.message import SessionMessage
from mcp_types import (
    JSONRPCResponse,
)

import rightcall as rc
from rightcall.mcp import connect
from rightcall.mcp.client.sdk_client import FilteredStream
from rightcall.mcp.client.tool_list import MOST_TOOLS, refuse
from rightcall.testing import ScriptedModel, call, reply


def nested(levels: int) -> dict[str, object]:
    schema: dict[str, object] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


TREE = {
    "type": "object",
    "properties": {"child": {"$ref": "#/$defs/node"}},
    "$defs": {"node": {"type": "object", "properties": {"child": {"$ref": "#/$defs/node"}}}},
}
LEVELS = {f"n{level}": {"anyOf": [{"$ref": f"#/$defs/n{level + 1}"}] * 2} for level in range(24)}
DOUBLING = {
    "type": "object",
    "properties": {"a": {"$ref": "#/$defs/n0"}},
    "$defs": {**LEVELS, "n24": {}},
}
REFUSED = {
    "deep": (nested(30), "nested more than 40 levels deep"),
    "bottomless": (nested(5000), "nested more than 40 levels deep"),
    "large": ({"type": "object", "description": "x" * 70_000}, "has more than 65,536 bytes"),
    "outside": (
        {"type": "object", "properties": {"a": {"$ref": "http://x.example/a"}}},
        "outside of itself",
    ),
    "a file": ({"type": "object", "allOf": [{"$ref": "file:///etc/passwd"}]}, "outside of itself"),
    "a circle": (
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/a"}},
            "$defs": {"a": {"$ref": "#/$defs/a"}},
        },
        "refers in a circle",
    ),
    "a long circle": (
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/a"}},
            "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}},
        },
        "refers in a circle",
    ),
    "no schema": ({"type": "object", "properties": {"a": 3}}, "is not a JSON Schema"),
    "nowhere": (
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}},
        "is not a JSON Schema",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_hostile_schema_is_refused_with_the_reason(case):
    schema, words = REFUSED[case]
    assert words in (refuse(schema) or "")


@pytest.mark.parametrize(
    "schema",
    [TREE, {"type": "object"}, nested(10), DOUBLING],
    ids=["tree", "empty", "nested", "for a process that a deadline ends"],
)
def test_a_proper_schema_is_not_refused(schema):
    assert refuse(schema) is None


class Stream:
    def __init__(self, result: dict[str, object]) -> None:
        self.message = SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=1, result=result))

    async def receive(self) -> SessionMessage:
        return self.message


async def sifted(*tools: object) -> dict[str, object]:
    item = await FilteredStream(Stream({"tools": list(tools)})).receive()
    assert isinstance(item, SessionMessage)
    return item.message.result


GOOD = {"name": "add", "inputSchema": {"type": "object"}}
BAD = {
    "no object": ("x", "(without a name)", "it is no object"),
    "no name": ({"inputSchema": {"type": "object"}}, "(without a name)", "its name is no text"),
    "a long name": ({**GOOD, "name": "x" * 200}, "x" * 128, "its name is no text"),
    "no schema": ({"name": "a"}, "a", "its inputSchema is no schema of an object"),
    "another type": (
        {"name": "a", "inputSchema": {"type": "array"}},
        "a",
        "its inputSchema is no schema",
    ),
    "a hostile schema": ({"name": "a", "inputSchema": nested(50)}, "a", "nested more than"),
    "a hostile result": (
        {**GOOD, "name": "a", "outputSchema": nested(50)},
        "a",
        "its outputSchema is nested",
    ),
    "long words": (
        {**GOOD, "name": "a", "description": "x" * 20_000},
        "a",
        "more than 16,384 characters",
    ),
    "odd words": ({**GOOD, "name": "a", "description": 3}, "a", "description: "),
    "odd hints": ({**GOOD, "name": "a", "annotations": {"readOnlyHint": []}}, "a", "readOnlyHint"),
}


@pytest.mark.parametrize("case", BAD)
async def test_a_bad_entry_is_taken_out_and_the_good_ones_stay(case):
    entry, name, words = BAD[case]
    result = await sifted(entry, GOOD)
    assert result["tools"] == [GOOD]
    ((refused, reason),) = result["_meta"]["rightcall/refused"]
    assert refused == name
    assert words in reason


async def test_there_is_an_end_of_tools():
    result = await sifted(*({**GOOD, "name": f"t{number}"} for number in range(MOST_TOOLS + 300)))
    assert len(result["tools"]) == MOST_TOOLS
    assert len(result["_meta"]["rightcall/refused"]) == 100


async def test_a_server_with_a_thousand_tools_need_not_be_waited_for():
    many = [sys.executable, str(Path(__file__).parent / "many.py"), "1000"]
    script = [reply("ready"), reply(call("search_tools", queries=["tool"])), reply("found")]
    async with connect(many, name="many", wait_for_tools=False) as server:
        assert server.names() == ()
        agent = rc.Agent(ScriptedModel(script), [server], defer=True)
        assert (await agent.run("Are you there?")).text == "ready"
        async with asyncio.timeout(20):
            while not len(server):
                await asyncio.sleep(0.01)
        assert len(server) == 1000
        result = await agent.run("Find it.")
    assert len(result.calls[0].result.offers) == 5
