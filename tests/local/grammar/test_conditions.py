"""Conditions hold: each schema admits just what the gate does, of all values of a few members."""

import json
import re
from itertools import combinations, permutations, product

import pytest

from local.grammar.sample import LarkJudge
from rightcall.core.schema import Schema
from rightcall.local.grammar.build import grammar_for_output, unheld

MEMBERS = {"a": {"enum": ["x", "y"]}, "b": {"type": "null"}, "c": {"type": "boolean"}}
OBJECT = {"type": "object", "properties": MEMBERS, "additionalProperties": False}
IS_X = {"properties": {"a": {"const": "x"}}, "required": ["a"]}

CONDITIONS = {
    "not required": {"not": {"required": ["b"]}},
    "not two at once": {"not": {"required": ["a", "b"]}},
    "not a value": {"not": IS_X},
    "not either": {"not": {"anyOf": [{"required": ["b"]}, IS_X]}},
    "if a value": {"if": IS_X, "then": {"required": ["b"]}, "else": {"required": ["c"]}},
    "if there or not": {"if": {"properties": {"a": {"const": "x"}}}, "then": {"required": ["b"]}},
    "if in a row": {
        "allOf": [
            {"if": IS_X, "then": {"properties": {"c": {"const": True}}}},
            {"if": {"properties": {"a": {"const": "y"}}}, "then": {"not": {"required": ["c"]}}},
        ]
    },
    "if by its type": {
        "if": {"properties": {"c": {"type": "string"}}, "required": ["c"]},
        "then": False,
        "else": {"required": ["a"]},
    },
    "dependentRequired": {"dependentRequired": {"a": ["b"], "b": ["c"]}},
    "dependentSchemas": {"dependentSchemas": {"b": IS_X}},
    "dependencies": {"dependencies": {"a": ["b"], "c": {"properties": {"a": {"const": "y"}}}}},
    "one of two": {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    "one of two that share members": {"oneOf": [{"required": ["a", "c"]}, {"required": ["b", "c"]}]},
    "one of two with words that mean nothing": {
        "oneOf": [{"required": ["a"], "b": {}}, {"required": ["b"]}]
    },
    "one of two with a condition": {
        "oneOf": [{"required": ["a"], "not": {"required": ["c"]}}, {"required": ["b"]}]
    },
    "not unless": {"not": {"required": ["a"], "not": {"required": ["b"]}}},
    "one of three": {"oneOf": [{"required": [name]} for name in MEMBERS]},
    "one within the other": {"oneOf": [{"required": ["a"]}, {"required": ["a", "b"]}]},
    "a condition within one": {
        "if": {"required": ["a"]},
        "then": {"if": {"required": ["b"]}, "then": {"required": ["c"]}},
    },
}


def values():
    for a, b, c in product((..., "x", "y"), (..., None), (..., True, False)):
        given = {"a": a, "b": b, "c": c}
        yield {name: value for name, value in given.items() if value is not ...}


@pytest.mark.parametrize("case", CONDITIONS)
def test_a_condition_holds(case):
    schema = {**OBJECT, **CONDITIONS[case]}
    gate, judge = Schema(schema), LarkJudge(grammar_for_output(schema, syntax="lark").text)
    for value in values():
        assert judge.accepts(json.dumps(value)) is not bool(gate.problems(value)), value
    assert [each for each in unheld(schema) if not each.startswith("(stricter")] == []


@pytest.mark.parametrize("excluded", [["a"], ["a", "ab", ""], ["abc", "abd"], ["é"]])
@pytest.mark.parametrize("kind", ["string", ["string", "null"]])
def test_any_text_but_some(excluded, kind):
    schema = {"type": kind, "not": {"enum": excluded}}
    judge = LarkJudge(grammar_for_output(schema, syntax="lark").text)
    for text in ["", "a", "ab", "abc", "abd", "abcd", "b", "é", '"', "\n"]:
        assert judge.accepts(json.dumps(text, ensure_ascii=False)) is (text not in excluded), text


def test_members_come_in_any_order_and_none_of_a_few_twice():
    two = LarkJudge(grammar_for_output({**OBJECT, "maxProperties": 2}, syntax="lark").text)
    assert two.accepts('{"b": null, "a": "x"}')
    schema = {**OBJECT, "properties": {name: MEMBERS[name] for name in "ab"}, "required": ["b"]}
    judge = LarkJudge(grammar_for_output(schema, syntax="lark").text)
    assert all(
        judge.accepts(text) for text in ('{"b": null}', '{"b": null, "a": "x"}', '{"a": "x", "b": null}')
    )
    assert not any(
        judge.accepts(text) for text in ("{}", '{"a": "x"}', '{"b": null, "a": "x", "b": null}')
    )
    three = LarkJudge(grammar_for_output(OBJECT, syntax="lark").text)
    written = {"a": '"a": "x"', "b": '"b": null', "c": '"c": true'}
    accepted = [
        "".join(names)
        for names in permutations("abc")
        if three.accepts("{" + ", ".join(written[name] for name in names) + "}")
    ]
    assert len(accepted) == 6
    assert not three.accepts('{"a": "x", "b": null, "a": "x"}')


def test_an_alternative_that_nothing_fits_is_none():
    nothing = {"not": {"type": ["string", "number", "array", "object", "boolean", "null"]}}
    judge = LarkJudge(grammar_for_output({"anyOf": [{"enum": ["x"]}, nothing]}, syntax="lark").text)
    assert judge.accepts('"x"')
    assert not judge.accepts('"y"')
    # Where there is nothing else, the gate says so.
    only = {"type": "object", "properties": {"a": {"anyOf": [nothing]}}, "required": ["a"]}
    assert LarkJudge(grammar_for_output(only, syntax="lark").text).accepts('{"a": 1}')


def test_one_of_three_sets_of_members():
    sets = [["a"], ["b", "c"], ["d", "e"]]
    schema = {
        "type": "object",
        "properties": {name: {"const": 1} for name in "abcde"},
        "additionalProperties": False,
        "oneOf": [{"required": each} for each in sets],
    }
    judge = LarkJudge(grammar_for_output(schema, syntax="lark").text)
    for names in (names for size in range(6) for names in combinations("abcde", size)):
        is_wanted = sum(set(each) <= set(names) for each in sets) == 1
        assert judge.accepts(json.dumps(dict.fromkeys(names, 1))) is is_wanted, names


def test_conditions_that_nothing_fits_are_left_to_the_gate():
    schema = {**OBJECT, "required": ["a", "b"], "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
    judge = LarkJudge(grammar_for_output(schema, syntax="lark").text)
    assert judge.accepts('{"a": "x", "b": null}')
    assert "$.oneOf" in unheld(schema)


def test_a_schema_at_a_place_of_its_own_is_read_as_one():
    schema = {"$ref": "#/mine", "mine": {"items": [{"type": "null"}], "type": "array", "minItems": 1}}
    judge = LarkJudge(grammar_for_output(schema, syntax="lark").text)
    assert judge.accepts("[null, 1]")
    assert not judge.accepts("[1]")


NAMES = [
    "",
    "abc",
    "abcd",
    "abcdé",
    "ab",
    "x-",
    "x",
    "x-a",
    "js",
    "cjs",
    "mjs",
    "jsx",
    'a"b',
    "\n",
    "\u0001",
]


@pytest.mark.parametrize("pattern", ["^abc.+$", "^x-", "^(c|m)?js$", "b"])
def test_the_open_rest_has_no_name_that_a_pattern_matches(pattern):
    schema = {
        "type": "object",
        "properties": {"one": {"type": "null"}},
        "patternProperties": {pattern: {"type": "null"}},
    }
    judge = LarkJudge(grammar_for_output(schema, syntax="lark").text)
    for name in NAMES:
        is_meant = re.search(pattern, name) is not None
        assert judge.accepts(json.dumps({name: 1}, ensure_ascii=False)) is not is_meant, name
        assert judge.accepts(json.dumps({name: None}, ensure_ascii=False)), name
    assert not judge.accepts('{"one": 1}')
    assert "$.patternProperties" not in unheld(schema)


@pytest.mark.parametrize(
    ("pattern", "least", "most"),
    [("^[a-z]+(?:-[a-z0-9]+)*$", 3, 99), ("^a(b|-a)*$", 2, 4), ("b", 3, 99), ("^a?b?$", 1, 1)],
)
def test_a_length_holds_beside_a_pattern(pattern, least, most):
    schema = {"type": "string", "pattern": pattern, "minLength": least, "maxLength": most}
    judge = LarkJudge(grammar_for_output(schema, syntax="lark").text)
    for text in map("".join, (each for count in range(5) for each in product("ab-", repeat=count))):
        fits = re.search(pattern, text) is not None and least <= len(text) <= most
        assert judge.accepts(json.dumps(text)) is fits, text
