"""Amounts in every spelling, at any depth, and where the user named none."""

from dataclasses import dataclass

import pytest

import rightcall as rc
from rightcall.testing import ScriptedModel, call, reply
from rightcall.trust.words.amounts import amounts
from trust.test_more_than_asked import FACTS, reading, runs, wire


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fifty euros", [50]),
        ("Send fifty to DE44", [50]),
        ("two hundred", [200]),
        ("a thousand", [1000]),
        ("one thousand two hundred and fifty", [1250]),
        ("a hundred and one dollars", [101]),
        ("twelve hundred dollars", [1200]),
        ("half a million", [500_000]),
        ("two and a half thousand", [2500]),
        ("a couple of hundred", [200]),
        ("ninety-nine", [99]),
        ("five euros", [5]),
        ("a dollar", [1]),
        ("fifty cents", [0.5]),
        ("50 ct", [0.5]),
        ("1.5k", [1500]),
        ("1,5k", [1500]),
        ("2 grand", [2000]),
        ("1,000.00", [1000]),
        ("1.000,00", [1000]),
        ("1.000 euro", [1000]),
        ("\u20ac1.000", [1000]),
        ("1.000.000", [1_000_000]),
        ("1'000.50", [1000.5]),
        ("10 000 euros", [10_000]),
        ("1 000,00", [1000]),
        ("EUR20", [20]),
        ("20\u20ac", [20]),
    ],
)
def test_an_amount_is_read_in_every_spelling(text, expected):
    assert [*amounts(text)] == expected


@pytest.mark.parametrize(
    "text",
    [
        *("two bags", "one of them", "three", "twenty minutes", "a thousand thanks", "half of it"),
        *("a room for a hundred people", "hundreds of them", "Thousand Oaks", "call me at 030 123 456"),
        *("on the 12th of September", "May 3rd", "the 2nd one", "Pay bill b-1."),
    ],
)
def test_a_number_of_something_else_is_none(text):
    assert [*amounts(text)] == []


def test_an_amount_in_words_is_the_limit():
    assert runs("Wire fifty euros to DE44.", wire, iban="DE44", amount=50)
    assert not runs("Wire fifty euros to DE44.", wire, iban="DE44", amount=51)


@pytest.mark.parametrize(
    ("words", "amount"),
    [
        ("Last time you sent 5000 by mistake.", 5000),
        ("The house cost 400k.", 400_000),
        ("The house cost four hundred thousand.", 400_000),
        ("It's for PS 5000.", 5000),
        ("It's for flight LH 4400.", 4400),
        ("I'm at 1600 Pennsylvania Ave, 20500 Washington.", 1600),
        ("I'm at 1600 Pennsylvania Ave, 20500 Washington.", 20_500),
        ("We were 800 on that trail.", 800),
    ],
)
@pytest.mark.parametrize("asked", ["Wire 50 to DE44.", "Wire DE44 fifty euros."])
def test_what_a_sentence_only_tells_is_no_limit(words, amount, asked):
    for text in (f"{asked} {words}", f"{words} {asked}", f"{asked[:-1]}, {words[0].lower()}{words[1:]}"):
        assert runs(text, wire, iban="DE44", amount=50)
        assert not runs(text, wire, iban="DE44", amount=amount)


@pytest.mark.parametrize(
    "words",
    [
        "Wire it to the plumber at DE44. It's 80.",
        "Wire 50 to DE44. And 80 for the rest.",
        "Wire 50 to DE44. No, 80.",
        "Wire 50 to DE44 now. He should get 80 in May.",
        "Wire 50 to DE44. Make it 80.",
        "Wire 50 to FR55. For DE44 it comes to 80.",
        "Wire it to DE44. The lamp cost 80.",
        "Wire it to DE44, it was 80 last time.",
        "The plumber wants 80. Wire that to DE44, and 20 to FR55.",
        "We agreed on 80. Wire that amount to DE44, and 20 to FR55.",
        "Dinner was 80 euros. Wire that to DE44, and 20 to FR55.",
    ],
)
def test_what_a_second_sentence_says_on_purpose_is(words):
    assert runs(words, wire, iban="DE44", amount=80)


BILLS = reading(
    "bills", [{"bill_id": "b-1", "amount": 40}, {"bill_id": "b-2", "amount": 900}], untrusted=False
)


class TestWhereTheUserNamedNone:
    def test_it_is_the_amount_of_a_record(self):
        assert runs("Wire it to DE44.", wire, BILLS, iban="DE44", amount=40)

    def test_and_not_any_that_is_less_than_the_largest(self):
        assert not runs("Wire it to DE44.", wire, BILLS, iban="DE44", amount=899)

    def test_unless_it_is_to_be_computed(self):
        assert runs("Wire half of it to DE44.", wire, BILLS, iban="DE44", amount=20)

    def test_a_record_that_is_meant_says_how_much(self):
        @rc.tool(facts=rc.Facts(**FACTS, reach="outside", dangers=("money",), targets=("bill_id",)))
        def pay_bill(bill_id: str, amount: float) -> str:
            """Pay a bill."""
            return "DONE"

        assert runs("Pay bill b-1.", pay_bill, BILLS, bill_id="b-1", amount=40)
        assert not runs("Pay bill b-1.", pay_bill, BILLS, bill_id="b-1", amount=900)


