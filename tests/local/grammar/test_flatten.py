import pytest

from rightcall.local.grammar.conditions import overlapping
from rightcall.local.grammar.flat_schema import (
    FlatSchema,
    SchemaReferences,
    drop_large_counts,
    flatten_schema,
    schema_of,
    structure,
)

DOCUMENT = {
    "$id": "https://example.com/root",
    "$defs": {
        "text": {"type": "string"},
        "short": {"$anchor": "brief", "type": "string", "maxLength": 3},
        "loop": {"$ref": "#/$defs/loop"},
        "a/b~c": {"const": 1},
        "list": [{"const": 2}],
    },
}


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("#/$defs/text", {"type": "string"}),
        ("#brief", {"$anchor": "brief", "type": "string", "maxLength": 3}),
        ("https://example.com/root#/$defs/text", {"type": "string"}),
        ("#/$defs/a~1b~0c", {"const": 1}),
        ("#/%24defs/text", {"type": "string"}),
        ("#/$defs/list/0", {"const": 2}),
        ("#", DOCUMENT),
        ("#/$defs/none", None),
        ("#/$defs/list", None),
        ("https://example.com/other", None),
    ],
)
def test_a_reference_is_found_within_its_document(reference, expected):
    assert SchemaReferences(DOCUMENT).target(reference) == expected


def test_references_inside_of_another_resource_are_left_alone():
    document = {"$defs": {"a": {"$id": "other", "$ref": "#/$defs/b"}, "b": {}}}
    assert SchemaReferences(document).target("#/$defs/b") is None


def test_a_reference_to_itself_admits_nothing():
    assert SchemaReferences(DOCUMENT).follow({"$ref": "#/$defs/loop"}) is False
    assert flatten_schema(
        {"$ref": "#/$defs/loop"}, "$", SchemaReferences(DOCUMENT).target, FlatSchema()
    ).is_false


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([{"type": ["string", "integer"]}, {"type": "number"}], {"type": ["integer"]}),
        (
            [{"minimum": 1, "maxLength": 5}, {"minimum": 3, "maxLength": 9}],
            {"minimum": 3, "maxLength": 5},
        ),
        ([{"enum": [1, 2, "a"]}, {"const": 2}], {"enum": [2]}),
        ([{"required": ["a"]}, {"required": ["b", "a"]}], {"required": ["a", "b"]}),
        (
            [
                {"properties": {"a": {"type": "string"}}},
                {"properties": {"b": {}}, "additionalProperties": False},
            ],
            {"properties": {"a": False, "b": True}, "additionalProperties": False},
        ),
        (
            [{"properties": {"a": {"type": "string"}}}, {"properties": {"a": {"maxLength": 2}}}],
            {"properties": {"a": {"allOf": [{"type": "string"}, {"maxLength": 2}]}}},
        ),
        (
            [{"prefixItems": [{"const": 1}]}, {"items": {"type": "integer"}}],
            {
                "prefixItems": [{"allOf": [{"const": 1}, {"type": "integer"}]}],
                "items": {"type": "integer"},
            },
        ),
    ],
)
def test_what_several_schemas_say_is_put_together(parts, expected):
    flat = flatten_schema({"allOf": parts}, "$", lambda reference: None, FlatSchema())
    assert (flat.keywords, flat.is_false, flat.unheld) == (expected, False, [])


@pytest.mark.parametrize(
    "parts", [[{"type": "string"}, {"type": "null"}], [{"const": 1}, {"const": 2}], [False]]
)
def test_what_contradicts_itself_admits_nothing(parts):
    assert flatten_schema({"allOf": parts}, "$", lambda reference: None, FlatSchema()).is_false


def test_what_cannot_be_put_together_is_noted_and_the_first_stands():
    flat = flatten_schema(
        {"allOf": [{"pattern": "a"}, {"pattern": "b"}]}, "$", lambda reference: None, FlatSchema()
    )
    assert (flat.keywords, flat.unheld) == ({"pattern": "a"}, ["$.allOf[1].pattern"])


def test_a_member_is_what_its_name_and_its_patterns_say():
    keywords = {
        "properties": {"ab": {"minimum": 1}},
        "patternProperties": {"^a": {"maximum": 5}, "(": {"const": 1}},
        "additionalProperties": {"type": "null"},
    }
    assert schema_of("ab", keywords) == {"allOf": [{"minimum": 1}, {"maximum": 5}]}
    assert schema_of("ax", keywords) == {"maximum": 5}
    assert schema_of("x", keywords) == {"type": "null"}


def tagged(value, **more):
    return {"type": "object", "properties": {"kind": {"const": value}, **more}, "required": ["kind"]}


@pytest.mark.parametrize(
    ("branches", "expected"),
    [
        ([{"type": "string"}, {"type": ["integer", "null"]}], True),
        ([{"type": "integer"}, {"type": "number"}], False),
        ([{"enum": ["a", None]}, {"enum": ["b", True]}], True),
        ([{"enum": [1]}, {"enum": [1.0]}], False),
        ([tagged("a"), tagged("b"), tagged("c")], True),
        ([tagged("a"), tagged("a")], False),
        ([tagged("a"), {"type": "object", "properties": {}, "additionalProperties": False}], True),
        ([tagged("a"), {"type": "object"}], False),
        ([{"type": "string", "maxLength": 1}, {"type": "string", "minLength": 2}], False),
        ([False, {}], True),
        ([{"type": "string"}] * 30, False),
    ],
)
def test_alternatives_are_apart_when_no_value_can_be_both(branches, expected):
    assert (overlapping(branches, lambda reference: None) == []) is expected


def test_the_structure_of_a_schema_is_without_its_notes():
    schema = {
        "title": "T",
        "type": "object",
        "properties": {"title": {"type": "string", "description": "D", "maxLength": 3.0}},
        "items": {"default": 1},
        "anyOf": [{"examples": []}, {"const": {"title": "kept"}}],
        "x-more": {"title": "kept"},
    }
    assert structure(schema) == {
        "type": "object",
        "properties": {"title": {"type": "string", "maxLength": 3}},
        "items": {},
        "anyOf": [{}, {"const": {"title": "kept"}}],
        "x-more": {"title": "kept"},
    }


def test_loosening_leaves_small_counts():
    schema = {"maxLength": 500, "items": {"minItems": 3, "maxItems": 65}, "anyOf": [{"minLength": 64}]}
    assert drop_large_counts(schema, 64) == {"items": {"minItems": 3}, "anyOf": [{"minLength": 64}]}
