"""The gateway on a hostile network: closed by default, bounded in everything, silent about keys."""

import asyncio
import contextlib
import json
import logging
import socket
import time

import aiohttp
import pytest

from rightcall.errors import UsageError
from rightcall.serve.gateway.gateway import Gateway
from rightcall.serve.gateway.keys import Allowed, Keys, add_key, revoke_key
from rightcall.serve.gateway.settings import Bounds, Place, Served, Settings
from rightcall.testing.scripted_model import ScriptedModel, Turn, reply
from rightcall.transport.http_server import BoundedProtocol
from serve.gateway.kit import JSON, Host, gateway, get, listening, place, post, served

CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


def scripted():
    return ScriptedModel(lambda _: "Hi")


@pytest.mark.parametrize("listen", ["0.0.0.0:9000", "[::]:9000", "192.168.1.5:80", "example.org:80"])
def test_without_keys_only_this_machine_is_served(listen):
    with pytest.raises(UsageError, match="keys add"):
        Gateway(Settings(listen=listen))
    keys, _ = add_key(Keys(), "a", Allowed(), "2026-11-16")
    Gateway(Settings(listen=listen), keys)


async def test_a_revoked_last_key_opens_nothing():
    keys, _ = add_key(Keys(), "a", Allowed(), "2026-11-16")
    opened = Gateway(Settings(listen="0.0.0.0:9000"), keys)
    for listen in ("0.0.0.0:9000", "127.0.0.1:9000"):
        with pytest.raises(UsageError, match="keys is gone"):
            await opened.apply(Settings(listen=listen), Keys())
    keys, text = add_key(Keys(), "a", Allowed(), "2026-11-16")
    async with gateway({"m": scripted()}, keys=keys) as (served_, base):
        held = {"authorization": f"Bearer {text}"}
        assert (await get(f"{base}/v1/models", held))[0] == 200
        await served_.apply(served_.settings, revoke_key(keys, "a", "2026-11-17"))
        answers = [(await get(f"{base}/v1/models", each))[0] for each in (held, {})]
    assert answers == [401, 401]


async def test_a_key_hears_only_of_the_models_it_may_ask_for():
    keys, text = add_key(Keys(), "a", Allowed(models=("m",)), "2026-11-16")
    async with gateway({"m": scripted(), "hidden": scripted()}, keys=keys) as (_, base):
        held = {"authorization": f"Bearer {text}"}
        told = [
            await post(f"{base}/v1/chat/completions", CHAT | {"model": name}, held)
            for name in ("hidden", "other")
        ]
    assert [status for status, _, _ in told] == [404, 404]
    assert [came.decode().partition("there is ")[2][:2] for _, _, came in told] == ['m"', 'm"']


async def test_web_pages_and_names_that_point_here_are_kept_out():
    async with gateway({"m": scripted()}) as (_, base):
        url = f"{base}/v1/chat/completions"
        assert (await post(url, CHAT, {"origin": "https://evil.example"}))[0] == 401
        assert (await post(url, CHAT, {"host": "evil.example"}))[0] == 401
        assert (await post(url, CHAT, {"host": "localhost:9000"}))[0] == 200
    async with gateway({"m": scripted()}, options={"origins": ("https://chat.example",)}) as (_, base):
        status, headers, _ = await post(
            f"{base}/v1/chat/completions", CHAT, {"origin": "https://chat.example"}
        )
        assert (status, headers["access-control-allow-origin"]) == (200, "https://chat.example")
        async with aiohttp.ClientSession() as session:
            asks = {"origin": "https://chat.example", "access-control-request-method": "POST"}
            async with session.options(f"{base}/v1/chat/completions", headers=asks) as response:
                assert response.status == 204
            asks["origin"] = "https://evil.example"
            async with session.options(f"{base}/v1/chat/completions", headers=asks) as response:
                assert response.status == 405
                assert "access-control-allow-origin" not in response.headers


