"""What a run must leave behind: nothing."""

import asyncio
from collections.abc import AsyncIterator

import pytest_asyncio

from rightcall.gate import concurrency


def assert_nothing_is_left() -> None:
    """No task but this one is alive; a coroutine that was given up would be one, too."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    assert not tasks, f"tasks are left: {tasks}"


@pytest_asyncio.fixture
async def nothing_is_left() -> AsyncIterator[None]:
    """Fails a test that leaves tasks or threads behind."""
    before = concurrency.tool_threads().abandoned_count
    yield
    assert_nothing_is_left()
    assert concurrency.tool_threads().abandoned_count <= before
