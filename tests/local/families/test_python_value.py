"""Python literals into JSON, letter by letter."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.local.families.scanner import PythonValue, literal

END = ", x=1)]"
"""What follows a value among arguments."""


def read(pieces: Any) -> tuple[str, str]:
    value = PythonValue()
    return "".join(value.feed(piece) for piece in pieces), value.rest


CASES: dict[str, Any] = {
    "1": 1,
    "-1.5e3": -1500.0,
    "1_000": 1000,
    "0x10": 16,
    ".5": 0.5,
    "True": True,
    "false": False,
    "None": None,
    "null": None,
    "''": "",
    '""': "",
    '"a\\"b"': 'a"b',
    "'it\\'s'": "it's",
    "'a\\n\\t\\x41\\u00e9\\101\\d'": "a\n\tAéA\\d",
    "'\\ud83d\\ude42'": "🙂",
    "'''a 'b' c'''": "a 'b' c",
    "'a\nb'": "a\nb",
    "[]": [],
    "[1, 'a', [None], ]": [1, "a", [None]],
    "(1, 2)": [1, 2],
    "{}": {},
    "{'a': 1, 'b': {'c': [True]}}": {"a": 1, "b": {"c": [True]}},
    "{'a', 'b'}": ["a", "b"],
    "{1: 2}": {"1": 2},
    "x + 1": "x + 1",
    "now(1, 'a)')": "now(1, 'a)')",
    "f'{x}'": "f'{x}'",
    "'sed 's/a/b/' file'": "sed 's/a/b/' file",
    "['a'b', 'c']": ["a'b", "c"],
}


@pytest.mark.parametrize("text", CASES)
def test_a_literal_becomes_json_at_every_cut(text: str):
    whole = read([text + END])
    assert json.loads(whole[0]) == CASES[text]
    assert whole[1] == END
    assert read(text + END)[0] == whole[0]
    for at in range(1, len(text)):
        assert read([text[:at], text[at:] + END]) == whole


@given(
    st.recursive(
        st.one_of(
            st.none(),
            st.booleans(),
            st.integers(),
            st.floats(allow_nan=False, allow_infinity=False),
            st.text(),
        ),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
        ),
        max_leaves=6,
    )
)
def test_what_python_writes_is_read(value: Any):
    assert json.loads(read([repr(value) + END])[0]) == value
    assert json.loads(read(list(repr(value) + END))[0]) == value


@pytest.mark.parametrize("text", ["{", "[1", "{'a' 'b': }", "1 2", ""])
def test_a_whole_text_that_is_no_literal_is_none(text: str):
    assert literal(text) == ""
