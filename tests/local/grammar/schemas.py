"""Schemas to try: random ones, and ones as real tools have them."""

import re
from typing import Literal

from hypothesis import strategies as st
from pydantic import BaseModel, Field

from rightcall.core.jsontext import dump
from rightcall.core.schema import Schema
from rightcall.core.tool import Spec
from rightcall.local.grammar.compiler import Compiler
from rightcall.local.grammar.flat_schema import structure
from rightcall.local.grammar.notation import JSON
from rightcall.local.grammar.rulebook import Findings, GrammarRules, Rulebook

PATTERNS = [
    "^[a-z]+$",
    "^[A-Z]{2}-[0-9]{1,3}$",
    "b|c",
    "^(foo|ba[rz])",
    "\\d$",
    '^[^"\\\\]*$',
    "^\\S+$",
    "^.{2,4}$",
]
FORMATS = ["date", "time", "date-time", "uuid", "ipv4", "ipv6", "email", "hostname", "uri", "duration"]

_small = st.integers(0, 4)
_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-50, 50),
    st.sampled_from(["", "a", 'q"\n', "é\u2028", "null", "\x00"]),
)


def _with(strategy, **optional):
    return st.fixed_dictionaries({}, optional=optional).flatmap(
        lambda extra: strategy.map(lambda known: {**known, **extra})
    )


_strings = _with(
    st.just({"type": "string"}),
    minLength=_small,
    maxLength=st.integers(0, 9),
    pattern=st.sampled_from(PATTERNS),
    format=st.sampled_from(FORMATS),
)
_integers = _with(
    st.just({"type": "integer"}),
    minimum=st.integers(-120, 120),
    maximum=st.integers(-120, 1200),
    exclusiveMinimum=st.integers(-20, 20),
    exclusiveMaximum=st.integers(-20, 20),
    multipleOf=st.sampled_from([1, 2, 7, 10]),
)
_bound = st.sampled_from([-10, -1.5, -0.25, 0, 0.1, 1, 2.5, 99.999, 1000])
_numbers = _with(
    st.just({"type": "number"}),
    minimum=_bound,
    maximum=_bound,
    exclusiveMinimum=_bound,
    exclusiveMaximum=_bound,
)
_leaves = st.one_of(
    _strings,
    _integers,
    _numbers,
    st.just({"type": "boolean"}),
    st.just({"type": "null"}),
    st.just({}),
    st.booleans(),
    st.lists(_scalars, min_size=1, max_size=4).map(lambda values: {"enum": values}),
    _scalars.map(lambda value: {"const": value}),
    st.sampled_from([{"$ref": "#/$defs/one"}, {"$ref": "#/$defs/two"}, {"$ref": "#"}]),
    st.sampled_from([["string", "null"], ["integer", "boolean"], ["number", "string", "array"]]).map(
        lambda types: {"type": types}
    ),
)
_names = st.sampled_from(["a", "b", "title", "items", "a b", 'é"', "c-d"])


def _composed(inner):
    members = st.dictionaries(_names, inner, max_size=4)
    objects = members.flatmap(
        lambda known: _with(
            st.just({"type": "object", "properties": known}),
            required=st.lists(st.sampled_from([*known, "extra"]), max_size=2, unique=True),
            additionalProperties=st.one_of(st.just(False), st.just(True), inner),
            minProperties=st.integers(0, 3),
            maxProperties=st.integers(1, 4),
            patternProperties=st.dictionaries(st.sampled_from(["^a", "x"]), inner, max_size=1),
        )
    )
    arrays = _with(
        st.just({"type": "array"}),
        items=inner,
        prefixItems=st.lists(inner, min_size=1, max_size=3),
        minItems=_small,
        maxItems=st.integers(0, 6),
        uniqueItems=st.booleans(),
    )
    several = st.lists(inner, min_size=1, max_size=3)
    combined = st.one_of(
        several.map(lambda each: {"anyOf": each}),
        several.map(lambda each: {"oneOf": each}),
        several.map(lambda each: {"allOf": each}),
        st.tuples(objects, several).map(lambda pair: {**pair[0], "anyOf": pair[1]}),
    )
    return st.one_of(objects, arrays, combined)


