"""A condition that can be computed from trusted records or the tools is; any other asks."""

import pytest

from rightcall.trust.asked.lacking import condition_in
from trust.test_compared import OFFERED, box
from trust.test_described import LISTED, guard, runs


def cancels(words, offered, hire="H-1001"):
    offers = {each["extra_id"]: each for each in offered}
    offer = ("models", {"model": "Roof Box", "variants": offers}, {"model_id": "M-1"})
    return runs(guard(words, LISTED, offer), "cancel_hire", hire_id=hire)


GONE = box("E-21", 80, capacity="600 litres", colour="black", lock="no") | {"available": False}
WISH = "Swap the roof box of the van for one of 600 litres."


class TestNotAvailable:
    @pytest.mark.parametrize(
        "condition",
        [
            "If it is not available",
            "If it isn't available",
            "If it is unavailable",
            "If that is not in stock",
        ],
    )
    def test_what_stands_in_the_record_of_offers(self, condition):
        words = f"{WISH} {condition}, cancel the hire."
        assert cancels(words, [*OFFERED, GONE])
        assert not cancels(words, [*OFFERED, GONE | {"available": True}])

    def test_not_another_hire(self):
        words = f"{WISH} If it is not available, cancel the hire."
        assert not cancels(words, [*OFFERED, GONE], "H-1002")

    def test_not_before_anybody_has_looked(self):
        words = f"{WISH} If it is not available, cancel the hire."
        assert not runs(guard(words, LISTED), "cancel_hire", hire_id="H-1001")

    def test_not_where_nobody_knows_what_is_wanted(self):
        words = "Swap the roof box of the van for a lovely one. If it is not available, cancel the hire."
        assert not cancels(words, [*OFFERED, GONE])

    def test_not_where_there_is_no_such_offer(self):
        words = (
            "Swap the roof box of the van for one of 400 to 500 litres. If it is unavailable, cancel it."
        )
        assert not cancels(words, [*OFFERED, GONE])

    def test_what_is_to_stay_the_same(self):
        words = (
            "Swap the roof box of the van for one of 600 litres with the same colour. "
            "If it is not available, cancel the hire."
        )
        white = box("E-22", 80, capacity="600 litres", colour="white", lock="no")
        assert cancels(words, [*OFFERED, GONE, white])
        assert not cancels(words, [*OFFERED, GONE | {"available": True}, white])

    def test_its_price(self):
        words = f"{WISH} If it is available but the price is more than {{}}, cancel the hire."
        there = [*OFFERED, GONE | {"available": True}]
        assert cancels(words.format(70), there)
        assert not cancels(words.format(90), there)

    def test_other_conditions_ask(self):
        for condition in ("If it is too heavy", "If you do not like it", "If there are any issues"):
            assert not cancels(f"{WISH} {condition}, cancel the hire.", [*OFFERED, GONE])


class TestNotPossible:
    def test_what_no_tool_does(self):
        words = (
            "I want no roof box in the van. If cancelling one extra is not possible, cancel the hire."
        )
        assert cancels(words, OFFERED)
        assert not cancels(words, OFFERED, "H-1002")
        words = "I want the roof box out of the van. If you cannot cancel one extra, cancel the hire."
        assert cancels(words, OFFERED)

    def test_a_part_of_it(self):
        words = (
            "I no longer need the roof box and the snow chains. "
            "If cancelling part of the hire is not possible, cancel the whole hire."
        )
        assert cancels(words, OFFERED)
        assert not cancels(words, OFFERED, "H-1002")

    def test_not_what_a_tool_does(self):
        words = (
            "I want the roof box of the van refunded. If refunding one extra is not possible, cancel it."
        )
        assert not cancels(words, OFFERED)

    def test_not_what_nobody_knows(self):
        words = "I want a discount on the van. If that is not possible, cancel the hire."
        assert not cancels(words, OFFERED)

    def test_not_what_is_taken_back(self):
        words = (
            "I want the roof box out of the van. "
            "If you cannot cancel one extra, cancel the hire, but I will do that myself."
        )
        assert not cancels(words, OFFERED)


def test_the_whole_of_one_is_not_all_of_them():
    words = "Cancel the entire hire with the roof box."
    assert cancels(words, OFFERED)
    assert not cancels(words, OFFERED, "H-1002")


def test_a_sentence_without_a_condition():
    assert condition_in("Cancel the hire.") is None
