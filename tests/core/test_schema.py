import time

import pytest

from rightcall.core.problem import MAX_PROBLEMS, Problem, Valid, describe_value, must_be
from rightcall.core.schema import Schema

CITY = {"properties": {"city": {}, "unit": {}}, "additionalProperties": False}


def problems(document, value, **options):
    return [(problem.path, problem.message) for problem in Schema(document, **options).problems(value)]


WORDS = {
    "string": ({"type": "string"}, 1, "must be a string, not an integer (1)"),
    "integer": ({"type": "integer"}, "3", 'must be an integer, not a string ("3")'),
    "fraction": ({"type": "integer"}, 2.5, "must be an integer, not a number (2.5)"),
    "number": ({"type": "number"}, True, "must be a number, not a boolean (true)"),
    "boolean": ({"type": "boolean"}, 1, "must be a boolean, not an integer (1)"),
    "array": ({"type": "array"}, {}, "must be an array, not an empty object"),
    "object": ({"type": "object"}, [], "must be an object, not an empty array"),
    "null": ({"type": "null"}, 0, "must be null, not an integer (0)"),
    "none": ({"type": "string"}, None, "must be a string, not null"),
    "types": ({"type": ["null", "string"]}, 1, "must be a string or null, not an integer (1)"),
    "enum": ({"enum": ["a", 1, None]}, "c", 'must be one of "a", 1, null; got "c"'),
    "const": ({"const": 5}, 6, "must be 5; got 6"),
    "minimum": ({"minimum": 1}, 0, "must be at least 1; got 0"),
    "maximum": ({"maximum": 1.5}, 2, "must be at most 1.5; got 2"),
    "exclusiveMinimum": ({"exclusiveMinimum": 1}, 1, "must be greater than 1; got 1"),
    "exclusiveMaximum": ({"exclusiveMaximum": 1}, 1, "must be less than 1; got 1"),
    "multipleOf": ({"multipleOf": 3}, 4, "must be a multiple of 3; got 4"),
    "huge": ({"maximum": 5}, 10**400, f"must be at most 5; got 1{'0' * 58}…"),
    "pattern": ({"pattern": "^a+$"}, "b", 'must match the pattern ^a+$; got "b"'),
    "minLength 1": ({"minLength": 1}, "", 'must have at least 1 character; got ""'),
    "minLength": ({"minLength": 2}, "a", 'must have at least 2 characters; got "a"'),
    "maxLength": ({"maxLength": 1}, "ab", 'must have at most 1 character; got "ab"'),
    "minItems": ({"minItems": 2}, [1], "must have at least 2 items"),
    "maxItems": ({"maxItems": 1}, [1, 2], "must have at most 1 item"),
    "minProperties": ({"minProperties": 1}, {}, "must have at least 1 member"),
    "maxProperties": ({"maxProperties": 0}, {"a": 1}, "must have at most 0 members"),
    "uniqueItems": ({"uniqueItems": True}, [1, 1], "must not have the same item twice"),
    "contains": (
        {"contains": {"type": "string"}},
        [1],
        "has no item of the kind that the schema asks for",
    ),
    "minContains": (
        {"contains": {"type": "string"}, "minContains": 2},
        ["a"],
        "has too few items of the kind that the schema asks for",
    ),
    "maxContains": (
        {"contains": {"type": "string"}, "maxContains": 1},
        ["a", "b"],
        "has too many items of the kind that the schema asks for",
    ),
    "unevaluatedItems": ({"unevaluatedItems": False}, [1], "has items that are not allowed"),
    "not": ({"not": {"type": "string"}}, "x", 'must not fit the schema {"type":"string"}'),
    "propertyNames": (
        {"propertyNames": {"pattern": "^[a-z]+$", "maxLength": 2}},
        {"A": 1},
        'has a property name that must match the pattern ^[a-z]+$; got "A"',
    ),
    "no properties": ({"additionalProperties": False}, {"q": 1}, "must be an empty object"),
    "no property names": ({"propertyNames": False}, {"q": 1}, "must be an empty object"),
    "a keyword of an older draft": (
        {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{}], "additionalItems": False},
        [1, 2],
        "Additional items are not allowed (2 was unexpected)",
    ),
    "anyOf types": (
        {"anyOf": [{"type": "null"}, {"type": "string"}, {"type": "integer"}]},
        [],
        "must be a string or an integer or null, not an empty array",
    ),
    "oneOf types": (
        {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        None,
        "must be a string or an integer, not null",
    ),
    "anyOf type and values": (
        {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]},
        5,
        "must be a string or null, not an integer (5)",
    ),
    "anyOf the closer": (
        {"anyOf": [{"type": "string", "minLength": 3}, {"type": "null"}]},
        "x",
        'must have at least 3 characters; got "x"',
    ),
    "anyOf several": (
        {"anyOf": [{"required": ["x"]}, {"required": ["y"]}, {"type": "string"}]},
        {},
        "fits none of the alternatives: $.x is required and missing / or: $.y is required and missing",
    ),
    "anyOf values": (
        {"anyOf": [{"enum": ["a"]}, {"const": 1}]},
        "z",
        'fits none of the alternatives: $ must be one of "a"; got "z" / or: $ must be 1; got "z"',
    ),
    "oneOf twice": (
        {"oneOf": [{"type": "number"}, {"type": "integer"}]},
        1,
        "fits more than one of the alternatives; exactly one is wanted",
    ),
}


