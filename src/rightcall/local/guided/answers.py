"""What a small model may answer, as grammars: one of these words, or a sentence that holds a value."""

import re
from collections.abc import Sequence

from rightcall.local.engine import Grammar, Syntax
from rightcall.local.grammar.nodes import (
    ANY_CHAR,
    Node,
    chars,
    choice,
    other_than,
    repeat,
    row,
    word,
)
from rightcall.local.grammar.printers import print_gbnf, print_lark
from rightcall.local.grammar.rulebook import Rules

_NUMBER = re.compile(r"\d[\d.,:/-]*\d|\d")
_DIGITS = chars("0123456789")
_WORDS = other_than(chars("0123456789\n\r\t"), ANY_CHAR)
_LONGEST_LEAD = 80


def one_of(words: Sequence[str], syntax: Syntax) -> Grammar:
    """Exactly one of these words."""
    return _printed(choice(*map(word, words)), syntax)


def sentence_with(value: str, question: str, syntax: Syntax) -> Grammar:
    """A sentence that says the value. No other number is in it, unless the question has it."""
    known = [word(number) for number in dict.fromkeys(_NUMBER.findall(question))]
    lead = repeat(choice(_WORDS, *known), 0, _LONGEST_LEAD)
    ends = value.endswith((".", "!", "?"))
    close = repeat(chars((ord("a"), ord("z")), " "), 0, 24)
    return _printed(row(lead, word(value), *(() if ends else (close, word(".")))), syntax)


def _printed(root: Node, syntax: Syntax) -> Grammar:
    book = Rules().book(root)
    text = print_gbnf(book) if syntax == "gbnf" else print_lark(book)
    return Grammar(syntax=syntax, text=text)
