"""A megabyte that unpacks to a gigabyte: others go on, time limits hold, and it ends with an error."""

import asyncio
import gzip
import time
import tracemalloc
import zlib
from contextlib import asynccontextmanager, suppress
from functools import cache

import aiohttp
import pytest

import rightcall as rc
from rightcall.core.transport import Timeouts
from rightcall.errors import ProtocolError, TransportTimeout
from rightcall.transport.http import HttpTransport
from serve.gateway.kit import gateway, place, served
from transport.raw import answering, posted, talking

SIZE = 200_000_000
MOST_GAP = 0.1
"""Seconds of CPU between two turns of another task: the machine may be busy with something else."""
UNBOUND = 10**9
STREAM = b"text/event-stream"
BODY = b"application/json"

UNITS = {
    "newlines": b"\n",
    "CRLF": b"\r\n",
    "comments": b": x\n",
    "comments with blank lines": b":\n\n",
    "data without an end": b"data: x\n",
    "empty data": b"data:\n\n",
    "pings": b'event: ping\ndata: {"type": "ping"}\n\n',
    "one line": b"x",
}
FORMATS = {
    "gzip": (b"gzip", 31),
    "deflate": (b"deflate", zlib.MAX_WBITS),
    "deflate without a header": (b"deflate", -zlib.MAX_WBITS),
}


