import pytest

from local.grammar.sample import LarkJudge
from rightcall.local.grammar.printers import print_lark
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


def judge(node, rules=None):
    return LarkJudge(print_lark((rules or GrammarRules()).book(node)))


def test_rules_are_small_and_tokens_are_capitals():
    rules = GrammarRules()
    digits = rules.define("digits", repeat(chars("0123456789"), 1, 3), token=True)
    pair = rules.define("pair", row(digits, word(","), digits))
    assert print_lark(rules.book(choice(pair, word('é"')))) == (
        'start: r_pair | "\\u00e9\\""\n'
        'r_pair: T_DIGITS "," T_DIGITS\n'
        "T_DIGITS: (/[\\x{30}-\\x{39}]/){1,3}\n"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("</x>!", True),
        ("a</x</x>!", True),
        ("a\né</x>!", True),
        ("a</x>b</x>!", False),
        ("a</x>", False),
    ],
)
def test_text_goes_on_until_the_first_time_that_the_mark_comes_up(text, expected):
    assert judge(row(Until("</x>"), word("!"))).accepts(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"), [("</x>", True), ("abc</x>", True), ("cab</x>", False), ("a</x", False)]
)
def test_text_may_have_to_begin_in_some_way(text, expected):
    assert judge(Until("</x>", chars("ab"))).accepts(text) is expected


def test_a_mark_may_be_a_token_of_the_models_own():
    text = print_lark(GrammarRules().book(row(word("<x>"), Until("</x>"), word("!"))))
    named = text.replace('"<x>"', "<[257]>").replace('"</x>"', "<[258]>")
    judge = LarkJudge(named, special=("<x>", "</x>"))
    assert judge.accepts_tokens([257, *b"a<b></", 258, *b"!"])
    assert judge.accepts_tokens([257, 258, *b"!"])
    assert not judge.accepts_tokens([*b"<x>", 258, *b"!"])
    assert not judge.accepts_tokens([257, *b"a!"])


@pytest.mark.parametrize(("text", "expected"), [("aba!", True), ("xaba!", True), ("ababa!", False)])
def test_a_mark_may_begin_within_itself(text, expected):
    assert judge(row(Until("aba"), word("!"))).accepts(text) is expected


@pytest.mark.parametrize(
    ("node", "good", "bad"),
    [
        (choice(word("a"), row()), ["a", ""], ["b"]),
        (row(optional(word("a")), word("b")), ["b", "ab"], ["a", "aab"]),
        (repeat(word("ab"), 2, 3), ["abab", "ababab"], ["ab", "abababab"]),
        (word('/"\\\n\t'), ['/"\\\n\t'], ["/"]),
        (chars("/]^-\\😀"), list("/]^-\\😀"), ["a"]),
    ],
    ids=["empty", "optional", "counted", "escapes", "class"],
)
def test_nodes_mean_what_they_say_to_llguidance(node, good, bad):
    found = judge(node)
    assert [text for text in [*good, *bad] if found.accepts(text)] == good
