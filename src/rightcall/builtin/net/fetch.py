"""Fetches a page over HTTP within limits, and only from addresses that are allowed.

Server-side request forgery (SSRF) makes somebody else's machine request what one cannot reach oneself.
So a URL's form, host and port are checked, then every address that the host's name has; and the
connection is bound to the addresses that were checked, whatever the name resolves to by then. Each
redirect is checked like the first URL.

The host that is checked is the one that will be connected to, in ASCII, and a plain name or address: if
parts had to be decoded or dropped first, two URL parsers could see two different hosts.

Python's own ``is_global`` has changed its mind between patch releases (CVE-2024-4032), so the networks
are written out here, from the IANA registries of special-purpose addresses.
https://www.iana.org/assignments/iana-ipv4-special-registry
https://www.iana.org/assignments/iana-ipv6-special-registry
"""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

from msgspec import Struct
from yarl import URL

from rightcall.builtin.net.exchange import Response, exchange
from rightcall.builtin.net.readable import Page, read
from rightcall.core.jsontext import shorten
from rightcall.errors import ToolFailure, UsageError
from rightcall.transport.dial import Address as Place
from rightcall.transport.dial import Addresses
from rightcall.transport.route import ServerAddress

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network


def _networks(*names: str) -> tuple[Network, ...]:
    return tuple(ip_network(name) for name in names)


_METADATA = _networks(
    "169.254.169.254/32",  # AWS, Google, Azure, most others
    "168.63.129.16/32",  # Azure's wire server, which looks public
    "100.100.100.200/32",  # Alibaba
    "192.0.0.192/32",  # Oracle
    "fd00:ec2::254/128",  # AWS
    "fd20:ce::254/128",  # Google
)
_PRIVATE = _networks(
    "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "100.64.0.0/10",
    "fc00::/7", "::1/128",
)  # fmt: skip
_RESERVED = _networks(
    "0.0.0.0/8",
    "169.254.0.0/16",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/3",  # multicast, reserved, broadcast
    "2001::/23",  # Teredo and other protocols
    "2001:db8::/32",
    "2002::/16",  # 6to4, which can carry any IPv4 address
    "3fff::/20",
)
_GLOBAL_V6 = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")


def as_address(text: str) -> Address | None:
    """The address that a text is, in canonical form, without a zone; None for a name."""
    try:
        if "%" in text:
            return None
        return ip_address(text)
    except ValueError:
        return None


def as_networks(names: Iterable[str]) -> tuple[Network, ...]:
    """Parses networks that a developer names. Raises UsageError."""
    try:
        return _networks(*names)
    except ValueError as error:
        raise UsageError(f"networks: {error}; write them as 10.1.0.0/16") from None


def as_hosts(names: Iterable[str]) -> tuple[str, ...]:
    """Parses hosts that a developer names, in ASCII as in URLs. Raises UsageError."""
    hosts = []
    for name in names:
        star = "*." if name.startswith("*.") else ""
        try:
            host = URL.build(scheme="https", host=name.removeprefix(star).strip("[]")).raw_host or ""
        except ValueError:
            host = ""
        if not _is_plain(host):
            raise UsageError(
                f"hosts: {name!r} is no host; write example.com, *.example.com or an address, without "
                "a port"
            )
        hosts.append(star + host.lower().rstrip("."))
    return tuple(hosts)


def _is_plain(host: str) -> bool:
    return as_address(host) is not None or _NAME.fullmatch(host) is not None


def refusal(address: Address, granted: Iterable[Network] = (), *, private: bool = False) -> str | None:
    """The reason why the address may not be reached; None if it may.

    ``granted`` networks may always be reached. With ``private``, so may private networks.
    """
    # The IPv4 address embedded in an IPv6 one that leads to it.
    inner = address
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            inner = address.ipv4_mapped
        elif address in _NAT64:
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
    if any(inner in network or address in network for network in granted):
        return None
    if _in(inner, _METADATA):
        return "it belongs to the metadata service of a cloud"
    if _in(inner, _PRIVATE):
        if private:
            return None
        return "it is private"
    if _in(inner, _RESERVED) or (isinstance(inner, IPv6Address) and inner not in _GLOBAL_V6):
        return "it is not a public one"
    return None


def _in(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks)


