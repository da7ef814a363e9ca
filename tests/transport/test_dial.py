"""How connections are opened: names and addresses, TLS, and proxies that see as little as they must."""

import asyncio
import socket
from base64 import b64encode

import pytest
import uvloop

import rightcall as rc
from request.server import serving, streamed, whole
from rightcall.core.transport import Timeouts
from rightcall.errors import TransportError, TransportTimeout, VendorError
from rightcall.transport import dial
from rightcall.transport.http import HttpTransport
from rightcall.transport.route import proxy_for
from transport.certificates import certified
from transport.raw import answering, asked, posted, talking

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


@pytest.fixture
def environment(monkeypatch):
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    proxy_for.cache_clear()
    monkeypatch.setattr(dial, "_contexts", [])
    yield monkeypatch
    proxy_for.cache_clear()


@pytest.fixture
def tls(environment, tmp_path):
    environment.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
    return certified(tmp_path)


async def test_an_address_of_the_newer_kind_is_connected_to(transport):
    async with talking(answering(OK), "::1") as place:
        port = place.rpartition(":")[2]
        assert await posted(transport, f"http://[::1]:{port}/") == (200, b"ok")


async def test_a_name_is_looked_up_once_for_many(transport, monkeypatch):
    looked_up = []

    async def getaddrinfo(host, port, **_):
        looked_up.append((host, port))
        await asyncio.sleep(0.01)
        # Nobody listens at the first address.
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (f"127.0.0.{last}", port)) for last in (2, 1)
        ]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    async with serving(whole(b"{}")) as server:
        port = int(server.url.rpartition(":")[2])
        url = f"http://vendor.example:{port}/"
        await asyncio.gather(*[posted(transport, url) for _ in range(10)])
        await asyncio.gather(*[posted(transport, url) for _ in range(20)])
    assert looked_up == [("vendor.example", port)]
    assert server.requests[0][1]["host"] == f"vendor.example:{port}"


async def test_a_name_that_was_not_found_is_looked_up_again(transport, monkeypatch):
    found = [socket.gaierror(socket.EAI_NONAME, "Name or service not known"), None]

    async def getaddrinfo(_host, port, **_):
        if error := found.pop(0):
            raise error
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    async with serving(whole(b"{}")) as server:
        url = server.url.replace("127.0.0.1", "vendor.example")
        with pytest.raises(TransportError, match=r"connect to vendor.example:\d+: Name or service not"):
            await posted(transport, url)
        assert await posted(transport, url) == (200, b"{}")


async def test_who_is_cancelled_leaves_a_lookup_to_the_others(transport, monkeypatch):
    asked_for = asyncio.Event()

    async def getaddrinfo(_host, port, **_):
        await asked_for.wait()
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    async with serving(whole(b"{}")) as server:
        url = server.url.replace("127.0.0.1", "vendor.example")
        one, other = [asyncio.ensure_future(posted(transport, url)) for _ in range(2)]
        await asyncio.sleep(0.01)
        one.cancel()
        await asyncio.wait([one])
        asked_for.set()
        assert await other == (200, b"{}")


async def test_where_nobody_listens_is_told(transport):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(TransportError, match=rf"cannot connect to 127.0.0.1:{port}: Connection refused"):
        await posted(transport, f"http://127.0.0.1:{port}/")


async def test_a_name_that_is_too_long_is_told(transport):
    with pytest.raises(TransportError, match="cannot connect to a"):
        await posted(transport, f"http://{'a' * 100}.example/")


async def test_requests_over_tls_share_a_connection(transport, tls):
    async with serving(whole(b"{}"), streamed(*[bytes(100_000)] * 20), whole(b"{}"), tls=tls) as server:
        assert await posted(transport, server.url) == (200, b"{}")
        assert await posted(transport, server.url, bytes(3_000_000)) == (200, bytes(2_000_000))
        assert await posted(transport, server.url) == (200, b"{}")
    assert (server.connections, len(server.requests[1][2])) == (1, 3_000_000)


async def test_a_reply_over_tls_may_end_with_the_connection(transport, tls):
    async def talk(reader, writer) -> None:
        await asked(reader)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nhello")

    async with talking(talk, ssl=tls) as place:
        assert await posted(transport, f"https://{place}/") == (200, b"hello")


UNTRUSTED = {
    "by nobody": ({}, False, "not trusted: self-signed certificate"),
    "for another": ({"host": "other.example"}, True, "not trusted: IP address mismatch"),
    "any more": ({"days": -1}, True, "not trusted: certificate has expired"),
}


@pytest.mark.parametrize(("options", "known", "words"), UNTRUSTED.values(), ids=UNTRUSTED)
async def test_a_server_that_is_not_trusted_is_told_nothing(
    options, known, words, transport, environment, tmp_path
):
    context = certified(tmp_path, **options)
    if known:
        environment.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
    async with serving(whole(b"{}"), tls=context) as server:
        with pytest.raises(TransportError, match=words) as caught:
            await posted(transport, server.url)
        assert (server.requests, caught.value.retryable) == ([], False)


async def test_a_server_without_tls_is_told_nothing(transport, tls):
    async def talk(reader, writer) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with talking(talk) as place:
        with pytest.raises(TransportError, match=f"no TLS with {place}: WRONG_VERSION_NUMBER"):
            await posted(transport, f"https://{place}/")


async def test_a_server_that_never_gets_to_tls_is_left_in_time(transport, tls):
    async def talk(reader, writer) -> None:
        await asyncio.sleep(3600)

    async with talking(talk) as place, asyncio.timeout(5):
        for limits in (Timeouts(connect=0.1), Timeouts(whole=0.1)):
            with pytest.raises(TransportTimeout, match=r"no connection within 0\.1 s"):
                await posted(transport, f"https://{place}/", timeouts=limits)


