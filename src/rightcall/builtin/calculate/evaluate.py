"""An expression's text into a number, by precedence climbing. Nothing is compiled and nothing executed.

Precedence is Python's: ``-2 ** 2`` is -4, powers group to the right, and all else to the left.
"""

import math
from collections.abc import Callable
from difflib import get_close_matches
from fractions import Fraction
from typing import Any, Literal

from msgspec import Struct

from rightcall.builtin.calculate.arithmetic import Number, combine
from rightcall.builtin.calculate.functions import CONSTANTS, FUNCTIONS, Function, factorial
from rightcall.builtin.calculate.tokens import Token, Trouble, tokenize
from rightcall.core.jsontext import shorten

DEEPEST = 50
"""How deep brackets, signs and powers may nest."""

_BINDS = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "%": 2, "**": 4}
_SIGN_BINDS = 3
_GROUP = 3
_NO_THOUSANDS = "Numbers in brackets are written without thousands separators."
_WORDS = {"of": "*", "mod": "%"}
_SUPERSCRIPTS = {"²": Fraction(2), "³": Fraction(3)}


class _Operand(Struct, frozen=True, gc=False):
    value: Number
    percent: bool = False
    """It was written with a percent sign."""


def evaluate(expression: str) -> Number:
    """The value of an expression. Raises Trouble, whose message says what is wrong and where."""
    return _Reading(tokenize(expression)).whole()


