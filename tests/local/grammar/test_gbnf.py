import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.local.grammar.printers import print_gbnf
from rightcall.local.grammar.rulebook import (
    GrammarRules,
    Until,
    chars,
    choice,
    optional,
    repeat,
    row,
    word,
)


def printed(node, rules=None):
    return print_gbnf((rules or GrammarRules()).book(node))


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (word('a"\\\n[é😀'), 'root ::= "a\\"\\\\\\n\\x5B\\xE9\\U0001F600"\n'),
        (chars("]^-\\a", (0x4E00, 0x9FFF)), "root ::= [\\x2D\\x5C-\\x5Ea\\u4E00-\\u9FFF]\n"),
        (row(word("a"), word("b"), chars("xy")), 'root ::= "ab" [x-y]\n'),
        (
            choice(word("a"), row(word("b"), choice(word("c"), word("d")))),
            'root ::= "a" | "b" ("c" | "d")\n',
        ),
        (optional(word("ab")), 'root ::= "ab"?\n'),
        (repeat(chars("a"), 2, 5), "root ::= [a]{2,5}\n"),
        (repeat(chars("a"), 3, 3), "root ::= [a]{3}\n"),
        (repeat(row(chars("a"), chars("b")), 1), "root ::= root-x1+\nroot-x1 ::= [a] [b]\n"),
        (choice(word("a"), row()), 'root ::= "a" | ""\n'),
    ],
)
def test_nodes_are_printed_as_llama_cpp_reads_them(node, expected):
    assert printed(node) == expected


def test_text_may_have_to_begin_in_some_way():
    lines = printed(Until("-", chars("ab"))).splitlines()
    assert lines == [
        'root ::= ("\\x2D" | [a-b] until-x1)',
        "until-x1 ::= [\\x01-,.-\\uD7FF\\uE000-\\U0010FFFF] until-x1 | [\\x2D]",
    ]


def test_parts_that_are_the_same_are_printed_once():
    pair = row(chars("a"), chars("b"))
    text = printed(row(repeat(pair, 0, 9), word("-"), repeat(pair, 1, 2)))
    assert text == 'root ::= root-x1{0,9} "\\x2D" root-x1{1,2}\nroot-x1 ::= [a] [b]\n'


@given(mark=st.text(alphabet="ab<", min_size=1, max_size=5), text=st.text(alphabet="ab<c", max_size=12))
def test_text_until_a_mark_is_a_search_that_stops_at_the_first(mark, text):
    rules = dict(line.split(" ::= ") for line in printed(Until(mark)).splitlines())
    assert walks(rules, text) is (text.endswith(mark) and text.find(mark) == len(text) - len(mark))


def walks(rules, text):
    """Whether a text leads through the states of a search to its end."""
    state = rules["root"]
    for letter in text:
        if not state:
            return False
        options = re.findall(r"\[([^\]]*)\](?: (until-x\d+))?", rules[state])
        (state,) = {onward for letters, onward in options if within(letters, letter)}
    return not state


def within(letters, letter):
    spans = re.findall(r"(\\x..|\\u....|\\U.{8}|.)(?:-(\\x..|\\u....|\\U.{8}|.))?", letters)
    codes = [(code(first), code(last or first)) for first, last in spans]
    return any(first <= ord(letter) <= last for first, last in codes)


def code(text):
    return int(f"0x{text[2:]}", 0) if text.startswith("\\") else ord(text)
