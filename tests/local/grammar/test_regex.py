import json
import random

import pytest

from local.grammar.sample import LarkJudge, Sampler
from local.grammar.schemas import canonical, compiled
from rightcall.core.schema import Schema
from rightcall.local.grammar.notation import JSON
from rightcall.local.grammar.printers import print_lark
from rightcall.local.grammar.regex import Inexpressible, matching

TAKEN = {
    r"^\d{3}-\d{4}$": (["555-1234"], ["5555-1234", "555-12345"]),
    "^[a-z_][a-z0-9_]*$": (["a", "snake_case9"], ["", "9a", "A"]),
    "foo|bar": (["foo", "a foo b", "bar"], ["fo"]),
    "^(ab?c)+$": (["ac", "abcac"], ["", "ab"]),
    r"^[^\s\"]+$": (["a\\b", "é"], ["a b", 'a"b', ""]),
    r"^\S+@\S+\.\S+$": (["a@b.c"], ["a@b", "a @b.c"]),
    r"^(?:[01]\d|2[0-3]):[0-5]\d$": (["09:30", "23:59"], ["24:00", "9:30"]),
    r"^/[\w./-]*$": (["/", "/a/b-c.txt"], ["a", "/ "]),
    "^(?<year>[0-9]{4})$": (["2024"], ["24"]),
    r"^\u00e9\x41$": (["éA"], ["e"]),
    "^.*$": (["", "any thing"], ["a\nb"]),
    "^a{2,}?$": (["aa", "aaaa"], ["a"]),
    r"^[\]\[.\-]+$": (["[.-]"], ["a"]),
    "(^a$|^b$)": (["a", "b"], ["ab", "c"]),
    "^(a*)*$": (["", "aaa"], ["b"]),
    "": (["", "x"], []),
}


@pytest.mark.parametrize("pattern", TAKEN, ids=str)
def test_what_a_pattern_matches_is_admitted_and_nothing_else(pattern):
    matches, others = TAKEN[pattern]
    schema = {"type": "string", "pattern": pattern}
    book, unheld = compiled(schema)
    assert unheld == []
    judge, checked = LarkJudge(print_lark(book)), Schema(schema)
    assert [text for text in matches if not judge.accepts(canonical(text))] == []
    assert [text for text in others if judge.accepts(canonical(text))] == []
    sampler = Sampler(book, random.Random(1))
    for _ in range(30):
        sentence = sampler.sentence()
        assert judge.accepts(sentence)
        assert checked.problems(json.loads(sentence)) == ()


@pytest.mark.parametrize(
    "pattern",
    [
        "(?=a)b",
        "(?!a)b",
        r"(a)\1",
        r"\bword\b",
        r"\p{L}+",
        "(?i)abc",
        "a^b",
        "a$b",
        "(a|)+",
        "[a&&b]",
        "[[a]]",
        "a{3000}",
        "(a",
        "a)",
        "*a",
        "[z-a]",
        "[]",
        "a{2}{3}",
        "x" * 4001,
        "(" * 30 + "a" + ")" * 30,
    ],
)
def test_what_goes_beyond_is_inexpressible(pattern):
    with pytest.raises(Inexpressible):
        matching(pattern, JSON.one_of)


def test_a_pattern_that_is_one_repetition_is_held_together_with_a_length():
    book, unheld = compiled({"type": "string", "pattern": "^[a-z]+$", "minLength": 3, "maxLength": 5})
    judge = LarkJudge(print_lark(book))
    assert unheld == []
    assert [size for size in range(8) if judge.accepts(f'"{"a" * size}"')] == [3, 4, 5]


def test_a_length_that_a_pattern_does_not_imply_is_left():
    _, unheld = compiled({"type": "string", "pattern": "^a.*b$", "minLength": 1, "maxLength": 500})
    assert unheld == ["$.maxLength"]
