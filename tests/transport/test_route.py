"""Where a request goes: its URL is sent as written, and what is no URL is told without its secrets."""

# ruff: noqa: E501

import pytest

from rightcall.errors import TransportError
from rightcall.transport.route import (
    ConnectionKey,
    Proxy,
    RequestRoute,
    ServerAddress,
    _make_route,
    straight,
)

PLAIN = ServerAddress("h", 80, is_tls=False)
TLS = ServerAddress("h", 443, is_tls=True)
ROUTES = {
    "http://h": RequestRoute(ConnectionKey(PLAIN, None), "h", "/"),
    "https://h": RequestRoute(ConnectionKey(TLS, None), "h", "/"),
    "https://H:443/A": RequestRoute(ConnectionKey(TLS, None), "h", "/A"),
    "http://h:8080/a?b=c#d": RequestRoute(ConnectionKey(ServerAddress("h", 8080, False), None), "h:8080", "/a?b=c"),
    "http://h/a?": RequestRoute(ConnectionKey(PLAIN, None), "h", "/a?"),
    "http://h/a#b?c": RequestRoute(ConnectionKey(PLAIN, None), "h", "/a"),
    "http://h?a=b": RequestRoute(ConnectionKey(PLAIN, None), "h", "/?a=b"),
    "http://h/a%2Fb/%41//../c?x=%2B+%20": RequestRoute(
        ConnectionKey(PLAIN, None), "h", "/a%2Fb/%41//../c?x=%2B+%20"
    ),
    "http://h/a b/é?ü": RequestRoute(ConnectionKey(PLAIN, None), "h", "/a%20b/%C3%A9?%C3%BC"),
    "http://bücher.example/": RequestRoute(
        ConnectionKey(ServerAddress("xn--bcher-kva.example", 80, False), None), "xn--bcher-kva.example", "/"
    ),
    "http://[::1]:8080/": RequestRoute(ConnectionKey(ServerAddress("::1", 8080, False), None), "[::1]:8080", "/"),
    "https://[::1]/": RequestRoute(ConnectionKey(ServerAddress("::1", 443, True), None), "[::1]", "/"),
    "http://me:p%40ss@h/": RequestRoute(
        ConnectionKey(PLAIN, None), "h", "/", (("authorization", "Basic bWU6cEBzcw=="),)
    ),
}  # fmt: skip


@pytest.mark.parametrize(("url", "expected"), ROUTES.items(), ids=ROUTES)
def test_the_way_to_a_url(url, expected):
    assert straight(url) == expected


PROXY = ServerAddress("proxy", 3128, is_tls=False)
PROXIED = {
    "an address in the clear is asked for in full": (
        "http://h:8080/a?b", "http://proxy:3128",
        RequestRoute(ConnectionKey(ServerAddress("h", 8080, False), Proxy(PROXY, "")), "h:8080", "http://h:8080/a?b"),
    ),
    "an encrypted one is not": (
        "https://h/a?b", "http://proxy:3128", RequestRoute(ConnectionKey(TLS, Proxy(PROXY, "")), "h", "/a?b"),
    ),
    "a proxy without a scheme": (
        "https://h/", "proxy:3128", RequestRoute(ConnectionKey(TLS, Proxy(PROXY, "")), "h", "/"),
    ),
    "a proxy with a password": (
        "http://h/", "http://me:secret@proxy:3128",
        RequestRoute(
            ConnectionKey(PLAIN, Proxy(PROXY, "Basic bWU6c2VjcmV0")), "h", "http://h/",
            (("proxy-authorization", "Basic bWU6c2VjcmV0"),),
        ),
    ),
    "the password is not for the server": (
        "https://h/", "http://me:secret@proxy:3128",
        RequestRoute(ConnectionKey(TLS, Proxy(PROXY, "Basic bWU6c2VjcmV0")), "h", "/"),
    ),
    "an encrypted proxy": (
        "http://h/", "https://proxy",
        RequestRoute(ConnectionKey(PLAIN, Proxy(ServerAddress("proxy", 443, True), "")), "h", "http://h/"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("url", "proxy", "expected"), PROXIED.values(), ids=PROXIED)
def test_the_way_through_a_proxy(url, proxy, expected):
    assert _make_route(url, proxy) == expected


@pytest.mark.parametrize(
    "url",
    [
        "", "h/secret", "ftp://h/secret", "http:///secret", "http://h:port/secret", "http://h:0/secret",
        "http://h:99999/secret", "http://[::1/secret", "http://h/sec\r\nret", "http://h\0/secret",
    ],
)  # fmt: skip
def test_what_is_no_url_is_told_without_its_secrets(url):
    with pytest.raises(TransportError, match="no URL that begins with http") as caught:
        straight(url)
    assert "secret" not in str(caught.value)
    assert not caught.value.retryable


def test_a_host_that_is_no_name_is_refused():
    with pytest.raises(TransportError, match="not the name of a host"):
        straight(f"http://{'ü' * 100}/")


@pytest.mark.parametrize("proxy", ["socks5://me:secret@proxy:1080", "http://"])
def test_a_proxy_of_another_kind_is_refused_without_its_password(proxy):
    with pytest.raises(TransportError, match="names a proxy that is not one of HTTP") as caught:
        _make_route("https://h/", proxy)
    assert "secret" not in str(caught.value)
    assert not caught.value.retryable
