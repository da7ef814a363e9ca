"""Expressions into numbers, and arithmetic as a tool."""

import math
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builtin.kit import told
from rightcall import builtin
from rightcall.builtin.arithmetic import FUNCTIONS, MOST_BITS, Trouble
from rightcall.builtin.calculator import DEEPEST, LONGEST, evaluate
from rightcall.core.tool import Facts

LEAVES = st.integers(0, 10**6).map(str)


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner)
    return st.one_of(
        pair.map(lambda parts: f"{parts[0]} {parts[1]} {parts[2]}"),
        inner.map(lambda text: f"({text})"),
        inner.map(lambda text: f"(-({text}))"),
        st.tuples(inner, st.integers(-3, 4)).map(lambda parts: f"({parts[0]})**{parts[1]}"),
        st.lists(inner, min_size=1, max_size=4).map(lambda items: f"max({', '.join(items)})"),
    )


EXPRESSIONS = st.recursive(LEAVES, grown, max_leaves=12)


def in_python(expression: str) -> Fraction | None:
    """What Python makes of it when every number is a Fraction; None where it divides by zero."""
    exact = "".join(
        f"Fraction({piece})" if piece.isdigit() and not powers else piece
        for piece, powers in pieces(expression)
    )
    try:
        return Fraction(eval(exact, {"Fraction": Fraction, "max": lambda *values: max(values)}))
    except ZeroDivisionError:
        return None


def pieces(expression: str) -> list[tuple[str, bool]]:
    """The digits and the rest of it; exponents stay whole, as Python keeps only such powers exact."""
    found: list[tuple[str, bool]] = []
    for sign in expression:
        if found and sign.isdigit() and found[-1][0].isdigit():
            found[-1] = (found[-1][0] + sign, found[-1][1])
        else:
            before = "".join(piece for piece, _ in found)
            found.append((sign, before.endswith(("**", "**-"))))
    return found


def outcome(expression: str) -> Fraction | float | str:
    try:
        return evaluate(expression)
    except Trouble as trouble:
        return trouble.words


@given(EXPRESSIONS)
def test_whole_numbers_come_out_as_python_has_them(expression):
    expected = in_python(expression)
    bounds = {"the result is too large to be worked out.", f"it nests more than {DEEPEST} deep."}
    found = outcome(expression)
    if found not in bounds:
        assert "division by zero" in str(found) if expected is None else found == expected


DECIMALS = st.decimals(-(10**9), 10**9, places=4, allow_nan=False, allow_infinity=False)


@given(DECIMALS, st.sampled_from("+-*"), DECIMALS)
def test_decimals_are_exact(left, sign, right):
    operations = {"+": left + right, "-": left - right, "*": left * right}
    assert evaluate(f"({left}) {sign} ({right})") == Fraction(operations[sign])


@given(DECIMALS, st.integers(0, 4))
def test_rounding_goes_away_from_zero_at_the_half(value, places):
    expected = value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    assert evaluate(f"round({value}, {places})") == Fraction(expected)


@given(st.text(alphabet="0123456789+-*/%^().,!e xπ√°=sqrtmax[]", max_size=60) | st.text(max_size=40))
def test_any_text_gives_a_number_or_words(text):
    found = outcome(text)
    assert found.endswith((".", "?")) if isinstance(found, str) else math.isfinite(found)


