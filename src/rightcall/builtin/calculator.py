"""The ``calculate`` tool: evaluates arithmetic as people and models write it, within bounds.

Python's parser reads an expression, which is short enough for that; nothing is compiled or run by it.
Its tree may hold only numbers, operators, and calls and constants of this file, and these are evaluated
here: a number is exact where possible, a Fraction, and always bounded in size. What has no exact value,
such as the root of 2, is a float from then on.
"""

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from decimal import Context, Decimal, Inexact
from difflib import get_close_matches
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from rightcall.core.facts import Facts
from rightcall.core.jsontext import JsonObject, shorten
from rightcall.core.limits import Limits
from rightcall.core.sanitize import encodable
from rightcall.core.tool import Tool, object_schema
from rightcall.errors import ToolFailure

Number: TypeAlias = Fraction | float

LONGEST = 1000
"""Longest expression, in characters. What a person would want computed at once is far shorter."""
MOST_DIGITS = 3900
"""The most digits that any intermediate number may have. Python itself prints at most 4300."""
MOST_BITS = int(MOST_DIGITS * math.log2(10))
MOST_PLACES = 30
"""Decimal places that ``round`` may keep or drop, and that an exact number is shown with."""
_ROUNDING = Context(prec=15)
"""A float is reliable to 15 digits."""


class Trouble(ToolFailure):
    """An error in an expression: what is wrong, and in which part of it."""

    code = "calculation"


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _check_size(value: Number) -> Number:
    """Returns the number itself. Raises OverflowError if it is infinite or has too many digits."""
    if isinstance(value, float):
        is_bounded = math.isfinite(value)
    else:
        is_bounded = _bits(value) <= MOST_BITS
    if not is_bounded:
        raise OverflowError
    return value


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, Fraction) and isinstance(exponent, Fraction):
        if exponent == Fraction(1, 2):
            return _sqrt(base)
        if exponent.denominator == 1:
            # A power is refused by a lower bound of its size, before it is computed.
            if abs(base) != 1 and (_bits(base) - 1) * abs(exponent.numerator) > MOST_BITS:
                raise OverflowError
            return Fraction(base**exponent.numerator)
    return math.pow(base, exponent)


def _sqrt(value: Number) -> Number:
    if isinstance(value, Fraction) and value >= 0:
        root = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
        if root * root == value:
            return root
    return math.sqrt(value)


def _of_whole(function: Callable[..., int], *, grows: bool = False) -> Callable[..., Number]:
    """Returns a function of whole numbers; one that grows is refused by its size beforehand."""

    def body(*values: Number) -> Number:
        numbers: list[int] = []
        for value in values:
            if isinstance(value, float) or value.denominator != 1:
                raise Trouble(f"{function.__name__} takes whole numbers only.")
            numbers.append(value.numerator)
        if grows and numbers[0].bit_length() * numbers[-1] > MOST_BITS:
            raise OverflowError
        return Fraction(function(*numbers))

    return body


def _log(value: Number, base: Number | None = None) -> Number:
    if base is None:
        # "log" means base 10 to some people and e to others; a guess would be silently wrong.
        raise Trouble("log needs its base: write ln(x), log10(x), log2(x) or log(x, base).")
    return math.log(value) / math.log(base)


def _round_number(value: Number, places: Number = Fraction(0)) -> Number:
    if places not in range(-MOST_PLACES, MOST_PLACES + 1):
        raise Trouble(f"round takes a whole number of places, {MOST_PLACES} at most.")
    scale = Fraction(10) ** int(places)
    # Rounds half away from zero, as taught at school and done with money.
    rounded = math.floor(abs(Fraction(value)) * scale + Fraction(1, 2)) / scale
    return rounded if value >= 0 else -rounded


def _sum(*values: Number) -> Number:
    total: Number = Fraction(0)
    for value in values:
        total = _check_size(total + value)
    return total


def _median(*values: Number) -> Number:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return (ordered[middle] + ordered[~middle]) / 2


# Both operands of one operator have one type, which mypy cannot see.
_OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: lambda left, right: Fraction(math.floor(left / right)),
    ast.Mod: operator.mod,
    ast.Pow: _power,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}


class MathFunction(NamedTuple):
    """The function of a name, and how many arguments it takes."""

    body: Callable[..., Number]
    fewest: int = 1
    most: int = 1


