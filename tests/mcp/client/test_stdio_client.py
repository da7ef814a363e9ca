"""What is said to a server goes out whole and in order, however slowly it is read."""

import asyncio
import os
import time

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification

from rightcall.mcp.client.stdio_client import MOST_GARBAGE, IncomingMessages, OutgoingMessages, Pipe
from rightcall.mcp.jsonrpc_lines import Lines, encode_message


def message(name: str, size: int = 0) -> SessionMessage:
    params = {"text": "x" * size}
    return SessionMessage(JSONRPCNotification(jsonrpc="2.0", method=name, params=params))


async def test_what_a_pipe_does_not_take_at_once_goes_out_before_what_is_said_later():
    reading, writing = os.pipe()
    here, there = Pipe(reading), Pipe(writing)
    waiting, sent = anyio.create_memory_object_stream[bytes](1)
    outgoing = OutgoingMessages(there, waiting)

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
    wanted = b"".join(map(encode_message, messages))
    got = b""
    while len(got) < len(wanted):
        got += await asyncio.wait_for(here.receive(), 5)
    assert got == wanted
    await outgoing.send(message("fourth"))
    assert await here.receive() == encode_message(message("fourth"))
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
    outgoing = OutgoingMessages(there, waiting)
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


def incoming(limit: int = 1000) -> tuple[IncomingMessages, Pipe, int, list[str], list[str]]:
    """A stream, its pipe and the pipe's other end, why it ended, and what was no message."""
    reading, writing = os.pipe()
    ended: list[str] = []
    garbage: list[str] = []
    pipe = Pipe(reading)
    return (
        IncomingMessages(pipe, Lines(limit), ended.append, garbage.append),
        pipe,
        writing,
        ended,
        garbage,
    )


async def said_by(stream: IncomingMessages) -> list[str]:
    async with asyncio.timeout(10):
        return [each.message.method async for each in stream]


@pytest.mark.parametrize(
    ("said", "heard", "reason", "lines"),
    [
        (b"", [], "", []),
        (b"hello\n" + encode_message(message("one")), ["one"], "", ["hello"]),
        (
            encode_message(message("one")) + b"x" * 1001 + b"\n" + encode_message(message("two")),
            ["one"],
            "sent a message that is too long",
            [],
        ),
        (
            b"no\n" * (MOST_GARBAGE + 1) + encode_message(message("one")),
            [],
            f"sent more than {MOST_GARBAGE} lines that are no messages",
            ["no"] * (MOST_GARBAGE + 1),
        ),
    ],
    ids=["nothing", "a stray line", "a line too long", "too many stray lines"],
)
async def test_what_a_server_says_is_read_until_it_says_too_much(said, heard, reason, lines):
    stream, pipe, writing, ended, garbage = incoming()
    os.write(writing, said)
    os.close(writing)
    assert await said_by(stream) == heard
    assert (ended, garbage) == ([reason], lines)
    with pytest.raises(anyio.EndOfStream):
        await stream.receive()
    pipe.close()


async def test_a_flood_of_messages_lets_others_run():
    stream, pipe, writing, *_ = incoming()
    os.write(writing, encode_message(message("one")) * 500)
    os.close(writing)
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    turning = asyncio.create_task(turn())
    assert len(await said_by(stream)) == 500
    assert turns > 400
    turning.cancel()
    pipe.close()


async def test_a_pipe_that_cannot_be_read_ends_the_stream():
    stream, pipe, writing, ended, _ = incoming()
    os.close(writing)
    pipe.close()
    with pytest.raises(anyio.EndOfStream):
        await stream.receive()
    assert ended == ["cannot be read from: Bad file descriptor"]
