"""What a schema allows is never refused: not by llguidance, and not by llama.cpp."""

import json
from itertools import product

import pytest

from local.grammar.llama_judge import GbnfJudge
from local.grammar.sample import LarkJudge
from rightcall.core.schema import Schema
from rightcall.local.grammar.build import grammar_for_output, unheld


def judges(schema):
    lark, gbnf = (grammar_for_output(schema, syntax=syntax).text for syntax in ("lark", "gbnf"))
    return LarkJudge(lark), GbnfJudge(gbnf)


def verdicts(schema, values):
    """The values that both engines let pass, which must be the same ones."""
    lark, gbnf = judges(schema)
    texts = [json.dumps(value, ensure_ascii=False) for value in values]
    found = [value for value, text in zip(values, texts, strict=True) if lark.accepts(text)]
    assert [v for v, text in zip(values, texts, strict=True) if gbnf.accepts(text)] == found
    return found


FORMATS = {
    "uri": (
        [
            "http://127.0.0.1:8000/x", "https://example.com:65535/", "https://a.b/c?next=/home",
            "HTTPS://WWW.Example.COM/A", "mailto:o'brien@example.com", "urn:isbn:0451450523",
            "file:///C:/a", "http://[::1]:80/", "https://user:pw@a.b/%7Ex?q#f/?", "a:",
        ],
        ["example.com", "//a", "http://a b", "http://é", "http://x/%zz", "http://x/{a}", ""],
    ),
    "ipv6": (
        ["::", "::1", "1::", "2001:DB8::ff00:42:8329", "::ffff:1.2.3.4", "1:2:3:4:5:6:7:8", "1::8"],
        ["1", ":::", "1:2:3:4:5:6:7:8:9", "12345::", "::1%eth0", "1::2::3"],
    ),
    "uuid": (
        ["123E4567-E89B-12D3-A456-426614174000", "123e4567-e89b-12d3-a456-426614174000"],
        ["123e4567e89b12d3a456426614174000", "g23e4567-e89b-12d3-a456-426614174000"],
    ),
    "email": (["o'brien@Example.COM", "a+b.c@d.museum", '"a b"@x.y', "a@[127.0.0.1]"], ["a", "@", "a@"]),
    "hostname": (["EXAMPLE.com", "a", "x--y.Z9", "a" * 63], ["-a", "a-", "a_b", "a.", "a" * 64, ""]),
    "duration": (
        ["P1Y", "P1Y2M3D", "P2W", "PT36H", "P3DT4H5M6S", "P1MT1M"],
        ["P", "PT", "P1Y2W", "1Y", "P1S", "PT1D"],
    ),
    "date": (["0000-02-29", "2000-02-29", "1999-12-31"], ["1900-02-29", "2024-02-30", "2024-1-1"]),
    "time": (["23:59:60Z", "12:00:00z", "12:00:00.123456789+23:59"], ["12:00:00", "24:00:00Z"]),
    "date-time": (["2024-01-01t00:00:00z", "1990-12-31T15:59:60.5-08:00"], ["2024-01-01 00:00:00Z"]),
    "ipv4": (["0.0.0.0", "255.255.255.255"], ["256.1.1.1", "1.2.3", "01.2.3.4"]),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_whole(name):
    good, bad = FORMATS[name]
    schema = {"type": "string", "format": name}
    checked = Schema(schema, formats=True)
    assert [text for text in [*good, *bad] if checked.fits(text)] == good
    assert verdicts(schema, [*good, *bad]) == good


def closed(**keywords):
    return {"type": "object", "additionalProperties": False, **keywords}


A = {"a": {"type": "integer"}}
OBJECTS = {
    "long ids": ({"type": "integer"}, [1234567890123456789, -(10**19), 10**77], [1.5, "1"]),
    "long numbers": ({"type": "number", "minimum": 0}, [1e9 + 0.5, 0.12345678901, 10**40], [-1]),
    "hundredths": ({"type": "number", "multipleOf": 0.01}, [1, 1.5, 99.99], [99.991]),
    "declared members only": (
        {"type": "object", "properties": A},
        [{}, {"a": 1}, {"b": None}, {"b": [1], "a": 1}, {"a": 1, "b": {}, "aa": 2, "": 3}],
        [{"a": "x"}, {"b": 1, "a": None}],
    ),
    "additional: true": (
        {"type": "object", "properties": A, "required": ["a"], "additionalProperties": True},
        [{"a": 1}, {"a": 1, "b c": "é"}, {"é": 1, "a": 2}],
        [{}, {"b": 1}, {"a": "1"}],
    ),
    "additional: a schema": (
        {"type": "object", "properties": A, "additionalProperties": {"type": "string"}},
        [{}, {"b": "x"}, {"a": 1, "b": "x", "c": "y"}],
        [{"b": 1}, {"a": "x"}],
    ),
    "patterns beside": (
        closed(properties=A, patternProperties={"^x-": {"type": "string"}}),
        [{}, {"x-": "1"}, {"x-y": "1", "a": 1, "x-z": "2"}],
        [{"x": "1"}, {"x-y": 1}, {"b": 1}],
    ),
    "any name by a pattern": (
        {"type": "object", "properties": A, "patternProperties": {".*": {"type": "integer"}}},
        [{"a": 1, "b": 2}, {}],
        [{"b": "x"}],
    ),
    "more than are declared": (
        {"type": "object", "properties": A, "minProperties": 2},
        [{"a": 1, "b": 2}, {"b": 1, "c": 2}],
        [{}],
    ),
    "at most so many": (
        {"type": "object", "properties": {**A, "b": True}, "maxProperties": 2},
        [{}, {"a": 1, "b": 2}, {"b": 1, "a": 2}, {"c": 1}],
        [{"a": 1, "b": 2, "c": 3}, {"a": ""}],
    ),
    "no type": ({"properties": A}, [{"a": 1}, "x", 1, None, [{"a": "x"}]], [{"a": "x"}]),
    "names with a letter too many": (
        closed(properties={"ab": True, "abc": True}, patternProperties={"^ab$": {"type": "null"}}),
        [{"ab": None}, {"abc": 1}],
        [{"ab": 1}, {"a": 1}, {"abcd": 1}],
    ),
    "an older draft's tuple": (
        {"type": "array", "items": [{"type": "string"}, {"type": "integer"}], "additionalItems": False},
        [[], ["a"], ["a", 1]],
        [[1], ["a", 1, 2]],
    ),
    "an older draft's bound": (
        {"type": "integer", "minimum": 3, "exclusiveMinimum": True, "maximum": 5},
        [4, 5],
        [3, 6],
    ),
    "letters that are not of English": ({"type": "string", "pattern": r"^\D\W\S$"}, ["xé-"], ["1é-"]),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_what_is_allowed_is_admitted(name):
    schema, good, bad = OBJECTS[name]
    assert verdicts(schema, [*good, *bad]) == good


LEAVES = {
    "string": {"type": "string"},
    "short": {"type": "string", "minLength": 1, "maxLength": 3},
    "pattern": {"type": "string", "pattern": "^[a-c]+$"},
    "found": {"type": "string", "pattern": "b"},
    "integer": {"type": "integer"},
    "between": {"type": "integer", "minimum": -3, "maximum": 12},
    "above": {"type": "integer", "exclusiveMinimum": 2},
    "even": {"type": "integer", "minimum": 0, "maximum": 20, "multipleOf": 2},
    "number": {"type": "number"},
    "ratio": {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
    "below": {"type": "number", "maximum": -0.5},
    "boolean": {"type": "boolean"},
    "null": {"type": "null"},
    "several": {"type": ["string", "null"]},
    "enum": {"enum": ["abc", 2, None, [1], True]},
    "const": {"const": "b"},
    "any": {},
    "list": {"type": "array"},
    "pair": {"type": "array", "prefixItems": [{"type": "integer"}], "minItems": 1, "maxItems": 2},
    "few": {"type": "array", "items": {"type": "integer"}, "maxItems": 1},
    "map": {"type": "object", "additionalProperties": {"type": "integer"}},
    "open": {"type": "object", "properties": {"a": {"type": "string"}}},
    "closed": closed(properties={"a": {"type": "integer"}}, required=["a"]),
    "either": {"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 1}]},
    "both": {"allOf": [{"type": "string", "minLength": 2}, {"maxLength": 3}]},
}  # fmt: skip
VALUES = ["", "b", "abc", "née", 'q"\n', 0, 2, -3, 13, 10**18, 0.5, -1.25, True, None]
VALUES += [[], [1], [1, "b"], {}, {"a": 1}, {"a": "b"}, {"b": 2}]
WRAPPERS = {
    "itself": (lambda s: s, lambda v: v),
    "an item": (lambda s: {"type": "array", "items": s}, lambda v: [v]),
    "two items": (lambda s: {"type": "array", "items": s, "minItems": 2}, lambda v: [v, v]),
    "in a tuple": (lambda s: {"type": "array", "prefixItems": [{"const": 1}, s]}, lambda v: [1, v]),
    "required": (lambda s: closed(properties={"k": s}, required=["k"]), lambda v: {"k": v}),
    "optional": (lambda s: closed(properties={"j": True, "k": s}), lambda v: {"k": v}),
    "of an open object": (
        lambda s: {"type": "object", "properties": {"k": s}},
        lambda v: {"x": 1, "k": v},
    ),
    "of a map": (lambda s: {"type": "object", "additionalProperties": s}, lambda v: {"x": v, "y": v}),
    "by a pattern": (lambda s: closed(patternProperties={"^k": s}), lambda v: {"kk": v}),
    "or nothing": (lambda s: {"anyOf": [s, {"const": "none"}]}, lambda v: v),
    "by reference": (lambda s: {"$ref": "#/$defs/s", "$defs": {"s": s}}, lambda v: v),
    "with more": (lambda s: {"allOf": [s, {}]}, lambda v: v),
    "within itself": (
        lambda s: closed(properties={"v": s, "next": {"$ref": "#"}}),
        lambda v: {"v": v, "next": {"v": v, "next": {}}},
    ),
}  # fmt: skip


def test_llama_cpp_executes_grammars_of_hundreds_of_schemas():
    executed = admitted = refused = 0
    for leaf, wrapper in product(LEAVES.values(), WRAPPERS.values()):
        schema, wrap = wrapper[0](leaf), wrapper[1]
        checked, judge = Schema(schema), GbnfJudge(grammar_for_output(schema, syntax="gbnf").text)
        is_whole = all("distinct" in each or "stricter" in each for each in unheld(schema))
        executed += 1
        for value in map(wrap, VALUES):
            text = json.dumps(value, ensure_ascii=False)
            is_valid, is_admitted = checked.fits(value), judge.accepts(text)
            assert is_admitted or not is_valid, (schema, text)
            assert is_valid or not is_admitted or not is_whole, (schema, text)
            admitted, refused = admitted + is_admitted, refused + (not is_admitted)
        assert not judge.accepts(text[:-1] + "\x01")
    assert executed == 325
    assert admitted > 1000
    assert refused > 3000
