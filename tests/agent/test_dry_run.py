"""A dry run: what looks is run, what does more is answered as not done, and nobody is asked about it."""

import pytest

import rightcall as rc
from agent.kit import Desk, outcomes
from rightcall.core.budget import Stop
from rightcall.record import MemoryJournal
from rightcall.testing import ScriptedModel, call, reply

pytestmark = pytest.mark.usefixtures("nothing_is_left")

EFFECTS = ["pure", "read", "idempotent", "write"]


def script(*, last: str = "Done.") -> ScriptedModel:
    calls = reply(*[call(f"{effect}_it") for effect in EFFECTS])
    return ScriptedModel([calls, last] if last else [calls])


def agent(desk: Desk, model: ScriptedModel | None = None, **options) -> rc.Agent:
    tools = [desk.tool(f"{effect}_it", effect) for effect in EFFECTS]
    return rc.Agent(model or script(), tools, **options)


@pytest.mark.parametrize("speculate", [True, False])
async def test_what_looks_is_run_and_the_rest_is_answered_as_not_done(speculate):
    desk = Desk()
    result = await agent(desk, speculate=speculate).run("Go.", dry_run=True)
    assert sorted(desk.done) == ["pure_it", "read_it"]
    assert outcomes(result) == [
        ("pure_it", "returned"),
        ("read_it", "returned"),
        ("idempotent_it", "dry_run"),
        ("write_it", "dry_run"),
    ]
    assert result.stop == Stop("end")
    words = result.calls[-1].result
    assert words.text.startswith("write_it was not run: this is a dry run")
    assert not words.is_error


async def test_a_run_is_no_dry_run_unless_that_is_said():
    desk = Desk()
    result = await agent(desk).run("Go.")
    assert {outcome for _, outcome in outcomes(result)} == {"returned"}
    assert len(desk.done) == 4


async def test_arguments_that_do_not_fit_are_still_refused():
    model = ScriptedModel([reply(call("write_it", what=5)), "Done."])
    result = await agent(Desk(), model).run("Go.", dry_run=True)
    assert outcomes(result) == [("write_it", "invalid")]


async def test_nobody_is_asked_about_what_will_not_run():
    asked = []

    async def approve(proposal: rc.gate.Proposal) -> bool:
        asked.append(proposal.name)
        return True

    def policy(checked: rc.gate.CheckedCall) -> rc.Ask:
        return rc.Ask(checked.tool.name)

    result = await agent(Desk(), approve=approve, policy=policy).run("Go.", dry_run=True)
    assert sorted(asked) == ["pure_it", "read_it"]
    assert outcomes(result)[2:] == [("idempotent_it", "dry_run"), ("write_it", "dry_run")]


async def test_a_tool_that_asks_for_approval_does_not_pause_a_dry_run():
    desk = Desk()
    model = ScriptedModel([reply(call("send")), "Done."])
    result = await rc.Agent(model, [desk.tool("send", approval=True)]).run("Go.", dry_run=True)
    assert (result.stop, outcomes(result), desk.done) == (Stop("end"), [("send", "dry_run")], [])


async def test_a_tool_that_takes_part_is_told():
    @rc.tool(dry_run=True)
    def pay(context: rc.Context) -> str:
        """Pay."""
        return "would pay" if context.dry_run else "paid"

    def model() -> ScriptedModel:
        return ScriptedModel([reply(call("pay")), "Done."])

    dry = await rc.Agent(model(), [pay]).run("Go.", dry_run=True)
    wet = await rc.Agent(model(), [pay]).run("Go.")
    assert (dry.calls[0].result.text, wet.calls[0].result.text) == ("would pay", "paid")


async def test_a_subagent_of_a_dry_run_is_in_one():
    desk = Desk()
    inner = agent(desk)
    inner.name = "helper"
    model = ScriptedModel([reply(call("helper", task="Go.")), "Done."])
    result = await rc.Agent(model, [inner.as_tool()]).run("Go.", dry_run=True)
    assert outcomes(result) == [("helper", "returned")]
    assert sorted(desk.done) == ["pure_it", "read_it"]


async def test_a_dry_run_that_died_is_recovered_as_one():
    desk, journal = Desk(), MemoryJournal()
    with pytest.raises(rc.errors.UsageError, match="asked for more"):
        await agent(desk, script(last=""), journal=journal).run("Go.", run="r", dry_run=True)
    again = ScriptedModel([reply(call("write_it", what="later")), "Done."])
    result = await agent(desk, again, journal=journal).recover("r")
    assert outcomes(result)[-1] == ("write_it", "dry_run")
    assert "write_it later" not in desk.done
    replayed = await rc.replay(journal, "r")
    assert replayed.transcript == result.transcript


async def test_a_dry_run_that_paused_is_resumed_as_one():
    desk = Desk()
    look = desk.tool("look", "read", approval=True)
    model = ScriptedModel([reply(call("look")), reply(call("send")), "Done."])
    watched = rc.Agent(model, [look, desk.tool("send")])
    paused = await watched.run("Go.", dry_run=True)
    stored = rc.RunResult.from_json(paused.to_json())
    result = await watched.resume(stored, {stored.pending[0].call_id: True})
    assert (outcomes(result), desk.done) == ([("look", "returned"), ("send", "dry_run")], ["look"])


async def test_a_replay_with_another_model_gives_what_was_recorded():
    journal = MemoryJournal()
    first = await agent(Desk(), journal=journal).run("Go.", run="r", dry_run=True)
    again = await rc.replay(journal, "r", model=script())
    assert again.transcript == first.transcript


async def test_calls_without_an_agent_are_dry_the_same_way():
    desk = Desk()
    tools = [desk.tool("look", effect="read"), desk.tool("send", approval=True)]
    calls = [call("look", id="1"), call("send", id="2")]
    done = await rc.run_calls(calls, tools, dry_run=True)
    assert [each.outcome.kind for each in done] == ["returned", "dry_run"]
    assert desk.done == ["look"]
    done = await rc.gate.Executor().execute(calls[1:], rc.Toolbox(tools), dry_run=True)
    assert [each.outcome.kind for each in done] == ["dry_run"]
