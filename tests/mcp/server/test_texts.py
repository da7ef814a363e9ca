"""Recorded runs over MCP: as tools, and as resources to read."""

import json

import pytest
from mcp.shared.exceptions import MCPError

import rightcall as rc
from mcp import Client
from rightcall.mcp.server.tool_server import ToolServer
from rightcall.serve.studio.runs_as_tools import RunTools, address_of
from studio import stories


@pytest.fixture
async def runs(tmp_path):
    with rc.record.SqliteJournal(tmp_path / "runs.sqlite") as journal:
        await stories.looked(journal)
        await stories.paused(journal)
        found = RunTools(journal)
        yield found
        await found.close()


async def test_an_agent_elsewhere_lists_searches_and_reads_runs(runs):
    server = ToolServer(list(runs.tools()), resources=[runs])
    async with Client(server.sdk) as client:
        listed = await client.call_tool("search_runs", {"words": "cake"})
        resources = (await client.list_resources()).resources
        read = await client.read_resource(address_of("looked"))
        with pytest.raises(MCPError, match="nothing at this address"):
            await client.read_resource("rightcall-run:///nobody")
    told = json.loads(json.loads(listed.content[0].text)["content"])
    assert [each["run"] for each in told["runs"]] == ["looked"]
    assert [each.name for each in resources] == ["paused", "looked"]
    assert "Both are there." in read.contents[0].text
    assert read.contents[0].mime_type == "text/markdown"


async def test_a_server_without_texts_offers_no_resources(runs):
    async with Client(ToolServer(list(runs.tools())).sdk) as client:
        with pytest.raises(MCPError):
            await client.list_resources()
