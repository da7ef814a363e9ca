"""Every hostile vendor, over real HTTP: a result or a typed error, in time, and nothing left of it."""

import asyncio
import time

import pytest

import rightcall as rc
from chaos.hostile_vendors import ANSWERS
from chaos.leftovers import assert_nothing_left, holding
from chaos.openai_stream import TEXT
from loop.sound import assert_sound
from request.server import serving, streamed
from rightcall.core.transport import Timeouts
from rightcall.errors import RightcallError
from rightcall.models.connect import connect
from rightcall.request.retry import Retry

SECONDS = 8.0
SOON = Timeouts(connect=2.0, first_byte=0.3, between_chunks=0.3, whole=1.0)
DIALECTS = ("anthropic", "gemini", "openai-responses")
OTHERS = sorted(ANSWERS)[::9]
"""Some of them for those dialects too, whose forms they do not speak: another way to be wrong."""


@rc.tool(effect="read")
async def look(place: str) -> str:
    """Looks there."""
    return f"nothing in {place}"


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """What is too long at a size that loopback carries in no time."""
    monkeypatch.setattr("rightcall.request.wire_model.MAX_REPLY_BYTES", 5_000_000)
    monkeypatch.setattr("rightcall.loop.ask.MAX_ARGUMENTS", 500_000)
    monkeypatch.setattr("rightcall.loop.ask.MAX_REPLY", 2_000_000)


async def assert_contained(provider: str, name: str) -> None:
    before = holding()
    begun = time.monotonic()
    async with serving(ANSWERS[name], streamed(*TEXT)) as server:
        options = {"timeouts": SOON, "retry": Retry(attempts=2, base=0.001)}
        async with connect(
            f"{provider}:m", base_url=server.url, api_key="sk-hidden-1", **options
        ) as model:
            agent = rc.Agent(model, [look], budget=rc.Budget(seconds=3, turns=4))
            said = ""
            try:
                result = await agent.run("Go.")
            except RightcallError as error:
                said, result = f"{error} {error!r}", error.result
        assert "sk-hidden-1" not in said
        assert len(said) < 20_000
        assert time.monotonic() - begun < SECONDS
        if result is not None:
            assert_sound(result.transcript, waits=bool(result.pending))
        while server.open:
            await asyncio.sleep(0.01)
    await assert_nothing_left(before)


@pytest.mark.parametrize("name", ANSWERS)
async def test_a_hostile_vendor_is_contained(name):
    await assert_contained("openai", name)


@pytest.mark.parametrize("provider", DIALECTS)
@pytest.mark.parametrize("name", OTHERS)
async def test_a_hostile_vendor_is_contained_in_any_dialect(name, provider):
    await assert_contained(provider, name)
