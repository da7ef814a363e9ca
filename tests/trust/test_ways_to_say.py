"""Ways in which people say which one they mean, or that they want something done."""

import pytest

from rightcall.trust.words.places import codes_for
from rightcall.trust.words.shifts import shifted, shifts_in
from trust.test_described import CARDS, COUPE, LISTED, VAN, guard, runs

SENT = [{**VAN, "garage": {"state": "TX"}}, {**COUPE, "garage": {"state": "OH"}}]


def cancels(words, hire, *seen):
    return runs(guard(words, *(seen or (LISTED,))), "cancel_hire", hire_id=hire)


class TestCodes:
    def test_a_state_by_its_name(self):
        words, hires = "Cancel the hire in Texas.", ("hires", SENT)
        assert cancels(words, "H-1001", hires)
        assert not cancels(words, "H-1002", hires)

    def test_a_state_that_nobody_named_is_nowhere_to_deliver_to(self):
        asked = guard("Deliver it to 101 Highway, New York.", LISTED)
        assert runs(asked, "deliver_to", street1="101 Highway", street2="NY")
        assert not runs(asked, "deliver_to", street1="101 Highway", street2="NV")

    def test_not_where_it_is_forbidden(self):
        asked = guard("Deliver it to 101 Highway. Never deliver to Nevada.", LISTED)
        assert not runs(asked, "deliver_to", street1="101 Highway", street2="NV")

    def test_by_one_word_or_two(self):
        assert list(codes_for(["from", "new", "mexico", "to", "ohio"])) == ["oh", "nm"]


class TestInitials:
    PAID = ("profile", {"cards": [{"card_id": "gift_card_77"}, {"card_id": "credit_card_88"}]})

    def test_of_the_words_in_an_identifier(self):
        asked = guard("Refund the roof box and the snow chains to my GC.", LISTED, self.PAID)
        call = {"hire_id": "H-1001", "extra_ids": ["E-11", "E-12"]}
        assert runs(asked, "refund_extras", **call, card_id="gift_card_77")
        assert not runs(asked, "refund_extras", **call, card_id="credit_card_88")


class TestHowMany:
    def test_are_in_it(self):
        seats = [{"extra_id": f"E-3{at}", "label": "Seat"} for at in range(5)]
        hires = ("hires", [VAN, {**COUPE, "extras": seats}])
        words = "I have a hire with five extras, and I want to cancel it."
        assert cancels(words, "H-1002", hires)
        assert not cancels(words, "H-1001", hires)


class TestDaysApart:
    def moves(self, words, day):
        asked = guard(words, LISTED)
        return runs(asked, "move_hire", hire_id="H-1001", days=[{"day": day}])

    def test_from_one_in_the_record_that_is_meant(self):
        words = "Move the hire of the van to the day after the original one."
        assert self.moves(words, "2026-05-21")
        assert not self.moves(words, "2026-05-22")
        assert not self.moves(words, "2026-05-19")
        assert not self.moves(words, "2026-06-04")

    def test_not_where_no_distance_was_named(self):
        assert not self.moves("Move the hire of the van.", "2026-05-21")

    @pytest.mark.parametrize(
        ("text", "days"),
        [
            ("two days later", {2}),
            ("3 days earlier", {-3}),
            ("a week later", {7}),
            ("the next day", {1}),
            ("the day before", {-1}),
            ("next day delivery", set()),
            ("on that day", set()),
        ],
    )
    def test_as_people_say_it(self, text, days):
        assert shifts_in(text) == days

    def test_what_is_no_day_is_not_moved(self):
        assert shifted("soon", 1) is None
        assert shifted("9999-12-31", 1) is None


class TestAsides:
    def test_explain_the_sentence_before(self):
        words = "Cancel what I booked for the family. (It is the van.)"
        assert cancels(words, "H-1001")
        assert not cancels(words, "H-1002")


