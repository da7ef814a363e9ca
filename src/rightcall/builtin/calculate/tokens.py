"""An expression's text into tokens, each with the place it stands at."""

import re
from fractions import Fraction
from typing import Literal, TypeAlias

from msgspec import Struct

from rightcall.core.jsontext import shorten
from rightcall.errors import ToolFailure

LONGEST = 1000
"""Characters. What a person would want worked out in one go is far shorter."""
MOST_DIGITS = 3900
"""Digits of any number on the way. Python itself writes out no more than 4300."""

Kind: TypeAlias = Literal["number", "name", "sign", "end"]

# What keyboards, word processors and models write for the signs of arithmetic.
_SPELLINGS = {
    "^": "**",
    **dict.fromkeys("\u00d7\u00b7\u22c5\u2217\u2022\uff0a", "*"),
    **dict.fromkeys("\u00f7\u2215\u2044\uff0f", "/"),
    **dict.fromkeys("\u2212\u2013\uff0d", "-"),
    "\uff0b": "+",
    "\uff05": "%",
}
_SPOKEN = {
    "plus": "+",
    "minus": "-",
    "times": "*",
    "multiplied by": "*",
    "divided by": "/",
    "percent": "%",
    "squared": "²",
    "cubed": "³",
    r"\times": "*",
    r"\cdot": "*",
    r"\div": "/",
}
_WORD = re.compile(rf"({'|'.join(map(re.escape, _SPOKEN))})\b".replace(r"\ ", r"\s+"), re.IGNORECASE)
_NAMES = {"π": "pi", "τ": "tau", "√": "sqrt"}
_NUMBER = re.compile(r"(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?", re.ASCII)
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?![\d,])(?:\.\d+)?", re.ASCII)
_NAME = re.compile(r"(?:math\.)?([A-Za-z_][A-Za-z0-9_]*)", re.ASCII)
_SIGN = re.compile(r"\*\*|//|[-+*/%()\[\],!°=?]|.", re.DOTALL)
_TIMES = re.compile(r"[xX](?=[\s\d(.])", re.ASCII)
_ENDS_OPERAND = frozenset(")]!%°²³")


class Token(Struct, frozen=True, gc=False):
    """One number, name or sign."""

    kind: Kind
    text: str
    at: int
    """The character it begins with, counted from 1."""
    value: Fraction = Fraction(0)
    glued: bool = False
    """Nothing stands between it and the token before."""


class Trouble(ToolFailure):
    """What is wrong with an expression, and where."""

    code = "calculation"

    def __init__(self, message: str, at: int | None = None) -> None:
        super().__init__(message if at is None else f"At character {at}: {message}")
        self.words = message
        self.at = at


def tokenize(text: str) -> list[Token]:
    """The tokens of an expression, the last one its end. Raises Trouble."""
    if len(text) > LONGEST:
        raise Trouble(f"the expression has {len(text):,} characters; {LONGEST:,} is the most.")
    tokens: list[Token] = []
    brackets: list[bool] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        # Within a function's own brackets a comma stands between two arguments.
        in_call = bool(brackets) and brackets[-1]
        token, end = _token(text, at, tokens[-1] if tokens else None, in_call=in_call)
        if token.text in {"(", "["}:
            brackets.append(token.text == "[" or bool(tokens and tokens[-1].kind == "name"))
        elif token.text in {")", "]"} and brackets:
            brackets.pop()
        tokens.append(token)
        at = end
    tokens.append(Token("end", "", len(text) + 1))
    return tokens


def _token(text: str, at: int, before: Token | None, *, in_call: bool) -> tuple[Token, int]:
    glued = at > 0 and not text[at - 1].isspace()
    after_operand = before is not None and (before.kind == "number" or before.text in _ENDS_OPERAND)
    if after_operand and (times := _TIMES.match(text, at)):
        return Token("sign", "*", at + 1, glued=glued), times.end()
    if not in_call and (grouped := _THOUSANDS.match(text, at)):
        return _number(grouped[0].replace(",", ""), at, glued=glued), grouped.end()
    if number := _NUMBER.match(text, at):
        return _number(number[0], at, glued=glued), number.end()
    if word := _WORD.match(text, at):
        sign = _SPOKEN[" ".join(word[1].lower().split())]
        return Token("sign", sign, at + 1, glued=glued or sign == "%"), word.end()
    if name := _NAME.match(text, at):
        return Token("name", name[1], at + 1, glued=glued), name.end()
    if text[at] in _NAMES:
        return Token("name", _NAMES[text[at]], at + 1, glued=glued), at + 1
    found = _SIGN.match(text, at)
    assert found is not None
    spelled = _SPELLINGS.get(found[0], found[0])
    if len(found[0]) == 1 and spelled not in _KNOWN:
        raise Trouble(f"{shorten(found[0])} is not understood.", at + 1)
    return Token("sign", spelled, at + 1, glued=glued), found.end()


_KNOWN = frozenset("+-*/%()[],!°=?²³") | {"**"}


def _number(digits: str, at: int, *, glued: bool) -> Token:
    mantissa, _, exponent = digits.lower().partition("e")
    if len(mantissa) > MOST_DIGITS or abs(int(exponent or 0)) > MOST_DIGITS:
        raise Trouble(f"the number has more than {MOST_DIGITS:,} digits.", at + 1)
    if mantissa.strip("_") != mantissa or "__" in mantissa or "_." in mantissa or "._" in mantissa:
        raise Trouble("a _ stands only between two digits of a number.", at + 1)
    return Token("number", digits, at + 1, Fraction(digits), glued=glued)
