"""Servers that ask, in the ways of both protocols: what works by which, and what is said where not."""

from pathlib import Path

import pytest

import warm
from rightcall.core.decision import FinalDecision, Rewrite
from rightcall.core.proposal import Proposal
from rightcall.errors import ToolFailure
from rightcall.mcp import Sampling, Server, connect
from rightcall.testing import ScriptedModel

TOOLS = {
    "by_request": "bob",
    "by_either": "bob",
    "by_result": "bob",
    "of_a_model": "mop",
    "for_folders": "1",
}


async def bob(_: Proposal) -> FinalDecision:
    return Rewrite({"name": "bob"})


def asker(*arguments: str, **options: object) -> Server:
    program = [*warm.python(*warm.MCP), str(Path(__file__).with_name("asker.py")), *arguments]
    sampling = Sampling(model=ScriptedModel(["mop"] * 3))
    given = {"approve": bob, "sampling": sampling, "roots": ["/"], **options}
    return connect(program, name="asker", **given)  # type: ignore[arg-type]


async def answers(server: Server) -> dict[str, str]:
    found = {}
    for name in TOOLS:
        try:
            found[name] = await server.call(name)
        except ToolFailure as failure:
            found[name] = failure.message
    return found


async def test_whatever_a_server_speaks_it_can_ask():
    async with asker() as server:
        assert server.protocol_version == "2025-11-25"
        assert await answers(server) == TOOLS
        # The second time, it is known how each of them asks.
        assert await answers(server) == TOOLS


async def test_a_server_that_speaks_the_newest_protocol_only_is_spoken_to_in_that():
    async with asker("modern") as server:
        assert server.protocol_version == "2026-07-28"
        assert await server.call("by_result") == "bob"


async def test_each_protocol_alone_does_what_it_can_and_says_what_it_cannot():
    async with asker(protocol="legacy") as server:
        said = await answers(server)
        assert "only exists at MCP 2026-07-28" in said.pop("by_result")
        assert said.items() <= TOOLS.items()
    async with asker(protocol="newest") as server:
        said = await answers(server)
        for name in ("by_request", "of_a_model", "for_folders"):
            assert said.pop(name).startswith("It wanted to ask a person, a model")
        assert said.items() <= TOOLS.items()
        assert any("protocol='auto' or 'legacy'" in note.text for note in server.notes)


async def test_without_anything_to_ask_for_the_newest_protocol_is_spoken():
    async with asker(approve=None, sampling=None, roots=[]) as server:
        assert server.protocol_version == "2026-07-28"
        with pytest.raises(ToolFailure, match="Do without it"):
            await server.call("by_request")
