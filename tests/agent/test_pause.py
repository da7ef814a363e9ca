"""A run that waits for a person: paused, put away, and resumed, here or in another process."""

import asyncio
import os
import subprocess
import sys
from base64 import b64encode
from pathlib import Path

import pytest
from msgspec import json

import rightcall as rc
from agent.elsewhere import Done, Job, paused_agent
from agent.kit import Desk, outcomes, told
from loop.sound import assert_sound
from rightcall import Agent, Allow, Answer, Ask, Deny, Rewrite
from rightcall.core.budget import Budget, Stop
from rightcall.core.entry import RunEnded, RunPaused, RunResumed
from rightcall.core.proposal import Proposal
from rightcall.errors import AlreadyDecided, UsageError
from rightcall.loop.result import RunResult
from rightcall.record.memory import MemoryJournal
from rightcall.record.steps import stop_of
from rightcall.testing import ScriptedModel, call, reply

CALLS = [call("find", id="a", what="x"), call("send", id="b", what="y"), call("wipe", id="c", what="z")]
PAUSED = reply("Wait.", *CALLS)
BEFORE = [
    "user: Go.",
    'model: Wait. find({"what":"x"}) send({"what":"y"}) wipe({"what":"z"})',
]


async def pause(desk: Desk, *then) -> tuple[Agent, RunResult]:
    agent = paused_agent(desk, [PAUSED, *then])
    return agent, await agent.run("Go.")


async def test_a_run_pauses_before_anything_of_the_reply_has_run():
    desk = Desk()
    _, result = await pause(desk)
    assert_sound(result.transcript, waits=True)
    assert (desk.done, result.stop, result.calls) == ([], Stop("pending"), ())
    assert told(result.transcript) == BEFORE
    assert result.pending == (
        Proposal(call_id="b", name="send", arguments={"what": "y"}),
        Proposal(call_id="c", name="wipe", arguments={"what": "z"}),
    )


FOUND = "find returned: find x: done"
NOT_WIPED = "wipe denied: wipe was not run; permission was denied: not that."
CASES = {
    "allow": ({"b": Allow(), "c": Allow()}, ["find x", "send y", "wipe z"], None),
    "deny with words": (
        {"b": Allow(), "c": Deny("not that.")},
        ["find x", "send y"],
        ["send returned: send y: done", NOT_WIPED],
    ),
    "rewrite": (
        {"b": Rewrite({"what": "less"}), "c": Deny("not that.")},
        ["find x", "send less"],
        ["send returned: send less: done", NOT_WIPED],
    ),
    "answer": (
        {"b": Answer("Sent by hand."), "c": Deny("not that.")},
        ["find x"],
        ["send returned: Sent by hand.", NOT_WIPED],
    ),
    "invalid rewrite": ({"b": Rewrite({"what": 5}), "c": Deny("not that.")}, ["find x"], None),
}


@pytest.fixture(scope="module")
def resumed_elsewhere() -> dict[str, Done]:
    """What each case came to when another process resumed it."""
    paused = asyncio.run(pause(Desk()))[1].to_json()
    jobs = [Job(b64encode(paused).decode(), decisions) for decisions, _, _ in CASES.values()]
    here = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "agent.elsewhere"],
        input=json.encode(jobs),
        stdout=subprocess.PIPE,
        check=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(here)},
    )
    return dict(zip(CASES, json.decode(done.stdout, type=list[Done]), strict=True))


@pytest.mark.parametrize("case", CASES)
async def test_a_paused_run_is_resumed_in_another_process(case, resumed_elsewhere):
    decisions, done, lines = CASES[case]
    theirs = resumed_elsewhere[case]
    result = RunResult.from_json(theirs.result)
    assert_sound(result.transcript)
    assert sorted(theirs.done) == done
    assert told(result.transcript)[:3] == [*BEFORE, FOUND]
    if lines is not None:
        assert told(result.transcript)[3:] == [*lines, "model: So be it."]
    assert (result.stop, result.pending, result.text) == (Stop("end"), (), "So be it.")
    # And it comes to the same as in this process.
    desk = Desk()
    agent, paused = await pause(desk, "So be it.")
    here = await agent.resume(paused, decisions)
    assert (here.transcript, here.stop) == (result.transcript, result.stop)
    assert sorted(desk.done) == done


