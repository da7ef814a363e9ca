"""How far a person's yes goes."""

import pytest

import rightcall as rc
from rightcall.core.decision import Approval
from rightcall.core.tool import Facts
from rightcall.gate.approval import approval_for, covers
from trust.kit import checked


def pay(account: str, note: str = "", urgent: str = "") -> str:
    """Pay."""
    return account


TOOLS = [rc.tool(pay, facts=Facts(targets=("account",)))]
CALL = checked(TOOLS, "pay", account="GB1", note="see ours.com", urgent="very")


def test_a_yes_is_for_as_much_as_it_says():
    assert approval_for(CALL, "once") is None
    assert approval_for(CALL, "run") == Approval(tool="pay")
    assert approval_for(CALL, "target") == Approval(
        tool="pay",
        targets=("GB1", "ours.com"),
        arguments={"account": ("GB1",), "note": ("ours.com",)},
    )


@pytest.mark.parametrize(
    ("arguments", "is_covered"),
    [
        ({"account": "GB1", "note": "see ours.com first", "urgent": "not at all"}, True),
        ({"account": "GB1", "note": "other words"}, True),
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


def move(source: str, to: list[str], amount: float = 0, role: str = "reader") -> str:
    """Move."""
    return source


MOVES = [rc.tool(move, facts=Facts(targets=("source", "to")))]
AGREED = {"source": "AA11", "to": ["BB22", "CC33"], "amount": 1}


@pytest.mark.parametrize(
    ("arguments", "is_covered"),
    [
        (AGREED, True),
        ({**AGREED, "to": ["CC33"]}, True),
        ({**AGREED, "amount": 0.5}, True),
        ({"source": "BB22", "to": ["AA11"], "amount": 99_999}, False),
        ({**AGREED, "source": "BB22", "to": ["AA11"]}, False),
        ({**AGREED, "amount": 99_999}, False),
        ({**AGREED, "amount": -99_999}, False),
        ({"source": "AA11", "to": ["BB22"]}, False),
        ({**AGREED, "to": ["DD44"]}, False),
        ({**AGREED, "to": []}, False),
        ({**AGREED, "role": "admin"}, False),
    ],
)
def test_a_yes_covers_arguments_by_name_and_amounts_up_to_what_was_shown(arguments, is_covered):
    approval = approval_for(checked(MOVES, "move", **AGREED), "target")
    assert covers([approval], checked(MOVES, "move", **arguments)) is is_covered


def test_a_yes_that_was_written_down_without_names_covers_nothing_more():
    old = Approval(tool="move", targets=("AA11", "BB22", "CC33"))
    assert not covers([old], checked(MOVES, "move", **AGREED))
