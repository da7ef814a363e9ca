"""The numbers of a calculation: exact where possible, always bounded in size, and formatted as text.

An exact number is a Fraction. A value that has no exact form, such as the root of 2, is a float from
then on.
"""

import math
import operator
from collections.abc import Callable, Mapping
from decimal import Context, Decimal
from fractions import Fraction
from sys import float_info
from typing import Any, TypeAlias

from msgspec import Struct

from rightcall.errors import ToolFailure

Number: TypeAlias = Fraction | float

MOST_DIGITS = 3900
"""The most digits that any intermediate number may have. Python itself prints at most 4300."""
MOST_BITS = int(MOST_DIGITS * math.log2(10))
MOST_PLACES = 30
"""Decimal places that ``round`` may keep or drop, and that an exact number is shown with."""
_SIGNIFICANT = 15
"""Significant digits for which a float is reliable."""
_MOST_ROOT = 64
"""The highest degree of root for which an exact value is tried."""
_WAVES_UP_TO = 1e6
_LONGEST_FRACTION = 12
_ROUNDING = Context(prec=_SIGNIFICANT)
_PLAIN_UP_TO = Decimal(10) ** 21
_PLAIN_DOWN_TO = Decimal(10) ** -7


class Trouble(ToolFailure):
    """An error in an expression: what is wrong, and where."""

    code = "calculation"

    def __init__(self, message: str, at: int | None = None) -> None:
        super().__init__(message if at is None else f"At character {at}: {message}")
        self.words = message


def _too_large() -> Trouble:
    return Trouble("the result is too large to be worked out.")


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _bounded(value: Number) -> Number:
    if math.isfinite(value) if isinstance(value, float) else _bits(value) <= MOST_BITS:
        return value
    raise _too_large()


def _float(value: Number) -> float:
    try:
        return float(value)
    except OverflowError:
        raise _too_large() from None


# Both operands have one type here, which mypy cannot see.
_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": lambda left, right: math.floor(left / right),
    "%": operator.mod,
}


def combine(sign: str, left: Number, right: Number) -> Number:
    """The result of a binary operator. Raises Trouble."""
    if sign == "**":
        return _power(left, right)
    if not (isinstance(left, Fraction) and isinstance(right, Fraction)):
        left, right = _float(left), _float(right)
    if right == 0 and sign in {"/", "//", "%"}:
        raise Trouble("division by zero.")
    try:
        result = _OPERATORS[sign](left, right)
    except OverflowError:
        raise _too_large() from None
    return _bounded(Fraction(result) if isinstance(result, int) else result)


def _power(base: Number, exponent: Number) -> Number:
    if base == 0 and exponent < 0:
        raise Trouble("0 has no negative power: that would be a division by zero.")
    if isinstance(base, Fraction) and isinstance(exponent, Fraction):
        exact = _root(base, exponent.denominator)
        if exact is not None:
            # Refused by a lower bound of the result's size, before the power is computed.
            if abs(exact) != 1 and (_bits(exact) - 1) * abs(exponent.numerator) > MOST_BITS:
                raise _too_large()
            return _bounded(Fraction(exact**exponent.numerator))
    base, exponent = _float(base), _float(exponent)
    if base < 0 and not exponent.is_integer():
        raise Trouble("a negative number has no real power that is not whole.")
    try:
        return _bounded(math.pow(base, exponent))
    except OverflowError:
        raise _too_large() from None


def _root(value: Fraction, degree: int) -> Fraction | None:
    """The exact root; None if no real, exact root exists."""
    if degree == 1:
        return value
    if value < 0:
        return None
    above, below = _whole_root(value.numerator, degree), _whole_root(value.denominator, degree)
    return None if above is None or below is None else Fraction(above, below)


