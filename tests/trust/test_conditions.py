"""What is to be done first must have been done: a model that says so is not enough."""

import pytest

from rightcall.trust.lacking import condition_in
from trust.nursery import cancels, done, failed

FIRST = {"order_id": "N-1", "plant_ids": ["P201"], "card_id": "visa_7"}
RETURNED = done("return_plants", **FIRST)


@pytest.mark.parametrize(
    "words",
    [
        "Return the fern. Once the fern is returned, cancel the palm order.",
        "Return the fern. If the fern has been returned, also cancel the palm.",
        "Return the fern. After the fern is refunded, cancel the order with the palm.",
    ],
)
def test_an_act_that_follows_another(words):
    assert cancels(words, "N-3", RETURNED)
    assert not cancels(words, "N-3")
    assert not cancels(words, "N-3", failed("return_plants", **FIRST))
    other = {"order_id": "N-2", "plant_ids": ["P401"], "card_id": "mastercard_8"}
    assert not cancels(words, "N-3", done("return_plants", **other))


def test_another_act_does_not_do():
    words = "Once the fern is cancelled, cancel the palm order."
    assert not cancels(words, "N-3", RETURNED)


def test_what_was_not_done_is_no_condition_of_this_kind():
    assert condition_in("If it is not returned, cancel it.") is None
    assert condition_in("Once it is painted, cancel it.") is None