@cache
def squeezed(unit: bytes, bits: int = 31, size: int = SIZE) -> bytes:
    """As many of one piece, compressed."""
    squeeze = zlib.compressobj(9, wbits=bits)
    block = unit * (1_000_000 // len(unit))
    parts = [squeeze.compress(block) for _ in range(size // len(block))]
    return b"".join([*parts, squeeze.flush()])


def reply(body: bytes, coding: bytes = b"gzip", kind: bytes = STREAM) -> bytes:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\ncontent-encoding: %s\r\n" % (kind, coding)
    return head + b"content-length: %d\r\n\r\n" % len(body) + body


class Gauge:
    """How long another task has waited for its turn."""

    longest = 0.0

    async def turn(self) -> None:
        last = time.thread_time()
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            self.longest = max(self.longest, now - last)
            last = now


@asynccontextmanager
async def gauged():
    gauge = Gauge()
    turning = asyncio.create_task(gauge.turn())
    try:
        yield gauge
    finally:
        turning.cancel()


@asynccontextmanager
async def agent_of(data: bytes, name: str = "openai:m", ratio: int | None = None, **options: object):
    """An agent whose vendor answers like this."""
    carrier = HttpTransport() if ratio is None else HttpTransport(unpack_ratio=ratio)
    async with talking(answering(data)) as place:
        model = rc.connect(name, base_url=f"http://{place}/v1", api_key="no-key", transport=carrier)
        try:
            yield rc.Agent(model, **options)
        finally:
            await model.close()


@pytest.mark.parametrize("name", ["openai:m", "anthropic:m", "gemini:m", "ollama:m"])
@pytest.mark.parametrize("kind", [STREAM, BODY])
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
async def test_what_unpacks_to_a_hundred_times_its_size_ends_with_an_error(unit, kind, name):
    data = reply(squeezed(unit), kind=kind)
    async with agent_of(data, name) as agent, asyncio.timeout(5), gauged() as gauge:
        with pytest.raises(ProtocolError, match="unpacks to more than 100 times its size"):
            await agent.run("Hello.")
    assert gauge.longest < MOST_GAP


@pytest.mark.parametrize(("coding", "bits"), FORMATS.values(), ids=FORMATS)
async def test_so_it_is_with_every_compression_that_is_asked_for(coding, bits, transport):
    data = reply(squeezed(b"\n", bits), coding)
    async with talking(answering(data)) as place, gauged() as gauge:
        with pytest.raises(ProtocolError, match=r"1,\d\d\d,\d\d\d bytes from 1,\d\d\d"):
            await posted(transport, f"http://{place}/")
    assert gauge.longest < MOST_GAP


async def test_the_bound_can_be_set():
    plain = b"\n" * 3_000_000
    data = reply(gzip.compress(plain))
    async with talking(answering(data)) as place:
        for ratio, is_taken in ((1_100, True), (500, False)):
            carrier = HttpTransport(unpack_ratio=ratio)
            if is_taken:
                assert await posted(carrier, f"http://{place}/") == (200, plain)
            else:
                with pytest.raises(ProtocolError, match="500 times"):
                    await posted(carrier, f"http://{place}/")
            await carrier.close()


async def test_a_small_body_may_unpack_to_any_size_times_its_own(transport):
    plain = b" " * 1_000_000
    async with talking(answering(reply(gzip.compress(plain)))) as place:
        assert await posted(transport, f"http://{place}/") == (200, plain)


@pytest.mark.parametrize("kind", [STREAM, BODY])
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
async def test_a_budget_holds_while_a_stream_is_unpacked(unit, kind):
    budget = rc.Budget(seconds=0.2)
    data = reply(squeezed(unit), kind=kind)
    async with agent_of(data, ratio=UNBOUND, budget=budget) as agent, gauged() as gauge:
        began = time.thread_time()
        with suppress(ProtocolError):  # of 64 MiB, if those are there in time
            assert (await agent.run("Hello.")).stop.reason == "limit"
        assert time.thread_time() - began < 0.7
    assert gauge.longest < MOST_GAP


async def test_a_cancellation_holds_while_a_stream_is_unpacked():
    async with agent_of(reply(squeezed(b"\n")), ratio=UNBOUND) as agent:
        began = time.thread_time()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(agent.run("Hello."), 0.1)
        assert time.thread_time() - began < 0.5


async def test_the_time_for_the_whole_reply_holds_while_it_is_unpacked():
    carrier = HttpTransport(unpack_ratio=UNBOUND)
    async with talking(answering(reply(squeezed(b"\n")))) as place:
        with pytest.raises(TransportTimeout, match=r"not complete within 0\.1 s"):
            await posted(carrier, f"http://{place}/", timeouts=Timeouts(whole=0.1))
    await carrier.close()


async def test_a_stream_of_comments_leaves_others_their_turn():
    """Without compression: it is as long as it says, and costs what reading it costs."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
    data = head + b":\n\n" * 10_000_000
    async with agent_of(data, budget=rc.Budget(seconds=0.2)) as agent, gauged() as gauge:
        result = await agent.run("Hello.")
        assert result.stop.reason == "limit"
    assert gauge.longest < MOST_GAP


LINES = {
    "comments": b": ping\n",
    "data": b"data: x\n",
    "empty data": b"data:\n",
    "names": b"event: a\n",
}


def lines_of(line: bytes, end: bytes, parts: int = 40) -> list[bytes]:
    """A reply that is one event of so many MB, in parts."""
    part = line * (1_000_000 // len(line))
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
    length = b"content-length: %d\r\n\r\n" % (parts * len(part) + len(end))
    return [head + length, *[part] * parts, end]


@pytest.mark.parametrize("end", [b"", b"\n\n"], ids=["cut off", "ended"])
@pytest.mark.parametrize("name", ["openai:m", "anthropic:m"])
@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
async def test_an_event_of_millions_of_lines_leaves_others_their_turn(line, name, end):
    async with talking(answering(*lines_of(line, end))) as there, gauged() as gauge:
        model = rc.connect(name, base_url=f"http://{there}/v1", api_key="no-key")
        async with model:
            agent = rc.Agent(model, budget=rc.Budget(seconds=2))
            began = time.monotonic()
            with suppress(ProtocolError):
                await agent.run("Hello.")
            assert time.monotonic() - began < 4
    assert gauge.longest < MOST_GAP


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
async def test_so_it_is_with_one_that_is_compressed(line):
    data = reply(squeezed(line, size=60_000_000))
    async with agent_of(data, ratio=UNBOUND, budget=rc.Budget(seconds=2)) as agent, gauged() as gauge:
        with suppress(ProtocolError):
            await agent.run("Hello.")
    assert gauge.longest < MOST_GAP


async def test_while_a_gateway_reads_one_its_health_is_told():
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello."}], "stream": True}
    async with talking(answering(*lines_of(b": ping\n", b"\n\n", 16))) as vendor:
        models = {"m": served(place("openai_chat", f"http://{vendor}"))}
        async with gateway(models) as (_, url), aiohttp.ClientSession() as client, gauged() as gauge:

            async def ask() -> None:
                async with client.post(f"{url}/v1/chat/completions", json=body) as answer:
                    await answer.read()

            asking = asyncio.create_task(ask())
            looks = 0
            while not asking.done():
                async with client.get(f"{url}/health") as health:
                    assert health.status == 200
                looks += 1
            await asking
            assert looks > 2
    assert gauge.longest < MOST_GAP


HALF = b'data: {"a":"\\ud83d"}\n\n'


@pytest.mark.parametrize("name", ["openai:m", "anthropic:m", "gemini:m"])
async def test_events_that_must_be_mended_leave_others_their_turn(name):
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
    parts = [head, *[HALF * 40_000] * 10]
    async with talking(answering(*parts)) as there, gauged() as gauge:
        model = rc.connect(name, base_url=f"http://{there}/v1", api_key="no-key")
        async with model:
            result = await rc.Agent(model, budget=rc.Budget(seconds=0.5)).run("Hello.")
    assert result.stop.reason == "limit"
    assert gauge.longest < 2 * MOST_GAP


PARTS = b'"z":[' + b"[]," * 1_200_000 + b"1]"
OF_PARTS = {
    "a reply": (b"200 OK", BODY, b'{"choices":[],%s}'),
    "an error": (b"429 No", BODY, b'{"error":{"message":"no",%s}}'),
    "a reply in place of a stream": (b"200 OK", STREAM, b'{"choices":[],%s}'),
    "an event": (b"200 OK", STREAM, b'event: ping\ndata: {"type":"ping",%s}\n\n'),
}


@pytest.mark.parametrize("name", ["openai:m", "openai-responses:m", "anthropic:m", "gemini:m"])
@pytest.mark.parametrize(("status", "kind", "body"), OF_PARTS.values(), ids=OF_PARTS)
async def test_a_reply_of_very_many_parts_is_refused_before_they_are_built(status, kind, body, name):
    """Ten million empty arrays, 0.3 MB of compressed bytes, took two seconds."""
    body = body.replace(b"%s", PARTS)
    head = b"HTTP/1.1 %s\r\ncontent-type: %s\r\ncontent-length: %d\r\n\r\n" % (status, kind, len(body))
    async with agent_of(head + body, name) as agent, gauged() as gauge:
        with pytest.raises(ProtocolError, match="more than 1,000,000 parts"):
            await agent.run("Hello.")
    assert gauge.longest < MOST_GAP


MEMBER = gzip.compress(b"", mtime=0)
NOTHING = {
    "members": MEMBER * 50_000,
    "a name": MEMBER[:3] + b"\x08" + MEMBER[4:10] + b"a" * 1_000_000 + b"\0" + MEMBER[10:],
    "blocks": MEMBER[:10] + b"\0\0\0\xff\xff" * 200_000 + MEMBER[10:],
}


@pytest.mark.parametrize("body", NOTHING.values(), ids=NOTHING)
async def test_what_unpacks_to_nothing_leaves_others_their_turn(body, transport):
    async with talking(answering(reply(body))) as place, gauged() as gauge:
        assert await posted(transport, f"http://{place}/") == (200, b"")
    assert gauge.longest < MOST_GAP


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
async def test_behind_a_gateway_it_leaves_other_clients_their_turn(unit):
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello."}], "stream": True}
    async with talking(answering(reply(squeezed(unit)))) as vendor:
        models = {"m": served(place("openai_chat", f"http://{vendor}"))}
        async with gateway(models) as (_, url), aiohttp.ClientSession() as client, gauged() as gauge:
            async with client.post(f"{url}/v1/chat/completions", json=body) as answer:
                said = await answer.read()
            assert answer.status >= 500 or b"error" in said
    assert gauge.longest < MOST_GAP


async def test_no_more_is_in_memory_than_is_read_at_once():
    data = reply(squeezed(b":\n\n", size=60_000_000))
    carrier = HttpTransport(unpack_ratio=UNBOUND)
    async with talking(answering(data)) as place:
        limits = Timeouts()
        async with carrier.post(f"http://{place}/", headers={}, body=b"x", timeouts=limits) as incoming:
            tracemalloc.start()
            try:
                size = 0
                async for chunk in incoming.chunks:
                    size += len(chunk)
                assert size > 59_000_000
                assert tracemalloc.get_traced_memory()[1] < 2_000_000
            finally:
                tracemalloc.stop()
    await carrier.close()
