"""Opens a connection: looks up the host, connects to the fastest address, and adds proxy and TLS."""

import asyncio
import os
import re
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from contextvars import Context

import aiohappyeyeballs

from rightcall.errors import TransportError, TransportTimeout, VendorError, is_retried
from rightcall.transport.connection import HttpConnection
from rightcall.transport.route import ConnectionKey, Proxy, ServerAddress

_HEAD_START = 0.25
"""Seconds after which the next address of a host is tried, too (RFC 8305)."""
_KNOWN_SECONDS = 10.0
"""Seconds for which a host's addresses are not looked up again."""
_MOST_HEAD = 64 * 1024
_ANSWER = re.compile(rb"HTTP/1\.[0-9] ([0-9]{3})(?![^ \r])")
_OK = range(200, 300)
_REFUSALS = range(400, 500)

Address = aiohappyeyeballs.AddrInfoType
Addresses = Sequence[Address]


class Resolver:
    """The addresses of hosts, looked up once for all who ask at the same time or soon after."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._known: dict[tuple[str, int], tuple[float, Addresses]] = {}
        self._lookups: dict[tuple[str, int], asyncio.Task[Addresses]] = {}

    async def addresses(self, server: ServerAddress) -> Addresses:
        """Returns the addresses of a server. Raises OSError."""
        family = socket.AF_INET6 if ":" in server.host else socket.AF_INET
        place = server.host, server.port
        with suppress(OSError, UnicodeError):
            # An address that is written as one, and no name.
            socket.inet_pton(family, server.host)
            return [(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", place)]
        until, found = self._known.get(place, (0.0, []))
        if self._loop.time() < until:
            return found
        lookup = self._lookups.get(place)
        if lookup is None:
            lookup = self._lookups[place] = self._loop.create_task(
                self._look_up(place), context=Context()
            )
        # Others may wait for it, so it is not cancelled with this one.
        return await asyncio.shield(lookup)

    async def _look_up(self, place: tuple[str, int]) -> Addresses:
        try:
            found = await self._loop.getaddrinfo(*place, type=socket.SOCK_STREAM)
            self._known[place] = self._loop.time() + _KNOWN_SECONDS, found
        finally:
            del self._lookups[place]
        return found


async def dial(
    key: ConnectionKey,
    look_up: Callable[[ServerAddress], Awaitable[Addresses]],
    new_connection: Callable[[], HttpConnection],
    new_socket: Callable[[Address], socket.socket] | None = None,
) -> HttpConnection:
    """Open a connection to one of the addresses that are looked up.

    Raises TransportError, and VendorError if a proxy refuses to pass on.
    """
    first = key.server if key.proxy is None else key.proxy.server
    trust, name = (await _trust(), _name(first)) if first.is_tls else (None, None)
    try:
        opened = await aiohappyeyeballs.start_connection(
            await look_up(first), happy_eyeballs_delay=_HEAD_START, socket_factory=new_socket
        )
        try:
            loop = asyncio.get_running_loop()
            link, tunnel = await loop.create_connection(
                _Tunnel, sock=opened, ssl=trust, server_hostname=name
            )
        except BaseException:
            opened.close()
            raise
    except (OSError, ValueError) as error:
        raise _connection_error(error, first) from error
    try:
        if key.proxy is not None and key.server.is_tls:
            link = await _through(key.proxy, key.server, link, tunnel)
        connection = new_connection()
        link.set_protocol(connection)
        connection.connection_made(link)
    except BaseException:
        link.abort()
        raise
    if not connection.is_open:
        raise TransportError(f"{first.host} closed the connection at once")
    return connection


async def _through(
    proxy: Proxy, server: ServerAddress, link: asyncio.Transport, tunnel: "_Tunnel"
) -> asyncio.Transport:
    """Returns a link with TLS to a server through a proxy. Raises TransportError and VendorError."""
    await tunnel.pass_to(server, proxy, link)
    loop = asyncio.get_running_loop()
    trust = await _trust()
    try:
        secured = await loop.start_tls(link, tunnel, trust, server_hostname=_name(server))
    except (OSError, ValueError) as error:
        raise _connection_error(error, server) from error
    if secured is None:
        raise TransportError(f"{server.host} closed the connection during the TLS handshake")
    return secured


def _place(server: ServerAddress) -> str:
    host = f"[{server.host}]" if ":" in server.host else server.host
    return f"{host}:{server.port}"


def _name(server: ServerAddress) -> str:
    """Returns what the certificate must be for."""
    return server.host.rstrip(".")


_contexts: list[ssl.SSLContext] = []


async def _trust() -> ssl.SSLContext:
    """Returns which certificates are trusted: the system's, or those that the environment names."""
    if not _contexts:
        # Loading hundreds of certificates takes long, during which the loop's other tasks can run.
        _contexts.append(await asyncio.to_thread(ssl.create_default_context))
        _contexts[-1].set_alpn_protocols(["http/1.1"])
    return _contexts[0]


class _Tunnel(asyncio.Protocol):
    """A link before it carries requests; nothing should come but a proxy's answer to CONNECT."""

    __slots__ = ("_answer", "_head")

    def __init__(self) -> None:
        self._head = b""
        self._answer: asyncio.Future[int] | None = None

    async def pass_to(self, server: ServerAddress, proxy: Proxy, link: asyncio.Transport) -> None:
        """Have a proxy pass on all bytes to a server and back. Raises TransportError and VendorError."""
        place = _place(server)
        lines = [f"CONNECT {place} HTTP/1.1", f"host: {place}"]
        if proxy.authorization:
            lines.append(f"proxy-authorization: {proxy.authorization}")
        self._answer = asyncio.get_running_loop().create_future()
        link.write("\r\n".join([*lines, "", ""]).encode())
        status = await self._answer
        if status in _REFUSALS and not is_retried(status):
            # Another try would be refused as well, and a wrong password too often locks its user out.
            words = f"the proxy at {_place(proxy.server)} does not connect to {place}"
            raise VendorError(words, status=status)
        if status not in _OK:
            what = f"answered {status}" if status else "gave no answer"
            raise TransportError(f"the proxy at {_place(proxy.server)} {what} to CONNECT {place}")

    def data_received(self, data: bytes) -> None:
        """Read the proxy's answer up to the end of its head."""
        self._head += data
        head, end, rest = self._head.partition(b"\r\n\r\n")
        if end or len(head) > _MOST_HEAD:
            found = _ANSWER.match(head) if end else None
            status = 0 if found is None else int(found[1])
            # A refusal may be explained; but nobody has spoken to the server yet.
            self._set_answer(0 if rest and status in _OK else status)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the event loop's
        """The proxy has closed the connection."""
        self._set_answer(0)

    def _set_answer(self, status: int) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(status)


def _connection_error(error: Exception, server: ServerAddress) -> TransportError:
    """Returns why there is no connection, as an error of ours."""
    place = _place(server)
    match error:
        case ssl.SSLCertVerificationError():
            words = f"the certificate of {place} is not trusted: {error.verify_message}"
            return TransportError(words, retryable=False)
        case ssl.SSLError():
            return TransportError(f"no TLS with {place}: {error.reason or error}")
        case TimeoutError():
            return TransportTimeout(f"{place} did not answer: {error.strerror or error}")
        case OSError(errno=int(number)) if not isinstance(error, socket.gaierror):
            # Its own words are that a call of a function failed.
            return TransportError(f"cannot connect to {place}: {os.strerror(number)}")
        case OSError():
            return TransportError(f"cannot connect to {place}: {error.strerror or error}")
        case _:
            return TransportError(f"cannot connect to {place}: {error}")
