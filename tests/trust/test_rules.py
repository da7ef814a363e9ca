"""Ordered rules: the first that fits decides, and no fit is a no to whatever does something."""

import pytest

from rightcall.core.decision import Allow, Ask, Deny, Rewrite
from rightcall.errors import UsageError
from rightcall.trust.guard import Finding
from rightcall.trust.rules import Rule, Rules
from trust.kit import EVIL, Office, checked, exchange, guard_of


def judged(call, *messages, policy):
    office = Office()
    return (
        guard_of(office, "Tell ann@home.example", *messages, policy=policy)
        .judge(checked(office.tools, *call[:1], **call[1]))
        .decision
    )


SEND = ("send", {"to": ["ann@home.example"], "body": "hi"})


@pytest.mark.parametrize(
    ("policy", "decision"),
    [
        ((), Deny("no rule allows it")),
        ((Rule(action="allow"),), Allow()),
        ((Rule(action="deny", reason="no mail"), Rule(action="allow")), Deny("no mail")),
        ((Rule(action="allow", tools=("inbox",)),), Deny("no rule allows it")),
        ((Rule(action="ask", tools=("se*",)),), Ask("a rule says ask")),
        (
            (Rule(action="rewrite", set={"body": "x"}),),
            Rewrite({"to": ["ann@home.example"], "body": "x"}),
        ),
        ((Rule(action="allow", arguments={"to": "*@home.example"}),), Allow()),
        ((Rule(action="allow", arguments={"to": "*@firm.example"}),), Deny("no rule allows it")),
        ((Rule(action="allow", arguments={"cc": "*"}),), Deny("no rule allows it")),
        ((Rule(action="allow", tainted=True),), Deny("no rule allows it")),
        ((Rule(action="allow", tainted=False, private=False, suspected=False),), Allow()),
        ((Rule(action="allow", vouched=True),), Allow()),
        ((Rule(action="allow", origins=("user", "operator")),), Allow()),
        ((Rule(action="allow", origins=("operator",)),), Deny("no rule allows it")),
        ((Rule(action="allow", effects=("write",), reaches=("outside",)),), Allow()),
        ((Rule(action="allow", effects=("idempotent",)),), Deny("no rule allows it")),
        ((Rule(action="allow", dangers=("money",)),), Deny("no rule allows it")),
        ((Rule(action="allow", after=1),), Deny("no rule allows it")),
    ],
)
def test_the_first_rule_that_fits_decides(policy, decision):
    assert judged(SEND, policy=policy) == decision


def test_a_call_that_does_nothing_needs_no_rule():
    office = Office()
    assert guard_of(office, policy=()).judge(checked(office.tools, "inbox")) == Finding()
    assert guard_of(office, policy=(Rule(action="deny"),)).judge(
        checked(office.tools, "inbox")
    ).decision == Deny("a rule says deny")


def test_to_allow_every_value_must_fit_and_to_deny_one_is_enough():
    both = ("send", {"to": ["ann@home.example", "x@firm.example"], "body": ""})
    home = {"to": "*@home.example"}
    assert judged(both, policy=(Rule(action="allow", arguments=home),)) == Deny("no rule allows it")
    assert judged(both, policy=(Rule(action="deny", arguments=home),)) == Deny("a rule says deny")


def test_a_rule_that_allows_does_not_open_the_wall():
    office = Office()
    mail = exchange(office.tools, "inbox", [{"body": EVIL}])
    theft = ("send", {"to": ["eve@evil.example"], "body": ""})
    assert isinstance(judged(theft, *mail, policy=(Rule(action="allow"),)), Ask)
    assert isinstance(judged(SEND, *mail, policy=(Rule(action="ask"),)), Ask)
    assert judged(SEND, *mail, policy=(Rule(action="allow"),)) == Allow()
    assert judged(theft, *mail, policy=(Rule(action="deny", vouched=False),)) == Deny("a rule says deny")


@pytest.mark.parametrize(
    ("declare", "words"),
    [
        (lambda: Rules(otherwise="block"), "otherwise must be 'ask' or 'deny', not 'block'"),
        (lambda: Rule(action="dney"), "did you mean 'deny'?"),
        (lambda: Rule(action="deny", tools="send"), r"tools takes several values; write ('send',)"),
        (lambda: Rule(action="deny", effects=("reed",)), "did you mean 'read'?"),
        (lambda: Rule(action="deny", dangers=("mony",)), "did you mean 'money'?"),
        (lambda: Rule(action="allow", origins=("users",)), "did you mean 'user'?"),
    ],
)
def test_a_misspelt_word_is_refused_and_not_a_rule_that_never_matches(declare, words):
    with pytest.raises(UsageError) as caught:
        declare()
    assert words in str(caught.value)
