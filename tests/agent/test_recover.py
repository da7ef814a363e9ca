"""A run whose process died, gone on with from its journal: what was done is not done again."""

import pytest

from agent.kit import Desk, outcomes, told
from loop.sound import assert_sound
from rightcall import Agent, Budget, Context, Output, Rewrite
from rightcall.core.budget import Stop
from rightcall.core.entry import (
    CallChecked,
    CallDecided,
    CallFinished,
    CallStarted,
    Entry,
    ReplyReceived,
    RunEnded,
    RunResumed,
    StepDone,
)
from rightcall.core.tool import Effect
from rightcall.declare.function import tool
from rightcall.errors import UsageError
from rightcall.record.memory import MemoryJournal
from rightcall.testing import ScriptedModel, call, reply

pytestmark = pytest.mark.usefixtures("nothing_is_left")


def cut(journal: MemoryJournal, after: type[Entry], run: str = "r") -> MemoryJournal:
    """The journal as it was when the process died, right after the last entry of that kind."""
    entries = journal.entries(run)
    last = max(at for at, entry in enumerate(entries) if isinstance(entry, after))
    found = MemoryJournal()
    for entry in entries[: last + 1]:
        found.append(run, entry)
    return found


def recovered(journal: MemoryJournal) -> list[bool]:
    return [each.recovered for each in journal.entries("r") if isinstance(each, CallFinished)]


class Shop:
    """One tool of some effect, and the keys under which it was carried out."""

    def __init__(self, effect: Effect) -> None:
        self.keys: list[str] = []

        async def buy(what: str, context: Context[None]) -> str:
            self.keys.append(context.key)
            return f"bought {what}"

        self.tool = tool(buy, description="Buy.", effect=effect)


async def bought(effect: Effect) -> tuple[Shop, MemoryJournal]:
    shop, journal = Shop(effect), MemoryJournal()
    model = ScriptedModel([reply(call("buy", id="a", what="tea")), "Done."])
    await Agent(model, [shop.tool], journal=journal).run("Go.", run="r")
    return shop, journal


@pytest.mark.parametrize("effect", ["pure", "read", "idempotent", "write"])
async def test_a_call_that_was_done_is_not_done_again(effect):
    shop, journal = await bought(effect)
    found = cut(journal, CallFinished)
    result = await Agent(ScriptedModel(["Done."]), [shop.tool], journal=found).recover("r")
    assert shop.keys == ["r.t1.0.buy"]
    assert (result.stop, outcomes(result)) == (Stop("end"), [("buy", "returned")])


@pytest.mark.parametrize("effect", ["read", "idempotent"])
async def test_a_call_that_may_be_repeated_is_done_again_under_the_same_key(effect):
    shop, journal = await bought(effect)
    found = cut(journal, CallStarted)
    result = await Agent(ScriptedModel(["Done."]), [shop.tool], journal=found).recover("r")
    assert shop.keys == ["r.t1.0.buy"] * 2
    assert outcomes(result) == [("buy", "returned")]
    assert [recovered(each) for each in (journal, found)] == [[False], [True]]


async def test_a_write_that_was_started_is_reported_as_interrupted_and_not_done_again():
    shop, journal = await bought("write")
    found = cut(journal, CallStarted)
    model = ScriptedModel(["I had better look."])
    result = await Agent(model, [shop.tool], journal=found).recover("r")
    assert_sound(result.transcript)
    assert shop.keys == ["r.t1.0.buy"]
    assert told(model.requests[0].messages)[2:] == [
        "buy interrupted: buy was interrupted and may have run. Find out before calling it again."
    ]
    # The interruption is recorded as any end is: a second death changes nothing.
    again = await Agent(ScriptedModel([]), [shop.tool], journal=found).recover("r")
    assert (again.transcript, shop.keys) == (result.transcript, ["r.t1.0.buy"])


async def test_a_write_that_was_not_started_is_done():
    shop, journal = await bought("write")
    found = cut(journal, CallChecked)
    await Agent(ScriptedModel(["Done."]), [shop.tool], journal=found).recover("r")
    assert shop.keys == ["r.t1.0.buy"] * 2


@pytest.mark.parametrize(
    ("effect", "noted"), [("pure", 0), ("read", 1), ("idempotent", 1), ("write", 1)]
)
async def test_everything_but_a_pure_call_is_noted_before_it_starts(effect, noted):
    _, journal = await bought(effect)
    kinds = [type(entry) for entry in journal.entries("r")]
    assert kinds.count(CallStarted) == noted
    if noted:
        assert kinds.index(CallStarted) < kinds.index(CallFinished)


async def test_only_the_calls_that_were_not_done_are_done():
    desk, journal = Desk(), MemoryJournal()
    calls = [call("find", id=one, what=one) for one in "abc"]
    tools = [desk.tool("find", "idempotent", serial=True)]
    await Agent(ScriptedModel([reply(*calls), "Done."]), tools, journal=journal).run("Go.", run="r")
    found, seen = MemoryJournal(), 0
    for entry in journal.entries("r"):
        found.append("r", entry)
        seen += isinstance(entry, CallFinished)
        if seen == 2:
            break
    desk.done.clear()
    result = await Agent(ScriptedModel(["Done."]), tools, journal=found).recover("r")
    assert (desk.done, [kind for _, kind in outcomes(result)]) == (["find c"], ["returned"] * 3)


