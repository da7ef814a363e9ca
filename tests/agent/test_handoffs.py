"""Agents that hand their run over to another."""

import pytest

from agent.kit import Desk, outcomes, told
from loop.sound import assert_sound
from rightcall import Agent, Budget, Context, Output, RunResult, User, handoff, replay, tool
from rightcall.core.budget import Stop
from rightcall.core.entry import CallFinished, ReplyReceived, StepDone
from rightcall.core.events import AgentChange, OutputDelta
from rightcall.core.message import Reply, user_text
from rightcall.errors import UsageError
from rightcall.record import MemoryJournal
from rightcall.serve.studio.run_items import event_of
from rightcall.testing import ScriptedModel, call, reply

pytestmark = pytest.mark.usefixtures("nothing_is_left")


def office(*script, journal=None, **options):
    """A triage agent, whose runs go on with billing and then its manager, each with its own model."""
    desk = Desk()
    first, second, third = script
    models = [ScriptedModel(first), ScriptedModel(second), ScriptedModel(third)]
    manager = Agent(
        models[2], [desk.tool("waive", approval=True)], "You decide.", name="manager", **options
    )
    billing = Agent(
        models[1],
        [desk.tool("refund")],
        lambda: "You bill.",
        name="billing",
        handoffs=[manager],
        **options,
    )
    triage = Agent(
        models[0],
        [desk.tool("look", effect="read")],
        "You sort.",
        name="triage",
        journal=journal,
        handoffs=[handoff(billing, when="About money.")],
        **options,
    )
    return triage, models, desk


SCRIPT = (
    [reply(call("look", what="17")), reply("Wait.", call("transfer_to_billing"))],
    [reply(call("refund", what="17")), reply(call("transfer_to_manager"))],
    [reply(call("waive", what="17")), "All done."],
)


async def test_the_next_agent_goes_on_in_the_same_run():
    triage, models, desk = office(SCRIPT[0], [*SCRIPT[1][:1], "Paid back."], [])
    result = await triage.run("Refund order 17.")
    assert_sound(result.transcript)
    assert (result.stop, result.text, result.agents) == (Stop("end"), "Paid back.", ("billing",))
    assert desk.done == ["look 17", "refund 17"]
    first, second = models[0].requests, models[1].requests
    assert [request.system for request in (first[0], second[0])] == ["You sort.", "You bill."]
    assert [spec.name for spec in first[0].specs] == ["look", "transfer_to_billing"]
    assert first[0].specs[1].description == "About money."
    assert [spec.name for spec in second[0].specs] == ["refund", "transfer_to_manager"]
    assert second[0].messages == result.transcript[:5]
    assert told(second[0].messages)[-1] == "transfer_to_billing returned: billing goes on."
    assert outcomes(result) == [
        ("look", "returned"),
        ("transfer_to_billing", "returned"),
        ("refund", "returned"),
    ]


async def test_a_filter_says_what_the_next_agent_sees_and_the_transcript_stays_whole():
    model = ScriptedModel([reply(call("find", what="x")), "Done."])
    desk = Desk()

    def only_the_question(messages):
        return [user_text("Be kind.", "developer"), *[m for m in messages if isinstance(m, User)]]

    billing = Agent(model, [desk.tool("find")], name="billing")
    first = ScriptedModel([reply("Hm.", call("to_billing"))])
    triage = Agent(first, handoffs=[handoff(billing, filter=only_the_question, name="to_billing")])
    result = await triage.run("Refund me.")
    assert told(model.requests[0].messages) == ["developer: Be kind.", "user: Refund me."]
    assert told(model.requests[1].messages) == [
        "developer: Be kind.",
        "user: Refund me.",
        'model: find({"what":"x"})',
        "find returned: find x: done",
    ]
    assert told(result.transcript)[1] == "model: Hm. to_billing({})"
    assert len(result.transcript) == 6


async def test_the_budget_is_shared_and_whoever_watches_is_told():
    triage, _, _ = office(SCRIPT[0], SCRIPT[1], SCRIPT[2])
    events = [event async for event in triage.stream("Refund.", budget=Budget(turns=3))]
    assert [e for e in events if isinstance(e, AgentChange)] == [AgentChange("billing", "triage")]
    assert events[-1].result.stop == Stop("limit", "turns")