@rc.tool(facts=rc.Facts(**FACTS, reach="outside", dangers=("money",), targets=("iban",)))
def wire_parts(iban: str, parts: list[dict[str, object]]) -> str:
    """Wire money in parts."""
    return "DONE"


@dataclass
class Transfer:
    iban: str
    amount: float


@rc.tool(facts=rc.Facts(**FACTS, reach="outside", dangers=("money",), targets=("transfers",)))
def wire_all(transfers: list[Transfer]) -> str:
    """Wire money to several."""
    return "DONE"


@rc.tool(facts=rc.Facts(**FACTS, reach="outside", dangers=("money",), targets=("iban",)))
def wire_several(iban: str, amounts: list[float]) -> str:
    """Wire money in parts."""
    return "DONE"


def test_a_list_of_amounts_is_one_sum():
    words = "Wire 30 to DE44 and 20 to FR55."
    assert runs(words, wire_several, iban="DE44", amounts=[30, 20])
    assert runs(words, wire_several, iban="DE44", amounts=[20, 10, 20])
    assert not runs(words, wire_several, iban="DE44", amounts=[31])
    assert not runs(words, wire_several, iban="DE44", amounts=[30, 20, 1])
    assert not runs("Wire 30 to DE44.", wire_several, iban="DE44", amounts=[30, 30])
    assert not runs("Wire 30 to DE44.", wire_several, iban="DE44", amounts=[30, -30])


def test_what_is_too_much_in_a_list_is_said_once():
    news = reading("news", [{"text": "hi"}], untrusted=("text",))
    paying = reply(call("wire_several", iban="DE44", amounts=[30, 31]))
    model = ScriptedModel([reply(call("news")), paying])
    (pending,) = (
        rc.Agent(model, [news, wire_several], trust=rc.trust.Rules())
        .run_sync("Wire 30 to DE44.")
        .pending
    )
    assert [each.path for each in pending.evidence] == ["$.amounts[1]"]


class TestInsideOfObjects:
    WORDS = "Wire 30 to DE44 and 20 to FR55."

    def test_no_amount_is_more_than_was_named(self):
        assert runs(self.WORDS, wire_parts, iban="DE44", parts=[{"amount": 30}])
        assert not runs(self.WORDS, wire_parts, iban="DE44", parts=[{"amount": 31}])
        assert not runs(self.WORDS, wire_parts, iban="DE44", parts=[{"more": {"amount": 31}}])

    def test_nor_is_their_sum(self):
        assert runs(self.WORDS, wire_parts, iban="DE44", parts=[{"amount": 30}, {"amount": 20}])
        assert not runs(self.WORDS, wire_parts, iban="DE44", parts=[{"amount": 30}] * 2)

    def test_nor_in_a_target(self):
        both = [{"iban": "DE44", "amount": 30}, {"iban": "FR55", "amount": 20}]
        assert runs(self.WORDS, wire_all, transfers=both)
        assert not runs(self.WORDS, wire_all, transfers=[{"iban": "DE44", "amount": 31}])
        assert not runs(self.WORDS, wire_all, transfers=[*both, both[0]])

    def test_no_record_lifts_them(self):
        dear = reading("record", [{"record_id": "r-1", "amount": 8000}], untrusted=False)
        assert not runs(self.WORDS, wire_parts, dear, iban="DE44", parts=[{"amount": 8000}])
        assert not runs(self.WORDS, wire_all, dear, transfers=[{"iban": "DE44", "amount": 8000}])

    def test_what_goes_to_the_same_target_in_a_later_call_counts(self):
        news = reading("news", [{"text": "hi"}], untrusted=("text",))
        again = reply(call("wire_parts", iban="DE44", parts=[{"amount": 30}]))
        model = ScriptedModel([reply(call("news")), again, again, "."])
        agent = rc.Agent(model, [news, wire_parts], trust=rc.trust.Rules(otherwise="deny"))
        first, second = agent.run_sync("Wire 30 to DE44.").calls[1:]
        assert first.result.text == "DONE"
        assert second.result.text != "DONE"

    def test_the_author_can_say_that_they_are_not_bounded(self):
        free = rc.Facts(**FACTS, reach="outside", dangers=("money",), targets=("iban",), bounded=())
        act = wire_parts.replace(facts=free)
        assert runs(self.WORDS, act, iban="DE44", parts=[{"amount": 31}])
