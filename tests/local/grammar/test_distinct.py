"""Items that may not come twice: each array admits just what the gate does, or a little more."""

import json
from itertools import product

import pytest

from local.grammar.llama_judge import GbnfJudge
from local.grammar.sample import LarkJudge
from rightcall.core.schema import Schema
from rightcall.local.grammar.build import grammar_for_output, unheld

ITEMS = {
    "words": ({"enum": ["a", "ab", "b"]}, ["a", "ab", "b"]),
    "truth or nothing": ({"type": ["boolean", "null"]}, [True, False, None]),
    "a number in two ways": ({"enum": [1, 1.0, "1"]}, [1, "1"]),
    "all but some": ({"enum": ["a", "b", "c"], "not": {"enum": ["b"]}}, ["a", "b", "c"]),
    "by a reference": ({"$ref": "#/$defs/known"}, ["x", "y"]),
}
COUNTS = [{}, {"minItems": 2}, {"maxItems": 2}, {"minItems": 1, "maxItems": 2}, {"maxItems": 0}]


def judges(schema):
    yield LarkJudge(grammar_for_output(schema, syntax="lark").text)
    yield GbnfJudge(grammar_for_output(schema, syntax="gbnf").text)


@pytest.mark.parametrize("counts", COUNTS, ids=json.dumps)
@pytest.mark.parametrize("case", ITEMS)
def test_of_a_few_values_none_comes_twice(case, counts):
    items, values = ITEMS[case]
    schema = {
        "type": "array",
        "items": items,
        "uniqueItems": True,
        "$defs": {"known": {"enum": ["x", "y"]}},
        **counts,
    }
    gate = Schema(schema)
    rows = [row for size in range(5) for row in product(values, repeat=size)]
    wanted = [row for row in rows if not gate.problems([*row])]
    for judge in judges(schema):
        assert [row for row in rows if judge.accepts(json.dumps(row))] == wanted
    assert not any("uniqueItems" in each for each in unheld(schema))


def test_of_more_values_none_comes_twice_in_a_row():
    schema = {"type": "array", "items": {"enum": [*"abcdefg"]}, "uniqueItems": True, "minItems": 1}
    for judge in judges(schema):
        assert judge.accepts(json.dumps([*"gfedcba"]))
        assert judge.accepts('["a"]')
        assert not judge.accepts("[]")
        assert not judge.accepts(json.dumps([*"abb"]))
        # The gate refuses it.
        assert judge.accepts(json.dumps([*"aba"]))
    assert unheld(schema)[0] == "$.uniqueItems"


def test_a_count_goes_before_the_order_of_more_values():
    schema = {"type": "array", "items": {"enum": [*"abcdefg"]}, "uniqueItems": True, "maxItems": 2}
    for judge in judges(schema):
        assert judge.accepts(json.dumps([*"ab"]))
        assert not judge.accepts(json.dumps([*"abc"]))