class TestWhatTheUserWillAnswer:
    def test_is_said(self):
        words = "Refund the roof box. If you ask for confirmation, also cancel the coupe hire."
        assert cancels(words, "H-1002")
        assert not cancels(words, "H-1001")

    @pytest.mark.parametrize(
        "condition", ["If it rains", "If that is not possible", "If the firm asks for it"]
    )
    def test_another_condition_is_none_of_it(self, condition):
        assert not cancels(f"Refund the roof box. {condition}, cancel the coupe hire.", "H-1002")

    def test_what_else_is_wanted_is_not_forbidden_with_it(self):
        words = "When asked, do not say yes, because I also want to cancel the coupe hire."
        assert cancels(words, "H-1002")
        assert not cancels("Do not write to them because I want to cancel the coupe hire.", "H-1002")


class TestButDoNot:
    def test_forbids_only_what_follows(self):
        words = "Cancel the van hire, but do not cancel the coupe hire."
        assert cancels(words, "H-1001", LISTED, CARDS)
        assert not cancels(words, "H-1002", LISTED, CARDS)

    def test_a_value_in_quotes_forbids_nothing(self):
        words = "Cancel the hire of the van {'tyres': 'not included', 'colour': 'red'}."
        assert cancels(words, "H-1001")

    def test_whether_or_not_forbids_nothing(self):
        assert cancels("Cancel the van hire, whether it is refunded or not.", "H-1001")

    def test_what_is_wanted_instead(self):
        words = "Do not refund the roof box, and cancel the van hire instead."
        assert cancels(words, "H-1001")
        assert not runs(guard(words, LISTED), "refund_extras", hire_id="H-1001", extra_ids=["E-11"])


class TestAll:
    def test_that_are_as_the_user_says(self):
        shirts = [
            {"extra_id": "E-51", "label": "Seat", "trim": {"size": "S"}},
            {"extra_id": "E-52", "label": "Seat", "trim": {"size": "XL"}},
        ]
        hires = ("hires", [{**VAN, "extras": shirts}, COUPE])
        asked = guard("Refund all small seats of the van.", hires)
        call = {"hire_id": "H-1001", "card_id": "C-51"}
        assert runs(asked, "refund_extras", **call, extra_ids=["E-51"])
        assert not runs(asked, "refund_extras", **call, extra_ids=["E-52"])

    def test_not_where_something_restricts_them_that_nobody_computes(self):
        assert cancels("Cancel all hires.", "H-1002")
        assert not cancels("Cancel all hires that have only one driver.", "H-1002")


class TestOtherIdentifiers:
    def test_do_not_describe_what_happens_to_share_a_word_with_them(self):
        extras = [{"extra_id": "E-61", "label": "Memory Card"}]
        hires = (
            "hires",
            [VAN, {**COUPE, "extras": extras, "paid_with": [{"card_id": "credit_card_52"}]}],
        )
        asked = guard("Refund the roof box to my credit card.", hires)
        call = {"hire_id": "H-1002", "extra_ids": ["E-61"], "card_id": "credit_card_52"}
        assert not runs(asked, "refund_extras", **call)

    def test_do_not_lead_to_the_record_that_holds_them_before_all_were_read(self):
        listed = ("profile", {"hires": ["H-1001", "H-1002"], "cards": [{"card_id": "credit_card_52"}]})
        coupe = {**COUPE, "extras": COUPE["extras"][:1], "paid_with": [{"card_id": "credit_card_52"}]}
        asked = guard(
            "Refund the roof box to my credit card.", listed, ("hire", coupe, {"hire_id": "H-1002"})
        )
        call = {"hire_id": "H-1002", "extra_ids": ["E-21"], "card_id": "credit_card_52"}
        assert not runs(asked, "refund_extras", **call)

    def test_not_what_comes_second(self):
        cards = [{"card_id": "gift_card_77"}, {"card_id": "paypal_88"}]
        listed = ("profile", {"cards": cards})
        words = "Change the card of the van hire. Use my GC, but if it is impossible, PayPal is fine."
        asked = guard(words, LISTED, listed)
        assert runs(asked, "change_card", hire_id="H-1001", card_id="gift_card_77")
        assert not runs(asked, "change_card", hire_id="H-1001", card_id="paypal_88")
        asked = guard("Refund the roof box of the van to PayPal.", LISTED, listed)
        call = {"hire_id": "H-1001", "extra_ids": ["E-11"]}
        assert runs(asked, "refund_extras", **call, card_id="paypal_88")
        assert not runs(asked, "refund_extras", **call, card_id="gift_card_77")
