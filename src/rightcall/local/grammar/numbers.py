"""Builds nodes that match the numbers within an interval, digit by digit.

The number of digits is limited: a model that has begun to write digits does not always stop by itself.
The limit is far above the digits of any meaningful number.
"""

from decimal import Context, Decimal
from functools import lru_cache
from math import gcd

from msgspec import Struct

from rightcall.local.grammar.nodes import (
    EMPTY,
    NOTHING,
    Node,
    chars,
    choice,
    optional,
    repeat,
    row,
    word,
)

MOST_DIGITS = 100
"""The most digits before the decimal point."""
MOST_PLACES = 32
"""The most digits after the decimal point."""
LARGEST_BOUND = 2**63
"""Integer bounds beyond it are not enforced: readers differ about such numbers."""
_LONGEST_BOUND = 20
"""The most digits of another number's bound, before and after the decimal point."""
_MOST_LISTED = 128
_MOST_ENDING = 3
"""The most last digits by which a multiple is recognised."""
_DIGIT = chars("0123456789")
_ROOM = Context(prec=4 * _LONGEST_BOUND)


class Interval(Struct, frozen=True):
    """Bounds, each inclusive or exclusive; None for unbounded."""

    low: Decimal | None
    high: Decimal | None
    above: bool
    """Whether ``low`` itself is excluded."""
    below: bool
    """Whether ``high`` itself is excluded."""

    @property
    def are_open(self) -> bool:
        """Whether the interval is empty."""
        return self.low is None and self.high is None


@lru_cache(maxsize=256)
def integer(bounds: Interval, multiple: int = 1) -> Node | None:
    """The integers within bounds that are multiples; None if that cannot be expressed."""
    low, high = _whole(bounds)
    if max(abs(low or 0), abs(high or 0)) > LARGEST_BOUND:
        return None
    if multiple == 1:
        return _integers(low, high)
    positive: Node | None = NOTHING
    negative: Node | None = NOTHING
    if high is None or high >= 0:
        positive = _multiples(max(low or 0, 0), high, multiple)
    if low is None or low < 0:
        least = max(1, -high) if high is not None else 1
        negative = _multiples(least, -low if low is not None else None, multiple)
    if positive is None or negative is None:
        return None
    return choice(positive, row(word("-"), negative))


