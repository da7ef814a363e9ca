"""A stream of one second that begins with four read calls of one second, in four dialects.

The vendor is a server on loopback in this process, which mostly waits. It sends the calls at once, in
pieces, and text for the rest of the second; what each dialect looks like is left to the gateway's own
writers. Wall time. ``make bench WHAT=peers`` measures it.
"""

import asyncio
import time

from aiohttp import web
from shown import show

import rightcall as rc
from rightcall.core.events import reply_events
from rightcall.core.message import Reply, user_text
from rightcall.core.parts import Text, Usage
from rightcall.core.request import ClientRequest, ReplyHeader, Request
from rightcall.testing import call
from rightcall.wire.dialects import load_server

DIALECTS = {
    "openai_chat": ("openai", "/v1"),
    "openai_responses": ("openai-responses", "/v1"),
    "anthropic": ("anthropic", ""),
    "gemini": ("gemini", "/v1beta"),
}
"""What each is connected to by, and where its address ends."""
CALLS = 4
SECONDS = 1.0
MARKS = (b"function_call_output", b'"tool_call_id"', b"tool_result", b"functionResponse")
"""A request that holds one of these is that of the second turn."""
TEXT = "and so on, for as long as the second lasts, word by word. "


def pieces(dialect: str, reply: Reply) -> list[bytes]:
    asked = ClientRequest(request=Request(messages=(user_text("Go."),)), model="m", stream=True)
    writer = load_server(dialect).writer(asked, ReplyHeader(id="abc123", model="m", created=5))
    return [writer.start(), *[writer.write(event) for event in reply_events(reply, 4)]]


class Vendor:
    """Says the calls at once, and the rest little by little."""

    def __init__(self, dialect: str) -> None:
        calls = [call("look", place=n) for n in range(CALLS)]
        usage = Usage(input_tokens=10, output_tokens=10)
        alone = pieces(dialect, Reply((*calls,), "calls", usage=usage))
        self._first = pieces(dialect, Reply((*calls, Text(TEXT)), "calls", usage=usage))
        same = [one == other for one, other in zip(alone, self._first, strict=False)]
        self._at_once = (*same, False).index(False)
        self._last = pieces(dialect, Reply((Text("Done."),), "end", usage=usage))

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        if any(mark in body for mark in MARKS):
            await response.write(b"".join(self._last))
            return response
        await response.write(b"".join(self._first[: self._at_once]))
        rest = self._first[self._at_once :]
        for piece in rest:
            await asyncio.sleep(SECONDS / len(rest))
            if piece:
                await response.write(piece)
        return response


async def took(dialect: str) -> tuple[float, float]:
    """Seconds of a run, and until the last of its calls had started."""
    application = web.Application()
    application.router.add_post("/{path:.*}", Vendor(dialect).answer)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    started: list[float] = []

    async def look(place: int) -> str:
        """Look."""
        started.append(time.perf_counter())
        await asyncio.sleep(SECONDS)
        return f"seen {place}"

    name, path = DIALECTS[dialect]
    address = f"http://127.0.0.1:{runner.addresses[0][1]}{path}"
    async with rc.connect(f"{name}:m", base_url=address, api_key="no-key-is-needed") as model:
        agent = rc.Agent(model, [rc.tool(look, effect="read")])
        await agent.run("Go.")
        started.clear()
        began = time.perf_counter()
        result = await agent.run("Go.")
        wall = time.perf_counter() - began
    await runner.cleanup()
    assert result.text == "Done.", result
    assert len(started) == len(result.calls) == CALLS, started
    return wall, started[-1] - began


async def every() -> dict[str, float]:
    found: dict[str, float] = {}
    for dialect in DIALECTS:
        found[f"{dialect} wall"], found[f"{dialect} started"] = await took(dialect)
    return found


def figures() -> dict[str, float]:
    """Seconds by the clock, of each dialect's run and until all its calls had started."""
    return asyncio.run(every())


if __name__ == "__main__":
    show(figures(), "s")
