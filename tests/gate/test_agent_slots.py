"""Calls that wait for calls of their own have slots of their own, as many as the others."""

import asyncio

import pytest

import rightcall as rc
from gate.test_executor_limits import Crowd, calls, run


@pytest.mark.parametrize("concurrency", [1, 2, 5])
async def test_no_more_agents_run_at_once_than_other_calls(concurrency):
    crowd = Crowd()
    helper = rc.Tool("visit", "", handler=crowd.visit, limits=rc.Limits(concurrency=None)).replace(
        delegates=True
    )
    await run(rc.gate.Executor(concurrency=concurrency), calls(*["visit"] * 10), helper)
    assert crowd.most == concurrency


async def test_an_agent_that_waits_takes_no_place_from_those_it_waits_for():
    release = asyncio.Event()

    async def wait() -> None:
        await release.wait()

    async def free() -> None:
        release.set()

    helper = rc.Tool("wait", "", handler=wait).replace(delegates=True)
    done = await run(
        rc.gate.Executor(concurrency=1), calls("wait", "free"), helper, rc.Tool("free", "", handler=free)
    )
    assert [each.outcome.kind for each in done] == ["returned", "returned"]


async def test_agents_of_two_names_wait_for_each_other_no_more_than_for_others():
    crowd = Crowd()
    tools = [rc.Tool(name, "", handler=crowd.visit).replace(delegates=True) for name in ("a", "b")]
    await run(rc.gate.Executor(concurrency=1), calls("a", "a", "b", "b"), *tools)
    assert crowd.most == 2
