"""Grammars on the tokens of a small vocabulary of bytes, with special tokens."""

import json

import pytest

from rightcall.errors import UsageError
from rightcall.local.engine import Grammar
from rightcall.local.engines.huggingface import Constraint

llguidance = pytest.importorskip("llguidance", reason="llguidance is not installed")

LETTERS = [chr(code) for code in range(33, 127)]
PAIR, END, CALL = range(len(LETTERS), len(LETTERS) + 3)
"""A token that is two letters, and two special ones."""


def vocabulary():
    special = [
        {"id": number, "content": text, "special": True, "single_word": False, "lstrip": False}
        | {"rstrip": False, "normalized": False}
        for number, text in ((END, "<|end|>"), (CALL, "<call>"))
    ]
    letters = {letter: number for number, letter in enumerate(LETTERS)} | {"x<": PAIR}
    byte_level = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": False,
    }
    return llguidance.LLTokenizer(
        json.dumps(
            {
                "version": "1.0",
                "added_tokens": special,
                "normalizer": None,
                "pre_tokenizer": byte_level,
                "post_processor": None,
                "decoder": byte_level,
                "model": {"type": "BPE", "vocab": letters, "merges": [["x", "<"]]},
            }
        ),
        eos_token=END,
    )


@pytest.fixture(scope="module")
def tokenizer():
    return vocabulary()


def number(letter):
    return LETTERS.index(letter)


def allowed(constraint):
    """The tokens that may come next, by their texts; None for any."""
    mask = constraint.mask()
    if mask is None:
        return None
    names = [*LETTERS, "x<", "<|end|>", "<call>"]
    return {name for at, name in enumerate(names) if mask[at // 8] >> at % 8 & 1}


def write(constraint, *letters):
    for letter in letters:
        constraint.accept_token(number(letter), letter)


def test_a_grammar_says_what_may_come_until_the_end(tokenizer):
    constraint = Constraint(tokenizer, Grammar(syntax="lark", text='start: "a" /[0-2]/'), {})
    seen = [allowed(constraint)]
    for letter in "a1":
        write(constraint, letter)
        seen.append(allowed(constraint))
    assert seen == [{"a"}, {"0", "1", "2"}, {"<|end|>"}]


def test_before_its_trigger_a_lazy_grammar_says_nothing(tokenizer):
    lazy = Grammar(syntax="lark", text='start: "go" "!"', triggers=("go",))
    constraint = Constraint(tokenizer, lazy, {})
    write(constraint, *"ago"[:2])
    assert allowed(constraint) is None
    write(constraint, "o")
    assert allowed(constraint) == {"!"}


def test_a_trigger_may_begin_within_a_token(tokenizer):
    lazy = Grammar(syntax="lark", text='start: "<a" /[0-1]/', triggers=("<a",))
    constraint = Constraint(tokenizer, lazy, {})
    write(constraint, *"some_text_that_is_long")
    constraint.accept_token(PAIR, "x<")
    assert allowed(constraint) is None
    write(constraint, "a")
    assert allowed(constraint) == {"0", "1"}


def test_a_trigger_may_be_a_special_token(tokenizer):
    lazy = Grammar(syntax="lark", text='start: "<call>" "1"', triggers=("<call>",), special=("<call>",))
    constraint = Constraint(tokenizer, lazy, {"<call>": CALL})
    constraint.accept_token(CALL, "<call>")
    assert allowed(constraint) == {"1"}


@pytest.mark.parametrize(
    ("special", "expected"),
    [({}, {"<", "n"}), ({"<call>": CALL}, {"<call>", "n"})],
    ids=["text", "token"],
)
def test_a_marker_is_the_token_that_it_is_said_to_be(tokenizer, special, expected):
    grammar = Grammar(syntax="lark", text='start: "<call>" | "no"')
    assert allowed(Constraint(tokenizer, grammar, special)) == expected


@pytest.mark.parametrize(
    "grammar",
    [Grammar(syntax="gbnf", text="root ::= x"), Grammar(syntax="lark", text="start: missing")],
    ids=["another language", "broken"],
)
def test_a_grammar_that_cannot_be_used_is_refused(tokenizer, grammar):
    with pytest.raises(UsageError, match="grammar"):
        Constraint(tokenizer, grammar, {})
