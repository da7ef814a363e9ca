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
from rightcall.builtin.calculator import FUNCTIONS, LONGEST, MOST_BITS, Trouble, evaluate
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
        return str(trouble)


@given(EXPRESSIONS)
def test_whole_numbers_come_out_as_python_has_them(expression):
    expected = in_python(expression)
    found = outcome(expression)
    if not str(found).endswith("the result is too large to be worked out."):
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
    "a percentage of something": ("15% of 80", 12),
    "a percentage times something": ("15% * 80", 12),
    "a percentage alone": ("15%", Fraction(3, 20)),
    "percentages together": ("5% + 3%", Fraction(2, 25)),
    "a percentage more": ("80 * (1 + 15%)", 92),
    "a percentage more, among arguments": ("max(1 + 15%, 1 - 15%)", Fraction(23, 20)),
    "lines from other systems": ("(1\r\n+ 2)", 3),
    "what is left over": ("10 % 3", 1),
    "what is left over, in a word": ("10 mod 3", 1),
    "what is left over of a negative": ("10 % -3", -2),
    "thousands": ("1,234,567.5 + 1", Fraction(2469137, 2)),
    "thousands in brackets": ("2 * (1,234 + 1)", 2470),
    "commas between arguments": ("max(1,234)", 234),
    "arguments without spaces": ("max(5,200,3)", 200),
    "a list": ("sum([1, 2, 3])", 6),
    "a list among others": ("sum([1, 2], 3)", 6),
    "an exact root": ("sqrt(0.25) + 4**(1/2)", Fraction(5, 2)),
    "a factorial": ("factorial(5) / factorial(3)", 20),
    "ways to choose": ("comb(52, 5)", 2598960),
    "rounding down and up": ("floor(-1.5) + ceil(1.2)", 0),
    "a large exact root": ("sqrt(10**400)", 10**200),
    "a name with its module": ("math.gcd(12, 18)", 6),
    "a name in capitals": ("SQRT(4)", 2),
    "an exponent": ("1.5e3 + 2E-1", Fraction(15002, 10)),
    "underscores": ("1_000 * 2", 2000),
    "no digits before the point": (".5 + 5.", Fraction(11, 2)),
    "an equals sign at the end": ("17 * 23 =", 391),
    "an equals sign and a question": ("17*23=?", 391),
    "a middle one": ("median(5, 1, 3, 2)", Fraction(5, 2)),
    "the middle of three": ("median(5, 1, 3)", 3),
    "a mean": ("mean(1, 2, 4)", Fraction(7, 3)),
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
        ("ln(10)", math.log(10)),
        ("ln(0.1)", -math.log(10)),
        ("log(1000, 10)", 3),
        ("log2(2**300)", 300),
        ("2 * π * pi / e", 2 * math.pi * math.pi / math.e),
        ("exp(-1)", 1 / math.e),
        ("exp(-40)", math.exp(-40)),
        ("atan(1e300)", math.pi / 2),
        ("sin(1e-10)", 1e-10),
        ("sin(10**22)", math.sin(1e22)),
        ("tan(1) // 1", 1),
        ("median(pi, 1)", (math.pi + 1) / 2),
    ],
)
def test_what_has_no_exact_value_comes_close(expression, value):
    assert evaluate(expression) == pytest.approx(value, rel=1e-14)


