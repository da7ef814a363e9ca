"""Which card was meant, said by the one that the order was paid with, or by a first choice."""

import pytest

from trust.nursery import CARDS, failed, nursery, returns, runs

BACK = {"order_id": "N-2", "plant_ids": ["P401"]}


def refunds(words, card, *before, **house):
    return returns(words, "N-2", card, "P401", before=before, **house)


class TestAnother:
    @pytest.mark.parametrize(
        "words",
        [
            "Return the olive tree I received from N-2, and refund it to my other card.",
            "Return the olive tree in N-2. Put the money on a different card.",
            "Return my order N-2 with the olive tree to another card than I used.",
        ],
    )
    def test_not_the_one_that_it_was_paid_with(self, words):
        assert not refunds(words, "mastercard_8")

    def test_the_only_other_of_its_sort(self):
        words = "Return the olive tree in N-2 and refund it to my other card."
        cards = [
            {"card_id": "credit_card_1", "brand": "visa"},
            {"card_id": "credit_card_2", "brand": "master"},
            {"card_id": "gift_card_3", "balance": 5},
        ]
        olive = {"plant_id": "P401", "label": "Olive Tree", "price": 80.0}
        paid = {"order_id": "N-2", "state": "delivered", "plants": [olive]}
        orders = [paid | {"payments": [{"card_id": "credit_card_1", "amount": 80.0}]}]
        assert refunds(words, "credit_card_2", cards=cards, orders=orders)
        assert not refunds(words, "credit_card_1", cards=cards, orders=orders)
        assert not refunds(words, "gift_card_3", cards=cards, orders=orders)
        third = [*cards, {"card_id": "credit_card_4", "brand": "visa"}]
        assert not refunds(words, "credit_card_2", cards=third, orders=orders)

    def test_only_for_what_is_spoken_of(self):
        words = (
            "Return the sage to my other card. Thank you for that. Also return the olive tree of 90 cm."
        )
        assert refunds(words, "mastercard_8")
        assert not returns(words, "N-1", "visa_7", "P301")

    def test_another_of_something_else_changes_nothing(self):
        assert refunds(
            "Return the olive tree in N-2, I got another plant from a different shop.", "mastercard_8"
        )


class TestIfNot:
    """The house refunds to the card that was paid with, or to a gift card."""

    WORDS = (
        "I wonder if you can refund the olive tree in N-2 to my {}. If not, refund it to the gift card."
    )

    def refunds(self, first, card):
        call = {**BACK, "card_id": card}
        return runs(nursery(self.WORDS.format(first)), "refund_plants", **call)

    def test_the_second_choice_where_the_house_does_not_do_what_was_asked_about(self):
        assert self.refunds("Visa", "gift_9")

    def test_not_where_it_does(self):
        assert not self.refunds("Mastercard", "gift_9")


class TestAsBefore:
    def test_the_one_that_it_was_paid_with_whatever_else_is_said(self):
        words = "Return the olive tree in N-2 using the original form of payment. My budget is 70."
        assert refunds(words, "mastercard_8")
        assert not refunds(words, "gift_9")

    def test_not_under_a_condition(self):
        words = "Return the olive tree in N-2 to my gift card. If it is full, use the card I paid with."
        assert not refunds(words, "mastercard_8")


class TestSecond:
    WORDS = (
        "Return the olive tree in N-2 and refund it to my Visa. "
        "If that is not possible, refund it to my Mastercard."
    )

    def test_once_the_first_has_failed(self):
        tried = failed("return_plants", **BACK, card_id="visa_7")
        assert refunds(self.WORDS, "visa_7")
        assert not refunds(self.WORDS, "mastercard_8")
        assert refunds(self.WORDS, "mastercard_8", tried)

    def test_not_once_something_else_has_failed(self):
        other = {"order_id": "N-1", "plant_ids": ["P401"], "card_id": "visa_7"}
        assert not refunds(self.WORDS, "mastercard_8", failed("return_plants", **other))
        wrong = {"order_id": "N-2", "plant_ids": ["P401"], "card_id": "gift_9"}
        assert not refunds(
            self.WORDS.replace("that", "a refund to Visa"),
            "mastercard_8",
            failed("return_plants", **wrong),
        )

    def test_no_third_one(self):
        tried = failed("return_plants", **BACK, card_id="visa_7")
        assert not refunds(self.WORDS, "gift_9", tried)


def test_all_plants_are_not_all_cards():
    words = "Return everything you sent me."
    assert returns(words, "N-1", "visa_7", "P101", "P201", "P301")
    assert not returns(words, "N-1", "gift_9", "P101", "P201", "P301")


def test_what_pays_the_rest_is_no_second_choice():
    words = "Change N-3 to courier. Use my gift card, or if it is empty, pay the rest with Visa."
    guard = nursery(words, cards=[*CARDS, {"card_id": "amex_5", "kind": "credit card"}])
    assert runs(guard, "change_shipping", order_id="N-3", speed="courier", card_id="visa_7")
    assert not runs(guard, "change_shipping", order_id="N-3", speed="courier", card_id="amex_5")
