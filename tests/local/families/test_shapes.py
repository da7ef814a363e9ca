"""Text between tags into JSON of the type that the schema admits."""

import json
from typing import Any

import pytest

from rightcall.local.families.shapes import ANY, STRING, Shapes, to_json

ROOT = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "share": {"type": "number"},
        "maybe": {"type": ["string", "null"]},
        "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "unit": {"enum": ["c", "f"]},
        "level": {"enum": [1, 2]},
        "fixed": {"const": True},
        "nullable": {"type": "integer", "nullable": True},
        "far": {"$ref": "#/$defs/point"},
        "both": {"allOf": [{"$ref": "#/$defs/point"}, {"description": "x"}]},
        "lost": {"$ref": "#/$defs/nowhere"},
        "round": {"$ref": "#/properties/round"},
        "free": {},
        "many": {"type": "array", "items": {"type": "integer"}},
    },
    "additionalProperties": {"type": "boolean"},
    "$defs": {"point": {"type": "object", "properties": {"x": {"type": "number"}}}},
}

TYPES = {
    "text": {"string"},
    "count": {"integer"},
    "share": {"number", "integer"},
    "maybe": {"string", "null"},
    "either": {"integer", "string"},
    "unit": {"string"},
    "level": {"integer"},
    "fixed": {"boolean"},
    "nullable": {"integer", "null"},
    "far": {"object"},
    "both": {"object"},
    "lost": set(ANY),
    "round": set(ANY),
    "free": set(ANY),
    "many": {"array"},
    "other": {"boolean"},
}


@pytest.mark.parametrize(("key", "types"), TYPES.items(), ids=TYPES)
def test_a_schema_says_which_types_it_admits(key: str, types: set[str]):
    shapes = Shapes(ROOT)
    assert shapes.types(shapes.parameter(key)) == types


def test_members_and_items_are_found_through_references():
    shapes = Shapes(ROOT)
    far = shapes.parameter("both")
    assert shapes.types(shapes.member(far, "x")) == {"number", "integer"}
    assert shapes.types(shapes.item(shapes.parameter("many"))) == {"integer"}
    assert shapes.item(shapes.parameter("text")) is None
    assert shapes.keys == frozenset(ROOT["properties"])
    assert Shapes().keys == frozenset()


VALUES: list[tuple[str, set[str], Any]] = [
    ("1", {"string"}, "1"),
    (" 1 ", {"string"}, " 1 "),
    ('"x"', {"string"}, '"x"'),
    ("1", {"integer"}, 1),
    (" -1\n", {"integer"}, -1),
    ("2.0", {"integer"}, 2.0),
    ("2.5", {"integer"}, "2.5"),
    ("007", {"integer"}, 7),
    ("+1.5", {"number", "integer"}, 1.5),
    ("1e3", {"number", "integer"}, 1000.0),
    ("inf", {"number"}, "inf"),
    ("x", {"integer"}, "x"),
    ("true", {"boolean"}, True),
    ("False", {"boolean"}, False),
    ("1", {"boolean"}, "1"),
    ("null", {"null", "string"}, None),
    ("None", {"null", "string"}, "None"),
    ("None", {"null", "integer"}, None),
    ("1", {"integer", "string"}, 1),
    ("one", {"integer", "string"}, "one"),
    ('{"a": 1}', {"object"}, {"a": 1}),
    ("{'a': True, 'b': (1, 2)}", {"object"}, {"a": True, "b": [1, 2]}),
    ("{a}", {"object"}, "{a}"),
    ("[1, 2]", {"array", "string"}, [1, 2]),
    ("[1, 2]", {"object", "string"}, "[1, 2]"),
    ("", {"string"}, ""),
    ("", {"object"}, {}),
    ("", {"array", "null"}, []),
    ("", {"integer"}, ""),
    ("x", set(ANY), "x"),
    ("1", set(ANY), 1),
    ("\ud83d", {"string"}, "\ud83d"),
]


@pytest.mark.parametrize(("text", "types", "value"), VALUES)
def test_text_becomes_what_the_types_admit(text: str, types: set[str], value: Any):
    assert json.loads(to_json(text, frozenset(types))) == value


def test_half_a_surrogate_pair_is_written_as_an_escape():
    assert to_json("\ud83d", STRING) == '"\\ud83d"'
