"""Hostile tools and models, at random and for a while, in one process: what it holds afterwards."""

import asyncio
import json
import logging
import os
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import rightcall as rc
from chaos import hostile_tools
from chaos.hostile_models import MODELS, HostileModel
from chaos.leftovers import holding
from chaos.memory import weight
from loop.sound import assert_sound
from rightcall.errors import RightcallError
from rightcall.testing import ScriptedModel, call, reply

AT_ONCE = 8


async def with_tool(name: str) -> None:
    """One run with a hostile tool."""
    model = ScriptedModel([reply(call("hostile")), "Done."])
    result = await rc.Agent(model, [hostile_tools.tool_named(name)]).run("Go.")
    assert_sound(result.transcript)
    assert result.text == "Done.", f"{name}: {result.stop}"


async def with_model(name: str) -> None:
    """One run with a hostile model."""
    try:
        result = await rc.Agent(HostileModel(name), budget=rc.Budget(seconds=0.3)).run("Go.")
    except (RightcallError, TypeError, ZeroDivisionError, KeyError):
        return
    assert_sound(result.transcript)


async def main(seconds: float, seed: str) -> None:
    """Run for so long, and say what is left."""
    chance = random.Random(seed)
    works = [
        *((with_tool, name) for name in hostile_tools.TOOLS),
        *((with_model, name) for name in MODELS),
    ]

    async def some() -> None:
        hostile_tools.arm()
        chosen = chance.choices(works, k=AT_ONCE)
        await asyncio.gather(*(work(name) for work, name in chosen))
        hostile_tools.release()

    for _ in range(40):
        await some()
    await asyncio.sleep(0.5)
    before, heavy, runs, end = holding(), weight(), 0, time.monotonic() + seconds
    while time.monotonic() < end:
        await some()
        runs += AT_ONCE
    await asyncio.sleep(2.0)
    left, now = holding().over(before), weight()
    grown = {name: now[name] - heavy[name] for name in ("own_kb", "blocks", "objects")}
    found = {"runs": runs, "left": left, **grown}
    os.write(1, json.dumps(found).encode() + b"\n")


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - one of the tools floods it
    asyncio.run(main(float(sys.argv[1]), sys.argv[2]))
