"""What a person's words name, and what they do not."""

import pytest

from rightcall.trust.words.amounts import amounts, bounding
from rightcall.trust.words.polarity import clauses
from rightcall.trust.words.said import names, references, roles


@pytest.mark.parametrize(
    ("text", "forbidden"),
    [
        ("never write to ann", ["never write to ann"]),
        ("Send it to bob, not to ann.", ["not to ann."]),
        ("Tell all except ann, but do tell eve", ["except ann"]),
        ("Ann must not get it. Tell bob.", ["Ann must not get it."]),
        ("Tell bob. Do not tell ann!", ["Do not tell ann!"]),
        ("Ann is not to know.", ["Ann is not to know."]),
        ("Don\u2019t forget to tell bob.", []),
        ("It did not include the tax; pay bob.", []),
        ("If ann is not there, tell bob, not eve.", ["not eve."]),
        ("If ann does not answer tell bob", []),
        ("Tell bob if ann cannot come", []),
        ("Tell bob, and I do not care about the rest.", []),
        ("Tell bob.", []),
    ],
)
def test_what_is_forbidden_is_told_from_the_rest(text, forbidden):
    assert [part.text for part in clauses(text) if part.forbidden] == forbidden


def test_what_is_taken_from_somewhere_and_what_goes_there():
    assert dict(roles("Move 5 from my savings account AA11 to BB22.")) == {
        "savings": "from",
        "aa11": "from",
        "bb22": "to",
    }
    assert dict(roles("Go to the place where nobody has been before AA11")) == {
        "place": "to",
        "where": "to",
        "nobody": "to",
    }


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Delete mail 3", {("mail", "3")}),
        ("files 3, 4 and 5 please", {("file", "3"), ("file", "4"), ("file", "5")}),
        ("the mail with id 3", {("id", "3"), ("mail", "3")}),
        ("my 3 newest mails", set()),
        ("send 3 mails", set()),
    ],
)
def test_a_number_identifies_what_it_is_said_to(text, found):
    assert set(references(text)) == found


def test_a_word_is_a_name_where_it_is_used_as_one():
    assert list(names("Will you tell Mark? May I? Ask Will's boss.")) == ["mark"]
    assert list(names("Ask Ann  Grace. Or: Mark \n May, (Hope)")) == ["grace", "may", "hope"]


def test_years_and_accounts_are_no_amounts():
    text = "Pay 1,000.50 and 12 in 2024 into 12345678 on 2024-05-01, v1.2.3"
    assert bounding(amounts(text)) == 1000.5
    assert {*amounts(text)} - {2024, 12345678} == {1000.5, 12}