async def test_it_asks_nobody_but_who_is_configured():
    host = Host(lambda *_: (200, JSON, [b"{}"]))
    async with listening(host) as up, gateway({"m": scripted()}) as (_, base):
        here = int(base.rpartition(":")[2])
        line = (
            f"POST {up}/v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 2\r\n\r\n{{}}"
        )
        assert b" 400 " in await said(here, line.encode())
        assert b" 404 " in await said(here, f"GET {up}/x HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode())
        tunnel = b"CONNECT evil.example:443 HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
        assert b" 400 " in await said(here, tunnel)
        for model in (f"{up}/v1|x", "openai:gpt-5", "../../x", "embedded"):
            assert (await post(f"{base}/v1/chat/completions", {**CHAT, "model": model}))[0] == 404
    assert host.asked == []


async def said(port, data, wait=2.0):
    """What is answered to bytes on a socket."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    try:
        return await asyncio.wait_for(reader.read(4096), wait)
    finally:
        writer.close()


async def test_requests_are_bounded_in_size_and_time():
    bounds = Bounds(request_bytes=1000, header_bytes=2000, header_seconds=0.2, body_seconds=0.2)
    async with gateway({"m": scripted()}, bounds=bounds) as (_, base):
        port = int(base.rpartition(":")[2])
        status, _, words = await post(f"{base}/v1/chat/completions", {**CHAT, "pad": "x" * 2000})
        assert (status, b"1,000 bytes" in words) == (413, True)
        chunked = b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\n"
        assert b" 413 " in await said(port, chunked + b"7d0\r\n" + b"x" * 2000 + b"\r\n")
        assert b" 431 " in await said(port, b"GET /health HTTP/1.1\r\nx: " + b"x" * 3000)
        whole = b"GET /health HTTP/1.1\r\nhost: localhost\r\nx: %s\r\n\r\n"
        assert b" 431 " in await said(port, whole % (b"x" * 3000)), "in one read, too"
        assert b" 200 " in await said(port, whole % (b"x" * 1000))
        empty = b"GET /health HTTP/1.1\r\nhost: localhost\r\n%s\r\n" % (b"a: \r\n" * 500)
        assert b" 431 " in await said(port, empty), "many that say nothing, too"
        line = b"GET /health?%s HTTP/1.1\r\nhost: localhost\r\n\r\n" % (b"x" * 3000)
        assert b" 431 " in await said(port, line), "the address counts, as it does in pieces"
        assert b" 408 " in await said(port, b"GET /health HTTP/1.1\r\nx: ")
        slow = b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 50\r\n\r\n{"
        assert b" 504 " in await said(port, slow)


SENT = b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\n"
HEALTH = b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
LARGE = 40_000_000


def send_all(base, *pieces, seconds=20, pause=0.0):
    """What is answered to a client that sends everything before it reads."""
    with socket.create_connection(("127.0.0.1", int(base.rpartition(":")[2]))) as client:
        client.settimeout(seconds)
        for piece in pieces:
            client.sendall(piece)
            time.sleep(pause)
        came = b""
        with contextlib.suppress(TimeoutError):
            while more := client.recv(65536):
                came += more
        return came


@pytest.mark.parametrize("more", [b"", b"connection: close\r\n"], ids=["kept", "closed"])
@pytest.mark.parametrize("chunked", [False, True], ids=["whole", "chunked"])
async def test_a_client_that_sends_too_much_reads_that_it_did(chunked, more):
    piece = b"x" * 1_000_000
    if chunked:
        piece = b"f4240\r\n" + piece + b"\r\n"
        head = b"transfer-encoding: chunked\r\n\r\n"
        last = b"0\r\n\r\n"
    else:
        head = b"content-length: %d\r\n\r\n" % LARGE
        last = b""
    body = [piece] * (LARGE // 1_000_000)
    async with gateway({"m": scripted()}) as (_, base):
        again = b"" if more else HEALTH
        came = await asyncio.to_thread(send_all, base, SENT + more + head, *body, last, again, seconds=2)
    assert came.startswith(b"HTTP/1.1 413 ")
    assert b"larger than 33,554,432 bytes" in came
    # The connection goes on, unless the client closes it.
    assert (b"HTTP/1.1 200 OK" in came) == (not more)


async def test_a_client_that_asks_first_is_told_before_it_sends():
    head = SENT + b"expect: 100-continue\r\ncontent-length: %d\r\n\r\n" % LARGE
    async with gateway({"m": scripted()}) as (_, base):
        came = await asyncio.to_thread(send_all, base, head, seconds=1)
    assert came.startswith(b"HTTP/1.1 413 ")


async def test_a_body_that_is_too_long_is_read_only_within_bounds():
    bounds = Bounds(request_bytes=1000, body_seconds=0.3)
    async with gateway({"m": scripted()}, bounds=bounds) as (_, base):
        slow = SENT + b"content-length: 5000\r\n\r\n" + b"x" * 2000
        came = await asyncio.to_thread(send_all, base, slow, seconds=2)
        assert came.startswith(b"HTTP/1.1 413 ")
        huge = SENT + b"content-length: 5000000000\r\n\r\n"
        began = time.monotonic()
        came = await asyncio.to_thread(send_all, base, huge, seconds=0.2)
        assert came.startswith(b"HTTP/1.1 413 ")
        assert time.monotonic() - began < 1


async def test_a_body_that_nobody_reads_does_not_count_as_headers(monkeypatch):
    keys, _ = add_key(Keys(), "a", Allowed(), "2026-11-16")
    head = SENT + b"content-length: %d\r\n\r\n" % 3_000_000
    body = [b"x" * 1_000_000] * 3
    async with gateway({"m": scripted()}, keys=keys) as (_, base):
        came = await asyncio.to_thread(send_all, base, head, *body, HEALTH, seconds=2)
        assert came.startswith(b"HTTP/1.1 401 ")
        assert b"HTTP/1.1 200 OK" in came
        assert b" 431 " not in came
        # It is read only so far, and only for so long.
        monkeypatch.setattr(BoundedProtocol, "drop_bytes", 500_000)
        with pytest.raises(ConnectionError):
            await asyncio.to_thread(send_all, base, head, *[b"x" * 10_000] * 300, HEALTH, seconds=5)
        monkeypatch.setattr(BoundedProtocol, "drop_seconds", 0.2)
        with pytest.raises(ConnectionError):
            await asyncio.to_thread(send_all, base, head, *[b"x"] * 100, seconds=5, pause=0.03)


def test_a_request_that_came_in_time_is_read_by_a_gateway_that_was_late():
    """On uvloop, which calls timers before it reads."""
    uvloop = pytest.importorskip("uvloop")

    async def asked():
        loop = asyncio.get_running_loop()
        one, other = socket.socketpair()
        async with gateway({"m": scripted()}, bounds=Bounds(header_seconds=0.3)) as (_, base):
            client = socket.create_connection(("127.0.0.1", int(base.rpartition(":")[2])))
            await asyncio.sleep(0.05)

            def hold_up():
                loop.remove_reader(one)
                client.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
                time.sleep(0.6)

            loop.add_reader(one, hold_up)
            other.send(b"x")
            client.settimeout(5)
            came = await asyncio.to_thread(client.recv, 4096)
            for each in (one, other, client):
                each.close()
            return came

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert b" 200 " in runner.run(asked())


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/v1/chat/completions", {"type": "invalid_request_error", "code": "invalid_request_error"}),
        ("/v1/responses", {"type": "invalid_request_error", "code": "invalid_request_error"}),
        ("/v1/messages", {"type": "request_too_large"}),
        ("/v1beta/models/m:generateContent", {"code": 413, "status": "INVALID_ARGUMENT"}),
    ],
)
async def test_too_large_a_request_is_said_in_each_dialects_shape(path, told):
    async with gateway({"m": scripted()}, bounds=Bounds(request_bytes=1000)) as (_, base):
        status, _, came = await post(f"{base}{path}", {"model": "m", "pad": "x" * 2000})
    error = json.loads(came)["error"]
    assert (status, error | told) == (413, error)
    assert "1,000 bytes" in error["message"]


async def test_so_many_at_once_and_no_more():
    model = ScriptedModel(lambda _: Turn(reply=reply("Hi"), delay=0.2))
    async with gateway({"m": model}, bounds=Bounds(concurrency=2)) as (_, base):
        asked = [post(f"{base}/v1/chat/completions", CHAT) for _ in range(4)]
        answers = await asyncio.gather(*asked)
    assert sorted(status for status, _, _ in answers) == [200, 200, 503, 503]
    assert all("retry-after" in headers for status, headers, _ in answers if status == 503)


async def test_half_a_request_is_held_like_a_whole_one():
    """Or slow senders, each below the bound of a request, could take all memory there is."""
    bounds = Bounds(request_bytes=100_000, waiting_bytes=150_000, body_seconds=30)
    async with gateway({"m": scripted()}, bounds=bounds) as (made_, base):
        port = int(base.rpartition(":")[2])
        head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 90000\r\n\r\n"
        writers = []
        for _ in range(2):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(head + b" " * 70_000)
            writers.append(writer)
        await _until(lambda: made_._held_bytes >= 140_000)
        assert b" 503 " in await said(port, head + b" " * 70_000, wait=5)
        assert (await post(f"{base}/v1/chat/completions", CHAT))[0] == 200
        for writer in writers:
            writer.close()
        await _until(lambda: made_._held_bytes == 0)
        assert (await post(f"{base}/v1/chat/completions", {**CHAT, "pad": "x" * 80_000}))[0] == 200


async def test_a_client_that_reads_nothing_holds_no_memory_and_is_let_go():
    piece = b'data: {"choices":[{"index":0,"delta":{"content":"' + b"x" * 16_000 + b'"}}]}\n\n'
    given = 0

    def endless():
        nonlocal given
        while given < 5000:
            given += 1
            yield piece

    host = Host(lambda *_: (200, {"content-type": "text/event-stream"}, endless()))
    bounds = Bounds(stalled_seconds=0.5, quiet_seconds=0.1)
    async with listening(host) as up:
        async with gateway({"m": served(place("openai_chat", up))}, bounds=bounds) as (made_, base):
            with socket.socket() as sock:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                sock.connect(("127.0.0.1", int(base.rpartition(":")[2])))
                body = b'{"model":"m","stream":true,"messages":[]}'
                head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: %d\r\n\r\n"
                sock.sendall(head % len(body) + body)
                await _until(lambda: host.asked)
                await asyncio.sleep(0.2)
                held = given
                await _until(lambda: made_.metrics.under_way == 0)
    # What fits into the sockets' own buffers, and no more than that, was ever asked of the host.
    assert held < 1500


async def _until(is_so):
    for _ in range(600):
        if is_so():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it did not come to that")


async def test_keys_are_in_no_line_of_the_log(caplog, monkeypatch):
    monkeypatch.setenv("UP_KEY", "sk-vendor-0123456789abcdef0123456789")
    caplog.set_level(logging.DEBUG)
    keys, text = add_key(Keys(), "alice", Allowed(), "2026-11-16")
    said_ = b'{"error":{"message":"wrong key sk-vendor-0123456789abcdef0123456789"}}'
    async with listening(Host(lambda *_: (401, JSON, [said_]))) as up:
        models = {"m": served(place("openai_chat", up, key_env="UP_KEY"))}
        async with gateway(models, keys=keys) as (_, base):
            url = f"{base}/v1/chat/completions"
            answers = [
                await post(url, CHAT, {"authorization": f"Bearer {text}"}),
                await post(f"{url}?key={text}x", CHAT),
            ]
    assert [status for status, _, _ in answers] == [500, 401]
    told = caplog.text + str(answers)
    assert "sk-vendor-0123456789" not in told
    assert text.rpartition("-")[2][:12] not in caplog.text


async def test_a_place_without_its_key_is_the_operators_trouble_and_not_the_clients():
    served_ = Served(places=(Place(use="openai:gpt-5", key_env="THERE_IS_NO_SUCH_VARIABLE"),))
    with pytest.raises(UsageError, match="THERE_IS_NO_SUCH_VARIABLE is not set"):
        Gateway(Settings(models={"m": served_}))
    served_ = Served(places=(Place(use="openai:*", key_env="THERE_IS_NO_SUCH_VARIABLE"),))
    async with gateway({"m*": served_}) as (_, base):
        status, _, told = await post(f"{base}/v1/chat/completions", CHAT)
    assert status == 500
    assert b"THERE_IS_NO_SUCH_VARIABLE" not in told


async def test_streams_may_end_when_the_gateway_does():
    model = ScriptedModel(lambda _: Turn(reply=reply("Hello you"), pause=0.05))
    opened = gateway({"m": model})
    _, base = await opened.__aenter__()
    asked = asyncio.ensure_future(post(f"{base}/v1/chat/completions", {**CHAT, "stream": True}))
    await _until(lambda: model.requests)
    await opened.__aexit__(None, None, None)
    _, _, came = await asked
    assert came.endswith(b"data: [DONE]\n\n")
    assert b'"finish_reason":"stop"' in came


@pytest.mark.parametrize("quiet", [0.05, 15.0])
async def test_a_stream_that_outlasts_the_gateway_ends_with_an_error_and_no_traceback(caplog, quiet):
    """Whether its client has heard anything yet or not."""
    model = ScriptedModel(lambda _: Turn(reply=reply("Hello you"), pause=20.0))
    opened = gateway({"m": model}, bounds=Bounds(quiet_seconds=quiet))
    _, base = await opened.__aenter__()
    asked = asyncio.ensure_future(post(f"{base}/v1/messages", {**CHAT, "max_tokens": 9, "stream": True}))
    await _until(lambda: model.requests)
    await asyncio.sleep(0.2)
    await opened.__aexit__(None, None, None)
    status, headers, came = await asked
    if quiet < 1:
        assert b"event: ping" in came
        assert b"event: error" in came
    else:
        assert (status, headers["retry-after"]) == (529, "1")
    assert b"the gateway is ending" in came
    assert "Traceback" not in caplog.text
    assert "Exception in ASGI" not in caplog.text


async def test_a_fault_of_ours_says_nothing_of_itself(caplog):
    def broken(_):
        raise ZeroDivisionError("secret words")

    async with gateway({"m": ScriptedModel(broken)}) as (made_, base):
        status, _, told = await post(f"{base}/v1/chat/completions", CHAT)
        assert (await post(f"{base}/v1/chat/completions", CHAT))[0] == 500
        assert made_.metrics.under_way == 0
    assert status == 500
    assert b"secret words" not in told
    assert "ZeroDivisionError" in caplog.text
