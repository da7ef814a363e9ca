"""Approvals of one turn are shown together, ordered by what matters."""

import rightcall as rc
from rightcall.core.decision import Allow, Deny
from rightcall.core.proposal import Proposal
from rightcall.core.tool import Facts
from rightcall.gate.approval import sort_by_stakes
from rightcall.loop.result import RunResult
from rightcall.record.memory import MemoryJournal
from rightcall.testing import ScriptedModel, call, reply


def stated(effect="write", **facts) -> dict:
    facts = {
        "untrusted": False,
        "private": False,
        "reach": "user",
        "dangers": (),
        "targets": (),
        **facts,
    }
    return {"effect": effect, "approval": True, "facts": Facts(**facts)}


@rc.tool(**stated("read"))
def look(what: str) -> str:
    """Look."""
    return f"seen {what}"


@rc.tool(**stated())
def note(what: str) -> str:
    """Note it."""
    return f"noted {what}"


@rc.tool(**stated(reach="outside"))
def send(what: str) -> str:
    """Send it."""
    return f"sent {what}"


@rc.tool(**stated(dangers=("money",)))
def pay(what: str) -> str:
    """Pay it."""
    return f"paid {what}"


TOOLS = [look, note, send, pay]
FOUR = reply(*[call(each.name, id=each.name, what=each.name[0]) for each in TOOLS])
RANKED = ["pay", "send", "note", "look"]


class Person:
    """Answers, and remembers what it was shown and asked."""

    def __init__(self, **answers):
        self.shown: list[list[str]] = []
        self.asked: list[str] = []
        self.answers = answers

    def show(self, proposals):
        self.shown.append([each.name for each in proposals])

    async def __call__(self, proposal):
        self.asked.append(proposal.name)
        return self.answers.get(proposal.name, True)


async def test_approvals_of_one_turn_are_shown_together_dangers_first():
    person = Person(send=Deny("not now"))
    result = await rc.Agent(ScriptedModel([FOUR, "done"]), TOOLS, approve=person).run("Go.")
    assert (person.shown, person.asked) == ([RANKED], RANKED)
    assert [each.result.text for each in result.calls] == [
        "seen l",
        "noted n",
        "send was not run; permission was denied: not now",
        "paid p",
    ]


async def test_one_alone_is_asked_and_not_announced():
    person = Person()
    one = reply(call("pay", what="x"))
    await rc.Agent(ScriptedModel([one, "done"]), TOOLS, approve=person).run("Go.")
    assert (person.shown, person.asked) == ([], ["pay"])


async def test_a_yes_for_the_run_spares_the_questions_that_it_covers():
    person = Person(pay=Allow("run"))
    two = reply(call("note", what="a"), call("pay", what="b"), call("pay", what="c"))
    await rc.Agent(ScriptedModel([two, "done"]), TOOLS, approve=person).run("Go.")
    assert person.asked == ["pay", "note"]


async def test_a_pause_holds_them_in_that_order_and_results_stay_in_the_order_of_the_calls():
    journal = MemoryJournal()
    agent = rc.Agent(ScriptedModel([FOUR, "done"]), TOOLS, journal=journal)
    paused = RunResult.from_json((await agent.run("Go.", run="r")).to_json())
    assert [each.name for each in paused.pending] == RANKED
    recovered = await rc.Agent(ScriptedModel(["done"]), TOOLS, journal=journal).recover("r")
    assert recovered.pending == paused.pending
    decisions = {each.call_id: each.name != "pay" for each in paused.pending}
    result = await agent.resume(paused, decisions)
    assert [each.outcome for each in result.calls] == ["returned", "returned", "returned", "denied"]


async def test_calls_of_an_agent_below_are_ranked_by_their_own_tools():
    inner = rc.Agent(
        ScriptedModel([reply(call("note", what="a"), call("pay", what="b"))]), TOOLS, name="in"
    )
    outer = rc.Agent(ScriptedModel([reply(call("in", task="x"))]), [inner.as_tool()])
    paused = await outer.run("Go.")
    assert [(each.agent, each.name) for each in paused.pending] == [("in", "pay"), ("in", "note")]
    person = Person()
    inner = rc.Agent(
        ScriptedModel([reply(call("note", what="a"), call("pay", what="b")), "ok"]), TOOLS, name="in"
    )
    asking = rc.Agent(
        ScriptedModel([reply(call("in", task="x")), "."]), [inner.as_tool()], approve=person
    )
    await asking.run("Go.")
    assert (person.shown, person.asked) == ([["pay", "note"]], ["pay", "note"])


def test_what_nobody_knows_comes_first():
    proposals = [Proposal(call_id=name, name=name, arguments={}) for name in ("look", "gone", "send")]
    assert [each.name for each in sort_by_stakes(proposals, rc.Toolbox(TOOLS))] == [
        "gone",
        "send",
        "look",
    ]
