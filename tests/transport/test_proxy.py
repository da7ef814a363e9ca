"""Proxies as the environment names them."""

import pytest

from request.server import serving, whole
from rightcall.core.transport import Timeouts
from rightcall.transport.http import HttpTransport
from rightcall.transport.route import proxy_for


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    proxy_for.cache_clear()
    yield monkeypatch
    proxy_for.cache_clear()


async def asked(url: str) -> None:
    transport = HttpTransport()
    async with transport.post(url, headers={}, body=b"x", timeouts=Timeouts()) as incoming:
        assert [chunk async for chunk in incoming.chunks] == [b"{}"]
    await transport.close()


async def test_a_request_goes_through_the_proxy_with_its_credentials(environment):
    async with serving(whole(b"{}")) as proxy:
        environment.setenv("HTTP_PROXY", proxy.url.replace("http://", "http://me:secret@"))
        await asked("http://vendor.invalid/v1/chat")
    ((target, headers, _),) = proxy.requests
    assert target == "http://vendor.invalid/v1/chat"
    assert headers["proxy-authorization"].startswith("Basic ")


async def test_a_host_that_needs_no_proxy_is_asked_itself(environment):
    async with serving(whole(b"{}")) as server, serving(whole(b"{}")) as proxy:
        environment.setenv("HTTP_PROXY", proxy.url)
        environment.setenv("NO_PROXY", "127.0.0.1")
        await asked(f"{server.url}/v1/chat")
    assert ([path for path, _, _ in server.requests], proxy.requests) == (["/v1/chat"], [])


async def test_credentials_for_the_vendor_do_not_come_from_a_netrc(environment, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("default login me password secret\n")
    environment.setenv("NETRC", str(netrc))
    async with serving(whole(b"{}")) as server:
        await asked(server.url)
    assert "authorization" not in server.requests[0][1]


@pytest.mark.parametrize(
    ("variable", "url", "found"),
    [
        ("HTTPS_PROXY", "https://api.example/v1", "http://proxy:1"),
        ("HTTP_PROXY", "https://api.example/v1", None),
        ("https_proxy", "https://api.example/v1", "http://proxy:1"),
        ("ALL_PROXY", "https://api.example/v1", "http://proxy:1"),
        ("all_proxy", "http://api.example/v1", "http://proxy:1"),
    ],
)
def test_each_scheme_has_a_proxy_of_its_own(environment, variable, url, found):
    environment.setenv(variable, "http://proxy:1")
    assert proxy_for(url) == found


EXCEPTED = {
    "*": ["http://h/", "http://10.1.2.3/", "https://[::1]/"],
    "h.example": ["http://h.example/", "http://a.h.example:8080/", "http://H.Example./"],
    ".h.example": ["http://h.example/", "http://a.h.example/"],
    "*.h.example": ["http://h.example/", "http://a.h.example/"],
    "a, h.example": ["http://h.example/"],
    "a h.example": ["http://h.example/"],
    "h.example:8080": ["http://h.example:8080/"],
    "h.example:443": ["https://h.example/"],
    "127.0.0.1": ["http://127.0.0.1:8080/"],
    "127.0.0.1:8080": ["http://127.0.0.1:8080/"],
    "10.0.0.0/8": ["http://10.1.2.3:8000/"],
    "10.1.2.3/8": ["http://10.9.9.9/"],
    "::1": ["http://[::1]:8080/"],
    "[::1]": ["http://[::1]/"],
    "[::1]:8080": ["http://[::1]:8080/"],
    "fd00::/8": ["http://[fd00:1::2]/"],
    "xn--bcher-kva.example": ["http://bücher.example/"],
}
OTHERS = {
    "": ["http://h.example/"],
    "h.example": ["http://other.example/", "http://ah.example/", "http://h.example.org/"],
    "h.example:8080": ["http://h.example/", "http://a.example:8080/"],
    "127.0.0.1:8080": ["http://127.0.0.1/"],
    "10.0.0.0/8": ["http://11.1.2.3/", "http://[::1]/", "http://ten.example/"],
    "[::1]:8080": ["http://[::1]/"],
    "0.0.0.0/0": ["http://[::1]/"],
}


@pytest.mark.parametrize(("entries", "urls"), EXCEPTED.items(), ids=EXCEPTED)
def test_what_is_excepted_has_no_proxy(environment, entries, urls):
    environment.setenv("ALL_PROXY", "http://proxy:1")
    environment.setenv("NO_PROXY", entries)
    assert [proxy_for(url) for url in urls] == [None] * len(urls)


@pytest.mark.parametrize(("entries", "urls"), OTHERS.items(), ids=OTHERS)
def test_what_is_not_excepted_has_one(environment, entries, urls):
    environment.setenv("ALL_PROXY", "http://proxy:1")
    environment.setenv("NO_PROXY", entries)
    assert [proxy_for(url) for url in urls] == ["http://proxy:1"] * len(urls)
