"""The durable jobs by rightcall, and the same with workers in other processes. See jobs.py.

work ADDRESS AT_ONCE               a worker, until it is ended
"""

import asyncio
import os
import signal
import sys
from time import perf_counter

from jobs import Figures, act, measured, prompt_of, serve, times

import rightcall as rc
from rightcall.testing import ScriptedModel, call, reply

TAKES = float(os.environ.get("TOOL_SECONDS", "0"))
FILLING = "x" * int(os.environ.get("TOOL_BYTES", "0"))


@rc.tool(effect="read")
async def note(number: int) -> str:
    """Write something down."""
    await asyncio.sleep(TAKES)
    return f"noted {number} {FILLING}"


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
    times["sign"] = perf_counter()
    return "signed"


def script(request: rc.models.Request) -> rc.Reply | str:
    """What a scripted model says to what it has seen."""
    turn = sum(isinstance(message, rc.Reply) for message in request.messages)
    first = request.messages[0]
    assert isinstance(first, rc.User)
    job, turns = prompt_of(
        "".join(part.text for part in first.content if isinstance(part, rc.models.Text))
    )
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


async def evenly(address: str, runs: int, turns: int, seconds: int) -> Figures:
    """Runs that are submitted evenly over some seconds, and that others execute."""
    async with rc.durable.App(address) as app:
        begun, waited = perf_counter(), []
        for number in range(runs):
            await asyncio.sleep(max(begun + number * seconds / runs - perf_counter(), 0))
            await app.submit("bench", f"speed {turns}", run=f"r{number}")
        submitted = perf_counter() - begun
        for number in range(runs):
            assert (await app.result(f"r{number}")).text == "All done."
        for number in range(0, runs, max(runs // 100, 1)):
            shown = await app.show(f"r{number}")
            waited.append(shown.steps[0][0].at - shown.segments[0].created)
        waited.sort()
        return {
            "submitted": submitted,
            "p50": waited[len(waited) // 2],
            "p95": waited[-len(waited) // 20],
        }


async def all_of(app: rc.durable.App, runs: int, turns: int) -> None:
    """Submit runs, and wait until all are over."""
    names = [f"r{number}" for number in range(runs)]
    handles = [await app.submit("bench", f"speed {turns}", run=name) for name in names]
    for handle in handles:
        assert (await handle.result()).text == "All done."


async def wait(address: str, runs: int) -> Figures:
    """Runs, until all of them wait for a person."""
    async with app_at(address) as app, measured(runs) as figures:
        for number in range(runs):
            await app.submit("bench", "wait", run=f"w{number}")
        while any(each.status != "waiting" for each in await app.list()):  # noqa: ASYNC110
            await asyncio.sleep(2.0)
    return figures


async def waits(address: str, runs: int) -> Figures:
    """A new process among those: none of them is there until somebody decides."""
    begun = perf_counter()
    async with app_at(address) as app:
        opened = perf_counter() - begun
        # A worker that has just had work, or was just opened, looks for more often.
        await asyncio.sleep(6.0)
        async with measured(1) as idle:
            await asyncio.sleep(6.0)
        async with measured(1) as listing:
            found = await app.list()
        assert sum(each.status == "waiting" for each in found) == runs
        name = f"w{runs // 2}"
        (pending,) = next(each.pending for each in found if each.run == name)
        async with measured(1) as going:
            handle = await app.decide(name, {pending.call_id: True})
            assert (await handle.result()).text == "All done."
    return {
        "open": opened,
        "rss": idle["rss"],
        "idle": idle["cpu"] / idle["wall"],
        "list": listing["wall"],
        "step": times["sign"] - going["from"],
        "approve": going["wall"],
    }


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
        evenly=evenly,
        wait=wait,
        waits=waits,
        kill=kill,
        recover=recover,
        work=work,
    )
