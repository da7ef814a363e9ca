"""The connections of one event loop, which are reused, and belong to the transports that sent on it.

A pool is closed with the last of its transports, with its loop, or when the program ends.
"""

import asyncio
import atexit
import re
import socket
from collections.abc import AsyncGenerator
from contextlib import suppress
from contextvars import Context
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary, WeakSet

from rightcall.blank_context import BLANK
from rightcall.platforms import after_fork
from rightcall.transport.route import ConnectionKey

if TYPE_CHECKING:
    from rightcall.transport.connection import HttpConnection
    from rightcall.transport.dial import Resolver

_MOST_CONNECTIONS = 4096
_IDLE_SECONDS = 15.0
"""Seconds for which a connection is kept that nobody uses."""
_TOLD_SECONDS = re.compile(r"timeout=([0-9]{1,9})", re.ASCII | re.IGNORECASE)
_MARGIN = 1.0
"""Seconds before the server closes a connection from which on it is not used: a request that is under
way at that moment is lost."""
_SWEEP_SECONDS = 1.0
_RECEIVED = 64 * 1024
"""Bytes that are received at once."""
_EXIT_SECONDS = 2.0
"""Seconds that the exit of the program waits for another thread's event loop to close its
connections."""
_TURNS = 10
"""Turns of the event loop that a closed connection takes at most to be gone; with TLS it is three."""


class Endable(Protocol):
    """An exchange under way."""

    def end(self) -> None:
        """Make whoever awaits the reply get a TransportError."""
        ...


