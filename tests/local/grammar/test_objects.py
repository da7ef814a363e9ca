"""The members of objects: in any order, each where it is wanted, and under names that fit."""

import json

import pytest

from local.grammar.llama_judge import GbnfJudge
from local.grammar.sample import LarkJudge
from rightcall.local.grammar.build import grammar_for_output, unheld


@pytest.mark.parametrize("syntax", ["lark", "gbnf"])
def test_what_is_required_comes_among_many_members_in_any_place(syntax):
    names = "abcdefg"
    schema = {
        "type": "object",
        "properties": {name: {"const": 1} for name in names},
        "required": ["c", "f"],
        "additionalProperties": False,
    }
    text = grammar_for_output(schema, syntax=syntax).text
    judge = LarkJudge(text) if syntax == "lark" else GbnfJudge(text)
    written = [
        "cf", "fc", "afc", "facgb", "cabf", "gfedcba", "abcdefg",
        "c", "f", "", "abdeg", "cg",
    ]  # fmt: skip
    found = {each for each in written if judge.accepts(json.dumps(dict.fromkeys(each, 1)))}
    assert found == {each for each in written if {"c", "f"} <= set(each)}
    # The gate refuses what is written twice.
    assert unheld(schema)[0] == "$ (distinct names)"


def test_names_by_a_pattern_are_none_of_those_declared():
    schema = {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "ideal": {"type": "null"}},
        "patternProperties": {"^[a-z]+$": {"type": "boolean"}},
        "additionalProperties": False,
    }
    for syntax, make in (("lark", LarkJudge), ("gbnf", GbnfJudge)):
        judge = make(grammar_for_output(schema, syntax=syntax).text)
        for text in ("id", "ideal", "i", "ide", "idea", "ideals", "other"):
            assert judge.accepts(json.dumps({text: True})) is (text not in schema["properties"]), text
    assert not any("patternProperties" in each for each in unheld(schema))


@pytest.mark.parametrize(
    "names",
    [
        {"pattern": "^[0-9]{2}$"},
        {"type": "string", "anyOf": [{"pattern": "^[0-9]{2}$"}, {"pattern": "^x$"}]},
        {"$ref": "#/$defs/digits"},
        {"anyOf": [{"$ref": "#/$defs/digits"}, {"pattern": "^x$"}]},
    ],
)
def test_names_are_held_where_a_pattern_admits_them_all(names):
    schema = {
        "type": "object",
        "propertyNames": names,
        "patternProperties": {".+": {"const": 1}},
        "$defs": {"digits": {"type": "string", "pattern": "^[0-9]{2}$"}},
    }
    judge = LarkJudge(grammar_for_output(schema, syntax="lark").text)
    assert judge.accepts('{"12": 1}')
    assert judge.accepts('{"x": 1}') is ("anyOf" in names)
    assert not judge.accepts('{"123": 1}')
    assert not judge.accepts('{"12": 2}')
