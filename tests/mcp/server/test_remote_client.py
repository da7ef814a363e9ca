import asyncio

from rightcall.core.handler import CallProgress
from rightcall.mcp.server.remote_client import ProgressSender


async def test_what_is_said_while_one_is_under_way_replaces_what_waited():
    sent, may_go_on = [], asyncio.Event()

    async def send(done, total, text):
        sent.append((done, total, text))
        await may_go_on.wait()

    sender = ProgressSender(send)
    sender.tell(CallProgress("c", 1, 9, "one"))
    await asyncio.sleep(0)
    for done in (2, 3, 4):
        sender.tell(CallProgress("c", done, 9, str(done)))
    may_go_on.set()
    await sender.finish()
    assert sent == [(1, 9, "one"), (4, 9, "4")]


async def test_a_number_that_does_not_grow_is_not_sent():
    sent = []

    async def send(done, *_):
        sent.append(done)

    sender = ProgressSender(send)
    for done in (1, 1, 0.5, float("nan"), 2):
        sender.tell(CallProgress("c", done))
        await sender.finish()
    assert sent == [1, 2]


async def test_a_stopped_sender_sends_nothing_more():
    sent, never = [], asyncio.Event()

    async def send(done, *_):
        sent.append(done)
        await never.wait()

    sender = ProgressSender(send)
    sender.tell(CallProgress("c", 1))
    await asyncio.sleep(0)
    sender.tell(CallProgress("c", 2))
    await sender.stop()
    assert sent == [1]


async def test_without_a_word_there_is_nothing_to_wait_for():
    async def send(*_):
        raise AssertionError

    await ProgressSender(send).finish()
    await ProgressSender(send).stop()