SAME = {
    "a power by a caret": ("2^10", 1024),
    "a power of a power from the right": ("2**3**2", 512),
    "a sign after a power sign": ("2**-2", Fraction(1, 4)),
    "a sign before a power": ("-2**2", -4),
    "several signs": ("--+-3", -3),
    "signs from a keyboard for print": ("3 \u2212 2 \u00d7 4 \u00f7 2", -1),
    "an x for times": ("17x23 x 2", 782),
    "words for signs": ("17 times 23 plus 9 minus 3 squared divided  by 3", 397),
    "more words for signs": ("2 multiplied by 3 cubed", 54),
    "a word for a percentage": ("15 percent of 80", 12),
    "signs of LaTeX": (r"2 \times 3 \cdot 4 \div 6", 4),
    "a percentage of something": ("15% of 80", 12),
    "a percentage times something": ("15% * 80", 12),
    "a percentage alone": ("15%", Fraction(3, 20)),
    "percentages together": ("5% + 3%", Fraction(2, 25)),
    "a percentage more": ("80 * (1 + 15%)", 92),
    "a percentage as a plain number": ("200 + (10%)", Fraction(2001, 10)),
    "what is left over": ("10 % 3", 1),
    "what is left over, in a word": ("10 mod 3", 1),
    "what is left over of a negative": ("10 % -3", -2),
    "thousands": ("1,234,567.5 + 1", Fraction(2469137, 2)),
    "commas between arguments": ("max(1,234)", 234),
    "thousands in brackets of their own": ("max((1,234), 5)", 1234),
    "arguments without spaces": ("max(5,200,3)", 200),
    "a list": ("sum([1, 2, 3])", 6),
    "a list among others": ("sum([1, 2], 3)", 6),
    "a factorial": ("5! / 3!", 20),
    "squares and cubes": ("2² + 3³", 31),
    "a root by its sign": ("√16 + √(9)", 7),
    "an exact root": ("sqrt(0.25) + cbrt(-27) + 8**(1/3)", Fraction(-1, 2)),
    "a large exact root": ("sqrt(10**400)", 10**200),
    "a name with its module": ("math.gcd(12, 18)", 6),
    "a name in capitals": ("SQRT(4)", 2),
    "an exponent": ("1.5e3 + 2E-1", Fraction(15002, 10)),
    "underscores": ("1_000 * 2", 2000),
    "no digits before the point": (".5 + 5.", Fraction(11, 2)),
    "an equals sign at the end": ("17 * 23 =", 391),
    "an equals sign and a question": ("17*23=?", 391),
    "a middle one": ("median(5, 1, 3, 2)", Fraction(5, 2)),
    "a mean": ("mean(1, 2, 4)", Fraction(7, 3)),
    "ways to choose": ("comb(52, 5) + perm(5, 2)", 2598980),
    "all but a few of many": ("comb(10**6, 10**6 - 1)", 10**6),
    "rounding down and up": ("floor(-1.5) + ceil(1.2) + trunc(-1.9)", -1),
    "functions for signs": ("pow(2, 3) + mod(7, 4)", 11),
    "zero of a sine": ("sin(pi) + cos(pi/2)", 0.0),
    "one exactly": ("cos(0) * exp(0)", 1),
    "whole numbers of any size": ("lcm(2**61 - 1, 2)", 2**62 - 2),
}


@pytest.mark.parametrize(("expression", "value"), SAME.values(), ids=SAME)
def test_what_people_and_models_write_is_understood(expression, value):
    assert evaluate(expression) == value
    assert isinstance(evaluate(expression), float) == isinstance(value, float)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("sqrt(2)", math.sqrt(2)),
        ("2 ** 0.5", math.sqrt(2)),
        ("sin(1) + cos(1)", math.sin(1) + math.cos(1)),
        ("sin(30°)", 0.5),
        ("ln(10)", math.log(10)),
        ("ln(0.1)", -math.log(10)),
        ("log(1000, 10)", 3),
        ("log2(2**3000)", 3000),
        ("log10(10**3000)", 3000),
        ("exp(-1)", 1 / math.e),
        ("exp(-40)", math.exp(-40)),
        ("atan(1e300)", math.pi / 2),
        ("sin(1e-10)", 1e-10),
        ("sin(10**22)", math.sin(1e22)),
        ("2 * pi * tau / e", 2 * math.pi * math.tau / math.e),
        ("atan2(1, 2)", math.atan2(1, 2)),
        ("tan(1) // 1", 1),
        ("degrees(pi) % 7", 5),
        ("cbrt(2)", 2 ** (1 / 3)),
        ("median(pi, 1)", (math.pi + 1) / 2),
    ],
)
def test_what_has_no_exact_value_comes_close(expression, value):
    assert evaluate(expression) == pytest.approx(value, rel=1e-14)


