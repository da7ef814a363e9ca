"""What a served tool promises is checked beside the event loop, and within the tool's time."""

import threading
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, PlainSerializer

import rightcall as rc
from mcp import Client
from rightcall.mcp.server.tool_server import ToolServer
from watchdog import LONGEST, stall_of


class Many(BaseModel):
    numbers: list[float]


async def answer(tool: rc.Tool) -> tuple[bool, str]:
    async with Client(ToolServer([tool]).sdk, mode="legacy") as client:
        result = await client.call_tool(tool.name, {})
    return result.is_error, result.content[0].text


async def test_a_large_value_is_held_to_its_type_and_the_loop_turns():
    value = Many(numbers=[0.5] * 400_000)

    @rc.tool
    async def many() -> Many:
        """Many numbers."""
        return value

    async def scenario() -> None:
        words = "many ran, but what it returned is longer than 65,536 bytes."
        assert await answer(many) == (True, words)

    assert await stall_of(scenario) < LONGEST


def written_by(do: Callable[[], int], timeout: float = 60.0) -> rc.Tool:
    hint = Annotated[int, PlainSerializer(lambda _: do(), return_type=int)]

    async def number() -> Any:
        return 1

    number.__annotations__["return"] = hint
    return rc.tool(number, description="A number.", limits=rc.Limits(timeout=timeout))


async def test_a_type_that_hangs_when_it_is_written_is_over_at_the_deadline():
    go_on = threading.Event()
    tool = written_by(lambda: go_on.wait(5), timeout=0.15)

    async def scenario() -> None:
        is_error, words = await answer(tool)
        assert (is_error, words.partition(" and ")[0]) == (True, "number did not finish within 0.15 s")

    try:
        assert await stall_of(scenario) < LONGEST
    finally:
        go_on.set()


@pytest.mark.parametrize("error", [ValueError(), SystemExit(3), GeneratorExit()], ids=repr)
async def test_a_type_that_raises_when_it_is_written_is_a_failed_call(error):
    def leave() -> int:
        raise error

    is_error, words = await answer(written_by(leave))
    assert is_error
    assert words in {
        "number ran, but what it returned cannot be shown.",
        "number ran, but what it returned does not fit what it promises.",
    }
    assert await answer(written_by(lambda: 2)) == (False, "1")
