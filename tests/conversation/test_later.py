"""Tools that answer later: the run waits, in whatever process, and goes on with what came."""

import json

import pytest

import rightcall as rc
from conversation.talk import read_page
from rightcall.conversation import LargeResults
from rightcall.core.entry import CallFinished, RunPaused
from rightcall.core.message import Results
from rightcall.core.parts import Usage
from rightcall.errors import UsageError
from rightcall.record.memory import MemoryJournal
from rightcall.testing import ScriptedModel, call, reply
from rightcall.trust.rules import Rules

pytestmark = pytest.mark.usefixtures("nothing_is_left")


class Shop:
    """A shop whose orders are confirmed days later."""

    def __init__(self, *, approval: bool = False, meanwhile: str = "", **options) -> None:
        self.ordered: list[str] = []

        @rc.tool(approval=approval, **options)
        def order(what: str, context: rc.Context) -> rc.Later:
            """Order something."""
            self.ordered.append(what)
            context.spend(Usage(input_tokens=1))
            return rc.Later(f"ticket-{what}", meanwhile)

        self.tools = [order, read_page]


def orders(*names: str) -> ScriptedModel:
    return ScriptedModel([reply(*[call("order", what=name) for name in names]), "Ordered."])


def texts(result: rc.RunResult) -> list[str]:
    return [each.text for m in result.transcript if isinstance(m, Results) for each in m.results]


def elsewhere(result: rc.RunResult) -> rc.RunResult:
    """The result as another process has it."""
    return rc.RunResult.from_json(result.to_json())


@pytest.mark.parametrize("has_journal", [False, True])
async def test_the_run_waits_and_goes_on_with_what_came_one_answer_at_a_time(has_journal):
    shop, journal = Shop(), MemoryJournal() if has_journal else None
    agent = rc.Agent(orders("tea", "milk"), shop.tools, journal=journal)
    result = await agent.run("Order tea and milk.", run="r")
    assert result.stop.reason == "pending"
    assert {each.later: each.name for each in result.pending} == {
        "ticket-tea": "order",
        "ticket-milk": "order",
    }
    assert texts(result) == []
    waits = {each.later: each.call_id for each in result.pending}
    half = await agent.resume(elsewhere(result), {waits["ticket-milk"]: rc.Answer("Milk came.")})
    assert [each.later for each in half.pending] == ["ticket-tea"]
    whole = await agent.resume(elsewhere(half), {waits["ticket-tea"]: rc.Answer("Tea came.")})
    assert whole.text == "Ordered."
    assert texts(whole) == ["Tea came.", "Milk came."]
    assert sorted(shop.ordered) == ["milk", "tea"]
    assert [each.outcome for each in whole.calls] == ["returned"] * 2
    # What the calls themselves spent counts, once: two tokens, and fifteen for each reply.
    assert whole.usage.tokens == 2 + 2 * 15
    if journal is not None:
        assert (await rc.replay(journal, "r")).transcript == whole.transcript
        pauses = [entry.key for entry in journal.entries("r") if isinstance(entry, RunPaused)]
        assert len(set(pauses)) == 2


async def test_a_process_that_dies_while_it_waits_orders_nothing_twice():
    shop, journal = Shop(), MemoryJournal()
    await rc.Agent(orders("tea"), shop.tools, journal=journal).run("Order tea.", run="r")
    agent = rc.Agent(ScriptedModel(["Ordered."]), shop.tools, journal=journal)
    again = await agent.recover("r")
    assert ([each.later for each in again.pending], shop.ordered) == (["ticket-tea"], ["tea"])
    result = await agent.resume(again, {again.pending[0].call_id: rc.Answer("Came.")})
    assert (texts(result), shop.ordered) == (["Came."], ["tea"])
    # And after it: the answer is in the record.
    assert (await agent.recover("r")).transcript == result.transcript


async def test_an_answer_that_was_given_twice_is_the_first():
    shop, journal = Shop(), MemoryJournal()
    agent = rc.Agent(orders("tea"), shop.tools, journal=journal)
    paused = await agent.run("Order tea.", run="r")
    name = paused.pending[0].call_id
    first = await agent.resume(paused, {name: rc.Answer("Came.")})
    assert (await agent.resume(paused, {name: rc.Answer("Came.")})).transcript == first.transcript
    with pytest.raises(rc.errors.AlreadyDecided):
        await agent.resume(paused, {name: rc.Answer("Lost.")})


