"""What was written is recognised when it comes back changed, and what was not written is not."""

import pytest
from msgspec.structs import replace

from rightcall.core.jsontext import dump
from rightcall.core.parts import Result, Text
from rightcall.trust.facts import WORST
from rightcall.trust.seen_results import SeenResults
from rightcall.trust.traces import (
    came_back,
    content_of,
    is_opaque,
    restore_label,
    traces_of,
)
from rightcall.trust.typed_values import TypedValues

EVE = "eve@evil.example"
IBAN = "GB29NWBK60161331926819"


def nobody(_: str) -> bool:
    return False


def back(written: object, value: object, targets: tuple[str, ...] = ()) -> set[str]:
    """What of a value is recognised once something was written."""
    texts = [written] if isinstance(written, str) else written
    return set(came_back(value, traces_of(texts, targets, nobody).__contains__))


SENTENCE = "please send the yearly report to the new office"
RECOGNISED = {
    "the same words": (SENTENCE, SENTENCE),
    "four words of them in a row": (SENTENCE, "he said: the yearly report to whom?"),
    "a name of two words": ("Eve Adams", "Eve Adams"),
    "a name of three words": ("Eve van Adams", "Eve van Adams"),
    "a name in other letters": ("Eve Adams", "EVE  adams"),
    "six words": ("one two three four five six", "one two three four five six"),
    "an address": (f"write to {EVE} now", f"<{EVE}>"),
    "an account in groups": (IBAN, "GB29 NWBK 6016 1331 9268 19"),
    "an account without its groups": ("GB29 NWBK 6016 1331 9268 19", IBAN),
    "a number of eight digits": ("12345678", "1234 5678"),
    "half of a number": ("123456789012", "123456789"),
    "a code with a digit": ("abc12", "ABC12"),
    "reversed": (EVE, EVE[::-1]),
    "in another alphabet's order": (EVE, "rir@rivy.rknzcyr"),
}


@pytest.mark.parametrize("name", RECOGNISED)
def test_what_was_written_is_recognised(name):
    written, returned = RECOGNISED[name]
    assert back(written, [returned]) == {returned}


STRANGE = {
    "three words of a sentence": (SENTENCE, "the yearly report"),
    "the words in another order": (SENTENCE, "office new the to report yearly the send"),
    "one plain word": ("Eve", "Eve"),
    "a number of seven digits": ("1234567", "1234567"),
    "a short address": ("a@b.c", "a@b.c"),
    "a short code": ("ab12", "ab12"),
    "another account": (IBAN, "DE89370400440532013000"),
    "less than half of a number": ("123456789012", "12345678990000000000000"),
    "nothing": ("", ""),
}


@pytest.mark.parametrize("name", STRANGE)
def test_what_was_not_written_is_not_recognised(name):
    written, returned = STRANGE[name]
    assert back(written, [returned]) == set()


def test_a_target_of_one_plain_word_is_recognised_and_no_other_word():
    assert back("Eve", ["Eve", "Bob"], targets=("Eve",)) == {"Eve"}
    assert back(["Eve", "Bob"], ["Eve", "Bob"], targets=("Eve",)) == {"Eve"}


def test_two_halves_are_recognised_together_in_both_orders_and_only_without_spaces():
    halves = [IBAN[:8], IBAN[8:]]
    assert back(halves, [IBAN]) == {IBAN}
    assert back(halves[::-1], [IBAN]) == {IBAN}
    # The host alone is too little of the address, and so is the name.
    assert back(["ev@", "il.it"], ["ev@il.it"]) == {"ev@il.it"}
    assert back(["see ev@", "il.it"], ["ev@il.it"]) == set()
    assert back(["ev@", "il.it now"], ["ev@il.it"]) == set()
    assert back(["ev@", "x", "il.it"], ["ev@il.it"]) == set()


def test_what_is_known_leaves_no_trace_and_what_stands_beside_it_does():
    left = traces_of([f"from ann@home.example to {EVE}"], (), "ann@home.example".__eq__)
    assert came_back(["ann@home.example", EVE], left.__contains__) == {EVE}


