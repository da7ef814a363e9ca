"""A number into the text that a model reads: as short as it can be, and never more exact than it is."""

from decimal import Context, Decimal
from fractions import Fraction

from rightcall.builtin.calculate.arithmetic import Number

SIGNIFICANT = 15
"""Digits that a float can be trusted with."""
MOST_PLACES = 30
"""Decimal places that an exact number is shown with before it is rounded."""
_LONGEST_FRACTION = 12
_ROUNDING = Context(prec=SIGNIFICANT)
_PLAIN_UP_TO = Decimal(10) ** 21
_PLAIN_DOWN_TO = Decimal(10) ** -7


def show(value: Number) -> str:
    """The number in digits, with a note where digits were left out."""
    if isinstance(value, Fraction):
        if value.denominator == 1:
            return str(value.numerator)
        places = _places(value.denominator)
        if places is not None and places <= MOST_PLACES:
            digits = str(abs(value.numerator) * 10**places // value.denominator).zfill(places + 1)
            return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"
        shown = _ROUNDING.divide(Decimal(value.numerator), Decimal(value.denominator))
        return f"{_digits(shown)}{_note(value) if Fraction(shown) != value else ''}"
    return f"{_digits(_ROUNDING.create_decimal_from_float(value))} (rounded)"


def _note(value: Fraction) -> str:
    fraction = str(value)
    return f" (rounded from {fraction})" if len(fraction) <= _LONGEST_FRACTION else " (rounded)"


def _places(denominator: int) -> int | None:
    """How many decimal places a fraction takes; None if it never ends."""
    twos = (denominator & -denominator).bit_length() - 1
    rest, fives = denominator >> twos, 0
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    return max(twos, fives) if rest == 1 else None


def _digits(value: Decimal) -> str:
    if value == 0:
        return "0"
    if _PLAIN_DOWN_TO <= abs(value) < _PLAIN_UP_TO:
        text = f"{value:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, _, exponent = f"{value:e}".partition("e")
    return f"{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}e{exponent}"
