"""Which connection carries the next request, how long one is kept, and what a closed pool leaves."""

import asyncio
import gc
import socket
import time
import warnings
from contextlib import AsyncExitStack

import pytest

from request.server import serving, silent, whole
from rightcall.errors import TransportError
from rightcall.transport import dial, pool
from rightcall.transport.dial import Resolver
from rightcall.transport.http import HttpTransport
from rightcall.transport.route import route
from transport.raw import asked, posted, talking
from transport.test_http import OK, until


class Counted:
    """A server that answers with the number of the connection that it was asked on."""

    def __init__(self) -> None:
        self.connections = 0
        self.waiting = 0
        self.may_answer = asyncio.Event()

    async def talk(self, reader, writer) -> None:
        self.connections += 1
        own = b"%d" % self.connections
        while await asked(reader):
            self.waiting += 1
            await self.may_answer.wait()
            self.waiting -= 1
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n" + own)


async def opened(server: Counted, transport: HttpTransport, url: str, many: int) -> list[bytes]:
    """Have so many connections, each of which has carried one request, and say in which order."""
    requests = []
    for number in range(many):
        requests.append(asyncio.ensure_future(posted(transport, url)))
        await until(lambda wanted=number + 1: server.waiting == wanted)
    server.may_answer.set()
    return [body for _, body in await asyncio.gather(*requests)]


async def test_the_connection_that_was_used_last_is_used_first(transport):
    server = Counted()
    async with talking(server.talk) as place:
        url = f"http://{place}/"
        assert await opened(server, transport, url, 3) == [b"1", b"2", b"3"]
        # All three are free, and every request goes to the one that was given back last.
        used = [body for _, body in [await posted(transport, url) for _ in range(4)]]
        assert len(set(used)) == 1
        assert server.connections == 3


async def test_many_at_once_use_all_that_are_free_and_open_the_rest(transport):
    server = Counted()
    async with talking(server.talk) as place:
        url = f"http://{place}/"
        await opened(server, transport, url, 3)
        server.may_answer.clear()
        again = await opened(server, transport, url, 5)
        assert sorted(again) == [b"1", b"2", b"3", b"4", b"5"]


async def test_a_connection_is_used_for_its_own_place_only(transport):
    async with serving(whole(b"{}")) as one, serving(whole(b"{}")) as other:
        for _ in range(3):
            await posted(transport, one.url)
            await posted(transport, other.url)
        assert (one.connections, other.connections) == (1, 1)
        assert (len(one.requests), len(other.requests)) == (3, 3)


async def test_a_new_transport_of_the_same_loop_uses_what_another_has_opened(transport):
    async with serving(whole(b"{}")) as server:
        await posted(transport, server.url)
        another = HttpTransport()
        await posted(another, server.url)
        assert server.connections == 1
        # One of two leaves: what is kept stays for the other.
        await another.close()
        await posted(transport, server.url)
        assert (server.connections, server.open) == (1, 1)
        await transport.close()
        await until(lambda: server.open == 0)


async def test_one_whose_time_is_over_is_not_used_even_if_it_was_not_yet_closed(transport, monkeypatch):
    monkeypatch.setattr(pool, "_MARGIN", 0.4)
    async with serving(whole(b"{}", keep_alive="timeout=1")) as server:
        await posted(transport, server.url)
        await posted(transport, server.url)
        assert server.connections == 1
        await asyncio.sleep(0.65)
        assert server.open == 1
        await posted(transport, server.url)
        assert server.connections == 2
        await until(lambda: server.open == 1)


async def test_a_server_that_would_keep_it_longer_does_not_make_us_do_so(transport, monkeypatch):
    monkeypatch.setattr(pool, "_IDLE_SECONDS", 0.1)
    async with serving(whole(b"{}", keep_alive="timeout=900")) as server:
        await posted(transport, server.url)
        await asyncio.sleep(0.15)
        await posted(transport, server.url)
        assert server.connections == 2


async def test_room_is_made_by_closing_what_nobody_uses_elsewhere(transport, monkeypatch):
    monkeypatch.setattr(pool, "_MOST_CONNECTIONS", 2)
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(serving(whole(b"{}"))) for _ in range(3)]
        for server in servers:
            async with asyncio.timeout(5):
                await posted(transport, server.url)
        # Of two places with one each, one was closed for the third; nobody had to wait for its time.
        await until(lambda: sum(server.open for server in servers) == 2)
        assert servers[2].open == 1
        assert [server.connections for server in servers] == [1, 1, 1]


async def test_one_that_is_given_back_while_another_waits_makes_room_for_it(transport, monkeypatch):
    monkeypatch.setattr(pool, "_MOST_CONNECTIONS", 1)
    server = Counted()
    async with talking(server.talk) as place, serving(whole(b"{}")) as other:
        first = asyncio.ensure_future(posted(transport, f"http://{place}/"))
        await until(lambda: server.waiting == 1)
        second = asyncio.ensure_future(posted(transport, other.url))
        await asyncio.sleep(0.05)
        assert other.connections == 0
        server.may_answer.set()
        async with asyncio.timeout(5):
            assert await asyncio.gather(first, second) == [(200, b"1"), (200, b"{}")]


