"""What something is taken from, and where it goes, cannot change places."""

import pytest

from trust.kit import tool
from trust.test_holes import guard, runs

DIRECTED = [
    "Take 20 off AA11 and put it on BB22.",
    "Move 20 from AA11 onto BB22.",
    "Take 20 out of AA11 and put it into BB22.",
    "Debit AA11, credit BB22: 20.",
    "AA11 pays BB22 20.",
    "Withdraw 20 from AA11 and deposit it in BB22.",
    "Top up BB22 with 20 of AA11.",
    "Use AA11 to pay BB22 20.",
    "Pay BB22 20 with AA11.",
    "BB22 should get 20 out of AA11.",
    "AA11 to BB22, 20 please.",
    "Fund BB22 by 20 from AA11.",
    "Relieve AA11 of 20 and hand it to BB22.",
    "Move 20, source AA11, destination BB22.",
    "Source: AA11\nDestination: BB22\nAmount: 20",
]
UNDIRECTED = [
    "Move 20 between AA11 and BB22.",
    "Let AA11 cover the 20 that BB22 lacks.",
    "Book 20 over: AA11 loses it, BB22 gains it.",
    "The 20 on AA11 belong on BB22.",
]


def moves(words, source, goal):
    return runs(guard(words), "move", from_account=source, to_account=goal, amount=20)


@pytest.mark.parametrize("words", DIRECTED)
def test_what_was_said_goes_and_its_opposite_does_not(words):
    assert moves(words, "AA11", "BB22")
    assert not moves(words, "BB22", "AA11")


@pytest.mark.parametrize("words", UNDIRECTED)
def test_a_person_is_asked_where_no_direction_is_read(words):
    assert not moves(words, "AA11", "BB22")
    assert not moves(words, "BB22", "AA11")


def test_one_end_that_a_record_names_needs_no_words():
    listed = ("orders", [{"payee": "CC33"}])
    assert runs(
        guard("Use BB22, 20.", listed), "move", from_account="BB22", to_account="CC33", amount=20
    )


def test_a_tool_with_one_end_has_no_direction():
    assert tool("pay").facts.sources is None
    assert runs(guard("BB22 lacks 20."), "pay", account="BB22", amount=20)
