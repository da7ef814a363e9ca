"""Agents for durable runs, the same in every process: what they do is written in the prompt.

Each word of a prompt is a turn, and names the tools that are called in it: ``look+pay refund`` is a turn
with two calls and one with one. Then the model answers. Tools write what they do into a file, so that
what happened is known whoever dies.
"""

import asyncio
import os
import signal
from pathlib import Path
from time import time
from typing import Any

import rightcall as rc
from rightcall.core.message import Reply, User
from rightcall.core.request import Request
from rightcall.testing import ScriptedModel, call, reply

ADDRESS = "RIGHTCALL_DURABLE_ADDRESS"
LOG = "RIGHTCALL_DURABLE_LOG"
MAY_DIE = "RIGHTCALL_DURABLE_MAY_DIE"
LONG = 10_000_000 if os.environ.get("RIGHTCALL_DURABLE") == "1" else 1_000_000


def log(text: str) -> None:
    """Write down what happened, so that it is known whatever happens next."""
    with Path(os.environ[LOG]).open("a") as file:
        file.write(f"{text}\n")
        file.flush()
        os.fsync(file.fileno())


def logged() -> list[str]:
    """What has happened so far."""
    path = Path(os.environ[LOG])
    return path.read_text().splitlines() if path.exists() else []


def _is_first(name: str) -> bool:
    return logged().count(name) == 1


def _die() -> None:
    # Not the process of the tests, which a server may hand a run that another test has left.
    assert MAY_DIE in os.environ, "only a process that was started for it dies"
    os.kill(os.getpid(), signal.SIGKILL)


@rc.tool(effect="pure")
def add() -> int:
    """Add numbers."""
    log("add")
    return 4


@rc.tool(effect="read")
def look() -> str:
    """Look."""
    log("look")
    return "seen"


@rc.tool(effect="idempotent")
def put(context: rc.Context) -> str:
    """Put something somewhere."""
    log(f"put {context.key}")
    return "there"


@rc.tool(effect="write")
def pay() -> str:
    """Pay."""
    log("pay")
    return "paid"


@rc.tool(effect="write")
def ship(context: rc.Context) -> rc.Later:
    """Ship it: the carrier answers days later."""
    log("ship")
    return rc.Later(f"parcel {context.call_id}")


@rc.tool(effect="write", approval=True)
def refund() -> str:
    """Refund, once somebody has agreed."""
    log("refund")
    return "refunded"


@rc.tool(effect="read")
async def wait() -> str:
    """Wait for a long time."""
    log("wait")
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        log("wait cancelled")
        raise
    return "waited"


@rc.tool(effect="read")
async def rest() -> str:
    """Wait for a second and a half."""
    log("rest")
    await asyncio.sleep(1.5)
    return "rested"


@rc.tool(effect="read")
async def tick(context: rc.Context) -> str:
    """Say for a second what time it is."""
    log("tick")
    for _ in range(40):
        context.progress(time())
        await asyncio.sleep(0.025)
    return "ticked"


@rc.tool(effect="write")
def pay_and_die() -> str:
    """Pay, and die before anybody knows."""
    log("pay_and_die")
    _die()
    return "paid"


@rc.tool(effect="read")
def look_and_die() -> str:
    """Die of a look, the first time."""
    log("look_and_die")
    if _is_first("look_and_die"):
        _die()
    return "seen"


@rc.tool(effect="idempotent")
def put_and_die(context: rc.Context) -> str:
    """Die of putting something somewhere, the first time."""
    log(f"put_and_die {context.key}")
    if _is_first(f"put_and_die {context.key}"):
        _die()
    return "there"


def _what_became(key: str) -> str | None:
    log(f"asked about {key}")
    return "paid after all" if "pay_or_ask" in logged() else None


@rc.tool(effect="write", reconcile=_what_became)
def pay_or_ask() -> str:
    """Pay, and die before anybody knows; it can be found out later."""
    log("pay_or_ask")
    _die()
    return "paid"


@rc.tool(effect="read", max_output_bytes=2 * LONG)
def fetch() -> str:
    """Fetch very much."""
    log("fetch")
    return "x" * LONG


@rc.tool(effect="read")
def always_die() -> str:
    """Die, however often it is tried."""
    log("always_die")
    _die()
    return ""


@rc.tool(effect="read")
def die_unless_mended() -> str:
    """Die, until somebody has mended this."""
    log("die_unless_mended")
    if "mended" not in logged():
        _die()
    return "alive"


TOOLS: list[Any] = [
    add, look, put, pay, refund, wait, rest, tick, pay_and_die, look_and_die, put_and_die, pay_or_ask,
    fetch, always_die, die_unless_mended, ship,
]  # fmt: skip


def _said(request: Request) -> Reply:
    prompt = next(m.text for m in request.messages if isinstance(m, User))
    turns, done = prompt.split(), sum(isinstance(m, Reply) for m in request.messages)
    if done < len(turns):
        return reply(*[call(name) for name in turns[done].split("+")])
    return reply(f"done after {done} turns")


def _handed_on(request: Request) -> Reply:
    prompt = next(m.text for m in request.messages if isinstance(m, User))
    is_first = not any(isinstance(m, Reply) for m in request.messages)
    return reply(call("helper", task=prompt)) if is_first else reply("the helper is done")


def agents() -> list[rc.Agent[Any, Any]]:
    """One that does what its prompt says, and one that has another do it."""
    model = ScriptedModel(_said)
    helper = rc.Agent(model, tools=TOOLS, name="helper")
    chief = rc.Agent(ScriptedModel(_handed_on), tools=[helper.as_tool()], name="chief")
    return [rc.Agent(model, tools=TOOLS, name="worker"), chief]
