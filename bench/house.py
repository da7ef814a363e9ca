"""How large and how plain the house is, and how many of its files a turn or a call walks through.

``python bench/house.py`` prints the table that docs/design.md shows, beside what is recorded in
``tests/docs/house.json``, and fails if a figure has risen above it. ``--record`` writes the figures of
now, for a change that is worth it, and ``--names`` says what the names count. A walk counts the files in
which a function of the package was called, once everything that loads on first use has loaded; a
crossing is a call in another file than the last.
"""

import asyncio
import json
import os
import socket
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import rightcall as rc
from rightcall.core.entry import CallFinished
from rightcall.serve.gateway.gateway import Gateway
from rightcall.serve.gateway.settings import Place, Served, Settings
from rightcall.testing import ScriptedModel, call, reply

sys.path.insert(0, f"{sys.path[0]}/peers")
from plainness import Plainness, measure
from script import ANSWER
from vendor import serve

SOURCE = Path(rc.__file__).parent
RECORD = Path(__file__).parents[1] / "tests/docs/house.json"
WITHOUT = ("local/guided",)
"""Folders that are not counted: what takes their place is written, and they are deleted whole."""
SERVER = """
from mcp.server import MCPServer
server = MCPServer("weather")
@server.tool()
def look(city: str) -> str:
    return f"sunny in {city}"
server.run("stdio")
"""


class Walk:
    """The files of the package in which functions were called, and how often another came next."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.crossings = 0
        self._last = ""

    def note(self, frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(SOURCE)) and frame.f_code.co_name != "<module>":
            self.files.add(name)
            self.crossings += name != self._last
            self._last = name


@contextmanager
def watch_calls() -> Iterator[Walk]:
    walk = Walk()
    sys.setprofile(walk.note)
    try:
        yield walk
    finally:
        sys.setprofile(None)


async def walk(work: Callable[[], Awaitable[Any]], check: Callable[[Any], bool]) -> Walk:
    """Do the work twice, and return where the second time walked."""
    done = await work()
    assert check(done), done
    with watch_calls() as walked:
        done = await work()
    assert check(done), done
    return walked


@rc.tool(effect="read")
async def get_weather(city: str, unit: str = "celsius") -> str:
    """The weather in a place, now."""
    return f"sunny in {city}, 21 {unit}"


def start_vendor() -> str:
    """Start the scripted vendor of the benchmarks in a thread, and return its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, args=(listener,), daemon=True).start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}/turns1"


async def streamed_turn() -> Walk:
    model = rc.connect("anthropic:m", base_url=start_vendor(), api_key="k")
    agent = rc.Agent(model, [get_weather])
    return await walk(lambda: agent.run("Weather?"), lambda result: bool(result.text == ANSWER))


async def one_call() -> Walk:
    calls = [rc.Call(id="1", name="get_weather", arguments='{"city": "Rome"}')]
    return await walk(
        lambda: rc.run_calls(calls, [get_weather]), lambda done: bool(done[0].outcome.kind == "returned")
    )


async def mcp_call() -> Walk:
    async with rc.mcp.connect([sys.executable, "-c", SERVER]) as server:
        agents = iter(
            rc.Agent(ScriptedModel([reply(call("look", city="Rome")), "Sunny."]), server)
            for _ in range(2)
        )
        return await walk(
            lambda: next(agents).run("Weather?"), lambda result: "Rome" in result.calls[0].result.text
        )


async def recovery() -> Walk:
    whole = rc.record.MemoryJournal()
    script: list[rc.Reply | str] = [reply(call("get_weather", city="Rome")), "Sunny."]
    await rc.Agent(ScriptedModel(script), [get_weather], journal=whole).run("Weather?", run="r")

    def recover_cut_run() -> Awaitable[Any]:
        journal = rc.record.MemoryJournal()
        for entry in whole.entries("r"):
            journal.append("r", entry)
            if isinstance(entry, CallFinished):
                break
        return rc.Agent(ScriptedModel(["Sunny."]), [get_weather], journal=journal).recover("r")

    return await walk(recover_cut_run, lambda result: bool(result.text == "Sunny."))