async def test_who_no_longer_waits_takes_no_room_from_those_who_come(transport, monkeypatch):
    monkeypatch.setattr(pool, "_MOST_CONNECTIONS", 1)
    async with serving(silent) as busy, serving(whole(b"{}")) as server:
        first = asyncio.ensure_future(posted(transport, busy.url))
        await until(lambda: busy.requests)
        waiting = asyncio.ensure_future(posted(transport, server.url))
        await asyncio.sleep(0.02)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        async with asyncio.timeout(5):
            for _ in range(3):
                await posted(transport, server.url)
        assert server.connections == 1


async def test_a_place_that_refuses_takes_no_room(transport, monkeypatch):
    monkeypatch.setattr(pool, "_MOST_CONNECTIONS", 1)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    for _ in range(3):
        with pytest.raises(TransportError):
            await posted(transport, f"http://127.0.0.1:{port}/")
    async with serving(whole(b"{}")) as server, asyncio.timeout(5):
        await posted(transport, server.url)


async def test_what_is_opened_as_its_owner_is_cancelled_is_closed(transport, monkeypatch):
    found = Resolver.addresses

    async def find_late(self, *where):
        places = await found(self, *where)
        asking.cancel()
        return places

    monkeypatch.setattr(Resolver, "addresses", find_late)

    async def talk(reader, writer) -> None:
        await reader.read()

    async with talking(talk) as place:
        here = await pool.pool_here()
        asking = asyncio.ensure_future(posted(transport, f"http://{place}/"))
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert here._permits._value == pool._MOST_CONNECTIONS
        assert not here._connections


async def test_connections_are_closed_one_after_another_as_their_time_is_over(transport, monkeypatch):
    monkeypatch.setattr(pool, "_IDLE_SECONDS", 0.3)
    monkeypatch.setattr(pool, "_SWEEP_SECONDS", 0.05)
    async with serving(whole(b"{}")) as one, serving(whole(b"{}")) as other:
        begun = time.monotonic()
        await posted(transport, one.url)
        await asyncio.sleep(0.15)
        await posted(transport, other.url)
        await until(lambda: one.open == 0)
        assert time.monotonic() - begun > 0.25
        if time.monotonic() - begun < 0.4:  # or the machine was so busy that the time of both is over
            assert other.open == 1
        await until(lambda: other.open == 0)
        assert 0.4 < time.monotonic() - begun < 5
        # Nothing is left to be looked after, and so nothing looks.
        here = await pool.pool_here()
        await until(lambda: here._sweeping is None)
        assert not here._idle


async def test_a_closed_pool_leaves_nothing_and_the_next_request_opens_another(transport):
    async with serving(whole(b"{}")) as server:
        await posted(transport, server.url)
        before = await pool.pool_here()
        loop = asyncio.get_running_loop()
        assert pool.open_pools[loop] is before
        await before.close()
        assert loop not in pool.open_pools
        assert not before._connections
        assert before._sweeping.cancelled()
        await posted(transport, server.url)
        assert server.connections == 2
        assert await pool.pool_here() is not before


async def test_who_still_waits_for_a_connection_is_told_that_the_pool_was_closed(transport, monkeypatch):
    asked = asyncio.Event()

    async def find_never(self, *where):
        asked.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(Resolver, "addresses", find_never)
    waiting = asyncio.ensure_future(posted(transport, "http://127.0.0.1:1/"))
    await asked.wait()
    here = await pool.pool_here()
    await here.close()
    async with asyncio.timeout(5):
        with pytest.raises(TransportError, match="closed before the reply was complete"):
            await waiting


async def test_what_is_given_back_to_a_closed_pool_is_closed(transport):
    key = route("http://127.0.0.1:1/").key
    async with serving(whole(b"{}")) as server:
        await posted(transport, server.url)
        here = await pool.pool_here()
        (connection,) = here._connections
        assert here.idle(route(f"{server.url}/").key) is connection
        assert here.idle(key) is None
        await here.close()
        here.put_back(connection)
        assert not any(here._idle.values())
        await until(lambda: server.open == 0)


async def test_a_connection_that_is_there_just_after_its_pool_was_closed_is_not_kept(monkeypatch):
    opening = dial.dial

    async def open_late(*where):
        opened = await opening(*where)
        await here.close()
        return opened

    here = await pool.pool_here()
    async with serving(whole(b"{}")) as server:
        monkeypatch.setattr(dial, "dial", open_late)
        connection = await here.open(route(f"{server.url}/").key)
        await until(lambda: server.open == 1)
        assert connection.is_open
        here.put_back(connection)
        await until(lambda: server.open == 0)
        assert not any(here._idle.values())


def test_a_loop_that_was_closed_without_a_word_is_forgotten_by_the_next():
    async def ask(url: str) -> None:
        assert await posted(HttpTransport(), url) == (200, b"ok")

    async def answer(reader, writer) -> None:
        while await asked(reader):
            writer.write(OK)

    async def in_another_loop(place: str) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        await asyncio.to_thread(loop.run_until_complete, ask(f"http://{place}/"))
        # Not shutdown_asyncgens, which is what closes a pool.
        loop.close()
        return loop

    async def main() -> None:
        async with talking(answer) as place:
            gone = await in_another_loop(place)
            assert gone in pool.open_pools
            left = pool.open_pools[gone]
            await ask(f"http://{place}/")
            assert gone not in pool.open_pools
            assert all(each.fileno() == -1 for each in left._sockets)

    with warnings.catch_warnings():
        # Whoever closes a loop like that leaves asyncio's own transports, which say so when they go.
        warnings.simplefilter("ignore", ResourceWarning)
        asyncio.run(main())
        gc.collect()