async def test_three_agents_pause_on_the_last_and_go_on_elsewhere():
    triage, _, desk = office(*SCRIPT)
    paused = await triage.run("Refund order 17.")
    assert (paused.stop.reason, paused.agents) == ("pending", ("billing", "manager"))
    assert desk.done == ["look 17", "refund 17"]
    stored = RunResult.from_json(paused.to_json())
    # Another process has its own agents, and their models are asked from there on.
    again, models, desk = office([], [], SCRIPT[2][1:])
    result = await again.resume(stored, {stored.pending[0].call_id: True})
    assert (result.text, result.agents, desk.done) == ("All done.", ("billing", "manager"), ["waive 17"])
    assert models[2].requests[0].system == "You decide."


async def test_a_run_that_waits_before_it_is_handed_over_goes_on_with_the_next():
    desk = Desk()
    billing = Agent(ScriptedModel(["Paid back."]), name="billing")
    model = ScriptedModel([reply(call("look"), call("transfer_to_billing"))])
    triage = Agent(model, [desk.tool("look", approval=True)], handoffs=[billing])
    paused = await triage.run("Refund.")
    assert (paused.stop.reason, paused.agents) == ("pending", ())
    result = await triage.resume(paused, {paused.pending[0].call_id: True})
    assert (result.text, result.agents, desk.done) == ("Paid back.", ("billing",), ["look"])


def cut_after(journal: MemoryJournal, steps: int) -> MemoryJournal:
    """A journal of a process that died after so many entries."""
    cut = MemoryJournal()
    for entry in journal.entries("r")[:steps]:
        cut.append("r", entry)
    return cut


async def test_a_run_is_recovered_wherever_it_was_killed():
    whole = MemoryJournal()
    script = (SCRIPT[0], SCRIPT[1], ["All done."])
    first, _, _ = office(*script, journal=whole)
    result = await first.run("Refund order 17.", run="r")
    entries = whole.entries("r")
    assert sum(isinstance(e, StepDone) and e.key.endswith(".handoff") for e in entries) == 2
    for steps in range(1, len(entries)):
        known = entries[:steps]
        asked = [entry.reply for entry in known if isinstance(entry, ReplyReceived)]
        left = [list(script[0][len(asked) :])]
        left.append(list(script[1][max(len(asked) - 2, 0) :]))
        left.append(list(script[2][max(len(asked) - 4, 0) :]))
        again, _, desk = office(*left, journal=cut_after(whole, steps))
        recovered = await again.recover("r")
        assert told(recovered.transcript)[-1] == "model: All done."
        assert recovered.agents == ("billing", "manager")
        finished = {e.result.name for e in known if isinstance(e, CallFinished)}
        assert not {each.split()[0] for each in desk.done} & finished
        if not any("interrupted" in line for line in told(recovered.transcript)):
            assert recovered.transcript == result.transcript


async def test_a_recorded_run_that_was_handed_over_is_replayed():
    journal = MemoryJournal()
    triage, _, _ = office(SCRIPT[0], SCRIPT[1], ["All done."], journal=journal)
    result = await triage.run("Refund order 17.", run="r")
    again = await replay(journal, "r")
    assert (again.transcript, again.stop, again.agents) == (
        result.transcript,
        result.stop,
        result.agents,
    )


async def test_agents_that_hand_over_in_circles_come_to_an_end():
    script = [reply(call("transfer_to_second"))] * 20
    back = [reply(call("transfer_to_first"))] * 20
    second = Agent(ScriptedModel(back), name="second")
    first = Agent(ScriptedModel(script), name="first", handoffs=[second])
    second.add_handoffs(first)
    result = await first.run("Help.")
    assert result.stop == Stop("limit", "repeats")
    assert len(result.agents) < 16


