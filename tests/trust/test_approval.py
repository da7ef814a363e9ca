"""How far a person's yes goes."""

import pytest

import rightcall as rc
from rightcall.core.decision import Approval
from rightcall.core.tool import Facts
from rightcall.trust.approval import approval_for, covers
from trust.kit import checked


def pay(account: str, note: str = "", urgent: str = "") -> str:
    """Pay."""
    return account


TOOLS = [rc.tool(pay, facts=Facts(targets=("account",), content=("note",)))]
CALL = checked(TOOLS, "pay", account="GB1", note="see ours.com", urgent="very")


def test_a_yes_is_for_as_much_as_it_says():
    assert approval_for(CALL, "once") is None
    assert approval_for(CALL, "run") == Approval(tool="pay")
    assert approval_for(CALL, "target") == Approval(tool="pay", targets=("GB1", "ours.com"))


@pytest.mark.parametrize(
    ("arguments", "is_covered"),
    [
        ({"account": "GB1", "note": "other words", "urgent": "not at all"}, True),
        ({"account": "GB1", "note": "ours.com again"}, True),
        ({"account": "GB1", "note": "evil.com"}, False),
        ({"account": "GB2", "note": ""}, False),
        ({"account": "gb1", "note": ""}, False),
    ],
)
def test_a_yes_to_a_target_covers_that_target(arguments, is_covered):
    later = checked(TOOLS, "pay", **arguments)
    assert covers([approval_for(CALL, "target")], later) is is_covered
    assert covers([Approval(tool="pay")], later)
    assert not covers([Approval(tool="send")], later)
    assert not covers([], later)
