"""What went to a target is one sum, whoever of the agents under one user paid it."""

import pytest

import rightcall as rc
from rightcall.core.entry import CallFinished, Nested
from rightcall.record.memory import MemoryJournal
from rightcall.testing import ScriptedModel, call, reply
from rightcall.trust.facts import resolve_facts
from rightcall.trust.guard import PaidAmounts


@rc.tool(facts=rc.Facts(dangers=("money",), targets=("to", "via"), bounded=("amount",)))
def pay(to: list[str], amount: float, via: str = "", note: str = "") -> str:
    """Pay."""
    return "paid"


FACTS = resolve_facts(pay)


def sums(paid: PaidAmounts, *targets: str) -> list[float]:
    return [paid.to({"to": [target]}, FACTS) for target in targets]


def test_amounts_add_up_by_target_whatever_their_sign_and_spelling():
    paid = PaidAmounts()
    assert sums(paid, "DE44") == [0]
    paid.add({"to": ["DE44"], "amount": 30}, FACTS)
    paid.add({"to": [" de44 "], "amount": "-12.5"}, FACTS)
    paid.add({"to": ["FR55"], "amount": 7, "note": "GB66"}, FACTS)
    assert sums(paid, "DE44", "FR55", "GB66") == [42.5, 7, 0]


def test_each_target_of_a_call_counts_once_and_of_several_the_largest():
    paid = PaidAmounts()
    paid.add({"to": ["DE44", "DE44", "FR55"], "amount": 10}, FACTS)
    paid.add({"to": ["FR55"], "amount": 5, "via": "broker"}, FACTS)
    assert sums(paid, "DE44", "FR55", "broker") == [10, 15, 5]
    assert paid.to({"to": ["DE44", "FR55"]}, FACTS) == 15
    assert paid.to({"to": []}, FACTS) == 0


def test_what_is_no_amount_and_what_goes_to_nobody_adds_nothing():
    paid = PaidAmounts()
    paid.add({"to": ["DE44"], "amount": "much"}, FACTS)
    paid.add({"to": ["DE44"]}, FACTS)
    paid.add(["DE44", 30], FACTS)
    paid.add({"amount": 30}, FACTS)
    assert sums(paid, "DE44") == [0]
    assert paid.to("DE44", FACTS) == 0


def test_an_agent_and_those_that_it_asks_share_one_sum():
    outer = PaidAmounts()
    outer.add({"to": ["DE44"], "amount": 30}, FACTS)
    inner = PaidAmounts(outer)
    inner.add({"to": ["DE44"], "amount": 20}, FACTS)
    assert sums(outer, "DE44") == sums(inner, "DE44") == [50]
    assert sums(PaidAmounts(), "DE44") == [0]


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
