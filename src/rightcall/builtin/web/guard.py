"""A URL into a connector that can reach the addresses which were checked, and no others.

A name is looked up once. What was looked up is checked, and what was checked is connected to, so an
answer that changes between the two (DNS rebinding) changes nothing.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv6Address
from typing import TypeAlias

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from rightcall.builtin.web.address import Address, as_address
from rightcall.builtin.web.location import Grant, refuse
from rightcall.core.jsontext import shorten
from rightcall.errors import ToolFailure

Resolve: TypeAlias = Callable[[str], Awaitable[Sequence[str]]]
"""The addresses of a host's name. Raises OSError if it has none."""


async def system_resolve(host: str) -> Sequence[str]:
    """What the system says a name's addresses are."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(place[0]) for *_, place in found]


async def guarded(url: URL, grant: Grant, resolve: Resolve) -> aiohttp.TCPConnector:
    """A connector for one request to a URL. Raises ToolFailure if its host may not be reached."""
    addresses = await _addresses(url, resolve)
    refuse(url, addresses, grant)
    return aiohttp.TCPConnector(
        resolver=_Pinned(addresses),
        socket_factory=_Only(addresses),
        use_dns_cache=False,
        force_close=True,
    )


async def _addresses(url: URL, resolve: Resolve) -> Sequence[Address]:
    host = url.raw_host or ""
    literal = as_address(host)
    if literal is not None:
        return [literal]
    try:
        found = [as_address(each) for each in await resolve(host)]
    except (OSError, UnicodeError):
        found = []
    addresses = list(dict.fromkeys(address for address in found if address is not None))
    if not addresses:
        raise ToolFailure(f"There is no host {shorten(host)}.")
    return addresses


class _Pinned(AbstractResolver):
    """Knows the addresses that were checked."""

    def __init__(self, addresses: Sequence[Address]) -> None:
        self._addresses = addresses

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_UNSPEC,  # noqa: ARG002 - the port's
    ) -> list[ResolveResult]:
        """Those addresses, whatever the host."""
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=port,
                family=socket.AF_INET6 if isinstance(address, IPv6Address) else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in self._addresses
        ]

    async def close(self) -> None:
        """Nothing is open."""


class _Only:
    """Makes sockets for the addresses that were checked. The last gate: nothing connects past it."""

    def __init__(self, addresses: Sequence[Address]) -> None:
        self._addresses = frozenset(addresses)

    def __call__(self, place: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, protocol, _, (host, *_) = place
        if as_address(str(host)) not in self._addresses:
            raise OSError(f"{host} was not checked")
        return socket.socket(family, kind, protocol)
