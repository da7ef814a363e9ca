import json
import random
import re
from itertools import permutations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from effort import often
from local.grammar.sample import LarkJudge, Sampler
from local.grammar.schemas import FORMATS, REAL, SCHEMAS, breaches, canonical, closed, compiled
from rightcall.core.jsontext import parse
from rightcall.core.schema import Schema, SchemaTooCostly
from rightcall.local.grammar.printers import print_gbnf, print_lark
from rightcall.local.grammar.scalars import WIDER


def check_sentences(schema, seed, times):
    book, unheld = compiled(schema)
    if not book.rules:
        return 0
    try:
        judge, checked = LarkJudge(print_lark(book)), Schema(schema, formats=True)
    except SchemaTooCostly:  # one that refers in a circle
        return 0
    assert print_gbnf(book).startswith("root ::= ")
    sampler = Sampler(book, random.Random(seed))
    for _ in range(times):
        text = sampler.sentence()
        assert breaches(checked, json.loads(text), unheld) == [], (text, unheld)
        assert judge.accepts(text), text
    return times


@given(schema=SCHEMAS, seed=st.integers(0, 2**16))
@settings(max_examples=often(150))
def test_whatever_is_admitted_satisfies_the_schema(schema, seed):
    assume(check_sentences(schema, seed, 6))


@pytest.mark.parametrize("name", REAL)
def test_whatever_is_admitted_satisfies_a_real_tools_schema(name):
    assert check_sentences(REAL[name], 7, 60) == 60


@pytest.mark.parametrize("name", REAL)
def test_whatever_llguidance_lets_pass_satisfies_a_real_tools_schema(name):
    # Among names of all kinds, a walk by chance would hardly come to an end.
    schema = closed(REAL[name])
    book, unheld = compiled(schema)
    judge, checked = LarkJudge(print_lark(book)), Schema(schema, formats=True)
    chance = random.Random(4)
    texts = [text for _ in range(12) if (text := judge.walk(chance)) is not None]
    assert len(texts) > 3
    assert [text for text in texts if breaches(checked, json.loads(text), unheld)] == []


@pytest.mark.parametrize("name", FORMATS)
def test_whatever_is_admitted_has_the_format(name):
    schema = {"type": "string", "format": name}
    assert compiled(schema)[1] == (["$.format"] if name in WIDER else [])
    assert check_sentences(schema, 3, 80) == 80


@pytest.mark.parametrize("name", REAL)
def test_text_parses_strictly_where_all_names_are_declared(name):
    book, unheld = compiled(REAL[name])
    sampler = Sampler(book, random.Random(11))
    sentences = [sampler.sentence() for _ in range(40)]
    if not any("distinct names" in path for path in unheld):
        assert all(isinstance(parse(text), dict) for text in sentences)
    assert not any("\n" in text or "  " in re.sub(r'"(?:[^"\\]|\\.)*"', "", text) for text in sentences)


VALID = {
    "weather": [
        {"city": "Paris"},
        {"city": "", "unit": "celsius", "days": 14},
        {"city": 'A "b"\n\\ é\u2028😀'},
    ],
    "edit_file": [
        {
            "path": "a",
            "edits": [{"oldText": "", "newText": "x"}, {"oldText": "\t", "newText": "y"}],
            "dryRun": True,
        }
    ],
    "search_issues": [
        {"q": "x", "sort": None},
        {
            "q": "x",
            "sort": "created",
            "page": 1.5,
            "perPage": 100,
            "since": "2024-02-29T23:59:59Z",
            "labels": ["a"],
        },
    ],
    "query": [
        {"sql": "select 1", "parameters": [1, "a", None, {"b": [True]}], "options": {"x": 1, "y": "z"}}
    ],
    "no_arguments": [{}],
    "comment": [
        {
            "text": "a",
            "author": {"name": "n", "email": "a@b.cc", "role": "admin"},
            "replies": [{"text": "b", "author": {"name": "m", "email": None}, "replies": []}],
        }
    ],
    "order": [
        {"items": [["a", 1], ["b", -2]], "total": 12.5, "pay": {"kind": "card", "number": "4" * 16}},
        {
            "items": [["a", 1]],
            "total": 100000,
            "pay": {"kind": "transfer", "iban": "DE12" + "3" * 18},
            "labels": {},
        },
    ],
}


@pytest.mark.parametrize("name", REAL)
def test_valid_values_in_declared_order_are_admitted(name):
    judge = LarkJudge(print_lark(compiled(REAL[name])[0]))
    for value in VALID[name]:
        assert not Schema(REAL[name]).problems(value)
        assert judge.accepts(canonical(value)), value
        assert judge.accepts(json.dumps(value, ensure_ascii=False)), value