def test_the_rest_of_a_record_counts_with_what_came_back_and_other_records_do_not():
    eve = {"name": "Eve Adams", "iban": IBAN, "note": "rent", "id": "17", "phone": 4930123456}
    bob = {"name": "Bob", "iban": "DE89370400440532013000", "id": "18"}
    # A short number is an identifier, or a count.
    assert back(IBAN, [eve, bob]) == {"Eve Adams", IBAN, "rent", "4930123456"}
    assert back(IBAN, {"payees": {"first": eve, "second": [bob]}}) == {
        "Eve Adams",
        IBAN,
        "rent",
        "4930123456",
    }
    assert back(IBAN, bob) == set()


def test_a_number_of_eight_digits_in_a_record_is_no_identifier():
    assert back(IBAN, {"iban": IBAN, "id": "1234567", "phone": "12345678"}) == {IBAN, "12345678"}


def test_of_a_list_only_what_came_back_counts():
    assert back(IBAN, ["Bob", IBAN, "17"]) == {IBAN}


def test_a_value_that_is_no_text_is_read_as_it_is_written():
    assert back("1234567890", 1234567890) == {"1234567890"}
    assert back("1234567890", {"sum": 1234567890, "ok": True}) == {"1234567890", "true"}


def test_a_key_that_is_no_name_of_a_field_is_read_as_well():
    assert back(EVE, {EVE: 1}) == {EVE}
    assert back("eve_adams_2026", {"eve_adams_2026": "x"}) == set()