CONSTANTS: Mapping[str, Number] = {"pi": math.pi, "π": math.pi, "e": math.e}
_OF_MATH = ("acos", "asin", "atan", "cos", "exp", "log10", "log2", "sin", "tan")
FUNCTIONS: Mapping[str, MathFunction] = {
    **{name: MathFunction(getattr(math, name)) for name in _OF_MATH},
    "abs": MathFunction(abs),
    "ceil": MathFunction(lambda value: Fraction(math.ceil(value))),
    "comb": MathFunction(_of_whole(math.comb, grows=True), 2, 2),
    "factorial": MathFunction(_of_whole(math.factorial, grows=True)),
    "floor": MathFunction(lambda value: Fraction(math.floor(value))),
    "gcd": MathFunction(_of_whole(math.gcd), most=LONGEST),
    "lcm": MathFunction(_of_whole(math.lcm), most=LONGEST),
    "ln": MathFunction(math.log),
    "log": MathFunction(_log, most=2),
    "max": MathFunction(lambda *values: max(values), most=LONGEST),
    "mean": MathFunction(lambda *values: _sum(*values) / len(values), most=LONGEST),
    "median": MathFunction(_median, most=LONGEST),
    "min": MathFunction(lambda *values: min(values), most=LONGEST),
    "round": MathFunction(_round_number, most=2),
    "sqrt": MathFunction(_sqrt),
    "sum": MathFunction(_sum, most=LONGEST),
}


def show(value: Number) -> str:
    """Returns the number in digits, with a note if digits were left out."""
    if isinstance(value, float):
        return f"{_significant(_ROUNDING.create_decimal_from_float(value))} (rounded)"
    numerator = Decimal(value.numerator)
    denominator = Decimal(value.denominator)
    exact = Context(prec=MOST_DIGITS + MOST_PLACES + 1)
    digits = f"{exact.divide(numerator, denominator):f}"
    if not exact.flags[Inexact] and len(digits.partition(".")[2]) <= MOST_PLACES:
        return digits
    rounded = _ROUNDING.divide(numerator, denominator)
    if Fraction(rounded) == value:
        return _significant(rounded)
    if len(str(value)) <= 12:  # noqa: PLR2004 - a fraction that is easy to read
        return f"{_significant(rounded)} (rounded from {value})"
    return f"{_significant(rounded)} (rounded)"


def _significant(value: Decimal) -> str:
    """Returns the number without zeros at its end, in scientific notation if it is large or small."""
    if value == 0:
        return "0"
    is_plain = Decimal("1e-7") <= abs(value) < Decimal("1e21")
    return format(_ROUNDING.normalize(value), "f" if is_plain else "e")


_PARAMETERS: JsonObject = object_schema(
    ["expression"],
    expression={"type": "string", "description": "The expression to work out, such as (17 + 5) * 23."},
)
_DESCRIPTION = (
    "Work out an arithmetic expression exactly. Use it for every calculation. "
    "Knows + - * / // % ** ( ), percentages (15% of 80), pi, e, and sqrt, abs, round, floor, ceil, min, "
    "max, sum, mean, median, gcd, lcm, comb, factorial, exp, ln, log10, log2, log(x, base), "
    "sin, cos, tan (radians)."
)


def calculate() -> Tool:
    """A tool that evaluates arithmetic: exactly where that is possible, and always within bounds."""

    async def handler(expression: str) -> str:
        return show(evaluate(expression))

    return Tool(
        "calculate",
        _DESCRIPTION,
        _PARAMETERS,
        handler,
        short="Work out an arithmetic expression.",
        examples=tuple({"expression": each} for each in ("12 * (3 + 4)", "250 - 75", "20% of 45")),
        questions=(
            "What is 12 times the sum of 3 and 4?",
            "How much is 250 - 75?",
            "What is 20% of 45?",
        ),
        errors="neutral",
        effect="pure",
        limits=Limits(timeout=10.0, max_arguments_bytes=16 * LONGEST),
        facts=Facts(untrusted=False, private=False, reach="nothing", targets=()),
    )


def evaluate(expression: str) -> Number:
    """Returns the value of an expression. Raises Trouble, whose message says what is wrong and where."""
    if len(expression) > LONGEST:
        raise Trouble(f"the expression has {len(expression):,} characters; {LONGEST:,} is the most.")
    text = encodable(expression).translate(_PRINTED_SIGNS).replace("^", "**")
    # Models often end an expression with =, as a person would.
    text = re.sub(r"=\s*\??\s*$", "", text).strip()
    if not re.search(r"[A-Za-z]\s*\(", text):  # there a comma stands between arguments
        text = re.sub(r"(?<![0-9,.])[0-9]{1,3}(?:,[0-9]{3})+(?![0-9,])", _without_commas, text)
    elif re.search(r"[0-9],[0-9]{3}(?![0-9])", text) and re.search(r",\s", text):
        raise Trouble("is 1,500 one number or two? Write 1500, or a space after each comma.")
    for sum_of in _ADDED_PERCENTAGE.finditer(text):
        is_factor = sum_of["left"] == "1" and re.search(r"(?:^|[(,\[])\s*$", text[: sum_of.start()])
        if not is_factor and not sum_of["left"].endswith("%"):
            raise Trouble("a percentage of what? Write a * (1 + 10%) for 10% of a more, or a + 10/100.")
    text = re.sub(r"(?<=\))\s*of\b", "*", _PERCENTAGE.sub(r"(\1/100)", text))
    text = re.sub(r"\bmod\b", "%", text)
    if "#" in text:
        raise Trouble("# is not understood.")
    try:
        return _Evaluation(text).value_of(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError):
        hint = " For n! write factorial(n)." if "!" in text else ""
        raise Trouble(f"{shorten(text)} is no arithmetic expression.{hint}") from None
    except (RecursionError, MemoryError):  # or the caller left too little of the stack
        raise Trouble("it nests too deep to be worked out.") from None


