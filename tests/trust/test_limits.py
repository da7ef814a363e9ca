"""What a change may cost, if the user says so: computed from the prices, or else asked about."""

import pytest

from rightcall.trust.asked.limits import limit_in
from trust.nursery import nursery, runs

SWAP = {"order_id": "N-3", "plant_id": "P501", "card_id": "visa_7"}


def swaps(words, new):
    return runs(nursery(words), "exchange_plant", **SWAP, new_plant_id=new)


@pytest.mark.parametrize(
    ("limit", "is_within"),
    [
        ("but only if it costs less than 100", True),
        ("but only if it costs less than 80 euros", False),
        ("as long as the difference is under $40", True),
        ("as long as the extra cost is below 20 euros", False),
        ("provided that the surcharge is at most \u20ac30", True),
        ("if it costs less than 80", False),
        ("if the price is below 100", True),
        ("unless it costs more than 80", False),
        ("unless the difference is over 40", True),
        ("which may cost at most $80", False),
        ("but it must not cost more than 80", False),
    ],
)
def test_a_plant_that_costs_more(limit, is_within):
    words = f"Exchange the palm for one of 150 cm, {limit}. Charge my Visa."
    assert swaps(words, "P502") is is_within
    assert not swaps(words, "P503")


def test_no_limit_no_question():
    assert swaps("Exchange the palm for one of 150 cm. Charge my Visa.", "P502")


def test_a_limit_for_something_else():
    words = (
        "Exchange the palm for one of 150 cm. Charge my Visa. Now something else, please. "
        "I want a new fern, but only if the fern costs less than 10."
    )
    assert swaps(words, "P502")


def test_where_no_price_shows_the_cost_it_is_asked_about():
    words = "Change N-3 to courier with my Visa{}."
    call = {"order_id": "N-3", "speed": "courier", "card_id": "visa_7"}
    assert runs(nursery(words.format("")), "change_shipping", **call)
    limited = words.format(", but only if it is less than 15 euros")
    assert not runs(nursery(limited), "change_shipping", **call)


def test_a_number_that_limits_no_cost():
    assert limit_in("Cancel it if it takes more than 5 days.", "") is None
    found = limit_in("Only go ahead if the total extra cost is less than $1,000.", "")
    assert found is not None
    assert (found.most, found.is_extra) == (1000, True)
