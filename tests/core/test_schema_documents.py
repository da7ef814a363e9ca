import socket

import pytest

from rightcall.core.problem import Problem
from rightcall.core.schema import Schema, SchemaError

BAD_SCHEMAS = {
    "type": (
        {"properties": {"a": {"type": "strin"}}},
        "$.properties.a.type",
        '"strin" is not a type; there is string, number, integer, boolean, object, array and null',
    ),
    "in a key that is a number": (
        {"properties": {"0": {"": {"minLength": -1}, "minLength": -1}}},
        "$.properties['0'].minLength",
        "-1 is less than the minimum of 0",
    ),
    "properties": ({"properties": []}, "$.properties", '[] is not of type "object"'),
    "property": ({"properties": {"a": 5}}, "$.properties.a", '5 is not of types "boolean", "object"'),
    "required": ({"required": "a"}, "$.required", '"a" is not of type "array"'),
    "minLength": ({"items": {"minLength": -1}}, "$.items.minLength", "-1 is less than the minimum of 0"),
    "pattern": (
        {"properties": {"a": {"pattern": "("}}},
        "$.properties.a.pattern",
        '"(" is not a "regex"',
    ),
    "no definition": ({"$ref": "#/$defs/none"}, "$['$ref']", '"#/$defs/none" refers to nothing'),
    "no definition, deep": (
        {"allOf": [{"$ref": "#/$defs/x"}]},
        "$.allOf[0]['$ref']",
        '"#/$defs/x" refers to nothing',
    ),
    "no anchor": ({"$dynamicRef": "#here"}, "$['$dynamicRef']", '"#here" refers to nothing'),
    "beside a recursive one": (
        {"properties": {"a": {"$ref": "#"}, "b": {"$ref": "#/$defs/x"}}},
        "$.properties.b['$ref']",
        '"#/$defs/x" refers to nothing',
    ),
    "beside one whose name begins the same": (
        {"properties": {"a": {"$ref": "#/$defs/A"}, "b": {"$ref": "#/$defs/AB"}}, "$defs": {"A": {}}},
        "$.properties.b['$ref']",
        '"#/$defs/AB" refers to nothing',
    ),
    "remote": (
        {"$ref": "https://example.com/s.json"},
        "$['$ref']",
        '"https://example.com/s.json" refers to nothing',
    ),
    "remote, a part": (
        {"properties": {"a": {"$ref": "https://example.com/s.json#/a"}}},
        "$.properties.a['$ref']",
        '"https://example.com/s.json#/a" refers to nothing',
    ),
    "relative": (
        {"$id": "https://example.com/one.json", "items": {"$ref": "two.json"}},
        "$.items['$ref']",
        '"two.json" refers to nothing',
    ),
    "file": ({"$ref": "file:///etc/passwd"}, "$['$ref']", '"file:///etc/passwd" refers to nothing'),
}


@pytest.mark.parametrize(("document", "path", "message"), BAD_SCHEMAS.values(), ids=BAD_SCHEMAS)
def test_a_bad_schema_is_refused_with_its_place(document, path, message):
    with pytest.raises(SchemaError) as caught:
        Schema(document)
    assert caught.value.problem == Problem(path, message)


def test_a_remote_schema_is_never_fetched():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        with pytest.raises(SchemaError, match="refers to nothing"):
            Schema({"$ref": f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"})
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_schema_in_a_file_is_never_read(tmp_path):
    (tmp_path / "schema.json").write_text("{}")
    with pytest.raises(SchemaError, match="refers to nothing"):
        Schema({"$ref": (tmp_path / "schema.json").as_uri()})


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"$schema": "https://example.com/own"}, "Unknown meta-schema"),
        ({"default": object()}, "Unsupported type"),
        ({"$id": "::::"}, "Invalid URI reference"),
    ],
)
def test_what_is_no_schema_at_all_is_refused(document, words):
    with pytest.raises(SchemaError, match=words):
        Schema(document)


def test_a_schema_of_bottomless_depth_is_refused():
    document = {}
    for _ in range(100_000):
        document = {"items": document}
    with pytest.raises(SchemaError, match="nests deeper than 128 levels"):
        Schema(document)


def test_a_reference_that_resolves_is_not_blamed_for_one_that_does_not():
    document = {"properties": {"a": {"$ref": "urn:example:size"}, "b": {"$ref": "#/$defs/x"}}}
    with pytest.raises(SchemaError) as caught:
        Schema(document, resources={"urn:example:size": {}})
    assert caught.value.problem == Problem("$.properties.b['$ref']", '"#/$defs/x" refers to nothing')


def test_a_reference_resolves_among_the_resources_given():
    resources = {"urn:example:size": {"enum": ["S", "M"]}}
    document = {"properties": {"size": {"$ref": "urn:example:size"}}}
    assert Schema(document, resources=resources).problems({"size": "L"}) == (
        Problem("$.size", 'must be one of "S", "M"; got "L"'),
    )
