"""The SDK's requests over rightcall's own connections: what is sent, what comes, what goes wrong."""

import asyncio

import httpx2
import pytest

from rightcall.mcp.client.sdk_client import SdkTransport
from transport.raw import answering, asked, talking

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


class Seen(list):
    """What the transport told of: statuses, and lost sessions."""

    def forget(self) -> None:
        self.append("forgotten")


@pytest.fixture
def seen():
    return Seen()


@pytest.fixture
async def client(seen):
    transport = SdkTransport(max_message_bytes=10, forgotten=seen.forget, answered=seen.append)
    headers = {"accept-encoding": "identity"}
    async with httpx2.AsyncClient(transport=transport, headers=headers, timeout=5.0) as made:
        yield made


async def test_a_request_is_sent_as_httpx2_wrote_it(client, seen):
    requests = []

    async def talk(reader, writer):
        while request := await asked(reader):
            requests.append(request)
            writer.write(OK)

    async def pieces():
        yield b"a"
        yield b"b"

    async with talking(talk) as place:
        url = f"http://me:secret@{place}/mcp?x=1"
        assert (await client.post(url, json={"a": 1}, headers={"X-Two": "2"})).text == "ok"
        await client.post(url, content=pieces())
        await client.delete(url)
    post, streamed, delete = [request.lower() for request in requests]
    assert post.startswith(b"post /mcp?x=1 http/1.1\r\n")
    assert post.endswith(b'\r\n\r\n{"a":1}')
    assert (post.count(b"authorization: "), post.count(b"host: "), b"x-two: 2" in post) == (1, 1, True)
    assert streamed.endswith(b"\r\n\r\nab")
    assert delete.startswith(b"delete ")
    assert delete.endswith(b"\r\n\r\n")
    assert seen == [200, 200]


async def test_cookies_are_kept_each_by_itself(client):
    set_two = b"set-cookie: a=1; expires=Thu, 01 Jan 2099 00:00:00 GMT\r\nset-cookie: b=2\r\n"
    requests = []

    async def talk(reader, writer):
        while request := await asked(reader):
            requests.append(request)
            writer.write(OK.replace(b"content-length", set_two + b"content-length"))

    async with talking(talk) as place:
        for _ in range(2):
            await client.get(f"http://{place}/")
    assert b"cookie: a=1; b=2\r\n" in requests[1].lower()


async def test_a_redirect_is_an_answer(client):
    moved = b"HTTP/1.1 307 Moved\r\nlocation: /there\r\ncontent-length: 0\r\n\r\n"
    async with talking(answering(moved)) as place:
        answer = await client.post(f"http://{place}/")
    assert (answer.status_code, answer.next_request.url.path) == (307, "/there")


async def test_a_session_that_is_not_found_is_forgotten(client, seen):
    async with talking(answering(b"HTTP/1.1 404 Gone\r\ncontent-length: 0\r\n\r\n")) as place:
        await client.post(f"http://{place}/")
        await client.post(f"http://{place}/", headers={"mcp-session-id": "s"})
    assert seen == [404, 404, "forgotten"]


LONG = b"content-length: 11\r\n\r\nhello world"


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        pytest.param(LONG, "an answer of more than 10 bytes", id="too long"),
        pytest.param(
            b"content-encoding: gzip\r\n" + LONG, "an answer that is compressed", id="compressed"
        ),
    ],
)
async def test_an_answer_that_could_be_anything_is_an_error(rest, words, client):
    async with talking(answering(b"HTTP/1.1 200 OK\r\n" + rest)) as place:
        with pytest.raises(httpx2.StreamError, match=words):
            await client.get(f"http://{place}/")


async def test_a_stream_of_events_may_be_of_any_length(client):
    async with talking(
        answering(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n" + LONG)
    ) as place:
        assert (await client.get(f"http://{place}/")).text == "hello world"


async def silent(reader, _writer):
    await asked(reader)
    await asyncio.Event().wait()


async def half(reader, writer):
    await asked(reader)
    writer.write(OK[:-1])


async def deaf(reader, _writer):
    await asked(reader)


@pytest.mark.parametrize(
    ("talk", "kind", "words"),
    [
        pytest.param(silent, httpx2.ReadTimeout, "no reply within 0.2 s", id="silent"),
        pytest.param(half, httpx2.ReadError, "in the middle of the reply", id="cut"),
        pytest.param(deaf, httpx2.ReadError, "closed before a reply", id="closed"),
    ],
)
async def test_what_goes_wrong_is_httpx2s_own_error(talk, kind, words, client):
    async with talking(talk) as place:
        with pytest.raises(kind, match=words):
            await client.get(f"http://{place}/", timeout=0.2)