INVALID = {
    "missing": ("weather", {}),
    "unknown member": ("weather", {"city": "a", "town": "b"}),
    "not in the list": ("weather", {"city": "a", "unit": "kelvin"}),
    "out of range": ("weather", {"city": "a", "days": 15}),
    "wrong type": ("weather", {"city": 5}),
    "too few items": ("edit_file", {"path": "a", "edits": []}),
    "impossible date": ("search_issues", {"q": "a", "since": "2023-02-29T00:00:00Z"}),
    "other alternative": (
        "order",
        {"items": [["a", 1]], "total": 1, "pay": {"kind": "card", "iban": "x"}},
    ),
    "tuple too long": (
        "order",
        {"items": [["a", 1, 2]], "total": 1, "pay": {"kind": "card", "number": "4" * 16}},
    ),
    "not above": (
        "order",
        {"items": [["a", 1]], "total": 0, "pay": {"kind": "card", "number": "4" * 16}},
    ),
}


@pytest.mark.parametrize("case", INVALID)
def test_what_breaks_the_schema_is_not_admitted(case):
    name, value = INVALID[case]
    assert not LarkJudge(print_lark(compiled(REAL[name])[0])).accepts(canonical(value))


@pytest.mark.parametrize(
    "text",
    [
        '"\\ud800"',
        '"\\udc00\\ud800"',
        '"\\x41"',
        '"\t"',
        '"a',
        "'a'",
        '"\\u12"',
        ' "a"',
        '"a" ',
        '"a"\n',
    ],
)
def test_text_that_is_not_a_json_string_is_not_admitted(text):
    judge = LarkJudge(print_lark(compiled({"type": "string"})[0]))
    assert not judge.accepts(text)
    assert judge.accepts('"\\ud83d\\ude00 \\u00e9 \\/ \\"\\\\"')


@pytest.mark.parametrize(
    "text", ['{"a":  1}', '{ "a": 1}', '{"a" : 1}', '{"a": 1 }', '{\n"a": 1}', "[1,  2]"]
)
def test_space_is_single_and_only_after_commas_and_colons(text):
    judge = LarkJudge(print_lark(compiled({"type": ["object", "array"]})[0]))
    assert not judge.accepts(text)
    assert judge.accepts('{"a": 1, "b":2,"c": [1, 2,3]}')


def test_a_free_value_nests_as_deep_as_one_likes():
    judge = LarkJudge(print_lark(compiled({})[0]))
    assert judge.accepts("[" * 60 + "]" * 60)
    assert judge.accepts('{"a": ' * 9 + "[{}]" + "}" * 9)


UNHELD = {
    "not": ({"type": "string", "not": {"minLength": 2}}, ["$.not"]),
    "not some values": ({"type": "string", "not": {"enum": ["a", "b"]}}, []),
    "not some numbers": ({"type": "integer", "not": {"const": 1}}, ["$.not"]),
    "if": ({"type": "integer", "if": {"minimum": 1}, "then": {"maximum": 3}}, ["$.if"]),
    "if by a member": (
        {
            "type": "object",
            "properties": {"a": {"enum": ["x", "y"]}, "b": {"type": "null"}},
            "additionalProperties": False,
            "if": {"properties": {"a": {"const": "x"}}, "required": ["a"]},
            "then": {"required": ["b"]},
        },
        [],
    ),
    "dependentRequired": (
        {"type": "object", "additionalProperties": False, "dependentRequired": {"a": ["b"]}},
        [],
    ),
    "oneOf that overlaps by members": (
        {
            "type": "object",
            "properties": {"a": {"type": "null"}, "b": {"type": "null"}},
            "additionalProperties": False,
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        [],
    ),
    "uniqueItems": (
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        ["$.uniqueItems"],
    ),
    "uniqueItems of a few values": (
        {"type": "array", "items": {"type": ["boolean", "null"]}, "uniqueItems": True},
        [],
    ),
    "uniqueItems of more values": (
        {"type": "array", "items": {"enum": list("abcdef")}, "uniqueItems": True},
        ["$.uniqueItems"],
    ),
    "uniqueItems after items of their own": (
        {"type": "array", "prefixItems": [{"const": 1}], "items": {"const": 1}, "uniqueItems": True},
        ["$.uniqueItems"],
    ),
    "uniqueItems of one": (
        {"type": "array", "items": {"type": "null"}, "uniqueItems": True, "maxItems": 1},
        [],
    ),
    "contains": ({"type": "array", "items": {"type": "null"}, "contains": {}}, ["$.contains"]),
    "multipleOf": ({"type": "integer", "multipleOf": 3}, ["$.multipleOf"]),
    "pattern": ({"type": "string", "pattern": "(?=a)"}, ["$.pattern"]),
    "format": ({"type": "string", "format": "regex"}, ["$.format"]),
    "long strings": ({"type": "string", "maxLength": 5000}, ["$.maxLength"]),
    "long arrays": ({"type": "array", "items": {"type": "null"}, "minItems": 5000}, ["$.minItems"]),
    "oneOf that overlaps": ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, ["$.oneOf"]),
    "oneOf apart by type": ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, []),
    "oneOf apart by a constant": (
        {
            "oneOf": [
                {"type": "object", "properties": {"kind": {"const": kind}}, "required": ["kind"]}
                for kind in "ab"
            ]
        },
        ["$.oneOf[0] (distinct names)", "$.oneOf[1] (distinct names)"],
    ),
    "a map": ({"type": "object", "additionalProperties": {"type": "null"}}, ["$ (distinct names)"]),
    "a reference to elsewhere": (
        {"$ref": "https://example.com/a"},
        ["$.$ref", "$ (distinct names)", "$.items (distinct names)"],
    ),
    "names of an open object": (
        {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]},
        ["$ (distinct names)"],
    ),
    "nothing": (
        {
            "type": "object",
            "properties": {"a": {"type": "null"}},
            "required": ["a"],
            "additionalProperties": False,
        },
        [],
    ),
    "deep inside": (
        {
            "type": "object",
            "properties": {"a": {"type": "array", "items": {"type": "string", "format": "x"}}},
            "additionalProperties": False,
        },
        ["$.properties.a.items.format"],
    ),
}


