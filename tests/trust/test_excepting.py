"""Everything but something: the rest of a record may go, what was left out may not."""

import pytest

from rightcall.trust.words.excepting import excepted_last, exceptions_in
from trust.nursery import returns

REST = ("P101", "P301")


@pytest.mark.parametrize(
    "words",
    [
        "Return everything but the fern in my order N-1.",
        "Return everything in my order N-1 except the fern.",
        "Please return all plants of order N-1 apart from the fern.",
        "Return everything except for the fern from the order with the rose.",
        "Return everything not worth keeping. (Everything except the fern, the olive tree.)",
    ],
)
def test_the_rest_may_go_and_the_exception_may_not(words):
    assert returns(words, "N-1", "visa_7", *REST)
    assert not returns(words, "N-1", "visa_7", *REST, "P201")
    assert not returns(words, "N-1", "visa_7", "P201")


def test_several_exceptions():
    words = "Return everything but the fern and the sage in my order N-1."
    assert returns(words, "N-1", "visa_7", "P101")
    assert not returns(words, "N-1", "visa_7", "P101", "P301")


def test_no_other_order():
    words = "Return everything but the fern in my order N-1."
    assert not returns(words, "N-2", "mastercard_8", "P401")


@pytest.mark.parametrize("words", ["the presents", "what Tom wants", "the fern and the presents"])
def test_an_exception_that_no_record_shows_asks(words):
    assert not returns(f"Return everything in my order N-1 except {words}.", "N-1", "visa_7", *REST)


def test_a_restriction_that_nobody_spells_out_asks():
    assert not returns("Return everything not worth keeping.", "N-1", "visa_7", *REST)


def test_what_is_left_out_stands_last():
    assert excepted_last("Return all my plants but the fern in that order.") == (
        "Return all my plants in that order except the fern."
    )
    assert excepted_last("Return everything.") == "Return everything."
    assert excepted_last("I called, but nobody came.") == "I called, but nobody came."


def test_each_thing_that_is_left_out():
    found = exceptions_in("Keep everything except the fern, the sage and a rose.")
    assert [min(words) for words in found] == ["fern", "sage", "rose"]
    assert not exceptions_in("Keep the fern.")
