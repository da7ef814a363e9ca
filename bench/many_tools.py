"""What a run costs with 10 and with 500 tools, and what a wrong name among them is answered with.

Answers come from memory. Each run has one tool turn, streamed. ``make bench WHAT=peers`` measures it.
"""

import asyncio
import gc
import time

from one_turn import Canned, get_weather
from shown import show

import rightcall as rc
from rightcall.core.parts import Call
from rightcall.gate.call_check import check

COUNTS = (1, 10, 500)
RUNS = 100
NAMES = 20


def tools(count: int) -> list[rc.Tool]:
    """The tool that is called, and others of the same shape."""
    others = [
        rc.tool(get_weather, effect="read", name=f"get_{n}_of_place", description=f"Value {n} there.")
        for n in range(count - 1)
    ]
    return [rc.tool(get_weather, effect="read"), *others]


async def run(count: int) -> float:
    agent = rc.Agent(rc.connect("ollama:m", transport=Canned()), tools(count), footprint="off")
    await agent.run("What is the weather?")
    gc.collect()
    began = time.process_time()
    for _ in range(RUNS):
        await agent.run("What is the weather?")
    return (time.process_time() - began) / RUNS


def wrong_name(count: int) -> float:
    box = rc.Toolbox(*tools(count))
    began = time.process_time()
    for n in range(NAMES):
        check(Call(id="c", name=f"get_the_wether_{n}", arguments="{}"), box)
    return (time.process_time() - began) / NAMES


def figures() -> dict[str, float]:
    """Seconds of CPU, of a run by the number of tools, and of a wrong name among 500."""
    found = {f"{count} tools": asyncio.run(run(count)) for count in COUNTS}
    return {**found, "a wrong name among 500": wrong_name(500)}


if __name__ == "__main__":
    show(figures(), "ms of CPU", factor=1000)