LONGEST = 4096
# Host names here are wider than the standards': underscores occur, and hyphens at either end.
_NAME = re.compile(r"(?=.{1,254}\Z)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?", re.IGNORECASE | re.ASCII)
_SCHEMES = ("http", "https")
# URL parsers disagree about these: what one takes for a path, another takes for a host.
_DISPUTED = re.compile(r"[\x00-\x20\x7f-\xa0\\\u2028\u2029\ufeff\ud800-\udfff]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?!\d)")
# Other forms that C's inet_aton accepts as an address: 2130706433, 0x7f.1, 017700000001.
_ODD_ADDRESS = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)(?:\.(?:0x[0-9a-f]*|[0-9]+)){0,3}\.?", re.IGNORECASE)


class WebGrant(Struct, frozen=True, kw_only=True):
    """What a tool may reach."""

    private: bool = False
    """Whether private addresses are allowed, too."""
    networks: tuple[Network, ...] = ()
    """These networks are always allowed."""
    hosts: tuple[str, ...] | None = None
    """Only these hosts, by ``as_hosts``; ``*.example.com`` is every host below it. None: any."""
    ports: Collection[int] | None = (80, 443)
    """Only these ports. None: any."""


def _own(words: str) -> ToolFailure:
    """A refusal in our words, with at most what the model wrote in it."""
    return ToolFailure(words, own=True)


def locate(text: str, grant: WebGrant) -> URL:
    """Parses a URL whose form, host and port are granted. Raises ToolFailure."""
    text = text.strip()
    if len(text) > LONGEST:
        raise _own(f"The URL has {len(text):,} characters; {LONGEST:,} is the most.")
    if _DISPUTED.search(text):
        raise ToolFailure(
            "The URL holds a space, a backslash or a control character; encode it with %.", own=True
        )
    named = _SCHEME.match(text)
    if named is None and not text.startswith("/"):
        text = f"https://{text}"
    elif named is None or named[1].lower() not in _SCHEMES:
        raise _own("Only http:// and https:// can be fetched.")
    try:
        url = URL(text)
        _ = url.port
    except ValueError:
        raise ToolFailure(f"{shorten(text)} is not a URL.", own=True) from None
    return _check_url(url.with_fragment(None), grant)


def follow(url: URL, location: str, grant: WebGrant) -> URL:
    """The URL of a redirect. Raises ToolFailure."""
    if len(location) > LONGEST or _DISPUTED.search(location.strip()):
        raise ToolFailure(f"{shorten(str(url))} redirects to something that is not a URL.")
    try:
        joined = url.join(URL(location.strip()))
    except ValueError:
        raise ToolFailure(f"{shorten(str(url))} redirects to something that is not a URL.") from None
    try:
        found = locate(str(joined), grant)
    except ToolFailure as failure:
        # The server chose the address.
        raise ToolFailure(failure.message) from None
    if url.scheme == "https" and found.scheme == "http":
        raise ToolFailure(f"{shorten(str(url))} redirects from https to http, which is not followed.")
    return found


def refuse(url: URL, addresses: Collection[Address], grant: WebGrant) -> None:
    """Raise ToolFailure if any of a host's addresses may not be reached."""
    for address in addresses:
        why = refusal(address, grant.networks, private=grant.private)
        if why is not None:
            host = shorten(url.raw_host or "")
            raise ToolFailure(
                f"{host} may not be reached: its address is {address}, and {why}.", own=True
            )


def _check_url(url: URL, grant: WebGrant) -> URL:
    # The raw host is what is connected to: names in ASCII, and no digits of other scripts.
    host = url.raw_host
    port = url.port
    if url.scheme not in _SCHEMES or not host or port is None:
        raise ToolFailure(f"{shorten(str(url))} is not a URL.", own=True)
    if url.user is not None or url.password is not None:
        raise ToolFailure(
            "A URL with a user name or a password in it is not fetched; leave them out.", own=True
        )
    if not _is_plain(host):
        raise ToolFailure(f"{shorten(host)} is not a plain host name or address.", own=True)
    if as_address(host) is None and _ODD_ADDRESS.fullmatch(host):
        raise ToolFailure(
            f"{shorten(host)} is an odd way to write an address; write it as a.b.c.d.", own=True
        )
    if grant.hosts is not None and not any(_matches(host, each) for each in grant.hosts):
        raise _own(f"{shorten(host)} is not among the hosts that may be reached: {_list(grant.hosts)}.")
    if grant.ports is not None and port not in grant.ports:
        raise ToolFailure(
            f"Port {port} may not be reached; only {_list(sorted(grant.ports))}.", own=True
        )
    return url


