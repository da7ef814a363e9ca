import pytest

from rightcall.local.grammar.rulebook import (
    ANY_CHAR,
    EMPTY,
    NOTHING,
    ROOT,
    Chars,
    ChoiceNode,
    GrammarRule,
    GrammarRules,
    Reference,
    Repeat,
    RowNode,
    Rulebook,
    WordNode,
    any_word,
    can_be_empty,
    chars,
    choice,
    in_both,
    nesting,
    optional,
    other_than,
    repeat,
    row,
    size,
    word,
)

A, B = WordNode("a"), WordNode("b")


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (word(""), EMPTY),
        (row(A, row(B, A)), RowNode((A, B, A))),
        (row(A), A),
        (row(A, NOTHING), NOTHING),
        (choice(A, choice(B, A)), ChoiceNode((A, B))),
        (choice(A, NOTHING), A),
        (choice(), NOTHING),
        (repeat(A, 1, 1), A),
        (repeat(A, 0, 0), EMPTY),
        (repeat(A, 3, 2), NOTHING),
        (repeat(NOTHING), EMPTY),
        (repeat(NOTHING, 1), NOTHING),
        (repeat(optional(A)), Repeat(A, 0, None)),
        (optional(NOTHING), EMPTY),
        (chars("b", (97, 97), (99, 100)), Chars(((97, 100),))),
        (chars(), NOTHING),
        (chars((0xD7FE, 0xE001)), Chars(((0xD7FE, 0xD7FF), (0xE000, 0xE001)))),
        (other_than(chars("b"), chars("abc")), Chars(((97, 97), (99, 99)))),
        (in_both(chars("abx"), chars("bcx")), Chars(((98, 98), (120, 120)))),
    ],
)
def test_nodes_are_as_small_as_they_can_be(made, expected):
    assert made == expected


def test_words_share_what_they_begin_with():
    made = any_word(["red", "reed", "blue", "re", ""])
    assert made == ChoiceNode(
        (
            EMPTY,
            WordNode("blue"),
            RowNode((WordNode("re"), ChoiceNode((EMPTY, WordNode("d"), WordNode("ed"))))),
        )
    )


def test_a_rule_that_never_ends_takes_along_what_needs_it():
    rules = GrammarRules()
    name = rules.reserve("loop")
    rules.complete(name, row(A, Reference(name)))
    needs = rules.define("needs", row(B, Reference(name)))
    assert rules.book(needs) == Rulebook(ROOT, {})
    assert rules.book(choice(needs, A)).rules == {ROOT: GrammarRule(A)}
    assert rules.book(row(A, optional(needs))).rules == {ROOT: GrammarRule(A)}


def test_a_rule_that_may_end_stays_and_others_are_left_out():
    rules = GrammarRules()
    name = rules.reserve("list")
    rules.complete(name, row(A, optional(Reference(name))))
    rules.define("unused", B)
    assert list(rules.book(Reference(name)).rules) == [ROOT, "list"]


def test_the_same_node_is_the_same_rule_and_names_do_not_clash():
    rules = GrammarRules()
    assert rules.define("Some Name!", A) == Reference("some-name")
    assert rules.define("other", A) == Reference("some-name")
    assert rules.define("some name", B) == Reference("some-name-2")
    assert rules.define("root", row(A, B)) == Reference("root-2")
    assert rules.define("9", row(B, A)) == Reference("r-9")
    assert rules.define("token", A, token=True) == Reference("token")
    assert rules.define("x", NOTHING) == NOTHING


def test_sizes_count_repetitions_as_written_out():
    assert size(repeat(row(A, B), 0, 1000)) == 3002
    assert size(row(A, choice(A, B))) == 5


def test_nesting_counts_rules_in_a_row():
    rules = GrammarRules()
    node = rules.define("one", row(A, rules.define("two", row(B, rules.define("three", row(A, A))))))
    assert nesting(node, rules.rules) == 3
    name = rules.reserve("loop")
    rules.complete(name, row(A, optional(Reference(name))))
    assert nesting(Reference(name), rules.rules) == 1


def test_what_can_be_empty_is_known():
    assert can_be_empty(row(optional(A), repeat(B)))
    assert not can_be_empty(row(optional(A), B))
    assert not can_be_empty(ANY_CHAR)