TOO_LARGE = "the result is too large to be worked out."
PLAIN = "Numbers in brackets are written without thousands separators."
PERCENT = "a percentage of what? Write a * (1 + 10%) for 10% of a more, or a + 10/100."
REFUSED = {
    "a tower of powers": ("9**9**9", f'In "9**9**9": {TOO_LARGE}'),
    "a power one too high": ("1 + 10**3901", f'In "10**3901": {TOO_LARGE}'),
    "a long way round": ("99**999*99**999", f'In "99**999*99**999": {TOO_LARGE}'),
    "a large factorial": ("factorial(5000)", f'In "factorial(5000)": {TOO_LARGE}'),
    "many ways to choose": ("comb(10**9, 5*10**8)", f'In "comb(10**9, 5*10**8)": {TOO_LARGE}'),
    "an exponential": ("exp(1000)", f'In "exp(1000)": {TOO_LARGE}'),
    "a large number by pi": ("1e400 * pi", f'In "1e400 * pi": {TOO_LARGE}'),
    "a number of many digits": ("1e99999", 'the number "1e99999" has more than 3,900 digits.'),
    "zero below": ("1 / (2 - 2)", 'In "1 / (2 - 2)": division by zero.'),
    "nothing left over": ("7 % 0", 'In "7 % 0": division by zero.'),
    "zero to the minus one": ("0 ** -1", 'In "0 ** -1": division by zero.'),
    "the root of a negative": ("2 + sqrt(-4)", 'In "sqrt(-4)": it has no real value.'),
    "a power without a real value": ("(-8) ** 0.5", 'In "(-8) ** 0.5": it has no real value.'),
    "outside of a sine": ("asin(2)", 'In "asin(2)": it has no real value.'),
    "a logarithm of nothing": ("ln(0)", 'In "ln(0)": it has no real value.'),
    "a logarithm without base": (
        "log(100)",
        'In "log(100)": log needs its base: write ln(x), log10(x), log2(x) or log(x, base).',
    ),
    "a logarithm to the base 1": ("log(2, 1)", 'In "log(2, 1)": division by zero.'),
    "half a factorial": ("factorial(2.5)", 'In "factorial(2.5)": factorial takes whole numbers only.'),
    "a negative factorial": ("factorial(-1)", 'In "factorial(-1)": it has no real value.'),
    "a factorial's sign": ("5!", '"5!" is no arithmetic expression. For n! write factorial(n).'),
    "a percentage of who knows": (
        "200 + 10%",
        "a percentage of what? Write a * (1 + 10%) for 10% of a more, or a + 10/100.",
    ),
    "a percentage less than who knows": (
        "(100 + 100) - 10%",
        "a percentage of what? Write a * (1 + 10%) for 10% of a more, or a + 10/100.",
    ),
    "nothing": ("  ", '"" is no arithmetic expression.'),
    "half a sum": ("2 +", '"2 +" is no arithmetic expression.'),
    "two numbers": ("5 5", '"5 5" is no arithmetic expression.'),
    "a product without sign": ("2(3)", '"2(3)" is no arithmetic.'),
    "a comma for a point": ("3,5", "write numbers without commas, and decimals with a point."),
    "thousands that are none": ("1,23 + 1", "write numbers without commas, and decimals with a point."),
    "too many arguments": ("sqrt(1,234)", f"sqrt takes 1 arguments, not 2. {PLAIN}"),
    "thousands between arguments": (
        "sum(1,500, 2,500)",
        "is 1,500 one number or two? Write 1500, or a space after each comma.",
    ),
    "noughts alone": ("sum(1,000,2)", "000 is no number. Write numbers without commas."),
    "a percentage after a product by 1": ("20*1 + 10%", PERCENT),
    "a percentage after an exponent of 1": ("2e1 + 10%", PERCENT),
    "too few arguments": ("comb(1)", f"comb takes 2 arguments, not 1. {PLAIN}"),
    "no arguments": ("max()", f"max takes 1 to 1,000 arguments, not 0. {PLAIN}"),
    "a name that is near": ("sqr(2)", '"sqr" is not known. Did you mean sqrt?'),
    "a name that is not": (
        "apples + 2",
        '"apples" is not known. Only numbers, functions, pi and e are.',
    ),
    "a comparison": ("3 > 2", '"3 > 2" is no arithmetic.'),
    "places without end": (
        "round(1, 99)",
        'In "round(1, 99)": round takes a whole number of places, 30 at most.',
    ),
    "half a place": (
        "round(1, 0.5)",
        'In "round(1, 0.5)": round takes a whole number of places, 30 at most.',
    ),
}


