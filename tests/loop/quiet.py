"""What a run must leave behind: nothing."""

import asyncio
from collections.abc import AsyncIterator

import pytest_asyncio

from toolwright.execute import drive, threads


def assert_nothing_is_left() -> None:
    """No task but this one is alive, and no thread or coroutine was given up."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    assert not tasks, f"tasks are left: {tasks}"
    assert (threads.current().abandoned, drive.adrift()) == (0, 0)


@pytest_asyncio.fixture
async def nothing_is_left() -> AsyncIterator[None]:
    """Fails a test that leaves tasks, threads or coroutines behind."""
    yield
    assert_nothing_is_left()
