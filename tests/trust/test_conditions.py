"""What is to be done first must have been done: a model that says so is not enough."""

import pytest

from rightcall.trust.asked.lacking import condition_in
from trust.nursery import cancels, done, failed, nursery, runs

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


class TestWhatTheHouseRefuses:
    """The terms of refund_plants: to the card that was paid with, or to a gift card."""

    WORDS = "Refund the fern to my {0}. If a refund to {0} is not possible, refund it to my gift card."

    def refunds(self, words, card):
        call = {"order_id": "N-1", "plant_ids": ["P201"], "card_id": card}
        return runs(nursery(words), "refund_plants", **call)

    def test_the_second_choice_where_it_refuses_the_first(self):
        assert self.refunds(self.WORDS.format("Mastercard"), "gift_9")

    def test_not_where_it_does_the_first(self):
        assert self.refunds(self.WORDS.format("Visa"), "visa_7")
        assert not self.refunds(self.WORDS.format("Visa"), "gift_9")

    def test_if_not_refers_to_the_sentence_before(self):
        words = "I want you to refund the fern to my other credit card."
        assert not self.refunds(words, "visa_7")
        then = " If not possible, refund the fern to the card that I paid with."
        assert self.refunds(words + then, "visa_7")
        assert not self.refunds(words + " If not possible, call me about it.", "visa_7")
        # A gift card would do.
        assert not self.refunds(words.replace("credit ", "") + then, "visa_7")


@pytest.mark.parametrize(("most", "is_met"), [(50, True), (60, False), (70, False)])
def test_if_not_under_a_price(most, is_met):
    words = (
        "What does the cheapest palm cost now? "
        f"If it is less than {most} euros, I keep mine. If not, cancel the order with the palm."
    )
    assert cancels(words, "N-3") is is_met


def test_a_condition_for_which_nothing_follows_is_a_request():
    assert cancels("Also if you could help me cancel the palm order.", "N-3")
    assert cancels("If you can help cancel the palm (if it is not too late).", "N-3")
    assert not cancels("If the agent can help cancel the palm order, she will call me.", "N-3")