COMMAS = (
    "a comma stands between a function's arguments, or before each three digits of a number; "
    "decimals begin with a point."
)
PLAIN = "Numbers in brackets are written without thousands separators."
REFUSED = {
    "a tower of powers": ("9**9**9", "At character 2: the result is too large to be worked out."),
    "a power one too high": ("10**3901", "At character 3: the result is too large to be worked out."),
    "a long way round": ("99**999*99**999", "At character 8: the result is too large to be worked out."),
    "a large factorial": ("5000!", "At character 5: the result is too large to be worked out."),
    "a factorial of one": ("5!!", "At character 2: !! is not understood; write (n!)! for it."),
    "many ways to choose": (
        "comb(10**9, 5*10**8)", "At character 1: the result is too large to be worked out."
    ),
    "an exponential": ("exp(1000)", "At character 1: the result is too large to be worked out."),
    "a large number by pi": ("1e400 * pi", "At character 7: the result is too large to be worked out."),
    "a number of many digits": ("1e99999", "At character 1: the number has more than 3,900 digits."),
    "zero below": ("1 / (2 - 2)", "At character 3: division by zero."),
    "zero to the minus one": (
        "0 ** -1", "At character 3: 0 has no negative power: that would be a division by zero."
    ),
    "the root of a negative": ("sqrt(-4)", "At character 1: a negative number has no real square root."),
    "a power without a real value": (
        "(-8) ** 0.5", "At character 6: a negative number has no real power that is not whole."
    ),
    "outside of a sine": ("asin(2)", "At character 1: asin has no real value there."),
    "a logarithm of nothing": ("ln(0)", "At character 1: ln takes only numbers above 0."),
    "a logarithm without base": (
        "log(100)", "At character 1: log needs its base: write ln(x), log10(x), log2(x) or log(x, base)."
    ),
    "a logarithm to the base 1": (
        "log(2, 1)", "At character 1: log takes only numbers above 0, and a base that is not 1."
    ),
    "half a factorial": ("2.5!", "At character 4: factorial takes whole numbers only."),
    "a negative factorial": ("(-1)!", "At character 5: factorial takes no number below 0."),
    "a percentage of who knows": (
        "200 + 10%",
        "At character 5: a percentage of what? Write a * (1 + p%) for one of a itself, or a + (p%).",
    ),
    "nothing": ("  ", "there is nothing to work out."),
    "half a sum": ("2 +", "At character 4: a number is expected, not the end."),
    "an open bracket": ("(2 + 3", 'At character 7: ")" is expected, not the end.'),
    "a closed bracket": ("2)", 'At character 2: ")" is not expected; is an operator missing before it?'),
    "two numbers": ("5 5", 'At character 3: "5" is not expected; is an operator missing before it?'),
    "a product without sign": (
        "2(3)", 'At character 2: "(" is not expected; is an operator missing before it?'
    ),
    "a comma for a point": ("3,5", f"At character 2: {COMMAS}"),
    "thousands among arguments": (
        "sum(1,234, 5,678)", f"At character 12: one number or two? {PLAIN}"
    ),
    "too many arguments": ("sqrt(1,234)", f"At character 1: sqrt takes 1 argument, not 2. {PLAIN}"),
    "too few arguments": ("comb(1)", f"At character 1: comb takes 2 arguments, not 1. {PLAIN}"),
    "no arguments": ("max()", f"At character 1: max takes at least 1, not 0. {PLAIN}"),
    "no brackets": ("sin 2", "At character 1: sin needs its arguments in brackets: sin(…)."),
    "a name that is near": ("sqr(2)", 'At character 1: "sqr" is not known. Did you mean sqrt?'),
    "a name that is not": (
        "apples + 2", 'At character 1: "apples" is not known. Only numbers, functions, pi and e are.'
    ),
    "code": ("__import__('os')", "At character 12: \"'\" is not understood."),
    "a comparison": ("3 > 2", 'At character 3: ">" is not understood.'),
    "an equation": ("2 + 2 = 4", "At character 7: leave out the = and what follows it."),
    "a lost underscore": ("1_.5", "At character 1: a _ stands only between two digits of a number."),
    "places without end": ("round(1, 99)", "At character 1: round keeps at most 30 places."),
}  # fmt: skip


