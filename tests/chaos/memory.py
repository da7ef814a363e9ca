"""What a process weighs after so many runs: ``WAY RUNS``. Prints a JSON line at each mark on the way.

Each way is a program of its own, so that one cannot weigh on another. Run by long_form.py and by hand:
``nice python tests/chaos/memory.py stream 100000``.
"""

import asyncio
import gc
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import rightcall as rc
from chaos.openai_stream import CALLS, TEXT
from request.server import serving, streamed
from rightcall.core.events import reply_events
from rightcall.testing import call, reply

MARKS = (1_000, 10_000, 25_000, 50_000, 100_000)
WARM = 200
"""Runs before the first look: imports, caches and pools have their size by then."""

One = Callable[[int], Awaitable[None]]


class Model:
    """Calls a tool once and then answers. It remembers nothing, as ScriptedModel does on purpose."""

    profile = rc.models.Profile()

    async def stream(self, request: rc.models.Request) -> AsyncIterator[rc.events.ModelEvent]:
        asked = any(isinstance(message, rc.Reply) for message in request.messages)
        said = reply("Done.") if asked else reply("Let me look.", call("look", place="attic"))
        for event in reply_events(said, 8):
            yield event


@rc.tool(effect="read", name="look")
async def look(place: str) -> str:
    """What is there."""
    return f"nothing in the {place}"


@rc.tool(name="look")
def look_in_thread(place: str) -> str:
    """What is there."""
    return f"nothing in the {place}"


async def one_agent(_: AsyncExitStack, **options: object) -> One:
    agent = rc.Agent(Model(), [look], **options)

    async def run(_: int) -> None:
        await agent.run("Look.")

    return run


async def agent_per_run(_: AsyncExitStack) -> One:
    async def run(number: int) -> None:
        @rc.tool(name="look")
        async def looking(place: str) -> str:
            """What is there."""
            return f"nothing in the {place}, {number}"

        await rc.Agent(Model(), [looking]).run("Look.")

    return run


async def stream(_: AsyncExitStack) -> One:
    agent = rc.Agent(Model(), [look])

    async def run(_: int) -> None:
        async for _ in agent.stream("Look."):
            pass

    return run


async def threads(_: AsyncExitStack) -> One:
    agent = rc.Agent(Model(), [look_in_thread])

    async def run(_: int) -> None:
        await agent.run("Look.")

    return run


async def run_sync(_: AsyncExitStack) -> One:
    agent = rc.Agent(Model(), [look])

    async def run(_: int) -> None:
        agent.run_sync("Look.")

    return run


async def jsonl(stack: AsyncExitStack) -> One:
    place = stack.enter_context(tempfile.TemporaryDirectory())
    journal = stack.enter_context(rc.record.JsonLinesJournal(Path(place) / "runs.jsonl"))
    return await one_agent(stack, journal=journal)


async def sqlite(stack: AsyncExitStack) -> One:
    place = stack.enter_context(tempfile.TemporaryDirectory())
    journal = stack.enter_context(rc.record.SqliteJournal(Path(place) / "runs.db"))
    return await one_agent(stack, journal=journal)


async def memory_journal(stack: AsyncExitStack) -> One:
    return await one_agent(stack, journal=rc.record.MemoryJournal())


async def http(stack: AsyncExitStack) -> One:
    server = await stack.enter_async_context(serving(streamed(*CALLS), streamed(*TEXT)))
    model = await stack.enter_async_context(rc.connect("openai:m", base_url=server.url, api_key="k"))
    agent = rc.Agent(model, [look])

    async def run(_: int) -> None:
        server.requests.clear()  # the server begins its script anew
        await agent.run("Look.")

    return run


WAYS: dict[str, Callable[[AsyncExitStack], Awaitable[One]]] = {
    "one_agent": one_agent,
    "agent_per_run": agent_per_run,
    "stream": stream,
    "threads": threads,
    "run_sync": run_sync,
    "jsonl": jsonl,
    "sqlite": sqlite,
    "memory_journal": memory_journal,
    "http": http,
}


def weight() -> dict[str, int]:
    """What the process is made of now."""
    gc.collect()
    status = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {
        # What is the process's own; pages of programs and libraries come and go with the machine's need.
        "own_kb": int(status["RssAnon"].split()[0]),
        "rss_kb": int(status["VmRSS"].split()[0]),
        "objects": len(gc.get_objects()),
        "blocks": sys.getallocatedblocks(),
        "descriptors": len(os.listdir("/proc/self/fd")) - 1,  # noqa: PTH208 - the listing has one open
        "threads": len(os.listdir("/proc/self/task")),  # noqa: PTH208
    }


async def main(way: str, runs: int) -> None:
    async with AsyncExitStack() as stack:
        one = await WAYS[way](stack)
        for number in range(WARM):
            await one(number)
        marks = [0, *(mark for mark in MARKS if mark < runs), runs]
        for before, mark in pairwise(marks):
            if before == 0:
                _print(way, 0)
            for number in range(before, mark):
                await one(number)
            _print(way, mark)


def _print(way: str, runs: int) -> None:
    sys.stdout.write(json.dumps({"way": way, "runs": runs, **weight()}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
