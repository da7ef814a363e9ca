"""The functions and constants that an expression may name."""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from sys import float_info
from typing import TypeAlias

from msgspec import Struct

from rightcall.builtin.calculate.arithmetic import (
    MOST_BITS,
    Number,
    approximate,
    bounded,
    combine,
    root,
    too_large,
)
from rightcall.builtin.calculate.tokens import Trouble

Body: TypeAlias = Callable[..., Number]

MOST_PLACES = 30
"""Decimal places that ``round`` may keep or drop."""


_WAVES = frozenset({"sin", "cos", "tan"})
_WAVES_UP_TO = 1e6


class Function(Struct, frozen=True, gc=False):
    """What a name stands for, and how many arguments it takes."""

    body: Body
    fewest: int = 1
    most: int | None = 1


CONSTANTS: Mapping[str, Number] = {"pi": math.pi, "e": math.e, "tau": math.tau}


def _whole(value: Number, what: str, least: int | None = None) -> int:
    if isinstance(value, float) or value.denominator != 1:
        raise Trouble(f"{what} takes whole numbers only.")
    if least is not None and value < least:
        raise Trouble(f"{what} takes no number below {least}.")
    return value.numerator


def _by_math(name: str, function: Callable[[float], float]) -> Function:
    """A function of Python's ``math``, with its refusals put into words."""

    def body(value: Number) -> Number:
        number = approximate(value)
        try:
            found = approximate(bounded(function(number)))
            if number == 0 and found in {0.0, 1.0}:
                return Fraction(found)
            return 0.0 if name in _WAVES and _is_noise(found, number) else found
        except OverflowError:
            raise too_large() from None
        except ValueError:
            raise Trouble(f"{name} has no real value there.") from None

    return Function(body)


def _is_noise(found: float, number: float) -> bool:
    """Whether a wave is at 0 but for what its argument is off by: sin(pi), since pi is not quite pi."""
    return abs(number) < _WAVES_UP_TO and abs(found) < abs(number) * float_info.epsilon


def _logarithm(name: str, base: int | None) -> Function:
    functions = {None: math.log, 2: math.log2, 10: math.log10}

    def body(value: Number) -> Number:
        if value <= 0:
            raise Trouble(f"{name} takes only numbers above 0.")
        if isinstance(value, float) or value.denominator == 1:
            # Python takes the logarithm of a whole number of any size.
            exact = value if isinstance(value, float) else value.numerator
            return Fraction(0) if value == 1 else functions[base](exact)
        return functions[base](value.numerator) - functions[base](value.denominator)

    return Function(body)


def _log(value: Number, base: Number | None = None) -> Number:
    if base is None:
        # Half of the world means base 10 and the other half e; a guess would be wrong in silence.
        raise Trouble("log needs its base: write ln(x), log10(x), log2(x) or log(x, base).")
    if value <= 0 or base <= 0 or base == 1:
        raise Trouble("log takes only numbers above 0, and a base that is not 1.")
    natural = _logarithm("log", None).body
    return combine("/", natural(value), natural(base))


def _sqrt(value: Number) -> Number:
    if value < 0:
        raise Trouble("a negative number has no real square root.")
    return combine("**", value, Fraction(1, 2))


def _cbrt(value: Number) -> Number:
    if isinstance(value, Fraction):
        exact = root(abs(value), 3)
        if exact is not None:
            return exact if value >= 0 else -exact
    return math.cbrt(approximate(value))


def _round(value: Number, places: Number = Fraction(0)) -> Number:
    count = _whole(places, "the number of places in round")
    if abs(count) > MOST_PLACES:
        raise Trouble(f"round keeps at most {MOST_PLACES} places.")
    scale = Fraction(10) ** count
    scaled = abs(Fraction(value)) * scale
    # Half away from zero, as taught at school and done with money.
    rounded = math.floor(scaled + Fraction(1, 2)) / scale
    return rounded if value >= 0 else -rounded


def _to_whole(function: Callable[[Number], int]) -> Function:
    return Function(lambda value: Fraction(function(value)))


def factorial(value: Number) -> Number:
    """The product of all whole numbers up to it."""
    number = _whole(value, "factorial", 0)
    _refuse_large(number, number)
    return bounded(Fraction(math.factorial(number)))


def _choose(name: str, function: Callable[[int, int], int]) -> Function:
    def body(total: Number, chosen: Number) -> Number:
        many, few = _whole(total, name, 0), _whole(chosen, name, 0)
        # Choosing all but three is as much work as choosing three.
        _refuse_large(many, min(few, many - few) if name == "comb" and few <= many else few)
        return bounded(Fraction(function(many, few)))

    return Function(body, 2, 2)


def _refuse_large(factor: int, count: int) -> None:
    """Refuse a product of so many factors before it is worked out."""
    if factor.bit_length() * count > MOST_BITS:
        raise too_large()


def _of_whole(name: str, function: Callable[..., int]) -> Function:
    def body(*values: Number) -> Number:
        return bounded(Fraction(function(*(_whole(value, name) for value in values))))

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


def _atan2(y: Number, x: Number) -> Number:
    return math.atan2(approximate(y), approximate(x))


def _by_sign(sign: str) -> Function:
    return Function(lambda left, right: combine(sign, left, right), 2, 2)


_BY_MATH: Mapping[str, Callable[[float], float]] = {
    "exp": math.exp,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "tanh": math.tanh,
    "degrees": math.degrees,
    "radians": math.radians,
}
FUNCTIONS: Mapping[str, Function] = {
    **{name: _by_math(name, function) for name, function in _BY_MATH.items()},
    "abs": Function(abs),
    "atan2": Function(_atan2, 2, 2),
    "average": Function(_mean, 1, None),
    "cbrt": Function(_cbrt),
    "ceil": _to_whole(math.ceil),
    "comb": _choose("comb", math.comb),
    "factorial": Function(factorial),
    "floor": _to_whole(math.floor),
    "gcd": _of_whole("gcd", math.gcd),
    "lcm": _of_whole("lcm", math.lcm),
    "ln": _logarithm("ln", None),
    "log": Function(_log, 1, 2),
    "log10": _logarithm("log10", 10),
    "log2": _logarithm("log2", 2),
    "max": Function(lambda *values: max(values), 1, None),
    "mean": Function(_mean, 1, None),
    "median": Function(_median, 1, None),
    "min": Function(lambda *values: min(values), 1, None),
    "mod": _by_sign("%"),
    "perm": _choose("perm", math.perm),
    "pow": _by_sign("**"),
    "round": Function(_round, 1, 2),
    "sqrt": Function(_sqrt),
    "sum": Function(_sum, 1, None),
    "trunc": _to_whole(math.trunc),
}