class Tunnels:
    """A proxy that passes on bytes to wherever it is asked to, and remembers what it was asked."""

    def __init__(self, answer: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n") -> None:
        self.asked: list[bytes] = []
        self._answer = answer

    async def __call__(self, reader, writer) -> None:
        self.asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(self._answer)
        if not self._answer.startswith(b"HTTP/1.1 200"):
            return
        host, port = self.asked[-1].split()[1].split(b":")
        there = await asyncio.open_connection(host.decode(), int(port))
        try:
            await asyncio.gather(self._pass(reader, there[1]), self._pass(there[0], writer))
        finally:
            there[1].close()

    async def _pass(self, source, target) -> None:
        while data := await source.read(65536):
            target.write(data)


@pytest.mark.parametrize("is_encrypted", [False, True])
async def test_an_encrypted_request_is_not_for_the_eyes_of_the_proxy(
    is_encrypted, transport, tls, environment
):
    proxy = Tunnels()
    async with (
        serving(whole(b"{}"), tls=tls) as server,
        talking(proxy, ssl=tls if is_encrypted else None) as place,
    ):
        scheme = "https" if is_encrypted else "http"
        environment.setenv("HTTPS_PROXY", f"{scheme}://me:p%40ss@{place}")
        for _ in range(2):
            assert await posted(transport, f"{server.url}/v1/chat") == (200, b"{}")
        await transport.close()
    there = server.url.removeprefix("https://")
    word = b64encode(b"me:p@ss").decode()
    head = f"CONNECT {there} HTTP/1.1\r\nhost: {there}\r\nproxy-authorization: Basic {word}\r\n\r\n"
    assert proxy.asked == [head.encode()]
    assert [target for target, _, _ in server.requests] == ["/v1/chat"] * 2
    assert "proxy-authorization" not in server.requests[0][1]


async def test_a_request_in_the_clear_goes_through_an_encrypted_proxy(transport, tls, environment):
    async with serving(whole(b"{}"), tls=tls) as proxy:
        environment.setenv("HTTP_PROXY", proxy.url)
        assert await posted(transport, "http://vendor.invalid/a") == (200, b"{}")
    assert proxy.requests[0][0] == "http://vendor.invalid/a"
    assert proxy.requests[0][1]["host"] == "vendor.invalid"


REFUSALS = {
    "a server that is away": (b"HTTP/1.1 503\r\n\r\n<p>away</p>", "answered 503 to CONNECT vendor"),
    "nothing but a version": (b"HTTP/1.1\r\n\r\n", "gave no answer to CONNECT"),
    "no answer": (b"", "gave no answer to CONNECT"),
    "no HTTP": (b"SSH-2.0\r\n\r\n", "gave no answer to CONNECT"),
    "half an answer": (b"HTTP/1.1 201 O", "gave no answer to CONNECT"),
    "an answer and more": (b"HTTP/1.1 201 OK\r\n\r\nevil", "gave no answer to CONNECT"),
    "an answer without end": (b"HTTP/1.1 201 OK\r\n" + b"a: b\r\n" * 20_000, "gave no answer"),
}


@pytest.mark.parametrize(("answer", "words"), REFUSALS.values(), ids=REFUSALS)
async def test_a_proxy_that_does_not_pass_on_is_told_without_its_password(
    answer, words, transport, environment
):
    async with talking(Tunnels(answer)) as place:
        environment.setenv("HTTPS_PROXY", f"http://me:secret@{place}")
        with pytest.raises(TransportError, match=words) as caught:
            await posted(transport, "https://vendor.invalid/")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("page", [b"", b"<p>who are you?</p>"])
async def test_a_proxy_that_refuses_is_not_asked_again(page, environment):
    proxy = Tunnels(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n" + page)
    async with talking(proxy) as place, rc.connect("https://vendor.invalid/v1|m", api_key="k") as model:
        environment.setenv("HTTPS_PROXY", f"http://me:secret@{place}")
        with pytest.raises(VendorError) as caught:
            await rc.Agent(model).run("hi")
    words = f"HTTP 407: the proxy at {place} does not connect to vendor.invalid:443"
    assert (str(caught.value), caught.value.kind) == (f"vendor.invalid: {words}", "auth")
    assert len(proxy.asked) == 1


@pytest.mark.parametrize("host", [".example", "a" * 70 + ".example"], ids=["dot", "long"])
async def test_a_name_that_no_certificate_can_be_for_is_told(host, transport, environment):
    async def talk(reader, writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await asyncio.sleep(3600)

    async with talking(talk) as place:
        environment.setenv("HTTPS_PROXY", f"http://{place}")
        with pytest.raises(TransportError, match=f"cannot connect to {host}:443: "):
            await posted(transport, f"https://{host}/")


def test_so_it_is_on_another_event_loop(tls):
    async def exchanges() -> None:
        transport = HttpTransport()
        large = streamed(*[bytes(100_000)] * 20)
        async with serving(whole(b"{}"), large) as plain, serving(whole(b"{}"), large, tls=tls) as safe:
            for server in (plain, safe):
                assert await posted(transport, server.url) == (200, b"{}")
                assert await posted(transport, server.url, bytes(3_000_000)) == (200, bytes(2_000_000))
                assert server.connections == 1
        await transport.close()
        with pytest.raises(TransportError, match="cannot connect"):
            await posted(transport, plain.url)

    uvloop.run(exchanges())