@pytest.mark.parametrize(("expression", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_worked_out_is_said_in_words(expression, words):
    with pytest.raises(Trouble) as caught:
        evaluate(expression)
    assert str(caught.value) == words


HOSTILE = {
    "a call of Python": ("__import__('os').system('id')", '"\'" is not understood.'),
    "a call of Python without quotes": ("__import__(os)", '"__import__" is not known.'),
    "an attribute": ("(1).real", '"." is not understood.'),
    "an attribute of a name": ("pi.real", '"." is not understood.'),
    "a dunder of a number": ("1 .__class__", '"." is not understood.'),
    "a lambda": ("lambda: 1", '":" is not understood.'),
    "a lambda without its colon": ("lambda x", '"lambda" is not known.'),
    "a walrus": ("(x := 5)", '":" is not understood.'),
    "a formatted string": ("f'{1}'", '"\'" is not understood.'),
    "a comprehension": ("[n for n in 1]", 'a number is expected, not "[".'),
    "a condition": ("1 if 2 else 3", '"if" is not expected'),
    "a keyword": ("None", '"None" is not known.'),
    "another keyword": ("not 1", '"not" is not known.'),
    "starred arguments": ("max(*[1, 2])", 'a number is expected, not "*".'),
    "named arguments": ("round(1, places=2)", '"places" is not known.'),
    "a call of a number": ("2(3)", '"(" is not expected'),
    "a call of a constant": ("pi(3)", '"(" is not expected'),
    "a subscript": ("pi[0]", '"[" is not expected'),
    "a NUL": ("1 + \x00", '"\\u0000" is not understood.'),
    "a comment": ("1 # 2", '"#" is not understood.'),
    "a backslash at a line's end": ("1 + \\\n2", r'"\\" is not understood.'),
    "a semicolon": ("1; 2", '";" is not understood.'),
    "digits of another script": ("\u0661 + 1", "is not understood."),
    "letters of another alphabet": ("\u0440i", "is not understood."),
    "a literal of many digits": ("1" * 1001, "1,000 is the most."),
    "an exponent of many digits": (f"1e{'9' * 900}", "the number has more than 3,900 digits."),
    "a complex number": ("1j", '"j" is not expected'),
    "text of any length": ("+" * 10**7, "1,000 is the most."),
    "brackets of any depth": ("(" * 1000, "nests more than 50 deep."),
    "signs and brackets in turn": ("-(" * 500, "nests more than 50 deep."),
    "signs anew in each bracket": (("-" * 30 + "(1+") * 30, "nests more than 50 deep."),
    "powers anew in each bracket": ("2**(" * 250, "nests more than 50 deep."),
    "lists in lists": ("sum(" + "[" * 400, 'a number is expected, not "[".'),
    "a word before a raised number": ("3 squared³", '"squared" is not expected'),
}


@pytest.mark.parametrize(("expression", "words"), HOSTILE.values(), ids=HOSTILE)
async def test_hostile_text_is_refused_in_words(expression, words):
    if len(expression) > 16 * LONGEST:
        with pytest.raises(Trouble, match=words):
            evaluate(expression)
        return
    with pytest.raises(Trouble) as caught:
        evaluate(expression)
    assert words in str(caught.value)
    assert "Traceback" not in (await told(builtin.calculate(), expression=expression))[1]


def test_half_a_pair_of_surrogates_is_refused_in_words():
    assert outcome("1 + \ud800") == 'a number is expected, not "?".'


LONG = {
    "a sum": ("+".join(["1"] * 500), 500),
    "a sum with spaces": (" - ".join(["1"] * 250), -248),
    "products": ("*".join(["1"] * 500), 1),
    "percentages": ("+".join(["1%"] * 333), Fraction(333, 100)),
    "raised again and again": ("1" + "²" * 999, 1),
    "hundredths of hundredths": ("(5" + "%" * 900 + ")*0", 0),
    "arguments": ("sum(" + ",".join(["1"] * 497) + ")", 497),
    "roots of roots": ("√(" * 48 + "1" + ")" * 48, 1),
}


@pytest.mark.parametrize(("expression", "value"), LONG.values(), ids=LONG)
def test_what_is_long_and_flat_is_worked_out_however_deep_its_tree(expression, value):
    assert evaluate(expression) == value


def test_a_caller_deep_in_a_stack_is_told_so_and_not_broken():
    def deeper(left: int) -> str:
        try:
            return deeper(left - 1) if left else str(outcome("+".join(["1"] * 500)))
        except RecursionError:
            return "no room at all"

    said = {deeper(depth) for depth in range(100, 1000, 25)}
    assert said <= {"500", "there is too little room here to work it out.", "no room at all"}
    assert "500" in said


@pytest.mark.parametrize("opening", ["(", "-", "2**", "√(", "max("])
def test_nesting_has_a_bottom(opening):
    with pytest.raises(Trouble, match=f"nests more than {DEEPEST} deep"):
        evaluate(opening * 120)


def test_an_expression_has_a_length():
    assert evaluate("+".join("1" * (LONGEST // 2))) == LONGEST // 2
    with pytest.raises(Trouble, match=r"the expression has 1,001 characters; 1,000 is the most\."):
        evaluate("1" * (LONGEST + 1))


def test_the_most_that_is_worked_with_is_still_quick():
    largest = f"{2}**{MOST_BITS - 1}"
    started = process_time()
    with pytest.raises(Trouble, match="too large"):
        evaluate("/".join([f"({largest} - 1)"] * 50))
    evaluate("+".join([f"1/{number}" for number in range(100, 260)]))
    assert process_time() - started < 2.0


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"log"}))
def test_every_function_takes_its_fewest_arguments(name):
    arguments = ", ".join(["1"] * FUNCTIONS[name].fewest)
    assert math.isfinite(evaluate(f"{name}({arguments})"))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("17 * 23", ("returned", "391")),
        ("0.1 + 0.2", ("returned", "0.3")),
        ("1 / 0", ("failed", "At character 3: division by zero.")),
    ],
)
async def test_a_model_reads_the_number_or_what_is_wrong(expression, expected):
    assert await told(builtin.calculate(), expression=expression) == expected


@pytest.mark.parametrize("example", builtin.calculate().examples, ids=lambda each: each["expression"])
async def test_its_examples_work(example):
    assert (await told(builtin.calculate(), **example))[0] == "returned"


def test_it_touches_nothing():
    tool = builtin.calculate()
    assert (tool.effect, tool.approval) == ("pure", False)
    assert tool.facts == Facts(untrusted=False, private=False, reach="nothing", targets=())
