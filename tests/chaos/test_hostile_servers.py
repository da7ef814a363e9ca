"""Every hostile MCP server, as a real process: opened or refused, in time, and gone afterwards."""

import sys
import time
from pathlib import Path

import pytest

import rightcall as rc
from chaos import hostile_server
from chaos.leftovers import assert_nothing_left, holding
from loop.sound import assert_sound
from rightcall.errors import RightcallError
from rightcall.mcp import connect
from rightcall.testing import ScriptedModel, call, reply

PROGRAM = Path(hostile_server.__file__)
SECONDS = 20.0
SERVERS = [*hostile_server.GREETINGS, *hostile_server.LISTS, *hostile_server.CALLS]


async def outcome_of(behaviour: str) -> rc.RunResult | None:
    """What a run with the server came to; None where the server could not be opened."""
    # Twice: on a busy machine one try may go by while a server that was lost is started again.
    script = [reply(call("act")), reply(call("ping")), reply(call("ping")), "Done."]
    options = {
        "limits": rc.Limits(timeout=1.0),
        "max_message_bytes": 1024 * 1024,
        "connect_timeout": 2.0,
    }
    server = connect([sys.executable, str(PROGRAM), behaviour], name="s", protocol="legacy", **options)
    try:
        async with server:
            return await rc.Agent(ScriptedModel(script), [server]).run("Go.")
    except RightcallError:
        return None


WARM: list[bool] = []
"""Whether a first server has been started: the warden and a keeper stay for the next command."""


@pytest.mark.parametrize("behaviour", SERVERS)
async def test_a_hostile_server_is_contained(behaviour):
    if not WARM:
        await outcome_of("none of these")
        WARM.append(True)
    before = holding()
    begun = time.monotonic()
    result = await outcome_of(behaviour)
    assert time.monotonic() - begun < SECONDS
    if result is not None:
        assert_sound(result.transcript)
        assert (result.stop.reason, result.text) == ("end", "Done.")
    if behaviour in hostile_server.CALLS:
        assert result.calls[-1].outcome == "returned", "its next call is answered"
    await assert_nothing_left(before)