@pytest.mark.parametrize("modes", [("text", "tool"), ("tool", "native"), ("native", "text")])
async def test_the_output_is_of_one_type_whoever_gives_it(modes):
    said = '{"answer": 17 }'
    answer = reply(call("final_answer", said)) if modes[1] == "tool" else said
    second = Agent(ScriptedModel([answer]), name="second", output=Output(int, mode=modes[1]))
    first = Agent(
        ScriptedModel([reply(call("transfer_to_second"))]),
        output=Output(int, mode=modes[0]),
        handoffs=[second],
    )
    events = [event async for event in first.stream("Which?")]
    assert events[-1].result.output == 17
    assert [e.partial for e in events if isinstance(e, OutputDelta)][-1] == 17
    with pytest.raises(UsageError, match="has another output than the one that hands over"):
        Agent(ScriptedModel([]), handoffs=[second])


class Database:
    pass


@tool
def look_up(context: Context[Database]) -> str:
    """Look."""
    return "x"


async def test_what_cannot_be_handed_over_is_said():
    with pytest.raises(UsageError, match=r"takes agents and rc.handoff\(agent\), not str"):
        Agent(ScriptedModel([]), handoffs=["billing"])
    needy = Agent(ScriptedModel([]), [look_up], name="needy")
    triage = Agent(ScriptedModel([reply(call("transfer_to_needy"))]), handoffs=[needy])
    with pytest.raises(UsageError, match="dependencies=… is missing: the tool look_up"):
        await triage.run("?")
    result = RunResult.from_json((await Agent(ScriptedModel([Reply(())])).run("?")).to_json())
    assert result.agents == ()


def test_agents_that_hand_over_have_names_of_their_own():
    inner = Agent(ScriptedModel([]))
    with pytest.raises(UsageError, match="two agents are named 'agent'"):
        Agent(ScriptedModel([]), handoffs=[inner])
    billing = Agent(ScriptedModel([]), name="billing", handoffs=[inner])
    desk = Agent(ScriptedModel([]), name="desk", handoffs=[handoff(billing)])
    with pytest.raises(UsageError, match="two agents are named 'desk'"):
        desk.add_handoffs(Agent(ScriptedModel([]), name="desk"))
    with pytest.raises(UsageError, match="cannot hand over to itself"):
        desk.add_handoffs(desk)
    odd = Agent(ScriptedModel([]), name="my agent!")
    with pytest.raises(UsageError, match=r"the agent 'my agent!' cannot be handed over to by a call"):
        desk.add_handoffs(odd)
    desk.add_handoffs(handoff(odd, name="transfer_to_odd"))


@pytest.mark.parametrize("speculate", [True, False])
async def test_the_second_of_two_handoffs_in_a_reply_reads_who_goes_on(speculate):
    journal = MemoryJournal()
    model = ScriptedModel(["Billing speaks."])
    others = [Agent(model, name="billing"), Agent(ScriptedModel([]), name="tech")]
    both = reply(call("transfer_to_billing"), call("transfer_to_tech"))
    desk = Agent(ScriptedModel([both]), handoffs=others, journal=journal, speculate=speculate)
    result = await desk.run("Help.")
    assert (result.agents, result.text) == (("billing",), "Billing speaks.")
    assert outcomes(result) == [("transfer_to_billing", "returned"), ("transfer_to_tech", "denied")]
    assert model.requests[0].messages[-1].results[1].text == (
        "transfer_to_tech was not run; permission was denied: this reply hands over to billing already, "
        "which goes on"
    )
    assert (await replay(journal, result.run)).transcript == result.transcript


@pytest.mark.parametrize("said", [None, "all", 5, ["text"]])
async def test_a_filter_that_returns_no_messages_is_its_authors_error(said):
    billing = Agent(ScriptedModel([]), name="billing")
    given = handoff(billing, filter=lambda _: said)
    desk = Agent(ScriptedModel([reply(call("transfer_to_billing"))]), handoffs=[given])
    with pytest.raises(
        UsageError, match=r"handoff to billing returned .*: it returns a sequence of messages"
    ):
        await desk.run("Help.")


async def test_the_studio_says_who_went_on():
    journal = MemoryJournal()
    triage, _, _ = office(SCRIPT[0], [*SCRIPT[1][:1], "Paid back."], [], journal=journal)
    await triage.run("Refund order 17.", run="r")
    events = [each for entry in journal.entries("r") for each in event_of(0, None, entry)]
    assert "Handed over to billing" in [each["title"] for each in events]