@pytest.mark.parametrize("case", UNHELD)
def test_what_is_not_held_is_named(case):
    schema, expected = UNHELD[case]
    assert list(dict.fromkeys(compiled(schema)[1])) == expected


IMPOSSIBLE = {
    "false": {"type": "object", "properties": {"a": False}, "required": ["a"]},
    "empty range": {"type": "integer", "minimum": 5, "maximum": 3},
    "no such value": {"type": "string", "enum": [1, 2]},
    "closed but required": {"type": "object", "required": ["a"], "additionalProperties": False},
    "endless": {"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]},
    "itself": {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
    "contradiction": {"allOf": [{"type": "string"}, {"type": "integer"}]},
    "too few items possible": {"type": "array", "prefixItems": [True], "items": False, "minItems": 2},
    "contradicting lengths": {"type": "string", "minLength": 4, "maxLength": 2},
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_a_schema_that_no_value_fits_admits_nothing(case):
    assert compiled(IMPOSSIBLE[case])[0].rules == {}


def test_an_optional_member_that_cannot_be_is_left_out():
    schema = {"type": "object", "properties": {"a": False, "b": {"const": 1}}}
    judge = LarkJudge(print_lark(compiled(schema)[0]))
    assert judge.accepts("{}")
    assert judge.accepts('{"b": 1}')
    assert not judge.accepts('{"a": 1}')


def test_a_reference_that_leads_to_itself_beside_others_adds_nothing():
    schema = {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"const": 1}]}}}
    book, _ = compiled(schema)
    assert print_gbnf(book) == 'root ::= enum\nenum ::= "1"\n'


def test_members_may_be_left_out_and_come_in_any_order():
    members = {name: {"const": 1} for name in "abc"}
    schema = {"type": "object", "properties": members, "required": ["b"]}
    judge = LarkJudge(print_lark(compiled(schema)[0]))
    every = [names for size in range(4) for names in permutations("abc", size)]
    accepted = {names for names in every if judge.accepts(canonical(dict.fromkeys(names, 1)))}
    assert accepted == {names for names in every if "b" in names}


STRICTER = {
    # The members of a listed value in another order.
    ("const.json", '{"baz": "bax", "foo": "bar"}'),
    # An integer with a point, or a listed number in another way.
    ("type.json", "1.0"),
    ("const.json", "0.0"),
    ("const.json", "1.0"),
    ("const.json", "-2"),
    ("const.json", "9007199254740992.0"),
    ("enum.json", "0.0"),
    ("enum.json", "1.0"),
    ("enum.json", "[0.0]"),
    ("enum.json", "[1.0]"),
    # A schema in a dialect that has no keywords for values.
    ("vocabulary.json", '{"numberProperty": 1}'),
}
"""All that is refused and valid, of the official suite."""


def test_the_official_suite_has_nothing_else_refused_that_is_valid(shared_data):
    refused, wrong, admitted = set(), [], 0
    for path in sorted((shared_data / "json-schema" / "draft2020-12").glob("*.json")):
        # By this suite a format is a note, and by a grammar a demand.
        for group in json.loads(path.read_text()) if path.name != "format.json" else ():
            schema = group["schema"]
            if not isinstance(schema, dict):
                continue
            book, unheld = compiled(schema)
            is_whole = all("distinct" in each for each in unheld)
            judge = LarkJudge(print_lark(book)) if book.rules else None
            for test in group["tests"]:
                text = json.dumps(test["data"], ensure_ascii=False)
                accepts = judge is not None and judge.accepts(text)
                admitted += accepts and test["valid"]
                refused |= {(path.name, text)} if test["valid"] and not accepts else set()
                wrong += [(path.name, text)] if is_whole and accepts and not test["valid"] else []
    assert refused == STRICTER
    assert wrong == []
    assert admitted > 600
