"""Strict schemas: what vendors take, what they mean, and what is refused before it is sent."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from effort import often
from rightcall.core.jsontext import dump
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.wire.strict_schema import (
    OPENAI,
    SchemaRules,
    StrictSchema,
    check_ceilings,
    strict_schema,
    structure,
    subset_schema,
)

# Like Anthropic's: optional members stay, references stay, recursion and many keywords do not.
OPTIONAL = SchemaRules(
    dialect="optional",
    keywords=frozenset(["title", "description", "enum", "const", "format", "minItems", "default"]),
    formats=frozenset(["date"]),
    min_items=1,
    root_union=True,
    max_strict_tools=2,
    max_optional=3,
    max_unions=2,
)
# Like Gemini's: a subset that nothing is refused in.
SUBSET = SchemaRules(
    dialect="subset",
    keywords=frozenset(["description", "enum", "format", "minItems", "maxItems", "minimum", "maximum"]),
    formats=frozenset(["date-time", "enum"]),
    closed=False,
    typed=False,
    refs="inline",
    const="enum",
    string_enums=True,
    type_lists="nullable",
)


def obj(properties: dict[str, Any], required: list[str] | None = None, **more: Any) -> dict[str, Any]:
    needed = {} if required is None else {"required": required}
    return {"type": "object", "properties": properties, **needed, **more}


def closed(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return obj(properties, list(properties), additionalProperties=False, **more)


S = {"type": "string"}
I = {"type": "integer"}  # noqa: E741
NULL = {"type": "null"}
NODE = obj({"value": S, "next": {"$ref": "#/$defs/Node"}}, ["value"])

OPENAI_CASES: dict[str, tuple[dict[str, Any], StrictSchema]] = {
    "no parameters": ({"type": "object"}, StrictSchema(schema=closed({}))),
    "required members are closed in": (
        obj({"a": S}, ["a"]),
        StrictSchema(schema=closed({"a": S})),
    ),
    "an optional member takes null": (
        obj({"a": S, "b": I}, ["a"]),
        StrictSchema(schema=closed({"a": S, "b": {"type": ["integer", "null"]}}), nulled=("$.b",)),
    ),
    "an optional member that takes null already": (
        obj({"a": {"type": ["string", "null"]}, "b": {"anyOf": [S, NULL]}}),
        StrictSchema(schema=closed({"a": {"type": ["string", "null"]}, "b": {"anyOf": [S, NULL]}})),
    ),
    "an optional enum lists null": (
        obj({"a": {"type": "string", "enum": ["x", "y"]}}),
        StrictSchema(
            schema=closed({"a": {"type": ["string", "null"], "enum": ["x", "y", None]}}), nulled=("$.a",)
        ),
    ),
    "an optional constant": (
        obj({"a": {"const": 1}}),
        StrictSchema(
            schema=closed({"a": {"anyOf": [{"type": "integer", "const": 1}, NULL]}}), nulled=("$.a",)
        ),
    ),
    "an optional union": (
        obj({"a": {"anyOf": [S, I], "description": "Either."}}),
        StrictSchema(
            schema=closed({"a": {"anyOf": [S, I, NULL], "description": "Either."}}), nulled=("$.a",)
        ),
    ),
    "unsupported limits go into the description": (
        obj({"a": {"type": "string", "minLength": 1, "maxLength": 9, "description": "A."}}, ["a"]),
        StrictSchema(
            schema=closed({"a": {"type": "string", "description": "A. (minLength: 1; maxLength: 9)"}}),
            is_exact=False,
            dropped=("$.a: minLength", "$.a: maxLength"),
        ),
    ),
    "supported limits stay": (
        obj({"a": {"type": "integer", "minimum": 1, "maximum": 5, "multipleOf": 2}}, ["a"]),
        StrictSchema(
            schema=closed({"a": {"type": "integer", "minimum": 1, "maximum": 5, "multipleOf": 2}}),
        ),
    ),
    "a default is said, and changes nothing": (
        obj({"a": {"type": "integer", "default": 3}}, ["a"]),
        StrictSchema(
            schema=closed({"a": {"type": "integer", "description": "default: 3"}}),
            dropped=("$.a: default",),
        ),
    ),
    "formats": (
        obj(
            {"a": {"type": "string", "format": "date"}, "b": {"type": "string", "format": "uri"}},
            ["a", "b"],
        ),
        StrictSchema(
            schema=closed(
                {
                    "a": {"type": "string", "format": "date"},
                    "b": {"type": "string", "description": "format: uri"},
                }
            ),
            is_exact=False,
            dropped=("$.b: format",),
        ),
    ),
    "a reference stays, with its definition closed": (
        obj({"a": {"$ref": "#/$defs/P"}}, ["a"], **{"$defs": {"P": obj({"x": I}, ["x"]), "Q": S}}),
        StrictSchema(schema=closed({"a": {"$ref": "#/$defs/P"}}, **{"$defs": {"P": closed({"x": I})}})),
    ),
    "a reference with words beside it is written out": (
        obj({"a": {"$ref": "#/definitions/P", "description": "Where."}}, ["a"], definitions={"P": S}),
        StrictSchema(schema=closed({"a": {"type": "string", "description": "Where."}})),
    ),
    "an optional reference": (
        obj({"a": {"$ref": "#/$defs/P"}}, **{"$defs": {"P": S}}),
        StrictSchema(
            schema=closed({"a": {"anyOf": [{"$ref": "#/$defs/P"}, NULL]}}, **{"$defs": {"P": S}}),
            nulled=("$.a",),
        ),
    ),
    "recursion stays": (
        obj({"a": {"$ref": "#/$defs/Node"}}, ["a"], **{"$defs": {"Node": NODE}}),
        StrictSchema(
            schema=closed(
                {"a": {"$ref": "#/$defs/Node"}},
                **{
                    "$defs": {
                        "Node": closed(
                            {"value": S, "next": {"anyOf": [{"$ref": "#/$defs/Node"}, NULL]}},
                        )
                    }
                },
            ),
            nulled=("#/$defs/Node.next",),
        ),
    ),
    "recursion with words beside it": (
        obj({"up": {"$ref": "#", "description": "The parent."}}, ["up"]),
        StrictSchema(schema=closed({"up": {"anyOf": [{"$ref": "#"}], "description": "The parent."}})),
    ),
    "allOf around one reference is that reference": (
        obj(
            {"a": {"allOf": [{"$ref": "#/$defs/P"}], "description": "A."}}, ["a"], **{"$defs": {"P": S}}
        ),
        StrictSchema(schema=closed({"a": {"type": "string", "description": "A."}})),
    ),
    "allOf is merged": (
        obj({"a": {"allOf": [obj({"x": I}, ["x"]), obj({"y": S}, ["y"])]}}, ["a"]),
        StrictSchema(schema=closed({"a": closed({"x": I, "y": S})})),
    ),
    "oneOf that can be told apart is anyOf": (
        obj({"a": {"oneOf": [S, I]}}, ["a"]),
        StrictSchema(schema=closed({"a": {"anyOf": [S, I]}})),
    ),
    "oneOf told apart by a constant": (
        obj(
            {
                "a": {
                    "oneOf": [
                        obj({"kind": {"const": "p"}, "x": S}, ["kind", "x"]),
                        obj({"kind": {"const": "q"}}, ["kind"]),
                    ],
                    "discriminator": {"propertyName": "kind"},
                }
            },
            ["a"],
        ),
        StrictSchema(
            schema=closed(
                {
                    "a": {
                        "anyOf": [
                            closed({"kind": {"type": "string", "const": "p"}, "x": S}),
                            closed({"kind": {"type": "string", "const": "q"}}),
                        ]
                    }
                }
            )
        ),
    ),
    "oneOf that overlaps is said": (
        obj({"a": {"oneOf": [{"type": "number"}, I]}}, ["a"]),
        StrictSchema(
            schema=closed(
                {
                    "a": {
                        "anyOf": [{"type": "number"}, I],
                        "description": "fits exactly one of the alternatives",
                    }
                }
            ),
            is_exact=False,
            dropped=("$.a: oneOf",),
        ),
    ),
    "what stands around anyOf goes into its branches": (
        obj({"a": obj({"x": I, "y": I}, anyOf=[{"required": ["x"]}, {"required": ["y"]}])}, ["a"]),
        StrictSchema(
            schema=closed(
                {
                    "a": {
                        "anyOf": [
                            closed({"x": I, "y": {"type": ["integer", "null"]}}),
                            closed({"x": {"type": ["integer", "null"]}, "y": I}),
                        ]
                    }
                }
            ),
            nulled=("$.a.y", "$.a.x"),
        ),
    ),
    "anyOf around the whole is said": (
        obj({"x": I, "y": I}, ["x", "y"], anyOf=[{"required": ["x"]}, {"required": ["y"]}]),
        StrictSchema(
            schema=closed(
                {"x": I, "y": I}, description='anyOf: [{"required":["x"]},{"required":["y"]}]'
            ),
            is_exact=False,
            dropped=("$: anyOf",),
        ),
    ),
    "a tuple": (
        obj({"a": {"type": "array", "prefixItems": [I, S], "minItems": 2, "maxItems": 2}}, ["a"]),
        StrictSchema(
            schema=closed(
                {
                    "a": {
                        "type": "array",
                        "minItems": 2,
                        "maxItems": 2,
                        "items": {"anyOf": [I, S]},
                        "description": 'prefixItems: [{"type":"integer"},{"type":"string"}]',
                    }
                }
            ),
            is_exact=False,
            dropped=("$.a: prefixItems",),
        ),
    ),
    "types that go without saying": (
        obj({"a": {"enum": ["x"]}, "b": {"properties": {"c": {"minimum": 1}}}}, ["a", "b"]),
        StrictSchema(
            schema=closed(
                {
                    "a": {"type": "string", "enum": ["x"]},
                    "b": closed({"c": {"type": ["number", "null"], "minimum": 1}}),
                }
            ),
            nulled=("$.b.c",),
        ),
    ),
    "members called as keywords are": (
        obj({"description": S, "$ref": S, "enum": I}, ["description", "$ref", "enum"]),
        StrictSchema(schema=closed({"description": S, "$ref": S, "enum": I})),
    ),
    "conditions are said": (
        obj({"a": I}, ["a"], **{"if": {"required": ["a"]}, "then": {"minProperties": 1}}),
        StrictSchema(
            schema=closed({"a": I}, description='if: {"required":["a"]}; then: {"minProperties":1}'),
            is_exact=False,
            dropped=("$: if", "$: then"),
        ),
    ),
}


def sorted_dump(value: StrictSchema) -> Any:
    schema = jsonschema_rs.canonical.json.to_string(value.schema)
    return (schema, value.is_exact, value.dropped, value.nulled)


@pytest.mark.parametrize(("schema", "expected"), OPENAI_CASES.values(), ids=OPENAI_CASES)
def test_schemas_as_openai_takes_them(schema, expected):
    assert sorted_dump(strict_schema(schema, OPENAI)) == sorted_dump(expected)


ALL_OF: dict[str, tuple[list[Any], Any]] = {
    "types": ([{"type": ["string", "number"]}, {"type": ["integer", "null"]}], I),
    "enums": ([{"enum": ["a", "b"]}, {"enum": ["b", "c"]}], {"type": "string", "enum": ["b"]}),
    "limits": (
        [{"type": "integer", "minimum": 1, "maximum": 9}, {"minimum": 2, "maximum": 5}],
        {"type": "integer", "minimum": 2, "maximum": 5},
    ),
    "members of both": (
        [obj({"x": {"type": "number"}}, ["x"]), obj({"x": I, "y": S}, ["y"])],
        closed({"x": I, "y": S}),
    ),
    "references": ([{"$ref": "#/$defs/P"}, obj({"y": S}, ["y"])], closed({"x": I, "y": S})),
    "members that are references": (
        [obj({"x": {"$ref": "#/$defs/I"}}, ["x"]), obj({"x": {"minimum": 1}})],
        closed({"x": {"type": "integer", "minimum": 1}}),
    ),
    "items": (
        [{"type": "array", "items": {"type": "number"}}, {"items": I, "minItems": 1}],
        {"type": "array", "items": I, "minItems": 1},
    ),
    "open and closed": (
        [obj({"x": I}, ["x"]), {"additionalProperties": False, "properties": {"x": I}}],
        closed({"x": I}),
    ),
    "true": ([True, I], I),
    "nested": ([{"allOf": [I]}, {"allOf": [{"minimum": 1}]}], {"type": "integer", "minimum": 1}),
}


@pytest.mark.parametrize(("branches", "expected"), ALL_OF.values(), ids=ALL_OF)
def test_all_of_is_what_its_branches_admit_together(branches, expected):
    definitions = {"P": obj({"x": I}, ["x"]), "I": I}
    schema = obj({"a": {"allOf": branches}}, ["a"], **{"$defs": definitions})
    strict = strict_schema(schema, OPENAI)
    assert strict.is_exact
    assert strict.schema == closed({"a": expected})


def test_branches_that_no_keyword_can_join_are_said():
    schema = obj({"a": {"allOf": [{"type": "string", "pattern": "a"}, {"pattern": "b"}]}}, ["a"])
    assert strict_schema(schema, OPENAI) == StrictSchema(
        schema=closed({"a": {"type": "string", "pattern": "a", "description": 'also: {"pattern":"b"}'}}),
        is_exact=False,
        dropped=("$.a: allOf",),
        lost=(("$.a", "strict schemas have no allOf; say it without."),),
    )


@pytest.mark.parametrize(
    "reference",
    ["#P", "https://x/s#/$defs/P", "#/properties/b", "#/%24defs/P"],
    ids=["anchor", "own id", "member", "escaped"],
)
def test_references_of_every_form_are_found(reference):
    schema = obj(
        {"a": {"$ref": reference, "description": "A."}, "b": I},
        ["a", "b"],
        **{"$id": "https://x/s", "$defs": {"P": {"$anchor": "P", "type": "integer"}}},
    )
    assert strict_schema(schema, OPENAI).schema == closed(
        {"a": {"type": "integer", "description": "A."}, "b": I}
    )


REFUSED = {
    "an open object": (obj({"m": {"type": "object"}}), "$.m", "members of any name"),
    "a map": (obj({"m": {"type": "object", "additionalProperties": S}}), "$.m", "members of any name"),
    "an object open on purpose": (obj({"a": S}, additionalProperties=True), "$", "more members than"),
    "patterns": (obj({"a": S}, patternProperties={"^x": S}), "$", "more members than it lists"),
    "anything": (obj({"a": {}}), "$.a", "takes any value"),
    "true": (obj({"a": True}), "$.a", "takes any value"),
    "nothing": (obj({"a": False}), "$.a", "no value fits"),
    "an array of anything": (obj({"a": {"type": "array"}}), "$.a", "array of anything"),
    "a required member that is not listed": (obj({"a": S}, ["b"]), "$.b", "takes any value"),
    "a union at the top": ({"anyOf": [obj({"a": S}), obj({"b": S})]}, "$", "wrap it in a member"),
    "a string at the top": (S, "$", "an object at the top"),
    "a reference to elsewhere": (obj({"a": {"$ref": "https://x/y"}}), "$.a", "is not in the schema"),
    "a reference to nothing": (obj({"a": {"$ref": "#/$defs/no"}}), "$.a", "is not in the schema"),
    "branches that disagree": (obj({"a": {"allOf": [S, I]}}), "$.a", "disagree on type"),
}


@pytest.mark.parametrize(("schema", "path", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_strict_is_refused_with_its_place_and_a_way_out(schema, path, reason):
    with pytest.raises(EncodeError) as caught:
        strict_schema(schema, OPENAI, tool="send")
    assert caught.value.where == f"tool 'send' at {path}"
    assert reason in caught.value.reason
    assert caught.value.dialect == "openai"


def nested(levels: int) -> dict[str, Any]:
    schema = obj({"a": S})
    for _ in range(levels - 1):
        schema = obj({"a": schema})
    return schema


TOO_LARGE = {
    "depth": (nested(10), nested(11), "11 levels of objects are more than the 10"),
    "members": (
        obj({f"p{n}": I for n in range(5000)}),
        obj({f"p{n}": I for n in range(5001)}),
        "5,001 members are more than the 5,000",
    ),
    "enum values": (
        obj({"a": {"enum": list(range(1000))}}, ["a"]),
        obj({"a": {"enum": list(range(1001))}}, ["a"]),
        "1,001 values in enums are more than the 1,000",
    ),
    "one large enum": (
        obj({"a": {"enum": [f"{n:060}" for n in range(250)]}}, ["a"]),
        obj({"a": {"enum": [f"{n:060}" for n in range(251)]}}, ["a"]),
        "an enum of 251 values has 15,060 characters",
    ),
    "characters": (
        obj({"a": {"const": "x" * 119_999}}, ["a"]),
        obj({"a": {"const": "x" * 120_000}}, ["a"]),
        "120,001 characters in names and values",
    ),
}


@pytest.mark.parametrize(("fits", "exceeds", "reason"), TOO_LARGE.values(), ids=TOO_LARGE)
def test_openais_ceilings_are_checked_to_the_last_one(fits, exceeds, reason):
    strict_schema(fits, OPENAI)
    with pytest.raises(EncodeError, match=reason):
        strict_schema(exceeds, OPENAI)


def test_a_recursion_counts_as_one_level():
    schema = obj({"a": {"$ref": "#/$defs/Node"}}, **{"$defs": {"Node": NODE}})
    assert strict_schema(schema, replace(OPENAI, max_depth=2)).schema
    with pytest.raises(EncodeError, match="2 levels"):
        strict_schema(schema, replace(OPENAI, max_depth=1))


def test_recursion_is_refused_where_the_vendor_has_none():
    schema = obj({"a": {"$ref": "#/$defs/Node"}}, **{"$defs": {"Node": NODE}})
    with pytest.raises(EncodeError, match="leads back to itself"):
        strict_schema(schema, OPTIONAL)


def test_optional_members_stay_optional_where_the_vendor_allows():
    schema = obj({"a": S, "b": {"type": "array", "items": S, "minItems": 2}}, ["a"])
    assert strict_schema(schema, OPTIONAL) == StrictSchema(
        schema=obj(
            {"a": S, "b": {"type": "array", "items": S, "description": "minItems: 2"}},
            ["a"],
            additionalProperties=False,
        ),
        is_exact=False,
        dropped=("$.b: minItems",),
    )


SUBSET_CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "references are written out": (
        obj({"a": {"$ref": "#/$defs/P"}}, ["a"], **{"$defs": {"P": {"type": "string", "title": "P"}}}),
        obj({"a": S}, ["a"]),
    ),
    "recursion is cut with words": (
        obj({"a": {"$ref": "#/$defs/Node"}}, **{"$defs": {"Node": NODE}}),
        obj(
            {
                "a": obj(
                    {
                        "value": S,
                        "next": {"type": "object", "description": "again of the form of Node"},
                    },
                    ["value"],
                )
            }
        ),
    ),
    "a constant is an enum": (obj({"a": {"const": "x"}}), obj({"a": {"type": "string", "enum": ["x"]}})),
    "numbers in an enum are said": (
        obj({"a": {"enum": [1, 2]}}),
        obj({"a": {"type": "integer", "description": "enum: [1,2]"}}),
    ),
    "null in a type list": (
        obj({"a": {"type": ["string", "null"]}}),
        obj({"a": {"type": "string", "nullable": True}}),
    ),
    "null in a union": (
        obj({"a": {"anyOf": [S, NULL], "description": "A."}}),
        obj({"a": {"type": "string", "nullable": True, "description": "A."}}),
    ),
    "several types": (
        obj({"a": {"type": ["string", "integer", "null"], "minimum": 1}}),
        obj({"a": {"anyOf": [S, {"type": "integer", "minimum": 1}], "nullable": True}}),
    ),
    "a map": (
        obj({"a": {"type": "object", "additionalProperties": I}}),
        obj({"a": {"type": "object", "description": 'additionalProperties: {"type":"integer"}'}}),
    ),
    "a closed object": (obj({"a": S}, additionalProperties=False), obj({"a": S})),
    "anything": (obj({"a": {"description": "Whatever."}}), obj({"a": {"description": "Whatever."}})),
    "oneOf": (obj({"a": {"oneOf": [S, I]}}), obj({"a": {"anyOf": [S, I]}})),
    "unknown formats": (
        obj({"a": {"type": "string", "format": "uuid"}}),
        obj({"a": {"type": "string", "description": "format: uuid"}}),
    ),
}


@pytest.mark.parametrize(("schema", "expected"), SUBSET_CASES.values(), ids=SUBSET_CASES)
def test_a_subset_says_in_words_what_it_cannot_say_in_schema(schema, expected):
    assert subset_schema(schema, SUBSET).schema == expected


@pytest.mark.parametrize("schema", [case[0] for case in REFUSED.values()], ids=REFUSED)
def test_a_subset_refuses_nothing(schema):
    assert isinstance(subset_schema(schema, SUBSET).schema, dict)


def spec(name: str) -> Spec:
    return Spec(name=name, description="", parameters={})


CEILINGS = {
    "strict tools": ([obj({})] * 3, "3 strict tools are more than the 2 of one request"),
    "optional parameters": (
        [obj({"a": S}), obj({"a": S, "b": obj({"c": S, "d": S})})],
        (
            "5 optional parameters in strict tools are more than the 3 of one request; let some tool be "
            "non-strict, first 'b', which has 4 of them."
        ),
    ),
    "unions": (
        [
            closed({"a": {"type": ["string", "null"]}, "b": {"anyOf": [S, I]}}),
            closed({"a": {"anyOf": []}}),
        ],
        (
            "3 parameters of a union type in strict tools are more than the 2 of one request; let some "
            "tool be non-strict, first 'a', which has 2 of them."
        ),
    ),
}


@pytest.mark.parametrize(("schemas", "reason"), CEILINGS.values(), ids=CEILINGS)
def test_a_requests_ceilings_name_the_limit_the_count_and_the_tool(schemas, reason):
    specs = [spec(name) for name in "abc"[: len(schemas)]]
    with pytest.raises(EncodeError) as caught:
        check_ceilings(specs, schemas, OPTIONAL)
    assert caught.value.reason.startswith(reason)
    check_ceilings(specs, schemas, OPENAI)


def test_under_the_ceilings_nothing_happens():
    check_ceilings([spec("a")], [obj({"a": S, "b": {"anyOf": [S, I]}})], OPTIONAL)


@pytest.mark.parametrize("rules", [OPENAI, SUBSET], ids=["openai", "subset"])
def test_changing_words_alone_keeps_the_structure(rules):
    def schema(word: str) -> dict[str, Any]:
        return obj(
            {
                "a": {"type": "string", "minLength": 1, "description": word, "title": word},
                "description": {"anyOf": [S, {"$ref": "#/$defs/P"}], "description": word},
            },
            ["a"],
            description=word,
            **{"$defs": {"P": obj({"title": I}, ["title"], description=word)}},
        )

    rewrite = strict_schema if rules is OPENAI else subset_schema
    one, two = rewrite(schema("one"), rules), rewrite(schema("another"), rules)
    assert one.schema != two.schema
    assert dump(structure(one.schema)) == dump(structure(two.schema))
    assert "description" in structure(one.schema)["properties"]
    assert (one.is_exact, one.dropped, one.nulled) == (two.is_exact, two.dropped, two.nulled)


def leaves(draw_from: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    members = st.dictionaries(st.sampled_from("abc"), draw_from, max_size=3)
    return st.one_of(
        st.builds(
            lambda properties, flags: obj(
                properties, [name for name, flag in zip(properties, flags, strict=False) if flag]
            ),
            members,
            st.lists(st.booleans(), min_size=3, max_size=3),
        ),
        st.builds(lambda items: {"type": "array", "items": items, "maxItems": 2}, draw_from),
        st.builds(lambda branches: {"anyOf": branches}, st.lists(draw_from, min_size=1, max_size=3)),
    )


SIMPLE = st.sampled_from(
    [
        S,
        I,
        NULL,
        {"type": "boolean"},
        {"enum": ["x", 1, None]},
        {"const": "c"},
        {"type": ["integer", "null"]},
    ]
)
SCHEMAS = st.dictionaries(st.sampled_from("abc"), st.recursive(SIMPLE, leaves, max_leaves=6), max_size=3)


def admitted_by(schema: Any) -> st.SearchStrategy[Any]:
    """Values that fit a strict schema."""
    if "anyOf" in schema:
        return st.one_of([admitted_by(branch) for branch in schema["anyOf"]])
    if "const" in schema or "enum" in schema:
        return st.sampled_from(schema.get("enum", [schema.get("const")]))
    kinds = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    return st.one_of([_of_kind(kind, schema) for kind in kinds])


def _of_kind(kind: str, schema: Any) -> st.SearchStrategy[Any]:
    match kind:
        case "object":
            return st.fixed_dictionaries({k: admitted_by(v) for k, v in schema["properties"].items()})
        case "array":
            return st.lists(admitted_by(schema["items"]), max_size=schema["maxItems"])
        case "string":
            return st.text(max_size=3)
        case "integer":
            return st.integers(-9, 9)
        case "boolean":
            return st.booleans()
        case _:
            return st.none()


@settings(max_examples=often(100), suppress_health_check=list(HealthCheck))
@given(SCHEMAS, st.lists(st.sampled_from("abc")), st.data())
def test_what_a_strict_schema_admits_fits_the_original_without_the_added_nulls(members, required, data):
    schema = obj(members, [name for name in members if name in required])
    try:
        strict = strict_schema(schema, OPENAI)
    except EncodeError:
        return
    assert strict.is_exact
    value = data.draw(admitted_by(strict.schema))
    value = {
        name: item
        for name, item in value.items()
        if item is not None or f"$.{name}" not in strict.nulled
    }
    if any("." in path[2:] or "[" in path for path in strict.nulled):
        return
    assert jsonschema_rs.is_valid(schema, value)


@settings(max_examples=often(100))
@given(SCHEMAS, st.lists(st.sampled_from("abc")))
def test_every_object_of_a_strict_schema_is_closed_and_wants_all_of_its_members(members, required):
    schema = obj(members, [name for name in members if name in required])
    try:
        strict = strict_schema(schema, OPENAI)
    except EncodeError:
        return
    waiting: list[Any] = [strict.schema]
    while waiting:
        node = waiting.pop()
        if "properties" in node:
            assert node["additionalProperties"] is False
            assert list(node["properties"]) == node["required"]
            waiting += node["properties"].values()
        waiting += node.get("anyOf", [])
        waiting += [node["items"]] if "items" in node else []


def test_references_that_multiply_are_stopped():
    definitions = {
        f"d{n}": obj({name: {"$ref": f"#/$defs/d{n + 1}"} for name in "abcdefghi"}) for n in range(9)
    }
    schema = obj({"a": {"$ref": "#/$defs/d0"}}, **{"$defs": {**definitions, "d9": S}})
    with pytest.raises(EncodeError, match="too large"):
        subset_schema(schema, SUBSET)


WORDS = st.sampled_from(
    [
        "type",
        "properties",
        "required",
        "items",
        "anyOf",
        "oneOf",
        "allOf",
        "$ref",
        "$defs",
        "enum",
        "const",
        "additionalProperties",
        "description",
        "minimum",
        "prefixItems",
        "format",
        "not",
        "default",
        "nullable",
    ]
)
VALUES = st.sampled_from(
    [True, False, None, 1, "string", "object", ["null", "array"], "#", "#/$defs/type", [], {}]
)
DOCUMENTS = st.dictionaries(
    WORDS,
    st.recursive(
        VALUES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=4)
    ),
    max_size=5,
)


@settings(max_examples=often(150))
@given(DOCUMENTS)
def test_any_valid_schema_is_rewritten_or_refused(document):
    try:
        jsonschema_rs.validator_for(document, offline=True)
    except (ValueError, jsonschema_rs.ReferencingError):
        return
    for rewrite, rules in ((strict_schema, OPENAI), (strict_schema, OPTIONAL), (subset_schema, SUBSET)):
        try:
            rewritten = rewrite(document, rules)
        except EncodeError:
            continue
        again = rewrite(document, rules)
        assert dump(rewritten.schema) == dump(again.schema)