def _without_commas(number: re.Match[str]) -> str:
    return number[0].replace(",", "")


_PRINTED_SIGNS = str.maketrans(
    "\u00d7\u00b7\u22c5\u2217\u2022\uff0a\u00f7\u2215\u2044\uff0f\u2212\u2013\uff0d\uff0b\uff05\n\r",
    "******////---+%  ",
)
"""What keyboards, word processors and models write for the signs of arithmetic."""
_NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
# A number with % is a percentage where no operand follows. In "10 % 3" it is a remainder.
_PERCENTAGE = re.compile(rf"(?<![\w.])({_NUMBER})%(?=\s*(?:[-+*/),\]]|of\b|$))")
_ADDED_PERCENTAGE = re.compile(
    rf"(?P<left>(?<![\w.]){_NUMBER}(?:[eE][-+]?[0-9]+)?%?|\))\s*[-+]\s*{_NUMBER}%(?!\s*(?:of\b|[*/]))"
)


class _Evaluation:
    """The values of the parts of a text, by its tree."""

    def __init__(self, text: str) -> None:
        # Python counts columns in bytes; ast's own function would split the text again for every part.
        self._text = text.encode()

    def value_of(self, node: ast.expr) -> Number:
        match node:
            case ast.Constant(int() | float()) if not isinstance(node.value, bool):
                return self._number(node)
            case ast.BinOp(left, sign, right) if type(sign) in _OPERATORS:
                operands = (self.value_of(left), self.value_of(right))
                return self._compute(node, _OPERATORS[type(sign)], operands)
            case ast.UnaryOp(sign, operand) if type(sign) in _OPERATORS:
                return self._compute(node, _OPERATORS[type(sign)], (self.value_of(operand),))
            case ast.Name(name) if name.lower() in CONSTANTS:
                return CONSTANTS[name.lower()]
            case ast.Call(ast.Name() | ast.Attribute(ast.Name("math")) as function, arguments, []):
                return self._call(node, self._source(function).lower().removeprefix("math."), arguments)
            case ast.Name(name):
                raise self._unknown_name(name)
            case ast.Tuple():
                raise Trouble("write numbers without commas, and decimals with a point.")
            case _:
                raise Trouble(f"{shorten(self._source(node))} is no arithmetic.")

    def _source(self, node: ast.expr) -> str:
        return self._text[node.col_offset : node.end_col_offset].decode()

    def _unknown_name(self, name: str) -> Trouble:
        hint = "Only numbers, functions, pi and e are."
        for near in get_close_matches(name.lower(), [*FUNCTIONS, *CONSTANTS], n=1):
            hint = f"Did you mean {near}?"
        return Trouble(f"{shorten(name)} is not known. {hint}")

    def _number(self, node: ast.Constant) -> Fraction:
        digits = self._source(node).lower()
        if re.fullmatch("0[0_]+", digits):  # mostly the end of 1,000
            raise Trouble(f"{digits} is no number. Write numbers without commas.")
        if abs(int(digits.partition("e")[2] or 0)) > MOST_DIGITS:
            raise Trouble(f"the number {shorten(digits)} has more than {MOST_DIGITS:,} digits.")
        return Fraction(digits)

    def _call(self, node: ast.Call, name: str, arguments: list[ast.expr]) -> Number:
        if name not in FUNCTIONS:
            raise self._unknown_name(name)
        values = []
        for argument in arguments:
            parts = argument.elts if isinstance(argument, ast.List) else [argument]
            values += [self.value_of(part) for part in parts]
        body, fewest, most = FUNCTIONS[name]
        if not fewest <= len(values) <= most:
            wanted = str(fewest) if fewest == most else f"{fewest} to {most:,}"
            words = "Numbers in brackets are written without thousands separators."
            raise Trouble(f"{name} takes {wanted} arguments, not {len(values)}. {words}")
        return self._compute(node, body, tuple(values))

    def _compute(
        self, node: ast.expr, function: Callable[..., Number], values: tuple[Number, ...]
    ) -> Number:
        """Returns the value of a function; a failure names the part of the expression."""
        try:
            return _check_size(function(*values))
        except OverflowError:
            words = "the result is too large to be worked out."
        except ZeroDivisionError:
            words = "division by zero."
        except (ValueError, TypeError):  # of Python's math
            words = "it has no real value."
        except Trouble as trouble:
            words = str(trouble)
        raise Trouble(f"In {shorten(self._source(node))}: {words}")
