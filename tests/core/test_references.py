"""What the references of a JSON Schema refer to, in a document and beside it."""

import pytest

from rightcall.core.references import (
    ReferenceResolver,
    definition_at_root,
    follow,
    local_target,
)

NAME = {"type": "string"}
DOCUMENT = {
    "$defs": {
        "name": NAME,
        "a/b~c": {"const": 1},
        "50%": {"const": 2},
        "any": True,
        "list": {"prefixItems": [NAME, {"const": 3}]},
        "marked": {"$anchor": "here", "const": 4},
        "alias": {"$ref": "#/$defs/again"},
        "again": {"$ref": "#/$defs/name"},
        "circle": {"$ref": "#/$defs/round"},
        "round": {"$ref": "#/$defs/circle"},
        "lost": {"$ref": "#/$defs/nothing"},
    },
}


@pytest.mark.parametrize(
    ("reference", "target"),
    {
        "#": DOCUMENT,
        "#/$defs/name": NAME,
        "#/$defs/a~1b~0c": {"const": 1},
        "#/%24defs/50%25": {"const": 2},
        "#/$defs/any": True,
        "#/$defs/list/prefixItems/1": {"const": 3},
        "#/$defs/list/prefixItems/2": None,
        "#/$defs/list/prefixItems/first": None,
        "#/$defs/nothing": None,
        "#/$defs/name/type/deeper": None,
        "#here": {"$anchor": "here", "const": 4},
        "#there": None,
        "https://example.com/schema": None,
        "other.json#/$defs/name": None,
        7: None,
    }.items(),
)
def test_a_reference_within_a_document(reference, target):
    assert local_target(DOCUMENT, reference) == target


@pytest.mark.parametrize(
    ("schema", "target"),
    [
        pytest.param({"type": "null"}, {"type": "null"}, id="no reference"),
        pytest.param(True, True, id="no object"),
        pytest.param({"$ref": "#/$defs/name"}, NAME, id="one step"),
        pytest.param({"$ref": "#/$defs/alias"}, NAME, id="three steps"),
        pytest.param({"$ref": "#/$defs/circle"}, None, id="a circle"),
        pytest.param({"$ref": "#/$defs/lost"}, None, id="nothing at the end"),
        pytest.param({"$ref": 1}, {"$ref": 1}, id="not a reference"),
    ],
)
def test_references_are_followed_to_the_end(schema, target):
    assert follow(DOCUMENT, schema) == target


def test_a_root_that_is_a_reference_is_replaced_by_its_definition():
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    schema = {"$ref": "#/$defs/Node", "$defs": {"Node": node}}
    assert definition_at_root(schema) == {**node, "$defs": {"Node": node}}
    assert definition_at_root(node) is node


RESOURCE = {"$id": "https://example.com/shapes/point.json", "$defs": {"x": {"type": "number"}}}
INNER = {"$ref": "#/$defs/own"}
EMBEDDED = {"$id": "inner.json", "$defs": {"own": {"const": "inner"}}, "items": INNER}
FAR = {"$ref": "point.json#/$defs/x"}
OUTER = {
    "$id": "https://example.com/shapes/outer.json",
    "$defs": {
        "own": {"const": "outer"},
        "far": FAR,
        "embedded": EMBEDDED,
        "mark": {"$anchor": "mark"},
        "open": {"$dynamicAnchor": "open"},
    },
}
RESOLVER = ReferenceResolver(OUTER, {"urn:shapes:point": RESOURCE})


@pytest.mark.parametrize(
    ("node", "reference", "target"),
    [
        pytest.param(OUTER, "#", OUTER, id="the whole"),
        pytest.param(OUTER, "#/$defs/own", {"const": "outer"}, id="a pointer"),
        pytest.param(INNER, "#/$defs/own", {"const": "inner"}, id="within an embedded resource"),
        pytest.param(INNER, "outer.json#/$defs/own", {"const": "outer"}, id="out of it"),
        pytest.param(OUTER, "inner.json", EMBEDDED, id="into it"),
        pytest.param(FAR, "point.json#/$defs/x", {"type": "number"}, id="relative to the base"),
        pytest.param(OUTER, "urn:shapes:point#/$defs/x", {"type": "number"}, id="by its URI"),
        pytest.param(OUTER, "#mark", {"$anchor": "mark"}, id="an anchor"),
        pytest.param(OUTER, "#open", {"$dynamicAnchor": "open"}, id="a dynamic anchor"),
        pytest.param(INNER, "outer.json#mark", {"$anchor": "mark"}, id="an anchor elsewhere"),
        pytest.param(INNER, "#mark", None, id="an anchor of another resource"),
        pytest.param(OUTER, "absent.json", None, id="a document that is not there"),
        pytest.param(OUTER, "#/$defs/absent", None, id="a place that is not there"),
    ],
)
def test_a_reference_is_relative_to_the_nearest_id(node, reference, target):
    assert RESOLVER.target(node, reference) == target


def test_a_resource_is_found_by_the_end_of_its_uri():
    # Not every scheme can be joined: urn:, tag: and the names that MCP servers make up.
    schema = {"$ref": "point"}
    resolver = ReferenceResolver(schema, {"urn:shapes:point": NAME})
    assert resolver.target(schema, "point") == NAME
