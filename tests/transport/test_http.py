"""Requests over loopback, as servers of all kinds answer them: whole, late, too early, cut, or never."""

import asyncio
import gc
import gzip
import subprocess
import sys
import time
import weakref
from contextvars import ContextVar

import pytest

from request.server import dropped, endless, head, serving, silent, streamed, whole
from rightcall.core.transport import SENDING, Timeouts
from rightcall.errors import TransportError, TransportTimeout, UsageError
from rightcall.transport import pool
from rightcall.transport.connection import HttpConnection
from rightcall.transport.http import HttpTransport
from transport.raw import answering, asked, posted, talking
from transport.test_http1 import REPLIES, UNTIL_CLOSED

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


async def until(is_so) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(5):
        while not is_so():
            await asyncio.sleep(0.01)


async def all_closed() -> None:
    """Wait until no connection of this event loop is left."""
    here = await pool.pool_here()
    await until(lambda: not here._connections)


async def test_requests_use_one_connection_until_it_is_closed():
    transport = HttpTransport()
    await transport.close()
    async with serving(whole(b"{}")) as server:
        for _ in range(2):
            assert await posted(transport, f"{server.url}/a") == (200, b"{}")
        async with transport.get(server.url, headers={}, timeouts=Timeouts()) as incoming:
            assert incoming.status == 200
        await transport.close()
        await until(lambda: server.open == 0)
    assert [path for path, _, _ in server.requests] == ["/a", "/a", "/"]
    assert server.connections == 1


async def test_it_tells_when_a_request_is_sent_and_not_when_there_is_nobody(transport):
    told = []
    noted = SENDING.set(lambda: told.append("sent"))
    try:
        with pytest.raises(TransportError):
            await posted(transport, "http://127.0.0.1:1/a")
        assert told == []
        async with serving(whole(b"{}")) as server:
            for _ in range(2):
                await posted(transport, f"{server.url}/a")
    finally:
        SENDING.reset(noted)
    assert told == ["sent", "sent"]


async def test_a_connection_keeps_nothing_of_the_run_that_opened_it(transport):
    class Belongings:
        """What a run has set for itself."""

    belongings: ContextVar[Belongings] = ContextVar("belongings")

    async def run(url: str) -> weakref.ref[Belongings]:
        mine = Belongings()
        belongings.set(mine)
        assert await posted(transport, url) == (200, b"ok")
        return weakref.ref(mine)

    async with talking(answering(OK)) as place:
        gone = await asyncio.create_task(run(f"http://{place}/"))
        here = await pool.pool_here()
        await until(lambda: gc.collect() >= 0 and gone() is None)
        assert len(here._connections) == 1


READY = """
import sys
import rightcall as rc

@rc.tool
def look(place: str) -> str:
    "What is there."
    return place

rc.Agent(rc.connect("ollama:m"), [look])
print({"aiohappyeyeballs", "aiohttp", "httptools"} & set(sys.modules))
"""


def test_an_agent_is_ready_without_an_http_library():
    done = subprocess.run([sys.executable, "-c", READY], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("/model/a.claude-v2%3A1/invoke", "/model/a.claude-v2%3A1/invoke"),
        ("/a%2Fb/c?x=%2B%20%41&y=1+2", "/a%2Fb/c?x=%2B%20%41&y=1+2"),
        ("/a b/é", "/a%20b/%C3%A9"),
    ],
)
async def test_an_address_is_sent_as_it_was_signed(written, sent, transport):
    async with serving(whole(b"{}")) as server:
        await posted(transport, server.url + written, b"")
        assert [target for target, _, _ in server.requests] == [sent]


@pytest.mark.parametrize("name", [name for name in REPLIES if not name.startswith("not modified")])
async def test_a_reply_that_comes_byte_by_byte_is_whole(name, transport):
    data, (status, headers, body, keeps_alive) = REPLIES[name]
    async with talking(answering(*[data[at : at + 1] for at in range(len(data))])) as place:
        for _ in range(2):
            url = f"http://{place}/"
            async with transport.post(url, headers={}, body=b"x", timeouts=Timeouts()) as incoming:
                assert (incoming.status, incoming.headers) == (status, headers)
                assert b"".join([chunk async for chunk in incoming.chunks]) == body
            kept = sum(map(len, (await pool.pool_here())._idle.values()))
            assert kept == keeps_alive


