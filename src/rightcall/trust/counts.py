"""How many of something a person wants: ``3 checked bags``, ``one more seat``."""

import re
from collections.abc import Iterator

from rightcall.trust.records import NUMBERS, stem
from rightcall.trust.spelling import folded

_NUMBERS = {word: number for number, word in enumerate(NUMBERS) if number} | {
    "a": 1,
    "an": 1,
    "another": 1,
}
_COUNT = re.compile(
    rf"\b(\d{{1,3}}|{'|'.join(_NUMBERS)})\b((?:[\s-]+(?!(?:and|but|or|to|for|in|on|with)\b)[a-z]+){{1,3}})",
)
"""For ``folded`` text."""
_SHORTEST = 3
"""Letters of the shorter of two words, at least, for them to be forms of one noun: bag, baggage."""


def counts_in(text: str) -> Iterator[tuple[int, frozenset[str]]]:
    """The counts in a text, each with the words that follow: what is counted."""
    for found in _COUNT.finditer(folded(text)):
        said = found[1]
        number = int(said) if said.isdigit() else _NUMBERS[said]
        yield number, frozenset(map(stem, found[2].split()))


def is_same_noun(one: str, other: str) -> bool:
    """Whether two words are forms of the same noun."""
    short, long = sorted((one, other), key=len)
    return len(short) >= _SHORTEST and long.startswith(short)


def is_number(text: str) -> bool:
    """Whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
