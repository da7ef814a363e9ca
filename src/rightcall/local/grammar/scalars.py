"""Compiles the keywords of strings, numbers and enumerations to nodes, and lists those not enforced.

The number of digits is limited: a model that has begun to write digits does not always stop by itself.
The limit is far above the digits of any meaningful number.

Formats are regular expressions by JSON Schema's name. Each accepts everything that its standard does.
Those of ``WIDER`` accept more, since the whole rule would make a grammar too large. A format that is
not here is not enforced.
"""

from collections.abc import Mapping, Sequence
from decimal import Context, Decimal
from functools import lru_cache
from math import gcd
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.jsontext import JsonValue, dump
from rightcall.core.schema import Schema
from rightcall.local.grammar.flat_schema import as_types
from rightcall.local.grammar.notation import Notation
from rightcall.local.grammar.regex import Inexpressible, PatternNode, matching, of_length
from rightcall.local.grammar.rulebook import (
    EMPTY,
    MOST_REPEATS,
    NOTHING,
    Node,
    OtherNameNode,
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
    if low is not None and high is not None and low > high:
        return NOTHING
    positive: Node | None = NOTHING
    negative: Node | None = NOTHING
    if high is None or high >= 0:
        positive = _multiples(max(low or 0, 0), high, multiple)
    if low is None or low < 0:
        # The mirrored half.
        least = 1
        most = None
        if high is not None:
            least = max(1, -high)
        if low is not None:
            most = -low
        negative = _multiples(least, most, multiple)
    if positive is None or negative is None:
        return None
    return choice(positive, row(word("-"), negative))


def _multiples(low: int, high: int | None, multiple: int) -> Node | None:
    """The multiples from one natural number to another; None when that cannot be said."""
    if multiple == 1:
        return _naturals(low, high)
    if high is not None:
        listed = range(-(-low // multiple) * multiple, high + 1, multiple)
        if len(listed) <= _MOST_LISTED:
            return choice(*[word(str(each)) for each in listed])
        return None
    # Those of 5 or 100 are recognised by their last digits.
    digits = 1
    while 10**digits % multiple:
        digits += 1
        if digits > _MOST_ENDING:
            return None
    if 10**digits // multiple > _MOST_LISTED or low > 10**digits:
        return None
    short: list[Node] = []
    endings: list[Node] = []
    for each in range(0, 10**digits, multiple):
        endings.append(word(str(each).zfill(digits)))
        if each >= low:
            short.append(word(str(each)))
    leading = row(chars("123456789"), repeat(_DIGIT, 0, MOST_DIGITS - digits - 1))
    return choice(*short, row(leading, choice(*endings)))


@lru_cache(maxsize=256)
def number(bounds: Interval, places: int = MOST_PLACES) -> Node | None:
    """The numbers within bounds, with that many decimal places; None if that cannot be expressed."""
    fraction = optional(row(word("."), repeat(_DIGIT, 1, places)))
    if bounds.are_open and places == MOST_PLACES:
        exponent = row(chars("eE"), optional(chars("+-")), repeat(_DIGIT, 1, 2))
        return row(optional(word("-")), _naturals(0, None), fraction, optional(exponent))
    low = bounds.low
    high = bounds.high
    for bound in (low, high):
        if bound is not None and not _is_short(bound):
            return None
    if low is not None and high is not None and low > high:
        return NOTHING
    positive: Node = NOTHING
    negative: Node = NOTHING
    if high is None or high >= 0:
        least = Decimal(0)
        above = False
        if low is not None and low >= 0:
            least = low
            above = bounds.above
        positive = _between(least, high, places, above=above, below=bounds.below)
    if low is None or low < 0:
        # The mirrored half excludes zero, which is written without a sign.
        least = Decimal(0)
        above = True
        if high is not None and high < 0:
            least = -high
            above = bounds.below
        most = None
        if low is not None:
            most = -low
        negative = _between(least, most, places, above=above, below=bounds.above)
    return choice(positive, row(word("-"), negative))


def _is_short(value: Decimal) -> bool:
    """Whether a bound has few enough digits to be followed one by one."""
    if abs(value) >= Decimal(10) ** _LONGEST_BOUND:
        return False
    return value == value.quantize(Decimal(1).scaleb(-_LONGEST_BOUND), context=_ROOM)


def _whole(bounds: Interval) -> tuple[int | None, int | None]:
    """The first and the last integer."""
    low = None
    high = None
    if bounds.low is not None:
        low = int(bounds.low.to_integral_value("ROUND_CEILING"))
        low += bounds.above and low == bounds.low
    if bounds.high is not None:
        high = int(bounds.high.to_integral_value("ROUND_FLOOR"))
        high -= bounds.below and high == bounds.high
    return low, high


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
            continue
        if high is not None:
            last = min(last, high)
        options.append(_digits(str(max(first, low)), str(last)))
    if full:
        longest = MOST_DIGITS - 1
        if high is not None:
            longest = full[-1]
        options.append(row(_span(1, 9), repeat(_DIGIT, full[0], longest)))
        if low == 0:
            options.append(word("0"))
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
    first = int(low[0])
    last = int(high[0])
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
    first = int(low)
    least = _fraction_of(low)
    lowest = row(word(str(first)), _fraction(least, None, places, above=above, below=False))
    any_fraction = _fraction("", None, places, above=False, below=False)
    if high is None:
        return choice(lowest, row(_naturals(first + 1, None), any_fraction))
    last = int(high)
    most = _fraction_of(high)
    if first == last:
        return row(word(str(first)), _fraction(least, most, places, above=above, below=below))
    options = [lowest]
    if last - first > 1:
        options.append(row(_naturals(first + 1, last - 1), any_fraction))
    options.append(row(word(str(last)), _fraction("", most, places, above=False, below=below)))
    return choice(*options)


def _fraction(low: str, high: str | None, places: int, *, above: bool, below: bool) -> Node:
    """What may follow a whole number: nothing, or a point and digits. No ``high``: unbounded."""
    written = row(word("."), _after_point(low, high, places, above=above, below=below))
    if _includes_zero(low, high, above=above, below=below):
        return choice(EMPTY, written)
    return written


def _after_point(low: str, high: str | None, room: int, *, above: bool, below: bool) -> Node:
    """One digit or more. Missing digits are zeros, in the bounds as in the number."""
    if room == 0:
        return NOTHING
    if not low and not above and high is None:
        return repeat(_DIGIT, 1, room)
    if high == "":
        if low or above or below:
            return NOTHING
        return repeat(word("0"), 1, room)
    if not low and high is None:
        return row(repeat(word("0"), 0, room - 1), _span(1, 9), repeat(_DIGIT, 0, room - 1))
    least = int(low[:1] or 0)
    # The first digit that is bounded from above; without a bound there is none.
    most = 10
    if high is not None:
        most = int(high[:1] or 0)
    options: list[Node] = []
    if least + 1 < most:
        options.append(row(_span(least + 1, most - 1), repeat(_DIGIT, 0, room - 1)))
    for digit in dict.fromkeys((least, most)):
        if digit > min(most, 9):
            continue
        is_low = digit == least
        is_high = digit == most
        lower = low[1:] if is_low else ""
        upper = high[1:] if high is not None and is_high else None
        over = above and is_low
        under = below and is_high
        onward = _after_point(lower, upper, room - 1, above=over, below=under)
        if _includes_zero(lower, upper, above=over, below=under):
            onward = choice(EMPTY, onward)
        options.append(row(word(str(digit)), onward))
    return choice(*options)


def _includes_zero(low: str, high: str | None, *, above: bool, below: bool) -> bool:
    """Whether a fraction of zero is between two others, given without trailing zeros."""
    return not low and not above and (high is None or bool(high) or not below)


def _fraction_of(value: Decimal) -> str:
    return f"{value:f}".partition(".")[2].rstrip("0")


def _span(first: int, last: int) -> Node:
    return chars((ord("0") + first, ord("0") + last))


_LEAP = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)"
_LONG = "[0-9]{4}-(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])"
_SHORT = "[0-9]{4}-(0[469]|11)-(0[1-9]|[12][0-9]|30)"
_FEBRUARY = f"[0-9]{{4}}-02-(0[1-9]|1[0-9]|2[0-8])|{_LEAP}-02-29"
_DATE = f"({_LONG}|{_SHORT}|{_FEBRUARY})"
_CLOCK = "([01][0-9]|2[0-3]):[0-5][0-9]"
# The sixtieth second is a leap second, which occurs at one UTC moment.
_TIME = f"{_CLOCK}:([0-5][0-9]|60)(\\.[0-9]+)?([Zz]|[+-]{_CLOCK})"
_SECONDS = "[0-9]+S"
_MINUTES = f"[0-9]+M({_SECONDS})?"
_HOURS = f"[0-9]+H({_MINUTES})?"
_CLOCK_SPAN = f"T({_HOURS}|{_MINUTES}|{_SECONDS})"
_DAYS = "[0-9]+D"
_MONTHS = f"[0-9]+M({_DAYS})?"
_YEARS = f"[0-9]+Y({_MONTHS})?"
_HEX = "[0-9A-Fa-f]"
_BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4 = f"{_BYTE}\\.{_BYTE}\\.{_BYTE}\\.{_BYTE}"
_GROUP = f"{_HEX}{{1,4}}"
_LAST_TWO = f"({_GROUP}:{_GROUP}|{_IPV4})"


def _ipv6() -> str:
    """RFC 3986's nine forms: eight groups, or a gap at any position."""
    ways = [f"({_GROUP}:){{6}}{_LAST_TWO}"]
    for before in range(8):
        head = ""
        if before:
            head = f"(({_GROUP}:){{0,{before - 1}}}{_GROUP})?"
        after = 7 - before
        tail = {0: "", 1: _GROUP}.get(after, f"({_GROUP}:){{{after - 2}}}{_LAST_TWO}")
        ways.append(f"{head}::{tail}")
    return f"({'|'.join(ways)})"


_IPV6 = _ipv6()
_LABEL = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_IN_NAME = "([A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})"
_IN_PATH = "([A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})"
_IN_QUERY = "([A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})"
_USER = "(([A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})*@)?"
_LITERAL = f"\\[({_IPV6}|[Vv]{_HEX}+\\.[A-Za-z0-9._~!$&'()*+,;=:-]+)\\]"
_AUTHORITY = f"{_USER}({_LITERAL}|{_IN_NAME}*)(:[0-9]*)?"
_STEPS = f"(/{_IN_PATH}*)*"
_PLACE = f"(//{_AUTHORITY}{_STEPS}|/({_IN_PATH}+{_STEPS})?|{_IN_PATH}+{_STEPS})?"

FORMATS = {
    "date": f"^{_DATE}$",
    "time": f"^{_TIME}$",
    "date-time": f"^{_DATE}[Tt]{_TIME}$",
    "duration": f"^P([0-9]+W|({_DAYS}|{_MONTHS}|{_YEARS})({_CLOCK_SPAN})?|{_CLOCK_SPAN})$",
    "uuid": f"^{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}$",
    "ipv4": f"^{_IPV4}$",
    "ipv6": f"^{_IPV6}$",
    "email": "^.+@.+$",
    "hostname": f"^{_LABEL}(\\.{_LABEL})*$",
    "uri": f"^[A-Za-z][A-Za-z0-9+.-]*:{_PLACE}(\\?{_IN_QUERY}*)?(#{_IN_QUERY}*)?$",
}

WIDER = frozenset(["time", "date-time", "email", "hostname"])
"""Leap seconds on every day; any text around an ``@``; names of any total length."""


_LIMITS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_LENGTHS = ("minLength", "maxLength")
_OF_CONTAINERS = (
    "properties", "required", "additionalProperties", "patternProperties", "minProperties",
    "maxProperties", "propertyNames", "items", "prefixItems", "minItems", "maxItems", "uniqueItems",
)  # fmt: skip
TYPES = ("object", "array", "string", "number", "boolean", "null")
_OF_SCALARS = frozenset(["pattern", "multipleOf", *_LIMITS, *_LENGTHS])
_NO_BOUNDS = Interval(None, None, above=False, below=False)


def types_of(keywords: Mapping[str, Any]) -> Sequence[str]:
    """The types that a schema allows: all if it names none. A keyword applies to its own type only."""
    if "type" not in keywords:
        return TYPES
    named = [kind for kind in as_types(keywords["type"]) if kind in (*TYPES, "integer")]
    return [kind for kind in named if kind != "integer" or "number" not in named]


def string(keywords: Mapping[str, Any], notation: Notation) -> tuple[Node | None, list[str]]:
    """The body of a string, None for any; and the keywords that it does not enforce."""
    unheld: list[str] = []
    patterns = {}
    if "pattern" in keywords:
        patterns["pattern"] = keywords["pattern"]
    least = keywords.get("minLength", 0)
    most = keywords.get("maxLength")
    excluded = [value for value in keywords.get("excluded", ()) if isinstance(value, str)]
    named = keywords.get("format")
    if named in FORMATS:
        patterns["format"] = FORMATS[named]
    elif named is not None:
        unheld.append("format")
    for keyword, pattern in patterns.items():
        try:
            matched = _compile_pattern(pattern, notation)
        except Inexpressible:
            unheld.append(keyword)
            continue
        if matched.node == NOTHING:
            unheld.append(keyword)
            continue
        is_beside = keyword == "pattern" and "format" in keywords
        is_wider = keyword == "format" and keywords["format"] in WIDER
        if is_beside or is_wider:
            unheld.append("format")
        if excluded:
            unheld.append("not")
        body, unheld_lengths = _of_pattern(pattern, matched, least, most, notation)
        return body, unheld + unheld_lengths
    if least > MOST_REPEATS:
        unheld.append("minLength")
        least = 0
    if most is not None and most > MOST_REPEATS:
        unheld.append("maxLength")
        most = None
    is_any = least == 0 and most is None
    # Texts without an escape can be excluded, where nothing else is asked of a string.
    is_plain = not notation.mark and all(notation.spell(text) == word(f'"{text}"') for text in excluded)
    if excluded and is_any and is_plain:
        return OtherNameNode(tuple(sorted(excluded)), notation.letter), unheld
    if excluded:
        unheld.append("not")
    if is_any:
        return None, unheld
    return repeat(notation.letter, least, most), unheld


def _of_pattern(
    pattern: str, matched: PatternNode, least: int, most: int | None, notation: Notation
) -> tuple[Node, list[str]]:
    """What matches a pattern and has the right length, if both can be expressed together."""
    fewest = max(least, matched.least)
    longest = matched.most
    if most is not None and (longest is None or most < longest):
        longest = most
    if fewest == matched.least and longest == matched.most:
        return matched.node, []
    if matched.unit is not None and max(fewest, longest or 0) <= MOST_REPEATS:
        return repeat(matched.unit, fewest, longest), []
    # Both bounds, or only the lower one, which takes fewer steps to follow.
    for upper in dict.fromkeys((longest, matched.most)):
        try:
            body = of_length(pattern, fewest, upper, notation)
        except Inexpressible:
            continue
        if upper == longest:
            return body, []
        return body, ["maxLength"]
    unheld = []
    if least > matched.least:
        unheld.append("minLength")
    if most is not None and longest != matched.most:
        unheld.append("maxLength")
    return matched.node, unheld


@lru_cache(maxsize=256)
def _compile_pattern(pattern: str, notation: Notation) -> PatternNode:
    return matching(pattern, notation.one_of)


def numeric(kind: str, keywords: Mapping[str, Any]) -> tuple[Node, list[str]]:
    """An integer or a number within bounds, and the keywords that this does not enforce."""
    # The tighter of each pair of bounds.
    low = _exact(keywords.get("minimum"))
    above = False
    over = _exact(keywords.get("exclusiveMinimum"))
    if over is not None and (low is None or over >= low):
        low = over
        above = True
    high = _exact(keywords.get("maximum"))
    below = False
    under = _exact(keywords.get("exclusiveMaximum"))
    if under is not None and (high is None or under <= high):
        high = under
        below = True
    bounds = Interval(low, high, above=above, below=below)
    multiple = keywords.get("multipleOf", 1)
    is_whole = multiple == int(multiple)
    unheld: list[str] = []
    if kind == "integer" or (is_whole and "multipleOf" in keywords):
        node = None
        if is_whole:
            node = integer(bounds, int(multiple))
        if node is None and multiple != 1:
            unheld.append("multipleOf")
            if is_whole:
                # The largest factor that last digits show: 4 of 12, and 1 of 7.
                node = integer(bounds, gcd(int(multiple), 10**_MOST_ENDING))
            node = node or integer(bounds)
        if node is not None:
            return node, unheld
        # An integer within one bound at least, if the other is too large to follow.
        halves = (
            (replace(bounds, high=None, below=False), _LIMITS[1::2]),
            (replace(bounds, low=None, above=False), _LIMITS[::2]),
            (_NO_BOUNDS, _LIMITS),
        )
        for half, left_out in halves:
            node = integer(half)
            if node is not None and (half is _NO_BOUNDS or not half.are_open):
                unheld += [keyword for keyword in left_out if keyword in keywords]
                return node, unheld
        raise AssertionError("integers without bounds can be written")
    places = MOST_PLACES
    if "multipleOf" in keywords:
        # The number of decimal places of a multiple: one for a tenth, two for a hundredth and so on.
        exact = Decimal(repr(multiple)).normalize().as_tuple()
        exponent = exact.exponent
        if exact.digits == (1,) and isinstance(exponent, int) and -MOST_PLACES <= exponent < 0:
            places = -exponent
        else:
            unheld.append("multipleOf")
    held = number(bounds, places)
    if held is None:
        unheld += [keyword for keyword in _LIMITS if keyword in keywords]
        held = number(_NO_BOUNDS, places)
    assert held is not None
    return held, unheld


def _exact(value: float | None) -> Decimal | None:
    if value is None:
        return None
    return Decimal(repr(value))


def enum_values(keywords: Mapping[str, Any]) -> tuple[list[Any], list[str]]:
    """The values of an ``enum`` that the other keywords allow, and the keywords not applied."""
    types = as_types(keywords.get("type", (*TYPES, "integer")))
    values = [value for value in keywords["enum"] if any(is_a(kind, value) for kind in types)]
    values = without(values, keywords.get("excluded", ()))
    beside = {key: value for key, value in keywords.items() if key in _OF_SCALARS}
    if beside:
        schema = Schema(beside)
        values = [value for value in values if not schema.problems(value)]
    unapplied = ["format"]
    if any(isinstance(value, dict | list) for value in values):
        unapplied += _OF_CONTAINERS
    return values, [keyword for keyword in unapplied if keyword in keywords]


def without(values: Sequence[JsonValue], excluded: Sequence[JsonValue]) -> list[JsonValue]:
    """The values that are none of the others; equal numbers are equal in any spelling."""
    return [value for value in values if not any(_is_same(value, each) for each in excluded)]


def _is_same(one: JsonValue, two: JsonValue) -> bool:
    if is_a("number", one) and is_a("number", two):
        return one == two
    return dump(one) == dump(two)


def is_a(kind: str, value: object) -> bool:
    """Whether a value is of a type."""
    match value:
        case None:
            return kind == "null"
        case bool():
            return kind == "boolean"
        case int():
            return kind in {"integer", "number"}
        case float():
            return kind == "number" or (kind == "integer" and value.is_integer())
        case str():
            return kind == "string"
        case dict():
            return kind == "object"
        case _:
            return kind == "array"
