"""How many of something a person wants (``3 checked bags``), and how much it must have: over 3 hours."""

import re
from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct

from rightcall.trust.words.describing import NUMBERS, stem
from rightcall.trust.words.kinds import words_of
from rightcall.trust.words.spelling import folded

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


_OVER = "over|above|exceeding|(?:more|longer|greater|heavier|larger) than|at least"
_UNDER = "under|below|(?:less|shorter|fewer|lighter|smaller) than|at most"
_MEASURE = re.compile(
    rf"\b(?:(?P<over>{_OVER})|(?P<under>{_UNDER}))\s+(?P<number>\d[\d,]*(?:\.\d+)?|{'|'.join(NUMBERS[1:])})"
    r"[\s-]+(?P<unit>[^\W\d_]+)"
)
"""For ``folded`` text."""
_UNITS: tuple[dict[str, float], ...] = (
    {"sec": 1, "second": 1, "min": 60, "hour": 3600, "day": 86400, "night": 86400, "week": 604800},
    {"mm": 0.001, "cm": 0.01, "m": 1, "meter": 1, "metre": 1, "km": 1000, "kilometer": 1000},
    {"g": 1, "kg": 1000, "tonne": 1_000_000},
)
"""Units that can be compared, by what they measure."""
_ANY = re.compile(r"\b(?:all|any|every|each|both|whatever|whichever|those|these|anything|everything)\b")
_MEASURED = re.compile(r"(\d[\d,]*(?:\.\d+)?)[\s-]*([^\W\d_]*)")


class Measure(Struct, frozen=True):
    """A quantity that something must have more or less of, to be meant."""

    number: float
    unit: str
    is_over: bool
    is_equal: bool
    """Whether exactly so much will do."""
    is_any: bool
    """Whether everything that fits is meant, and not a single one."""

    def fits(self, held: Mapping[str, Collection[str]]) -> bool | None:
        """Whether one of the values in the fields of a record fits; None if they do not show it."""
        known = [
            each for name, texts in held.items() for text in texts if (each := self._in(name, text))
        ]
        return any(map(self._is_it, known)) if known else None

    def _is_it(self, value: float) -> bool:
        if value == self.number:
            return self.is_equal
        return (value > self.number) == self.is_over

    def _in(self, name: str, text: str) -> float | None:
        """A field's value in this unit: the unit stands in the value, or in the field's name."""
        found = _MEASURED.fullmatch(text.strip().lower())
        if found is None:
            return None
        factor = factor_of(self.unit)
        for unit in (found[2], *words_of(name)):
            other = factor_of(stem(unit))
            if factor and other and factor[0] == other[0]:
                return float(found[1].replace(",", "")) * other[1] / factor[1]
        return None


def factor_of(unit: str) -> tuple[int, float] | None:
    """What a unit measures, and how much of it; None for any other word."""
    return next(((at, units[unit]) for at, units in enumerate(_UNITS) if unit in units), None)


def measures_in(text: str) -> Iterator[Measure]:
    """The quantities by which a text says what it means."""
    text = folded(text)
    for found in _MEASURE.finditer(text):
        said, unit = found["number"], stem(found["unit"])
        number = float(said.replace(",", "")) if said[0].isdigit() else NUMBERS.index(said)
        way = found["over"] or found["under"]
        if factor_of(unit) is not None:
            is_over, is_equal = bool(found["over"]), way.startswith("at")
            yield Measure(number, unit, is_over, is_equal, _ANY.search(text) is not None)
