"""Whose words are in a structured result."""

import pytest

from rightcall.core.parts import Media, Text
from rightcall.core.tool import Facts
from rightcall.gate.fields import NOBODYS, Told, told_apart

MAIL = Text('[{"from":"bob","body":"hi","thread":{"name":"Plans","body":{"x":7}},"n":3}]')
OWN = ("from", "body", "thread", "n", "bob", "name")


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        (Facts(untrusted=("body",)), Told((*OWN, "Plans", "3"))),
        (Facts(untrusted=("body", "name")), Told((*OWN, "3"))),
        (
            Facts(untrusted=("thread.body",)),
            Told(("from", "body", "thread", "n", "bob", "hi", "name", "Plans", "3")),
        ),
        (Facts(untrusted=("thread",)), Told(("from", "body", "thread", "n", "bob", "hi", "3"))),
        (Facts(untrusted=("elsewhere",)), Told(is_clean=True)),
        (Facts(untrusted=("body",), names=("name",)), Told((*OWN, "3"), ("Plans",))),
        (
            Facts(untrusted=False, names=("name",)),
            Told((*OWN[:5], "hi", "name", "x", "7", "3"), ("Plans",)),
        ),
        (Facts(untrusted=True, names=("name",)), Told((), ("Plans",))),
    ],
)
def test_a_field_is_told_from_the_others(facts, told):
    found = told_apart([MAIL], facts, 1000)
    assert (set(found.own), found.names, found.is_clean) == (set(told.own), told.names, told.is_clean)


def test_every_text_of_a_list_may_be_a_name():
    told = told_apart([Text('["general","' + "x" * 300 + '"]')], Facts(untrusted=True, names=True), 1000)
    assert told == Told((), ("general",), ("",))


@pytest.mark.parametrize(
    "part", [Text("plain"), Text('"a string"'), Text("7"), Media(b"x"), Text('{"cut": "o')]
)
def test_what_is_not_structured_is_anybodys(part):
    assert told_apart([part], Facts(untrusted=("body",)), 1000) == NOBODYS


def test_a_text_in_no_field_is_anybodys():
    assert told_apart([Text('["loose"]')], Facts(untrusted=("body",)), 1000) == NOBODYS
    assert told_apart([Text('["loose"]')], Facts(names=("name",)), 1000) == NOBODYS


def test_no_more_is_kept_than_the_limit_allows():
    told = told_apart(
        [Text('{"a":"' + "x" * 50 + '","b":"y","body":"z"}')], Facts(untrusted=("body",)), 20
    )
    assert told == Told(("a", "b", "body", "y"), (), ("", "", "", "b"))


def test_each_text_is_kept_with_its_field():
    facts = Facts(untrusted=("body",), names=("name",))
    told = told_apart([MAIL], facts, 1000)
    kept = dict(zip((*told.own, *told.names), told.fields, strict=True))
    assert (kept["bob"], kept["3"], kept["Plans"], kept["from"]) == ("from", "n", "thread.name", "")