def _multiples(low: int, high: int | None, multiple: int) -> Node | None:
    """The multiples from one natural number to another; None when that cannot be said."""
    if high is None:
        return _by_ending(low, multiple)
    found = range(-(-low // multiple) * multiple, high + 1, multiple)
    return choice(*[word(str(each)) for each in found]) if len(found) <= _MOST_LISTED else None


def told_by_ending(multiple: int) -> int:
    """The largest factor that can be told by last digits: 4 of 12, and 1 of 7."""
    return gcd(multiple, 10**_MOST_ENDING)


def _by_ending(low: int, multiple: int) -> Node | None:
    """The multiples that are told by their last digits, as those of 5 and 100 are; None for others."""
    digits = next((each for each in range(1, _MOST_ENDING + 1) if 10**each % multiple == 0), None)
    if digits is None or 10**digits // multiple > _MOST_LISTED or low > 10**digits:
        return None
    every = range(0, 10**digits, multiple)
    short = [each for each in every if each >= low]
    endings = choice(*[word(str(each).zfill(digits)) for each in every])
    more = row(chars("123456789"), repeat(_DIGIT, 0, MOST_DIGITS - digits - 1), endings)
    return choice(*[word(str(each)) for each in short], more)


@lru_cache(maxsize=256)
def number(bounds: Interval, places: int = MOST_PLACES) -> Node | None:
    """The numbers within bounds, with that many decimal places; None if that cannot be expressed."""
    fraction = optional(row(word("."), repeat(_DIGIT, 1, places)))
    if bounds.are_open and places == MOST_PLACES:
        exponent = row(chars("eE"), optional(chars("+-")), repeat(_DIGIT, 1, 2))
        return row(optional(word("-")), _naturals(0, None), fraction, optional(exponent))
    low, high = bounds.low, bounds.high
    if not all(_is_short(each) for each in (low, high) if each is not None):
        return None
    if low is not None and high is not None and low > high:
        return NOTHING
    positive: Node = NOTHING
    negative: Node = NOTHING
    if high is None or high >= 0:
        least = low if low is not None and low >= 0 else None
        above = bounds.above and least is not None
        positive = _between(least or Decimal(0), high, places, above=above, below=bounds.below)
    if low is None or low < 0:
        # Zero is written without a sign, so the mirrored half excludes it.
        least = -high if high is not None and high < 0 else Decimal(0)
        above = bounds.below or least == 0
        most = -low if low is not None else None
        negative = _between(least, most, places, above=above, below=bounds.above)
    return choice(positive, row(word("-"), negative))


def _is_short(value: Decimal) -> bool:
    """Whether a bound has few enough digits to be followed one by one."""
    if abs(value) >= Decimal(10) ** _LONGEST_BOUND:
        return False
    return value == value.quantize(Decimal(1).scaleb(-_LONGEST_BOUND), context=_ROOM)


def _whole(bounds: Interval) -> tuple[int | None, int | None]:
    """The first and the last integer."""
    low = high = None
    if bounds.low is not None:
        low = int(bounds.low.to_integral_value("ROUND_CEILING"))
        low += bounds.above and low == bounds.low
    if bounds.high is not None:
        high = int(bounds.high.to_integral_value("ROUND_FLOOR"))
        high -= bounds.below and high == bounds.high
    return low, high


def _integers(low: int | None, high: int | None) -> Node:
    if low is not None and high is not None and low > high:
        return NOTHING
    positive: Node = NOTHING
    negative: Node = NOTHING
    if high is None or high >= 0:
        positive = _naturals(max(low or 0, 0), high)
    if low is None or low < 0:
        least = max(1, -high) if high is not None else 1
        negative = row(word("-"), _naturals(least, -low if low is not None else None))
    return choice(positive, negative)


def _naturals(low: int, high: int | None) -> Node:
    """The natural numbers within bounds, without leading zeros."""
    options: list[Node] = []
    full: list[int] = []
    # From some length on, all numbers of a length are within the bounds.
    lengths = len(str(low)) + 1 if high is None else len(str(high))
    for length in range(len(str(low)), lengths + 1):
        first = 10 ** (length - 1) if length > 1 else 0
        last = 10**length - 1
        if low <= max(first, 1) and (high is None or last <= high):
            full.append(length - 1)
        else:
            most = last if high is None else min(last, high)
            options.append(_digits(str(max(first, low)), str(most)))
    if full:
        longest = full[-1] if high is not None else MOST_DIGITS - 1
        options.append(row(_span(1, 9), repeat(_DIGIT, full[0], longest)))
        options += [word("0")] if low == 0 else []
    return choice(*options)


def _digits(low: str, high: str) -> Node:
    """The digit strings within bounds, all of the same length."""
    if not low:
        return EMPTY
    if set(low) == {"0"} and set(high) == {"9"}:
        return repeat(_DIGIT, len(low), len(low))
    rest = len(low) - 1
    if low[0] == high[0]:
        return row(word(low[0]), _digits(low[1:], high[1:]))
    first, last = int(low[0]), int(high[0])
    options: list[Node] = []
    if set(low[1:]) - {"0"}:
        options.append(row(word(low[0]), _digits(low[1:], "9" * rest)))
        first += 1
    top: Node = NOTHING
    if set(high[1:]) - {"9"}:
        top = row(word(high[0]), _digits("0" * rest, high[1:]))
        last -= 1
    if first <= last:
        options.append(row(_span(first, last), repeat(_DIGIT, rest, rest)))
    return choice(*options, top)


def _between(low: Decimal, high: Decimal | None, places: int, *, above: bool, below: bool) -> Node:
    """Unsigned numbers within bounds, with or without a fraction."""
    if high is not None and (low > high or (low == high and (above or below))):
        return NOTHING
    first, last = int(low), int(high) if high is not None else None
    least, most = _fraction_of(low), _fraction_of(high) if high is not None else None
    if first == last:
        return row(word(str(first)), _fraction(least, most, places, above=above, below=below))
    options = [row(word(str(first)), _fraction(least, None, places, above=above, below=False))]
    if last is None or last - first > 1:
        whole = _naturals(first + 1, last - 1 if last is not None else None)
        options.append(row(whole, _fraction("", None, places, above=False, below=False)))
    if last is not None:
        options.append(row(word(str(last)), _fraction("", most, places, above=False, below=below)))
    return choice(*options)


def _fraction(low: str, high: str | None, places: int, *, above: bool, below: bool) -> Node:
    """What may follow a whole number: nothing, or a point and digits. No ``high``: unbounded."""
    none_written = EMPTY if _includes_zero(low, high, above=above, below=below) else NOTHING
    written = _after_point(low, high, places, above=above, below=below)
    return choice(none_written, row(word("."), written))


def _after_point(low: str, high: str | None, room: int, *, above: bool, below: bool) -> Node:
    """One digit or more. Missing digits are zeros, in the bounds as in the number."""
    if room == 0:
        return NOTHING
    if not low and not above and high is None:
        return repeat(_DIGIT, 1, room)
    if high == "":
        return NOTHING if low or above or below else repeat(word("0"), 1, room)
    if not low and high is None:
        return row(repeat(word("0"), 0, room - 1), _span(1, 9), repeat(_DIGIT, 0, room - 1))
    least = int(low[:1] or 0)
    most = 9 if high is None else int(high[:1] or 0)
    options: list[Node] = []
    free = list(range(least + 1, most))
    if high is None and least < most:
        free.append(most)
    if free:
        options.append(row(_span(free[0], free[-1]), repeat(_DIGIT, 0, room - 1)))
    edges = {least: (low[1:], high[1:] if high is not None and most == least else None)}
    if high is not None:
        edges[most] = (low[1:] if most == least else "", high[1:])
    for digit, (lower, upper) in edges.items():
        if digit > most:
            continue
        is_low, is_high = digit == least, high is not None and digit == most
        over, under = above and is_low, below and is_high
        ends = EMPTY if _includes_zero(lower, upper, above=over, below=under) else NOTHING
        onward = _after_point(lower, upper, room - 1, above=over, below=under)
        options.append(row(word(str(digit)), choice(ends, onward)))
    return choice(*options)


def _includes_zero(low: str, high: str | None, *, above: bool, below: bool) -> bool:
    """Whether a fraction of zero is between two others, given without trailing zeros."""
    return not low and not above and (high is None or bool(high) or not below)


def _fraction_of(value: Decimal) -> str:
    return f"{value:f}".partition(".")[2].rstrip("0")


def _span(first: int, last: int) -> Node:
    return chars((ord("0") + first, ord("0") + last))
