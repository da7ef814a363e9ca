"""Make nodes that admit the numbers within an interval, digit by digit.

Every number that is admitted ends after so many digits: a model that has begun to write digits would not
always stop by itself.
"""

from decimal import Decimal

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

LARGEST_INTEGER = 10**18 - 1
"""Unless a schema's own bounds go further; all of these are exact in 64 bits."""
LARGEST_BOUND = 2**63
"""Integer bounds beyond it are not held: readers differ about such numbers."""

_WHOLE_DIGITS = 9
_FRACTION_DIGITS = 6
"""Together 15: so many digits are always told apart by a float, so that rounding crosses no bound."""
_MOST_LISTED = 128
_DIGIT = chars("0123456789")


class Interval(Struct, frozen=True):
    """Between what and what, each end included or not; None for no end."""

    low: Decimal | None
    high: Decimal | None
    above: bool
    """Whether ``low`` itself is left out."""
    below: bool
    """Whether ``high`` itself is left out."""

    @property
    def are_open(self) -> bool:
        """Whether there are none."""
        return self.low is None and self.high is None


def integer(bounds: Interval, multiple: int = 1) -> Node | None:
    """The integers within bounds that are multiples; None when that cannot be said."""
    low, high = _whole(bounds)
    if max(abs(low or 0), abs(high or 0)) > LARGEST_BOUND:
        return None
    if multiple == 1:
        return _integers(low, high)
    if low is None or high is None:
        return None
    first = -(-low // multiple)
    last = high // multiple
    if last - first >= _MOST_LISTED:
        return None
    return choice(*[word(str(number * multiple)) for number in range(first, last + 1)])


def number(bounds: Interval) -> Node | None:
    """The numbers within bounds; None when that cannot be said."""
    if bounds.are_open:
        exponent = row(chars("eE"), optional(chars("+-")), repeat(_DIGIT, 1, 2))
        fraction = row(word("."), repeat(_DIGIT, 1, 16))
        whole = choice(word("0"), row(chars("123456789"), repeat(_DIGIT, 0, 15)))
        return row(optional(word("-")), whole, optional(fraction), optional(exponent))
    limit = Decimal(10) ** _WHOLE_DIGITS
    low, high = bounds.low, bounds.high
    above, below = bounds.above, bounds.below
    if low is None or low <= -limit:
        low, above = -limit, True
    if high is None or high >= limit:
        high, below = limit, True
    if low >= limit or high <= -limit or not (_short(low) and _short(high)):
        return None
    if low > high:
        return NOTHING
    positive = _between(max(low, Decimal(0)), high, above=above and low >= 0, below=below)
    # Zero is written without a sign, so the mirrored half leaves it out.
    negative = _between(max(-high, Decimal(0)), -low, above=below or high >= 0, below=above)
    return choice(positive if high >= 0 else NOTHING, row(word("-"), negative) if low < 0 else NOTHING)


def _short(value: Decimal) -> bool:
    """Whether a bound has no more digits than the numbers held to it."""
    return value == value.quantize(Decimal(1).scaleb(-_FRACTION_DIGITS))


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
    if low is None:
        low = min(-LARGEST_INTEGER, high if high is not None else 0)
    if high is None:
        high = max(LARGEST_INTEGER, low)
    if low > high:
        return NOTHING
    negative = row(word("-"), _naturals(max(1, -high), -low)) if low < 0 else NOTHING
    return choice(_naturals(max(low, 0), high) if high >= 0 else NOTHING, negative)


def _naturals(low: int, high: int) -> Node:
    """The natural numbers from one to the other, without leading zeros."""
    options: list[Node] = []
    full: list[int] = []
    for length in range(len(str(low)), len(str(high)) + 1):
        first = 10 ** (length - 1) if length > 1 else 0
        last = 10**length - 1
        if low <= max(first, 1) and last <= high:
            full.append(length - 1)
        else:
            options.append(_digits(str(max(first, low)), str(min(last, high))))
    if full:
        options.append(row(_span(1, 9), repeat(_DIGIT, full[0], full[-1])))
        options += [word("0")] if low == 0 else []
    return choice(*options)


def _digits(low: str, high: str) -> Node:
    """The texts of digits from one to the other, all as long as they are."""
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


def _between(low: Decimal, high: Decimal, *, above: bool, below: bool) -> Node:
    """Numbers without a sign, with a fraction or without, from one to the other."""
    if low > high or (low == high and (above or below)):
        return NOTHING
    first, last = int(low), int(high)
    least, most = _fraction_of(low), _fraction_of(high)
    if first == last:
        return row(word(str(first)), _fraction(least, most, above=above, below=below))
    options = [row(word(str(first)), _fraction(least, None, above=above, below=False))]
    if last - first > 1:
        options.append(
            row(_naturals(first + 1, last - 1), _fraction("", None, above=False, below=False))
        )
    options.append(row(word(str(last)), _fraction("", most, above=False, below=below)))
    return choice(*options)


def _fraction(low: str, high: str | None, *, above: bool, below: bool) -> Node:
    """What may follow a whole number: nothing, or a point and digits. No ``high``: there is no end."""
    none_written = EMPTY if _includes_zero(low, high, above=above, below=below) else NOTHING
    written = _after_point(low, high, _FRACTION_DIGITS, above=above, below=below)
    return choice(none_written, row(word("."), written))


def _after_point(low: str, high: str | None, room: int, *, above: bool, below: bool) -> Node:
    """One digit or more. Digits that are not written are zeros, in the bounds as in the number."""
    if room == 0:
        return NOTHING
    if not low and not above and high is None:
        return repeat(_DIGIT, 1, room)
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
    """Whether a fraction of zero lies between two others, given without zeros at their ends."""
    return not low and not above and (high is None or bool(high) or not below)


def _fraction_of(value: Decimal) -> str:
    return f"{value:f}".partition(".")[2].rstrip("0")


def _span(first: int, last: int) -> Node:
    return chars((ord("0") + first, ord("0") + last))
