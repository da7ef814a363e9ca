"""A pattern with hints finds what it would find without, and a quick scan what a whole one would."""

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.trust.asked import compared, lacking, requests, superlatives
from rightcall.trust.words import shifts, spelling
from rightcall.trust.words.hinted import Hinted


def _patterns() -> dict[str, Hinted]:
    found = {
        f"{module.__name__.rpartition('.')[2]}.{name}": each
        for module in (compared, lacking, requests, shifts, superlatives)
        for name, each in vars(module).items()
        if isinstance(each, Hinted)
    }
    found |= {f"lacking.{at}": each for at, each in enumerate(lacking._CONDITIONS)}
    return found | {f"superlatives.{at}": each for at, (each, _) in enumerate(superlatives._RANKS)}


PATTERNS = _patterns()
TEXTS = sorted(
    {
        node.value
        for path in Path(__file__).parent.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
)
"""Every text of the tests of the rules."""
TEXTS += [
    "Take the one with the memory in it maximised, or with its weight minimized.",
    "Before the refund policy and the return window change, look up the order status.",
    "If the price is over $50, cancel it; if the cost is more than 1,200.50, wait.",
]


@pytest.mark.parametrize("name", PATTERNS)
def test_every_match_contains_a_hint(name: str):
    pattern, found = PATTERNS[name], 0
    for text in (form for each in TEXTS for form in (each, each.upper())):
        whole = [match.span() for match in pattern.pattern.finditer(text)]
        assert [match.span() for match in pattern.finditer(text)] == whole
        assert (pattern.search(text) is not None) == bool(whole)
        assert pattern.sub("-", text) == pattern.pattern.sub("-", text)
        found += len(whole)
    assert found, "no text of the tests has a match"


def test_every_comparison_contains_a_degree_or_a_stem():
    texts = [spelling.folded(each) for each in TEXTS]
    assert [each for each in texts if compared._COMPARED.search(each)] == [
        each for each in texts if compared._COMPARED.search(each) and compared._may_compare(each)
    ]


WORDS = st.sampled_from(
    [
        *(
            "Pay",
            "the",
            "invoice",
            "No.",
            "17",
            "1,000.00",
            "x-1",
            "a_b",
            "_c",
            "d-",
            "-e",
            "e.g.",
            "end.",
        ),
        *(
            "May",
            "5",
            "5th",
            "of",
            "June",
            "2024-03-01",
            "mar",
            "12:30",
            "(see",
            "below)",
            '"so"',
            "it's",
        ),
        *(
            "a@b.example",
            "b.example/C",
            "//x",
            "~/y",
            "C:\\z",
            "wait...",
            "*",
            "5%",
            "caf\u00e9",
            "\u6771",
            "x;y",
        ),
    ]
)


@given(st.lists(WORDS, max_size=8), st.sampled_from([" ", "  ", "\n", "\x1c"]))
def test_words_are_read_without_the_pattern_as_they_are_with_it(words: list[str], between: str):
    text = spelling.plain(between.join(words))
    whole = [spelling._read_token(found) for found in spelling._token().finditer(text)]
    assert list(spelling._scan(text)) == whole
