"""Splits text into words as a search compares them: folded, stemmed, and without stop words."""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import chain
from unicodedata import normalize

# Chinese, Japanese and Korean are written without spaces, so every two adjacent characters are a word.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
# sendEmail, HTTPServer: a word begins at a capital after a small letter, or before one.
_ASCII_WORD = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SIGNS = re.compile("[\u00a0-\u00a9\u00ab-\u00b1\u00b6-\u00b8\u00bb\u2010-\u2027\u2190-\u2bff]+")
_SPACED = bytes(at if chr(at).isascii() and chr(at).isalpha() else 32 for at in range(256))
"""A byte table: letters map to themselves, everything else to a space."""
_VOWEL = re.compile("[aeiouy]")

_EMPTY = frozenset(
    word
    for line in (
        "a an and any are as at be been but by can could did do does for from had has have how i if in",
        "into is it its me my of off on or our out please should so some than that the their them then",
        "there these they this those to up us use used using want was we were what when where which",
        "while who whom whose why will with would you your also about all",
    )
    for word in line.split()
)

# Suffixes and their replacements; enough must be left to tell words apart.
_ENDINGS = (
    ("ation", "at"),
    ("ator", "at"),
    ("ition", "it"),
    ("ction", "ct"),
    ("ssion", "ss"),
    ("ment", ""),
    ("er", ""),
    ("or", ""),
    ("al", ""),
    ("ly", ""),
    ("ity", ""),
)
_LEFT = 4
_REMEMBERED = 1 << 15
"""How many runs of letters are cached before the cache is cleared."""


def terms(text: str, *, empty: bool = False) -> list[str]:
    """The words of a text, in order; stop words only if ``empty`` is true."""
    if not text.isascii():
        # Dashes, quotes and arrows are the only non-ASCII characters of most texts, and are no words.
        text = _SIGNS.sub(" ", text)
    if text.isascii():
        # Runs of letters are found by bytes.translate, many times as fast as by a pattern; the words of
        # a run are looked up.
        runs = text.encode().translate(_SPACED).decode().split()
        known = _ALL_TERMS if empty else _TERMS
        return list(chain.from_iterable(map(known.__getitem__, runs)))
    words = _pieces(normalize("NFKC", text))
    if empty:
        return list(map(_any_term, words))
    return [term for term in map(_term, words) if term]


@cache
def _letters() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns for runs of letters, and for unspaced scripts. Slow to compile, and seldom needed."""
    return re.compile(rf"[^\W\d_{_UNSPACED}]+|[{_UNSPACED}]+"), re.compile(f"[{_UNSPACED}]")


def _pieces(text: str) -> Iterator[str]:
    runs, unspaced = _letters()
    for run in runs.findall(text):
        if unspaced.match(run):
            for at in range(max(1, len(run) - 1)):
                yield run[at : at + 2]
        elif run.isascii():
            yield from _ASCII_WORD.findall(run)
        else:
            yield run


@lru_cache(maxsize=1 << 14)
def _any_term(word: str) -> str:
    """The word's stem, even of a stop word."""
    return stem(word.lower())


@lru_cache(maxsize=1 << 15)
def _term(word: str) -> str:
    """The word's stem; empty for a stop word."""
    lower = word.lower()
    is_empty = lower in _EMPTY or (len(lower) == 1 and lower.isascii())
    if is_empty:
        return ""
    return stem(lower)


class _Runs(dict[str, tuple[str, ...]]):
    """A cache of the stems in runs of letters: a dict lookup costs less than any lru_cache."""

    def __init__(self, *, empty: bool) -> None:
        super().__init__()
        self._term = _any_term if empty else _term

    def __missing__(self, run: str) -> tuple[str, ...]:
        if len(self) >= _REMEMBERED:
            self.clear()
        found = tuple([term for term in map(self._term, _ASCII_WORD.findall(run)) if term])
        self[run] = found
        return found


_TERMS = _Runs(empty=False)
_ALL_TERMS = _Runs(empty=True)


def stem(word: str) -> str:
    """The stem of a word: "searches", "searching" and "search" have the same."""
    if len(word) > 4 and word.endswith("ies"):  # noqa: PLR2004 - ties, dies
        word = word[:-3] + "y"
    elif len(word) > 4 and word.endswith("ie"):  # noqa: PLR2004 - movie and movies, but tie
        word = word[:-2] + "y"
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):  # noqa: PLR2004
        word = word[:-1]
    word = _without_ending(word)
    if len(word) > 3 and word.endswith("e"):  # noqa: PLR2004 - one, use
        word = word[:-1]
    for ending, left in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEFT:
            return word.removesuffix(ending) + left
    return word


def _without_ending(word: str) -> str:
    """The word without -ing or -ed, if the rest can be a word."""
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) > 2 and _VOWEL.search(rest):  # noqa: PLR2004 - king, red
            doubled = len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] not in "lsz"  # noqa: PLR2004
            if doubled:
                return rest[:-1]
            return rest
    return word
