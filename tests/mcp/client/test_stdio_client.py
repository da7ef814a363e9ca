"""What is said to a server goes out whole and in order, however slowly it is read."""

import asyncio
import os
import time

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification

from rightcall.mcp.client.launch import Pipe
from rightcall.mcp.client.stdio_client import Outgoing
from rightcall.mcp.framing import encode


def message(name: str, size: int = 0) -> SessionMessage:
    params = {"text": "x" * size}
    return SessionMessage(JSONRPCNotification(jsonrpc="2.0", method=name, params=params))


async def test_what_a_pipe_does_not_take_at_once_goes_out_before_what_is_said_later():
    reading, writing = os.pipe()
    here, there = Pipe(reading), Pipe(writing)
    waiting, sent = anyio.create_memory_object_stream[bytes](1)
    outgoing = Outgoing(there, waiting)

    async def write() -> None:
        async for rest in sent:
            await there.send(rest)
            outgoing.caught_up()

    messages = [message("first"), message("large", 300_000), message("second"), message("third")]
    given_up = message("given up", 300_000)
    # Nobody reads and nobody writes yet: the large one is half in the pipe, the next ones wait.
    await outgoing.send(messages[0])
    await outgoing.send(messages[1])
    saying = [asyncio.create_task(outgoing.send(each)) for each in (*messages[2:], given_up)]
    await asyncio.sleep(0)
    saying[-1].cancel()
    writer = asyncio.create_task(write())
    wanted = b"".join(map(encode, messages))
    got = b""
    while len(got) < len(wanted):
        got += await asyncio.wait_for(here.receive(), 5)
    assert got == wanted
    await outgoing.send(message("fourth"))
    assert await here.receive() == encode(message("fourth"))
    outgoing.close()
    await writer
    with pytest.raises(anyio.ClosedResourceError):
        await outgoing.send(message("late"))
    sent.close()
    here.close()
    there.close()


async def test_a_pipe_that_nobody_reads_any_more_is_broken_for_whoever_speaks_next():
    reading, writing = os.pipe()
    os.close(reading)
    there = Pipe(writing)
    waiting, sent = anyio.create_memory_object_stream[bytes](1)
    outgoing = Outgoing(there, waiting)
    await outgoing.send(message("first"))
    with pytest.raises(anyio.BrokenResourceError):
        await outgoing.send(message("second"))
    outgoing.close()
    sent.close()
    there.close()


async def test_a_pipe_is_not_read_and_not_watched_while_nobody_wants_anything():
    reading, writing = os.pipe()
    here = Pipe(reading)
    first = asyncio.create_task(here.receive())
    await asyncio.sleep(0)
    os.write(writing, b"one")
    assert await first == b"one"
    os.write(writing, b"two")
    began = time.process_time()
    await asyncio.sleep(0.1)
    assert time.process_time() - began < 0.05
    assert await here.receive() == b"two"
    os.close(writing)
    assert await asyncio.wait_for(here.receive(), 5) == b""
    here.close()
