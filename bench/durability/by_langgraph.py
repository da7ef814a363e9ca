"""The durable jobs by LangGraph's checkpointers, in an environment of their own. See jobs.py."""

import asyncio
import os
import signal
import sys
from contextlib import AsyncExitStack, asynccontextmanager
from time import perf_counter
from typing import Any

from jobs import Figures, act, measured, prompt_of, serve, times
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool


@tool  # type: ignore[untyped-decorator] # another environment's
async def note(number: int) -> str:
    """Write something down."""
    return f"noted {number}"


@tool  # type: ignore[untyped-decorator] # another environment's
async def quick(run: str) -> str:
    """Something that is done at once."""
    act("quick")
    return "done"


@tool  # type: ignore[untyped-decorator] # another environment's
async def charge(run: str) -> str:
    """Something that must not be done twice."""
    act("charge")
    await asyncio.sleep(0.3)
    if os.environ.get("DIES"):
        os.kill(os.getpid(), signal.SIGKILL)
    return "charged"


@tool  # type: ignore[untyped-decorator] # another environment's
async def sign(paper: str) -> str:
    """Something that waits for a person."""
    said = interrupt({"paper": paper})
    times["sign"] = perf_counter()
    return f"signed: {said}"


def _call(name: str, place: int, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "args": arguments, "id": f"call_{place}_{name}"}


async def model(state: MessagesState) -> dict[str, Any]:
    """What a scripted model says to what it has seen."""
    turn = sum(isinstance(message, AIMessage) for message in state["messages"])
    job, turns = prompt_of(str(state["messages"][0].content))
    if job == "kill":
        act("model")
        calls = [_call("quick", 1, run="r"), _call("charge", 2, run="r")] if turn == 0 else []
    elif job == "wait":
        calls = [_call("sign", 1, paper="contract")] if turn == 0 else []
    else:
        calls = [_call("note", turn, number=turn)] if turn < turns else []
    return {"messages": [AIMessage("" if calls else "All done.", tool_calls=calls)]}


def _next(state: MessagesState) -> str:
    return "tools" if state["messages"][-1].tool_calls else END


@asynccontextmanager
async def opened(address: str) -> Any:
    """The graph, over a checkpointer of either kind."""
    async with AsyncExitStack() as stack:
        if address.startswith("sqlite:///"):
            file = address.removeprefix("sqlite:///")
            saver: Any = await stack.enter_async_context(AsyncSqliteSaver.from_conn_string(file))
            await saver.conn.execute("pragma synchronous = full")
        else:
            # As many connections as others have, and not the one that from_conn_string makes.
            how = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
            pool = AsyncConnectionPool(address, min_size=4, max_size=16, kwargs=how, open=False)
            saver = AsyncPostgresSaver(await stack.enter_async_context(pool))
        await saver.setup()
        graph = StateGraph(MessagesState)
        graph.add_node("model", model)
        graph.add_node("tools", ToolNode([note, quick, charge, sign]))
        graph.add_edge(START, "model")
        graph.add_conditional_edges("model", _next, ["tools", END])
        graph.add_edge("tools", "model")
        yield graph.compile(checkpointer=saver), saver


def _config(run: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": run}, "recursion_limit": 1000}


async def begin(graph: Any, run: str, prompt: str) -> Any:
    """One run, with every step on disk before the next begins."""
    return await graph.ainvoke({"messages": [HumanMessage(prompt)]}, _config(run), durability="sync")


async def speed(address: str, runs: int, turns: int, at_once: int) -> Figures:
    """Runs, so many at a time."""
    async with opened(address) as (graph, _):
        slots = asyncio.Semaphore(at_once)

        async def one(number: int) -> None:
            async with slots:
                await begin(graph, f"r{number}", f"speed {turns}")

        async with measured(runs * turns * 2) as figures:
            await asyncio.gather(*[one(number) for number in range(runs)])
        return figures


async def wait(address: str, runs: int) -> Figures:
    """Runs, until all of them wait for a person."""
    async with opened(address) as (graph, _), measured(runs) as figures:
        for number in range(runs):
            await begin(graph, f"w{number}", "wait")
    return figures


async def waits(address: str, runs: int) -> Figures:
    """A new process among those: one who waits is nobody until its thread is asked for."""
    begun = perf_counter()
    async with opened(address) as (graph, checkpointer):
        to_open = perf_counter() - begun
        async with measured(1) as idle:
            await asyncio.sleep(2.0)
        async with measured(1) as listing:
            found = {each.config["configurable"]["thread_id"] async for each in checkpointer.alist(None)}
        assert len(found) == runs, len(found)
        async with measured(1) as going:
            end = await graph.ainvoke(Command(resume="yes"), _config(f"w{runs // 2}"), durability="sync")
        assert end["messages"][-1].content == "All done."
    return {
        "open": to_open,
        "rss": idle["rss"],
        "idle": idle["cpu"] / idle["wall"],
        "list": listing["wall"],
        "step": times["sign"] - going["from"],
        "approve": going["wall"],
    }


async def kill(address: str) -> Figures:
    """Begin a run that kills its process inside the second of two calls."""
    async with opened(address) as (graph, _):
        await begin(graph, "k", "kill")
    return {}


async def recover(address: str) -> Figures:
    """Go on with it."""
    async with opened(address) as (graph, _):
        end = await graph.ainvoke(None, _config("k"), durability="sync")
        return {"answer": end["messages"][-1].content}


if __name__ == "__main__":
    serve(sys.argv, speed=speed, wait=wait, waits=waits, kill=kill, recover=recover)