def _whole_root(value: int, degree: int) -> int | None:
    if degree == 2:  # noqa: PLR2004 - the one root with an exact function of its own
        guess = math.isqrt(value)
    elif degree > _MOST_ROOT:
        return None
    else:
        try:
            guess = round(value ** (1 / degree))
        except OverflowError:
            return None
    return guess if guess**degree == value else None


class Function(Struct, frozen=True, gc=False):
    """The value or function of a name, and how many arguments it takes."""

    body: Callable[..., Number]
    fewest: int = 1
    most: int | None = 1


def _whole(value: Number, what: str, least: int | None = None) -> int:
    if isinstance(value, float) or value.denominator != 1:
        raise Trouble(f"{what} takes whole numbers only.")
    if least is not None and value < least:
        raise Trouble(f"{what} takes no number below {least}.")
    return value.numerator


def _by_math(function: Callable[[float], float]) -> Function:
    """A function of Python's ``math`` whose errors become Trouble."""
    name = function.__name__

    def body(value: Number) -> Number:
        number = _float(value)
        try:
            found = _float(_bounded(function(number)))
        except OverflowError:
            raise _too_large() from None
        except ValueError:
            raise Trouble(f"{name} has no real value there.") from None
        if number == 0 and found in {0.0, 1.0}:
            return Fraction(found)
        # sin(pi) is 0 except for the rounding error of Python's pi.
        is_wave = name in {"sin", "cos", "tan"} and abs(number) < _WAVES_UP_TO
        return 0.0 if is_wave and abs(found) < abs(number) * float_info.epsilon else found

    return Function(body)


def _logarithm(name: str, function: Callable[[float], float]) -> Function:
    def body(value: Number) -> Number:
        if value <= 0:
            raise Trouble(f"{name} takes only numbers above 0.")
        if value == 1:
            return Fraction(0)
        if isinstance(value, float):
            return function(value)
        # Python takes the logarithm of an integer of any size, but not of such a fraction.
        return function(value.numerator) - (function(value.denominator) if value.denominator > 1 else 0)

    return Function(body)


def _log(value: Number, base: Number | None = None) -> Number:
    if base is None:
        # "log" means base 10 to some people and e to others; a guess would be silently wrong.
        raise Trouble("log needs its base: write ln(x), log10(x), log2(x) or log(x, base).")
    if value <= 0 or base <= 0 or base == 1:
        raise Trouble("log takes only numbers above 0, and a base that is not 1.")
    natural = FUNCTIONS["ln"].body
    return combine("/", natural(value), natural(base))


def _sqrt(value: Number) -> Number:
    if value < 0:
        raise Trouble("a negative number has no real square root.")
    return _power(value, Fraction(1, 2))


def _cbrt(value: Number) -> Number:
    exact = _root(abs(value), 3) if isinstance(value, Fraction) else None
    if exact is not None:
        return exact if value >= 0 else -exact
    return math.cbrt(_float(value))


def _round(value: Number, places: Number = Fraction(0)) -> Number:
    count = _whole(places, "the number of places in round")
    if abs(count) > MOST_PLACES:
        raise Trouble(f"round keeps at most {MOST_PLACES} places.")
    scale = Fraction(10) ** count
    # Rounds half away from zero, as taught at school and done with money.
    rounded = math.floor(abs(Fraction(value)) * scale + Fraction(1, 2)) / scale
    return rounded if value >= 0 else -rounded


def factorial(value: Number) -> Number:
    """The factorial."""
    number = _whole(value, "factorial", 0)
    _refuse_large(number, number)
    return _bounded(Fraction(math.factorial(number)))


def _choose(function: Callable[[int, int], int]) -> Function:
    name = function.__name__

    def body(total: Number, chosen: Number) -> Number:
        many, few = _whole(total, name, 0), _whole(chosen, name, 0)
        # Choosing all but three takes no more work than choosing three.
        _refuse_large(many, min(few, many - few) if name == "comb" and few <= many else few)
        return _bounded(Fraction(function(many, few)))

    return Function(body, 2, 2)


