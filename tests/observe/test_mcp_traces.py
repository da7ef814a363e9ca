"""A trace goes on behind MCP, both ways, in a real process of the server's own."""

import sys
from pathlib import Path

import pytest
from mcp_types import RequestParamsMeta

import rightcall as rc
from rightcall.process.runner import keepers
from rightcall.testing import ScriptedModel, call, reply

pytest.importorskip("mcp")
from mcp import Client, StdioServerParameters


@pytest.fixture(autouse=True)
def _no_process_left():
    yield
    keepers().close()


SERVING = str(Path(__file__).parent / "serving.py")


async def test_our_client_takes_the_trace_to_a_server(kept):
    model = ScriptedModel([reply(call("where")), "There."])
    async with rc.mcp.connect([sys.executable, SERVING], name="where") as server:
        agent = rc.Agent(model, server, observers=[kept.observer()])
        result = await agent.run("Where?")
    seen = kept.span("execute_tool where").context
    assert f"{seen.trace_id:032x}-{seen.span_id:016x}" in result.calls[0].result.text


async def test_our_server_takes_up_the_trace_of_any_client():
    served = StdioServerParameters(command=sys.executable, args=[SERVING])
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    async with Client(served) as client:
        meta: RequestParamsMeta = {"traceparent": parent}
        answer = await client.call_tool("where", {}, meta=meta)
    assert "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331" in str(answer.content)
