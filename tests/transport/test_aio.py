"""Requests over aiohttp, which loads with the first of them; its errors as ours: the table is total."""

import subprocess
import sys

import aiohttp
import pytest

from request.server import serving, whole
from rightcall.core.transport import Timeouts
from rightcall.errors import TransportError, TransportTimeout
from rightcall.transport.aio import AiohttpTransport, translated, translations


def every_subclass(kind: type) -> set[type]:
    return {kind, *(found for child in kind.__subclasses__() for found in every_subclass(child))}


ERRORS = sorted(every_subclass(aiohttp.ClientError), key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", ERRORS)
def test_every_error_of_aiohttp_is_in_the_table(kind):
    assert any(issubclass(kind, theirs) for theirs, _ in translations())


@pytest.mark.parametrize(
    ("error", "ours"),
    [
        (TimeoutError(), TransportTimeout),
        (aiohttp.ServerTimeoutError("slow"), TransportTimeout),
        (aiohttp.SocketTimeoutError("slow"), TransportTimeout),
        (aiohttp.ClientPayloadError("cut"), TransportError),
        (ConnectionResetError("lost"), TransportError),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_an_error_is_translated_by_blame(error, ours):
    assert type(translated(error)) is ours


async def test_requests_use_one_connection_until_it_is_closed():
    transport = AiohttpTransport()
    await transport.close()
    async with serving(whole(b"{}")) as server:
        for _ in range(2):
            url = f"{server.url}/a"
            async with transport.post(url, headers={}, body=b"x", timeouts=Timeouts()) as incoming:
                assert [chunk async for chunk in incoming.chunks] == [b"{}"]
        async with transport.get(server.url, headers={}, timeouts=Timeouts()) as incoming:
            assert incoming.status == 200
        await transport.close()
    assert [path for path, _, _ in server.requests] == ["/a", "/a", "/"]
    assert server.connections == 1


READY = """
import sys
import rightcall as rc

@rc.tool
def look(place: str) -> str:
    "What is there."
    return place

rc.Agent(rc.connect("ollama:m"), [look])
print("aiohttp" in sys.modules)
"""


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("/model/a.claude-v2%3A1/invoke", "/model/a.claude-v2%3A1/invoke"),
        ("/a%2Fb/c?x=%2B%20%41&y=1+2", "/a%2Fb/c?x=%2B%20%41&y=1+2"),
        ("/a b/é", "/a%20b/%C3%A9"),
    ],
)
async def test_an_address_is_sent_as_it_was_signed(written, sent):
    async with serving(whole(b"{}")) as server:
        transport = AiohttpTransport()
        url = server.url + written
        async with transport.post(url, headers={}, body=b"", timeouts=Timeouts()) as incoming:
            assert incoming.status == 200
        await transport.close()
        assert [target for target, _, _ in server.requests] == [sent]


async def test_a_body_of_megabytes_arrives_whole_and_without_a_warning():
    body = bytes(range(256)) * 20_000
    transport = AiohttpTransport()
    async with serving(whole(b"{}")) as server:
        async with transport.post(server.url, headers={}, body=body, timeouts=Timeouts()):
            pass
        await transport.close()
    assert server.requests[0][1]["content-length"] == str(len(body))
    assert server.requests[0][2] == body


def test_an_agent_is_ready_without_an_http_library():
    done = subprocess.run([sys.executable, "-c", READY], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