def test_a_rewrite_by_a_person_is_checked_as_the_models_own_arguments_would_be(resumed_elsewhere):
    result = RunResult.from_json(resumed_elsewhere["invalid rewrite"].result)
    assert outcomes(result) == [("find", "returned"), ("send", "invalid"), ("wipe", "denied")]
    assert "$.what" in result.calls[1].result.text


@pytest.mark.parametrize(
    ("decisions", "missing"), [({}, "b, c"), ({"b": True}, "c"), ({"x": True, "c": True}, "b")]
)
async def test_a_decision_that_is_missing_is_a_mistake(decisions, missing):
    desk = Desk()
    agent, paused = await pause(desk)
    with pytest.raises(UsageError, match=f"no decision about {missing}$"):
        await agent.resume(paused, decisions)
    assert desk.done == []


@pytest.mark.parametrize("decision", [None, "yes", Ask()])
async def test_a_decision_that_is_none_is_a_mistake(decision):
    desk = Desk()
    agent, paused = await pause(desk)
    with pytest.raises(UsageError, match="a decision is True, False"):
        await agent.resume(paused, {"b": decision, "c": True})
    assert desk.done == []


async def test_true_and_false_are_decisions():
    desk = Desk()
    agent, paused = await pause(desk, "So be it.")
    result = await agent.resume(paused, {"b": True, "c": False})
    assert outcomes(result) == [("find", "returned"), ("send", "returned"), ("wipe", "denied")]


async def test_a_run_may_pause_more_than_once_and_counts_as_one():
    desk = Desk()
    agent, first = await pause(desk, reply(call("wipe", id="d", what="w")), "Done.")
    second = await agent.resume(first, {"b": True, "c": True})
    assert (second.stop, [p.call_id for p in second.pending]) == (Stop("pending"), ["d"])
    third = await agent.resume(RunResult.from_json(second.to_json()), {"d": True})
    assert_sound(third.transcript)
    assert (third.stop, third.run, len(third.turns)) == (Stop("end"), first.run, 3)
    assert [call.call.id for call in third.calls] == ["a", "b", "c", "d"]
    assert third.usage.input_tokens == 30


async def test_a_limit_counts_what_was_used_before_the_pause():
    desk = Desk()
    model = ScriptedModel([reply(call("send", id="a")), reply(call("send", id="b"))])
    agent = Agent(model, [desk.tool("send", approval=True)], budget=Budget(turns=1))
    paused = await agent.run("Go.")
    result = await agent.resume(paused, {"a": True})
    assert (result.stop, desk.done) == (Stop("limit", "turns"), ["send"])


async def test_waiting_is_not_counted_as_time():
    desk = Desk()
    agent = Agent(
        ScriptedModel([reply(call("send", id="a")), "Done."]),
        [desk.tool("send", approval=True)],
        budget=Budget(seconds=0.25),
    )
    paused = await agent.run("Go.")
    await asyncio.sleep(0.3)
    assert (await agent.resume(paused, {"a": True})).stop == Stop("end")


async def test_a_person_who_thinks_long_in_place_does_not_use_up_the_time():
    async def approve(_):
        await asyncio.sleep(0.3)
        return True

    desk = Desk()
    agent = Agent(
        ScriptedModel([reply(call("send")), "Done."]),
        [desk.tool("send", approval=True)],
        approve=approve,
        budget=Budget(seconds=0.25),
    )
    assert ((await agent.run("Go.")).stop, desk.done) == (Stop("end"), ["send"])


