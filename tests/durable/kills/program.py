"""The agent that is killed: one call of every effect, a pause, and a record of all that it does.

What happens is written to ``FOLDER/acts``, one line for each act: a time, the worker, what, and the key
under which it was done. ``FOLDER/kill`` says where a process is to die: ``inside WHAT``, ``before KEY``
or ``after KEY`` (of a record). Whoever comes there first takes the file away and dies by SIGKILL, so
that each is died of once.
"""

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any

import rightcall as rc
from rightcall.durable import segment as steps
from rightcall.testing import ScriptedModel, call, reply

FOLDER = Path(os.environ.get("KILLS_FOLDER", "."))
NAME = os.environ.get("KILLS_WORKER", "client")
SLOW = float(os.environ.get("KILLS_SLOW", "0"))
INSIDE = ("add", "look", "put", "pay-5", "model", "sign")
"""The places inside effects where a process can die: every kind of them."""


def act(what: str, key: str) -> None:
    """Write down that something was done; the line is whole, whoever else writes."""
    line = f"{time.time():.4f} {NAME} {what} {key}\n"
    file = os.open(FOLDER / "acts", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, line.encode())
    os.close(file)


def die_at(place: str) -> None:
    """Die here, if that was asked for and nobody has yet."""
    wanted = FOLDER / "kill"
    try:
        if wanted.read_text() != place:
            return
        wanted.rename(FOLDER / f"died-{NAME}")
    except FileNotFoundError:
        return
    act("killed", place.replace(" ", "_"))
    os.kill(os.getpid(), signal.SIGKILL)


async def done(what: str, key: str) -> str:
    """An effect: it begins, a process may die in it, and it ends."""
    act(what, key)
    die_at(f"inside {what}")
    await asyncio.sleep(SLOW)
    return what


@rc.tool(effect="pure")
async def add(a: int, b: int, context: rc.Context[None]) -> int:
    """Add two numbers."""
    await done("add", context.key)
    return a + b


@rc.tool(effect="read")
async def look(place: str, context: rc.Context[None]) -> str:
    """Look somewhere."""
    return await done("look", context.key)


@rc.tool(effect="idempotent")
async def put(place: str, context: rc.Context[None]) -> str:
    """Put it there."""
    return await done("put", context.key)


@rc.tool(effect="write")
async def pay(amount: int, context: rc.Context[None]) -> str:
    """Pay."""
    return await done(f"pay-{amount}", context.key)


@rc.tool(effect="write", approval=True)
async def sign(paper: str, context: rc.Context[None]) -> str:
    """Sign a paper."""
    return await done("sign", context.key)


def script(request: rc.models.Request) -> rc.Reply | str:
    """What the model says, from what it has seen: the same on every attempt."""
    turn = sum(isinstance(message, rc.Reply) for message in request.messages)
    (said,) = request.messages[0].content
    act("model", f"{said.text}.t{turn + 1}.model")
    if turn == 1:
        die_at("inside model")
    return (
        reply("First.", call("add", a=1, b=2), call("look", place="attic"), call("put", place="attic")),
        reply(call("pay", amount=5), call("pay", amount=7)),
        reply(call("sign", paper="contract")),
        "All done.",
    )[min(turn, 3)]


AGENT = rc.Agent(ScriptedModel(script), [add, look, put, pay, sign], name="killed")


class DeadlySteps(steps.DurableSteps):
    """Steps that can be died of, before a record and after."""

    async def _keep(self, key: str, entry: Any) -> None:
        die_at(f"before {key}")
        await super()._keep(key, entry)
        act("recorded", f"{self._run}.{key}")
        die_at(f"after {key}")


async def steps_of(*arguments: Any) -> steps.DurableSteps:
    """The steps of a segment, which can be died of."""
    found = await _steps_of(*arguments)
    found.__class__ = DeadlySteps
    act("begins", arguments[2])
    return found


_steps_of = steps.steps_of
