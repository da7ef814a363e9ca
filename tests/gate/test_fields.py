"""Whose words are in a structured result."""

import pytest

from rightcall.core.parts import Media, Text
from rightcall.core.tool import Facts
from rightcall.gate.fields import NOBODYS, TextOrigins, sort_texts

MAIL = Text('[{"from":"bob","body":"hi","thread":{"name":"Plans","body":{"x":7}},"n":3}]')


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        (Facts(untrusted=("body",)), TextOrigins(("bob", "Plans", "3"))),
        (Facts(untrusted=("body", "name")), TextOrigins(("bob", "3"))),
        (Facts(untrusted=("thread.body",)), TextOrigins(("bob", "hi", "Plans", "3"))),
        (Facts(untrusted=("thread",)), TextOrigins(("bob", "hi", "3"))),
        (Facts(untrusted=("elsewhere",)), TextOrigins(is_clean=True)),
        (Facts(untrusted=("body",), names=("name",)), TextOrigins(("bob", "3"), ("Plans",))),
        (Facts(untrusted=False, names=("name",)), TextOrigins(("bob", "hi", "7", "3"), ("Plans",))),
        (Facts(untrusted=True, names=("name",)), TextOrigins((), ("Plans",))),
    ],
)
def test_a_field_is_told_from_the_others(facts, told):
    found = sort_texts([MAIL], facts, 1000)
    assert (set(found.own), found.names, found.is_clean) == (set(told.own), told.names, told.is_clean)


def test_every_text_of_a_list_may_be_a_name():
    told = sort_texts([Text('["general","' + "x" * 300 + '"]')], Facts(untrusted=True, names=True), 1000)
    assert told == TextOrigins((), ("general",), ("",))


@pytest.mark.parametrize(
    "part", [Text("plain"), Text('"a string"'), Text("7"), Media(b"x"), Text('{"cut": "o')]
)
def test_what_is_not_structured_is_anybodys(part):
    assert sort_texts([part], Facts(untrusted=("body",)), 1000) == NOBODYS


def test_a_text_in_no_field_is_anybodys():
    assert sort_texts([Text('["loose"]')], Facts(untrusted=("body",)), 1000) == NOBODYS
    assert sort_texts([Text('["loose"]')], Facts(names=("name",)), 1000) == NOBODYS


def test_no_more_is_kept_than_the_limit_allows():
    told = sort_texts(
        [Text('{"a":"' + "x" * 50 + '","b":"y","body":"z"}')], Facts(untrusted=("body",)), 20
    )
    assert told == TextOrigins(("y",), (), ("b",))


def test_each_text_is_kept_with_its_field():
    facts = Facts(untrusted=("body",), names=("name",))
    told = sort_texts([MAIL], facts, 1000)
    kept = dict(zip((*told.own, *told.names), told.fields, strict=True))
    assert (kept["bob"], kept["3"], kept["Plans"]) == ("from", "n", "thread.name")
    assert "from" not in kept


@pytest.mark.parametrize(
    ("key", "is_clean"), [("reactions", True), ("eve@evil.example", False), ("GB29", False)]
)
def test_a_key_vouches_for_nothing_and_one_that_is_no_field_may_be_anybodys(key, is_clean):
    told = sort_texts([Text(f'{{"{key}": 1}}')], Facts(untrusted=("body",)), 1000)
    assert (told.is_clean, told.own) == (is_clean, () if is_clean else ("1",))