async def test_a_pause_and_what_was_decided_are_recorded_and_recovered_from():
    desk, journal = Desk(), MemoryJournal()
    tools = [desk.tool("send", approval=True)]
    script = [reply(call("send", id="a", what="x")), "Done."]
    paused = await Agent(ScriptedModel(script), tools, journal=journal).run("Go.", run="r")
    assert [entry for entry in journal.entries("r") if isinstance(entry, RunPaused)] == [
        RunPaused(key="t1.paused", call_ids=("a",))
    ]
    # A process that finds the journal comes to the same pause, and may be told the decision.
    found = await Agent(ScriptedModel([]), tools, journal=journal).recover("r")
    assert (found.stop, found.pending, found.state) == (paused.stop, paused.pending, paused.state)
    resumed = await Agent(ScriptedModel(["Done."]), tools, journal=journal).resume(found, {"a": True})
    assert (resumed.stop, desk.done) == (Stop("end"), ["send x"])
    kinds = [type(entry) for entry in journal.entries("r")]
    assert (kinds.count(RunPaused), kinds.count(RunResumed), kinds[-1]) == (1, 1, RunEnded)
    # And one that comes later still does nothing again.
    again = await Agent(ScriptedModel([]), tools, journal=journal).recover("r")
    assert (again.transcript, again.stop, desk.done) == (resumed.transcript, resumed.stop, ["send x"])


async def test_resuming_a_run_that_has_ended_gives_its_result_and_writes_nothing():
    desk, journal = Desk(), MemoryJournal()
    tools = [desk.tool("send", approval=True)]
    script = [reply(call("send", id="a", what="x")), "Done."]
    agent = Agent(ScriptedModel(script), tools, journal=journal)
    paused = await agent.run("Go.", run="r")
    ended = await agent.resume(paused, {"a": True})
    written = list(journal.entries("r"))
    assert stop_of(written) == "end"
    for result, decisions in ((paused, {"a": True}), (ended, {}), (await agent.recover("r"), {})):
        again = await agent.resume(result, decisions)
        assert (again.stop, again.text, again.transcript) == (ended.stop, "Done.", ended.transcript)
    assert (list(journal.entries("r")), desk.done) == (written, ["send x"])
    # Journals in which that was noted hold the same run.
    assert stop_of([*written, RunResumed(decisions={})]) == "end"


async def test_a_run_that_is_resumed_twice_does_nothing_twice_if_it_has_a_journal():
    desk, journal = Desk(), MemoryJournal()
    script = [reply(call("send", id="a", what="x")), "Done."]
    agent = Agent(ScriptedModel(script), [desk.tool("send", approval=True)], journal=journal)
    paused = await agent.run("Go.")
    first = await agent.resume(paused, {"a": True})
    again = await agent.resume(paused, {"a": True})
    assert (again.transcript, again.stop) == (first.transcript, first.stop)
    with pytest.raises(AlreadyDecided) as caught:
        await agent.resume(paused, {"a": False})
    assert caught.value.decisions == {"a": Allow()}
    assert desk.done == ["send x"]


async def test_a_decision_that_nobody_asked_for_is_refused():
    agent = Agent(
        ScriptedModel([reply(call("send", id="a")), "Done."]), [Desk().tool("send", approval=True)]
    )
    paused = await agent.run("Go.")
    with pytest.raises(UsageError, match="about b, which is not pending"):
        await agent.resume(paused, {"a": True, "b": True})


async def test_a_rewrite_by_policy_still_holds_when_a_person_allows_it_later():
    desk = Desk()
    agent = Agent(
        ScriptedModel([reply(call("send", id="a", what="much")), "Done."]),
        [desk.tool("send", approval=True)],
        policy=lambda checked: Rewrite({"what": "little"}),
    )
    paused = await agent.run("Go.")
    assert paused.pending[0].arguments == {"what": "little"}
    await agent.resume(RunResult.from_json(paused.to_json()), {"a": True})
    assert desk.done == ["send little"]


async def test_without_a_journal_a_pause_is_answered_once_in_a_process():
    desk = Desk()
    script = [reply(call("send", id="a", what="x")), "Done."]
    agent = Agent(ScriptedModel(script), [desk.tool("send", approval=True)])
    paused = await agent.run("Go.")
    copy = RunResult.from_json(paused.to_json())
    await agent.resume(paused, {"a": True})
    another = Agent(ScriptedModel(["Done."]), [desk.tool("send", approval=True)])
    for again, by in ((paused, agent), (copy, agent), (copy, another)):
        with pytest.raises(AlreadyDecided, match="give the agent a journal") as caught:
            await by.resume(again, {"a": False})
        assert caught.value.decisions == {"a": Allow()}
    assert desk.done == ["send x"]


