"""Functions that block: so many at once in a process, whatever the runs are."""

import asyncio
import threading
import time

import rightcall as rc
from rightcall.gate import concurrency
from rightcall.gate.concurrency import ProcessSemaphore
from rightcall.testing import ScriptedModel, call, reply


class Room:
    """Counts who is inside at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self.most = 0

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            self.most = max(self.most, self._inside)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1


async def run_many(agent: rc.Agent, number: int) -> float:
    start = time.monotonic()
    results = await asyncio.gather(*(agent.run("Go.") for _ in range(number)))
    assert {result.text for result in results} == {"Done."}
    return time.monotonic() - start


async def test_sync_tools_of_all_runs_share_the_threads_of_the_process(monkeypatch):
    monkeypatch.setattr(concurrency.tool_threads(), "slots", ProcessSemaphore(3))
    room = Room()

    @rc.tool
    def visit() -> str:
        """Stay for a moment."""
        with room:
            time.sleep(0.01)
        return "ok"

    agent = rc.Agent(ScriptedModel(lambda request: _answer(request, "visit")), [visit])
    await run_many(agent, 12)
    assert room.most == 3


async def test_async_tools_of_many_runs_wait_for_nobody():
    room = Room()

    @rc.tool
    async def visit() -> str:
        """Stay for a moment."""
        with room:
            await asyncio.sleep(0.2)
        return "ok"

    agent = rc.Agent(ScriptedModel(lambda request: _answer(request, "visit")), [visit])
    await run_many(agent, 100)
    assert room.most == 100


async def test_a_run_has_so_many_calls_running_at_once():
    room = Room()

    @rc.tool
    async def visit() -> str:
        """Stay for a moment."""
        with room:
            await asyncio.sleep(0.01)
        return "ok"

    calls = [call("visit", id=f"c{n}") for n in range(40)]
    await rc.Agent(ScriptedModel([reply(*calls), "Done."]), [visit]).run("Go.")
    assert room.most == 16
    room.most = 0
    await rc.Agent(ScriptedModel([reply(*calls), "Done."]), [visit], concurrency=5).run("Go.")
    assert room.most == 5


async def test_a_tool_that_runs_an_agent_does_not_hold_its_tools_up(monkeypatch):
    monkeypatch.setattr(concurrency.tool_threads(), "slots", ProcessSemaphore(1))

    @rc.tool
    def inner() -> str:
        """Answer."""
        return "inner"

    below = rc.Agent(ScriptedModel(lambda request: _answer(request, "inner")), [inner])

    @rc.tool
    def outer() -> str:
        """Ask another."""
        return below.run_sync("Go.").text

    agent = rc.Agent(ScriptedModel(lambda request: _answer(request, "outer")), [outer])
    result = await asyncio.wait_for(agent.run("Go."), 10)
    assert [step.result.text for step in result.calls] == ["Done."]


def _answer(request: rc.models.Request, tool: str) -> rc.Reply:
    is_first = len(request.messages) == 1
    return reply(call(tool)) if is_first else reply("Done.")
