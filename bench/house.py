"""How large the house is, and how many of its files one turn, one call and one recovery walk through.

``python bench/house.py`` prints the table that docs/design.md shows. A walk counts the files in which a
function of the package was called; importing them is not counted.
"""

import ast
import asyncio
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import rightcall as rc
from rightcall.core.entry import CallFinished
from rightcall.testing import ScriptedModel, call, reply

sys.path.insert(0, f"{sys.path[0]}/peers")
from script import ANSWER
from vendor import serve

SOURCE = Path(rc.__file__).parent
SHORT = 60
SERVER = """
from mcp.server import MCPServer
server = MCPServer("weather")
@server.tool()
def look(city: str) -> str:
    return f"sunny in {city}"
server.run("stdio")
"""


@contextmanager
def walked(files: set[str]) -> Iterator[None]:
    """Note each file of the package in which a function is called meanwhile."""

    def note(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(SOURCE)) and frame.f_code.co_name != "<module>":
            files.add(name)

    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)


async def walk(work: Callable[[], Awaitable[Any]], check: Callable[[Any], bool]) -> int:
    """The files that the work walks through, once everything that loads on first use has loaded."""
    files: set[str] = set()
    assert check(await work())
    with walked(files):
        done = await work()
    assert check(done), done
    return len(files)


@rc.tool(effect="read")
async def get_weather(city: str, unit: str = "celsius") -> str:
    """The weather in a place, now."""
    return f"sunny in {city}, 21 {unit}"


async def streamed_turn() -> int:
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, args=(listener,), daemon=True).start()
    base = f"http://127.0.0.1:{listener.getsockname()[1]}/turns1"
    model = rc.connect("anthropic:m", base_url=base, api_key="k")
    agent = rc.Agent(model, [get_weather])
    return await walk(lambda: agent.run("Weather?"), lambda result: bool(result.text == ANSWER))


async def one_call() -> int:
    calls = [rc.Call(id="1", name="get_weather", arguments='{"city": "Rome"}')]
    return await walk(
        lambda: rc.run_calls(calls, [get_weather]), lambda done: bool(done[0].outcome.kind == "returned")
    )


async def mcp_call() -> int:
    async with rc.mcp.connect([sys.executable, "-c", SERVER]) as server:
        agents = iter(
            rc.Agent(ScriptedModel([reply(call("look", city="Rome")), "Sunny."]), server)
            for _ in range(2)
        )
        return await walk(
            lambda: next(agents).run("Weather?"), lambda result: "Rome" in result.calls[0].result.text
        )


async def recovery() -> int:
    whole = rc.record.MemoryJournal()
    script: list[rc.Reply | str] = [reply(call("get_weather", city="Rome")), "Sunny."]
    await rc.Agent(ScriptedModel(script), [get_weather], journal=whole).run("Weather?", run="r")

    def cut() -> Awaitable[Any]:
        journal = rc.record.MemoryJournal()
        for entry in whole.entries("r"):
            journal.append("r", entry)
            if isinstance(entry, CallFinished):
                break
        return rc.Agent(ScriptedModel(["Sunny."]), [get_weather], journal=journal).recover("r")

    return await walk(cut, lambda result: bool(result.text == "Sunny."))


def imports_inside_functions(tree: ast.AST) -> int:
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    inside = {n for f in functions for n in ast.walk(f) if isinstance(n, ast.Import | ast.ImportFrom)}
    return len(inside)


async def main() -> None:
    texts = [path.read_text() for path in SOURCE.rglob("*.py")]
    lines = [text.count("\n") for text in texts]
    print(f"files                                    {len(texts):>7,}")
    print(f"lines                                    {sum(lines):>7,}")
    print(f"files under {SHORT} lines                    {sum(n < SHORT for n in lines):>7,}")
    inside = sum(imports_inside_functions(ast.parse(text)) for text in texts)
    print(f"imports inside functions                 {inside:>7,}")
    for name, work in (
        ("one streamed turn with a call", streamed_turn),
        ("run_calls, one call", one_call),
        ("an agent's call of an MCP tool", mcp_call),
        ("recovery of a cut run", recovery),
    ):
        print(f"files walked: {name:<30} {await work():>4}")


if __name__ == "__main__":
    asyncio.run(main())
