"""One tool turn, streamed, from bytes in memory: what the guard counts the instructions of.

``python bench/one_turn.py 20`` gets an agent ready and makes twenty runs; ``0`` makes none.
"""

import asyncio
import gc
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Literal

import rightcall as rc
from rightcall.core.transport import StreamedResponse, Timeouts

sys.path.insert(0, f"{sys.path[0]}/peers")
from script import ANSWER, SCRIPTS, chat_frames

SCRIPT = SCRIPTS["turns1"]
REPLIES = [b"".join(chat_frames(SCRIPT, turn)) for turn in range(SCRIPT.turns + 1)]


async def get_weather(city: str, unit: Literal["celsius", "fahrenheit"]) -> str:
    """The weather in a place, now."""
    return f"It is sunny in {city}, 21 {unit}"


class Canned:
    """A transport whose every answer is known."""

    first = 0
    """The turn of the script that a run without results is answered with."""

    @asynccontextmanager
    async def post(
        self, url: str, *, headers: Mapping[str, str], body: bytes, timeouts: Timeouts
    ) -> AsyncIterator[StreamedResponse]:
        reply = REPLIES[self.first + body.count(b'"tool_call_id"')]
        yield StreamedResponse(200, {"content-type": "text/event-stream"}, _once(reply))

    @asynccontextmanager
    async def get(
        self, url: str, *, headers: Mapping[str, str], timeouts: Timeouts
    ) -> AsyncIterator[StreamedResponse]:
        yield StreamedResponse(404, {}, _once(b""))

    async def close(self) -> None:
        """There is nothing to let go of."""


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body


def ready() -> rc.Agent:
    model = rc.connect("ollama:m", transport=Canned())
    return rc.Agent(model, [rc.tool(get_weather, effect="read")])


async def main(runs: int) -> None:
    agent = ready()
    # A full collection would fall into one count and not into the other, and be taken for a turn's work.
    gc.disable()
    for _ in range(runs):
        result = await agent.run("What is the weather in Reykjavik?")
        assert result.text == ANSWER, result


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
