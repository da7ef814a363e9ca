"""Two numbers into one: exact for whole numbers, decimals and fractions, and never without bounds.

An exact number is a Fraction. What has no exact value, such as the root of 2, is a float from then on.
"""

import math
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

from rightcall.builtin.calculate.tokens import MOST_DIGITS, Trouble

Number: TypeAlias = Fraction | float

MOST_BITS = int(MOST_DIGITS * math.log2(10))
_MOST_ROOT = 64
"""Roots of a higher degree are not tried for an exact value."""


def too_large() -> Trouble:
    """The words for a number that has outgrown its bounds."""
    return Trouble("the result is too large to be worked out.")


def bounded(value: Number) -> Number:
    """The number, unless it has grown too large to be worked with."""
    if math.isfinite(value) if isinstance(value, float) else _bits(value) <= MOST_BITS:
        return value
    raise too_large()


def approximate(value: Number) -> float:
    """The nearest float."""
    try:
        return float(value)
    except OverflowError:
        raise too_large() from None


def root(value: Fraction, degree: int) -> Fraction | None:
    """The exact root of a number that is not negative; None if there is none."""
    above, below = _whole_root(value.numerator, degree), _whole_root(value.denominator, degree)
    return None if above is None or below is None else Fraction(above, below)


def combine(sign: str, left: Number, right: Number) -> Number:
    """What an operator makes of two numbers. Raises Trouble."""
    if not (isinstance(left, Fraction) and isinstance(right, Fraction)):
        left, right = approximate(left), approximate(right)
    if sign == "**":
        return _power(left, right)
    if right == 0 and sign in {"/", "//", "%"}:
        raise Trouble("division by zero.")
    try:
        result = _PLAIN[sign](left, right)
    except OverflowError:
        raise too_large() from None
    return bounded(Fraction(result) if isinstance(result, int) else result)


# Their operands are alike by then, which mypy cannot see.
_PLAIN: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": lambda left, right: math.floor(left / right),
    "%": operator.mod,
}


def _power(base: Number, exponent: Number) -> Number:
    if base == 0 and exponent < 0:
        raise Trouble("0 has no negative power: that would be a division by zero.")
    if isinstance(base, Fraction) and isinstance(exponent, Fraction):
        if exponent.denominator == 1:
            return _whole_power(base, exponent.numerator)
        exact = root(base, exponent.denominator) if base >= 0 else None
        if exact is not None:
            return _whole_power(exact, exponent.numerator)
        base, exponent = approximate(base), approximate(exponent)
    if base < 0 and not approximate(exponent).is_integer():
        raise Trouble("a negative number has no real power that is not whole.")
    try:
        return bounded(math.pow(base, exponent))
    except OverflowError:
        raise too_large() from None


def _whole_power(base: Fraction, exponent: int) -> Number:
    if abs(base) != 1 and base != 0 and (_bits(base) - 1) * abs(exponent) > MOST_BITS:
        raise too_large()
    return bounded(Fraction(base**exponent))


def _whole_root(value: int, degree: int) -> int | None:
    if degree == 2:  # noqa: PLR2004 - the one root with an exact function of its own
        guess = math.isqrt(value)
    elif degree > _MOST_ROOT or value.bit_length() > MOST_BITS:
        return None
    else:
        try:
            guess = round(value ** (1 / degree))
        except OverflowError:
            return None
    return guess if guess**degree == value else None


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())
