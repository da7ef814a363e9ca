"""Requests of megabytes, to servers that refuse them, hang up, or take their time."""

import asyncio

import pytest

from rightcall.core.transport import Timeouts
from rightcall.errors import TransportError, TransportTimeout
from transport.raw import posted, talking

MEGABYTES = bytes(20_000_000)


async def test_a_refusal_counts_although_the_server_closes_without_reading(transport):
    async def refuses(_, writer) -> None:
        writer.write(b"HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\nbig")

    async with talking(refuses) as place, asyncio.timeout(10):
        for _ in range(3):
            assert await posted(transport, f"http://{place}/", MEGABYTES) == (413, b"big")


async def test_a_server_that_hangs_up_is_sent_no_more(transport, caplog):
    async def hangs_up(_, writer) -> None:
        writer.transport.abort()

    async with talking(hangs_up) as place, asyncio.timeout(10):
        with pytest.raises(TransportError, match="the connection was closed before a reply"):
            await posted(transport, f"http://{place}/", MEGABYTES)
    assert caplog.records == []


async def test_a_body_that_is_being_taken_is_not_late(transport):
    async def slow(reader, writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for _ in range(10):
            await reader.readexactly(1_000_000)
            await asyncio.sleep(0.1)
        await reader.readexactly(len(MEGABYTES) - 10_000_000)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")

    async with talking(slow) as place, asyncio.timeout(30):
        limits = Timeouts(first_byte=0.7)
        assert await posted(transport, f"http://{place}/", MEGABYTES, limits) == (200, b"ok")


async def test_a_body_that_is_not_taken_is_late(transport):
    async def idle(_, writer) -> None:
        await asyncio.sleep(3600)

    async with talking(idle) as place, asyncio.timeout(10):
        with pytest.raises(TransportTimeout, match=r"no reply within 0\.2 s"):
            await posted(transport, f"http://{place}/", MEGABYTES, Timeouts(first_byte=0.2))
