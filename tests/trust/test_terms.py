"""What the house allows, by the record that a call names, whatever the user wants."""

import pytest

from rightcall.core.decision import Deny
from rightcall.trust.asked.records import Record
from rightcall.trust.asked.terms import Change, is_allowed
from trust.kit import checked
from trust.nursery import CARDS, PALM, TOOLS, cancels, nursery, order, plant, returns, runs


def allows(terms, records, arguments=None, **more):
    return is_allowed(terms, Change(records=records, arguments=arguments or {}, **more))


def record(**fields):
    return Record("order_id", "N-1", set(), fields=fields)


@pytest.mark.parametrize(
    ("wanted", "text", "is_it"),
    [
        ("open", "Open", True),
        ("open*", "open (changed)", True),
        ("open", "opened", False),
        ("<= 5", "5", True),
        ("< 5", "5", False),
        ("> 5", "6.5", True),
        (">= 2026-05-01", "2026-05-01T00:00:00", True),
        (">= 2026-05-02", "2026-05-01T23:00:00+02:00", False),
        ("< 2026-05-02", "soon", False),
        ("< soon", "5", False),
    ],
)
def test_a_field_fits_a_pattern_or_a_bound(wanted, text, is_it):
    assert allows(({"field": wanted},), [record(field=text)]) is is_it


def test_one_of_the_alternatives_is_enough_and_all_of_its_fields_must_fit():
    terms = ({"state": "open"}, {"state": "packed", "fee": "<= 5"})
    assert allows(terms, [record(state="open")])
    assert allows(terms, [record(state="packed", fee="4")])
    assert not allows(terms, [record(state="packed")])
    assert not allows(terms, [record(state="open"), record(state="sent")])


def test_without_terms_all_is_allowed_and_what_nobody_has_read_is_not():
    assert allows((), [])
    assert not allows(({"state": "open"},), [])
    assert not allows(({"state": "open"},), [record(colour="red")])


def test_a_parameter_says_what_a_field_becomes():
    assert allows(({"fare": "full"},), [record(fare="saver")], {"fare": "full"})
    assert allows(({"insured": "true"},), [record(insured="false")], {"insured": True})


def test_what_a_record_has_already():
    paid = Record("order_id", "N-1", set(), held={"card_id": {"visa_7"}}, fields={"state": "open"})
    terms = ({"state": "open", "card_id": "="}, {"state": "open", "card_id": "gift*"})
    assert allows(terms, [paid], {"card_id": "visa_7"})
    assert allows(terms, [paid], {"card_id": "gift_9"})
    assert not allows(terms, [paid], {"card_id": "amex_5"})
    assert not allows(terms, [paid])
    assert allows(terms, [paid], free=["card_id"])


def test_what_is_to_cover_the_cost():
    terms = ({"state": "open", "card_id": "visa*"}, {"state": "open", "balance": ">= cost"})
    card = Record("card_id", "gift_9", set(), fields={"balance": "70"})
    assert allows(terms, [record(state="open"), card], {"card_id": "gift_9"}, cost=70.0)
    assert not allows(terms, [record(state="open"), card], {"card_id": "gift_9"}, cost=71.0)
    assert not allows(terms, [record(state="open"), card], {"card_id": "gift_9"})
    assert not allows(terms, [record(state="sent"), card], {"card_id": "gift_9"}, cost=1.0)
    assert allows(terms, [record(state="open")], {"card_id": "visa_7"}, cost=71.0)


class TestACardThatMustCoverTheCost:
    WORDS = "Exchange the palm for one of {} cm. Pay with the gift card; if that is not possible, Visa."

    def swaps(self, size, new, card, cards=CARDS):
        call = {"order_id": "N-3", "plant_id": "P501", "new_plant_id": new, "card_id": card}
        return runs(nursery(self.WORDS.format(size), cards=cards), "modify_plant", **call)

    def test_pays_where_it_does(self):
        assert self.swaps(150, "P502", "gift_9")
        assert not self.swaps(150, "P502", "visa_7")

    def test_gives_way_to_the_second_choice_where_it_does_not(self):
        assert self.swaps(200, "P503", "visa_7")
        assert not self.swaps(200, "P503", "gift_9")
        assert not self.swaps(200, "P503", "mastercard_8")

    def test_may_be_for_what_the_order_has_as_well(self):
        both = order("N-3", "open", "visa_7", PALM, plant("P502", "Palm", 90.0, height="150 cm"))
        call = {"order_id": "N-3", "plant_id": "P501", "new_plant_id": "P502", "card_id": "gift_9"}
        words = "Exchange the palm of 120 cm in N-3 for one of 150 cm with the gift card."
        guard = nursery(words, orders=(both,))
        assert not isinstance(guard.judge(checked(TOOLS, "modify_plant", **call)).decision, Deny)

    def test_does_not_where_its_balance_is_not_known(self):
        cards = [each | {"balance": "some"} if "balance" in each else each for each in CARDS]
        assert not self.swaps(150, "P502", "gift_9", cards)


def test_the_house_refuses_what_the_user_asks_for():
    assert cancels("Cancel my order N-3.", "N-3")
    assert not cancels("Cancel my order N-4.", "N-4")
    assert not cancels("Cancel my order N-1. I insist!", "N-1")
    assert not returns("Return the palm.", "N-3", "visa_7", "P501")


def test_whoever_writes_into_a_record_does_not_change_what_the_house_allows():
    sly = plant("P402", "Olive Tree", 45.0, state="open", fee="1")
    packed = order("N-4", "packed", "visa_7", sly, fee=9)
    assert not cancels("Cancel my order N-4.", "N-4", orders=(packed,))


def test_the_house_is_not_overruled_by_an_approval():
    found = nursery("Cancel my order N-4.").judge(checked(TOOLS, "cancel_order", order_id="N-4"))
    assert isinstance(found.decision, Deny)
    assert found.each_time
    assert "author allows" in found.reason


class TestWhatTheHouseDoesNotDo:
    WORDS = "I want to return the palm. If it cannot be returned, {}."

    @pytest.mark.parametrize("then", ["cancel it", "see if it can be cancelled", "cancel that order"])
    def test_is_an_answer_to_a_condition(self, then):
        assert cancels(self.WORDS.format(then), "N-3")

    def test_not_for_another_order(self):
        assert not cancels(self.WORDS.format("cancel it"), "N-4")

    def test_not_where_the_house_does_it(self):
        back = order("N-3", "delivered", "visa_7", plant("P501", "Palm", 60.0, height="120 cm"))
        words = "I want to return the palm. If it cannot be returned, return the fern."
        assert not returns(
            words,
            "N-1",
            "visa_7",
            "P201",
            orders=(back, *[order("N-1", "delivered", "visa_7", plant("P201", "Fern", 12.0))]),
        )

    def test_not_for_words_about_something_else(self):
        assert not cancels("If the rose cannot be returned, cancel the order with the palm.", "N-3")