@pytest.mark.parametrize(("expression", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_worked_out_is_said_in_words(expression, words):
    with pytest.raises(Trouble) as caught:
        evaluate(expression)
    assert str(caught.value) == words


HOSTILE = {
    "a call of Python": ("__import__('os').system('id')", "is no arithmetic."),
    "a call of Python without quotes": ("__import__(os)", '"__import__" is not known.'),
    "a module's other function": ("math.pow(2, 3)", '"pow" is not known.'),
    "a module of a module": ("math.os.system(1)", "is no arithmetic."),
    "another module": ("os.system(1)", "is no arithmetic."),
    "an attribute": ("(1).real", "is no arithmetic."),
    "an attribute of a name": ("pi.real", "is no arithmetic."),
    "a dunder of a number": ("1 .__class__", "is no arithmetic."),
    "a text": ("'a' * 9", "is no arithmetic."),
    "bytes": ("b'a' * 9", "is no arithmetic."),
    "a list": ("[1] * 9", "is no arithmetic."),
    "a truth": ("True + 1", '"True" is no arithmetic.'),
    "dots": ("...", "is no arithmetic."),
    "bits": ("1 << 9", "is no arithmetic."),
    "a matrix": ("1 @ 2", "is no arithmetic."),
    "a lambda": ("lambda: 1", "is no arithmetic."),
    "a walrus": ("(x := 5)", "is no arithmetic."),
    "a formatted string": ("f'{1}'", "is no arithmetic."),
    "a comprehension": ("[n for n in 1]", "is no arithmetic."),
    "a condition": ("1 if 2 else 3", "is no arithmetic."),
    "a keyword": ("None", "is no arithmetic."),
    "another keyword": ("not 1", "is no arithmetic."),
    "a statement": ("import os", "is no arithmetic expression."),
    "starred arguments": ("max(*[1, 2])", "is no arithmetic."),
    "named arguments": ("round(1, places=2)", "is no arithmetic."),
    "a call of a constant": ("pi(3)", '"pi" is not known.'),
    "a subscript": ("pi[0]", "is no arithmetic."),
    "a NUL": ("1 + \x00", "is no arithmetic expression."),
    "a comment": ("1 # 2", "# is not understood."),
    "a backslash at a line's end": ("1 + \\\n2", "is no arithmetic expression."),
    "a semicolon": ("1; 2", "is no arithmetic expression."),
    "digits of another script": ("\u0661 + 1", "is no arithmetic expression."),
    "letters of another alphabet": ("\u0440i", "is not known."),
    "a literal of many digits": ("1" * 1001, "1,000 is the most."),
    "an exponent of many digits": (f"1e{'9' * 900}", "has more than 3,900 digits."),
    "a complex number": ("1j", "is no arithmetic."),
    "text of any length": ("+" * 10**7, "1,000 is the most."),
    "brackets of any depth": ("(" * 1000, "is no arithmetic expression."),
    "lists in lists": ("sum(" + "[" * 100 + "1" + "]" * 100 + ")", "is no arithmetic."),
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
    assert outcome("1 + \ud800") == '"1 + ?" is no arithmetic expression.'


DEEP = "it nests too deep to be worked out."
LONG = {
    "a sum": ("+".join(["1"] * 500), 500),
    "a sum with spaces": (" - ".join(["1"] * 250), -248),
    "products": ("*".join(["1"] * 500), 1),
    "percentages": ("+".join(["1%"] * 333), Fraction(333, 100)),
    "arguments": ("sum(" + ",".join(["1"] * 497) + ")", 497),
    "roots of roots": ("sqrt(" * 48 + "1" + ")" * 48, 1),
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
    assert said <= {"500", DEEP, "no room at all"}
    assert "500" in said


@pytest.mark.parametrize("opening", ["(", "-", "2**", "sqrt(", "-("])
def test_nesting_has_a_bottom_and_breaks_nothing(opening):
    expression = opening * ((LONGEST - 1) // (len(opening) + 1)) + "1"
    expression += ")" * expression.count("(")
    said = str(outcome(expression))
    assert said in {"1", "-1", DEEP} or "is no arithmetic expression" in said or "too large" in said


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


def test_the_longest_sums_do_not_hold_up_an_event_loop():
    # Each part's text was found by splitting all of it, letter by letter.
    times = []
    for _ in range(5):
        started = process_time()
        evaluate("+".join(["1%"] * 333))
        times.append(process_time() - started)
    assert min(times) < 0.04


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"log"}))
def test_every_function_takes_its_fewest_arguments(name):
    arguments = ", ".join(["1"] * FUNCTIONS[name].fewest)
    assert math.isfinite(evaluate(f"{name}({arguments})"))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("17 * 23", ("returned", "391")),
        ("0.1 + 0.2", ("returned", "0.3")),
        ("1 / 0", ("failed", 'In "1 / 0": division by zero.')),
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
