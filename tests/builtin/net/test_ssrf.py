"""Which addresses and URLs may be reached."""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from rightcall.builtin.net.fetch import (
    WebGrant,
    as_address,
    as_hosts,
    as_networks,
    follow,
    locate,
    refusal,
)
from rightcall.errors import ToolFailure, UsageError

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
        ("fe80::1", IPv6Address("fe80::1")),
        ("fe80::1%eth0", None),
        ("127.0.0.1%x", None),
        ("127.1", None),
        ("2130706433", None),
        ("0x7f.0.0.1", None),
        ("127.0.0.01", None),
        ("example.com", None),
    ],
)
def test_an_address_is_written_in_one_way(text, address):
    assert as_address(text) == address


ANY = WebGrant()


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://example.com", "https://example.com"),
        (" HTTPS://Example.COM/a#part ", "https://example.com/a"),
        ("example.com/page", "https://example.com/page"),
        ("http://example.com:80/", "http://example.com/"),
        ("https://bücher.example/ü", "https://xn--bcher-kva.example/%C3%BC"),
        ("http://93.184.216.34/", "http://93.184.216.34/"),
        ("http://[2606:4700::1111]/", "http://[2606:4700::1111]/"),
        ("https://example.com./", "https://example.com./"),
        ("https://example.com/?q=a@b:c", "https://example.com/?q=a@b:c"),
    ],
)
def test_an_address_is_read(text, url):
    assert str(locate(text, ANY)) == str(URL(url))


ODD = "is an odd way to write an address; write it as a.b.c.d."
NOT_PLAIN = "is not a plain host name or address."
DISPUTED = "The URL holds a space, a backslash or a control character; encode it with %."
REFUSED_URLS = {
    "a file": ("file:///etc/passwd", "Only http:// and https:// can be fetched."),
    "a program": ("javascript:alert(1)", "Only http:// and https:// can be fetched."),
    "data": ("data:text/html,x", "Only http:// and https:// can be fetched."),
    "another protocol": ("gopher://example.com/", "Only http:// and https:// can be fetched."),
    "a path": ("/etc/passwd", "Only http:// and https:// can be fetched."),
    "no scheme but slashes": ("//example.com/", "Only http:// and https:// can be fetched."),
    "a password": (
        "https://user:secret@example.com/",
        "A URL with a user name or a password in it is not fetched; leave them out.",
    ),
    "a host for a name": (
        "https://example.com@127.0.0.1/",
        "A URL with a user name or a password in it is not fetched; leave them out.",
    ),
    "a whole number": ("http://2130706433/", f'"2130706433" {ODD}'),
    "octal": ("http://0177.0.0.1/", f'"0177.0.0.1" {ODD}'),
    "hexadecimal": ("http://0x7f.1/", f'"0x7f.1" {ODD}'),
    "too short": ("http://127.1/", f'"127.1" {ODD}'),
    "with a dot at the end": ("http://127.0.0.1./", f'"127.0.0.1." {ODD}'),
    "a zone": ("http://127.0.0.1%x.example.com/", f'"127.0.0.1%x.example.com" {NOT_PLAIN}'),
    "a zone of nothing": ("http://127.0.0.1%00.a.org/", f'"127.0.0.1%00.a.org" {NOT_PLAIN}'),
    "an encoded zone": ("http://127.0.0.1%25x.a.org/", f'"127.0.0.1%25x.a.org" {NOT_PLAIN}'),
    "a zone in brackets": ("http://[::1%x.a.org]/", f'"::1%x.a.org" {NOT_PLAIN}'),
    "an encoded letter": ("http://exam%70le.com/", f'"exam%70le.com" {NOT_PLAIN}'),
    "an encoded slash": ("http://a.org%2f.b.org/", f'"a.org%2f.b.org" {NOT_PLAIN}'),
    "a sign in a name": ("http://a$b.org/", f'"a$b.org" {NOT_PLAIN}'),
    "a list of names": ("http://a.org,b.org/", f'"a.org,b.org" {NOT_PLAIN}'),
    "a star": ("http://*.example.com/", f'"*.example.com" {NOT_PLAIN}'),
    "two dots": ("http://a..org/", f'"a..org" {NOT_PLAIN}'),
    "another port": ("http://example.com:22/", "Port 22 may not be reached; only 80, 443."),
    "a port that is none": ("http://example.com:99999/", '"http://example.com:99999/" is not a URL.'),
    "no host": ("http:///path", '"http:///path" is not a URL.'),
    "a bracket": ("http://[::1/", '"http://[::1/" is not a URL.'),
    "a space": (
        "http://exa mple.com/", DISPUTED
    ),
    "a backslash": (
        "http://example.com\\@127.0.0.1/",
        DISPUTED,
    ),
    "a line break": (
        "http://example.com/\r\nX: y",
        DISPUTED,
    ),
    "too long": ("https://a.org/" + "a" * 5000, "The URL has 5,014 characters; 4,096 is the most."),
}  # fmt: skip


