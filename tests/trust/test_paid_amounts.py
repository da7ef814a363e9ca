"""What went to a target is one sum, whoever of the agents under one user paid it."""

import pytest

import rightcall as rc
from rightcall.core.entry import CallFinished, Nested
from rightcall.record.memory import MemoryJournal
from rightcall.testing import ScriptedModel, call, reply


@rc.tool(effect="read", facts=rc.Facts(untrusted=True, private=True, reach="user", targets=()))
def news() -> str:
    """The news."""
    return "hi"


@rc.tool(
    facts=rc.Facts(untrusted=False, private=False, reach="outside", dangers=("money",), targets=("to",))
)
def wire(to: str, amount: float) -> str:
    """Wire money."""
    return "done"


@pytest.mark.parametrize("first", ["the agent", "the one it asks"])
def test_what_one_has_paid_the_other_may_not_pay_again(first):
    paying = reply(call("wire", to="DE44", amount=30))
    asking = reply(call("helper", task="Go on."))
    helper = rc.Agent(ScriptedModel([paying, "."]), [wire], name="helper").as_tool()
    turns = [paying, asking] if first == "the agent" else [asking, paying]
    journal = MemoryJournal()
    agent = rc.Agent(
        ScriptedModel([reply(call("news")), *turns, "."]),
        [news, wire, helper],
        trust=rc.trust.Rules(otherwise="deny"),
        journal=journal,
    )
    agent.run_sync("Wire 30 to DE44.", run="r")
    entries = [each.entry if isinstance(each, Nested) else each for each in journal.entries("r")]
    ends = [each.result for each in entries if isinstance(each, CallFinished)]
    assert [each.outcome for each in ends if each.name == "wire"] == ["returned", "denied"]
