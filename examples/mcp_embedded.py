"""The embedded model uses tools that live on MCP servers, offline.

The first server is this file again, in a process of its own, written with the SDK's server API. Where
``server-everything`` from npm is installed under ``.node``, it is asked, too.
"""

import asyncio
import shutil
import sys
from pathlib import Path

import rightcall as rc
from rightcall import mcp
from rightcall.core.jsontext import JsonObject

EVERYTHING = Path(".node/node_modules/@modelcontextprotocol/server-everything/dist/index.js")
PRICES = {"tea": 2, "coffee": 3, "sugar": 1}
# So small a model finds a tool by questions that lead to it. A server has no way to give any: we do.
LESSONS: dict[str, list[tuple[str, JsonObject]]] = {
    "get_price": [
        ("What does tea cost?", {"item": "tea"}),
        ("How much is a pack of sugar?", {"item": "sugar"}),
    ],
    "opening_hours": [
        ("When do you open on Monday?", {"day": "Monday"}),
        ("What are the opening hours on Friday?", {"day": "Friday"}),
    ],
    "get-sum": [
        ("What is 2 plus 3?", {"a": 2, "b": 3}),
        ("Add 10 and 5.", {"a": 10, "b": 5}),
    ],
}


def serve() -> None:
    """Be the server."""
    from mcp.server.mcpserver import MCPServer  # noqa: PLC0415 - only the server's process needs it

    server = MCPServer("shop")

    @server.tool()
    def get_price(item: str) -> str:
        """Price of an item in the shop."""
        return f"{item} costs {PRICES[item.lower()]} euros."

    @server.tool()
    def opening_hours(day: str) -> str:
        """When the shop is open on a day of the week."""
        hours = "is closed" if day.lower() == "sunday" else "is open from 9 to 18 o'clock"
        return f"The shop {hours} on {day}."

    server.run("stdio")


def servers() -> dict[str, list[str]]:
    """The servers that are there."""
    found = {"shop": [sys.executable, str(Path(__file__).resolve()), "serve"]}
    node = shutil.which("node")
    if node is not None and EVERYTHING.exists():
        found["everything"] = [node, str(EVERYTHING.resolve())]
    return found


def taught(tools: mcp.LiveView) -> rc.Toolbox:
    """The tools of this moment, with questions that lead to them."""
    return rc.Toolbox(
        [
            tool.replace(
                questions=[question for question, _ in LESSONS[tool.name]],
                examples=[arguments for _, arguments in LESSONS[tool.name]],
            )
            for tool in tools
            if tool.name in LESSONS
        ]
    )


async def ask(tools: rc.Toolbox, question: str) -> None:
    result = await rc.Agent("embedded", tools).run(question)
    print(f"\n{question}")
    for call in result.calls:
        print(f"  {call.name}({call.arguments}) -> {call.outcome}: {call.result.text}")
    print(f"  {result.text}")


async def main() -> None:
    # They are ours, so their words and results are believed; see docs/mcp.md for what happens otherwise.
    async with mcp.connect_all(servers(), trust=True) as group:
        for name, server in group.servers.items():
            print(f"{name} speaks MCP {server.protocol_version} and has {len(server)} tools")
        shop = taught(group.servers["shop"])
        await ask(shop, "How much is coffee?")
        await ask(shop, "What are the opening hours on Sunday?")
        if "everything" in group.servers:
            await ask(taught(group.servers["everything"]), "What is the sum of 17 and 23?")


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve()
    else:
        asyncio.run(main())