async def test_a_model_that_has_answered_is_not_asked_again():
    shop, journal = await bought("read")
    model = ScriptedModel([])
    result = await Agent(model, [shop.tool], journal=cut(journal, ReplyReceived)).recover("r")
    assert (model.requests, result.text, result.stop) == ([], "Done.", Stop("end"))
    assert (shop.keys, result.calls[0].outcome) == (["r.t1.0.buy"], "returned")


async def test_a_run_that_has_ended_is_only_told_again():
    shop, journal = await bought("write")
    before = journal.entries("r")
    result = await Agent(ScriptedModel([]), [shop.tool], journal=journal).recover("r")
    assert (journal.entries("r"), result.stop) == (before, Stop("end"))
    assert before[-1] == RunEnded(stop=Stop("end"))


async def test_a_person_who_has_answered_is_not_asked_again():
    asked = []

    async def approve(proposal):
        asked.append(proposal.call_id)
        return True

    desk, journal = Desk(), MemoryJournal()
    tools = [desk.tool("send", approval=True)]
    script = [reply(call("send", id="a"), call("send", id="b")), "Done."]
    agent = Agent(ScriptedModel(script), tools, approve=approve, journal=journal)
    await agent.run("Go.", run="r")
    desk.done.clear()
    found = cut(journal, StepDone)
    await Agent(ScriptedModel(["Done."]), tools, approve=approve, journal=found).recover("r")
    assert (asked, desk.done) == (["a", "b"], ["send", "send"])


async def test_what_a_person_decided_holds_though_nobody_is_there_to_be_asked_any_more():
    async def approve(proposal):
        return proposal.call_id == "a"

    desk, journal = Desk(), MemoryJournal()
    tools = [desk.tool("send", approval=True)]
    script = [reply(call("send", id="a", what="x"), call("send", id="b", what="y")), "Done."]
    await Agent(ScriptedModel(script), tools, approve=approve, journal=journal).run("Go.", run="r")
    desk.done.clear()
    found = cut(journal, CallDecided)
    result = await Agent(ScriptedModel(["Done."]), tools, journal=found).recover("r")
    assert (desk.done, outcomes(result)) == (["send x"], [("send", "returned"), ("send", "denied")])


async def test_a_process_that_died_right_after_it_was_told_the_decisions_remembers_them():
    desk, journal = Desk(), MemoryJournal()
    tools = [desk.tool("send", approval=True)]
    agent = Agent(
        ScriptedModel([reply(call("send", id="a", what="x")), "Done."]), tools, journal=journal
    )
    await agent.resume(await agent.run("Go.", run="r"), {"a": Rewrite({"what": "y"})})
    found = cut(journal, RunResumed)
    result = await Agent(ScriptedModel(["Done."]), tools, journal=found).recover("r")
    assert (desk.done, result.stop) == (["send y", "send y"], Stop("end"))


@pytest.mark.parametrize("mode", ["native", "tool", "text"])
async def test_the_output_of_a_run_is_there_after_it_was_recovered(mode):
    journal = MemoryJournal()
    bad, good = ("[]", '{"answer": 5}')
    script = [reply(call("final_answer", text)) if mode == "tool" else text for text in (bad, good)]
    output = Output(type=int, mode=mode)
    whole = await Agent(ScriptedModel(script), output=output, journal=journal).run("Go.", run="r")
    found = cut(journal, ReplyReceived)
    result = await Agent(ScriptedModel([]), output=output, journal=found).recover("r")
    assert (result.output, result.transcript, result.stop) == (5, whole.transcript, Stop("output"))


async def test_a_history_and_a_budget_are_recovered_too():
    desk, journal = Desk(), MemoryJournal()
    agent = Agent(ScriptedModel(["Hi."]), [desk.tool("find")])
    first = await agent.run("Hello.")
    script = [reply(call("find", id="a")), reply(call("find", id="b", what="x"))]
    agent = Agent(ScriptedModel(script), [desk.tool("find")], journal=journal)
    budget = Budget(turns=2)
    whole = await agent.run("Go.", history=first.transcript, budget=budget, run="r", choice="required")
    model = ScriptedModel(script)
    found = MemoryJournal()
    found.append("r", journal.entries("r")[0])
    result = await Agent(model, [desk.tool("find")], journal=found).recover("r")
    assert (result.transcript, result.stop) == (whole.transcript, Stop("limit", "turns"))
    assert (result.begins, result.state.budget) == (2, budget)
    assert [request.choice for request in model.requests] == ["required", "auto"]


async def test_the_name_of_a_run_is_used_once():
    journal = MemoryJournal()
    agent = Agent(ScriptedModel(lambda _: "Hi."), journal=journal)
    await agent.run("Go.", run="r")
    with pytest.raises(UsageError, match="the journal holds a run 'r' already; recover it"):
        await agent.run("Go.", run="r")
    assert (await agent.run("Go.", run="s")).stop == Stop("end")
    assert list(journal.runs()) == ["r", "s"]


async def test_what_no_journal_holds_cannot_be_recovered():
    with pytest.raises(UsageError, match="an agent without a journal has nothing to recover from"):
        await Agent(ScriptedModel([])).recover("r")
    with pytest.raises(UsageError, match="the journal holds no run 'r'"):
        await Agent(ScriptedModel([]), journal=MemoryJournal()).recover("r")
