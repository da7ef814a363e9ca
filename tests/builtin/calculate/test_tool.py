"""Arithmetic as a tool."""

import pytest

from builtin.kit import told
from rightcall import builtin
from rightcall.core.tool import Facts


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