@pytest.mark.parametrize(("document", "value", "message"), WORDS.values(), ids=WORDS)
def test_every_keyword_has_its_words(document, value, message):
    assert problems(document, value) == [("$", message)]


PLACES = {
    "required": ({"required": ["a b", "c"]}, {}, ["$['a b']", "$.c"], "is required and missing"),
    "dependentRequired": (
        {"dependentRequired": {"x": ["y"]}},
        {"x": 1},
        ["$.y"],
        "is required and missing",
    ),
    "if and then": (
        {"if": {"required": ["x"]}, "then": {"required": ["y"]}},
        {"x": 1},
        ["$.y"],
        "is required and missing",
    ),
    "allOf": (
        {"allOf": [{"required": ["x"]}, {"required": ["y"]}]},
        {},
        ["$.x", "$.y"],
        "is required and missing",
    ),
    "$ref": (
        {"$defs": {"n": {"required": ["x"]}}, "items": {"$ref": "#/$defs/n"}},
        [{}, {"x": 1}, {}],
        ["$[0].x", "$[2].x"],
        "is required and missing",
    ),
    "anyOf the closer, deep": (
        {"anyOf": [{"type": "string"}, {"items": {"required": ["x", "y"]}}]},
        [{}],
        ["$[0].x", "$[0].y"],
        "is required and missing",
    ),
    "items": (
        {"items": {"type": "null"}},
        [None, 1, None, 1],
        ["$[1]", "$[3]"],
        "must be null, not an integer (1)",
    ),
    "prefixItems": ({"prefixItems": [{}], "items": False}, [1, 2], ["$[1]"], "is not allowed here"),
    "keys that are empty or numbers": (
        {
            "additionalProperties": {
                "additionalProperties": {"anyOf": [{"required": ["x"]}, {"type": "null"}]}
            }
        },
        {"": {"": {}, "0": {"x": 1}, "00": {}}, "7": {"": {"": {}, "x": 1}, "+1": {"y": 1}}},
        ["$[''][''].x", "$['']['00'].x", "$['7']['+1'].x"],
        "is required and missing",
    ),
    "such keys in an array": (
        {"items": {"additionalProperties": {"type": "null"}}},
        [{"": 1}, {"a": None}, {"2": 1}],
        ["$[0]['']", "$[2]['2']"],
        "must be null, not an integer (1)",
    ),
    "false": ({"properties": {"a": False}}, {"a": 1}, ["$.a"], "is not allowed here"),
    "unexpected": (CITY, {"citty": 1}, ["$.citty"], 'is not a parameter; did you mean "city"?'),
    "quite unexpected": (CITY, {"zzz": 1}, ["$.zzz"], 'is not a parameter; there is "city", "unit"'),
    "unevaluated": (
        {"properties": {"city": {}}, "unevaluatedProperties": False},
        {"citi": 1},
        ["$.citi"],
        'is not a parameter; did you mean "city"?',
    ),
    "unexpected, deep": (
        {"properties": {"in": {"$ref": "#/$defs/city"}}, "$defs": {"city": CITY}},
        {"in": {"citi": 1}},
        ["$.in.citi"],
        'is not a parameter; did you mean "city"?',
    ),
    "beside patterns": (
        {"patternProperties": {"^x": {}}, "additionalProperties": False},
        {"xa": 1, "y": 1},
        ["$.y"],
        "is not a parameter; leave it out",
    ),
}


@pytest.mark.parametrize(("document", "value", "paths", "message"), PLACES.values(), ids=PLACES)
def test_problems_name_the_place(document, value, paths, message):
    assert problems(document, value) == [(path, message) for path in paths]


def test_all_problems_come_at_once():
    document = {
        "type": "object",
        "properties": {"n": {"minimum": 1}, "items": {"items": {"required": ["name"]}}},
        "required": ["n", "who"],
        "additionalProperties": False,
    }
    assert sorted(problems(document, {"n": 0, "items": [{}, {"name": 1}, {}], "x": 1})) == [
        ("$.items[0].name", "is required and missing"),
        ("$.items[2].name", "is required and missing"),
        ("$.n", "must be at least 1; got 0"),
        ("$.who", "is required and missing"),
        ("$.x", 'is not a parameter; there is "n", "items"'),
    ]


def test_no_more_problems_are_listed_than_a_model_can_use():
    found = problems({"items": {"type": "string"}}, list(range(200)))
    assert found == [
        (f"$[{index}]", f"must be a string, not an integer ({index})") for index in range(50)
    ]
    assert MAX_PROBLEMS == 50