async def test_a_person_approves_the_call_and_the_answer_comes_later():
    shop, journal = Shop(approval=True), MemoryJournal()
    agent = rc.Agent(orders("tea"), shop.tools, journal=journal)
    asked = await agent.run("Order tea.", run="r")
    assert (asked.pending[0].later, shop.ordered) == ("", [])
    waits = await agent.resume(asked, {asked.pending[0].call_id: True})
    assert (waits.pending[0].later, shop.ordered) == ("ticket-tea", ["tea"])
    result = await agent.resume(waits, {waits.pending[0].call_id: rc.Answer("Came.")})
    assert texts(result) == ["Came."]
    assert (await rc.replay(journal, "r")).transcript == result.transcript


async def test_no_answer_will_come():
    agent = rc.Agent(orders("tea"), Shop().tools)
    paused = await agent.run("Order tea.")
    name = paused.pending[0].call_id
    for decision in (True, rc.Allow(), rc.Rewrite({"what": "milk"})):
        with pytest.raises(UsageError, match="has run and is answered later"):
            await agent.resume(paused, {name: decision})
    with pytest.raises(UsageError, match="no decision about"):
        await agent.resume(paused, {})
    result = await agent.resume(paused, {name: rc.Deny("the shop has closed")})
    assert texts(result) == ["order ran, but its result is withheld: the shop has closed"]
    assert result.calls[0].outcome == "denied"


async def test_the_run_goes_on_meanwhile_if_the_tool_says_so():
    shop = Shop(meanwhile="Ordered; it takes a day.")
    result = await rc.Agent(orders("tea"), shop.tools).run("Order tea.")
    assert (result.text, texts(result)) == ("Ordered.", ["Ordered; it takes a day."])
    (given,) = [each for m in result.transcript if isinstance(m, Results) for each in m.results]
    assert (given.later, given.waits) == ("ticket-tea", False)


async def test_an_answer_has_the_labels_and_limits_of_its_tool():
    facts = rc.Facts(untrusted=True, private=False, reach="outside", dangers=(), targets=())
    shop = Shop(facts=facts)
    agent = rc.Agent(orders("tea"), shop.tools, trust=Rules(), large_results=LargeResults())
    paused = await agent.run("Order tea.")
    result = await agent.resume(paused, {paused.pending[0].call_id: rc.Answer("words " * 5_000)})
    (given,) = [each for m in result.transcript if isinstance(m, Results) for each in m.results]
    assert given.source == "order"
    assert given.reference
    assert json.loads(given.text)["untrusted_source"] == "order"


async def test_hooks_see_the_answer():
    seen = []

    def after(execution):
        seen.append(execution.result.text)

    agent = rc.Agent(orders("tea"), Shop().tools, hooks=rc.Hooks(after_tool=after))
    paused = await agent.run("Order tea.")
    await agent.resume(paused, {paused.pending[0].call_id: rc.Answer("Came.")})
    assert seen[-1] == "Came."


async def test_other_calls_of_the_reply_run_once():
    shop, journal = Shop(), MemoryJournal()
    model = ScriptedModel([reply(call("order", what="tea"), call("read_page", page=3)), "Done."])
    agent = rc.Agent(model, shop.tools, journal=journal)
    paused = await agent.run("Order, and read.", run="r")
    result = await agent.resume(elsewhere(paused), {paused.pending[0].call_id: rc.Answer("Came.")})
    assert texts(result)[0] == "Came."
    assert texts(result)[1].startswith("Page 3")
    ends = [entry.key for entry in journal.entries("r") if isinstance(entry, CallFinished)]
    assert sorted(ends) == ["t1.0.order", "t1.0.order.answer", "t1.1.read_page"]


async def test_a_subagents_tool_may_answer_later_too():
    shop, journal = Shop(), MemoryJournal()
    helper = rc.Agent(orders("tea"), shop.tools, name="helper")
    model = ScriptedModel([reply(call("helper", task="Order tea.")), "Done."])
    outer = rc.Agent(model, [helper.as_tool()], journal=journal)
    paused = await outer.run("Have tea ordered.", run="r")
    assert [each.later for each in paused.pending] == ["ticket-tea"]
    result = await outer.resume(elsewhere(paused), {paused.pending[0].call_id: rc.Answer("Came.")})
    assert (result.text, shop.ordered) == ("Done.", ["tea"])
    assert (await rc.replay(journal, "r")).transcript == result.transcript


async def test_without_an_agent_the_result_says_that_there_is_none_yet():
    (done,) = await rc.run_calls(
        [rc.Call(id="1", name="order", arguments='{"what": "tea"}')], Shop().tools
    )
    assert done.result.text == "order has begun it and has not answered yet."
    assert (done.result.later, done.result.waits) == ("ticket-tea", True)


@pytest.mark.parametrize("handle", ["", 7])
def test_a_handle_is_a_text(handle):
    with pytest.raises(UsageError, match=r"rc\.Later: a handle is a text"):
        rc.Later(handle)