async def translated_request() -> Walk:
    """A client of OpenAI's Chat is answered by a model of Anthropic's, streamed."""
    os.environ["ANTHROPIC_API_KEY"] = "k"
    place = Place(use="anthropic:m", base_url=start_vendor())
    gateway = Gateway(Settings(models={"m": Served(places=(place,))}))
    asked = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Weather?"}]}
    body = json.dumps(asked).encode()
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/chat/completions",
        "raw_path": b"/v1/chat/completions",
        "query_string": b"",
        "headers": [(b"content-type", b"application/json"), (b"host", b"localhost")],
        "client": ("127.0.0.1", 1),
    }

    async def request() -> bytes:
        waiting = asyncio.Event()
        messages: list[Any] = [{"type": "http.request", "body": body, "more_body": False}]
        written = []

        async def receive() -> Any:
            if messages:
                return messages.pop()
            return await waiting.wait()

        async def send(message: Any) -> None:
            written.append(message.get("body", b""))

        await gateway(scope, receive, send)
        return b"".join(written)

    try:
        return await walk(request, lambda answer: b"[DONE]" in answer)
    finally:
        await gateway.close()


async def durable_run() -> Walk:
    script: list[rc.Reply | str] = [reply(call("get_weather", city="Rome")), "Sunny."]
    agent = rc.Agent(ScriptedModel(script * 2), [get_weather], name="weather")
    with tempfile.TemporaryDirectory() as folder:
        async with rc.durable.App(f"sqlite:///{folder}/runs.db", agents=[agent]) as app:

            async def submit_and_wait() -> Any:
                run = await app.submit("weather", "Weather?")
                return await run.result()

            return await walk(submit_and_wait, lambda result: bool(result.text == "Sunny."))


WALKS: dict[str, Callable[[], Awaitable[Walk]]] = {
    "one streamed turn with a call": streamed_turn,
    "run_calls, one call": one_call,
    "an agent's call of an MCP tool": mcp_call,
    "recovery of a cut run": recovery,
    "gateway, translated": translated_request,
    "durable run": durable_run,
}


def tree_figures(found: Plainness) -> dict[str, float]:
    return {
        "files": found.files,
        "lines": found.lines,
        "functions named by a bare participle, %": round(
            100 * len(found.participle_functions) / found.functions, 1
        ),
        "modules named by a participle or gerund": len(found.participle_modules),
        "class names that stand more than once": len(found.repeated_classes),
        "crumbs: under 100 lines, one importer, next door": len(found.crumbs),
        "comprehensions per 1,000 lines": found.per_thousand_lines(found.comprehensions),
        "conditional expressions per 1,000 lines": found.per_thousand_lines(
            found.conditional_expressions
        ),
        "a, b = x, y per 1,000 lines": found.per_thousand_lines(found.tuple_assignments),
        "imports inside functions": found.imports_inside_functions,
        "names at the top of rightcall": len(rc.__all__),
    }


async def walk_figures() -> dict[str, float]:
    figures: dict[str, float] = {}
    for name, work in WALKS.items():
        walked = await work()
        figures[f"files walked: {name}"] = len(walked.files)
        if work is streamed_turn:
            figures[f"crossings: {name}"] = walked.crossings
    return figures


def print_names(found: Plainness) -> None:
    """Print what the figures of names count, so that it can be found."""
    for place in (*found.participle_functions, *found.participle_modules, *found.crumbs):
        print(place)
    for name, places in sorted(found.repeated_classes.items()):
        print(name, *places)


def main() -> None:
    found = measure(SOURCE, WITHOUT)
    if "--names" in sys.argv:
        print_names(found)
        return
    figures = tree_figures(found) | asyncio.run(walk_figures())
    recorded = json.loads(RECORD.read_text())
    if "--record" in sys.argv:
        recorded["now"] = figures
        RECORD.write_text(json.dumps(recorded, indent=1) + "\n")
    risen = []
    print(f"{'':<52} {'0.2.0':>8} {'recorded':>8} {'now':>8}")
    for name, figure in figures.items():
        limit = recorded["now"][name]
        print(f"{name:<52} {recorded['0.2.0'][name]:>8,} {limit:>8,} {figure:>8,}")
        if figure > limit:
            risen.append(f"{name} rose from {limit:,} to {figure:,}")
    if risen:
        advice = "make it fall again, or record it with python bench/house.py --record"
        sys.exit("\n".join([*(f"house: {each}" for each in risen), f"house: {advice}"]))


if __name__ == "__main__":
    main()
