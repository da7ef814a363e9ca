"""Numbers into what a model reads."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.builtin.calculator import evaluate, show

SHOWN = {
    "a whole number": (Fraction(391), "391"),
    "a large one": (Fraction(10**40 + 1), "1" + "0" * 39 + "1"),
    "a decimal": (Fraction(3, 10), "0.3"),
    "a negative decimal": (Fraction(-3, 1000), "-0.003"),
    "many places": (Fraction(1, 1024), "0.0009765625"),
    "no end": (Fraction(1, 3), "0.333333333333333 (rounded from 1/3)"),
    "no end, below zero": (Fraction(-22, 7), "-3.14285714285714 (rounded from -22/7)"),
    "a long fraction": (Fraction(10**30, 7), "1.42857142857143e+29 (rounded)"),
    "a tiny exact one": (Fraction(1, 10**40), "1e-40"),
    "a float": (math.sqrt(2), "1.4142135623731 (rounded)"),
    "a float that is whole": (2.0, "2 (rounded)"),
    "a float of nothing": (-0.0, "0 (rounded)"),
    "a large float": (1.5e300, "1.5e+300 (rounded)"),
    "a large plain float": (1e20, "100000000000000000000 (rounded)"),
    "a small float": (1.25e-10, "1.25e-10 (rounded)"),
}


@pytest.mark.parametrize(("value", "text"), SHOWN.values(), ids=SHOWN)
def test_a_number_is_shown(value, text):
    assert show(value) == text


@given(st.integers(-(10**40), 10**40), st.integers(0, 30))
def test_what_is_shown_without_a_note_is_the_number(numerator, places):
    value = Fraction(numerator, 10**places)
    assert Fraction(show(value)) == value


@given(st.floats(-1e300, 1e300, allow_subnormal=False))
def test_a_float_is_shown_to_fifteen_digits_and_can_be_read_back(value):
    text = show(value).removesuffix(" (rounded)")
    assert float(evaluate(text)) == pytest.approx(value, rel=1e-14)
