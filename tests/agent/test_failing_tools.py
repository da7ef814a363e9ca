"""A tool that fails again and again is left alone, in this run and wherever it goes on."""

import pytest

import rightcall as rc
from agent.kit import outcomes, told
from loop.sound import assert_sound
from rightcall.core.budget import Stop
from rightcall.core.entry import CallChecked, CallFinished, ReplyReceived
from rightcall.errors import UsageError
from rightcall.record.memory import MemoryJournal
from rightcall.testing import ScriptedModel, Turn, call, reply

pytestmark = pytest.mark.usefixtures("nothing_is_left")


class Service:
    """A service that is down until call number ``up``, and the calls that reached it."""

    def __init__(self, up: float = float("inf"), error: Exception | None = None, **options) -> None:
        self.reached: list[int] = []
        self._up = up
        self._error = error or ConnectionError("refused")

        async def ping(at: int) -> str:
            self.reached.append(at)
            if len(self.reached) < self._up:
                raise self._error
            return "pong"

        self.tool = rc.tool(ping, description="Ping.", **options)


def pings(count: int, *last: str) -> ScriptedModel:
    return ScriptedModel([*[reply(call("ping", id=f"c{at}", at=at)) for at in range(count)], *last])


async def test_a_dead_service_is_left_alone_after_eight_failures_in_a_row():
    service = Service()
    journal = MemoryJournal()
    agent = rc.Agent(pings(12, "It is down."), [service.tool], journal=journal)
    result = await agent.run("Go.", run="r")
    assert service.reached == list(range(8))
    assert outcomes(result) == [("ping", "failed")] * 8 + [("ping", "given_up")] * 4
    assert told(result.transcript)[-2] == (
        "ping given_up: ping was not run: it failed 8 times in a row, and this run leaves it alone."
    )
    assert result.stop == Stop("end")
    assert_sound(result.transcript)
    refused = [each.refused for each in journal.entries("r") if isinstance(each, CallChecked)]
    assert refused == [None] * 8 + ["given_up"] * 4
    assert (await rc.replay(journal, "r")).transcript == result.transcript


async def test_only_a_row_counts():
    service = Service(up=3)
    result = await rc.Agent(pings(6, "Done."), [service.tool], budget=rc.Budget(failures=3)).run("Go.")
    assert outcomes(result) == [("ping", "failed")] * 2 + [("ping", "returned")] * 4
    assert result.state.progress.failures == {}


async def test_a_tool_that_fails_takes_no_other_with_it():
    @rc.tool
    def look() -> str:
        """Look."""
        return "seen"

    turns = [reply(call("ping", at=at), call("look")) for at in range(3)]
    agent = rc.Agent(ScriptedModel([*turns, "Done."]), [Service().tool, look])
    result = await agent.run("Go.", budget=rc.Budget(failures=2))
    assert [kind for _, kind in outcomes(result)] == ["failed", "returned"] * 2 + [
        "given_up",
        "returned",
    ]


@pytest.mark.parametrize(
    ("error", "counts"),
    [
        (rc.ToolFailure("The service is down."), True),
        (rc.ToolFailure("Ping takes no such number.", own=True), False),
    ],
    ids=["what somebody said", "a refusal in its own words"],
)
async def test_a_refusal_in_a_tools_own_words_is_not_counted(error, counts):
    service = Service(error=error, facts=rc.Facts(untrusted=True))
    agent = rc.Agent(pings(3, "Done."), [service.tool], budget=rc.Budget(failures=2))
    result = await agent.run("Go.")
    assert outcomes(result)[-1] == ("ping", "given_up" if counts else "failed")


async def test_a_call_of_a_tool_that_is_left_alone_does_not_start_early():
    service = Service(effect="read")
    turns = [Turn(reply=reply(call("ping", id=f"c{at}", at=at)), pause=0.01) for at in range(3)]
    agent = rc.Agent(ScriptedModel([*turns, "Done."]), [service.tool], budget=rc.Budget(failures=1))
    result = await agent.run("Go.")
    assert (service.reached, result.dropped) == ([0], ())
    assert told(result.transcript)[4].endswith("it failed once, and this run leaves it alone.")


@pytest.mark.parametrize("after", [ReplyReceived, CallFinished])
async def test_a_run_that_is_recovered_leaves_the_same_tool_alone(after):
    service = Service()
    journal = MemoryJournal()
    budget = rc.Budget(failures=2)
    await rc.Agent(pings(3, "Done."), [service.tool], journal=journal).run("Go.", run="r", budget=budget)
    cut = MemoryJournal()
    left = 3
    for entry in journal.entries("r"):
        cut.append("r", entry)
        left -= isinstance(entry, after)
        if not left:
            break
    result = await rc.Agent(pings(0, "Done."), [service.tool], journal=cut).recover("r")
    assert service.reached == [0, 1]
    assert [kind for _, kind in outcomes(result)] == ["failed", "failed", "given_up"]


async def test_a_run_that_waited_remembers_what_failed():
    service = Service()
    asking = rc.tool(lambda: "sent", name="send", description="Send.", approval=True)
    turns = [reply(call("ping", at=0)), reply(call("send", id="a"))]
    agent = rc.Agent(ScriptedModel(turns), [service.tool, asking], budget=rc.Budget(failures=1))
    stored = rc.RunResult.from_json((await agent.run("Go.")).to_json())
    again = rc.Agent(pings(1, "Done."), [service.tool, asking])
    result = await again.resume(stored, {"a": True})
    assert [kind for _, kind in outcomes(result)] == ["failed", "returned", "given_up"]


async def test_the_limit_can_be_lifted_and_must_be_a_number():
    service = Service()
    agent = rc.Agent(pings(12, "Done."), [service.tool], budget=rc.Budget(failures=None))
    await agent.run("Go.")
    assert len(service.reached) == 12
    with pytest.raises(UsageError, match="failures must not be less than 0"):
        rc.Budget(failures=-1)


async def test_what_a_tool_raised_is_with_its_call_and_nothing_of_one_that_did_not():
    # The last line of its traceback is not all that it said.
    service = Service(2, ValueError("no account 7\nin this bank"))
    agent = rc.Agent(pings(2, "Done."), [service.tool])
    result = await agent.run("Go.")
    assert [each.error for each in result.calls] == ["ValueError: no account 7\nin this bank", ""]
