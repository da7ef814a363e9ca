r"""The ``calculate`` tool: evaluates arithmetic as people and models write it, within bounds.

An expression goes through three steps. It is cut into tokens. The tokens are checked and written as a
skeleton in Python, in which every number, name and bracket of the expression is an ``n``::

    15% of (1,240 + x)   ->   n[n]*n(n+n)

Python's own parser parses the skeleton, and the tree is evaluated. Precedence is Python's: ``-2 ** 2``
is -4, powers group to the right, all else to the left. Nothing is compiled or executed, and no character
of the expression reaches the parser, so neither code nor a literal of a million digits can.
"""

import ast
import math
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from fractions import Fraction
from itertools import chain
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from rightcall.builtin.arithmetic import (
    CONSTANTS,
    FUNCTIONS,
    MOST_DIGITS,
    Number,
    Trouble,
    combine,
    factorial,
    show,
)
from rightcall.core.facts import Facts
from rightcall.core.jsontext import JsonObject, shorten
from rightcall.core.limits import Limits
from rightcall.core.sanitize import encodable
from rightcall.core.tool import Tool

LONGEST = 1000
"""Longest expression, in characters. What a person would want computed at once is far shorter."""
DEEPEST = 50
"""How deep brackets, signs and powers may nest."""

_PARAMETERS: JsonObject = {
    "type": "object",
    "properties": {
        "expression": {
            "type": "string",
            "description": "The expression to work out, such as (17 + 5) * 23.",
        }
    },
    "required": ["expression"],
    "additionalProperties": False,
}
_DESCRIPTION = (
    "Work out an arithmetic expression exactly. Use it for every calculation. "
    "Knows + - * / // % ** ( ), percentages (15% of 80), n!, pi, e, and sqrt, cbrt, abs, round, floor, "
    "ceil, min, max, sum, mean, median, gcd, lcm, comb, perm, factorial, exp, ln, log10, log2, "
    "log(x, base), sin, cos, tan (radians)."
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
    """The value of an expression. Raises Trouble, whose message says what is wrong and where."""
    if len(expression) > LONGEST:
        raise Trouble(f"the expression has {len(expression):,} characters; {LONGEST:,} is the most.")
    # Models often end an expression with =, as a person would.
    written, columns = _skeleton(_tokens(re.sub(r"=\s*\??\s*$", "", encodable(expression))))
    try:
        return _value(ast.parse(written, mode="eval").body, columns)[0]
    except (RecursionError, MemoryError):
        raise Trouble("there is too little room here to work it out.") from None  # the caller's stack


# Characters that keyboards, word processors and models use for arithmetic operators.
_SPELLINGS = {
    "^": "**",
    **dict.fromkeys("\u00d7\u00b7\u22c5\u2217\u2022\uff0a", "*"),
    **dict.fromkeys("\u00f7\u2215\u2044\uff0f", "/"),
    **dict.fromkeys("\u2212\u2013\uff0d", "-"),
    "\uff0b": "+", "\uff05": "%", "π": "pi", "τ": "tau", "√": "sqrt",
    "plus": "+", "minus": "-", "times": "*", "multiplied by": "*", "divided by": "/",
    "percent": "%", "squared": "²", "cubed": "³", r"\times": "*", r"\cdot": "*", r"\div": "/",
}  # fmt: skip
_SPOKEN = "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in _SPELLINGS if len(word) > 1)
_TOKEN = re.compile(
    rf"""(?P<thousands>[0-9]{{1,3}}(?:,[0-9]{{3}})+(?![0-9,])(?:\.[0-9]+)?)
    |(?P<number>(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?)
    |(?P<word>(?i:{_SPOKEN})\b)
    |(?P<name>(?:math\.)?[A-Za-z_][A-Za-z0-9_]*|[πτ√])
    |(?P<sign>\*\*|//|.)""",
    re.DOTALL | re.VERBOSE,
)
_NUMBER = re.compile(r"[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][+-]?[0-9]+)?")
_TIMES = re.compile(r"[xX](?=[ \t\n\r\f\v0-9(.])")
_SIGNS = frozenset("+-*/%()[],!°=?²³") | {"**", "//"}
_OPERATORS = frozenset({"+", "-", "*", "/", "//", "%", "**"})
_POSTFIXES: Mapping[str, Callable[[Number], Number]] = {
    "!": factorial,
    "%": lambda value: combine("/", value, Fraction(100)),
    "°": lambda value: combine("*", value, math.pi / 180),
    "²": lambda value: combine("**", value, Fraction(2)),
    "³": lambda value: combine("**", value, Fraction(3)),
}
_GROUP = 3


class _Token(Struct, frozen=True, gc=False):
    kind: Literal["number", "name", "sign", "end"]
    text: str
    at: int
    """The position of its first character, counted from 1."""
    value: Fraction = Fraction(0)
    glued: bool = False
    """No white space separates it from the token before."""


def _tokens(text: str) -> list[_Token]:
    """The tokens of an expression, ending with an end token."""
    tokens: list[_Token] = []
    brackets: list[bool] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        # Inside a function's brackets a comma separates two arguments.
        token, at = _token(text, at, tokens, in_call=bool(brackets) and brackets[-1])
        if token.text in {"(", "["}:
            brackets.append(token.text == "[" or bool(tokens and tokens[-1].kind == "name"))
        elif token.text in {")", "]"} and brackets:
            brackets.pop()
        if token.kind == "number" and tokens and tokens[-1].text.lower() == "sqrt":
            tokens += [_Token("sign", "(", token.at), token, _Token("sign", ")", token.at, glued=True)]
        else:
            tokens.append(token)
    if not tokens:
        raise Trouble("there is nothing to work out.")
    return [*tokens, _Token("end", "", len(text) + 1)]


def _token(text: str, at: int, before: list[_Token], *, in_call: bool) -> tuple[_Token, int]:
    glued = at > 0 and not text[at - 1].isspace()
    ends_operand = before and (before[-1].kind == "number" or before[-1].text in {*_POSTFIXES, *")]"})
    if ends_operand and _TIMES.match(text, at):
        return _Token("sign", "*", at + 1, glued=glued), at + 1
    found = _TOKEN.match(text, at)
    if found is not None and found["thousands"] and in_call:
        found = _NUMBER.match(text, at)
    assert found is not None
    written, end = found[0], found.end()
    match found.lastgroup:
        case "sign" | "word":
            sign = _SPELLINGS.get(" ".join(written.lower().split()), written)
            if sign not in _SIGNS:
                raise Trouble(f"{shorten(written)} is not understood.", at + 1)
            return _Token("sign", sign, at + 1, glued=glued or written.lower() == "percent"), end
        case "name":
            name = written.removeprefix("math.") if written.isascii() else _SPELLINGS[written]
            return _Token("name", name, at + 1, glued=glued), end
        case _:
            digits = written.replace(",", "")
            return _Token("number", digits, at + 1, _read(digits, at + 1), glued=glued), end


def _read(digits: str, at: int) -> Fraction:
    mantissa, _, exponent = digits.lower().partition("e")
    if len(mantissa) > MOST_DIGITS or abs(int(exponent or 0)) > MOST_DIGITS:
        raise Trouble(f"the number has more than {MOST_DIGITS:,} digits.", at)
    if mantissa.strip("_") != mantissa or "__" in mantissa or "_." in mantissa or "._" in mantissa:
        raise Trouble("a _ stands only between two digits of a number.", at)
    return Fraction(digits)


class _Bracket(Struct):
    """An open bracket, or the expression as a whole."""

    closing: str = ""
    takes_commas: bool = False
    """It holds a function's arguments."""
    nested: int = 1
    """The nesting depth of the next operand here: signs before it and powers count."""
    commas: set[str] = field(default_factory=set)


def _skeleton(tokens: list[_Token]) -> tuple[str, Mapping[int, _Token]]:
    """The tokens as Python, and the token for each column of it. Refuses what is not an expression."""
    written, columns, levels = "", {}, [_Bracket()]
    before, wants_operand = tokens[-1], True
    for at, token in enumerate(tokens[:-1]):
        level, following = levels[-1], tokens[at + 1]
        piece = (_begun if wants_operand else _continued)(token, before, following, level)
        if piece in {")", "]"}:
            levels.pop()
        elif wants_operand and piece in {"n(", "(", "["}:
            levels.append(_Bracket("]" if piece == "[" else ")", takes_commas=piece != "n("))
        elif piece not in {"n", "[n]"}:
            # Signs and powers nest to the right; all other operators start again at the bracket's depth.
            level.nested = level.nested + 1 if wants_operand or piece == "**" else 1
        if sum(each.nested for each in levels) > DEEPEST:
            raise Trouble(f"it nests more than {DEEPEST} deep.", token.at)
        if not wants_operand and token.kind == "name":
            token = _Token("sign", piece, token.at)  # noqa: PLW2901 - of and mod are operators here
        columns[len(written)] = before = token
        written += piece
        wants_operand = piece not in {"n", "[n]", ")", "]"} or _is_function(token)
    if wants_operand or len(levels) > 1:
        (_begun if wants_operand else _continued)(tokens[-1], before, tokens[-1], levels[-1])
    return written, columns


def _is_function(token: _Token) -> bool:
    return token.kind == "name" and token.text.lower() in FUNCTIONS


def _begun(token: _Token, before: _Token, following: _Token, level: _Bracket) -> str:
    """The Python text for a token where an operand should begin."""
    if token.kind == "number":
        return "n"
    if token.kind == "name":
        return _named(token, following)
    if token.text == "(":
        return "(" if _is_function(before) else "n("
    if token.text in {"+", "-"}:
        return token.text
    if level.takes_commas:
        if token.text == "[" and level.closing == ")" and before.text in {"(", ","}:
            return "["
        if token.text == level.closing and before.text in {"(", "["}:
            return token.text
    raise Trouble(f"a number is expected, not {_what(token)}.", token.at)


def _named(token: _Token, following: _Token) -> str:
    name = token.text.lower()
    if name in CONSTANTS or (name in FUNCTIONS and following.text == "("):
        return "n"
    if name in FUNCTIONS:
        raise Trouble(f"{name} needs its arguments in brackets: {name}(…).", token.at)
    near = get_close_matches(name, [*FUNCTIONS, *CONSTANTS], n=1)
    hint = f" Did you mean {near[0]}?" if near else " Only numbers, functions, pi and e are."
    raise Trouble(f"{shorten(token.text)} is not known.{hint}", token.at)


def _continued(token: _Token, before: _Token, following: _Token, level: _Bracket) -> str:
    """The Python text for a token after an operand."""
    if token.kind == "sign" and token.text == level.closing:
        return token.text
    if token.text == "," and level.takes_commas:
        _refuse_thousands(before, token, following, level)
        return ","
    if before.text != "]":
        if token.text == "!" == following.text:
            raise Trouble("!! is not understood; write (n!)! for it.", token.at)
        if token.text in _POSTFIXES and (token.text != "%" or _is_percent(token, following)):
            return "[n]"
        if (sign := _operator(token)) in _OPERATORS:
            return sign
    raise _unexpected(token, level)


def _operator(token: _Token) -> str:
    return {"of": "*", "mod": "%"}.get(token.text.lower(), token.text)


def _is_percent(token: _Token, following: _Token) -> bool:
    """Whether a % means a percentage and not the remainder of a division."""
    if following.text in {"+", "-"}:
        # "15% - 3" and "10 % -3": people who write a percentage put no space before the sign.
        return token.glued
    if following.kind == "name":
        return _operator(following) != following.text
    return following.kind != "number" and following.text != "("


def _refuse_thousands(before: _Token, comma: _Token, after: _Token, level: _Bracket) -> None:
    """Refuse commas some of which may belong to a number: in sum(1,234, 5) the first one may."""
    is_digits = before.kind == after.kind == "number" and comma.glued and before.text.isdigit()
    if not after.glued:
        level.commas.add("spaced")
    elif is_digits and len(after.text.partition(".")[0]) == _GROUP:
        level.commas.add("grouping")
    if len(level.commas) > 1:
        raise Trouble(f"one number or two? {_NO_THOUSANDS}", after.at)


_NO_THOUSANDS = "Numbers in brackets are written without thousands separators."


def _what(token: _Token) -> str:
    return "the end" if token.kind == "end" else shorten(token.text)


def _unexpected(token: _Token, level: _Bracket) -> Trouble:
    if level.closing:
        words = f"{shorten(',' if level.takes_commas else ')')} is expected, not {_what(token)}."
    elif token.text == ",":
        words = (
            "a comma stands between a function's arguments, or before each three digits of a "
            "number; decimals begin with a point."
        )
    elif token.text == "=":
        words = "leave out the = and what follows it."
    else:
        words = f"{_what(token)} is not expected; is an operator missing before it?"
    return Trouble(words, token.at)


_Operand: TypeAlias = tuple[Number, bool]
"""A number, and whether it was written as a percentage."""


def _value(node: ast.expr, tokens: Mapping[int, _Token]) -> _Operand:
    """The value of a skeleton's syntax tree."""
    # Sums and postfixes nest to the left as deep as they are long, so that side is iterated.
    above: list[ast.BinOp | ast.Subscript] = []
    while isinstance(node, ast.BinOp | ast.Subscript):
        above.append(node)
        node = node.left if isinstance(node, ast.BinOp) else node.value
    operand = _innermost(node, tokens)
    for each in reversed(above):
        if isinstance(each, ast.BinOp):
            sign = tokens[each.left.end_col_offset or 0]
            operand = _combined(sign, operand, _value(each.right, tokens))
        else:
            sign = tokens[each.value.end_col_offset or 0]
            operand = _placed(sign, _POSTFIXES[sign.text], operand[0]), sign.text == "%"
    return operand


def _innermost(node: ast.expr, tokens: Mapping[int, _Token]) -> _Operand:
    token = tokens[node.col_offset]
    match node:
        case ast.Name():
            return (token.value if token.kind == "number" else CONSTANTS[token.text.lower()]), False
        case ast.UnaryOp(operand=inner):
            value, percent = _value(inner, tokens)
            return (-value if token.text == "-" else value), percent
        case ast.Call(args=[inner]) if token.text == "(":
            return _value(inner, tokens)[0], False
        case ast.Call(args=arguments):
            lists = [each.elts if isinstance(each, ast.List) else [each] for each in arguments]
            return _called(token, [_value(each, tokens)[0] for each in chain(*lists)]), False
        case _:
            raise Trouble("it is not understood.", token.at)


def _called(token: _Token, values: list[Number]) -> Number:
    name = token.text.lower()
    fewest, most = FUNCTIONS[name].fewest, FUNCTIONS[name].most
    if fewest <= len(values) <= (most or len(values)):
        return _placed(token, FUNCTIONS[name].body, *values)
    wanted = f"{fewest} to {most} arguments" if most else f"at least {fewest}"
    if most == fewest:
        wanted = f"{fewest} argument{'s' * (fewest > 1)}"
    raise Trouble(f"{name} takes {wanted}, not {len(values)}. {_NO_THOUSANDS}", token.at)


def _combined(token: _Token, left: _Operand, right: _Operand) -> _Operand:
    sign = token.text
    is_sum = sign in {"+", "-"}
    if is_sum and right[1] and not left[1] and left[0] != 1:
        instead = f"Write a * (1 {sign} p%) for one of a itself, or a {sign} (p%)."
        raise Trouble(f"a percentage of what? {instead}", token.at)
    return _placed(token, combine, sign, left[0], right[0]), is_sum and left[1] and right[1]


def _placed(token: _Token, function: Callable[..., Number], *values: Any) -> Number:
    """The value of a function call; an error names the place in the expression."""
    try:
        return function(*values)
    except Trouble as trouble:
        raise Trouble(trouble.words, token.at) from None
