"""A JSON Schema into a strategy for values that fit it, for the keywords that the tests here use.

hypothesis-jsonschema would do it, but its last release (0.23.1) calls parts of Hypothesis that are gone.
"""

import math
from typing import Any

from hypothesis import strategies as st

text = st.text(max_size=8)
# Beyond this a float no longer is the decimal number it is written as, and validators may differ.
floats = st.floats(-1e15, 1e15)
scalars = st.none() | st.booleans() | st.integers() | floats | text
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)


def instances(schema: dict[str, Any], root: dict[str, Any] | None = None) -> st.SearchStrategy[Any]:
    """Values that fit ``schema``; a ``$ref`` is looked up in ``root``."""
    root = schema if root is None else root
    if "$ref" in schema:
        node: Any = root
        for step in schema["$ref"].removeprefix("#/").split("/"):
            node = node[step]
        return instances(node, root)
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "const" in schema:
        return st.just(schema["const"])
    if "anyOf" in schema:
        return st.one_of([instances(branch, root) for branch in schema["anyOf"]])
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    return st.one_of([_MAKERS[kind](schema, root) for kind in kinds]) if kinds else json_values


def _integers(schema: dict[str, Any], _: Any) -> st.SearchStrategy[Any]:
    factor = schema.get("multipleOf", 1)
    low, high = schema.get("minimum"), schema.get("maximum")
    return st.integers(
        None if low is None else math.ceil(low / factor), None if high is None else high // factor
    ).map(lambda number: number * factor)


def _numbers(schema: dict[str, Any], root: Any) -> st.SearchStrategy[Any]:
    floats = st.floats(
        schema.get("exclusiveMinimum", schema.get("minimum")),
        schema.get("exclusiveMaximum", schema.get("maximum")),
        exclude_min="exclusiveMinimum" in schema,
        exclude_max="exclusiveMaximum" in schema,
        allow_nan=False,
        allow_infinity=False,
    )
    return floats | floats.map(math.floor).filter(
        lambda n: schema.get("exclusiveMinimum", -math.inf) < n
    )


def _strings(schema: dict[str, Any], _: Any) -> st.SearchStrategy[str]:
    if schema.get("format") == "date":
        return st.dates().map(str)
    if "pattern" in schema:
        return st.from_regex(schema["pattern"].removesuffix("$") + r"\Z")
    return st.text(min_size=schema.get("minLength", 0), max_size=schema.get("maxLength", 8))


def _arrays(schema: dict[str, Any], root: Any) -> st.SearchStrategy[list[Any]]:
    if "prefixItems" in schema:
        return st.tuples(*(instances(item, root) for item in schema["prefixItems"])).map(list)
    items = instances(schema["items"], root) if "items" in schema else json_values
    return st.lists(items, min_size=schema.get("minItems", 0), max_size=schema.get("maxItems", 3))


def _objects(schema: dict[str, Any], root: Any) -> st.SearchStrategy[dict[str, Any]]:
    properties = {name: instances(inner, root) for name, inner in schema.get("properties", {}).items()}
    required = schema.get("required", [])
    declared = st.fixed_dictionaries(
        {name: properties[name] for name in required},
        optional={name: inner for name, inner in properties.items() if name not in required},
    )
    more = schema.get("additionalProperties", True)
    if more is False:
        return declared
    others = st.dictionaries(
        text.filter(lambda name: name not in properties),
        json_values if more is True else instances(more, root),
        max_size=2,
    )
    return st.builds(lambda extra, own: {**extra, **own}, others, declared)


_MAKERS: dict[str, Any] = {
    "null": lambda *_: st.none(),
    "boolean": lambda *_: st.booleans(),
    "integer": _integers,
    "number": _numbers,
    "string": _strings,
    "array": _arrays,
    "object": _objects,
}
