"""Patterns that are searched for only in texts that may have them.

A pattern without regard to case is tried at every letter. Whether a text contains a word at all is known
a hundred times faster, and most sentences have none of the words that a rule is about.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from rightcall.trust.words.spelling import folded

_SHORT = 1000
"""Limit of a text that is cached, in characters."""
# One sentence is searched for many patterns in a row.
_folded = lru_cache(8)(folded)


class Hinted:
    """A pattern without regard to case. Every match contains one of the hints, as in ``"if|unless"``."""

    def __init__(self, pattern: str, hints: str, flags: int = 0) -> None:
        self.pattern = re.compile(pattern, re.IGNORECASE | flags)
        self._hints = hints.split("|")

    def _may_be_in(self, text: str) -> bool:
        """Whether one of the hints is in a text."""
        low = _folded(text) if len(text) <= _SHORT else folded(text)
        return any(map(low.__contains__, self._hints))

    def search(self, text: str) -> re.Match[str] | None:
        """The first match."""
        return self.pattern.search(text) if self._may_be_in(text) else None

    def finditer(self, text: str) -> Iterable[re.Match[str]]:
        """Every match."""
        return self.pattern.finditer(text) if self._may_be_in(text) else ()

    def sub(self, by: str, text: str) -> str:
        """The text with each match replaced."""
        return self.pattern.sub(by, text) if self._may_be_in(text) else text