@pytest.mark.parametrize("data", UNTIL_CLOSED.values(), ids=UNTIL_CLOSED)
async def test_a_reply_without_a_length_ends_with_its_connection(data, transport):
    async def talk(reader, writer) -> None:
        await asked(reader)
        writer.write(data)

    async with talking(talk) as place:
        for _ in range(2):
            assert await posted(transport, f"http://{place}/") == (200, b"hello")


async def test_a_body_of_megabytes_arrives_whole(transport):
    body = bytes(range(256)) * 40_000
    async with serving(whole(b"{}")) as server:
        for _ in range(2):
            await posted(transport, server.url, body)
    assert [request[2] == body for request in server.requests] == [True, True]
    assert server.connections == 1


@pytest.mark.parametrize("ends", [False, True])
async def test_a_reply_that_comes_before_the_body_is_sent_counts(ends, transport):
    async def refuses(reader, writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\nbig")
        await writer.drain()
        if ends:
            writer.write_eof()
        await asyncio.sleep(3600)

    async with talking(refuses) as place, asyncio.timeout(10):
        assert await posted(transport, f"http://{place}/", bytes(50_000_000)) == (413, b"big")
        assert not any((await pool.pool_here())._idle.values())


async def test_a_request_that_was_sent_is_not_kept_while_the_server_thinks(transport):
    has_come, is_ready = asyncio.Event(), asyncio.Event()

    async def think(reader, writer):
        await asked(reader)
        has_come.set()
        await is_ready.wait()
        writer.write(OK)

    body = bytes(1000)
    async with talking(think) as place:
        exchange = transport.post(f"http://{place}/", headers={}, body=body, timeouts=Timeouts())
        entering = asyncio.create_task(exchange.__aenter__())
        await has_come.wait()
        here_and_counting = 2
        assert sys.getrefcount(body) == here_and_counting
        is_ready.set()
        assert (await entering).status == 200
        await exchange.__aexit__()


async def test_a_connection_that_the_server_closed_is_not_used_again(transport):
    async def once(reader, writer) -> None:
        await asked(reader)
        writer.write(OK)

    async with talking(once) as place:
        for _ in range(3):
            assert await posted(transport, f"http://{place}/") == (200, b"ok")
            await all_closed()


async def test_one_lost_before_a_byte_of_the_reply_says_so(transport):
    async with serving(whole(b"{}"), dropped) as server:
        await posted(transport, server.url)
        with pytest.raises(TransportError, match=r"^the connection was closed before a reply"):
            await posted(transport, server.url)
        assert server.connections == 1


async def test_bytes_that_nobody_asked_for_end_the_connection(transport):
    served = 0

    async def chatty(reader, writer) -> None:
        nonlocal served
        served += 1
        await asked(reader)
        writer.write(OK)
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil")
        await asked(reader)

    async with talking(chatty) as place:
        for number in range(2):
            assert await posted(transport, f"http://{place}/") == (200, b"ok")
            assert served == number + 1
            await all_closed()


CUT = {
    "a length": head() + b"content-length: 10\r\n\r\nhello",
    "a chunk": head() + b"transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\n",
    "no last chunk": head() + b"transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n",
    "no end of the last chunk": head() + b"transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
}


@pytest.mark.parametrize("data", CUT.values(), ids=CUT)
async def test_a_reply_that_is_cut_is_an_error_after_what_came(data, transport):
    async def talk(reader, writer) -> None:
        await asked(reader)
        writer.write(data)

    async with talking(talk) as place:
        url = f"http://{place}/"
        async with transport.post(url, headers={}, body=b"x", timeouts=Timeouts()) as incoming:
            assert await anext(incoming.chunks) == b"hello"
            with pytest.raises(TransportError, match="closed in the middle of the reply"):
                await anext(incoming.chunks)


async def test_a_connection_that_is_reset_is_an_error(transport):
    async def talk(reader, writer) -> None:
        await asked(reader)
        writer.write(head() + b"\r\nhello")
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.get_extra_info("socket").setsockopt(1, 13, b"\1\0\0\0\0\0\0\0")  # SO_LINGER: sends RST
        writer.transport.abort()

    async with talking(talk) as place:
        with pytest.raises(TransportError, match=r"closed in the middle of the reply: .*reset"):
            await posted(transport, f"http://{place}/")


async def test_what_is_no_http_is_an_error_and_the_connection_is_closed(transport):
    async with talking(answering(b"SSH-2.0-OpenSSH_9.6\r\n")) as place:
        with pytest.raises(TransportError, match="not HTTP"):
            await posted(transport, f"http://{place}/")
        await all_closed()


async def test_a_header_that_would_be_two_never_leaves(transport):
    async with serving(whole(b"{}")) as server:
        with pytest.raises(UsageError, match="not a header: 'x-a'"):
            async with transport.get(server.url, headers={"x-a": "b\r\nx: y"}, timeouts=Timeouts()):
                pass
        assert server.connections == 0


async def test_each_request_has_the_head_of_its_own(transport):
    """Only that of the last one is remembered, and only what is the same."""
    key = {"x-key": "a"}
    async with serving(whole(b"{}")) as server:
        for path, headers, body in (
            ("/a", key, b"1"),
            ("/a", key, b"22"),
            ("/a", {"x-key": "b"}, b"22"),
            ("/b", {"x-key": "b"}, b""),
        ):
            limits = Timeouts()
            async with transport.post(
                server.url + path, headers=headers, body=body, timeouts=limits
            ) as incoming:
                assert incoming.status == 200
            key["x-key"] = "c"
        async with transport.get(server.url + "/b", headers=key, timeouts=Timeouts()) as incoming:
            assert incoming.status == 200
    seen = [
        (path, sent["x-key"], sent.get("content-length"), body) for path, sent, body in server.requests
    ]
    assert seen == [
        ("/a", "a", "1", b"1"),
        ("/a", "c", "2", b"22"),
        ("/a", "b", "2", b"22"),
        ("/b", "b", "0", b""),
        ("/b", "c", None, b""),
    ]


async def test_what_is_compressed_streams(transport):
    squeeze = gzip.zlib.compressobj(wbits=31)
    pieces = [
        squeeze.compress(b"data: %d\n\n" % n) + squeeze.flush(gzip.zlib.Z_SYNC_FLUSH) for n in (1, 2)
    ]
    released = asyncio.Event()

    async def talk(reader, writer) -> None:
        await asked(reader)
        writer.write(head(content_encoding="gzip") + b"transfer-encoding: chunked\r\n\r\n")
        for piece in (*pieces, squeeze.flush()):
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await released.wait()
        writer.write(b"0\r\n\r\n")
        await asked(reader)

    async with talking(talk) as place:
        url = f"http://{place}/"
        async with transport.post(url, headers={}, body=b"x", timeouts=Timeouts()) as incoming:
            assert await anext(incoming.chunks) == b"data: 1\n\n"
            released.set()
            assert b"".join([chunk async for chunk in incoming.chunks]) == b"data: 2\n\n"
        assert any((await pool.pool_here())._idle.values())


PACKED = gzip.compress(b"hello")
MISPACKED = {
    "cut": (whole(PACKED[:-1], content_encoding="gzip"), "in the middle of what is compressed"),
    "not packed": (whole(b"hello", content_encoding="gzip"), "cannot be unpacked"),
    "not asked for": (whole(b"hello", content_encoding="br"), "not asked for"),
}


@pytest.mark.parametrize(("answer", "words"), MISPACKED.values(), ids=MISPACKED)
async def test_what_cannot_be_unpacked_is_an_error(answer, words, transport):
    async with serving(answer) as server:
        with pytest.raises(TransportError, match=words):
            await posted(transport, server.url)


async def test_a_slow_reader_pauses_the_sender(transport):
    sent = 0
    piece = bytes(64 * 1024)

    async def flood(reader, writer) -> None:
        nonlocal sent
        await asked(reader)
        writer.write(head() + b"\r\n")
        while not writer.is_closing():
            writer.write(piece)
            await writer.drain()
            sent += len(piece)

    async with talking(flood) as place:
        url = f"http://{place}/"
        async with transport.post(url, headers={}, body=b"x", timeouts=Timeouts()) as incoming:
            before = -1
            while before != sent:  # until the kernel's buffers are full
                before = sent
                await asyncio.sleep(0.2)
            first = len(await anext(incoming.chunks))
            assert first <= 512 * 1024
            size = first
            while size < 2 * before:
                size += len(await anext(incoming.chunks))


LATE = {
    "first byte": (silent, Timeouts(first_byte=0.1), "no reply within 0.1 s"),
    "between chunks": (
        streamed(b"a", b"b", pause=0.5),
        Timeouts(between_chunks=0.1),
        "no more of the reply within 0.1 s",
    ),
    "whole, before the reply": (silent, Timeouts(whole=0.1), "not complete within 0.1 s"),
    "whole, within it": (streamed(*[b"a"] * 99, pause=0.05), Timeouts(whole=0.2), "not complete within"),
    "whole, however much comes": (endless(bytes(100_000)), Timeouts(whole=0.2), "not complete within"),
}


@pytest.mark.parametrize(("answer", "timeouts", "words"), LATE.values(), ids=LATE)
async def test_what_takes_too_long_is_a_timeout_of_its_name(answer, timeouts, words, transport):
    async with serving(answer) as server, asyncio.timeout(5):
        with pytest.raises(TransportTimeout, match=words):
            await posted(transport, server.url, timeouts=timeouts)
        await all_closed()


async def test_every_wait_has_its_own_time(transport):
    limits = Timeouts(first_byte=0.3, between_chunks=0.3)
    async with serving(streamed(*[b"a"] * 5, pause=0.15)) as server:
        for _ in range(2):
            assert await posted(transport, server.url, timeouts=limits) == (200, b"aaaaa")
        with pytest.raises(TransportTimeout):
            await posted(transport, server.url, timeouts=Timeouts(between_chunks=0.05))


async def test_a_reader_that_takes_its_time_is_not_late(transport):
    limits = Timeouts(between_chunks=0.1)
    async with (
        serving(streamed(b"a", b"b", pause=0.01)) as server,
        transport.post(server.url, headers={}, body=b"", timeouts=limits) as incoming,
    ):
        await anext(incoming.chunks)
        await asyncio.sleep(0.3)
        assert [chunk async for chunk in incoming.chunks] == [b"b"]


async def test_what_came_in_time_is_not_late_because_the_loop_was_busy(transport):
    async def talk(reader, writer) -> None:
        await asked(reader)
        writer.write(head() + b"content-length: 2\r\n\r\n")
        await asyncio.sleep(0.05)
        for letter in (b"a", b"b"):
            writer.write(letter)
            time.sleep(0.2)
            await asyncio.sleep(0.05)
        await reader.read()

    async with talking(talk) as place:
        limits = Timeouts(between_chunks=0.1)
        assert await posted(transport, f"http://{place}/", timeouts=limits) == (200, b"ab")


async def test_no_limits_are_none(transport):
    limits = Timeouts(connect=None, first_byte=None, between_chunks=None)
    async with serving(streamed(b"a", b"b", pause=0.01)) as server:
        assert await posted(transport, server.url, timeouts=limits) == (200, b"ab")


async def test_what_is_read_after_the_exchange_is_its_own_or_an_error(transport):
    async with serving(streamed(b"a"), whole(b"{}")) as server:
        async with transport.post(server.url, headers={}, body=b"", timeouts=Timeouts()) as one:
            assert [chunk async for chunk in one.chunks] == [b"a"]
        async with transport.post(server.url, headers={}, body=b"", timeouts=Timeouts()) as other:
            assert [chunk async for chunk in one.chunks] == []
        with pytest.raises(TransportError, match="closed before the reply was complete"):
            await anext(other.chunks)


async def cancelled_after(turns: int, work) -> bool:
    """Whether the work was cancelled, after so many turns of the event loop."""
    task = asyncio.ensure_future(work)
    for _ in range(turns):
        await asyncio.sleep(0)
    was_done = task.done()
    task.cancel()
    await asyncio.wait([task])
    assert was_done or task.cancelled() or task.result() == (200, b"ok" * 10)
    return not was_done


@pytest.mark.parametrize("is_warm", [False, True])
async def test_cancelled_anywhere_it_leaves_no_connection_in_between(is_warm):
    parts = [head() + b"transfer-encoding: chunked\r\n\r\n", *[b"2\r\nok\r\n"] * 10, b"0\r\n\r\n"]
    async with talking(answering(*parts)) as place:
        url, turns, is_cancelled = f"http://{place}/", 0, True
        while is_cancelled:
            transport = HttpTransport()
            if is_warm:
                await posted(transport, url)
            is_cancelled = await cancelled_after(turns, posted(transport, url))
            assert await posted(transport, url) == (200, b"ok" * 10)
            here = await pool.pool_here()
            assert all(each.is_reusable for kept in here._idle.values() for each in kept)
            await transport.close()
            assert not here._connections
            assert here._permits._value == pool._MOST_CONNECTIONS
            turns += 1
        assert turns > 10


async def test_more_requests_than_connections_take_turns(transport, monkeypatch):
    monkeypatch.setattr(pool, "_MOST_CONNECTIONS", 2)
    most = 0

    async def talk(reader, writer) -> None:
        nonlocal most
        while await asked(reader):
            most = max(most, len(here._connections))
            await asyncio.sleep(0.01)
            writer.write(OK)

    here = await pool.pool_here()
    async with talking(talk) as one, talking(talk) as other, asyncio.timeout(10):
        urls = [f"http://{place}/" for place in (one, other)] * 10
        replies = await asyncio.gather(*[posted(transport, url) for url in urls])
    assert replies == [(200, b"ok")] * 20
    assert most == 2


async def test_who_waits_for_a_connection_in_vain_is_told(transport, monkeypatch):
    monkeypatch.setattr(pool, "_MOST_CONNECTIONS", 1)
    async with serving(silent) as server:
        first = asyncio.ensure_future(posted(transport, server.url))
        await until(lambda: server.requests)
        with pytest.raises(TransportTimeout, match=r"no connection within 0\.05 s"):
            await posted(transport, server.url, timeouts=Timeouts(connect=0.05))
        assert server.connections == 1
        first.cancel()


async def test_a_connection_that_nobody_uses_is_closed(transport, monkeypatch):
    monkeypatch.setattr(pool, "_IDLE_SECONDS", 0.2)
    async with serving(whole(b"{}")) as server:
        for _ in range(3):
            await posted(transport, server.url)
            await asyncio.sleep(0.1)
        assert (server.connections, server.open) == (1, 1)
        await until(lambda: server.open == 0)
        begun = time.monotonic()
        await posted(transport, server.url)
        await until(lambda: server.open == 0)
        assert time.monotonic() - begun > 0.15


async def test_a_connection_is_freed_without_a_collection(transport):
    def alive() -> int:
        return sum(type(each) is HttpConnection for each in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        before = alive()
        async with serving(whole(b"{}"), streamed(b"a", end=False), whole(b"no", 500)) as server:
            await posted(transport, server.url)
            with pytest.raises(TransportError):
                await posted(transport, server.url)
            await posted(transport, server.url)
            await transport.close()
        assert alive() == before
    finally:
        gc.enable()
