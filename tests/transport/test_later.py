"""A transport that is made when it is first needed."""

import subprocess
import sys

from request.server import serving, whole
from rightcall.core.transport import Timeouts
from rightcall.transport.aio import AiohttpTransport
from rightcall.transport.later import LaterTransport

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


async def test_it_is_made_once_by_the_first_request():
    made = []

    def make():
        made.append(AiohttpTransport())
        return made[-1]

    transport = LaterTransport(make)
    await transport.close()
    assert not made
    async with serving(whole(b"{}")) as server:
        for _ in range(2):
            url = f"{server.url}/a"
            async with transport.post(url, headers={}, body=b"x", timeouts=Timeouts()) as incoming:
                assert [chunk async for chunk in incoming.chunks] == [b"{}"]
        async with transport.get(server.url, headers={}, timeouts=Timeouts()) as incoming:
            assert incoming.status == 200
        await transport.close()
    assert len(made) == 1
    assert [path for path, _, _ in server.requests] == ["/a", "/a", "/"]


def test_an_agent_is_ready_without_an_http_library():
    done = subprocess.run([sys.executable, "-c", READY], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
