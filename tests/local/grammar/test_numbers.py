import random
import re
from decimal import Decimal

import pytest

from local.grammar.sample import as_regex
from rightcall.local.grammar.scalars import (
    LARGEST_BOUND,
    MOST_DIGITS,
    MOST_PLACES,
    Interval,
    integer,
    number,
    numeric,
)


def within(value, low, high, above, below):
    is_over = low is None or (value > low if above else value >= low)
    return is_over and (high is None or (value < high if below else value <= high))


def bounds(low, high, *, above=False, below=False):
    exact = [None if limit is None else Decimal(limit) for limit in (low, high)]
    return Interval(*exact, above=above, below=below)


@pytest.mark.parametrize("seed", range(4))
def test_integers_are_admitted_exactly_within_their_bounds(seed):
    chance = random.Random(seed)
    for _ in range(150):
        low = chance.choice([None, chance.randint(-300, 300), chance.randint(-(10**18), 10**18)])
        high = chance.choice([None, chance.randint(-300, 300), chance.randint(-(10**18), 10**18)])
        above, below = chance.random() < 0.3, chance.random() < 0.3
        admitted = re.compile(as_regex(integer(bounds(low, high, above=above, below=below))))
        near = [limit + step for limit in (low, high) if limit is not None for step in (-1, 0, 1)]
        for value in [*near, 0, *(chance.randint(-400, 400) for _ in range(20))]:
            if abs(value) < 10**18:
                expected = within(value, low, high, above, below)
                assert bool(admitted.fullmatch(str(value))) is expected, (low, high, above, below, value)


@pytest.mark.parametrize("seed", range(4))
def test_numbers_are_admitted_exactly_within_their_bounds(seed):
    chance = random.Random(seed)
    for _ in range(150):
        places = chance.randint(0, 3)
        low, high = (
            chance.choice([None, Decimal(chance.randint(-3000, 3000)).scaleb(-places)]) for _ in range(2)
        )
        if low is None and high is None:
            continue
        above, below = chance.random() < 0.3, chance.random() < 0.3
        admitted = re.compile(as_regex(number(Interval(low, high, above=above, below=below))))
        near = [
            limit + step * Decimal(1).scaleb(-chance.randint(0, 5))
            for limit in (low, high)
            if limit is not None
            for step in (-1, 0, 1)
        ]
        far = [Decimal(chance.randint(-4000, 4000)).scaleb(-chance.randint(0, 4)) for _ in range(20)]
        for value in [*near, *far]:
            text = f"{value:f}".lstrip("-") if value == 0 else f"{value:f}"
            expected = within(value, low, high, above, below)
            assert bool(admitted.fullmatch(text)) is expected, (low, high, above, below, text)


def test_a_number_without_bounds_still_ends():
    admitted = re.compile(as_regex(number(bounds(None, None))))
    assert admitted.fullmatch("-12.5e+10")
    assert admitted.fullmatch("1" * MOST_DIGITS)
    assert not admitted.fullmatch("1" * (MOST_DIGITS + 1))
    assert admitted.fullmatch("0." + "1" * MOST_PLACES)
    assert not admitted.fullmatch("0." + "1" * (MOST_PLACES + 1))
    assert not admitted.fullmatch("01")


@pytest.mark.parametrize(
    ("low", "high", "multiple", "expected"),
    [(0, 10, 5, ["0", "5", "10"]), (-7, 7, 3, ["-6", "-3", "0", "3", "6"]), (1, 2, 5, [])],
    ids=["from zero", "around zero", "none"],
)
def test_multiples_in_a_short_range_are_listed(low, high, multiple, expected):
    admitted = re.compile(as_regex(integer(bounds(low, high), multiple)))
    assert [str(value) for value in range(-20, 20) if admitted.fullmatch(str(value))] == expected