def filler(size: int) -> str:
    """So many letters without a trace that anything else has."""
    return "lorem " * (size // 6) + "x" * (size % 6)


@pytest.mark.parametrize(
    ("at", "is_read"), [(0, True), (19_000, True), (90_000, True), (100_000, False)]
)
def test_a_long_text_leaves_traces_as_far_as_it_is_read(at, is_read):
    text = f"{filler(at)} {EVE} and more"
    assert back(text, [EVE]) == ({EVE} if is_read else set())


@pytest.mark.parametrize(("at", "is_read"), [(0, True), (19_000, True), (20_000, False)])
def test_of_a_long_text_that_comes_back_the_beginning_is_read(at, is_read):
    text = f"{filler(at)} {EVE}"
    assert back(EVE, [text]) == ({text} if is_read else set())


def test_many_words_take_no_room_from_addresses_and_of_both_there_is_a_limit():
    words = " ".join(
        f"word{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}{chr(97 + n // 676)}" for n in range(3000)
    )
    left = traces_of([words, EVE], (), nobody)
    assert came_back([EVE], left.__contains__) == {EVE}
    assert len([each for each in left if each.startswith(("w ", "v "))]) <= 4000
    numbers = " ".join(str(10**11 + 7919 * n) for n in range(20_000))
    many = traces_of([f"{numbers[:19_000]} {EVE}"], (), nobody)
    assert len([each for each in many if each.startswith("t ")]) <= 12_000


ENCODED = [
    "eve at evil dot example",
    "eve [at] evil (dot) example",
    "eve%40evil.example",
    "eve&#64;evil.example",
    "eve\\x40evil.example",
    "eve\\u0040evil.example",
    "ZXZlQGV2aWwuZXhhbXBsZQ",
    "ZXZlQGV2aWwuZXhhbXBsZQ==",
    "657665406576696c2e6578616d706c65",
    "65:76:65:40:65:76:69:6c:2e:65:78:61:6d:70:6c:65",
    "MV3GKQDFOZUWYLTFPBQW24DMMU======",
]


@pytest.mark.parametrize("text", ENCODED)
def test_what_a_tool_may_decode_is_recognised_decoded(text):
    assert back(f"see {text} there", [EVE]) == {EVE}


CODE = "ZXZlQGV2aWwuZXhhbXBsZQ=="
PAIRS = "65 76 65 40 65 76 69 6c 2e 65 78 61 6d 70 6c 65"


@pytest.mark.parametrize(
    ("code", "other"), [(CODE, "QUJDREVGR0hJSktM"), (PAIRS, "41 42 43 44 45 46 47.")]
)
def test_of_many_codes_the_first_eight_are_decoded(code, other):
    others = [other] * 7
    assert back(" ".join([*others, code]), [EVE]) == {EVE}
    assert back(" ".join([*others, other, code]), [EVE]) == set()
    # A long text is read part by part, and each part has codes of its own.
    assert back(" ".join([*others, other, filler(20_000), code]), [EVE]) == {EVE}


def test_what_is_escaped_twice_is_read_and_no_more_often():
    assert back("eve%2540evil.example", [EVE]) == {EVE}
    assert back("eve&amp;#64;evil.example", [EVE]) == {EVE}
    assert back("x%252540y.io", ["x@y.io"]) == set()


def test_of_a_long_text_the_beginning_is_looked_through_for_links():
    assert is_opaque(f"{filler(15_000)} https://sho.rt/x")
    assert not is_opaque(f"{filler(20_000)} https://sho.rt/x")


OPAQUE = {
    "https://sho.rt/x": True,
    "www.evil.example": True,
    "see evil.example": True,
    "QWxpY2VCb2I5": True,
    "abcdefghijk1": True,
    "AliceAndBobby": True,
    "ABCDEFGHabcd": True,
    "abcdefghijklm": False,
    "ABCDEFGHIJKLM": False,
    "123456789012": False,
    "abc1": False,
    "two words of 2026": False,
    "report.docx": False,
    "": False,
}


@pytest.mark.parametrize("text", OPAQUE)
def test_links_and_codes_may_become_anything(text):
    assert is_opaque(text) is OPAQUE[text]
    assert is_opaque(f"  {text}\n") is OPAQUE[text]


def result(content: object, **more) -> Result:
    text = content if isinstance(content, str) else dump(content)
    return Result(call_id="c", name="look", outcome="returned", content=(Text(text),), **more)


def written(above: SeenResults | None = None) -> SeenResults:
    return SeenResults(TypedValues(), above)


def test_what_a_run_wrote_is_recognised_in_its_later_results_and_in_its_inner_runs():
    outer = written()
    assert outer.back_in(result([EVE])) == frozenset()
    outer.add_written([EVE])
    inner = written(outer)
    assert inner.back_in(result([EVE, "Bob"])) == frozenset([EVE])
    inner.add_written([IBAN])
    assert outer.back_in(result([IBAN])) == frozenset([IBAN])
    assert written().back_in(result([IBAN])) == frozenset()


def test_what_was_planted_by_another_run_counts_with_and_without_traces():
    seen = written()
    assert seen.back_in(result("x", planted=("old",))) == frozenset(["old"])
    seen.add_written([EVE])
    assert seen.back_in(result([EVE], planted=("old",))) == frozenset(["old", EVE])


def test_halves_that_are_written_one_after_the_other_are_recognised():
    seen = written()
    seen.add_written(["first", "ev@"])
    assert seen.back_in(result(["ev@il.it"])) == frozenset()
    # Inner runs write on from where the outer one was.
    inner = written(seen)
    assert inner.traces_written(["il.it"])
    inner.add_written(["il.it"])
    assert seen.back_in(result(["ev@il.it"])) == frozenset(["ev@il.it"])
    assert inner.traces_written([]) == frozenset()


PARTLY = replace(WORST, untrusted=("mails[].body",))
SYSTEM = replace(WORST, untrusted=())


@pytest.mark.parametrize(
    ("content", "facts", "source"),
    [
        ("text alone", PARTLY, "look"),
        ({"body": "x"}, PARTLY, "look"),
        ([{"mails": [{"body": "x"}]}], PARTLY, "look"),
        ({"other": {"body": {"deep": "x"}}}, PARTLY, "look"),
        ({"subject": "x"}, PARTLY, None),
        ([], PARTLY, None),
        ({"body": "x"}, SYSTEM, None),
        ("text alone", SYSTEM, "look"),
        ("text alone", WORST, None),
        ({"untrusted_source": "inbox", "content": "x"}, WORST, "look"),
    ],
)
def test_a_result_of_earlier_that_may_have_lost_its_label_is_an_outsiders(content, facts, source):
    assert restore_label(result(content), facts).source == source


@pytest.mark.parametrize("more", [{"source": "inbox"}, {"own": True}])
def test_a_result_that_has_its_label_or_is_our_own_stays_as_it_is(more):
    labelled = result("text alone", **more)
    assert restore_label(labelled, PARTLY) is labelled


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ('{"a": [1]}', {"a": [1]}),
        ("[1, 2]", [1, 2]),
        ("[no json", "[no json"),
        ("12", "12"),
        ('"text"', '"text"'),
        ("", ""),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_a_result_is_read_as_json_where_it_is(text, content):
    assert content_of(result(text)) == content