def _matches(host: str, pattern: str) -> bool:
    host = host.lower().rstrip(".")
    if pattern.startswith("*."):
        return host.endswith(pattern[1:])
    return host == pattern


def _list(items: Collection[object]) -> str:
    return ", ".join(map(str, items)) or "none"


Resolve: TypeAlias = Callable[[str], Awaitable[Sequence[str]]]
"""The addresses of a host name. Raises OSError if it has none."""


async def system_resolve(host: str) -> Sequence[str]:
    """The addresses of a name by the system's resolver."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(place[0]) for *_, place in found]


async def allowed_addresses(url: URL, grant: WebGrant, resolve: Resolve) -> "CheckedAddresses":
    """The addresses for one request to a URL. Raises ToolFailure if its host may not be reached."""
    addresses = await _addresses(url, resolve)
    refuse(url, addresses, grant)
    return CheckedAddresses(addresses)


async def _addresses(url: URL, resolve: Resolve) -> Sequence[Address]:
    host = url.raw_host or ""
    literal = as_address(host)
    if literal is not None:
        return [literal]
    try:
        # A link-local address may come with a zone, which the check does not need.
        found = [as_address(each.partition("%")[0]) for each in await resolve(host)]
    except (OSError, UnicodeError):
        found = []
    addresses: list[Address] = []
    for address in found:
        if address is not None and address not in addresses:
            addresses.append(address)
    if not addresses:
        raise ToolFailure(f"There is no host {shorten(host)}.", own=True)
    return addresses


class CheckedAddresses:
    """The addresses that were checked, whatever their name resolves to by now."""

    def __init__(self, addresses: Sequence[Address]) -> None:
        self._addresses = addresses

    async def addresses(self, server: ServerAddress) -> Addresses:
        """Those addresses, for any server."""
        places: list[Place] = []
        for address in self._addresses:
            family = socket.AF_INET6 if isinstance(address, IPv6Address) else socket.AF_INET
            place = (str(address), server.port)
            places.append((family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", place))
        return places

    def socket(self, place: Place) -> socket.socket:
        """A socket for one of those addresses. The last check before connecting; raises OSError."""
        family, kind, protocol, _, (host, *_) = place
        if as_address(str(host)) not in self._addresses:
            raise OSError(f"{host} was not checked")
        return socket.socket(family, kind, protocol)


_MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_LATER = frozenset({408, 425, 429, 500, 502, 503, 504})
_SUCCESS = range(200, 300)
_ACCEPTED = "text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.9,*/*;q=0.1"


class Fetched(Struct, frozen=True, kw_only=True):
    """A page, and its final URL."""

    url: str
    page: Page
    is_cut: bool


class Fetcher(Struct, frozen=True, kw_only=True):
    """Fetches pages that the grant allows."""

    grant: WebGrant
    seconds: float
    max_bytes: int
    resolve: Resolve = system_resolve

    async def fetch(self, address: str) -> Fetched:
        """The page at a URL. Raises ToolFailure, with a message for the model."""
        url = locate(address, self.grant)
        try:
            async with asyncio.timeout(self.seconds):
                url, answer = await self._follow(url)
                page = await read(answer.body, answer.headers.get("content-type", ""), str(url))
        except TimeoutError:
            raise ToolFailure(
                f"{shorten(str(url))} did not arrive within {self.seconds:g} s.", retryable=True
            ) from None
        return Fetched(url=str(url), page=page, is_cut=answer.is_cut)

    async def _follow(self, url: URL) -> tuple[URL, Response]:
        for hop in range(_MOST_REDIRECTS + 1):
            try:
                checked = await allowed_addresses(url, self.grant, self.resolve)
            except ToolFailure as failure:
                # After a redirect, the server has chosen the host that is named.
                raise ToolFailure(failure.message, own=failure.own and not hop) from None
            headers = {"Accept": _ACCEPTED}
            answer = await exchange(str(url), max_bytes=self.max_bytes, headers=headers, checked=checked)
            location = answer.headers.get("location")
            if answer.status not in _REDIRECTS or location is None:
                if answer.status not in _SUCCESS:
                    raise ToolFailure(
                        f"{shorten(str(url), 200)} answered {answer.words}.",
                        retryable=answer.status in _LATER,
                    )
                return url, answer
            url = follow(url, location, self.grant)
        raise ToolFailure(f"More than {_MOST_REDIRECTS} redirects; the last one to {shorten(str(url))}.")
