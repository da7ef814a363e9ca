"""An IP address into why it may not be reached, or nothing if it may.

Python's own ``is_global`` has changed its mind between patch releases (CVE-2024-4032), so the networks
are written out here, from the IANA registries of special-purpose addresses.
https://www.iana.org/assignments/iana-ipv4-special-registry
https://www.iana.org/assignments/iana-ipv6-special-registry
"""

from collections.abc import Iterable
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import TypeAlias

from rightcall.errors import UsageError

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
    """The address that a text is, in the one way to write it; None for a name."""
    try:
        return ip_address(text.partition("%")[0])
    except ValueError:
        return None


def as_networks(names: Iterable[str]) -> tuple[Network, ...]:
    """Networks that a developer names. Raises UsageError."""
    try:
        return _networks(*names)
    except ValueError as error:
        raise UsageError(f"networks: {error}; write them as 10.1.0.0/16") from None


def refusal(address: Address, granted: Iterable[Network] = (), *, private: bool = False) -> str | None:
    """Why the address may not be reached: a few words, or None.

    ``granted`` networks may be, whatever they are. With ``private``, so may those of one's own site.
    """
    inner = _carried(address)
    if any(inner in network or address in network for network in granted):
        return None
    if _in(inner, _METADATA):
        return "it belongs to the metadata service of a cloud"
    if _in(inner, _PRIVATE):
        return None if private else "it is private"
    if _in(inner, _RESERVED) or (isinstance(inner, IPv6Address) and inner not in _GLOBAL_V6):
        return "it is not a public one"
    return None


def _in(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks)


def _carried(address: Address) -> Address:
    """The IPv4 address within an IPv6 one that leads to it."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFFFFFF)
    return address
