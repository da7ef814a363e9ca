"""A thread that puts and a task that takes."""

import asyncio
import threading

import pytest

from rightcall.local.engines.in_process import ThreadChannel


def fill(channel, items, error=None):
    done = []

    def work():
        done.extend(channel.put(item) for item in items)
        channel.end(error)

    thread = threading.Thread(target=work)
    thread.start()
    return thread, done


async def everything(channel):
    found = []
    while (items := await channel.take()) is not None:
        found += items
    return found


async def test_everything_comes_in_order_and_then_the_end():
    channel = ThreadChannel(asyncio.get_running_loop())
    thread, done = fill(channel, range(2000))
    assert await everything(channel) == [*range(2000)]
    thread.join()
    assert all(done)


async def test_a_thread_that_is_far_ahead_waits():
    channel = ThreadChannel(asyncio.get_running_loop(), limit=3)
    thread, done = fill(channel, range(100))
    while len(done) < 3:
        await asyncio.sleep(0)
    first = await channel.take()
    assert first == [0, 1, 2]
    assert first + await everything(channel) == [*range(100)]
    thread.join()


async def test_what_went_wrong_comes_after_what_went_right():
    channel = ThreadChannel(asyncio.get_running_loop())
    thread, _ = fill(channel, [1, 2], ValueError("broken"))
    thread.join()
    assert await channel.take() == [1, 2]
    with pytest.raises(ValueError, match="broken"):
        await channel.take()


async def test_a_thread_that_waits_is_told_when_the_reader_leaves():
    channel = ThreadChannel(asyncio.get_running_loop(), limit=1)
    thread, done = fill(channel, range(10))
    assert await channel.take() == [0]
    channel.leave()
    thread.join(timeout=10)
    assert not thread.is_alive()
    assert done[-1] is False


def test_a_thread_is_told_when_the_event_loop_has_closed():
    loop = asyncio.new_event_loop()
    channel = ThreadChannel(loop)
    loop.close()
    assert channel.put("a") is False


async def test_only_the_first_end_counts():
    channel = ThreadChannel(asyncio.get_running_loop())
    channel.end(ValueError("first"))
    channel.end()
    with pytest.raises(ValueError, match="first"):
        await channel.take()