class Pool:
    """The connections of one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.under_way: WeakKeyDictionary[Any, set[Endable]] = WeakKeyDictionary()
        """The transports that use the pool, with their exchanges; one that is garbage-collected drops
        out."""
        self._loop = loop
        self._buffer = memoryview(bytearray(_RECEIVED))
        self._resolver: Resolver | None = None
        self._sockets: WeakSet[socket.socket] = WeakSet()
        self._connections: set[HttpConnection] = set()
        self._idle: dict[ConnectionKey, dict[HttpConnection, None]] = {}
        """The one that was used last is the last of its key, and is used again first. Not in lists, in
        which each of thousands that a server closes at once would have to be looked for."""
        self._sweeping: asyncio.TimerHandle | None = None
        self._permits = asyncio.Semaphore(_MOST_CONNECTIONS)
        """One for each connection."""
        self._waiting = 0
        self._is_closed = False
        self._on_lost = self._lost
        """One for all connections."""
        self._keeper = self._keep()

    async def watch(self) -> None:
        """Make the running event loop close the pool when it ends."""
        await anext(self._keeper)

    def idle(self, key: ConnectionKey) -> "HttpConnection | None":
        """Returns a connection that is open already; None if there is none."""
        kept = self._idle.get(key)
        while kept:
            connection, _ = kept.popitem()
            if self._loop.time() < connection.idle_until and not connection.is_stale:
                return connection
            connection.abort()
        return None

    async def open(self, key: ConnectionKey) -> "HttpConnection":
        """Returns a new connection, once there are few enough. Raises TransportError."""
        from rightcall.transport import connection, dial  # noqa: PLC0415 - light until used

        if self._resolver is None:
            self._resolver = dial.Resolver(self._loop)
        self._waiting += 1
        try:
            if self._permits.locked():
                # Make room: close a connection to elsewhere that nobody uses.
                kept = next((each for each in self._idle.values() if each), None)
                if kept:
                    unused = next(iter(kept))
                    del kept[unused]
                    unused.abort()
            await self._permits.acquire()
        finally:
            self._waiting -= 1
        # A connection's callbacks run in the context in which it was opened. In that of a run, they
        # would keep all that the run has set for as long as the connection is used, by whomever.
        dialling = self._loop.create_task(
            dial.dial(
                key,
                self._resolver.addresses,
                lambda: connection.HttpConnection(key, self._buffer, self._on_lost),
                self._socket,
            ),
            context=Context(),
        )
        try:
            opened = await dialling
        except BaseException:
            if not dialling.cancelled() and dialling.exception() is None:
                dialling.result().abort()  # it was opened just as the one that waited was cancelled
            self._permits.release()
            raise
        self._connections.add(opened)
        return opened

    def put_back(self, connection: "HttpConnection") -> None:
        """Keep a connection for the next request, if it can carry one and nobody waits for its place."""
        kept = _IDLE_SECONDS
        told = connection.replies.headers.get("keep-alive")
        if told and (found := _TOLD_SECONDS.search(told)):
            # The server says after how long it closes the connection.
            kept = min(kept, int(found[1]) - _MARGIN)
        if not connection.is_reusable or self._waiting or self._is_closed or kept <= 0:
            connection.abort()
            return
        connection.idle_until = self._loop.time() + kept
        self._idle.setdefault(connection.key, {})[connection] = None
        if self._sweeping is None:
            self._sweeping = self._loop.call_later(_IDLE_SECONDS, self._sweep, context=BLANK.context)

    async def leave(self, transport: object) -> None:
        """End a transport's exchanges here; the last transport to leave closes the pool."""
        if transport in self.under_way:
            for exchange in self.under_way.pop(transport):
                exchange.end()
            if not self.under_way:
                await self.close()

    async def close(self) -> None:
        """Close every connection."""
        await self._keeper.aclose()

    def abandon(self) -> None:
        """Drop the connections without their event loop, which is closed or, after a fork, the parent's.

        The sockets are closed first: a proper close, such as TLS's closing message, must not be sent on
        a connection that the parent still uses.
        """
        for each in list(self._sockets):
            each.close()
        for connection in list(self._connections):
            # A closed loop complains, and in debug mode every loop does about other threads.
            with suppress(RuntimeError):
                connection.abort()

    async def _keep(self) -> AsyncGenerator[None, None]:
        # Before it is closed, an event loop closes the asynchronous generators that were started on it
        # (loop.shutdown_asyncgens, which asyncio.run calls), and nothing else that was opened on it. So
        # this generator closes the pool.
        try:
            yield
        finally:
            self._is_closed = True
            open_pools.pop(self._loop, None)
            for exchanges in list(self.under_way.values()):
                for exchange in list(exchanges):
                    exchange.end()
            if self._sweeping is not None:
                self._sweeping.cancel()
            for connection in list(self._connections):
                connection.abort()
            for _ in range(_TURNS):  # callbacks close asyncio's transports
                await asyncio.sleep(0)
                if not self._connections:
                    break

    def _socket(self, place: tuple[Any, ...]) -> socket.socket:
        opened = socket.socket(*place[:3])
        self._sockets.add(opened)
        return opened

    def _lost(self, connection: "HttpConnection") -> None:
        if connection in self._connections:
            self._connections.discard(connection)
            self._permits.release()
            self._idle.get(connection.key, {}).pop(connection, None)

    def _sweep(self) -> None:
        """Close what was not used for long."""
        self._sweeping = None
        now = self._loop.time()
        for key, kept in list(self._idle.items()):
            for connection in list(kept):
                if connection.idle_until <= now:
                    del kept[connection]
                    connection.abort()
            if not kept:
                del self._idle[key]
        times = [each.idle_until for kept in self._idle.values() for each in kept]
        if times:
            # Not for each of thousands by itself: what is too old is not used, swept or not.
            at = max(min(times), now + _SWEEP_SECONDS)
            self._sweeping = self._loop.call_at(at, self._sweep, context=BLANK.context)


open_pools: dict[asyncio.AbstractEventLoop, Pool] = {}
"""By event loop. Other threads add theirs, so that it is copied before it is gone through."""


async def pool_here() -> Pool:
    """Returns the running event loop's pool."""
    loop = asyncio.get_running_loop()
    pool = open_pools.get(loop)
    if pool is None:
        for gone in [each for each in list(open_pools) if each.is_closed()]:
            # Another thread may be doing the same.
            if (left := open_pools.pop(gone, None)) is not None:
                left.abandon()
        # atexit calls the last registered first: so this runs before what stops the loop at exit.
        atexit.unregister(_close_all)
        atexit.register(_close_all)
        pool = open_pools[loop] = Pool(loop)
        await pool.watch()
    return pool


def _close_all() -> None:
    """Close the pools of loops that last until the exit of the program, such as that of ``run_sync``."""
    for loop, pool in list(open_pools.items()):
        with suppress(Exception):  # the program ends anyway
            if loop.is_closed():
                pool.abandon()
            elif loop.is_running():
                asyncio.run_coroutine_threadsafe(pool.close(), loop).result(_EXIT_SECONDS)
            else:
                loop.run_until_complete(pool.close())


def _begin_anew() -> None:
    """Forget the parent's connections: two processes on one would read each other's replies."""
    for pool in open_pools.values():
        pool.abandon()
    open_pools.clear()


after_fork(_begin_anew)