async def test_two_that_resume_at_once_send_one_mail():
    desk = Desk()
    model = ScriptedModel([reply(call("send", id="a")), "Done.", "Done."])
    agent = Agent(model, [desk.tool("send", approval=True)])
    paused = await agent.run("Go.")
    both = [agent.resume(paused, {"a": True}) for _ in range(2)]
    first, second = await asyncio.gather(*both, return_exceptions=True)
    assert isinstance(first, RunResult)
    assert isinstance(second, AlreadyDecided)
    assert desk.done == ["send"]


async def test_a_run_may_pause_again_and_each_pause_is_answered():
    desk = Desk()
    script = [reply(call("send", id="a", what="x")), reply(call("send", id="b", what="y")), "Done."]
    agent = Agent(ScriptedModel(script), [desk.tool("send", approval=True)])
    first = await agent.run("Go.", run="named")
    second = await agent.resume(first, {"a": True})
    with pytest.raises(AlreadyDecided):
        await agent.resume(first, {"a": True})
    assert (await agent.resume(second, {"b": True})).stop == Stop("end")
    assert desk.done == ["send x", "send y"]


async def test_a_resume_that_failed_before_it_ran_anything_may_be_tried_again():
    desk, asked = Desk(), []

    def policy(_checked) -> Ask:
        asked.append(1)
        return Ask() if len(asked) != 2 else False  # type: ignore[return-value]

    agent = Agent(
        ScriptedModel([reply(call("send", id="a")), "Done."]), [desk.tool("send")], policy=policy
    )
    paused = await agent.run("Go.")
    with pytest.raises(UsageError, match="a policy answers"):
        await agent.resume(paused, {"a": True})
    assert (await agent.resume(paused, {"a": True})).stop == Stop("end")
    assert desk.done == ["send"]


async def test_a_name_that_is_used_again_is_another_run():
    for _ in range(2):
        desk = Desk()
        model = ScriptedModel([reply(call("send", id="a")), "Done."])
        agent = Agent(model, [desk.tool("send", approval=True)])
        paused = await agent.run("Go.", run="the same")
        await agent.resume(paused, {"a": True})
        assert desk.done == ["send"]


async def test_a_run_that_goes_on_is_a_stream_of_events_too():
    sent = list[str]()

    @rc.tool(approval=True)
    def send(to: str) -> str:
        """Send it."""
        sent.append(to)
        return "sent"

    agent = rc.Agent(ScriptedModel([reply(call("send", id="s", to="Bob")), "Done."]), [send])
    paused = await agent.run("Go.")
    events = [event async for event in agent.resume_stream(paused, {"s": True})]
    assert [type(event).__name__ for event in events[:2]] == ["ResultEnd", "TurnStart"]
    assert (events[-1].result.text, sent) == ("Done.", ["Bob"])
    with pytest.raises(UsageError, match="did you mean 'wait'"):
        agent.resume_stream(paused, {"s": True}, waits=1)


def test_a_run_goes_on_without_await():
    @rc.tool(approval=True)
    def send(to: str) -> str:
        """Send it."""
        return "sent"

    journal = rc.record.MemoryJournal()
    script = [reply(call("send", id="s", to="Bob")), "Done."]
    agent = rc.Agent(ScriptedModel(script), [send], journal=journal)
    paused = agent.run_sync("Go.", run="r")
    assert agent.resume_sync(paused, {"s": True}).text == "Done."
    assert agent.recover_sync("r").text == "Done."


async def test_a_yes_for_the_whole_run_holds_over_later_pauses_and_processes():
    desk = Desk()
    turns = [("send", "1"), ("wipe", "2"), ("send", "3")]
    script = [reply(call(name, id=what, what=what)) for name, what in turns]
    agent = paused_agent(desk, [*script, "Done."])
    first = await agent.run("Go.")
    second = await agent.resume(first, {"1": Allow("run")})
    assert [proposal.name for proposal in second.pending] == ["wipe"]
    stored = RunResult.from_json(second.to_json())
    result = await agent.resume(stored, {"2": True})
    assert (result.text, desk.done) == ("Done.", ["send 1", "wipe 2", "send 3"])
