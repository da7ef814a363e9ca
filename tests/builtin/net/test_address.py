"""Which addresses are public."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.builtin.net.ssrf import as_address, as_networks, refusal
from rightcall.errors import UsageError

PRIVATE = "it is private"
NOT_PUBLIC = "it is not a public one"
METADATA = "it belongs to the metadata service of a cloud"
REFUSED = {
    "127.0.0.1": PRIVATE,
    "127.255.255.254": PRIVATE,
    "10.0.0.1": PRIVATE,
    "172.16.0.1": PRIVATE,
    "172.31.255.255": PRIVATE,
    "192.168.1.1": PRIVATE,
    "100.64.0.1": PRIVATE,
    "::1": PRIVATE,
    "fd12:3456::1": PRIVATE,
    "169.254.169.254": METADATA,
    "168.63.129.16": METADATA,
    "100.100.100.200": METADATA,
    "fd00:ec2::254": METADATA,
    "::ffff:169.254.169.254": METADATA,
    "64:ff9b::a9fe:a9fe": METADATA,
    "169.254.1.1": NOT_PUBLIC,
    "0.0.0.0": NOT_PUBLIC,
    "0.1.2.3": NOT_PUBLIC,
    "192.0.0.8": NOT_PUBLIC,
    "192.0.2.1": NOT_PUBLIC,
    "198.18.0.1": NOT_PUBLIC,
    "198.51.100.7": NOT_PUBLIC,
    "203.0.113.9": NOT_PUBLIC,
    "224.0.0.1": NOT_PUBLIC,
    "239.255.255.250": NOT_PUBLIC,
    "240.0.0.1": NOT_PUBLIC,
    "255.255.255.255": NOT_PUBLIC,
    "::": NOT_PUBLIC,
    "::127.0.0.1": NOT_PUBLIC,
    "::ffff:127.0.0.1": PRIVATE,
    "::ffff:10.0.0.1": PRIVATE,
    "::ffff:0.0.0.0": NOT_PUBLIC,
    "64:ff9b::7f00:1": PRIVATE,
    "64:ff9b:1::7f00:1": NOT_PUBLIC,
    "2002:7f00:1::": NOT_PUBLIC,
    "2001:0:7f00:1::": NOT_PUBLIC,
    "2001:db8::1": NOT_PUBLIC,
    "3fff::1": NOT_PUBLIC,
    "100::1": NOT_PUBLIC,
    "5f00::1": NOT_PUBLIC,
    "fe80::1": NOT_PUBLIC,
    "fec0::1": NOT_PUBLIC,
    "ff02::1": NOT_PUBLIC,
}


@pytest.mark.parametrize(("address", "why"), REFUSED.items())
def test_an_address_that_is_not_public_is_refused(address, why):
    assert refusal(ip_address(address)) == why


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "8.8.8.8",
        "93.184.216.34",
        "100.63.255.255",
        "100.128.0.1",
        "172.15.255.255",
        "172.32.0.1",
        "223.255.255.255",
        "2606:4700::1111",
        "2a00:1450:4001::1",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
    ],
)
def test_a_public_address_is_not(address):
    assert refusal(ip_address(address)) is None


@given(st.ip_addresses(v=4))
def test_no_disguise_makes_an_address_more_reachable(address):
    plain = refusal(address)
    mapped = IPv6Address(b"\0" * 10 + b"\xff\xff" + address.packed)
    translated = IPv6Address(b"\0\x64\xff\x9b" + b"\0" * 8 + address.packed)
    tunnelled = IPv6Address(b"\x20\x02" + address.packed + b"\0" * 10)
    compatible = IPv6Address(b"\0" * 12 + address.packed)
    assert (refusal(mapped), refusal(translated)) == (plain, plain)
    assert refusal(tunnelled) is not None
    assert refusal(compatible) is not None


@given(st.ip_addresses(v=4) | st.ip_addresses(v=6))
def test_what_python_knows_to_be_special_is_refused(address):
    if address.is_private or address.is_multicast or address.is_reserved or address.is_unspecified:
        embedded = isinstance(address, IPv6Address) and (
            address.ipv4_mapped or str(address).startswith("64:ff9b::")
        )
        assert embedded or refusal(address) is not None


def test_ones_own_site_can_be_granted_and_that_is_all_it_grants():
    granted = {text for text in REFUSED if refusal(ip_address(text), private=True) is None}
    assert granted == {text for text, why in REFUSED.items() if why == PRIVATE}


def test_a_network_can_be_granted_whatever_it_is():
    networks = as_networks(["169.254.169.254/32", "127.0.0.0/8"])
    assert refusal(IPv4Address("169.254.169.254"), networks) is None
    assert refusal(IPv6Address("::ffff:127.0.0.1"), networks) is None
    assert refusal(IPv4Address("10.0.0.1"), networks) == PRIVATE


@pytest.mark.parametrize("name", ["10.0.0.1/8", "localhost", "10.0.0.0/40"])
def test_what_is_no_network_is_the_developers_mistake(name):
    with pytest.raises(UsageError, match="networks: "):
        as_networks([name])


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1", IPv4Address("127.0.0.1")),
        ("fe80::1%eth0", IPv6Address("fe80::1")),
        ("127.1", None),
        ("2130706433", None),
        ("0x7f.0.0.1", None),
        ("127.0.0.01", None),
        ("example.com", None),
    ],
)
def test_an_address_is_written_in_one_way(text, address):
    assert as_address(text) == address