@pytest.mark.parametrize(("text", "words"), REFUSED_URLS.values(), ids=REFUSED_URLS)
def test_what_is_no_address_of_the_web_is_refused_in_words(text, words):
    with pytest.raises(ToolFailure) as caught:
        locate(text, ANY)
    assert str(caught.value) == words


PLAIN = re.compile(r"[a-z0-9_.-]+|[0-9a-f:.]+")


@given(st.text(max_size=60) | st.text(alphabet="htps:/.@[]%#?0123456789abx\\ \t-_", max_size=60))
def test_any_text_gives_a_url_of_the_web_or_words(text):
    try:
        url = locate(text, ANY)
    except ToolFailure as failure:
        url = failure
    assert isinstance(url, ToolFailure) or (
        url.scheme in {"http", "https"} and PLAIN.fullmatch(url.raw_host) and not url.user
    )


HOSTS = WebGrant(hosts=as_hosts(["Example.com", "*.example.org", "bücher.example", "[2606:4700::1]"]))


@pytest.mark.parametrize(
    ("host", "granted"),
    [
        ("example.com", True),
        ("EXAMPLE.com.", True),
        ("www.example.com", False),
        ("www.example.org", True),
        ("a.b.example.org", True),
        ("example.org", False),
        ("notexample.org", False),
        ("example.com.evil.net", False),
        ("bücher.example", True),
        ("xn--bcher-kva.example", True),
        ("[2606:4700:0::1]", True),
        ("[2606:4700::2]", False),
    ],
)
def test_hosts_can_be_narrowed_down(host, granted):
    if granted:
        assert locate(f"https://{host}/", HOSTS).host
    else:
        with pytest.raises(ToolFailure, match="not among the hosts that may be reached: "):
            locate(f"https://{host}/", HOSTS)


@pytest.mark.parametrize(
    "name", ["", "*", "a.org:80", "http://a.org", "a b", "1.1.1.1%x.a.org", "*.*.org"]
)
def test_what_is_no_host_is_the_developers_mistake(name):
    with pytest.raises(UsageError, match="hosts: "):
        as_hosts([name])


def test_ports_can_be_opened():
    assert locate("http://example.com:8080/", WebGrant(ports=None)).port == 8080
    assert locate("http://example.com:8080/", WebGrant(ports=(8080,))).port == 8080


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("/b", "https://example.com/b"),
        ("c?x=1", "https://example.com/a/c?x=1"),
        ("//other.example/", "https://other.example/"),
        ("https://other.example/#top", "https://other.example/"),
    ],
)
def test_a_redirect_is_followed_from_where_it_is(location, url):
    assert follow(URL("https://example.com/a/b"), location, ANY) == URL(url)


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("http://example.com/", "redirects from https to http, which is not followed"),
        ("file:///etc/passwd", "Only http:// and https://"),
        ("https://a:b@example.com/", "user name or a password"),
        ("https://example.com:25/", "Port 25 may not be reached"),
        ("https://exam\udc80ple.com/", "redirects to something that is not a URL"),
        ("http://[oops/", "redirects to something that is not a URL"),
    ],
)
def test_a_redirect_is_checked_like_the_first(location, words):
    with pytest.raises(ToolFailure, match=words):
        follow(URL("https://example.com/a"), location, ANY)
