"""The durable jobs by pydantic-ai's DBOS integration, in an environment of their own. See jobs.py."""

import asyncio
import os
import signal
import sys
from time import perf_counter
from typing import Any

from dbos import DBOS, DBOSConfig, SetWorkflowID
from jobs import Figures, act, measured, prompt_of, serve, times
from pydantic_ai import Agent
from pydantic_ai.durable_exec.dbos import DBOSDurability
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel


def _prompt(messages: list[ModelMessage]) -> str:
    first = messages[0]
    assert isinstance(first, ModelRequest)
    return next(str(part.content) for part in first.parts if isinstance(part, UserPromptPart))


def say(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """What a scripted model says to what it has seen."""
    turn = sum(isinstance(message, ModelResponse) for message in messages)
    job, turns = prompt_of(_prompt(messages))
    names: list[tuple[str, dict[str, Any]]]
    if job == "kill":
        act("model")
        names = [("quick", {"run": "r"}), ("charge", {"run": "r"})] if turn == 0 else []
    elif job == "wait":
        names = [("sign", {"paper": "contract"})] if turn == 0 else []
    else:
        names = [("note", {"number": turn})] if turn < turns else []
    calls = [ToolCallPart(name, arguments, f"call_{turn}_{name}") for name, arguments in names]
    return ModelResponse(calls or [TextPart("All done.")])


agent = Agent(FunctionModel(say), name="bench", capabilities=[DBOSDurability()])


# The integration makes steps of model requests alone; tools are steps where their author says so.
@agent.tool_plain  # type: ignore[untyped-decorator] # another environment's
@DBOS.step()
async def note(number: int) -> str:
    """Write something down."""
    return f"noted {number}"


@agent.tool_plain  # type: ignore[untyped-decorator] # another environment's
@DBOS.step()
async def quick(run: str) -> str:
    """Something that is done at once."""
    act("quick")
    return "done"


@agent.tool_plain  # type: ignore[untyped-decorator] # another environment's
@DBOS.step()
async def charge(run: str) -> str:
    """Something that must not be done twice."""
    act("charge")
    await asyncio.sleep(0.3)
    if os.environ.get("DIES"):
        os.kill(os.getpid(), signal.SIGKILL)
    return "charged"


@agent.tool_plain  # type: ignore[untyped-decorator] # another environment's
async def sign(paper: str) -> str:
    """Something that waits for a person: a message to the workflow, which waits for it."""
    said = await DBOS.recv_async("decision", timeout_seconds=86400 * 7)
    times["sign"] = perf_counter()
    return f"signed: {said}"


@DBOS.workflow(name="bench")
async def job(prompt: str) -> str:
    """One run."""
    return str((await agent.run(prompt)).output)


def launch(address: str) -> None:
    """Open the database as the integration's documentation does."""
    DBOS(config=DBOSConfig(name="bench", system_database_url=address, log_level="ERROR"))
    DBOS.launch()


async def begin(run: str, prompt: str) -> Any:
    """Start a run under a name."""
    with SetWorkflowID(run):
        return await DBOS.start_workflow_async(job, prompt)


async def speed(address: str, runs: int, turns: int, at_once: int) -> Figures:
    """Runs, so many at a time."""
    launch(address)
    slots = asyncio.Semaphore(at_once)

    async def one(number: int) -> None:
        async with slots:
            handle = await begin(f"r{number}", f"speed {turns}")
            await handle.get_result(polling_interval_sec=0.05)

    async with measured(runs * turns * 2) as figures:
        await asyncio.gather(*[one(number) for number in range(runs)])
    return figures


async def wait(address: str, runs: int) -> Figures:
    """Runs, until all of them wait for a person."""
    launch(address)
    async with measured(runs) as figures:
        for number in range(runs):
            await begin(f"w{number}", "wait")
        await asyncio.sleep(2.0)
    found = await DBOS.list_workflows_async(status="PENDING", limit=runs + 1)
    assert len(found) == runs, len(found)
    return figures


async def waits(address: str, runs: int) -> Figures:
    """A new process among those: it goes on with each, to wait for its message."""
    begun = perf_counter()
    launch(address)
    opened = perf_counter() - begun
    await asyncio.sleep(2.0 + runs / 100)
    async with measured(1) as idle:
        await asyncio.sleep(4.0)
    async with measured(1) as listing:
        found = await DBOS.list_workflows_async(limit=runs + 1)
    assert len(found) == runs, len(found)
    handle: Any = await DBOS.retrieve_workflow_async(f"w{runs // 2}")
    async with measured(1) as going:
        await DBOS.send_async(f"w{runs // 2}", "yes", "decision")
        assert await handle.get_result(polling_interval_sec=0.05) == "All done."
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
    launch(address)
    await (await begin("k", "kill")).get_result()
    return {}


async def recover(address: str) -> Figures:
    """Launch again: DBOS goes on with what its executor left."""
    launch(address)
    handle: Any = await DBOS.retrieve_workflow_async("k")
    return {"answer": await handle.get_result(polling_interval_sec=0.05)}


if __name__ == "__main__":
    serve(sys.argv, speed=speed, wait=wait, waits=waits, kill=kill, recover=recover)