def test_a_valid_value_has_no_problems_and_is_given_as_it_is():
    value = {"city": "Paris"}
    schema = Schema(CITY)
    verdict = schema.validate("", value)
    assert isinstance(verdict, Valid)
    assert verdict.bound is value
    assert schema.problems(value) == ()


def test_an_invalid_value_gets_its_problems():
    assert Schema(CITY).validate("", {"citi": 1}) == (
        Problem("$.citi", 'is not a parameter; did you mean "city"?'),
    )


def test_a_whole_number_is_an_integer():
    assert problems({"items": {"type": "integer"}}, [2.0, 1e3]) == []


def test_a_format_is_a_note_unless_demanded():
    assert problems({"format": "date"}, "soon") == []
    assert problems({"format": "date"}, "soon", formats=True) == [
        ("$", 'must be a valid date; got "soon"')
    ]


HUGE = "x" * 1_000_000


@pytest.mark.parametrize(
    ("document", "value"),
    [
        ({"type": "integer"}, HUGE),
        ({"type": "integer"}, [HUGE]),
        ({"enum": ["a"]}, HUGE),
        ({"const": HUGE}, HUGE + "y"),
        ({"enum": list(range(10_000))}, HUGE),
        ({"pattern": "^a"}, HUGE),
        ({"maxLength": 5}, HUGE),
        ({"contains": {"type": "integer"}}, [HUGE]),
        ({"unevaluatedItems": False}, [HUGE]),
        ({"pattern": "(x|xx)+(?=y)$"}, HUGE),
        (
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "items": [{}],
                "additionalItems": False,
            },
            [1, HUGE],
        ),
        ({"not": {"const": HUGE}}, HUGE),
        (CITY, {HUGE: 1}),
        ({"propertyNames": {"maxLength": 5}}, {HUGE: 1}),
        ({"additionalProperties": {"type": "null"}}, {HUGE: HUGE}),
        ({"anyOf": [{"const": 1}, {"const": 2}, {"pattern": "^a"}]}, HUGE),
        ({"format": "date"}, HUGE),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_problem_stays_short_whatever_the_value(document, value):
    started = time.perf_counter()
    ((path, message),) = problems(document, value, formats=True)
    assert len(path) + len(message) < 500
    assert time.perf_counter() - started < 2


@pytest.mark.parametrize(("choices", "more"), [(50, ""), (51, " and 1 more"), (60, " and 10 more")])
def test_a_long_list_of_choices_is_cut(choices, more):
    ((_, message),) = problems({"enum": list(range(choices))}, None)
    assert message == f"must be one of {', '.join(map(str, range(50)))}{more}; got null"


def test_a_long_list_of_properties_is_cut():
    names = [f"p{number:02}" for number in range(30)]
    document = {"properties": {name: {} for name in names}, "additionalProperties": False}
    listed = ", ".join(f'"{name}"' for name in names[:20])
    assert problems(document, {"zzz": 1}) == [("$.zzz", f"is not a parameter; there is {listed}")]


def test_a_long_list_of_alternatives_is_cut():
    document = {"anyOf": [{"required": [f"{letter}{n}" for n in range(5)]} for letter in "abcdef"]}
    alternatives = [
        "; ".join(f"$.{letter}{n} is required and missing" for n in range(3)) for letter in "abcd"
    ]
    assert problems(document, {}) == [
        ("$", f"fits none of the alternatives: {' / or: '.join(alternatives)}")
    ]


def test_sentences_for_types():
    assert must_be(["null", "object", "object"], 1) == "must be an object or null, not an integer (1)"
    assert [describe_value(value) for value in (None, [], {}, "", 0, [1])] == [
        "null",
        "an empty array",
        "an empty object",
        'a string ("")',
        "an integer (0)",
        "an array ([1])",
    ]


def test_an_unexpected_member_is_looked_for_in_the_resource_that_forbids_it():
    document = {"properties": {"in": {"$ref": "urn:example:city"}}, "additionalProperties": False}
    found = problems(document, {"in": {"citi": 1}, "im": 1}, resources={"urn:example:city": CITY})
    assert sorted(found) == [
        ("$.im", 'is not a parameter; there is "in"'),
        ("$.in.citi", 'is not a parameter; did you mean "city"?'),
    ]


def test_an_unexpected_member_of_an_unnamed_place_is_left_without_a_hint():
    document = {"properties": {"0": {"properties": {"a": {}}, "additionalProperties": False}}}
    assert problems(document, {"0": {"b": 1}}) == [("$['0'].b", "is not a parameter; leave it out")]


def test_a_property_may_be_called_ref():
    assert problems({"properties": {"$ref": {"type": "string"}}}, {"$ref": 1}) == [
        ("$['$ref']", "must be a string, not an integer (1)")
    ]
