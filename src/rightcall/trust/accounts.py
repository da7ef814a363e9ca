"""Finds numbers that could be paid into: accounts, cards and wallets."""

import re
from collections.abc import Iterator

from rightcall.trust.characters import plain
from rightcall.trust.spelling import GAPS, GROUPED, blocks

_DIGIT = re.compile(r"\d")
_SHORTEST = 12
"""Digits: a telephone number has fewer, a card and most accounts have more."""
_CALLED = re.compile(
    r"\b(?:accounts?|acct|a/c|sort code|routing|bsb|konto(?:nummer|nr)?|compte|cuenta|conto|rekening)\b"
    r"[\s:#.,]{0,4}(?:(?:no|nr|number|is|to|n\u00b0)\b[\s:#.]{0,4}){0,2}(\d(?:[ -]?\d){5,16})(?![\d-])",
    re.IGNORECASE,
)
"""A shorter number, with what it is the number of before it."""
_WALLET = re.compile(
    r"(?<!\w)(?:(?i:bc1[a-z0-9]{25,87}|0x[0-9a-f]{40})"
    r"|(?=\w*[A-Z])(?=\w*[a-z])[13][1-9A-HJ-NP-Za-km-z]{25,34})(?!\w)"
)
"""Where a currency goes that no bank keeps."""


def accounts(text: str) -> Iterator[str]:
    """Numbers in a text that could be paid into: accounts and cards, as they are written."""
    told = plain(text)
    if _DIGIT.search(told) is None:
        return
    for block in blocks(told):
        for found in GROUPED.finditer(block):
            if found[0][:2].isalpha() or len(GAPS.sub("", found[0])) >= _SHORTEST:
                yield found[0]
        for found in _CALLED.finditer(block):
            yield found[1]
    for block in blocks(text):
        for found in _WALLET.finditer(block):
            yield found[0]
