"""Calls that go on as tasks, over the wire as the extension has it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

import rightcall as rc
from rightcall.mcp import connect
from rightcall.mcp.server import Bounds, Filled, Form, Listen, TaskSupport, ToolServer, caller

EXTENSION = "io.modelcontextprotocol/tasks"
VERSION = "2026-07-28"
NAME = Form(message="Who?", fields={"name": {"type": "string"}}, required=("name",))
AGREE = Form(message="Sure?", fields={"sure": {"type": "boolean"}}, required=("sure",))


@rc.tool
async def compute(seconds: float, context: rc.Context[None]) -> str:
    """Compute, and say how far it is."""
    for done in range(3):
        context.progress(done, 3)
        await asyncio.sleep(seconds / 3)
    return "computed"


@rc.tool
async def fail() -> str:
    """Fail."""
    raise rc.ToolFailure("It did not work.")


@rc.tool
async def ask() -> str:
    """Ask two things."""
    answers = await caller().ask(name=NAME, sure=AGREE)
    name = answers["name"]
    assert isinstance(name, Filled)
    return f"Hello, {name.content['name']}."


SUPPORT = {
    "compute": TaskSupport(),
    "fail": TaskSupport(required=True),
    "ask": TaskSupport(),
    "ask_first": TaskSupport(asks_first=True),
}


class Wire:
    """A client that writes every member itself."""

    def __init__(self, http: httpx2.AsyncClient, address: str) -> None:
        self.http = http
        self.address = address
        self.knows = True
        self.server: ToolServer

    async def __call__(self, method: str, named: str = "", **params: Any) -> dict[str, Any]:
        extensions = {EXTENSION: {}} if self.knows else {}
        meta = {
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientInfo": {"name": "wire", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}, "extensions": extensions},
            "progressToken": 1,
        }
        named = named or params.get("name") or params.get("taskId", "")
        headers = {
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": VERSION,
            "mcp-method": method,
            "mcp-name": named,
        }
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        answer = await self.http.post(self.address, json=message, headers=headers)
        lines = [line[6:] for line in answer.text.splitlines() if line.startswith("data: ")]
        found: dict[str, Any] = httpx2.Response(200, text=lines[-1]).json() if lines else answer.json()
        return found

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return (await self("tools/call", name=tool, arguments=arguments))["result"]

    async def until(self, task: str, *statuses: str) -> dict[str, Any]:
        async with asyncio.timeout(10):
            while True:
                found = (await self("tasks/get", taskId=task))["result"]
                if found["status"] in statuses:
                    return found
                await asyncio.sleep(0.02)


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    tools = [compute, fail, ask, ask.replace(name="ask_first")]
    server = ToolServer(tools, tasks=SUPPORT, bounds=Bounds(calls=5))
    started: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    serving = asyncio.ensure_future(server.http(Listen(port=0), started=started.set_result))
    async with httpx2.AsyncClient(timeout=10) as http:
        client = Wire(http, await started)
        client.server = server
        yield client
    serving.cancel()
    await asyncio.wait({serving})
    await asyncio.sleep(0)
    assert server.running == 0


async def test_a_call_goes_on_as_a_task_and_its_result_is_fetched(wire):
    begun = await wire.call("compute", seconds=0.2)
    assert (begun["resultType"], begun["status"]) == ("task", "working")
    ended = await wire.until(begun["taskId"], "completed")
    assert ended["result"]["content"][0]["text"] == "computed"
    failed = await wire.until((await wire.call("fail"))["taskId"], "completed")
    assert failed["result"]["isError"] is True
    assert "It did not work." in failed["result"]["content"][0]["text"]


async def test_a_task_is_cancelled_and_again_without_harm(wire):
    task = (await wire.call("compute", seconds=60))["taskId"]
    for _ in range(2):
        assert (await wire("tasks/cancel", taskId=task))["result"]["resultType"] == "complete"
        assert (await wire.until(task, "cancelled"))["status"] == "cancelled"


async def test_a_task_that_asks_waits_until_everything_is_answered(wire):
    task = (await wire.call("ask"))["taskId"]
    asked = await wire.until(task, "input_required")
    assert set(asked["inputRequests"]) == {"name", "sure"}
    wrong = await wire("tasks/update", taskId=task, inputResponses={"name": "Ada"})
    assert wrong["error"]["code"] == -32602
    name = {"action": "accept", "content": {"name": "Ada"}}
    await wire("tasks/update", taskId=task, inputResponses={"name": name, "other": 1})
    left = await wire.until(task, "input_required")
    assert set(left["inputRequests"]) == {"sure"}
    sure = {"action": "accept", "content": {"sure": True}}
    await wire("tasks/update", taskId=task, inputResponses={"sure": sure})
    ended = await wire.until(task, "completed")
    assert ended["result"]["content"][0]["text"] == "Hello, Ada."


async def test_a_tool_can_ask_before_it_becomes_a_task(wire):
    asked = await wire.call("ask_first")
    assert asked["resultType"] == "input_required"
    answers = {
        "name": {"action": "accept", "content": {"name": "Ada"}},
        "sure": {"action": "accept", "content": {"sure": True}},
    }
    state = asked["requestState"]
    again = await wire(
        "tools/call", name="ask_first", arguments={}, inputResponses=answers, requestState=state
    )
    ended = await wire.until(again["result"]["taskId"], "completed")
    assert ended["result"]["content"][0]["text"] == "Hello, Ada."


async def test_clients_that_know_no_tasks_wait_or_are_refused(wire):
    task = (await wire.call("compute", seconds=60))["taskId"]
    wire.knows = False
    assert (await wire.call("compute", seconds=0))["content"][0]["text"] == "computed"
    for method, params in (("tools/call", {"name": "fail"}), ("tasks/get", {"taskId": task})):
        error = (await wire(method, **params))["error"]
        assert error["code"] == -32021
        assert error["data"]["requiredCapabilities"]["extensions"] == {EXTENSION: {}}


async def test_tasks_are_found_by_their_id_only_and_bounded(wire):
    assert (await wire("tasks/get", taskId="guessed"))["error"]["code"] == -32602
    task = (await wire.call("compute", seconds=60))["taskId"]
    assert (await wire("tasks/get", named="another", taskId=task))["error"]["code"] == -32020
    for _ in range(4):
        await wire.call("compute", seconds=60)
    full = await wire("tools/call", name="compute", arguments={"seconds": 60})
    assert "5 tasks already" in full["error"]["message"]


async def bob(_: Any) -> rc.Rewrite:
    return rc.Rewrite({"name": "Bob", "sure": True})


async def test_our_own_client_follows_a_task_to_its_end(wire):
    async with connect(wire.address, protocol="newest", approve=bob) as server:
        assert await server.call("compute", {"seconds": 0.1}) == "computed"
        assert await server.call("ask") == "Hello, Bob."
        with pytest.raises(rc.ToolFailure, match="It did not work"):
            await server.call("fail")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await server.call("compute", {"seconds": 60})
    task = (await wire.call("compute", seconds=0))["taskId"]
    await wire.until(task, "completed")
    async with asyncio.timeout(10):
        while wire.server.running:
            await asyncio.sleep(0.02)
