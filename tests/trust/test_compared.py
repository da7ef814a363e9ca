"""What a person singles out by comparing it with others is computed, and no other passes."""

import pytest

from rightcall.trust.asked.compared import measured, wishes_in
from trust.test_described import COUPE, LISTED, VAN, guard, runs


def box(key, price, **trim):
    """A roof box that is on offer."""
    return {"extra_id": key, "trim": trim, "price": price, "available": True}


NOW = box("E-11", 50, capacity="300 litres", colour="black", lock="no") | {"available": False}
OFFERED = [
    NOW,
    box("E-15", 20, capacity="200 litres", colour="black", lock="no"),
    box("E-16", 60, capacity="400 litres", colour="black", lock="no"),
    box("E-17", 99, capacity="500 litres", colour="black", lock="no"),
    box("E-18", 90, capacity="400 litres", colour="white", lock="no"),
    box("E-19", 45, capacity="300 litres", colour="black", lock="yes"),
    box("E-20", 70, capacity="300 litres", colour="silver", lock="yes"),
]
OFFER = (
    "models",
    {"model": "Roof Box", "variants": {each["extra_id"]: each for each in OFFERED}},
    {"model_id": "M-1"},
)


def swapped(words, *more):
    """The offers that may replace the roof box of the van after these words."""
    asked = guard(words, LISTED, OFFER, *more)
    call = {"hire_id": "H-1001", "extra_id": "E-11"}
    new = [each["extra_id"] for each in OFFERED if each is not NOW]
    return {each for each in new if runs(asked, "swap_extra", **call, new_extra_id=each)}


class TestTakesThePlace:
    @pytest.mark.parametrize(
        ("wish", "only"),
        [
            ("the largest one", {"E-17"}),
            ("one with the highest capacity", {"E-17"}),
            ("the smallest one", {"E-15"}),
            ("the cheapest option", {"E-15"}),
            ("the most expensive one", {"E-17"}),
            ("a smaller one", {"E-15"}),
            ("a slightly larger one", {"E-16"}),
            ("a white one that is larger", {"E-18"}),
            ("one with 200 litres more", {"E-17"}),
            ("one with 100 more litres", {"E-16"}),
            ("one with 100 more capacity", {"E-16"}),
            ("the cheapest one with a lock", {"E-19"}),
            ("the largest one with a lock at the same price", {"E-19"}),
            ("one with a lower weight", set()),
        ],
    )
    def test_the_one_that_the_comparison_singles_out(self, wish, only):
        assert swapped(f"Swap the roof box of the van for {wish}.") == only

    def test_none_where_more_than_one_is_larger_and_otherwise_the_same(self):
        assert swapped("Swap the roof box of the van for a larger one.") == set()

    def test_what_is_to_stay_the_same(self):
        words = "Swap the roof box of the van for the dearest one, but with the same capacity."
        assert swapped(words) == {"E-20"}

    def test_in_the_order_of_preference(self):
        words = "Swap the roof box of the van for a slightly larger one (prefer white > black)."
        assert swapped(words) == {"E-18"}
        words = "Swap the van's roof box for a slightly larger one. For the box I prefer black to white."
        assert swapped(words) == {"E-16"}

    def test_not_by_what_is_asked_about(self):
        words = "Tell me what the most expensive roof box is. Swap mine, of the van, for a smaller box."
        assert swapped(words) == {"E-15"}

    def test_not_by_a_comparison_that_is_about_another_thing(self):
        words = "Swap the roof box of the van for a white one, and the snow chains for the dearest ones."
        assert swapped(words) == {"E-18"}

    def test_not_by_what_is_forbidden(self):
        assert "E-17" not in swapped("Swap the roof box of the van, but never for the largest one.")

    def test_all_of_them(self):
        assert swapped("Swap all extras of the van for their cheapest options.") == {"E-15"}

    def test_not_by_values_without_an_order(self):
        assert swapped("Swap the roof box of the van for one with the highest colour.") == set()


class TestGoesOn:
    def test_with_what_the_sentence_before_was_about(self):
        words = "I want another roof box for the van. Swap it for the largest one."
        assert swapped(words) == {"E-17"}

    def test_not_with_another_thing(self):
        words = (
            "Swap the roof box of the van for a white one. I have snow chains. I like the largest ones."
        )
        assert swapped(words) == {"E-18"}

    def test_a_small_number_with_its_field(self):
        offered = [box(f"E-1{at}", 50, doors=str(at)) for at in range(1, 5)]
        offers = {each["extra_id"]: each for each in offered}
        offer = ("models", {"model": "Roof Box", "variants": offers}, {"model_id": "M-1"})
        asked = guard("Swap the roof box of the van for one with doors 3.", LISTED, offer)
        call = {"hire_id": "H-1001", "extra_id": "E-11"}
        assert runs(asked, "swap_extra", **call, new_extra_id="E-13")
        assert not runs(asked, "swap_extra", **call, new_extra_id="E-14")

    def test_the_same_but_for_one_thing(self):
        words = "Swap the roof box of the van for the exact same one except that it has a lock."
        assert "E-19" in swapped(words)
        assert swapped(words) <= {"E-19", "E-20"}


class TestSentenceBySentence:
    def test_two_of_a_kind_for_two_others(self):
        words = (
            "For the van: the roof box {'lock': 'no'} to {'capacity': '400 litres'}; "
            "the roof box {'lock': 'no'} to {'colour': 'silver', 'capacity': '300 litres'};"
            "Swap them, please."
        )
        assert {"E-16", "E-20"} <= swapped(words)
        assert not {"E-15", "E-17", "E-19"} & swapped(words)


class TestTakenBack:
    def test_what_the_user_does_themselves(self):
        assert runs(guard("Cancel the van hire.", LISTED), "cancel_hire", hire_id="H-1001")
        words = "Cancel the van hire. Well, I will cancel it myself on the website."
        assert not runs(guard(words, LISTED), "cancel_hire", hire_id="H-1001")


class TestTwoIdentifiers:
    def test_do_not_mix_what_is_in_several_records_of_one_person(self):
        first, second = ({"customer_id": "anna", **each} for each in (VAN, COUPE))
        asked = guard("Cancel the coupe.", ("hire", first, {"hire_id": "1"}), ("hire", second))
        assert runs(asked, "cancel_hire", hire_id="H-1002")
        assert not runs(asked, "cancel_hire", hire_id="H-1001")


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["M", "XL", "S"], [3, 5, 2]),
        (["low", "high"], [0, 2]),
        (["1,000 ml", "750 ml"], [1000, 750]),
        (["13-inch", "15.5-inch"], [13, 15.5]),
        (["1080p", "4K"], [1080, 4000]),
        (["1 litre", "750 ml"], None),
        (["red", "blue"], None),
    ],
)
def test_measured(texts, values):
    assert measured(texts) == values


def test_a_sentence_that_compares_nothing():
    assert wishes_in("Cancel the van that is large.", ()) is None