@pytest.mark.parametrize("multiple", [2, 5, 8, 10, 25, 100])
@pytest.mark.parametrize("low", [None, 0, 1, 7])
def test_multiples_without_end_are_told_by_their_last_digits(low, multiple):
    admitted = re.compile(as_regex(integer(bounds(low, None), multiple)))
    least = -2100 if low is None else low
    for value in range(-2100, 2100):
        is_wanted = value >= least and value % multiple == 0
        assert bool(admitted.fullmatch(str(value))) is is_wanted, value


@pytest.mark.parametrize(("low", "high"), [(None, 99), (None, -7), (-30, None), (None, 0)])
@pytest.mark.parametrize("multiple", [4, 10, 25])
def test_multiples_with_one_end_on_the_other_side_of_zero(low, high, multiple):
    admitted = re.compile(as_regex(integer(bounds(low, high), multiple)))
    for value in range(-2100, 2100):
        is_wanted = (low is None or value >= low) and (high is None or value <= high)
        assert bool(admitted.fullmatch(str(value))) is (is_wanted and value % multiple == 0), value


def test_a_multiple_is_held_by_the_factor_that_its_last_digits_tell():
    node, unheld = numeric("integer", {"multipleOf": 12, "minimum": 0})
    admitted = re.compile(as_regex(node))
    found = [value for value in range(-50, 500) if admitted.fullmatch(str(value))]
    assert found == [*range(0, 500, 4)]
    assert unheld == ["multipleOf"]


@pytest.mark.parametrize(
    ("low", "high", "multiple"),
    [(None, None, 7), (0, 10**6, 3), (LARGEST_BOUND + 1, None, 1)],
    ids=["multiples without end", "too many multiples", "beyond what readers agree on"],
)
def test_what_cannot_be_said_of_integers_is_left(low, high, multiple):
    assert integer(bounds(low, high), multiple) is None


@pytest.mark.parametrize(
    ("keywords", "admitted", "refused", "left"),
    [
        ({"minimum": 0, "maximum": 2**64}, [0, 7, 2**64, 2**70], [-1, -1080], ["maximum"]),
        ({"minimum": -(2**64), "exclusiveMaximum": 5}, [4, -9, -(2**70)], [5, 2**64], ["minimum"]),
        ({"minimum": -(2**64), "maximum": 2**64}, [0, -(2**70), 2**70], [], ["minimum", "maximum"]),
        ({"minimum": 2**64}, [0, 2**64], [], ["minimum"]),
        ({"minimum": 0, "maximum": 2**64, "multipleOf": 7}, [0, 7], [-7], ["multipleOf", "maximum"]),
    ],
    ids=["from zero", "up to five", "both too large", "one, too large", "a multiple"],
)
def test_an_integer_keeps_one_bound_if_the_other_is_too_large(keywords, admitted, refused, left):
    node, unheld = numeric("integer", keywords)
    found = re.compile(as_regex(node))
    assert all(found.fullmatch(str(value)) for value in admitted)
    assert not any(found.fullmatch(str(value)) for value in refused)
    assert unheld == left


def test_bounds_of_very_many_digits_are_left():
    assert number(bounds("0." + "1" * 21, None)) is None
    assert number(bounds(None, -(10**20))) is None


@pytest.mark.parametrize(
    ("low", "high", "admitted", "refused"),
    [
        (0, None, ["0", "0.5", "9" * 60, "0.00000001"], ["-1", "-0.5"]),
        (None, 0, ["0", "-" + "9" * 60, "-0.00000001"], ["1", "0.1"]),
        ("0.12345678", 10**12, ["0.12345678", "999999999999.9"], ["0.12345677", "1000000000000.1"]),
    ],
    ids=["from zero", "up to zero", "fine and wide"],
)
def test_numbers_of_many_digits_are_within_their_bounds(low, high, admitted, refused):
    found = re.compile(as_regex(number(bounds(low, high))))
    assert [text for text in [*admitted, *refused] if found.fullmatch(text)] == admitted


def test_places_after_the_point_can_be_counted():
    found = re.compile(as_regex(number(bounds(0, 10), 2)))
    texts = ["0", "1.5", "9.99", "10", "10.00"]
    assert [text for text in [*texts, "9.999", "10.01"] if found.fullmatch(text)] == texts
