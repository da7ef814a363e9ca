"""Which of several alike is to go back: by comparison with the others, or by another of its numbers."""

import pytest

from rightcall.trust.asked.compared import fitting, wishes_in
from trust.nursery import OLIVE, ROSE, SMALL_OLIVE, order, plant, returns

TALL = order("N-2", "delivered", "mastercard_8", OLIVE)
SMALL = order("N-5", "delivered", "visa_7", SMALL_OLIVE)


def sends_tall(words, *more):
    return returns(words, "N-2", "mastercard_8", "P401", orders=(TALL, SMALL, *more))


def sends_small(words, *more):
    return returns(words, "N-5", "visa_7", "P402", orders=(TALL, SMALL, *more))


@pytest.mark.parametrize(
    "words",
    [
        "I have two olive trees and need one. Return the more expensive one.",
        "Return the dearer olive tree.",
        "Return the olive tree that is more expensive yet not prettier.",
    ],
)
def test_the_dearer_of_two(words):
    assert sends_tall(words)
    assert not sends_small(words)


def test_the_cheaper_of_two():
    assert sends_small("Return the cheaper olive tree.")
    assert not sends_tall("Return the cheaper olive tree.")


def test_none_if_several_are():
    twin = order("N-6", "delivered", "visa_7", plant("P403", "Olive Tree", 80.0))
    assert not sends_tall("Return the more expensive olive tree.", twin)


def test_a_comparison_of_something_else():
    words = "Return the olive tree in N-2. I got the roses cheaper elsewhere."
    assert sends_tall(words, order("N-7", "delivered", "visa_7", ROSE))


def test_by_another_number_of_it():
    words = "Return what has the number 9002 in my order N-1."
    assert returns(words, "N-1", "visa_7", "P201")
    assert not returns(words, "N-1", "visa_7", "P101")


def test_not_by_a_number_that_several_have():
    two = order("N-1", "delivered", "visa_7", plant("P201", "Fern", 12.0), plant("P202", "Moss", 9.0))
    words = "Return what has the number 9002 in my order N-1."
    assert not returns(words, "N-1", "visa_7", "P201", orders=(two, TALL))


def test_what_has_no_order_is_not_compared():
    wishes = wishes_in("Exchange it for a shorter bamboo material one.", ())
    now = {"length": "90 cm", "deck material": "bamboo"}
    offers = [
        {"length": "80 cm", "deck material": "oak"},
        {"length": "95 cm", "deck material": "bamboo"},
    ]
    assert wishes is not None
    assert fitting(wishes, offers, now) == [0]
