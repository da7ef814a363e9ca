"""A "not" in brackets forbids what stands in them, and what stands before only if it refers to that."""

import pytest

from rightcall.trust.provenance import Provenance

ANN, BOB = "ann@firm.example", "bob@firm.example"


def vouches(text, address):
    provenance = Provenance()
    provenance.vouch(text, "user")
    return provenance.of(address)[0] == "user"


@pytest.mark.parametrize(
    "aside",
    [
        "(I could not find her number)",
        "(number not remembered)",
        "(Bob must not get it)",
        "(you won't find her on the list, I think)",
    ],
)
def test_a_statement_in_brackets_forbids_nothing_outside(aside):
    assert vouches(f"Send the report to {ANN} {aside} today.", ANN)


@pytest.mark.parametrize(
    "aside", ["(don't!)", "(never)", "(she must not get it)", "(that is not allowed)"]
)
def test_an_order_in_brackets_and_one_that_refers_back_forbid(aside):
    assert not vouches(f"Send the report to {ANN} {aside}.", ANN)


def test_what_stands_in_the_brackets_stays_forbidden():
    text = f"Send the report to {ANN} (my boss says that {BOB} must not get it)."
    assert vouches(text, ANN)
    assert not vouches(text, BOB)
