"""The durable jobs by rightcall, and the same with workers in other processes. See jobs.py.

work ADDRESS AT_ONCE               a worker, until it is ended
"""

import asyncio
import os
import signal
import sys

from jobs import Figures, act, measured, prompt_of, serve

import rightcall as rc
from rightcall.testing import ScriptedModel, call, reply


@rc.tool(effect="read")
async def note(number: int) -> str:
    """Write something down."""
    return f"noted {number}"


@rc.tool(effect="write")
async def quick(run: str) -> str:
    """Something that is done at once."""
    act("quick")
    return "done"


@rc.tool(effect="write")
async def charge(run: str) -> str:
    """Something that must not be done twice."""
    act("charge")
    await asyncio.sleep(0.3)
    if os.environ.get("DIES"):
        os.kill(os.getpid(), signal.SIGKILL)
    return "charged"


@rc.tool(effect="write", approval=True)
async def sign(paper: str) -> str:
    """Something that waits for a person."""
    return "signed"


def script(request: rc.Request) -> rc.Reply | str:
    """What a scripted model says to what it has seen."""
    turn = sum(isinstance(message, rc.Reply) for message in request.messages)
    first = request.messages[0]
    assert isinstance(first, rc.User)
    job, turns = prompt_of("".join(part.text for part in first.content if isinstance(part, rc.Text)))
    if job == "kill":
        act("model")
        calls = [call("quick", run="r"), call("charge", run="r")] if turn == 0 else []
    elif job == "wait":
        calls = [call("sign", paper="contract")] if turn == 0 else []
    else:
        calls = [call("note", number=turn)] if turn < turns else []
    return reply(*calls) if calls else "All done."


def app_at(address: str, at_once: int = 50) -> rc.durable.App:
    """The app that works."""
    agent = rc.Agent(
        ScriptedModel(script),
        [note, quick, charge, sign],
        name="bench",
        budget=rc.Budget(turns=1000, calls=1000),
    )
    return rc.durable.App(address, [agent], queues=[rc.durable.Queue(concurrency=at_once)])


async def speed(address: str, runs: int, turns: int, at_once: int) -> Figures:
    """Runs, so many at a time, in this process."""
    async with app_at(address, at_once) as app:
        async with measured(runs * turns * 2) as figures:
            await all_of(app, runs, turns)
        return figures


async def client(address: str, runs: int, turns: int, at_once: int) -> Figures:
    """Runs that others execute."""
    async with rc.durable.App(address) as app, measured(runs * turns * 2) as figures:
        await all_of(app, runs, turns)
    return figures


async def all_of(app: rc.durable.App, runs: int, turns: int) -> None:
    """Submit runs, and wait until all are over."""
    names = [f"r{number}" for number in range(runs)]
    handles = [await app.submit("bench", f"speed {turns}", run=name) for name in names]
    for handle in handles:
        assert (await handle.result()).text == "All done."


async def waiting(address: str, runs: int) -> Figures:
    """Runs that wait for a person: what they cost, and how long it takes to list them and go on."""
    async with app_at(address) as app:
        async with measured(runs) as figures:
            handles = [await app.submit("bench", "wait", run=f"w{number}") for number in range(runs)]
            for handle in handles:
                assert (await handle.result()).pending
        async with measured(1) as listing:
            found = await app.list()
        assert sum(each.status == "waiting" for each in found) == runs
        async with measured(1) as idle:
            await asyncio.sleep(2.0)
        (pending,) = (await handles[runs // 2].result()).pending
        async with measured(1) as going:
            handle = await app.decide(f"w{runs // 2}", {pending.call_id: True})
            assert (await handle.result()).text == "All done."
        idle_cpu = idle["cpu"] / idle["wall"]
        return {**figures, "list": listing["wall"], "approve": going["wall"], "idle": idle_cpu}


async def kill(address: str) -> Figures:
    """Begin a run that kills its process inside the second of two calls."""
    async with app_at(address) as app:
        await (await app.submit("bench", "kill", run="k")).result()
    return {}


async def recover(address: str) -> Figures:
    """Open again: what a dead process was at goes on."""
    async with app_at(address) as app:
        result = await app.result("k")
        return {"answer": result.text, "outcomes": [each.outcome for each in result.calls]}


async def work(address: str, at_once: int) -> Figures:
    """A worker, until it is ended."""
    async with app_at(address, at_once):
        print("works", flush=True)
        await asyncio.Event().wait()
    return {}


if __name__ == "__main__":
    serve(
        sys.argv,
        speed=speed,
        client=client,
        waiting=waiting,
        kill=kill,
        recover=recover,
        work=work,
    )