class _Reading:
    """A way through the tokens of one expression."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def whole(self) -> Number:
        if len(self._tokens) == 1:
            raise Trouble("there is nothing to work out.")
        value = self._expression(0).value
        # A sum is often written with the = that a person would end it with.
        ending = [token.text for token in self._tokens[self._at :]]
        if ending in (["=", ""], ["=", "?", ""]):
            self._at = len(self._tokens) - 1
        if self._next.kind != "end":
            raise self._unexpected()
        return value

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        token = self._next
        self._at += 1
        return token

    def _accept(self, sign: str) -> bool:
        if self._next.kind == "sign" and self._next.text == sign:
            self._at += 1
            return True
        return False

    def _expect(self, sign: str) -> None:
        if not self._accept(sign):
            raise Trouble(f"{shorten(sign)} is expected, not {self._what()}.", self._next.at)

    def _what(self) -> str:
        return "the end" if self._next.kind == "end" else shorten(self._next.text)

    def _unexpected(self) -> Trouble:
        if self._next.text == ",":
            words = (
                "a comma stands between a function's arguments, or before each three digits of a "
                "number; decimals begin with a point."
            )
        elif self._next.text == "=":
            words = "leave out the = and what follows it."
        else:
            words = f"{self._what()} is not expected; is an operator missing before it?"
        return Trouble(words, self._next.at)

    def _expression(self, least: int) -> _Operand:
        """An operand, and all operators after it that bind more tightly than ``least``."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise Trouble(f"it nests more than {DEEPEST} deep.", self._next.at)
        left = self._signed()
        while (operator := self._operator()) is not None and _BINDS[operator] > least:
            place = self._take().at
            # Powers group to the right.
            right = self._expression(_BINDS[operator] - (operator == "**"))
            left = _combined(operator, left, right, place)
        self._depth -= 1
        return left

    def _operator(self) -> str | None:
        if self._next.kind == "name":
            return _WORDS.get(self._next.text.lower())
        return self._next.text if self._next.text in _BINDS else None

    def _signed(self) -> _Operand:
        for sign in ("-", "+"):
            if self._accept(sign):
                operand = self._expression(_SIGN_BINDS - 1)
                value = operand.value if sign == "+" else -operand.value
                return _Operand(value, operand.percent)
        return self._postfixed(_Operand(self._primary()))

    def _postfixed(self, operand: _Operand) -> _Operand:
        while self._next.kind == "sign":
            token = self._next
            if token.text == "!":
                self._take()
                if self._next.text == "!":
                    raise Trouble("!! is not understood; write (n!)! for it.", token.at)
                operand = _Operand(_placed(token.at, factorial, operand.value))
            elif token.text in _SUPERSCRIPTS:
                self._take()
                operand = _combined("**", operand, _Operand(_SUPERSCRIPTS[token.text]), token.at)
            elif token.text == "°":
                self._take()
                operand = _Operand(_placed(token.at, combine, "*", operand.value, math.pi / 180))
            elif token.text == "%" and self._is_percent():
                self._take()
                operand = _Operand(combine("/", operand.value, Fraction(100)), percent=True)
            else:
                break
        return operand

    def _is_percent(self) -> bool:
        """Whether the % here means hundredths, and not what is left over from a division."""
        sign, after = self._next, self._tokens[self._at + 1]
        if after.text in {"+", "-"}:
            # "15% - 3" and "10 % -3": whoever writes a percentage leaves no space before the sign.
            return sign.glued
        if after.kind == "name":
            return after.text.lower() in _WORDS
        return after.kind != "number" and after.text != "("

    def _primary(self) -> Number:
        token = self._take()
        if token.kind == "number":
            return token.value
        if token.kind == "name":
            return self._named(token)
        if token.text == "(":
            value = self._expression(0).value
            self._expect(")")
            return value
        self._at -= 1
        raise Trouble(f"a number is expected, not {self._what()}.", token.at)

    def _named(self, token: Token) -> Number:
        name = token.text.lower()
        if name == "sqrt" and self._next.kind == "number":
            return _placed(token.at, FUNCTIONS[name].body, self._take().value)
        if name in FUNCTIONS and self._next.text == "(":
            return self._call(name, token.at)
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in FUNCTIONS:
            raise Trouble(f"{name} needs its arguments in brackets: {name}(…).", token.at)
        near = get_close_matches(name, [*FUNCTIONS, *CONSTANTS], n=1)
        hint = f" Did you mean {near[0]}?" if near else " Only numbers, functions, pi and e are."
        raise Trouble(f"{shorten(token.text)} is not known.{hint}", token.at)

    def _call(self, name: str, at: int) -> Number:
        self._expect("(")
        values = self._arguments(")")
        function = FUNCTIONS[name]
        if len(values) < function.fewest or len(values) > (function.most or len(values)):
            raise Trouble(
                f"{name} takes {_wanted(function)}, not {len(values)}. {_NO_THOUSANDS}",
                at,
            )
        return _placed(at, function.body, *values)

    def _arguments(self, closing: str) -> list[Number]:
        values: list[Number] = []
        commas: set[str] = set()
        while not self._accept(closing):
            if values:
                self._expect(",")
                commas.add(self._comma())
                if {"grouping", "spaced"} <= commas:
                    raise Trouble(f"one number or two? {_NO_THOUSANDS}", self._next.at)
            if closing == ")" and self._accept("["):
                values += self._arguments("]")
            else:
                values.append(self._expression(0).value)
        return values

    def _comma(self) -> Literal["grouping", "spaced", "plain"]:
        """How the comma just read is written: in sum(1,234, 5) the first may be within a number."""
        before, comma, after = self._tokens[self._at - 2 : self._at + 1]
        if not after.glued:
            return "spaced"
        groups = before.kind == after.kind == "number" and comma.glued and before.text.isdigit()
        return "grouping" if groups and len(after.text.partition(".")[0]) == _GROUP else "plain"


def _wanted(function: Function) -> str:
    if function.most is None:
        return f"at least {function.fewest}"
    if function.most == function.fewest:
        return f"{function.fewest} argument{'s' * (function.fewest > 1)}"
    return f"{function.fewest} to {function.most} arguments"


def _combined(sign: str, left: _Operand, right: _Operand, at: int) -> _Operand:
    if sign in {"+", "-"} and right.percent and not left.percent and left.value != 1:
        raise Trouble(
            f"a percentage of what? Write a * (1 {sign} p%) for one of a itself, or a {sign} (p%).", at
        )
    value = _placed(at, combine, sign, left.value, right.value)
    return _Operand(value, left.percent and right.percent and sign in {"+", "-"})


def _placed(at: int, function: Callable[..., Number], *values: Any) -> Number:
    """The value of a function, with the place told if there is none."""
    try:
        return function(*values)
    except Trouble as trouble:
        if trouble.at is None:
            raise Trouble(trouble.words, at) from None
        raise