def _refuse_large(factor: int, count: int) -> None:
    """Refuse a product of that many factors before it is computed."""
    if factor.bit_length() * count > MOST_BITS:
        raise _too_large()


def _of_whole(function: Callable[..., int]) -> Function:
    def body(*values: Number) -> Number:
        return _bounded(Fraction(function(*(_whole(value, function.__name__) for value in values))))

    return Function(body, 1, None)


def _sum(*values: Number) -> Number:
    total: Number = Fraction(0)
    for value in values:
        total = combine("+", total, value)
    return total


def _mean(*values: Number) -> Number:
    return combine("/", _sum(*values), Fraction(len(values)))


def _median(*values: Number) -> Number:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else _mean(*ordered[middle - 1 : middle + 1])


_BY_MATH = (
    math.exp, math.sin, math.cos, math.tan, math.asin, math.acos, math.atan, math.sinh, math.cosh,
    math.tanh, math.degrees, math.radians,
)  # fmt: skip
CONSTANTS: Mapping[str, Number] = {"pi": math.pi, "e": math.e, "tau": math.tau}
FUNCTIONS: Mapping[str, Function] = {
    **{function.__name__: _by_math(function) for function in _BY_MATH},
    "abs": Function(abs),
    "atan2": Function(lambda y, x: math.atan2(_float(y), _float(x)), 2, 2),
    "average": Function(_mean, 1, None),
    "cbrt": Function(_cbrt),
    "ceil": Function(lambda value: Fraction(math.ceil(value))),
    "comb": _choose(math.comb),
    "factorial": Function(factorial),
    "floor": Function(lambda value: Fraction(math.floor(value))),
    "gcd": _of_whole(math.gcd),
    "lcm": _of_whole(math.lcm),
    "ln": _logarithm("ln", math.log),
    "log": Function(_log, 1, 2),
    "log10": _logarithm("log10", math.log10),
    "log2": _logarithm("log2", math.log2),
    "max": Function(lambda *values: max(values), 1, None),
    "mean": Function(_mean, 1, None),
    "median": Function(_median, 1, None),
    "min": Function(lambda *values: min(values), 1, None),
    "mod": Function(lambda left, right: combine("%", left, right), 2, 2),
    "perm": _choose(math.perm),
    "pow": Function(_power, 2, 2),
    "round": Function(_round, 1, 2),
    "sqrt": Function(_sqrt),
    "sum": Function(_sum, 1, None),
    "trunc": Function(lambda value: Fraction(math.trunc(value))),
}


def show(value: Number) -> str:
    """The number in digits, with a note if digits were left out."""
    if isinstance(value, float):
        return f"{_digits(_ROUNDING.create_decimal_from_float(value))} (rounded)"
    places = _places(value.denominator)
    if places is None or places > MOST_PLACES:
        shown = _ROUNDING.divide(Decimal(value.numerator), Decimal(value.denominator))
        fraction = str(value)
        note = f" from {fraction}" if len(fraction) <= _LONGEST_FRACTION else ""
        return _digits(shown) + (f" (rounded{note})" if Fraction(shown) != value else "")
    digits = str(abs(value.numerator) * 10**places // value.denominator).zfill(places + 1)
    point = len(digits) - places
    return f"{'-' if value < 0 else ''}{digits[:point]}{'.' if places else ''}{digits[point:]}"


def _places(denominator: int) -> int | None:
    """How many decimal places a fraction needs; None if they never end."""
    twos = (denominator & -denominator).bit_length() - 1
    rest, fives = denominator >> twos, 0
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    return max(twos, fives) if rest == 1 else None


def _digits(value: Decimal) -> str:
    if value == 0:
        return "0"
    is_plain = _PLAIN_DOWN_TO <= abs(value) < _PLAIN_UP_TO
    mantissa, _, exponent = (f"{value:f}" if is_plain else f"{value:e}").partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa}e{exponent}" if exponent else mantissa