SCHEMAS = st.builds(
    lambda root, one, two: {**root, "$defs": {"one": one, "two": two}},
    st.recursive(_leaves, _composed, max_leaves=8).filter(lambda schema: isinstance(schema, dict)),
    _leaves,
    _composed(_leaves),
)
"""Random schemas with references, some of them to themselves."""


class Person(BaseModel):
    name: str = Field(min_length=1, max_length=40)
    email: str | None = Field(default=None, pattern=r"^[^@\s]+@[^@\s]+\.[a-z]{2,}$")
    role: Literal["admin", "member"] = "member"


class Comment(BaseModel):
    text: str
    author: Person
    replies: list["Comment"] = []


class Card(BaseModel):
    kind: Literal["card"]
    number: str = Field(pattern=r"^\d{12,19}$")


class Transfer(BaseModel):
    kind: Literal["transfer"]
    iban: str = Field(pattern="^[A-Z]{2}[0-9]{2}[A-Z0-9]{10,30}$")


class Order(BaseModel):
    items: list[tuple[str, int]] = Field(min_length=1, max_length=20)
    total: float = Field(gt=0, le=100000)
    pay: Card | Transfer = Field(discriminator="kind")
    labels: dict[str, str] = {}


REAL = {
    "weather": {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Where"},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
            "days": {"type": "integer", "minimum": 1, "maximum": 14},
        },
        "required": ["city"],
        "additionalProperties": False,
    },
    "edit_file": {
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1},
            "edits": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "properties": {"oldText": {"type": "string"}, "newText": {"type": "string"}},
                    "required": ["oldText", "newText"],
                },
            },
            "dryRun": {"type": "boolean", "default": False},
        },
        "required": ["path", "edits"],
        "$schema": "http://json-schema.org/draft-07/schema#",
    },
    "search_issues": {
        "type": "object",
        "properties": {
            "q": {"type": "string"},
            "sort": {"anyOf": [{"enum": ["created", "updated"]}, {"type": "null"}]},
            "page": {"type": "number", "minimum": 1},
            "perPage": {"type": "integer", "minimum": 1, "maximum": 100},
            "since": {"type": "string", "format": "date-time"},
            "labels": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        },
        "required": ["q"],
    },
    "query": {
        "type": "object",
        "properties": {
            "sql": {"type": "string"},
            "parameters": {"type": "array", "items": {}},
            "options": {
                "type": "object",
                "additionalProperties": {"type": ["string", "number", "boolean"]},
            },
        },
        "required": ["sql"],
    },
    "no_arguments": {"type": "object", "properties": {}},
    "comment": Comment.model_json_schema(),
    "order": Order.model_json_schema(),
}
"""Parameters as real tools declare them, by name."""


def compiled(schema) -> tuple[Rulebook, list[str]]:
    """A schema's rulebook in JSON, and what it does not hold."""
    document = structure(schema)
    rules, findings = GrammarRules(), Findings()
    node = Compiler(document, rules, JSON, findings).value(document, "$")
    return rules.book(node), findings.unheld


def closed(schema):
    """The schema with no room for members that it does not declare."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: closed(each) for name, each in schema.items()}
    if schema.get("type") == "object" and "properties" in schema:
        found.setdefault("additionalProperties", False)
    return found


def spec(name: str, parameters, description: str = "A tool.") -> Spec:
    return Spec(name=name, description=description, parameters=parameters)


def canonical(value) -> str:
    """Compact JSON, as a grammar takes it."""
    return dump(value)


AROUND = {"anyOf", "oneOf", "allOf", "$ref", "$defs"}
FREE = {"not", "if", "then", "else", "$ref", "$dynamicRef", "dependentSchemas"}
"""Not held, and what fails for them may fail by any other keyword."""


def keyword_of(path: str) -> str:
    return re.sub(r"(\[\d+\])+$", "", path.rpartition(".")[2])


def breaches(schema: Schema, value, unheld: list[str]) -> list:
    """What is wrong with a value, but for what the grammar says it does not hold."""
    loose = {keyword_of(path) for path in unheld}
    if loose & FREE:
        return []
    found = []
    for error in schema.errors(value):
        steps = [str(step) for step in error.schema_path]
        # What the whole schema does not hold may be anywhere below, once it refers to itself.
        is_around = steps[-1] in AROUND and any(
            f".{steps[-1]}" in path or path.count(".") == 1 for path in unheld
        )
        if not loose & set(steps) and not is_around:
            found.append((error.message, steps))
    return found
