"""Sends one request, over a connection of its own, past any proxy, and reads the reply within limits.

A few kilobytes can decompress to gigabytes, so decompression stops at a limit, even midway.
"""

import asyncio
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Protocol

from msgspec import Struct

from rightcall.core.jsontext import shorten
from rightcall.core.transport import Timeouts
from rightcall.errors import ToolFailure, TransportError, TransportTimeout
from rightcall.transport.connection import HttpConnection
from rightcall.transport.dial import Address, Addresses, Resolver, dial
from rightcall.transport.http1 import request_head, unpacker
from rightcall.transport.route import RequestRoute, ServerAddress, straight

_CHUNK = 64 * 1024
_CONNECT_SECONDS = 10.0
_PAUSE_SECONDS = 10.0
"""Seconds for which a server may be silent."""
_LIMITS = Timeouts(first_byte=_PAUSE_SECONDS, between_chunks=_PAUSE_SECONDS)
_AGENT = "rightcall"


class Response(Struct, frozen=True, kw_only=True):
    """A response."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    is_cut: bool = False
    """The body was longer than the limit."""

    @property
    def words(self) -> str:
        """The status code with its meaning."""
        with suppress(ValueError):
            return f"{self.status} {HTTPStatus(self.status).phrase}"
        return str(self.status)


class AllowedAddresses(Protocol):
    """The only addresses that may be connected to."""

    async def addresses(self, server: ServerAddress) -> Addresses:
        """Returns them, whichever server is asked for."""

    def socket(self, place: Address) -> socket.socket:
        """Returns a socket for one of them. Raises OSError for any other."""


async def exchange(
    url: str,
    *,
    max_bytes: int,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    checked: AllowedAddresses | None = None,
) -> Response:
    """Send one request. Raises ToolFailure for any failure.

    No more than ``max_bytes`` is read, compressed or decompressed. The caller sets the timeout.
    """
    way = straight(url)
    sent = {"Connection": "close", "User-Agent": _AGENT, **dict(way.extra), **(headers or {})}
    head = request_head(method, way.target, way.host, sent)
    connection = await _open_connection(way, checked)
    try:
        await connection.send(head, body, _LIMITS, 0.0)
        while not connection.replies.is_begun:
            await connection.news()
        return await _answer(connection, max_bytes)
    except TransportTimeout as error:
        raise ToolFailure(f"{_where(way)} did not answer in time.", retryable=True) from error
    except TransportError as error:
        if isinstance(error.__cause__, OSError | None):
            words = "broke off in the middle of its answer"
            raise ToolFailure(f"{_where(way)} {words}.", retryable=True) from error
        raise ToolFailure(f"{_where(way)} did not answer as a web server does.") from error
    except ValueError as error:
        raise ToolFailure(f"{str(error).capitalize()}.") from error
    finally:
        connection.abort()


async def _open_connection(way: RequestRoute, checked: AllowedAddresses | None) -> HttpConnection:
    buffer = memoryview(bytearray(_CHUNK))
    look_up = Resolver(asyncio.get_running_loop()).addresses
    new_socket = None
    if checked is not None:
        look_up = checked.addresses
        new_socket = checked.socket
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            return await dial(
                way.key, look_up, lambda: HttpConnection(way.key, buffer, lambda _: None), new_socket
            )
    except (TransportTimeout, TimeoutError) as error:
        raise ToolFailure(f"{_where(way)} did not answer in time.", retryable=True) from error
    except TransportError as error:
        if isinstance(error.__cause__, ssl.SSLError):
            words = "cannot be reached securely: it has no certificate, or none to trust"
            raise ToolFailure(f"{_where(way)} {words}.") from error
        raise ToolFailure(f"{_where(way)} cannot be connected to.", retryable=True) from error


async def _answer(connection: HttpConnection, most: int) -> Response:
    replies = connection.replies
    unpack = unpacker(replies.headers.get("content-encoding", ""), ratio=None)
    body = bytearray()
    arrived = 0
    # One byte more than the limit, to know whether there was more.
    while len(body) <= most and arrived <= most:
        try:
            chunk = await connection.read()
        except StopAsyncIteration:
            break
        arrived += len(chunk)
        if unpack is None:
            body += chunk[: most + 1 - len(body)]
        else:
            unpack.feed(chunk)
            while len(body) <= most and unpack.has_more:
                body += unpack.take()
                await asyncio.sleep(0)  # one piece may be thousands of steps
    return Response(
        status=replies.status,
        headers=replies.headers,
        body=bytes(body[:most]),
        is_cut=len(body) > most or arrived > most,
    )


def _where(way: RequestRoute) -> str:
    return shorten(f"{'https' if way.key.server.is_tls else 'http'}://{way.host}")
