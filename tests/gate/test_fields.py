"""Whose words are in a structured result."""

import pytest

from rightcall.core.parts import Media, Text
from rightcall.core.tool import Facts
from rightcall.gate.fields import has_fields, is_systems_own

MAIL = Text('[{"from":"bob","body":"hi","thread":{"name":"Plans","body":{"x":7}},"n":3}]')


@pytest.mark.parametrize(
    ("untrusted", "is_own"),
    [
        (("body",), False),
        (("thread.body",), False),
        (("thread",), False),
        (("elsewhere",), True),
        ((), True),
        (False, True),
        (True, False),
    ],
)
def test_a_result_is_the_systems_if_no_field_in_it_is_an_outsiders(untrusted, is_own):
    assert is_systems_own([MAIL], Facts(untrusted=untrusted)) is is_own


@pytest.mark.parametrize(
    "part",
    [Text("plain"), Text('"a string"'), Text("7"), Media(b"x"), Text('{"cut": "o'), Text('["loose"]')],
)
def test_what_stands_in_no_field_is_anybodys(part):
    assert not is_systems_own([part], Facts(untrusted=("body",)))


@pytest.mark.parametrize(
    ("key", "is_own"), [("reactions", True), ("eve@evil.example", False), ("GB29", False)]
)
def test_a_key_that_is_no_field_may_be_anybodys(key, is_own):
    assert is_systems_own([Text(f'{{"{key}": 1}}')], Facts(untrusted=("body",))) is is_own


def test_only_facts_that_name_fields_tell_them_apart():
    assert [has_fields(Facts(untrusted=each)) for each in (None, True, False, (), ("a",))] == [
        *[False] * 3,
        *[True] * 2,
    ]
